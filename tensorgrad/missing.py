"""What is said about a name of torch's that is not here: that it is missing, and what comes nearest.

Python asks `__getattr__` only after it has found nothing, so names that exist cost nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

_NO_CONVOLUTION = "there are no convolutions; one is a matmul of nn.Linear over windows taken by indexing"
_NO_RECURRENT = "there are no recurrent layers: write the step with nn.Linear or nn.Embedding in a Python loop"
_NO_BATCH_NORM = "there are no running statistics: use nn.LayerNorm, or mean and var over the batch"
_NO_POOLING = "there is no pooling: reshape the windows into an axis of their own and take amax or mean over it"
_NO_TRANSFORMER = "build it from nn.functional.scaled_dot_product_attention, nn.Linear and nn.LayerNorm"
_NO_COMPLEX = "complex tensors have no gradients: use real ones"
_NO_DEVICE = "tensors are NumPy arrays in main memory: leave it out, or write .to('cpu')"
_NO_SUCH_DTYPE = "dtypes are NumPy's, which has none of this kind: use float16 or float32"
_NO_COMPILER = "nothing is compiled: leave it out, the program runs without it"
_NO_SPARSE = "tensors are dense: use the indexing x[i] and index_select, scatter_add, or nn.Embedding"
_NO_FFT = "numpy.fft computes it outside the graph; write an autograd.Function for its gradient"
_NO_FUNCTION_TRANSFORM = "use autograd.grad for gradients, and a Python loop and stack in place of vmap"
_NO_PROCESSES = "there is one process and one thread of computation: leave it out"
_NO_HIGHER = "gradients have no graph of their own (no create_graph): autograd.gradcheck has finite differences"
_NO_AUTOCAST = "there is no automatic choice of precision: leave it out, or cast with .to(dtype)"
_NO_DECOMPOSITION = "numpy.linalg computes it on .data, outside the graph; write an autograd.Function for its gradient"
_NO_COUNTING = "it has no gradient: NumPy's function of that name takes .data"
_NO_ORDER_STATISTIC = "sort along the dim and take elements by index"
_NO_SHAPE_IN_PLACE = "no shape is changed in place: write x = x.reshape(...) or the like"
_OPTIMIZERS = "there are SGD, Adam and AdamW"
_NO_CONSTANT_CLASS = "tensor(data, dtype=...) makes a tensor of any dtype"

_NEAREST: dict[str, str] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "Conv1d", "Conv2d", "Conv3d"), _NO_CONVOLUTION),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "ConvTranspose1d", "ConvTranspose2d"), _NO_CONVOLUTION),
    **dict.fromkeys(("unfold", "fold", "Unfold", "Fold"), _NO_CONVOLUTION),
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), _NO_RECURRENT),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "batch_norm", "SyncBatchNorm"), _NO_BATCH_NORM),
    **dict.fromkeys(("InstanceNorm1d", "InstanceNorm2d", "instance_norm"), _NO_BATCH_NORM),
    **dict.fromkeys(("GroupNorm", "group_norm"), "take layer_norm of the last axis of x.reshape(N, groups, -1)"),
    **dict.fromkeys(("MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d", "AdaptiveAvgPool2d"), _NO_POOLING),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool2d"), _NO_POOLING),
    **dict.fromkeys(("MultiheadAttention", "multi_head_attention_forward", "Transformer"), _NO_TRANSFORMER),
    **dict.fromkeys(("TransformerEncoder", "TransformerEncoderLayer"), _NO_TRANSFORMER),
    **dict.fromkeys(("TransformerDecoder", "TransformerDecoderLayer"), _NO_TRANSFORMER),
    **dict.fromkeys(("cfloat", "cdouble", "chalf", "complex32", "complex64", "complex128", "complex"), _NO_COMPLEX),
    **dict.fromkeys(("view_as_complex", "view_as_real", "polar", "angle", "real", "imag", "conj"), _NO_COMPLEX),
    **dict.fromkeys(("mps", "xpu", "pin_memory", "get_device"), _NO_DEVICE),
    **dict.fromkeys(("bfloat16", "float8_e4m3fn", "float8_e5m2", "quantization", "quint8", "qint8"), _NO_SUCH_DTYPE),
    **dict.fromkeys(("compile", "jit", "fx", "export", "onnx", "_dynamo"), _NO_COMPILER),
    **dict.fromkeys(("sparse", "sparse_coo_tensor", "sparse_csr_tensor", "to_sparse", "to_dense"), _NO_SPARSE),
    **dict.fromkeys(("fft", "stft", "istft"), _NO_FFT),
    **dict.fromkeys(("vmap", "func", "jvp", "vjp", "jacrev", "jacfwd"), _NO_FUNCTION_TRANSFORM),
    **dict.fromkeys(("distributed", "multiprocessing", "DataParallel", "parallel", "share_memory_"), _NO_PROCESSES),
    **dict.fromkeys(("create_graph", "gradgradcheck", "hessian", "jacobian"), _NO_HIGHER),
    **dict.fromkeys(("autocast", "custom_fwd", "custom_bwd"), _NO_AUTOCAST),
    **dict.fromkeys(("ShortTensor", "CharTensor", "BFloat16Tensor"), _NO_CONSTANT_CLASS),
    **dict.fromkeys(("inv", "pinv", "det", "slogdet", "logdet", "solve", "lstsq", "cholesky"), _NO_DECOMPOSITION),
    **dict.fromkeys(("svd", "svdvals", "qr", "lu", "eig", "eigh", "eigvals", "eigvalsh", "inverse"), _NO_DECOMPOSITION),
    **dict.fromkeys(("unique_consecutive", "histogram", "histogramdd", "lcm", "gcd"), _NO_COUNTING),
    **dict.fromkeys(("quantile", "kthvalue", "mode", "nanmedian", "nanquantile"), _NO_ORDER_STATISTIC),
    **dict.fromkeys(("addbmm", "addmv", "addr"), "write c + a @ b"),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), "use reshape, flatten or unsqueeze"),
    **dict.fromkeys(
        ("lgamma", "digamma", "polygamma", "erfinv", "i0"), "write an autograd.Function with scipy.special"
    ),
    "fmax": "maximum lets nan through",
    "fmin": "minimum lets nan through",
    "set_default_device": _NO_DEVICE,
    "set_default_tensor_type": "use set_default_dtype",
    "detach_": "write x = x.detach()",
    "erfc": "write 1 - erf(x)",
    **dict.fromkeys(("cummax", "cummin"), "take amax or amin of growing slices, and stack them"),
    **dict.fromkeys(("unsqueeze_", "squeeze_", "t_", "transpose_", "resize_"), _NO_SHAPE_IN_PLACE),
    "hub": "no models are downloaded; load reads files",
    "profiler": "time.perf_counter and Python's cProfile measure",
    "data_ptr": "the memory is .data, a NumPy array",
    "untyped_storage": "the memory is .data, a NumPy array",
    "storage": "the memory is .data, a NumPy array",
    "register_parameter": "assign the Parameter to an attribute",
    **dict.fromkeys(("PReLU", "prelu", "RReLU", "rrelu"), "write where(x > 0, x, a * x)"),
    **dict.fromkeys(("SELU", "selu", "CELU", "celu"), "nn.functional.elu has alpha; multiply its result"),
    **dict.fromkeys(("Mish", "mish"), "write x * softplus(x).tanh()"),
    **dict.fromkeys(("GLU", "glu"), "write a * b.sigmoid() with a, b = x.chunk(2, dim=-1)"),
    **dict.fromkeys(("Hardsigmoid", "hardsigmoid", "Hardswish", "hardswish"), "write relu6(x + 3) / 6, or times x"),
    **dict.fromkeys(("Softmin", "softmin"), "write softmax(-x, dim)"),
    **dict.fromkeys(("PairwiseDistance", "pairwise_distance", "dist"), "write (x - y).norm(dim=-1)"),
    **dict.fromkeys(("TripletMarginLoss", "triplet_margin_loss"), "write relu(margin + near - far).mean()"),
    **dict.fromkeys(("MarginRankingLoss", "margin_ranking_loss"), "write relu(margin - y * (x1 - x2)).mean()"),
    "CosineSimilarity": "there is nn.functional.cosine_similarity",
    "Categorical": "draw with multinomial, and gather from log_softmax",
    "distributions": "draw with randn, bernoulli or multinomial, and write the log of the density as operations",
    "special": "there are erf, exp2, expm1, log1p, logsumexp, sigmoid and softmax without it",
    **dict.fromkeys(("Upsample", "interpolate"), "repeat_interleave along each axis repeats the nearest element"),
    **dict.fromkeys(("cov", "corrcoef"), "write d.T @ d / (len(d) - 1) with d = x - x.mean(0)"),
    **dict.fromkeys(("trapz", "trapezoid"), "write ((y[1:] + y[:-1]) / 2 * x.diff()).sum()"),
    "pinverse": _NO_DECOMPOSITION,
    "rot90": "use transpose and flip",
    "rnn": "pad with nn.functional.pad, and stack; a mask tells what is padding",
    "pad_sequence": "pad with nn.functional.pad, and stack",
    **dict.fromkeys(("index_put_", "index_put", "put_"), "write x[indices] = values; index_add adds"),
    **dict.fromkeys(("index_copy", "index_copy_", "masked_scatter", "masked_scatter_"), "write x[indices] = values"),
    **dict.fromkeys(("scatter_reduce", "scatter_reduce_"), "scatter_add adds; for others a loop over the places"),
    **dict.fromkeys(("nansum", "nanmean"), "write nan_to_num(x).sum(), divided by (~x.isnan()).sum() for the mean"),
    **dict.fromkeys(("column_stack", "block_diag", "cartesian_prod"), "use stack, cat and meshgrid"),
    **dict.fromkeys(("apply_", "map_"), "write the function in operations on the whole tensor"),
    "random_": "write x.copy_(randint(low, high, x.shape))",
    "testing": "numpy.testing.assert_allclose takes the arrays in .data",
    "ger": "use outer",
    "vdot": "use dot",
    "rsub": "write y - x",
    **dict.fromkeys(("LBFGS", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam"), _OPTIMIZERS),
    **dict.fromkeys(("Rprop", "ASGD", "SparseAdam", "Muon", "Adafactor"), _OPTIMIZERS),
}
"""Well-known names of torch's, and what to use. A name that has come to exist here is never looked up."""

