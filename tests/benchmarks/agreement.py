"""That contenders compute the same thing: a race between programs that do not is worth nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

CLOSE = 1e-4
"""Largest difference between gradients in float32, relative to the largest number of the array."""


def check(gradients: Mapping[str, Mapping[str, Any] | Iterable[Any]], close: float = CLOSE) -> None:
    """Raise ValueError unless all contenders have the first one's gradients, by the same names or in the same order.

    gradients  arrays or tensors, by contender
    """
    read = {who: _arrays(found) for who, found in gradients.items()}
    first, *others = read
    for who in others:
        if read[who].keys() != read[first].keys():
            differing = sorted(map(str, read[who].keys() ^ read[first].keys()))
            raise ValueError(f"{who!r} and {first!r} have gradients of different things: {', '.join(differing)}")
        for name, expected in read[first].items():
            found = read[who][name]
            if found.shape != expected.shape:
                raise ValueError(f"gradient {name}: {who!r} has shape {found.shape}, {first!r} {expected.shape}")
            apart = np.abs(found - expected).max() / max(np.abs(expected).max(), np.finfo(np.float32).tiny)
            if not apart <= close:
                raise ValueError(f"gradient {name}: {who!r} is {apart:.1e} from {first!r}, more than {close:g}")


SAMPLE = 1_000
"""Numbers of an array that stand for it where contenders are in different processes."""


def sketch(gradients: Mapping[str, Any] | Iterable[Any]) -> dict[str, list[float]]:
    """What stands for the arrays, by name and shape: the same SAMPLE of numbers of each in every process, all where
    there are fewer, and the root of the mean square of all. Two sketches are compared by `check`."""
    found = {}
    for name, a in _arrays(gradients).items():
        flat = a.ravel()
        if flat.size > SAMPLE:
            flat = flat[np.random.default_rng(flat.size).integers(0, flat.size, SAMPLE)]
        square = float(np.mean(np.square(a, dtype=np.float64)))
        found[f"{name}, shape {a.shape}"] = [*flat.tolist(), square**0.5]
    return found


def _arrays(gradients: Mapping[str, Any] | Iterable[Any]) -> dict[Any, np.ndarray]:
    named = gradients.items() if isinstance(gradients, Mapping) else enumerate(gradients)
    return {name: np.asarray(a.numpy() if hasattr(a, "numpy") else a) for name, a in named}
