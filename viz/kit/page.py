"""A page that is complete in itself: how its parts become one HTML file, and how it is written and shown."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from viz import files, text
from viz.errors import UserError

SCRIPTS = ("kit/dom.js", "kit/numbers.js", "kit/address.js", "kit/theme.js")
"""Of the kit: what a page with numbers, an address, and the button for light and dark needs."""

_SUFFIXES = (".html", ".htm")
_FRAME_HEIGHT = 640  # pixels, in a notebook


@dataclass(frozen=True, repr=False)
class Page:
    """A page that needs no server, no network and no other file. `html` is its text."""

    html: str
    title: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to `path`, whole or not at all. Raises UserError for a suffix that is not .html or .htm."""
        check_suffix(path)
        return files.write(path, self.html)

    def __repr__(self) -> str:
        return f"<Page {text.clip(self.title)!r}: save it with .save('step.html')>"

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own, so that neither can disturb the other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" '
            f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{_FRAME_HEIGHT}px;border:0"></iframe>'
        )


def assemble(
    template: str | Path, title: str, data: Any, styles: Sequence[str | Path], scripts: Sequence[str | Path]
) -> str:
    """One file from parts: the template with `title`, the styles, the data and the scripts put in, the scripts one
    after the other, and what the kit has for all: what a browser is told first, and the button for light and dark. A
    part is named by its path in the package viz, or is a Path, where it lies elsewhere."""
    parts = resources.files("viz")

    def read(part: str | Path) -> str:
        return (part if isinstance(part, Path) else parts / part).read_text(encoding="utf-8")

    return Template(read(template)).substitute(
        meta=read("kit/meta.html").rstrip(),
        theme=read("kit/theme.html").rstrip(),
        title=html.escape(title),
        style="\n".join(map(read, styles)),
        data=script_json(data),
        script="\n".join(map(read, scripts)),
    )


def script_json(data: Any) -> str:
    """`data` as JSON that is safe between <script> tags: nothing in it can end the script or begin a comment."""
    raw = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise UserError if `path` does not end in .html or .htm."""
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise UserError(
            f"cannot write a page to {os.fspath(path) or 'a file without a name'}: name a file that ends in .html"
        )
