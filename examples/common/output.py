"""The file that a script writes what it found into: a page or a picture, as its name ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from common.errors import Refused
from viz.plots import paper

_PAGES = (".html", ".htm")


def is_page(path: str) -> bool:
    """Whether a page goes there, not a picture."""
    return Path(path).suffix.lower() in _PAGES


def check_output(path: str) -> None:
    """Before any work is done, raise Refused for a folder and for a name that is neither a page's nor a picture's, and
    UserError for a picture where matplotlib is missing."""
    if os.path.isdir(path):
        raise Refused(f"-o {path!r}: it is a folder; name a file in it")
    there = next((each for each in Path(path).parents if os.path.lexists(each)), None)
    if there is not None and not there.is_dir():
        raise Refused(f"-o {path!r}: {str(there)!r} is a file, not a folder")
    if is_page(path):
        return
    if Path(path).suffix.lower() not in paper.SUFFIXES:
        *others, last = paper.SUFFIXES
        raise Refused(
            f"-o {path!r}: end the name in .html for the page, or {', '.join(others)} or {last} for a picture"
        )
    paper.module("figure")


def check_for_picture(option: str, paths: Sequence[str]) -> None:
    """Raise Refused for an option that says how a picture looks where none of the files is one."""
    if all(map(is_page, paths)):
        raise Refused(f"{option} is for the picture: add -o and a name that ends in {', '.join(paper.SUFFIXES)}")
