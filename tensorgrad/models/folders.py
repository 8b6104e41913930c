"""Folders of files that others wrote, as of a model's weights: paths to them, JSON in them, and words for what is
missing. `op` is what the user called, with which messages begin."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_SHOWN = 3  # of a long list of names


def path_of(op: str, folder: Any) -> Path:
    """`folder` as a path, whether or not there is one."""
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"{op}: takes the path of a folder, got a {type(folder).__name__}")
    if "\0" in str(folder):
        raise ValueError(f"{op}: {str(folder)!r} is no path: no name has the character '\\0' in it")
    return Path(folder)


def folder_of(op: str, folder: Any) -> Path:
    """`folder` as the path of a folder that is there."""
    path = path_of(op, folder)
    if not os.path.exists(path):  # False also for a name that is too long
        raise FileNotFoundError(f"{op}: there is no folder {str(path)!r}; only files on this machine are read")
    if not os.path.isdir(path):
        raise NotADirectoryError(f"{op}: {str(path)!r} is a file: give the folder that it is in")
    return path


def check_file(op: str, path: Path, hint: str = "") -> None:
    """Raise FileNotFoundError, which says what is in its folder and `hint`, unless `path` is a file."""
    if os.path.isfile(path):  # False also for a name that is too long
        return
    try:
        there = sorted(entry.name for entry in path.parent.iterdir() if entry.name != path.name)
    except OSError as error:
        raise OSError(f"{op}: {str(path.parent)!r} cannot be read ({error.strerror or error})") from None
    around = f"; there are {some(there)}" if there else ", where nothing else is"
    raise FileNotFoundError(f"{op}: there is no file {path.name!r} in {str(path.parent)!r}{hint}{around}")


def read_json(op: str, path: Path, hint: str = "") -> dict[str, Any]:
    """The object in a file of JSON; `hint` is for where there is none."""
    check_file(op, path, hint)
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{op}: {str(path)!r} is not JSON, or is damaged ({error})") from None
    except OSError as error:
        raise OSError(f"{op}: {str(path)!r} cannot be read ({error.strerror or error})") from None
    if not isinstance(content, dict):
        raise ValueError(f"{op}: {str(path)!r} holds {short(content)}, not an object with names")
    return content


def some(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    shown = ", ".join(map(short, names[:_SHOWN]))
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def short(x: Any) -> str:
    """`x` as it is written, where that is long its start."""
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."
