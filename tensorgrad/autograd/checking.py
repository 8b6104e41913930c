"""Checking gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd.backprop import gradients_kept, topological_order
from tensorgrad.autograd.gradients import pass_back
from tensorgrad.grad_mode import enable_grad, no_grad
from tensorgrad.node import quiet
from tensorgrad.tensor import Tensor


class GradcheckError(RuntimeError):
    """A gradient that finite differences do not confirm."""


@dataclass(frozen=True)
class Difference:
    """Where a gradient and its finite difference differ: the input's number, the element's index, both values."""

    input: int
    index: tuple[int, ...]
    gradient: float
    finite_difference: float

    def __str__(self) -> str:
        place = f"input {self.input}" + (f" at {list(self.index)}" if self.index else "")
        return f"{place}: gradient {self.gradient:.8g}, finite difference {self.finite_difference:.8g}"


def gradcheck(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradients of `func(*inputs)` agree with central differences of width `eps`.

    Each input that requires a gradient is checked element by element: |gradient - difference| must be at most
    atol + rtol |difference|. A result of several elements is weighted by fixed numbers, so that each one counts.
    The inputs' own gradients are left as they were.

    At a kink (relu at 0) and beside a jump the two differ, and so does nan from everything: check elsewhere.

    Raises GradcheckError that names input, index and both values (or returns False with raise_exception=False);
    ValueError where no input requires a gradient, or `eps` is too small for an input's dtype. Warns for inputs below
    float64: in float32 a finite difference errs by about 1e-3.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck: no input requires a gradient; make one with requires_grad=True")
    if any(inputs[i].dtype != np.float64 for i in checked):
        warnings.warn(
            "gradcheck: an input is not float64; finite differences in float32 err by about 1e-3", stacklevel=2
        )
    gradients = input_gradients(func, inputs)
    failures = []
    for i in checked:
        differences = finite_difference(func, inputs, i, eps)
        for index in np.ndindex(differences.shape):
            g, d = float(gradients[i][index]), float(differences[index])
            if not abs(g - d) <= atol + rtol * abs(d):  # nan fails
                failures.append(Difference(i, index, g, d))
    if failures and raise_exception:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise GradcheckError(f"{failures[0]}{more}")
    return not failures


def input_gradients(func: Callable[..., Tensor], inputs: Sequence[Any]) -> list[np.ndarray | None]:
    """The gradient of the weighted result with respect to each input, zeros where none arrives, None for constants.

    All gradients that the graph held before are put back, those of tensors that `func` closes over too.
    """
    with enable_grad():
        out = _checked_result(func(*inputs))
    with gradients_kept({node for node in (*topological_order(out), *inputs) if isinstance(node, Tensor)}):
        if out.requires_grad:
            pass_back([out], [out._seed(_weights(out.shape))])
        return [
            None if not isinstance(x, Tensor) or not x.requires_grad else x._zeros() if x._grad is None else x._grad
            for x in inputs
        ]


def finite_difference(func: Callable[..., Tensor], inputs: Sequence[Any], which: int, eps: float = 1e-6) -> np.ndarray:
    """Central differences of the weighted result along each element of `inputs[which]`: an array of its shape."""
    x = inputs[which]
    original = x.data
    work = original.copy()
    out = np.empty(original.shape, dtype=np.float64)
    x.data = work
    try:
        with no_grad():
            for index in np.ndindex(original.shape):
                up, down = original[index] + eps, original[index] - eps
                work[index] = up
                high = _weighted(func(*inputs))
                work[index] = down
                low = _weighted(func(*inputs))
                work[index] = original[index]
                width = float(original.dtype.type(up)) - float(original.dtype.type(down))  # as rounded, not 2 eps
                if width == 0.0:
                    raise ValueError(
                        f"finite difference: {original[index]:g} +- {eps:g} is the same number in {original.dtype}: "
                        "use float64, or a larger eps"
                    )
                out[index] = (high - low) / width
    finally:
        x.data = original
    return out


def _weights(shape: tuple[int, ...]) -> np.ndarray:
    """1 for a single element; else numbers between 0.5 and 1.5 that no two elements share."""
    n = int(np.prod(shape))
    return np.ones(shape) if n == 1 else 0.5 + (np.arange(n).reshape(shape) * 0.6180339887498949) % 1.0


@quiet
def _weighted(out: Any) -> float:
    return float((_checked_result(out).data.astype(np.float64) * _weights(out.shape)).sum())


def _checked_result(out: Any) -> Tensor:
    if not isinstance(out, Tensor):
        raise TypeError(f"gradcheck: the function must return one Tensor, got {type(out).__name__}")
    return out
