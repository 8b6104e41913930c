"""Whether a loss has the scale that it should have: it is run on batches whose loss and gradient are known.

A loss times 40 trains as well under AdamW, which rescales every step, and its curve has the right form; under SGD it is
a learning rate 40 times too high, and clipping cuts 40 times as much. So its scale is asked for directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tensorgrad.autograd.gradients import grad
from tensorgrad.errors import ShapeError
from tensorgrad.grad_mode import enable_grad
from tensorgrad.monitoring.known_batch import KnownBatch, cross_entropy_batch, squares_batch
from tensorgrad.monitoring.loss_words import of_another_form, of_another_value, of_the_scale
from tensorgrad.settings import kind, real, whole
from tensorgrad.tensor import Tensor


@dataclass(frozen=True)
class LossScale:
    """What was found.

    value_factor     the loss divided by the known one: 1 where it is right
    gradient_factor  the same of its gradient at the scores (by least squares), nan where it has another form
    text             one plain line: what is off, by how much, and the remedy
    right            whether both are 1
    """

    value_factor: float
    gradient_factor: float
    text: str
    right: bool


def check_loss_scale(
    loss: Callable[[Tensor, Tensor], Tensor],
    classes: int | None = None,
    *,
    accumulate: int = 1,
    shape: Sequence[int] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    tolerance: float = 1e-4,
) -> LossScale:
    """`loss(scores, targets)` on a known batch: is it the mean cross entropy, in value and in gradient?

    loss             what your program calls to get its loss from scores (B, T, V) and targets (B, T); where it takes
                     none such, (N, V) and (N,) are tried. Where it shifts the targets or runs the model, give it the
                     part that compares scores with targets
    classes          V; None for a mean squared error, of predictions and targets that are both (B, T, 3), or (N, 3)
    accumulate       the number of batches whose gradients are added up before a step, where each loss is divided by it
    shape            of the targets that the loss takes, where it takes no others
    ignore_index     the target that counts for nothing: the mean is to be over the others
    label_smoothing  as in cross_entropy
    tolerance        by how much, relatively, rounding may change the loss and its gradient

    Raises AssertionError, whose text is one plain line, where it is not; ShapeError for a loss that is not one number,
    TypeError for one that is no Tensor, and what the loss itself raises. No `.grad` is changed.
    """
    found = loss_scale(
        loss,
        classes,
        accumulate=accumulate,
        shape=shape,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        tolerance=tolerance,
    )
    if not found.right:
        raise AssertionError(found.text)
    return found


def loss_scale(
    loss: Callable[[Tensor, Tensor], Tensor],
    classes: int | None = None,
    *,
    accumulate: int = 1,
    shape: Sequence[int] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    tolerance: float = 1e-4,
) -> LossScale:
    """What `check_loss_scale` finds, also where it is not right."""
    name = "check_loss_scale"
    if classes is not None and whole(name, "classes", classes) < 2:
        raise ValueError(f"{name}: classes is {classes}; a choice is between 2 or more")
    if whole(name, "accumulate", accumulate) < 1:
        raise ValueError(f"{name}: accumulate is {accumulate}; it must be 1 or more")
    if not 0 <= real(name, "label_smoothing", label_smoothing) < 1:
        raise ValueError(f"{name}: label_smoothing is {label_smoothing}; it must be from 0 to below 1")
    if not 0 < real(name, "tolerance", tolerance) < 1:
        raise ValueError(f"{name}: tolerance is {tolerance}; it must be above 0 and below 1")
    if classes is None and (ignore_index is not None or label_smoothing):
        raise ValueError(f"{name}: ignore_index and label_smoothing are of classes: say how many there are")

    def made(places: tuple[int, ...]) -> KnownBatch:
        if classes is None:
            return squares_batch(places, 3)
        return cross_entropy_batch(places, classes, ignore_index, label_smoothing)

    batches, runs = _run(loss, made, _shapes(classes) if shape is None else [[_checked(shape)]])
    return _judged(batches, runs, classes, accumulate, label_smoothing, tolerance)


def _shapes(classes: int | None) -> list[list[tuple[int, ...]]]:
    """Of targets: sequences first, then places in a row. Two sizes each, so that a sum is told from a constant factor.
    No size is the number of classes, so that a loss that wants the classes along another axis fails."""
    first, second = (4, 9 if classes == 8 else 8), (3, 6 if classes == 5 else 5)
    return [[first, second], [(first[0] * first[1],), (second[0] * second[1],)]]


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    found = tuple(whole("check_loss_scale", "shape", n) for n in shape)
    if not found or min(found) < 1:
        raise ValueError(f"check_loss_scale: shape is {found}; it must be of at least one target, such as (12, 64)")
    return found


@dataclass(frozen=True)
class _Run:
    """What the loss gave for one batch: its value, and its gradient at the scores (N, V), or None if none arrived."""

    value: float
    gradient: np.ndarray | None


def _run(
    loss: Callable[[Tensor, Tensor], Tensor],
    made: Callable[[tuple[int, ...]], KnownBatch],
    shapes: Sequence[Sequence[tuple[int, ...]]],
) -> tuple[list[KnownBatch], list[_Run]]:
    """The batches of the first shapes that the loss takes, and what it gave. Raises what it raised for the last."""
    *others, last = shapes
    for sizes in others:
        with suppress(Exception):  # of any kind: it is the loss's way to refuse a shape
            batches = [made(places) for places in sizes]
            return batches, [_one(loss, batch) for batch in batches]
    batches = [made(places) for places in last]
    try:
        return batches, [_one(loss, batch) for batch in batches]
    except Exception as error:
        tried = [made(sizes[0]) for sizes in shapes]
        shown = ", then ".join(f"{batch.scores.shape} and {batch.targets.shape}" for batch in tried)
        error.add_note(f"check_loss_scale called the loss with scores and targets of the shapes {shown}")
        raise


def _one(loss: Callable[[Tensor, Tensor], Tensor], batch: KnownBatch) -> _Run:
    scores = Tensor(batch.scores, requires_grad=True)
    with enable_grad():
        out = loss(scores, Tensor(batch.targets))
    if not isinstance(out, Tensor):
        raise TypeError(f"check_loss_scale: the loss is to be a Tensor, got {kind(out)}")
    if out.numel() != 1:
        raise ShapeError(f"check_loss_scale: the loss is to be one number, got shape {out.shape}: take its .mean()")
    if not out.requires_grad:
        return _Run(out.item(), None)
    (gradient,) = grad([out], [scores], allow_unused=True)
    found = None if gradient is None else np.asarray(gradient.data, dtype=np.float64).reshape(batch.gradient.shape)
    return _Run(out.item(), found)


def _judged(
    batches: list[KnownBatch],
    runs: list[_Run],
    classes: int | None,
    accumulate: int,
    label_smoothing: float,
    tolerance: float,
) -> LossScale:
    meant = "mean squared error" if classes is None else "mean cross entropy"
    if label_smoothing:
        meant += f" with label smoothing {label_smoothing:g}"
    if accumulate > 1:
        meant += f" divided by {accumulate}"
    values = [accumulate * run.value / batch.value for run, batch in zip(runs, batches, strict=True)]
    gradients = [run.gradient for run in runs if run.gradient is not None and run.gradient.any()]
    if len(gradients) < len(runs):
        text = (
            "no gradient reaches the scores: the loss is cut off from them (detach(), no_grad, argmax, .data, .item())"
        )
        return LossScale(values[0], 0.0, text, right=False)
    if not np.isfinite(values).all() or not all(np.isfinite(g).all() for g in gradients):
        largest = max(np.abs(batch.scores).max() for batch in batches)
        text = (
            f"scores of at most {largest:.1f} give a loss of {runs[0].value:.4g}, and something is not finite: take "
            "log_softmax in one step, not the logarithm of softmax"
        )
        return LossScale(values[0], float("nan"), text, right=False)

    factors = [
        accumulate * float(np.vdot(g, b.gradient) / np.vdot(b.gradient, b.gradient))
        for g, b in zip(gradients, batches, strict=True)
    ]
    same_form = all(
        np.linalg.norm(accumulate * g - f * b.gradient) <= tolerance * np.linalg.norm(accumulate * g)
        for g, f, b in zip(gradients, factors, batches, strict=True)
    )
    if not same_form:
        text = of_another_form(gradients[0], batches[0], meant, classes, tolerance)
        return LossScale(values[0], float("nan"), text, right=False)
    if not np.allclose(values, factors, rtol=tolerance, atol=0):
        more = runs[0].value - batches[0].value / accumulate
        text = of_another_value(values, factors, more, meant, tolerance)
        return LossScale(values[0], factors[0], text, right=False)
    if np.allclose(factors, 1.0, rtol=tolerance, atol=0):
        return LossScale(values[0], factors[0], f"the loss is the {meant}, and so is its gradient", right=True)
    text = of_the_scale(factors, batches, meant, classes, accumulate, tolerance)
    return LossScale(values[0], factors[0], text, right=False)
