"""The operations as methods of a Tensor, by family: `x.exp()` is `tensorgrad.exp(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensorgrad import devices, layout, missing, operation, queries
from tensorgrad.creation import filled, sampling
from tensorgrad.node import ArrayNode
from tensorgrad.ops import (
    activations,
    arithmetic,
    casting,
    choosing,
    comparisons,
    counting,
    einsum,
    extremes,
    flipping,
    functions,
    gathering,
    joining,
    linalg,
    norms,
    products,
    reduce,
    repeating,
    rounding,
    scans,
    scattering,
    sorting,
    statistics,
    transposing,
    triangles,
)
from tensorgrad.ops import shape as shaping
from tensorgrad.ops import softmax as softmaxes

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor


class Methods(ArrayNode):
    """What `Tensor` has from `ops`. Operators are in `tensor`."""

    __slots__ = ()

    if TYPE_CHECKING:  # type checkers do not see through the property(attrgetter(...)) of ArrayNode

        @property
        def data(self) -> np.ndarray: ...
        @data.setter
        def data(self, value: Any) -> None: ...
        @property
        def requires_grad(self) -> Literal[True, False]: ...
        @requires_grad.setter
        def requires_grad(self, value: Literal[True, False]) -> None: ...

    # -- elementwise -----------------------------------------------------------------------------------------------

    absolute = arithmetic.absolute
    negative = arithmetic.negative
    subtract = arithmetic.subtract
    multiply = arithmetic.multiply
    divide = arithmetic.divide
    true_divide = arithmetic.true_divide
    square = arithmetic.square
    reciprocal = arithmetic.reciprocal
    lerp = arithmetic.lerp
    addcmul = arithmetic.addcmul
    addcdiv = arithmetic.addcdiv
    atan2 = functions.atan2
    arctan2 = functions.atan2
    logaddexp = functions.logaddexp
    fmod = arithmetic.fmod
    exp = functions.exp
    exp2 = functions.exp2
    expm1 = functions.expm1
    log = functions.log
    log2 = functions.log2
    log10 = functions.log10
    log1p = functions.log1p
    sqrt = functions.sqrt
    rsqrt = functions.rsqrt
    sin = functions.sin
    cos = functions.cos
    tan = functions.tan
    asin = functions.asin
    acos = functions.acos
    atan = functions.atan
    sinh = functions.sinh
    cosh = functions.cosh
    asinh = functions.asinh
    acosh = functions.acosh
    atanh = functions.atanh
    arcsin = functions.arcsin
    arccos = functions.arccos
    arctan = functions.arctan
    arcsinh = functions.arcsinh
    arccosh = functions.arccosh
    arctanh = functions.arctanh
    tanh = functions.tanh
    erf = functions.erf
    sigmoid = activations.sigmoid
    relu = activations.relu
    floor = rounding.floor
    ceil = rounding.ceil
    trunc = rounding.trunc
    round = rounding.round
    sign = rounding.sign
    maximum = choosing.maximum
    minimum = choosing.minimum
    clamp = choosing.clamp
    clip = choosing.clip
    clamp_min = choosing.clamp_min
    clamp_max = choosing.clamp_max
    masked_fill = choosing.masked_fill
    nan_to_num = choosing.nan_to_num
    eq = comparisons.eq
    ne = comparisons.ne
    equal = comparisons.equal
    greater = comparisons.greater
    greater_equal = comparisons.greater_equal
    less = comparisons.less
    less_equal = comparisons.less_equal
    not_equal = comparisons.not_equal
    isclose = comparisons.isclose
    allclose = comparisons.allclose
    isnan = comparisons.isnan
    isinf = comparisons.isinf
    isfinite = comparisons.isfinite
    logical_and = comparisons.logical_and
    logical_or = comparisons.logical_or
    logical_xor = comparisons.logical_xor
    logical_not = comparisons.logical_not

    def where(self, condition: Any, other: Any) -> Tensor:
        """This tensor where the booleans in `condition` hold, `other` elsewhere: see the function."""
        return choosing.where(condition, self, other)

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
    median = extremes.median
    cumsum = scans.cumsum
    cumprod = scans.cumprod
    diff = scans.diff
    var = statistics.var
    std = statistics.std
    norm = norms.norm
    softmax = softmaxes.softmax
    log_softmax = softmaxes.log_softmax
    logsumexp = softmaxes.logsumexp

    # -- shape -----------------------------------------------------------------------------------------------------

    reshape = shaping.reshape
    view = shaping.view
    view_as = shaping.view_as
    reshape_as = shaping.reshape_as
    flatten = shaping.flatten
    ravel = shaping.ravel
    unflatten = shaping.unflatten
    squeeze = shaping.squeeze
    unsqueeze = shaping.unsqueeze
    contiguous = shaping.contiguous
    transpose = transposing.transpose
    swapaxes = transposing.swapaxes
    swapdims = transposing.swapdims
    permute = transposing.permute
    movedim = transposing.movedim
    moveaxis = transposing.moveaxis
    t = transposing.t

    @property
    def T(self) -> Tensor:
        return transposing.T(self)

    @property
    def mT(self) -> Tensor:
        return transposing.mT(self)

    @property
    def H(self) -> Tensor:
        return transposing.H(self)

    flip = flipping.flip
    fliplr = flipping.fliplr
    flipud = flipping.flipud
    roll = flipping.roll
    expand = repeating.expand
    expand_as = repeating.expand_as
    broadcast_to = repeating.broadcast_to
    repeat = repeating.repeat
    tile = repeating.tile
    repeat_interleave = repeating.repeat_interleave
    split = joining.split
    chunk = joining.chunk
    unbind = joining.unbind
    tril = triangles.tril
    triu = triangles.triu
    diagonal = triangles.diagonal
    diag = triangles.diag
    size = layout.size
    dim = layout.dim
    ndimension = layout.dim
    nelement = queries.numel
    element_size = layout.element_size
    stride = layout.stride
    is_contiguous = layout.is_contiguous

    # -- index -----------------------------------------------------------------------------------------------------

    gather = gathering.gather
    take_along_dim = gathering.take_along_dim
    take = gathering.take
    index_select = gathering.index_select
    masked_select = gathering.masked_select
    nonzero = gathering.nonzero
    argwhere = gathering.argwhere
    select = gathering.select
    narrow = gathering.narrow
    scatter = scattering.scatter
    scatter_add = scattering.scatter_add
    index_add = scattering.index_add
    index_fill = scattering.index_fill
    sort = sorting.sort
    argsort = sorting.argsort
    topk = sorting.topk
    unique = counting.unique
    bincount = counting.bincount
    histc = counting.histc

    # -- linalg ----------------------------------------------------------------------------------------------------

    mm = linalg.mm
    bmm = linalg.bmm
    mv = linalg.mv
    dot = linalg.dot
    outer = linalg.outer
    inner = einsum.inner
    addmm = linalg.addmm
    baddbmm = products.baddbmm
    cross = products.cross
    kron = products.kron
    trace = linalg.trace

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
    char = casting.char
    byte = casting.byte
    short = casting.short
    int = casting.int_
    long = casting.long
    bool = casting.bool_
    new_tensor = filled.new_tensor
    new_zeros = filled.new_zeros
    new_ones = filled.new_ones
    new_empty = filled.new_empty
    new_full = filled.new_full
    is_floating_point = queries.is_floating_point
    is_complex = queries.is_complex
    bernoulli = sampling.bernoulli
    multinomial = sampling.multinomial

    @property
    def device(self) -> devices.device:
        return devices.CPU

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def is_cpu(self) -> bool:
        return True

    @property
    def itemsize(self) -> Any:
        """The number of bytes of one element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> Any:
        """The number of bytes of all elements."""
        return self._data.nbytes

    @property
    def grad_fn(self) -> operation.Operation | None:
        """The operation whose result this is, None for a leaf and for a constant: to be printed or asked for."""
        return operation.made_by(self)

    if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
        __getattr__ = missing.attribute
