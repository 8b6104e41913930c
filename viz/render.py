"""Finding a dot program, and having it lay DOT text out."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import graphviz
from graphviz.backend import dot_command

from viz.errors import NoDotError, UserError

FORMATS = ("png", "svg", "pdf", "plain")

_ENVIRONMENT_VARIABLE = "PLUSEQUALS_DOT"


def find_dot() -> Path:
    """The dot program to use: the one that PLUSEQUALS_DOT names, else graphviz-pure's, else the one on PATH.

    Raises NoDotError where there is none, UserError where the variable names no program.
    """
    named = os.environ.get(_ENVIRONMENT_VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise UserError(f"{_ENVIRONMENT_VARIABLE} is {named!r}, which is no program")
        return Path(found)
    packaged = _graphviz_pure()
    if packaged is not None:
        return packaged
    found = shutil.which("dot")
    if found is None:
        raise NoDotError
    return Path(found)


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
    """The picture of DOT text `source` in one of FORMATS. Raises UserError where the program cannot make it."""
    dot = find_dot()
    # The graphviz package looks its program up in this module at every call.
    before, dot_command.DOT_BINARY = dot_command.DOT_BINARY, dot
    try:
        return graphviz.pipe("dot", format, source.encode(), quiet=True)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or b"").decode(errors="replace").strip().splitlines() or [
            f"exit status {error.returncode}"
        ]
        raise UserError(f"{dot.name} could not draw this as {format}: {lines[0]}{_other_engine(format)}") from error
    except (OSError, graphviz.ExecutableNotFound) as error:
        raise UserError(f"{dot} could not be run: {error}") from error
    finally:
        dot_command.DOT_BINARY = before


def _other_engine(format: str) -> str:
    return (
        "; graphviz-pure draws no PDF: use Graphviz's own dot (PLUSEQUALS_DOT=dot), or SVG" if format == "pdf" else ""
    )
