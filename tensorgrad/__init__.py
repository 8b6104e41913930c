"""A tensor engine for reverse-mode differentiation: one NumPy array a node, torch's names.

`import tensorgrad as torch` runs small torch programs; what differs is listed in tensorgrad/README.md.
"""

from typing import TYPE_CHECKING

import numpy as np

from tensorgrad import allocator, amp, autograd, backends, cuda, later, linalg, missing, nn, optim, random
from tensorgrad.allocator import keep_freed_memory
from tensorgrad.backends import (
    get_num_threads,
    set_float32_matmul_precision,
    set_num_threads,
    use_deterministic_algorithms,
)
from tensorgrad.checks import debug, set_debug
from tensorgrad.creation.filled import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    tensor,
    tril_indices,
    triu_indices,
    zeros,
    zeros_like,
)
from tensorgrad.creation.sampling import (
    bernoulli,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from tensorgrad.creation.typed import (
    BoolTensor,
    ByteTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
)
from tensorgrad.devices import device
from tensorgrad.dtypes import get_default_dtype, set_default_dtype
from tensorgrad.explain import Explanation, explain
from tensorgrad.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    lean_graph,
    no_grad,
    set_grad_enabled,
)
from tensorgrad.ops.activations import relu, sigmoid
from tensorgrad.ops.arithmetic import (
    abs,
    absolute,
    add,
    addcdiv,
    addcmul,
    div,
    divide,
    floor_divide,
    fmod,
    lerp,
    mul,
    multiply,
    neg,
    negative,
    positive,
    pow,
    reciprocal,
    remainder,
    square,
    sub,
    subtract,
    true_divide,
)
from tensorgrad.ops.casting import clone
from tensorgrad.ops.choosing import clamp, clamp_max, clamp_min, clip, masked_fill, maximum, minimum, nan_to_num, where
from tensorgrad.ops.comparisons import (
    allclose,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    eq,
    equal,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    not_equal,
)
from tensorgrad.ops.counting import bincount, bucketize, histc, isin, searchsorted, unique
from tensorgrad.ops.einsum import einsum, inner, tensordot
from tensorgrad.ops.extremes import amax, amin, argmax, argmin, max, median, min
from tensorgrad.ops.flipping import flip, fliplr, flipud, roll
from tensorgrad.ops.functions import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from tensorgrad.ops.gathering import (
    argwhere,
    gather,
    index_select,
    masked_select,
    narrow,
    nonzero,
    select,
    take,
    take_along_dim,
)
from tensorgrad.ops.joining import cat, chunk, concat, concatenate, dstack, hstack, split, stack, unbind, vstack
from tensorgrad.ops.linalg import addmm, bmm, dot, matmul, mm, mv, outer, trace
from tensorgrad.ops.normalization import cosine_similarity, layer_norm, rms_norm
from tensorgrad.ops.norms import norm
from tensorgrad.ops.products import baddbmm, cdist, cross, kron
from tensorgrad.ops.reduce import all, any, count_nonzero, mean, prod, sum
from tensorgrad.ops.repeating import broadcast_tensors, broadcast_to, meshgrid, repeat_interleave, tile
from tensorgrad.ops.rounding import ceil, floor, round, sign, trunc
from tensorgrad.ops.scans import cumprod, cumsum, diff
from tensorgrad.ops.scattering import index_add, index_fill, scatter, scatter_add
from tensorgrad.ops.shape import flatten, ravel, reshape, squeeze, unflatten, unsqueeze
from tensorgrad.ops.softmax import log_softmax, logsumexp, softmax
from tensorgrad.ops.sorting import argsort, sort, topk
from tensorgrad.ops.statistics import std, std_mean, var, var_mean
from tensorgrad.ops.transposing import moveaxis, movedim, permute, swapaxes, swapdims, t, transpose
from tensorgrad.ops.triangles import diag, diagonal, tril, triu
from tensorgrad.queries import (
    broadcast_shapes,
    can_cast,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_tensor,
    numel,
    promote_types,
    result_type,
    set_printoptions,
)
from tensorgrad.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from tensorgrad.tensor import Tensor

__version__ = "0.1.0"

float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
uint8, bool = np.dtype(np.uint8), np.dtype(np.bool_)
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
dtype = np.dtype
Size = tuple
inf, nan, pi, e, newaxis = np.inf, np.nan, np.pi, np.e, None

allocator.raise_thresholds()  # once: a step's arrays then get the memory that the last step's have left