_TENSOR_NEAREST = {"cuda": _NO_DEVICE}
_MODULE_NEAREST = {"tensorgrad.autograd.functional": _NO_HIGHER}
"""Names that mean something else in another place, as their place has them."""

_PLACES = {
    "tensorgrad": "tensorgrad.{}",
    "tensorgrad.nn.functional": "nn.functional.{}",
    "tensorgrad.nn": "nn.{}",
    "tensorgrad.linalg": "linalg.{}",
    "tensorgrad.special": "special.{}",
    "tensorgrad.optim": "optim.{}",
    "tensorgrad.optim.lr_scheduler": "optim.lr_scheduler.{}",
    "tensorgrad.nn.init": "nn.init.{}",
    "tensorgrad.nn.utils": "nn.utils.{}",
    "tensorgrad.autograd": "autograd.{}",
    "tensorgrad.utils.data": "utils.data.{}",
}
"""Where a name may be that was looked for in another place, and how it is written then."""


def attribute(self: Any, name: str) -> Any:
    """`Tensor.__getattr__`: always raises AttributeError."""
    cls = type(self)
    if name.startswith("_") or hasattr(cls, name):  # a property that raised: let it raise its own error again
        return object.__getattribute__(self, name)
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}{_tensor_hint(cls, name)}")


