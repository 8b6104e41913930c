"""Python's operators on a Tensor, the methods of the same names, and changes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from micrograd.backprop import Node
from tensorgrad import filling, inplace
from tensorgrad.methods import Methods
from tensorgrad.noise import warn
from tensorgrad.ops import (
    activations,
    arithmetic,
    choosing,
    comparisons,
    functions,
    index,
    linalg,
    rounding,
    scattering,
    triangles,
)

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
            warn(
                "== between two Tensors asks whether they are the same object: use eq for a comparison of each "
                "element, equal for one answer"
            )
        return self is other

    def __contains__(self, element: Any) -> bool:
        return bool(comparisons.eq(self, element)._data.any())

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
    clip_ = inplace.method("clip_", choosing.clip)
    clamp_min_ = inplace.method("clamp_min_", choosing.clamp_min)
    clamp_max_ = inplace.method("clamp_max_", choosing.clamp_max)
    nan_to_num_ = inplace.method("nan_to_num_", choosing.nan_to_num)
    floor_divide_ = inplace.method("floor_divide_", arithmetic.floor_divide)
    remainder_ = inplace.method("remainder_", arithmetic.remainder)
    square_ = inplace.method("square_", arithmetic.square)
    reciprocal_ = inplace.method("reciprocal_", arithmetic.reciprocal)
    rsqrt_ = inplace.method("rsqrt_", functions.rsqrt)
    log_ = inplace.method("log_", functions.log)
    sin_ = inplace.method("sin_", functions.sin)
    cos_ = inplace.method("cos_", functions.cos)
    floor_ = inplace.method("floor_", rounding.floor)
    ceil_ = inplace.method("ceil_", rounding.ceil)
    trunc_ = inplace.method("trunc_", rounding.trunc)
    round_ = inplace.method("round_", rounding.round)
    sign_ = inplace.method("sign_", rounding.sign)
    addcmul_ = inplace.method("addcmul_", arithmetic.addcmul)
    addcdiv_ = inplace.method("addcdiv_", arithmetic.addcdiv)
    tril_ = inplace.method("tril_", triangles.tril)
    triu_ = inplace.method("triu_", triangles.triu)
    scatter_ = inplace.method("scatter_", scattering.scatter)
    scatter_add_ = inplace.method("scatter_add_", scattering.scatter_add)
    index_add_ = inplace.method("index_add_", scattering.index_add)
    index_fill_ = inplace.method("index_fill_", scattering.index_fill)
    logical_not_ = inplace.method("logical_not_", comparisons.logical_not)
    fill_diagonal_ = filling.fill_diagonal_
    uniform_ = filling.uniform_
    normal_ = filling.normal_
    exponential_ = filling.exponential_
    bernoulli_ = filling.bernoulli_


def _is_number_or_array(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic, list, tuple))
