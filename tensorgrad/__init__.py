"""A tensor engine for reverse-mode differentiation: one NumPy array a node, torch's names.

`import tensorgrad as torch` runs small torch programs; what differs is listed in tensorgrad/README.md.
"""

import numpy as np

from tensorgrad import autograd, nn, random
from tensorgrad.checks import debug, set_debug
from tensorgrad.creation import arange, ones, tensor, zeros
from tensorgrad.grad_mode import enable_grad, is_grad_enabled, no_grad
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
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.reduce import max, mean, sum
from tensorgrad.ops.shape import permute, reshape, transpose
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

float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int32, int64, bool = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_)
float, double, long = float32, float64, int64
