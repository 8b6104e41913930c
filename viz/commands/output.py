"""Telling what a command wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def write(path: str, save: Callable[[str], object]) -> str:
    """Call `save(path)`, and say what was written; of a folder that was not there, that it was made: as a slip in the
    folder's name would not be noticed otherwise."""
    folder = os.path.dirname(path)
    made = bool(folder) and not Path(folder).exists()
    save(path)
    return f"wrote {path}{f' (made the folder {folder})' if made else ''}"
