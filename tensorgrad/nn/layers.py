"""Layers with parameters, dropout, and what only rearranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorgrad.devices import check_device
from tensorgrad.dtypes import as_dtype, default_float
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn import functional as F
from tensorgrad.nn import init
from tensorgrad.nn.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.node import new
from tensorgrad.ops.chance import probability
from tensorgrad.settings import real, whole
from tensorgrad.tensor import Tensor


def _empty(op: str, shape: tuple[int, ...], device: Any, dtype: Any) -> Tensor:
    """A tensor whose numbers are still to be filled in."""
    check_device(op, device)
    found = default_float() if dtype is None else as_dtype(dtype)
    if found.kind != "f":
        raise DtypeError(f"{op}: parameters are floats, got dtype {found}")
    return new(np.empty(shape, dtype=found))


def _size(op: str, name: str, n: Any) -> int:
    """`n` as a length."""
    n = whole(op, name, n)
    if n < 0:
        raise ValueError(f"{op}: {name} is {n}, a negative length")
    return n


class Linear(Module):
    """x @ weight.T + bias, for x of shape (..., in_features); the weight has shape (out_features, in_features).

    Both start uniform within +-1/sqrt(in_features), as in torch (LeCun et al. 1998, up to a constant).
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = _size("Linear", "in_features", in_features)
        self.out_features = _size("Linear", "out_features", out_features)
        self.weight = Parameter(_empty("Linear", (self.out_features, self.in_features), device, dtype))
        self.register_parameter(
            "bias", Parameter(_empty("Linear", (self.out_features,), device, dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight and the bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))  # gain sqrt(1/3), so +-1/sqrt(in_features)
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """Rows of `weight` (num_embeddings, embedding_dim) by number: integers of any shape give (..., embedding_dim).

    The weight starts normal, of deviation 1. The row `padding_idx`, if there is one, starts at 0 and gets no gradient.
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = _size("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = _size("Embedding", "embedding_dim", embedding_dim)
        self.padding_idx = self._row(padding_idx)
        self.weight = Parameter(_empty("Embedding", (self.num_embeddings, self.embedding_dim), device, dtype))
        self.reset_parameters()

    def _row(self, padding_idx: int | None) -> int | None:
        if padding_idx is None:
            return None
        n = self.num_embeddings
        if not -n <= padding_idx < n:
            raise IndexError(f"Embedding: padding_idx {padding_idx} is none of {n} rows")
        return padding_idx % n

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An Embedding with the rows of `embeddings`, whose array it shares; not trained unless `freeze` is False."""
        if not isinstance(embeddings, Tensor) or embeddings.ndim != 2:
            raise ShapeError("Embedding.from_pretrained: takes a Tensor of two axes, (num_embeddings, embedding_dim)")
        layer = cls(0, 0)
        layer.num_embeddings, layer.embedding_dim = embeddings.shape
        layer.padding_idx = layer._row(padding_idx)
        layer.weight = Parameter(embeddings, requires_grad=not freeze)
        return layer

    def reset_parameters(self) -> None:
        """Draw the rows anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight._data[self.padding_idx] = 0

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class LayerNorm(Module):
    """Subtract the mean and divide by the deviation over the last axes, whose lengths are `normalized_shape`; then
    times `weight` plus `bias`, of that shape (Ba et al. 2016). `eps` is added to the variance."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _lengths("LayerNorm", normalized_shape)
        self.eps = real("LayerNorm", "eps", eps)
        self.elementwise_affine = elementwise_affine
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        for name, is_wanted in wanted.items():
            empty = _empty("LayerNorm", self.normalized_shape, device, dtype)
            self.register_parameter(name, Parameter(empty) if is_wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Module):
    """Divide by the root of the mean square over the last axes, whose lengths are `normalized_shape`; then times
    `weight`, of that shape (Zhang and Sennrich 2019). `eps` None is the smallest step of the dtype at 1."""

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _lengths("RMSNorm", normalized_shape)
        self.eps = None if eps is None else real("RMSNorm", "eps", eps)
        self.elementwise_affine = elementwise_affine
        empty = _empty("RMSNorm", self.normalized_shape, device, dtype)
        self.register_parameter("weight", Parameter(empty) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _lengths(op: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(_size(op, "normalized_shape", n) for n in lengths)


class Dropout(Module):
    """In training, set elements to 0 with probability p and divide the others by 1 - p; otherwise change nothing.

    `inplace` is taken for torch's sake; the result is always a new tensor.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = probability("Dropout", p)
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Identity(Module):
    """What it is given; takes any arguments when it is made, so that it can stand in for any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Flatten(Module):
    """Make one axis of those from start_dim to end_dim: (N, ...) becomes (N, M) as it stands."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
