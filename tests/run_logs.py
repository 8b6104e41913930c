"""Logs of training runs as tensorgrad.monitor writes them, made without training; and what is drawn in a picture."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

BLOCKS = ("tokens", "positions", "blocks.0", "blocks.1", "head")
UNREACHED = {"kind": "finding", "step": 3, "check": "unreached", "names": ["positions.weight"]} | {
    "text": "no gradient has reached positions.weight in 3 steps"
}


def numbers(norm: Any = 1.0, ratio: Any = 1e-3, zeros: Any = 0.25, nonfinite: int = 0) -> dict[str, Any]:
    """What is logged of a parameter at one step."""
    return {"norm": norm, "ratio": ratio, "zeros": zeros, "nonfinite": nonfinite}


def header(blocks: tuple[str, ...] = BLOCKS, **others: Any) -> dict[str, Any]:
    """The record that a log begins with: each block has a weight, but for `head`, which shares that of `tokens`."""
    owned = [name for name in blocks if name != "head"]
    parameters = [{"name": f"{name}.weight", "shape": [2, 2], "block": name} for name in reversed(owned)]
    return {"kind": "run", "blocks": list(blocks), "parameters": parameters, "optimizer": "AdamW"} | others


def step(n: int, blocks: tuple[str, ...] = BLOCKS, **changed: Any) -> dict[str, Any]:
    """The record of step `n`: the norm of block i is 10**-i * n. `changed` has another dict for a block's numbers, its
    dots written as _, or another loss or norm."""
    rows = {}
    for i, name in enumerate(blocks):
        known = numbers(10.0**-i * n, 1e-3 / (i + 1))
        if name in ("positions", "head"):
            known = numbers(None, 0.0 if name == "positions" else None, None)
        rows[name] = changed.get(name.replace(".", "_"), known)
    return {
        "kind": "step",
        "step": n,
        "passes": 1,
        "loss": changed.get("loss", 4.0 / n),
        "norm": changed.get("norm", 2.0 * n),
        "lr": [0.001],
        "blocks": {name: {**row, "output": row["norm"]} for name, row in rows.items()},
        "parameters": {f"{name}.weight": row for name, row in rows.items() if name != "head"},
    }


def usual(steps: int = 6) -> list[dict[str, Any]]:
    """A run of `steps` steps with one finding at the third."""
    return [header(), *(step(n) for n in range(1, 4)), UNREACHED, *(step(n) for n in range(4, steps + 1))]


def stormy() -> list[dict[str, Any]]:
    """Ten steps with everything that has no place on a logarithmic axis: zeros, nan, inf, and no gradient at all."""
    odd = {
        4: {"blocks_0": numbers(0.0, 0.0, 1.0), "norm": 0.0},
        8: {"blocks_1": numbers("nan", "nan", 0.0, 3), "loss": "nan", "norm": "inf"},
        9: {"blocks_1": numbers(None, "nan", 0.0, 4), "loss": "inf", "norm": "nan"},
        10: {"blocks_1": numbers("inf", "-inf", 0.0, 1), "loss": math.nan, "norm": math.inf},
    }
    return [header(), *(step(n, **odd.get(n, {})) for n in range(1, 11))]


def written(path: Path, records: list[dict[str, Any]], end: str = "\n") -> Path:
    """The log as a file of JSON lines."""
    path.write_text("\n".join(map(json.dumps, records)) + end, encoding="utf-8")
    return path


def texts(artist: Any) -> list[str]:
    """All that is written in a figure or in axes."""
    return [text.get_text() for text in artist.findobj(lambda found: hasattr(found, "get_text")) if text.get_text()]


def data(line: Any) -> list[tuple[float, float]]:
    """The points of a line, without those that have no place."""
    x, y = (np.asarray(line.get_data()[i], dtype=float) for i in (0, 1))
    return list(zip(x[np.isfinite(y)].tolist(), y[np.isfinite(y)].tolist(), strict=True))
