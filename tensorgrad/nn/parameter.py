"""`Parameter`: the Tensors of a Module that are trained."""

from __future__ import annotations

from typing import Any

from tensorgrad.node import operand
from tensorgrad.tensor import Tensor


class Parameter(Tensor):
    """A leaf that a Module registers when it is assigned to an attribute of it. Results of operations are Tensors.

    data           a Tensor, whose array it shares; or what a Tensor is made from, which is copied
    requires_grad  whether it is trained

    Raises DtypeError for integers with requires_grad.
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        if isinstance(data, Tensor):
            super().__init__(0.0)
            self._data = operand(data, "Parameter")._data
            self.requires_grad = requires_grad
        else:
            super().__init__(data, requires_grad=requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()
