"""The log of a run: JSON, one line a step, each on the disk as soon as the step is done."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.errors import Refused


class Log:
    """A file of JSON lines; None for `path` keeps none.

    after  the step that the run goes on from: lines of the file up to it stay, those of later steps are taken away, as
           the run will write them again

    A number that JSON lacks is written as "nan", "inf" or "-inf". Raises Refused where the file cannot be written.
    """

    def __init__(self, path: Path | None, after: int = 0) -> None:
        self._path, self._file = path, None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = _lines_up_to(path, after) if after else []
            _replace(path, "".join(kept))
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise self._refused(error) from None

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line, and hand it to the operating system at once, so that an end of the program loses none."""
        if self._file is None:
            return
        try:
            self._file.write(to_json(line) + "\n")
            self._file.flush()
        except OSError as error:
            raise self._refused(error) from None

    def close(self) -> None:
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                raise self._refused(error) from None
            finally:
                self._file = None

    def _refused(self, error: OSError) -> Refused:
        return Refused(f"cannot write the log {str(self._path)!r}: {error.strerror or error}")


def _replace(path: Path, text: str) -> None:
    """The file with this text, or as it was."""
    beside = path.with_name(f".unfinished-{path.name}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def to_json(content: Any) -> str:
    """`content` as JSON on one line, with "nan", "inf" and "-inf" for the numbers that JSON lacks."""
    return json.dumps(_plain(content), allow_nan=False)


def _plain(x: Any) -> Any:
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    if isinstance(x, Mapping):
        return {name: _plain(value) for name, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(value) for value in x]
    return x


def _lines_up_to(path: Path, step: int) -> list[str]:
    """The whole lines of a log that belong to steps up to `step`."""
    if not path.exists():
        return []
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        try:
            if json.loads(line)["step"] <= step and line.endswith("\n"):
                kept.append(line)
        except (ValueError, KeyError, TypeError):
            continue  # the last line of a program that was killed may be half there
    return kept
