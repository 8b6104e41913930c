"""A training run as arrays, from the JSON lines that `tensorgrad.monitor` logs: read_run("run.jsonl")."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viz.errors import UserError
from viz.text import clip, visible

QUANTITIES = {
    "norm": "norm of the gradient",
    "output": "norm of the gradient at the output",
    "ratio": "norm of the update / norm of the weights",
    "zeros": "share of zeros in the gradient",
    "nonfinite": "elements of the gradient that are nan or inf",
}
"""What is logged of a block at each step, in words. Parameters have all but `output`."""

_LARGEST = 2**63 - 1
LEVELS = ("blocks", "parameters")


@dataclass(frozen=True)
class RunFinding:
    """What the monitor said: at which step, by which check, of which blocks or parameters, in one line."""

    step: int
    check: str
    names: tuple[str, ...]
    text: str


@dataclass(frozen=True, eq=False)
class Run:
    """A training run of S recorded steps.

    name        of the file and of the folder that it is in, or ""
    blocks      names in the order of depth, from the input on
    parameters  names, in the order of their blocks, which `block_of` has
    optimizer, accumulate  as they were declared
    steps       (S,) their numbers, which rise
    loss, norm  (S,) of each step, `norm` that of all gradients before clipping; masked where none was recorded
    findings    in the order in which they were said
    """

    name: str
    blocks: tuple[str, ...]
    parameters: tuple[str, ...]
    block_of: Mapping[str, str]
    optimizer: str
    accumulate: int
    steps: np.ndarray
    loss: np.ma.MaskedArray
    norm: np.ma.MaskedArray
    findings: tuple[RunFinding, ...]
    _tables: Mapping[str, np.ma.MaskedArray]

    def names(self, level: str = "blocks") -> tuple[str, ...]:
        """The names of the rows of `values`."""
        return self.parameters if _level(level) == "parameters" else self.blocks

    def values(self, quantity: str, level: str = "blocks") -> np.ma.MaskedArray:
        """A quantity (names, S), masked where there was none, as of a parameter that no gradient has reached.

        Raises UserError for one that there is not.
        """
        if quantity not in QUANTITIES:
            raise UserError(f"there is no quantity {quantity!r}: take {', '.join(QUANTITIES)}")
        if _level(level) == "parameters" and quantity == "output":
            raise UserError("outputs are those of blocks: parameters have no quantity 'output'")
        return self._tables[level][list(QUANTITIES).index(quantity)]

    def owned(self, block: str) -> tuple[str, ...]:
        """The names of a block's own parameters: a tied head has none."""
        return tuple(name for name in self.parameters if self.block_of.get(name) == block)

    def __repr__(self) -> str:
        return f"<Run, {len(self.steps)} steps of {len(self.blocks)} blocks, {len(self.findings)} findings>"


def read_run(path: str | os.PathLike[str]) -> Run:
    """The run that a monitor has logged to a file.

    A last line that a crash has cut short is left out. Where a step is there twice, because the run was taken up again
    from an earlier one, the later lines hold.

    Raises UserError, naming the line, for what is no such log.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return _collected(_parsed(content, str(path)), "/".join(Path(path).parts[-2:]))  # names of files are alike


def run_of(source: Any) -> Run:
    """The run behind a path of a log, its records, a monitor (which has `.records`), or a Run itself."""
    if isinstance(source, Run):
        return source
    if isinstance(source, (str, os.PathLike)):
        return read_run(source)
    records = getattr(source, "records", source)
    records = records() if callable(records) else records
    if isinstance(records, Mapping) or not isinstance(records, Iterable):
        raise UserError(f"a run is the path of a log, its records, or a monitor, not a {type(source).__name__}")
    return _collected(((f"record {i}", record) for i, record in enumerate(records, 1)), "")


def _level(level: str) -> str:
    if level not in LEVELS:
        raise UserError(f"there is no level {level!r}: take {' or '.join(LEVELS)}")
    return level


# -- lines -------------------------------------------------------------------------------------------------------------


def _parsed(content: bytes, name: str) -> Iterator[tuple[str, Any]]:
    """Each line's object, with the words that say where it is."""
    if not content.strip():
        raise UserError(f"{name} is empty: no run has been logged to it")
    lines = content.split(b"\n")
    for i, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield f"{name}, line {i}", json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            if i == len(lines) and i > 1:  # no line end behind it: it was being written when the run ended
                return
            raise UserError(f"{name}, line {i} is no JSON: a monitor's log has an object on each line") from None


