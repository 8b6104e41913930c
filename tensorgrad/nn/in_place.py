"""The activations of `nn.functional` that torch lets change their operand: with `inplace` they do, as `x.relu_()` does,
by the rules in `tensorgrad.inplace`, and return it. What they compute is in `ops.activations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorgrad.inplace import update
from tensorgrad.ops import activations

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


def _applied(function: Callable[..., Tensor], inplace: bool, input: Any, *numbers: float) -> Tensor:
    if not inplace:
        return function(input, *numbers)
    return update(f"{function.__name__}(inplace=True)", input, function, *numbers)


def relu(input: Any, inplace: bool = False) -> Tensor:
    """max(0, input), with gradient 0 at 0."""
    return _applied(activations.relu, inplace, input)


def relu6(input: Any, inplace: bool = False) -> Tensor:
    """min(max(0, input), 6), with gradient 0 at both limits."""
    return _applied(activations.relu6, inplace, input)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val], with gradient 0 at both limits."""
    return _applied(activations.hardtanh, inplace, input, min_val, max_val)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, negative_slope * input elsewhere."""
    return _applied(activations.leaky_relu, inplace, input, negative_slope)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, alpha * (e**input - 1) elsewhere."""
    return _applied(activations.elu, inplace, input, alpha)


def silu(input: Any, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _applied(activations.silu, inplace, input)
