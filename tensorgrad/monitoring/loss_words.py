"""What `check_loss_scale` says: which mistake gives a loss the scale, the value or the form that was found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tensorgrad.monitoring.known_batch import KnownBatch, one_hot, probabilities


def of_the_scale(
    factors: Sequence[float],
    batches: Sequence[KnownBatch],
    meant: str,
    classes: int | None,
    accumulate: int,
    tolerance: float,
) -> str:
    """Value and gradient are `factors` times what they should be, one for each batch."""

    def is_always(factor: Callable[[KnownBatch], float]) -> bool:
        return np.allclose(factors, [factor(batch) for batch in batches], rtol=tolerance, atol=0)

    first = batches[0]
    count, width = int(first.counted.sum()), first.scores.shape[-1]
    numbers = "numbers" if classes is None else "targets"
    per = width if classes is None else 1  # numbers a place
    if accumulate > 1 and is_always(lambda batch: accumulate):
        return f"the loss is not divided by the {accumulate} batches that are added up: divide each by {accumulate}"
    if accumulate > 1 and is_always(lambda batch: 1 / accumulate):
        return (
            f"the loss is divided by {accumulate} twice: once for the {accumulate} batches that are added up is right"
        )
    if is_always(lambda batch: batch.counted.sum() * per):
        return (
            f"the loss is the sum over {count * per} {numbers}, not the {meant}: divide it by how many there are (and "
            "leave out reduction='sum')"
        )
    if is_always(lambda batch: 1 / (batch.counted.sum() * per)):
        return f"the loss is the {meant} divided by the number of {numbers} once more, {count * per}: divide once"
    if not first.counted.all() and is_always(lambda batch: batch.counted.mean()):
        return (
            f"the loss is divided by all {len(first.counted)} targets, those of ignore_index included: divide it by "
            f"the {count} that count"
        )
    if classes is None and is_always(lambda batch: per):
        return (
            f"the loss is {per} times the {meant}: the sum over the {per} numbers of a prediction, and the mean over "
            f"the predictions alone (or a factor of {per})"
        )
    if len(first.places) > 1 and is_always(lambda batch: batch.places[0]):
        return f"the loss is summed over the {first.places[0]} sequences of a batch: divide it by how many there are"
    if len(first.places) > 1 and is_always(lambda batch: len(batch.counted) / batch.places[0]):
        places = len(first.counted) // first.places[0]
        return f"the loss is summed over the {places} places of a sequence: divide it by how many there are"
    if classes is None and is_always(lambda batch: 0.5):
        return f"the loss is half the {meant}: multiply it by 2, or know that its gradients are half as large"
    if classes is not None and is_always(lambda batch: 1 / width):
        return f"the loss is the mean over the {width} classes too: sum over the classes, of which only one counts"
    if classes is not None and is_always(lambda batch: 1 / math.log(2)):
        return f"the loss is the {meant} in bits, {1 / math.log(2):.4f} times as much: use the natural logarithm"
    if np.allclose(factors, factors[0], rtol=tolerance, atol=0):
        return f"the loss is {times(factors[0])} the {meant}: {_undone(factors[0])}"
    shown = " and ".join(
        f"{times(f)} on targets of shape {batch.places}" for f, batch in zip(factors, batches, strict=True)
    )
    return f"the loss is not the {meant}, and how far it is off depends on the batch's size: {shown}"


def of_another_value(
    values: Sequence[float], factors: Sequence[float], more: float, meant: str, tolerance: float
) -> str:
    """The value is `values` times what it should be, the gradient `factors` times, one for each batch; `more` is by
    how much the value of the first is too large."""
    if np.allclose(factors, 1.0, rtol=tolerance, atol=0):
        return (
            f"the gradient is that of the {meant}, and the value is {values[0]:.4g} times it ({more:+.4g}): something "
            "without a gradient is added or multiplied (detach(), .item(), a penalty of other tensors)"
        )
    right = "right" if np.allclose(values, 1.0, rtol=tolerance, atol=0) else f"{times(values[0])} the {meant}"
    return (
        f"the loss's value is {right}, and its gradient is {times(factors[0])} that of the {meant}: a part of it has "
        "no gradient (detach(), .item()), or the gradient is scaled on its way (a hook, a Function)"
    )


def of_another_form(gradient: np.ndarray, batch: KnownBatch, meant: str, classes: int | None, tolerance: float) -> str:
    """`gradient` (N, V) is no multiple of the known one."""
    if classes is not None:
        known = _weights_of_places(gradient, batch, meant, tolerance) or _smoothing(gradient, batch, tolerance)
        known = known or _softmax_missing_or_twice(gradient, batch, tolerance)
        if known:
            return known
    cosine = float(np.vdot(gradient, batch.gradient) / (np.linalg.norm(gradient) * np.linalg.norm(batch.gradient)))
    if cosine > 0.999:
        away = math.sqrt(max(1 - cosine**2, 0.0))
        return (
            f"the gradient is a multiple of that of the {meant} but for {away:.2g} of its length, and {tolerance:g} is "
            "the tolerance: leave out penalties and noise, or say a larger tolerance= where float16 makes it inexact"
        )
    return (
        f"the loss is no multiple of the {meant}: the cosine between its gradient and that one's is {cosine:.3f}. "
        "Give check_loss_scale what compares scores with targets as they stand, not shifted, and without penalties"
    )


def _weights_of_places(gradient: np.ndarray, batch: KnownBatch, meant: str, tolerance: float) -> str | None:
    """Each place has the known gradient, times a number of its own."""
    known = batch.gradient
    squares = np.sum(known**2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # places that do not count: 0 / 0
        weights = np.where(squares > 0, np.sum(gradient * known, axis=1) / squares, 0.0)
    if np.linalg.norm(gradient - weights[:, None] * known) > tolerance * np.linalg.norm(gradient):
        return None
    targets, counted = batch.targets.reshape(-1), batch.counted
    silent = counted & (np.abs(weights) <= tolerance * np.abs(weights).max())
    classes = np.unique(targets[silent])
    if len(classes) == 1 and not np.any(counted & ~silent & (targets == classes[0])):
        return (
            f"targets of class {classes[0]} count for nothing: where that is meant, say "
            f"check_loss_scale(..., ignore_index={classes[0]})"
        )
    if silent.any():
        places = np.flatnonzero(~silent & counted)
        shown = ", ".join(map(str, places[:8])) + (", ..." if len(places) > 8 else "")
        return f"only {len(places)} of {counted.sum()} targets count for the gradient: those at {shown} of all in a row"
    low, high = weights[counted].min(), weights[counted].max()
    return (
        f"the targets do not count equally, from {low:.3g} to {high:.3g} times what they do in the {meant}: leave out "
        "the weights of classes or places to check its scale"
    )


def _smoothing(gradient: np.ndarray, batch: KnownBatch, tolerance: float) -> str | None:
    """The gradient is f (p - q) with other label smoothing than was said."""
    p = probabilities(batch.rows)
    hot, even = one_hot(np.where(batch.counted, batch.targets.reshape(-1), 0), p.shape[1]), 1 / p.shape[1]
    basis = np.stack([(p - hot).ravel(), (hot - even).ravel()], axis=1) * np.repeat(batch.counted, p.shape[1])[:, None]
    (scale, smoothed), *_ = np.linalg.lstsq(basis, gradient.ravel(), rcond=None)
    left = np.linalg.norm(gradient.ravel() - basis @ [scale, smoothed])
    if left > tolerance * np.linalg.norm(gradient) or scale == 0 or not -tolerance <= smoothed / scale <= 1:
        return None
    found = smoothed / scale
    if found <= tolerance:
        return "the loss has no label smoothing: leave it out of check_loss_scale, or give it to the loss"
    said = f"check_loss_scale(..., label_smoothing={found:.3g})"
    return f"the loss has label smoothing of {found:.3g}: where that is meant, say {said}"


def _softmax_missing_or_twice(gradient: np.ndarray, batch: KnownBatch, tolerance: float) -> str | None:
    p = probabilities(batch.rows)
    hot = one_hot(np.where(batch.counted, batch.targets.reshape(-1), 0), p.shape[1])
    if _parallel(gradient, -hot * batch.counted[:, None], tolerance):
        return "the scores are taken for log probabilities: nll_loss wants the result of log_softmax"
    at_p = probabilities(p) - hot
    twice = p * (at_p - np.sum(at_p * p, axis=1, keepdims=True)) * batch.counted[:, None]
    if _parallel(gradient, twice, tolerance):
        return "softmax is taken twice: cross_entropy wants scores, and takes softmax itself"
    return None


def _parallel(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    factor = np.vdot(a, b) / np.vdot(b, b)
    return bool(np.linalg.norm(a - factor * b) <= tolerance * np.linalg.norm(a))


def times(factor: float, digits: int = 4) -> str:
    """'40 times', '1/40 of', 'minus 2 times'."""
    if factor <= 0:
        return f"minus {times(-factor, digits)}" if factor else "0 times"
    inverse = 1 / factor
    if 1.5 < inverse < 1e6 and abs(inverse - round(inverse)) < 1e-3 * inverse:
        return f"1/{round(inverse)} of"
    return f"{factor:.{digits}g} times"


def _undone(factor: float) -> str:
    if factor < 0:
        return "its sign is wrong, and training goes uphill"
    if factor < 1:
        return f"multiply it by {1 / factor:.4g}, or say accumulate={1 / factor:.4g} if so many batches are added up"
    return f"divide it by {factor:.4g}"
