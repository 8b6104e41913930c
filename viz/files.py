"""Writing files whole: a failed write leaves the old file, or none, never half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from viz.errors import UserError

_SEPARATORS = (os.sep, os.altsep or os.sep)


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write `content` to a temporary file beside `path` and rename it into place; make missing folders.

    Raises UserError where the folder cannot be made or written to, or `path` is a folder or a device.
    """
    check_place(path)
    path = Path(path)
    target = Path(os.path.realpath(path))  # a link stays one, and what it points to is replaced
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".plusequals-", suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException as error:  # an interruption, too, leaves no temporary file
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise UserError(f"cannot write {path}: {error.strerror or error}") from error
        raise
    return path


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise UserError where no file can be at `path`, before anything is done for it: it is a folder or a device, or
    what it is in is no folder."""
    if os.fspath(path).endswith(_SEPARATORS):
        raise UserError(f"cannot write {path}: it names a folder; name a file in it")
    if "\0" in os.fspath(path):
        raise UserError(f"cannot write {os.fspath(path)!r}: no file's name holds a zero byte")
    if os.path.isdir(path):
        raise UserError(f"cannot write {path}: it is a folder; name a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError(f"cannot write {path}: it is a device or a pipe, which cannot be replaced as a whole")
    around = next((each for each in Path(path).parents if os.path.lexists(each)), None)
    if around is not None and not os.path.isdir(around):
        raise UserError(f"cannot write {path}: {around} is a file, not a folder")


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
