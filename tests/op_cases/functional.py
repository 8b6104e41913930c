"""Functions that networks are made of: `nn.functional`, as `m.nn.functional`."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_cases.case import POSITIVE, REAL, Case, Domain, Shapes, array

PROBABILITY = Domain(0.1, 0.9)
_ROWS = [[2, 0], [2, 1]]
_CLASSES = [2, 0, 1, 2]
_SOME = [2, -100, 1, -100]
_WEIGHTS = [0.5, 2.0, 1.5]
_GRID = [[2, 0], [1, 1]]  # for an input of (2, 3, 2)
_MAY_LOOK = [[True, False, True], [True, True, True], [False, True, False]]
_NOWHERE = [[True, False, True], [False, False, False], [False, True, False]]


def _call(name: str, **arguments: Any) -> Any:
    """m.nn.functional's `name` of the operands."""
    return lambda m, *operands: getattr(m.nn.functional, name)(*operands, **arguments)


def _towards(name: str, target: Any, weight: Any = None, **arguments: Any) -> Any:
    """A loss of one operand: the target, and weights for the classes, are constants."""

    def run(m: Any, x: Any) -> Any:
        options = arguments if weight is None else arguments | {"weight": m.tensor(weight, dtype=x.dtype)}
        return getattr(m.nn.functional, name)(x, m.tensor(target), **options)

    return run


def _from_layer(target: Any, weight: Any = None, **arguments: Any) -> Any:
    """linear_cross_entropy of rows, the layer's weight and perhaps its bias, as `_towards`."""

    def run(m: Any, x: Any, w: Any, b: Any = None) -> Any:
        options = arguments if weight is None else arguments | {"weight": m.tensor(weight, dtype=x.dtype)}
        return m.nn.functional.linear_cross_entropy(x, w, m.tensor(target), linear_bias=b, **options)

    return run


def _masked(mask: Any) -> Any:
    return lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=m.tensor(mask))


