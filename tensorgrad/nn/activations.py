"""The activation functions of `functional` as Modules, with torch's arguments.

`inplace` is taken for torch's sake; the result is always a new tensor.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tensorgrad.nn import functional as F
from tensorgrad.nn.module import Module
from tensorgrad.settings import real
from tensorgrad.tensor import Tensor


class _Activation(Module):
    """Keeps what it was made with under the names in `_arguments`, for the function and for its repr."""

    _arguments: ClassVar[tuple[str, ...]] = ()

    def _keep(self, *values: Any) -> None:
        super().__init__()
        for name, value in zip(self._arguments, values, strict=True):
            setattr(self, name, value)

    def extra_repr(self) -> str:
        shown = [name for name in self._arguments if name != "inplace" or self.inplace]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


class _InPlace(_Activation):
    """An activation whose one argument is `inplace`."""

    _arguments = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self._keep(inplace)


class ReLU(_InPlace):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class ReLU6(_InPlace):
    """x between 0 and 6, else the nearer one."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input)


class SiLU(_InPlace):
    """x sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class LogSigmoid(Module):
    """log(sigmoid(x)), without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class GELU(_Activation):
    """x times the share of a normal distribution below x; approximate="tanh" is the form of GPT-2."""

    _arguments = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self._keep(approximate)

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class LeakyReLU(_Activation):
    """x where it is positive, else negative_slope x."""

    _arguments = ("negative_slope", "inplace")

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._keep(negative_slope, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope)


class ELU(_Activation):
    """x where it is positive, else alpha (exp(x) - 1)."""

    _arguments = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._keep(alpha, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha)


class Hardtanh(_Activation):
    """x between min_val and max_val, else the nearer one."""

    _arguments = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        min_val, max_val = real("Hardtanh", "min_val", min_val), real("Hardtanh", "max_val", max_val)
        if not max_val > min_val:
            raise ValueError(f"Hardtanh: max_val {max_val} is not above min_val {min_val}")
        self._keep(min_val, max_val, inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val)


class Softplus(_Activation):
    """log(1 + exp(beta x)) / beta; x itself where beta x is above threshold."""

    _arguments = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._keep(beta, threshold)

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)


class Softmax(_Activation):
    """exp(x) over its sum along `dim`, without overflow."""

    _arguments = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        self._keep(dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, _axis("Softmax", self.dim))


class LogSoftmax(_Activation):
    """The logarithm of softmax along `dim`, without overflow."""

    _arguments = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        self._keep(dim)

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, _axis("LogSoftmax", self.dim))


def _axis(op: str, dim: int | None) -> int:
    """`dim`, which torch guesses with a warning where it is left out."""
    if dim is None:
        raise ValueError(f"{op}: say along which axis to normalise, e.g. {op}(dim=-1)")
    return dim