class _Mistake(Exception):
    """What is wrong with a record, in words that go on after its place."""


# -- arrays ------------------------------------------------------------------------------------------------------------


def _collected(records: Iterable[tuple[str, Any]], name: str) -> Run:
    rows = _Rows()
    for place, record in records:
        try:
            rows.add(record)
        except _Mistake as mistake:
            raise UserError(f"{place} {mistake}") from None
    return rows.run(name)


class _Rows:
    """What has been read so far."""

    def __init__(self) -> None:
        self.head: dict[str, Any] | None = None
        self.names: dict[str, dict[str, int]] = {"blocks": {}, "parameters": {}}
        self.block_of: dict[str, str] = {}
        self.steps: list[int] = []
        self.curves: list[tuple[float | None, float | None]] = []  # loss and norm
        self.tables: dict[str, list[np.ndarray]] = {"blocks": [], "parameters": []}  # a step: (quantities, names)
        self.findings: list[RunFinding] = []

    def add(self, record: Any) -> None:
        if not isinstance(record, Mapping) or not isinstance(record.get("kind"), str):
            raise _Mistake("is no record of a run: it has no 'kind'")
        add = {"run": self._run, "step": self._step, "finding": self._finding}.get(record["kind"])
        if add is not None:  # a kind that a later version adds is no mistake
            add(record)

    def _run(self, record: Mapping[str, Any]) -> None:
        blocks = [visible(str(block)) for block in _list(record, "blocks")]
        described = _list(record, "parameters")
        if not all(isinstance(p, Mapping) and isinstance(p.get("name"), str) for p in described):
            raise _Mistake("has parameters without a name")
        head = {"blocks": blocks, "parameters": [visible(p["name"]) for p in described]}
        if self.head is not None and any(set(self.head[level]) != set(head[level]) for level in LEVELS):
            raise _Mistake("begins another run, of other blocks: give each run a log of its own")
        accumulate = record.get("accumulate")
        self.head = {
            **head,
            "optimizer": visible(str(record.get("optimizer") or "")),
            "accumulate": accumulate if isinstance(accumulate, int) else 1,
        }
        for level in LEVELS:
            for name in head[level]:
                self.names[level].setdefault(name, len(self.names[level]))
        self.block_of |= {visible(p["name"]): visible(str(p.get("block") or "")) for p in described}

    def _step(self, record: Mapping[str, Any]) -> None:
        step = _whole(record, "step")
        while self.steps and self.steps[-1] >= step:
            for kept in (self.steps, self.curves, *self.tables.values()):
                kept.pop()
        curves = (_maybe(record.get("loss"), "loss"), _maybe(record.get("norm"), "norm"))
        tables = {level: self._table(record, level) for level in LEVELS}
        self.steps.append(step)
        self.curves.append(curves)
        for level in LEVELS:
            self.tables[level].append(tables[level])

    def _table(self, record: Mapping[str, Any], level: str) -> np.ndarray:
        """One step's (quantities, names) by name, masked where there is none: kept as two arrays in one, (2, ...)."""
        found = record.get(level) or {}
        if not isinstance(found, Mapping):
            raise _Mistake(f"has {level} that are no object of names")
        names, found = self.names[level], {visible(str(name)): values for name, values in found.items()}
        for name in found:
            names.setdefault(name, len(names))
        data, there = ([[0.0] * len(names) for _ in QUANTITIES] for _ in range(2))  # lists, as arrays take long to fill
        for name, values in found.items():
            if not isinstance(values, Mapping):
                raise _Mistake(f"has a {level[:-1]} {name!r} that is no object")
            at = names[name]
            for i, quantity in enumerate(QUANTITIES):
                value = values.get(quantity)
                if value is not None:
                    is_number = type(value) is float
                    data[i][at] = value if is_number else _number(value, f"{level[:-1]} {name!r}: {quantity}")
                    there[i][at] = 1.0
            if values.get("norm") is None and values.get("nonfinite"):
                data[0][at], there[0][at] = math.nan, 1.0  # there was a gradient, whose norm is no number
        return np.array([data, there])

    def _finding(self, record: Mapping[str, Any]) -> None:
        names = tuple(visible(str(name)) for name in _list(record, "names"))
        text = visible(" ".join(str(record.get("text", "")).split()))
        found = RunFinding(_whole(record, "step"), visible(str(record.get("check", ""))), names, text)
        if found not in self.findings:  # a run that was taken up again may say it again
            self.findings.append(found)

    def run(self, name: str) -> Run:
        if self.steps and not any(self.names.values()):
            raise UserError(
                f"{name or 'the run'} has steps without a block or parameter in them, so it is no log of "
                "tensorgrad.monitor: take the file that was named there as log="
            )
        head = self.head or {"optimizer": "", "accumulate": 1}
        parameters, places = list(self.names["parameters"]), self.names["blocks"]
        # the log has them as the optimizer does; by depth they belong together
        order = sorted(
            range(len(parameters)), key=lambda i: places.get(self.block_of.get(parameters[i], ""), len(places))
        )
        tables = {level: self._stacked(level) for level in LEVELS}
        loss, norm = _masked(x for x, _ in self.curves), _masked(x for _, x in self.curves)
        return Run(
            name=name,
            blocks=tuple(self.names["blocks"]),
            parameters=tuple(parameters[i] for i in order),
            block_of=self.block_of,
            optimizer=head["optimizer"],
            accumulate=head["accumulate"],
            steps=np.array(self.steps, dtype=np.int64),
            loss=loss,
            norm=norm,
            findings=tuple(self.findings),
            _tables=tables | {"parameters": tables["parameters"][:, order]},
        )

    def _stacked(self, level: str) -> np.ma.MaskedArray:
        """(quantities, names, S): a name that came up later is masked before."""
        shape = (2, len(QUANTITIES), len(self.names[level]), len(self.steps))
        both = np.zeros(shape)
        for i, table in enumerate(self.tables[level]):
            both[:, :, : table.shape[2], i] = table
        return np.ma.masked_array(both[0], both[1] == 0.0)


def _list(record: Mapping[str, Any], field: str) -> list[Any]:
    found = record.get(field)
    if found is None:
        return []
    if not isinstance(found, (list, tuple)):
        raise _Mistake(f"has {field} that are no list")
    return list(found)


def _whole(record: Mapping[str, Any], field: str) -> int:
    found = record.get(field)
    if isinstance(found, bool) or not isinstance(found, (int, np.integer)):
        raise _Mistake(f"has a {field} that is no whole number: {clip(repr(found))}")
    if abs(int(found)) > _LARGEST:
        raise _Mistake(f"has a {field} that is no whole number of 64 bits: {clip(repr(found))}")
    return int(found)


def _masked(values: Iterable[float | None]) -> np.ma.MaskedArray:
    """The values (S,), masked where there is none."""
    found = list(values)
    data = np.array([0.0 if x is None else x for x in found], dtype=np.float64)
    return np.ma.masked_array(data, np.array([x is None for x in found], dtype=bool))


def _maybe(value: Any, what: str) -> float | None:
    return None if value is None else _number(value, what)


def _number(value: Any, what: str) -> float:
    """A number, also as "nan", "inf" or "-inf"."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _Mistake(f"has a {what} that is no number: {clip(repr(value))}") from None
