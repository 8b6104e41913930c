"""Writing a folder of files whole: it has all of them in the end, or is as it was before."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from viz.errors import UserError


def check(folder: str | os.PathLike[str], ours: re.Pattern[str]) -> None:
    """Raise UserError if `folder` cannot be replaced: it is a file, the folder one is in, or holds other files than
    those whose names match `ours`."""
    if not os.fspath(folder):
        raise UserError("cannot write to a folder without a name")
    target = Path(os.path.realpath(folder))
    try:
        if target.exists() and not target.is_dir():
            raise UserError(f"cannot write to {folder}: it is a file, not a folder")
        if target.parent.exists() and not target.parent.is_dir():
            raise UserError(f"cannot write to {folder}: {target.parent} is a file, not a folder")
        if target == Path.cwd():
            raise UserError(f"cannot write to {folder}: you are in that folder, which is not replaced; name another")
        held = sorted(path.name for path in target.iterdir()) if target.exists() else []
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror or error}") from error
    others = [name for name in held if not ours.fullmatch(name)]
    if others:
        raise UserError(f"cannot write to {folder}: it holds other files, e.g. {others[0]}; name a new or empty folder")


@contextmanager
def replacing(folder: str | os.PathLike[str], ours: re.Pattern[str]) -> Iterator[Path]:
    """A folder to fill, which takes the place of `folder` where the block ends without an error.

    Raises UserError as `check` does, and where the folder cannot be written.
    """
    check(folder, ours)
    target = Path(os.path.realpath(folder))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, as a folder can only be renamed within one file system.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".plusequals-") as place:
            filled = Path(place, "new")
            filled.mkdir()
            yield filled
            check(folder, ours)  # drawing takes its time
            _swap(filled, target, Path(place, "old"))
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror or error}") from error


def _swap(filled: Path, target: Path, aside: Path) -> None:
    """Put `filled` in the place of `target`, which is moved aside, or back where that fails."""
    if not target.exists():
        filled.rename(target)
        return
    shutil.copymode(target, filled)
    target.rename(aside)
    try:
        filled.rename(target)
    except BaseException:
        aside.rename(target)
        raise
