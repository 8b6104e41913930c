"""Running code of the user's: in its surroundings, and with what it raises told in one line that says where."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import TracebackType

from tensorgrad.errors import ChangedError
from viz.errors import UserError
from viz.text import clip

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_NOT_THE_USERS = [
    Path(sysconfig.get_path("stdlib")).resolve(),
    *(Path(__file__).resolve().parents[2] / package for package in ("micrograd", "tensorgrad", "viz")),
]


@contextmanager
def running(path: Path, folder: str | None = None) -> Iterator[None]:
    """Run code of the user's file: its folder on sys.path, its own sys.argv, in the working directory `folder` (by
    default the one that is), and what it prints sent to stderr. All that is put back at the end.

    Raises UserError, one line that says where, in the place of what the file's code raises.
    """
    path_before, argv_before, folder_before = sys.path[:], sys.argv, working_directory()
    sys.path.insert(0, str(path.resolve().parent))
    sys.argv = [str(path)]
    try:
        with redirect_stdout(sys.stderr), telling(path):
            if folder is not None:
                os.chdir(folder)
            yield
    finally:
        sys.path[:] = path_before
        sys.argv = argv_before
        if folder_before is not None:
            os.chdir(folder_before)


def working_directory() -> str | None:
    """The working directory, or None if somebody has removed it."""
    try:
        return os.getcwd()
    except OSError:
        return None


@contextmanager
def telling(path: Path, otherwise: str | None = None) -> Iterator[None]:
    """Turn what the user's code raises into a UserError of one line; an interruption stays one.

    otherwise  who is to blame for an error outside of the user's files; by default we are, and it stays as it is
    """
    folder = path.resolve().parent  # now: the code may change the working directory
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        what = _what_went_wrong(path, folder, error, otherwise)
        if what is None:
            raise
        raise UserError(what) from error


def _what_went_wrong(path: Path, folder: Path, error: BaseException, otherwise: str | None) -> str | None:
    """The error in one line, with file and line; None for one that nobody is to blame for."""
    if isinstance(error, SyntaxError) and Path(error.filename or path).is_file():
        return f"{error.filename or path}:{error.lineno or 1} cannot be run: {type(error).__name__}: {error.msg}"
    where = _innermost_line(path, folder, error.__traceback__) or otherwise
    if where is None and isinstance(error, ChangedError):  # of a loop that goes on to optimizer.step()
        return f"{path}: {clip(str(error), 300)}; name a loss that no step came after, or a function that returns one"
    if where is None:
        return None
    if isinstance(error, SystemExit):
        return f"{where} ended the program: SystemExit({error.code!r})"
    message = clip(_text(error), 300)
    return f"{where} raised {type(error).__name__}{': ' if message else ''}{message}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a class of the user's may fail at this, too
        return ""


def _innermost_line(path: Path, folder: Path, traceback: TracebackType | None) -> str | None:
    """file:line of the innermost line that was running in the user's file, or in one below its folder."""
    found = None
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        if file == path or is_the_users(file, folder):
            found = f"{file}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def is_the_users(file: Path, folder: Path) -> bool:
    """Whether a module's file is the user's own: below the `folder` of the file that is run, and not installed."""
    if not file.is_absolute() or not file.resolve().is_relative_to(folder):  # "<frozen ...>" is no file
        return False
    file = file.resolve()
    installed = _INSTALLED.intersection(file.relative_to(folder).parts)
    return not installed and not any(file.is_relative_to(elsewhere) for elsewhere in _NOT_THE_USERS)
