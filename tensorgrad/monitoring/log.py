"""The monitor's record of a run: what was measured at each step, as dicts and as JSON lines."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.parts import Parts
from tensorgrad.monitoring.row import Row

Record = dict[str, Any]

_KEPT = 10_000  # of the last steps and findings; the file has all


class Log:
    """The last rows and findings in the order in which they came, and the file that all are written to.

    path   of a file of JSON lines, or None
    after  steps that were taken before: an older file keeps its lines up to that step and is gone on with
    """

    def __init__(self, path: str | os.PathLike[str] | None, parts: Parts, settings: Record, after: int = 0) -> None:
        self.parts = parts
        self.entries: deque[Row | Finding] = deque(maxlen=_KEPT)
        self._settings = settings
        self._path = None if path is None else Path(path)
        self._file: TextIO | None = None
        self._after = after

    def add(self, entry: Row | Finding) -> None:
        """Keep it, and write it."""
        self.entries.append(entry)
        if self._path is None:
            return
        try:
            if self._file is None:
                self._begin(self._path)
            assert self._file is not None
            self._file.write(_line(self.described(entry)))
            self._file.flush()  # what was seen before a crash is what one wants to read
        except (OSError, ValueError) as error:  # ValueError: a path that is none
            with suppress(OSError):  # of stderr: a log must not end a run
                print(f"monitor: no more is written to {str(self._path)!r}: {error}", file=sys.stderr)
            self._path = None
            self.close()

    def _begin(self, path: Path) -> None:
        """Open the file, with what of an older one stays: that is lost at no moment."""
        kept = _kept(path, self._after) if self._after and path.is_file() else []
        if kept:
            beside = path.with_name(f".unfinished-{path.name}")
            try:
                beside.write_text("".join(kept), encoding="utf-8")
                os.replace(beside, path)
            except OSError:
                beside.unlink(missing_ok=True)
                raise
        self._file = path.open("a" if kept else "w", encoding="utf-8")
        if not kept:
            self._file.write(_line(self.header()))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):  # what a full disk did not take was said
                self._file.close()
            self._file = None

    def records(self) -> Iterator[Record]:
        """All as dicts, the names first."""
        yield self.header()
        yield from map(self.described, self.entries)

    def header(self) -> Record:
        """Names, shapes and settings."""
        p = self.parts
        return {
            "kind": "run",
            "blocks": list(p.blocks),
            "parameters": [
                {"name": name, "shape": list(x._data.shape), "block": p.blocks[i]}
                for name, x, i in zip(p.names, p.parameters, p.block_of, strict=True)
            ],
            **self._settings,
        }

    def described(self, entry: Row | Finding) -> Record:
        """As a dict of what JSON can hold."""
        if isinstance(entry, Finding):
            names = list(entry.names)
            return {"kind": "finding", "step": entry.step, "check": entry.check, "names": names, "text": entry.text}
        blocks = _by_name(self.parts.blocks, entry.blocks)
        for found, output in zip(blocks.values(), entry.outputs.tolist(), strict=True):
            found["output"] = _or_none(output)
        return {
            "kind": "step",
            "step": entry.step,
            "passes": entry.passes,
            "loss": _number(entry.loss),
            "norm": _number(entry.norm),
            "lr": [_number(rate) for rate in entry.rates],
            "blocks": blocks,
            "parameters": _by_name(self.parts.names, entry.parameters),
        }


def _kept(path: Path, after: int) -> list[str]:
    """The whole lines of a log up to a step; none where it is no log of a monitor."""
    kept: list[str] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:  # the last line of a program that was killed may be half there
            continue
        if not isinstance(found, dict) or not (kept or found.get("kind") == "run"):
            return []
        step = found.get("step", 0)
        if isinstance(step, int) and step <= after:
            kept.append(line + "\n")
    return kept


def _by_name(names: Sequence[str], table: np.ndarray) -> dict[str, Record]:
    return {
        name: {
            "norm": None if math.isnan(zeros) else _number(norm),  # a gradient that is there may have the norm nan
            "ratio": _or_none(ratio),
            "zeros": _or_none(zeros),
            "nonfinite": int(odd),
        }
        for name, (norm, ratio, zeros, odd) in zip(names, table.tolist(), strict=True)
    }


def _or_none(x: float) -> float | str | None:
    """A measured number; nan stands for one that there is none of."""
    return None if x != x else _number(x)


def _number(x: float) -> float | str:
    """With six digits; what JSON lacks, as a string."""
    return float(f"{x:.6g}") if math.isfinite(x) else str(float(x))


def _line(record: Record) -> str:
    return json.dumps(record, allow_nan=False) + "\n"
