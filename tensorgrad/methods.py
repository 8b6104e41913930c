"""The operations as methods of a Tensor, by family: `x.exp()` is `tensorgrad.exp(x)`."""

from __future__ import annotations

from tensorgrad.node import ArrayNode
from tensorgrad.ops import elementwise, reduce
from tensorgrad.ops import shape as shaping


class Methods(ArrayNode):
    """What `Tensor` has from `ops`. Operators are in `tensor`."""

    __slots__ = ()

    # -- elementwise -----------------------------------------------------------------------------------------------

    exp = elementwise.exp
    log = elementwise.log
    sqrt = elementwise.sqrt
    sin = elementwise.sin
    cos = elementwise.cos
    tanh = elementwise.tanh
    sigmoid = elementwise.sigmoid
    relu = elementwise.relu
    eq = elementwise.eq
    ne = elementwise.ne
    equal = elementwise.equal

    # -- reduce ----------------------------------------------------------------------------------------------------

    sum = reduce.sum
    mean = reduce.mean
    max = reduce.max

    # -- shape -----------------------------------------------------------------------------------------------------

    reshape = shaping.reshape
    transpose = shaping.transpose
    permute = shaping.permute
    T = property(shaping.T)

    # -- index -----------------------------------------------------------------------------------------------------

    # -- linalg ----------------------------------------------------------------------------------------------------

    # -- types and copies ------------------------------------------------------------------------------------------

    # -- functional ------------------------------------------------------------------------------------------------