def names_of(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__`, which always raises AttributeError. Keep it from type checkers, to which it would say
    that the module has every name."""

    def __getattr__(name: str) -> Any:
        hint = "" if name.startswith("_") else _module_hint(module, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")

    return __getattr__


@lru_cache(maxsize=1000)
def _tensor_hint(cls: type, name: str) -> str:
    known = _TENSOR_NEAREST.get(name) or _NEAREST.get(name)
    if known:
        return f": {known}"
    elsewhere = _elsewhere(name, "")
    if elsewhere:
        return f": there is the function {elsewhere}"
    if name.endswith("_") and hasattr(cls, name[:-1]):
        base = name.removesuffix("_")
        return f": x.{base}(...) makes a new tensor; x.copy_(...) writes one of the same shape into x"
    return _similar(name, dir(cls))


@lru_cache(maxsize=1000)
def _module_hint(module: str, name: str) -> str:
    known = _MODULE_NEAREST.get(f"{module}.{name}") or _NEAREST.get(name)
    if known:
        return f": {known}"
    elsewhere = _elsewhere(name, module)
    if elsewhere:
        return f": there is {elsewhere}"
    tensor_class = vars(sys.modules["tensorgrad"]).get("Tensor")
    if hasattr(tensor_class, name):
        return f": it is a method or property of Tensor, x.{name}"
    return _similar(name, _public(sys.modules[module]))


def _public(module: Any) -> list[str]:
    """A module's names without what it only imports for itself."""
    found = vars(module)
    own = [name for name, x in found.items() if getattr(x, "__module__", "") == module.__name__]
    return found.get("__all__", own)


def _elsewhere(name: str, but: str) -> str:
    """The same name in another place, written as a user would; empty if there is none."""
    for place, written in _PLACES.items():
        if place != but and place in sys.modules and name in _public(sys.modules[place]):
            return written.format(name)
    return ""


def _similar(name: str, names: Any) -> str:
    difflib = import_module("difflib")  # not at the top: only who misses a name needs it
    near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], n=1, cutoff=0.8)
    return f": the nearest is {near[0]!r}" if near else ": torch may have it, this package does not"
