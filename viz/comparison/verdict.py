"""What the records of all nodes come to: whether the engines agree, where they differ first and most, where to look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz.comparison.records import NodeComparison, Row, distance, element_name
from viz.text import clip, count, number, short

_CLEARLY = 0.01
"""How far a finite difference has to be from a gradient, in units of the larger, for a reader to wonder."""

_NOISE = 1e-8
"""How far rounding may move one, in units of the largest number of the computation: float64's 1e-16 by a step of
1e-6, and a hundred times that for depth."""


def worst(nodes: Sequence[NodeComparison]) -> Row | None:
    """The element whose data or gradients are furthest apart for what is allowed; None if there is no element."""
    candidates = [row for node in nodes if node.size for row in _worst_rows(node)]
    return max(candidates, key=_badness, default=None)


def _worst_rows(node: NodeComparison) -> list[Row]:
    """The element that is worst by its data, and the one that is worst by its gradient."""
    pairs = [(node.data_error, node.data_difference)]
    if not node.is_constant:
        pairs.append((node.grad_error, node.grad_difference))
    places = [np.where(error == error.max(), apart, -1.0).argmax() for error, apart in pairs]
    return [node.row(tuple(map(int, np.unravel_index(place, node.shape)))) for place in places]


def _badness(row: Row) -> tuple[float, float]:
    """(error, difference) of what is worse, data or gradient."""
    return max((row.data_error, row.data_difference), (row.grad_error or 0.0, row.grad_difference or 0.0))


def first_mismatch(nodes: Sequence[NodeComparison]) -> Row | None:
    """The first element that disagrees, parents before children."""
    node = next((node for node in nodes if not node.ok), None)
    return None if node is None else node.row(tuple(map(int, np.argwhere(~node.matches)[0])))


def suspects(nodes: Sequence[NodeComparison]) -> list[NodeComparison]:
    """The operations to look at. Wrong data spreads forward and wrong gradients backward: so the first node whose
    data disagree; else, of the first node on the way back whose gradients disagree, those that sent to it."""
    for node in nodes:
        if not node.data_matches.all():
            return [node]
    for node in reversed(nodes):
        if not node.grad_matches.all():
            return [user for user in nodes if node.key in user.parents] or [node]
    return []


def difference_from_torch(nodes: Sequence[NodeComparison]) -> float | None:
    """The largest distance of a tensor gradient from torch's; None where torch's are not there."""
    known = [node for node in nodes if node.torch_grad is not None]
    return max((float(distance(n.tensor_grad, n.torch_grad).max(initial=0.0)) for n in known), default=None)


def summary(nodes: Sequence[NodeComparison]) -> str:
    """Whether all agree; if not, how many differ, which is the first, and where to look."""
    what = f"{count(sum(node.size for node in nodes), 'element')} of {count(len(nodes), 'tensor node')}"
    first = first_mismatch(nodes)
    if first is None:
        lines = [f"{what}: scalar and tensor engine agree{_worst_in_words(nodes)}."]
    else:
        mismatches = sum(node.mismatches for node in nodes)
        lines = [
            f"{what}: {count(mismatches, 'element')} DIFFER{_worst_in_words(nodes)}.",
            f"First in the order of computation: {_both_in_words(first)}.",
            f"Look at {', '.join(clip(node.title, 80) for node in suspects(nodes))}.",
        ]
    from_torch = difference_from_torch(nodes)
    return "\n".join(lines if from_torch is None else [*lines, f"torch: largest difference {short(from_torch, 2)}."])


def zeros_in_words(nodes: Sequence[NodeComparison]) -> str:
    """A note on the gradients that are nan by tensors because of 0 times inf, and are not counted; "" for none."""
    found = [node for node in nodes if node.zero_times_inf is not None and node.zero_times_inf.any()]
    if not found:
        return ""
    first = next(row for row in found[0].rows() if row.zero_times_inf)
    others = sum(int(node.zero_times_inf.sum()) for node in found) - 1
    more = f" and {count(others, 'other')}" if others else ""
    return (
        f"nan by tensors and not by scalars: the gradient of {clip(first.name)}{more}. The tensor engine, like torch, "
        "sends 0 times inf through elements that the result does not depend on. Not counted as a mismatch."
    )


def hooks_in_words(nodes: Sequence[NodeComparison], hooked: Sequence[str]) -> str:
    """A note on hooks, where the engines differ; "" for none.

    hooked  the names of the nodes with hooks
    """
    if not hooked or all(node.ok for node in nodes):
        return ""
    which = ", ".join(clip(name) for name in hooked[:3]) + (", ..." if len(hooked) > 3 else "")
    return (
        f"{which}: a hook that changes the gradient runs in the tensor engine only, so what it sends on differs from "
        "the scalar gradient. Compare without the hook."
    )


def overflow_in_words(nodes: Sequence[NodeComparison]) -> str:
    """A note on numbers that are too large for their dtype and not for the scalars' float64; "" for none."""
    for node in nodes:
        if not node.dtype.startswith("float") or node.dtype == "float64":
            continue
        most = float(np.finfo(node.dtype).max)
        pairs = [(node.tensor_data, node.scalar_data, "value"), (node.tensor_grad, node.scalar_grad, "gradient")]
        for ours, theirs, what in pairs:
            if ours is None or theirs is None:
                continue
            places = np.argwhere(np.isinf(ours) & np.isfinite(theirs) & (np.abs(theirs) > most))
            if len(places):
                name = element_name(node.name, tuple(map(int, places[0])))
                return (
                    f"overflow: the {what} of {clip(name)} is too large for {node.dtype}, whose largest number is "
                    f"{most:.3g}; the scalars are float64."
                )
    return ""


