"""Elements left out at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorgrad.dtypes import is_differentiable
from tensorgrad.errors import DtypeError
from tensorgrad.node import operand, quiet, record
from tensorgrad.ops.chance import dropped, probability

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


@quiet
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element is 0 with probability `p`, and 1 / (1 - p) times itself otherwise, so that its mean stays.

    Without `training`, and with p = 0, `input` itself. Random numbers are from `tensorgrad.random`: see manual_seed.
    Raises ValueError for a `p` that is no probability, DtypeError for integers, NotImplementedError for `inplace`.
    """
    p = probability("dropout", p)
    if inplace:
        raise NotImplementedError("dropout: inplace=True is not here; write x = dropout(x)")
    x = operand(input, "dropout")
    if not training or p == 0:
        return x
    a = x._data
    if not is_differentiable(a.dtype):
        raise DtypeError(f"dropout: of floats only, this tensor is {a.dtype}: convert it first")
    drop = dropped(a.shape, p)
    return record("dropout", drop(a), (x, drop))
