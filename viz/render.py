"""Finding a dot program, and having it lay DOT text out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from viz.errors import NoDotError, UserError

_ENVIRONMENT_VARIABLE = "PLUSEQUALS_DOT"
_PNG_RESOLUTION = 144  # dots per inch, twice Graphviz's own, so that text is crisp
_LONGEST = 300  # seconds; dense graphs of a thousand nodes take a minute
_FORMS = {"png": (b"\x89PNG\r\n\x1a\n",), "pdf": (b"%PDF-",), "svg": (b"<?xml", b"<svg"), "plain": (b"graph ",)}
"""What each format starts with; the last two are text in UTF-8."""
_TEXT = ("svg", "plain")
_OTHER_DOT = f"`pip install graphviz-pure`, or set {_ENVIRONMENT_VARIABLE} to Graphviz's dot"
_HINTS = {"pdf": "for PDF, Graphviz's own dot has to be on PATH (or in PLUSEQUALS_DOT): graphviz-pure draws none"}
_UNKNOWN_FORMAT = "not recognized"
"""What Graphviz says, with a long list of names, of a format that it has no plugin for."""


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
        return Path(os.path.abspath(found))  # "./dot" as a bare "dot" would be looked up on PATH
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
    metadata = import_module("importlib.metadata")  # which brings the parser of e-mail with it
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

    Raises NoDotError where there is no dot program, UserError where it cannot make the picture, answers with something
    else, or takes longer than five minutes.
    """
    dot = find_dot(format)
    command = [str(dot), f"-T{format}", *([f"-Gdpi={_PNG_RESOLUTION}"] if format == "png" else [])]
    try:
        status, picture, complaint = _run(command, source.encode())
    except OSError as error:
        raise UserError(f"{dot} could not be run: {error.strerror or error}") from error
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{dot.name} was ended after {_LONGEST} seconds without a picture: draw a smaller part of the graph"
        ) from None
    if status or not picture:
        silent = f"exit status {status}" if status else "it wrote nothing"
        said = (complaint.decode(errors="replace").strip().splitlines() or [silent])[0]
        hint = _HINTS.get(format, "")
        why = [hint] if hint and _UNKNOWN_FORMAT in said else [said, hint]
        raise UserError(f"{dot.name} could not draw this as {format}: {'; '.join(filter(None, why))}")
    if not _is_in(picture, format):
        raise UserError(f"{dot} did not answer with {format}, as a dot program would: {_OTHER_DOT}")
    return picture


def _run(command: list[str], given: bytes) -> tuple[int, bytes, bytes]:
    """The exit status, stdout and stderr of a program. Where it takes too long or the wait for it is interrupted,
    the program ends too, and whatever it has started, which would keep its pipes open."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(given, timeout=_LONGEST)
        except BaseException:
            _kill_group(process)
            raise
        return process.returncode, out, err


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if not hasattr(os, "killpg"):  # Windows
        process.kill()
        return
    with suppress(OSError):  # it has just ended
        os.killpg(process.pid, signal.SIGKILL)


def _is_in(picture: bytes, format: str) -> bool:
    """Whether what a program wrote looks like the format that it was asked for."""
    if format in _TEXT:
        try:
            picture.decode()
        except UnicodeDecodeError:
            return False
    return picture.startswith(_FORMS[format])
