"""The operations as methods of a Tensor, by family: `x.exp()` is `tensorgrad.exp(x)`."""

from __future__ import annotations

from tensorgrad import creation, devices, queries, sampling
from tensorgrad.node import ArrayNode
from tensorgrad.ops import casting, elementwise, extremes, norms, reduce, scans, statistics
from tensorgrad.ops import shape as shaping
from tensorgrad.ops import softmax as softmaxes


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
    prod = reduce.prod
    all = reduce.all
    any = reduce.any
    count_nonzero = reduce.count_nonzero
    max = extremes.max
    min = extremes.min
    amax = extremes.amax
    amin = extremes.amin
    argmax = extremes.argmax
    argmin = extremes.argmin
    cumsum = scans.cumsum
    cumprod = scans.cumprod
    var = statistics.var
    std = statistics.std
    norm = norms.norm
    softmax = softmaxes.softmax
    log_softmax = softmaxes.log_softmax
    logsumexp = softmaxes.logsumexp

    # -- shape -----------------------------------------------------------------------------------------------------

    reshape = shaping.reshape
    transpose = shaping.transpose
    permute = shaping.permute
    T = property(shaping.T)

    # -- index -----------------------------------------------------------------------------------------------------

    # -- linalg ----------------------------------------------------------------------------------------------------

    # -- types and copies ------------------------------------------------------------------------------------------

    clone = casting.clone
    to = casting.to
    type = casting.type_
    type_as = casting.type_as
    astype = casting.astype
    cpu = casting.cpu
    half = casting.half
    float = casting.float_
    double = casting.double
    byte = casting.byte
    short = casting.short
    int = casting.int_
    long = casting.long
    bool = casting.bool_
    new_tensor = creation.new_tensor
    new_zeros = creation.new_zeros
    new_ones = creation.new_ones
    new_empty = creation.new_empty
    new_full = creation.new_full
    is_floating_point = queries.is_floating_point
    is_complex = queries.is_complex
    bernoulli = sampling.bernoulli
    multinomial = sampling.multinomial
    device = property(devices.of)

    # -- functional ------------------------------------------------------------------------------------------------
