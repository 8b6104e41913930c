"""Finding a dot program, and having it lay DOT text out."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from viz.errors import NoDotError, UserError

_ENVIRONMENT_VARIABLE = "PLUSEQUALS_DOT"
_PNG_RESOLUTION = 144  # dots per inch, twice Graphviz's own, so that text is crisp
_HINTS = {"pdf": "; for PDF, Graphviz's own dot has to be on PATH (or in PLUSEQUALS_DOT): graphviz-pure draws none"}


def find_dot(format: str = "svg") -> Path:
    """The dot program to use: the one that PLUSEQUALS_DOT names, else graphviz-pure's, else the one on PATH.

    For PDF, which graphviz-pure does not draw, the one on PATH comes before graphviz-pure's.

    Raises NoDotError where there is none, UserError where the variable names no program.
    """
    named = os.environ.get(_ENVIRONMENT_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise UserError(f"{_ENVIRONMENT_VARIABLE} is {named!r}, which is no program")
        return Path(found)
    packaged = _graphviz_pure()
    if packaged is not None and format != "pdf":
        return packaged
    on_path = shutil.which("dot")
    if on_path is not None:
        return Path(on_path)
    if packaged is None:
        raise NoDotError
    return packaged


def _graphviz_pure() -> Path | None:
    """The program that the PyPI package graphviz-pure installed in this Python environment, if it did."""
    try:
        files = metadata.files("graphviz-pure") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.stem == "graphviz-pure" and file.suffix in ("", ".exe"):
            program = Path(str(file.locate())).resolve()
            return program if program.is_file() else None
    return None


def run_dot(source: str, format: str) -> bytes:
    """The picture of DOT text `source` as "png", "svg" or "pdf", or as "plain" the coordinates of all that is in it.

    Raises NoDotError where there is no dot program, UserError where it cannot make the picture.
    """
    dot = find_dot(format)
    command = [str(dot), f"-T{format}", *([f"-Gdpi={_PNG_RESOLUTION}"] if format == "png" else [])]
    try:
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
    except OSError as error:
        raise UserError(f"{dot} could not be run: {error.strerror or error}") from error
    if done.returncode or not done.stdout:
        silent = f"exit status {done.returncode}" if done.returncode else "it wrote nothing"
        said = done.stderr.decode(errors="replace").strip().splitlines() or [silent]
        raise UserError(f"{dot.name} could not draw this as {format}: {said[0]}{_HINTS.get(format, '')}")
    return done.stdout
