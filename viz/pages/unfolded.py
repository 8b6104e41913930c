"""A graph of Tensors with the graph of Values that computes the same, for the stepper: "open as scalars"."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor, enable_grad
from viz.comparison.again import generators_kept, program_again, reason
from viz.comparison.estimate import check_size
from viz.comparison.kept import leaves_kept
from viz.comparison.lifted import Pair, Repeatable, run_on_both
from viz.comparison.measure import compare_pair
from viz.comparison.picture import owned_by
from viz.comparison.records import NodeComparison, Row
from viz.comparison.result import Comparison
from viz.errors import TooLargeError, UserError
from viz.names import name_all, names_for
from viz.pages.scalars import pack
from viz.text import clip, cut, short

MOST_VALUES = 5_000
"""Of the whole graph of Values: what a page carries along and a browser goes through at each step."""

_MOST_DIFFERENCES = 200
_MOST_NAME_CHARACTERS = 60
_ONE_ROOT = "weighted sum"
_RECORD = "make the graph inside `with viz.recording():`"


def unfolded(
    root: Node, order: Sequence[Node], namespace: Mapping[str, Any], gradient: Any = None
) -> tuple[dict[str, Any] | None, str]:
    """The graph below `root` as Values, for json.dumps, and "" - or None and why there is none, in words.

    The graph is made again, twice: it must have been made inside `viz.recording()`, or of operations that take nothing
    but their operands. Data and gradients are as before, afterwards.

    order      the graph's nodes, parents before children: the page calls them by their place in it
    namespace  where the names of the nodes are looked up
    gradient   the seed, for a tensor of several elements

    Keys, with tensor nodes by their place in `order` and Values by theirs in their own graph:

    graph     data and local derivatives, see `viz.pages.scalars.pack`; the pass from its last Value starts with 1
    parents   of each Value
    constant  the Values that take no gradient
    names     of each Value: "w[0, 1]" for an element, "h.2" on the way to one
    elements  for each tensor node its Values in C order, -1 for an element that the root does not depend on; None of a
              constant
    block     for each Value the tensor node whose operation made it; -1 for none
    shapes    of the tensor nodes
    grads     for each tensor node, None of a constant, how far its gradients may be from the Values' and be the same,
              and the gradients by tensors at the end of a pass, in full: {"allowed", "add", "overwrite"}, base64
    excused   [tensor node, element]: nan by tensors through 0 times inf, which no Value sends
    differs   what `viz.compare` finds different: {"tensor", "element", "words"}
    summary   its verdict, in words
    """
    if not isinstance(root, Tensor):
        return None, "the graph is made of Values already"
    called = name_all(order, names_for(order, namespace), namespace)
    try:
        check_size([t for t in order if t._prev], MOST_VALUES)
        program = program_again(root)
        with enable_grad(), leaves_kept(program.leaves), generators_kept():
            pair = run_on_both(Repeatable(program, program.leaves), gradient, most=MOST_VALUES)
            _check_same(order, pair.tensors)
            pair = replace(pair, tensors=tuple(order))  # the graph itself, with the rules that it has
            comparison = compare_pair(pair, dict(zip(order, called, strict=True)), namespace)
            scalars = topological_order(_seeded(pair))
    except TooLargeError:
        return None, f"as Values the graph would have more than {MOST_VALUES:,} nodes"
    except UserError as error:
        return None, reason(error)
    except Exception as error:  # what the user's program raises when it is run again
        return None, f"the graph cannot be made again ({type(error).__name__}: {clip(str(error), 120)})"
    if len(scalars) > MOST_VALUES:
        return None, f"as Values the graph has {len(scalars):,} nodes, more than {MOST_VALUES:,}"
    return _record(pair, comparison, scalars), ""


def _seeded(pair: Pair) -> Value:
    """The Value from which a pass that starts with 1 gives the gradients of the pair's seed."""
    if pair.scalar_seed == 1:
        return pair.scalar_root
    root, weight = pair.scalar_root, pair.scalar_seed
    return Value(root.data * weight, (root,), _ONE_ROOT, local=(weight,))


