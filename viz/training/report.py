"""A training run as a table of text, and as plain data for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz.plain import plain
from viz.text import aligned, count
from viz.training.log import QUANTITIES, Run
from viz.training.rows import why_empty

_HEADS = ("first", "median", "last")


def facts(run: Run) -> str:
    """How much there is of a run, in words."""
    told = [count(len(run.steps), "step"), count(len(run.blocks), "block"), count(len(run.parameters), "parameter")]
    told += [run.optimizer] if run.optimizer else []
    told += [f"gradients of {run.accumulate} passes a step"] if run.accumulate > 1 else []
    return ", ".join(told)


def table(run: Run, level: str = "blocks") -> str:
    """The run's loss and norms: at the first step, the median, at the last; then what the monitor found."""
    lines = [facts(run)]
    if len(run.steps):
        lines += [f"steps {run.steps[0]:,} to {run.steps[-1]:,}", "", *aligned([["", *_HEADS], *_curves(run)])]
        lines += ["", *_by_name(run, level)]
    found = [f"[{i}] step {f.step:,}: {f.text}" for i, f in enumerate(run.findings, 1)]
    return "\n".join([*lines, "", *(found or ["the monitor found nothing"])])


def data(run: Run, level: str = "blocks") -> dict[str, Any]:
    """The same for JSON, of every quantity: null where none was recorded."""
    quantities = [quantity for quantity in QUANTITIES if level == "blocks" or quantity != "output"]
    tables = {quantity: run.values(quantity, level) for quantity in quantities}
    rows = {
        name: {quantity: _three(tables[quantity][i]) for quantity in quantities}
        for i, name in enumerate(run.names(level))
    }
    return plain(
        {
            "steps": len(run.steps),
            "first_step": int(run.steps[0]) if len(run.steps) else None,
            "last_step": int(run.steps[-1]) if len(run.steps) else None,
            "optimizer": run.optimizer or None,
            "accumulate": run.accumulate,
            "loss": _three(run.loss),
            "norm": _three(run.norm),
            level: rows,
            "findings": [
                {"step": f.step, "check": f.check, "names": list(f.names), "text": f.text} for f in run.findings
            ],
        }
    )


def _three(values: Any) -> dict[str, float] | None:
    """The first, the median and the last of what was recorded; the median is that of the finite ones."""
    recorded = np.ma.asarray(values).compressed()
    if not recorded.size:
        return None
    finite = recorded[np.isfinite(recorded)]
    median = float(np.median(finite)) if finite.size else float(recorded[0])
    return {"first": float(recorded[0]), "median": median, "last": float(recorded[-1])}


def _curves(run: Run) -> list[list[str]]:
    return [
        ["loss", *_numbers(_three(run.loss))],
        ["norm of all gradients", *_numbers(_three(run.norm))],
    ]


def _by_name(run: Run, level: str) -> list[str]:
    """A row a block or parameter: norm of the gradient, and of the update relative to the weights; the median share of
    zeros; the number of steps with nan or inf."""
    tables = {quantity: run.values(quantity, level) for quantity in ("norm", "ratio", "zeros", "nonfinite")}
    rows = [[level[:-1], *_HEADS, *_HEADS, "zeros", "nan, inf"]]
    notes = [""]
    for i, name in enumerate(run.names(level)):
        norm, ratio, zeros, odd = (tables[quantity][i] for quantity in tables)
        share = _three(zeros)
        steps = int((odd.filled(0.0) > 0).sum())
        rows.append(
            [
                " ".join(name.split()),
                *_numbers(_three(norm)),
                *_numbers(_three(ratio)),
                f"{share['median']:.1%}" if share else "-",
                count(steps, "step") if steps else "-",
            ]
        )
        none = np.ma.getmaskarray(norm).all()
        notes.append(why_empty(run, "norm", level, name) if none else "")
    lines = aligned(rows)
    norms = lines[0].index("first")
    ratios = lines[0].index("first", norms + 1)
    over = f"{' ' * norms}{'gradient':<{ratios - norms}}update / weights"
    return [over, *(f"{line}  {note}".rstrip() for line, note in zip(lines, notes, strict=True))]


def _numbers(three: dict[str, float] | None) -> list[str]:
    return ["-"] * 3 if three is None else [f"{three[head]:.3g}" for head in _HEADS]
