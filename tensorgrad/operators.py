"""Python's operators on a Tensor, the methods of the same names, and changes in place."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad import inplace
from tensorgrad.methods import Methods
from tensorgrad.ops import activations, arithmetic, choosing, comparisons, functions, index, linalg

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


class Operators(Methods):
    """What `Tensor` has for `+`, `<`, `x[i]` and the like. `==` between tensors is identity, see below."""

    __slots__ = ()
    __array_ufunc__ = None  # so that `ndarray * tensor` asks the tensor

    # -- equality: between tensors identity, so that they can be in sets -------------------------------------------

    __hash__ = object.__hash__

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, Node):
            return self._is(other)
        return comparisons.eq(self, other) if _is_number_or_array(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        if isinstance(other, Node):
            return not self._is(other)
        return comparisons.ne(self, other) if _is_number_or_array(other) else NotImplemented

    def _is(self, other: Node) -> bool:
        """Whether the two are one node; warns whoever wrote == between two, since other libraries compare elements."""
        if other is not self:
            warnings.warn(
                "== between two Tensors asks whether they are the same object: use eq for a comparison of each "
                "element, equal for one answer",
                UserWarning,
                stacklevel=3,
            )
        return self is other

    # -- operators -------------------------------------------------------------------------------------------------

    __add__ = add = arithmetic.add
    __sub__ = sub = arithmetic.sub
    __mul__ = mul = arithmetic.mul
    __truediv__ = div = arithmetic.div
    __floordiv__ = floor_divide = arithmetic.floor_divide
    __mod__ = remainder = arithmetic.remainder
    __pow__ = pow = arithmetic.pow
    __neg__ = neg = arithmetic.neg
    __pos__ = positive = arithmetic.positive
    __abs__ = abs = arithmetic.abs
    __matmul__ = matmul = linalg.matmul
    __getitem__ = index.getitem
    __lt__ = lt = comparisons.lt
    __le__ = le = comparisons.le
    __gt__ = gt = comparisons.gt
    __ge__ = ge = comparisons.ge
    __and__ = bitwise_and = comparisons.bitwise_and
    __or__ = bitwise_or = comparisons.bitwise_or
    __xor__ = bitwise_xor = comparisons.bitwise_xor
    __invert__ = bitwise_not = comparisons.bitwise_not

    def __radd__(self, other: Any) -> Tensor:
        return arithmetic.add(other, self)

    def __rsub__(self, other: Any) -> Tensor:
        return arithmetic.sub(other, self)

    def __rmul__(self, other: Any) -> Tensor:
        return arithmetic.mul(other, self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return arithmetic.div(other, self)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return arithmetic.floor_divide(other, self)

    def __rmod__(self, other: Any) -> Tensor:
        return arithmetic.remainder(other, self)

    def __rand__(self, other: Any) -> Tensor:
        return comparisons.bitwise_and(other, self)

    def __ror__(self, other: Any) -> Tensor:
        return comparisons.bitwise_or(other, self)

    def __rxor__(self, other: Any) -> Tensor:
        return comparisons.bitwise_xor(other, self)

    def __rpow__(self, other: Any) -> Tensor:
        return arithmetic.pow(other, self)

    def __rmatmul__(self, other: Any) -> Tensor:
        return linalg.matmul(other, self)

    def __iadd__(self, other: Any) -> Tensor:
        return inplace.augmented("+=", self, arithmetic.add, other)

    def __isub__(self, other: Any) -> Tensor:
        return inplace.augmented("-=", self, arithmetic.sub, other)

    def __imul__(self, other: Any) -> Tensor:
        return inplace.augmented("*=", self, arithmetic.mul, other)

    def __itruediv__(self, other: Any) -> Tensor:
        return inplace.augmented("/=", self, arithmetic.div, other)

    def __ifloordiv__(self, other: Any) -> Tensor:
        return inplace.augmented("//=", self, arithmetic.floor_divide, other)

    def __imod__(self, other: Any) -> Tensor:
        return inplace.augmented("%=", self, arithmetic.remainder, other)

    def __ipow__(self, other: Any) -> Tensor:
        return inplace.augmented("**=", self, arithmetic.pow, other)

    def __iand__(self, other: Any) -> Tensor:
        return inplace.augmented("&=", self, comparisons.bitwise_and, other)

    def __ior__(self, other: Any) -> Tensor:
        return inplace.augmented("|=", self, comparisons.bitwise_or, other)

    def __ixor__(self, other: Any) -> Tensor:
        return inplace.augmented("^=", self, comparisons.bitwise_xor, other)

    # -- in place --------------------------------------------------------------------------------------------------

    __setitem__ = inplace.setitem
    copy_ = inplace.copy_
    fill_ = inplace.fill_
    zero_ = inplace.zero_
    add_ = inplace.method("add_", arithmetic.add)
    sub_ = inplace.method("sub_", arithmetic.sub)
    mul_ = inplace.method("mul_", arithmetic.mul)
    div_ = inplace.method("div_", arithmetic.div)
    pow_ = inplace.method("pow_", arithmetic.pow)
    neg_ = inplace.method("neg_", arithmetic.neg)
    abs_ = inplace.method("abs_", arithmetic.abs)
    exp_ = inplace.method("exp_", functions.exp)
    sqrt_ = inplace.method("sqrt_", functions.sqrt)
    relu_ = inplace.method("relu_", activations.relu)
    tanh_ = inplace.method("tanh_", functions.tanh)
    sigmoid_ = inplace.method("sigmoid_", activations.sigmoid)
    clamp_ = inplace.method("clamp_", choosing.clamp)
    lerp_ = inplace.method("lerp_", arithmetic.lerp)
    masked_fill_ = inplace.method("masked_fill_", choosing.masked_fill)


def _is_number_or_array(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, list, tuple))
