"""A tensor engine for reverse-mode differentiation: one NumPy array a node, torch's names.

`import tensorgrad as torch` runs small torch programs; what differs is listed in tensorgrad/README.md.
"""

import numpy as np

from tensorgrad import autograd, nn, random
from tensorgrad.checks import debug, set_debug
from tensorgrad.creation import (
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
from tensorgrad.devices import device
from tensorgrad.dtypes import get_default_dtype, set_default_dtype
from tensorgrad.grad_mode import enable_grad, is_grad_enabled, no_grad
from tensorgrad.ops.casting import clone
from tensorgrad.ops.elementwise import (
    abs,
    add,
    cos,
    div,
    eq,
    equal,
    exp,
    ge,
    gt,
    le,
    log,
    lt,
    mul,
    ne,
    neg,
    pow,
    relu,
    sigmoid,
    sin,
    sqrt,
    sub,
    tanh,
)
from tensorgrad.ops.extremes import amax, amin, argmax, argmin, max, min
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.norms import norm
from tensorgrad.ops.reduce import all, any, count_nonzero, mean, prod, sum
from tensorgrad.ops.scans import cumprod, cumsum
from tensorgrad.ops.shape import permute, reshape, transpose
from tensorgrad.ops.softmax import log_softmax, logsumexp, softmax
from tensorgrad.ops.statistics import std, std_mean, var, var_mean
from tensorgrad.queries import (
    can_cast,
    finfo,
    iinfo,
    is_complex,
    is_floating_point,
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
from tensorgrad.sampling import (
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
from tensorgrad.tensor import Tensor

float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
uint8, bool = np.dtype(np.uint8), np.dtype(np.bool_)
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
dtype = np.dtype
Size = tuple
inf, nan, pi, e, newaxis = np.inf, np.nan, np.pi, np.e, None