__all__ = [
    "BoolTensor", "ByteTensor", "DoubleTensor", "Explanation", "FloatTensor", "Generator", "HalfTensor", "IntTensor",
    "LongTensor", "Size", "Tensor", "abs", "absolute", "acos", "acosh", "add", "addcdiv", "addcmul", "addmm", "all",
    "allclose", "amax", "amin", "amp", "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "argmax", "argmin", "argsort", "argwhere", "as_tensor", "asarray", "asin", "asinh", "atan", "atan2",
    "atanh", "autograd", "backends", "baddbmm", "bernoulli", "bincount", "bitwise_and", "bitwise_not", "bitwise_or",
    "bitwise_xor", "bmm", "bool", "broadcast_shapes", "broadcast_tensors", "broadcast_to", "bucketize", "can_cast",
    "cat", "cdist", "ceil", "check_loss_scale", "chunk", "clamp", "clamp_max", "clamp_min", "clip", "clone", "concat",
    "concatenate", "cos", "cosh", "cosine_similarity", "count_nonzero", "cross", "cuda", "cumprod", "cumsum", "debug",
    "default_generator", "device", "diag", "diagonal", "diff", "div", "divide", "dot", "double", "dstack", "dtype", "e",
    "einsum", "empty", "empty_like", "enable_grad", "eq", "equal", "erf", "exp", "exp2", "explain", "expm1", "eye",
    "finfo", "flatten", "flip", "fliplr", "flipud", "float", "float16", "float32", "float64", "floor", "floor_divide",
    "fmod", "from_numpy", "full", "full_like", "gather", "ge", "get_default_dtype", "get_num_threads", "get_rng_state",
    "greater", "greater_equal", "gt", "half", "histc", "hstack", "iinfo", "index_add", "index_fill", "index_select",
    "inf", "inference_mode", "initial_seed", "inner", "int", "int8", "int16", "int32", "int64", "is_complex",
    "is_floating_point", "is_grad_enabled", "is_inference_mode_enabled", "is_nonzero", "is_tensor", "isclose",
    "isfinite", "isin", "isinf", "isnan", "keep_freed_memory", "kron", "layer_norm", "le", "lean_graph", "lerp",
    "less", "less_equal", "linalg", "linspace", "load", "log", "log1p", "log2", "log10", "log_softmax", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logspace", "logsumexp", "long", "lt", "manual_seed",
    "masked_fill", "masked_select", "matmul", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm",
    "models", "monitor", "moveaxis", "movedim", "mul", "multinomial", "multiply", "mv", "nan", "nan_to_num", "narrow",
    "ne", "neg", "negative", "newaxis", "nn", "no_grad", "nonzero", "norm", "normal", "not_equal", "numel", "ones",
    "ones_like", "optim", "outer", "permute", "pi", "positive", "pow", "prod", "promote_types", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "random", "randperm", "ravel", "reciprocal", "relu", "remainder",
    "repeat_interleave", "reshape", "result_type", "rms_norm", "roll", "round", "rsqrt", "save", "scatter",
    "scatter_add", "searchsorted", "seed", "select", "set_debug", "set_default_dtype", "set_float32_matmul_precision",
    "set_grad_enabled", "set_num_threads", "set_printoptions", "set_rng_state", "short", "sigmoid", "sign", "sin",
    "sinh", "softmax", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "std_mean", "sub", "subtract",
    "sum", "swapaxes", "swapdims", "t", "take", "take_along_dim", "tan", "tanh", "tensor", "tensordot", "tile", "topk",
    "trace", "transpose", "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "uint8", "unbind",
    "unflatten", "unique", "unsqueeze", "use_deterministic_algorithms", "utils", "var", "var_mean", "vstack", "where",
    "zeros", "zeros_like"
]  # fmt: skip


def __dir__() -> list[str]:  # for completion: what is for users, not the modules that it comes from
    return __all__


if TYPE_CHECKING:
    from tensorgrad import models, utils
    from tensorgrad.monitoring import check_loss_scale
    from tensorgrad.monitoring.monitor import monitor
    from tensorgrad.serialization import load, save
else:  # a type checker would take it for a promise that there is every name
    _LATER = {
        "check_loss_scale": "tensorgrad.monitoring",
        "load": "tensorgrad.serialization",
        "models": "tensorgrad.models",
        "monitor": "tensorgrad.monitoring",
        "save": "tensorgrad.serialization",
        "utils": "tensorgrad.utils",
    }
    __getattr__ = later.names_from(__name__, _LATER, otherwise=missing.names_of(__name__))