def _check_same(order: Sequence[Node], again: Sequence[Tensor]) -> None:
    """Raise UserError unless the graph made again is the graph that the page shows, number for number."""
    if _wiring(order) != _wiring(again):
        raise UserError(f"made again, the graph is another one: {_RECORD}")
    for t, other in zip(order, again, strict=True):
        if not np.array_equal(t.data, other.data, equal_nan=t.data.dtype.kind == "f"):
            raise UserError(
                f"made again, {t.label or t._op or 'a leaf'} has other numbers: data were changed after the graph was "
                "made (by a training step, say), or come from a random generator"
            )


def _wiring(order: Sequence[Node]) -> list[tuple[Any, ...]]:
    place = {t: i for i, t in enumerate(order)}
    return [(t._op, t.shape, t.requires_grad, *(place[p] for p in t._prev)) for t in order]


# -- the record --------------------------------------------------------------------------------------------------------


def _record(pair: Pair, comparison: Comparison, scalars: list[Value]) -> dict[str, Any]:
    place = {node: i for i, node in enumerate(scalars)}
    block = [-1 if owner is None else owner for owner in owned_by(pair, scalars)]
    differing = [row for node in comparison.nodes if not node.ok for row in node.rows() if not row.matches]
    return {
        "graph": pack(scalars),
        "parents": [[place[parent] for parent in node._prev] for node in scalars],
        "constant": [i for i, node in enumerate(scalars) if not node.requires_grad],
        "names": _names(scalars, comparison, block),
        "elements": [
            [place.get(node, -1) for node in elements.flat] if t.requires_grad else None
            for t, elements in zip(pair.tensors, pair.elements, strict=True)
        ],
        "block": block,
        "shapes": [list(t.shape) for t in pair.tensors],
        "grads": [None if node.is_constant else _gradients(node) for node in comparison.nodes],
        "excused": [
            [i, int(k)]
            for i, node in enumerate(comparison.nodes)
            if node.zero_times_inf is not None
            for k in np.flatnonzero(node.zero_times_inf)
        ],
        "differs": [_difference(row, comparison) for row in differing[:_MOST_DIFFERENCES]],
        "summary": comparison.summary().split("\n")[0],
    }


def _names(scalars: Sequence[Value], comparison: Comparison, block: Sequence[int]) -> list[str]:
    """Elements by their tensor, numbers as they are, what is on the way to an element by its tensor and a number."""
    counted = [0] * len(comparison.nodes)
    names = []
    for node, owner in zip(scalars, block, strict=True):
        name = comparison.names.get(node)
        if name is None and owner < 0:
            name = _ONE_ROOT
        elif name is None and not node._prev:
            name = short(node.data, 4)
        elif name is None:
            counted[owner] += 1
            name = f"{comparison.nodes[owner].name}.{counted[owner]}"
        names.append(cut(name, _MOST_NAME_CHARACTERS))
    return names


def _gradients(node: NodeComparison) -> dict[str, str]:
    return {
        "allowed": _packed(node.grad_allowed),
        "add": _packed(node.tensor_grad),
        "overwrite": _packed(node.tensor_overwritten),
    }


def _packed(numbers: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode("ascii")


def _difference(row: Row, comparison: Comparison) -> dict[str, Any]:
    tensor = int(row.node[1:])
    shape = comparison.nodes[tensor].shape
    what, by_tensors, by_scalars = (
        ("value", row.tensor_data, row.scalar_data)
        if row.data_differ
        else ("gradient", row.tensor_grad, row.scalar_grad)
    )
    return {
        "tensor": tensor,
        "element": int(np.ravel_multi_index(row.index, shape)) if shape else 0,
        "words": f"{what} {short(by_tensors)} by tensors, {short(by_scalars)} by scalars",
    }