def kinks_in_words(nodes: Sequence[NodeComparison], seed: float) -> str:
    """A note on the finite differences that clearly differ from a gradient on which the engines agree; "" for none.

    seed  the largest number in the root's gradient
    """
    largest = max((float(np.abs(n.tensor_data[np.isfinite(n.tensor_data)]).max(initial=1.0)) for n in nodes), default=1)
    found = [
        node.row(tuple(map(int, place)))
        for node in nodes
        if node.finite_difference is not None
        for place in np.argwhere(_clearly_apart(node, _NOISE * largest * seed))
    ]
    if not found:
        return ""
    row = found[0]
    more = f" (and {count(len(found) - 1, 'other')})" if len(found) > 1 else ""
    return (
        f"{clip(row.name)} has the finite difference {short(row.finite_difference)} beside the gradient "
        f"{short(row.tensor_grad)}{more}: at a kink (relu at 0) a finite difference is the mean of both sides; "
        "elsewhere one of the two is inexact or wrong."
    )


def _clearly_apart(node: NodeComparison, noise: float) -> np.ndarray:
    """Where the engines agree on a gradient, and its finite difference is another by more than it may err."""
    both = np.stack([node.tensor_grad, node.finite_difference])
    with np.errstate(all="ignore"):
        allowed = np.maximum(node.grad_allowed, noise + _CLEARLY * np.abs(both).max(axis=0))
        apart = np.abs(both[0] - both[1]) > allowed
    return node.grad_matches & np.isfinite(both).all(axis=0) & apart


def _worst_in_words(nodes: Sequence[NodeComparison]) -> str:
    row = worst(nodes)
    if row is None or _badness(row)[1] == 0:
        return ""
    of_data = _badness(row) == (row.data_error, row.data_difference)
    apart = row.data_difference if of_data else row.grad_difference
    return (
        f" (worst for its size: the {'value' if of_data else 'gradient'} of {clip(row.name)}, {short(apart, 2)} apart)"
    )


def _both_in_words(row: Row) -> str:
    what, scalar, tensor = (
        ("value", row.scalar_data, row.tensor_data)
        if row.data_differ
        else ("gradient", row.scalar_grad, row.tensor_grad)
    )
    return f"{row.name}: {what} {number(scalar, 8)} by scalars, {number(tensor, 8)} by tensors"