_SAME: tuple[Shapes, ...] = (((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((0, 3), (0, 3)))
_SQUARE = ((3, 4), (3, 4), (3, 2))


def pairs(name: str, function: Any, first: Domain, second: Domain) -> Case:
    """A loss of each element, of operands of one shape."""
    return Case(name, function, (first, second), _SAME[:3])


CASES = (
    array(
        "linear",
        _call("linear"),
        ((2, 3), (4, 3)),
        ((3,), (4, 3)),
        ((2, 1, 3), (1, 3)),
        ((2, 3), (3,)),
        ((0, 3), (2, 3)),
        ((2, 0), (3, 0)),
    ),
    array(
        "linear bias",
        _call("linear"),
        ((2, 3), (4, 3), (4,)),
        ((3,), (4, 3), (4,)),
        ((2, 2, 3), (4, 3), (4,)),
        ((2, 3), (4, 3), ()),
        ((0, 3), (2, 3), (2,)),
    ),
    array("linear bias of each row", _call("linear"), ((2, 2, 3), (4, 3), (2, 1)), torch=False),
    array("embedding", lambda m, w: m.nn.functional.embedding(m.tensor(_ROWS), w), (3, 2), (4, 1), (3, 0)),
    array("embedding one", lambda m, w: m.nn.functional.embedding(m.tensor(1), w), (3, 2)),
    array(
        "embedding none", lambda m, w: m.nn.functional.embedding(m.tensor(np.zeros((0, 2), dtype=np.int64)), w), (3, 2)
    ),
    array("layer_norm", lambda m, x: m.nn.functional.layer_norm(x, (3,)), (3,), (2, 3), (2, 2, 3), (0, 3)),
    array("layer_norm two axes", lambda m, x: m.nn.functional.layer_norm(x, (2, 3), eps=0.1), (2, 3), (3, 2, 3)),
    array("layer_norm weight", lambda m, x, w: m.nn.functional.layer_norm(x, (3,), w), ((2, 3), (3,)), ((0, 3), (3,))),
    array("layer_norm bias", lambda m, x, b: m.nn.functional.layer_norm(x, (3,), None, b), ((2, 3), (3,))),
    array(
        "layer_norm weight and bias",
        lambda m, x, w, b: m.nn.functional.layer_norm(x, (3,), w, b),
        ((3,), (3,), (3,)),
        ((2, 2, 3), (3,), (3,)),
    ),
    array(
        "layer_norm two axes, weight and bias",
        lambda m, x, w, b: m.nn.functional.layer_norm(x, (2, 3), w, b),
        ((2, 2, 3), (2, 3), (2, 3)),
    ),
    array("rms_norm", lambda m, x: m.nn.functional.rms_norm(x, (3,), eps=1e-6), (3,), (2, 2, 3), (0, 3)),
    array(
        "rms_norm weight",
        lambda m, x, w: m.nn.functional.rms_norm(x, (2, 3), w, 0.1),
        ((2, 3), (2, 3)),
        ((2, 2, 3), (2, 3)),
    ),
    array("normalize", lambda m, x: m.nn.functional.normalize(x, dim=-1), (3,), (2, 3), (0, 3)),
    array("normalize p", lambda m, x: m.nn.functional.normalize(x, 3.0, 0), (3,), (2, 3), domain=POSITIVE),
    array(
        "cosine_similarity",
        lambda m, x, y: m.nn.functional.cosine_similarity(x, y, dim=-1),
        ((3,), (3,)),
        ((2, 3), (2, 3)),
        ((2, 1, 3), (4, 3)),
        ((0, 3), (3,)),
    ),
    array(
        "cosine_similarity dim",
        lambda m, x, y: m.nn.functional.cosine_similarity(x, y),
        ((2, 3), (2, 3)),
        ((2, 3, 2), (3, 1)),
    ),
    array("dropout in evaluation", lambda m, x: m.nn.functional.dropout(x * 2, 0.5, False), (3,)),
    array("dropout all", lambda m, x: m.nn.functional.dropout(x, 1.0), (), (2, 3)),
    array("cross_entropy", _towards("cross_entropy", _CLASSES), (4, 3)),
    array("cross_entropy none", _towards("cross_entropy", _CLASSES, reduction="none"), (4, 3)),
    array("cross_entropy sum", _towards("cross_entropy", _CLASSES, reduction="sum"), (4, 3)),
    array("cross_entropy one row", _towards("cross_entropy", 1), (3,)),
    array("cross_entropy grid", _towards("cross_entropy", _GRID), (2, 3, 2)),
    array("cross_entropy grid, none", _towards("cross_entropy", _GRID, _WEIGHTS, reduction="none"), (2, 3, 2)),
    array("cross_entropy ignored", _towards("cross_entropy", _SOME, _WEIGHTS), (4, 3)),
    array("cross_entropy ignored, none", _towards("cross_entropy", _SOME, reduction="none"), (4, 3)),
    array("cross_entropy smoothed", _towards("cross_entropy", _SOME, label_smoothing=0.3), (4, 3)),
    array("cross_entropy smoothed, weights", _towards("cross_entropy", _SOME, _WEIGHTS, label_smoothing=0.3), (4, 3)),
    array(
        "cross_entropy smoothed, none",
        _towards("cross_entropy", _CLASSES, _WEIGHTS, label_smoothing=0.3, reduction="none"),
        (4, 3),
    ),
    array("linear_cross_entropy", _from_layer(_CLASSES), ((4, 2), (3, 2)), ((4, 1), (3, 1))),
    array("linear_cross_entropy bias, none", _from_layer(_SOME, _WEIGHTS, reduction="none"), ((4, 2), (3, 2), (3,))),
    array("linear_cross_entropy sum", _from_layer(_SOME, reduction="sum", label_smoothing=0.3), ((4, 2), (3, 2))),
    array("linear_cross_entropy one row", _from_layer(1, label_smoothing=0.3), ((2,), (3, 2), (3,))),
    array("linear_cross_entropy grid", _from_layer(_GRID, _WEIGHTS), ((2, 2), (3, 2, 2), (3, 2))),
    array(
        "cross_entropy probabilities",
        _call("cross_entropy"),
        ((2, 3), (2, 3)),
        ((3,), (3,)),
        ((2, 3, 2), (2, 3, 2)),
        domain=PROBABILITY,
    ),
    array(
        "cross_entropy probabilities, smoothed",
        _call("cross_entropy", label_smoothing=0.3, reduction="none"),
        ((2, 3), (2, 3)),
        ((3,), (3,)),
        domain=PROBABILITY,
    ),
    array("nll_loss", _towards("nll_loss", _CLASSES), (4, 3)),
    array("nll_loss ignored", _towards("nll_loss", _SOME, _WEIGHTS), (4, 3)),
    array("nll_loss ignored, none", _towards("nll_loss", _SOME, reduction="none"), (4, 3)),
    array("nll_loss one row", _towards("nll_loss", 2), (3,)),
    array("nll_loss grid", _towards("nll_loss", _GRID, reduction="sum"), (2, 3, 2)),
    pairs("mse_loss", _call("mse_loss"), REAL, REAL),
    pairs("mse_loss none", _call("mse_loss", reduction="none"), REAL, REAL),
    array(
        "mse_loss weight",
        lambda m, x, y, w: m.nn.functional.mse_loss(x, y, weight=w),
        ((2, 3), (2, 3), (2, 3)),
        domain=POSITIVE,
    ),
    pairs("l1_loss", _call("l1_loss", reduction="sum"), REAL, REAL),
    array(
        "l1_loss weight",
        lambda m, x, y, w: m.nn.functional.l1_loss(x, y, weight=w),
        ((2, 3), (2, 3), (2, 3)),
        domain=POSITIVE,
    ),
    pairs("smooth_l1_loss", _call("smooth_l1_loss"), REAL, REAL),
    pairs("smooth_l1_loss beta", _call("smooth_l1_loss", beta=0.3, reduction="none"), REAL, REAL),
    pairs("huber_loss", _call("huber_loss"), REAL, REAL),
    pairs("huber_loss delta", _call("huber_loss", delta=0.3, reduction="sum"), REAL, REAL),
    array("huber_loss weight", lambda m, x, y, w: m.nn.functional.huber_loss(x, y, weight=w), ((2, 3), (2, 3), (2, 3))),
    pairs("binary_cross_entropy", _call("binary_cross_entropy"), PROBABILITY, PROBABILITY),
    pairs("binary_cross_entropy none", _call("binary_cross_entropy", reduction="none"), PROBABILITY, PROBABILITY),
    pairs("binary_cross_entropy_with_logits", _call("binary_cross_entropy_with_logits"), REAL, PROBABILITY),
    array(
        "binary_cross_entropy_with_logits weights",
        lambda m, x, y: m.nn.functional.binary_cross_entropy_with_logits(
            x, y, weight=m.tensor(2.0, dtype=x.dtype), pos_weight=m.tensor(_WEIGHTS, dtype=x.dtype)
        ),
        ((2, 3), (2, 3)),
    ),
    pairs("kl_div", _call("kl_div", reduction="batchmean"), REAL, PROBABILITY),
    pairs("kl_div log_target", _call("kl_div", reduction="sum", log_target=True), REAL, REAL),
    array(
        "scaled_dot_product_attention",
        _call("scaled_dot_product_attention"),
        ((2, 3), (4, 3), (4, 2)),
        ((2, 2, 3), (2, 4, 3), (2, 4, 2)),
        ((0, 3), (2, 3), (2, 1)),
        ((2, 0), (3, 0), (3, 2)),
    ),
    array(
        "scaled_dot_product_attention broadcast",
        _call("scaled_dot_product_attention"),
        ((2, 1, 2, 3), (2, 4, 3), (1, 2, 4, 2)),
        ((2, 3), (4, 3), (2, 4, 1)),
        ((2, 2, 3), (4, 3), (4, 2)),
        torch=False,
    ),
    array(
        "scaled_dot_product_attention causal",
        _call("scaled_dot_product_attention", is_causal=True, scale=0.3),
        _SQUARE,
        ((2, 3, 4), (2, 3, 4), (2, 3, 2)),
        ((4, 2), (3, 2), (3, 2)),
        ((2, 2), (3, 2), (3, 2)),
    ),
    array("scaled_dot_product_attention mask", _masked(_MAY_LOOK), _SQUARE, ((2, 3, 4), (2, 3, 4), (2, 3, 2))),
    array("scaled_dot_product_attention nowhere", _masked(_NOWHERE), _SQUARE),
    array(
        "scaled_dot_product_attention added",
        _call("scaled_dot_product_attention"),
        ((2, 3), (4, 3), (4, 2), (2, 4)),
        ((3, 2, 3), (3, 4, 3), (3, 4, 2), (1, 4)),
    ),
)

PLAIN = (
    array("one_hot", lambda m, x: m.nn.functional.one_hot(m.tensor(_ROWS)), ()),
    array("one_hot classes", lambda m, x: m.nn.functional.one_hot(m.tensor(_ROWS), 5), ()),
    array("one_hot number", lambda m, x: m.nn.functional.one_hot(m.tensor(1), num_classes=2), ()),
)
"""Those whose results are constants: no gradient, integers or booleans mostly."""


# -- the same by NumPy alone, as the definitions say -------------------------------------------------------------------


def _log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def _reduce(losses: np.ndarray, reduction: str, counts: Any = None) -> np.ndarray:
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / (losses.size if counts is None else np.sum(counts))


def _norm(x: np.ndarray, shape: tuple[int, ...], weight: Any, bias: Any, eps: float, centred: bool) -> np.ndarray:
    axes = tuple(range(-len(shape), 0))
    if centred:
        x = x - x.mean(axis=axes, keepdims=True)
    out = x / np.sqrt((x**2).mean(axis=axes, keepdims=True) + eps)
    return out * (1 if weight is None else weight) + (0 if bias is None else bias)


def _nll(
    x: np.ndarray,
    target: np.ndarray,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> np.ndarray:
    """Row by row, with a distribution over the classes for each."""
    classes = x.shape[0] if x.ndim == 1 else x.shape[1]
    table = np.ones(classes) if weight is None else weight
    logs = x[None] if x.ndim == 1 else np.moveaxis(x, 1, -1).reshape(-1, classes)
    losses, counts = [], []
    for row, k in zip(logs, np.ravel(target), strict=True):
        live = k != ignore_index
        wanted = np.full(classes, label_smoothing / classes) + (np.arange(classes) == k) * (1 - label_smoothing)
        losses.append(-(row * wanted * table).sum() if live else 0.0)
        counts.append(table[k] if live else 0.0)
    return _reduce(np.reshape(losses, np.shape(target)), reduction, counts)


def _cross_entropy(x: np.ndarray, target: np.ndarray, label_smoothing: float = 0.0, **options: Any) -> np.ndarray:
    axis = 0 if x.ndim == 1 else 1
    logs = _log_softmax(x, axis)
    if target.dtype.kind != "f":
        return _nll(logs, target, label_smoothing=label_smoothing, **options)
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    return _reduce(-(logs * target).sum(axis=axis), options.get("reduction", "mean"))


def _linear_cross_entropy(
    x: np.ndarray, w: np.ndarray, target: np.ndarray, linear_bias: Any = None, **options: Any
) -> np.ndarray:
    scores = np.tensordot(x, w, (-1, -1))
    return _cross_entropy(scores if linear_bias is None else scores + linear_bias, target, **options)


def _attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    attn_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> np.ndarray:
    scores = np.einsum("...le,...se->...ls", q, k) * (1 / np.sqrt(max(q.shape[-1], 1)) if scale is None else scale)
    mask = np.tri(*scores.shape[-2:], dtype=bool) if is_causal else attn_mask
    exps = np.exp(scores if mask is None or mask.dtype == bool else scores + mask)
    if mask is not None and mask.dtype == bool:
        exps = exps * mask
    totals = exps.sum(axis=-1, keepdims=True)
    return np.einsum("...ls,...sf->...lf", exps / np.where(totals == 0, 1, totals), v)


def _smooth(d: np.ndarray, width: float) -> np.ndarray:
    """Huber's loss divided by its width."""
    return np.where(np.abs(d) < width, d**2 / 2 / width, np.abs(d) - width / 2)


def _weighted(losses: np.ndarray, weight: Any, reduction: str, by_weights: bool = True) -> np.ndarray:
    if weight is None:
        return _reduce(losses, reduction)
    return _reduce(losses * weight, reduction, weight if by_weights else None)


def _with_logits(x: Any, y: Any, weight: Any = 1.0, pos_weight: Any = 1.0, reduction: str = "mean") -> np.ndarray:
    p = 1 / (1 + np.exp(-x))
    return _reduce(-(y * np.log(p) * pos_weight + (1 - y) * np.log(1 - p)) * weight, reduction)


def _kl(x: np.ndarray, y: np.ndarray, reduction: str, log_target: bool = False) -> np.ndarray:
    p, logs = (np.exp(y), y) if log_target else (y, np.log(y))
    losses = p * (logs - x)
    return losses.sum() / (x.shape[0] if x.ndim else 1) if reduction == "batchmean" else _reduce(losses, reduction)


NUMPY = {
    "linear": lambda x, w, b=0.0: np.einsum("...i,oi->...o" if w.ndim == 2 else "...i,i->...", x, w) + b,
    "embedding": lambda rows, w: np.take(w, rows, axis=0),
    "one_hot": lambda k, num_classes=-1: np.eye(k.max() + 1 if num_classes == -1 else num_classes, dtype=np.int64)[k],
    "layer_norm": lambda x, shape, w=None, b=None, eps=1e-5: _norm(x, shape, w, b, eps, centred=True),
    "rms_norm": lambda x, shape, w=None, eps=None: _norm(x, shape, w, None, eps, centred=False),
    "normalize": lambda x, p=2.0, dim=1: x / (np.abs(x) ** p).sum(axis=dim, keepdims=True) ** (1 / p),
    "cosine_similarity": lambda x, y, dim=1: (
        (x * y).sum(axis=dim) / np.sqrt((x**2 + 0 * y).sum(axis=dim) * (y**2 + 0 * x).sum(axis=dim))
    ),
    "dropout": lambda x, p=0.5, training=True: x * (1 - p) if training else x,
    "cross_entropy": _cross_entropy,
    "linear_cross_entropy": _linear_cross_entropy,
    "nll_loss": _nll,
    "mse_loss": lambda x, y, weight=None, reduction="mean": _weighted((x - y) ** 2, weight, reduction),
    "l1_loss": lambda x, y, weight=None, reduction="mean": _weighted(np.abs(x - y), weight, reduction),
    "smooth_l1_loss": lambda x, y, beta=1.0, reduction="mean": _reduce(_smooth(x - y, beta), reduction),
    "huber_loss": lambda x, y, delta=1.0, weight=None, reduction="mean": _weighted(
        _smooth(x - y, delta) * delta, weight, reduction, by_weights=False
    ),
    "binary_cross_entropy": lambda x, y, reduction="mean": _reduce(-y * np.log(x) - (1 - y) * np.log(1 - x), reduction),
    "binary_cross_entropy_with_logits": _with_logits,
    "kl_div": _kl,
    "scaled_dot_product_attention": _attention,
}
"""For arrays: the forward value by NumPy's own functions."""
