"""Gradients that owe nothing to either engine: finite differences, and torch's where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from micrograd.backprop import topological_order
from tensorgrad import Tensor
from tensorgrad.autograd import finite_difference
from viz.comparison.lifted import Repeatable
from viz.text import clip

MOST_DIFFERENCES = 2000
_MOST_WORK = 400_000  # operations that are done again for them, which takes some seconds
_STEP = 1e-6
_OURS = (
    "the program uses tensorgrad's functions, or Tensors beside its operands, which torch does not take: with "
    "operators and methods on its operands alone it runs on both"
)

Reference = tuple[dict[Tensor, np.ndarray], str]
"""Gradients by leaf, and a note for the reader where they are missing, else ""."""


def finite_differences(run: Repeatable, leaves: Sequence[Tensor], seed: np.ndarray, operations: int) -> Reference:
    """Central differences of the program along each element of each leaf, in float64 whatever the leaves' dtype.

    operations  how many the program does: it runs twice for each element
    """
    stuck = {leaf: number for leaf in leaves if (number := _too_large(leaf.data)) is not None}
    taken = [leaf for leaf in leaves if leaf not in stuck]
    elements = sum(leaf.data.size for leaf in taken)
    if elements > MOST_DIFFERENCES:
        return {}, f"no finite differences: the leaves have {elements:,} elements, more than {MOST_DIFFERENCES:,}"
    if 2 * elements * operations > _MOST_WORK:
        return {}, f"no finite differences: the program would do {operations:,} operations {2 * elements:,} times"
    note = ""
    if stuck:
        held = ", ".join(f"{number:g}" for number in dict.fromkeys(stuck.values()))
        note = f"no finite differences for operands that hold {clip(held)}: a step of {_STEP:g} is lost in it"
    weights = seed.astype(np.float64)

    def weighted(*_: Any) -> Tensor:
        return (run() * weights).sum()

    try:
        with _in_float64(leaves), np.errstate(all="ignore"):  # the program has warned when it was run first
            coarse = _less_than_float64(run())
            if coarse is not None:
                return {}, (
                    f"no finite differences: {coarse._op!r} gives {coarse.dtype} whatever its operands are, in which a "
                    f"step of {_STEP:g} is lost"
                )
            return {leaf: finite_difference(weighted, taken, i, _STEP) for i, leaf in enumerate(taken)}, note
    except Exception as error:  # the program is the user's, and may fail beside the point where it was asked to run
        return {}, f"no finite differences: the program fails near its operands ({type(error).__name__}: {error})"


def _less_than_float64(root: Tensor) -> Tensor | None:
    """The first result below `root` that loses digits although the leaves are float64."""
    return next((t for t in topological_order(root) if t._prev and t.dtype.itemsize < 8), None)


def _too_large(data: np.ndarray) -> float | None:
    """A number in `data` that one step does not change in float64, if there is one."""
    plain = data.astype(np.float64)
    stuck = plain[np.isfinite(plain) & (plain + _STEP == plain - _STEP)]
    return float(stuck[0]) if stuck.size else None


@contextmanager
def _in_float64(leaves: Sequence[Tensor]) -> Iterator[None]:
    kept = [(leaf._data, leaf._grad) for leaf in leaves]
    try:
        for leaf in leaves:
            leaf._data = leaf._data.astype(np.float64)
        yield
    finally:
        for leaf, (data, grad) in zip(leaves, kept, strict=True):
            leaf._data, leaf._grad = data, grad


def torch_gradients(run: Repeatable, seed: np.ndarray) -> Reference:
    """The gradients of the program's operands when it is called with torch's tensors, if it can be."""
    try:
        torch = importlib.import_module("torch")
        torch.tensor(0.0)
    except Exception as error:  # a broken installation, or another module of this name
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            return {}, "no gradients by torch: it is not installed"
        return {}, f"no gradients by torch: it cannot be used ({_why(error)})"
    operands = {x: _torch_tensor(torch, x) for x in run.operands if isinstance(x, Tensor)}
    try:
        again = Repeatable(run.program, [operands.get(x, x) if isinstance(x, Tensor) else x for x in run.operands])
        result = again()
        if isinstance(result, Tensor):
            return {}, f"no gradients by torch: {_OURS}"
        result.backward(torch.tensor(seed))
    except Exception as error:  # the program was not written for torch: that is no fault of its author's
        cause = error.__cause__ or error  # a file's function is wrapped, and its message says where as well
        if isinstance(cause, TypeError) and "a Tensor is made from" in str(cause):
            return {}, f"no gradients by torch: {_OURS}"
        return {}, f"no gradients by torch: the program does not run on torch's tensors ({_why(cause)})"
    return {x: _gradient(t) for x, t in operands.items() if x.requires_grad}, ""


def _why(error: BaseException) -> str:
    return clip(f"{type(error).__name__}: {error}", 60)


def _torch_tensor(torch: Any, x: Tensor) -> Any:
    return torch.tensor(x.data, requires_grad=x.requires_grad)


def _gradient(t: Any) -> np.ndarray:
    return np.zeros(tuple(t.shape)) if t.grad is None else t.grad.double().numpy()
