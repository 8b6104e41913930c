"""Two graphs that stand side by side, measured: both backward passes on both, and what each node then holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, add, has_hooks, overwrite, topological_order
from tensorgrad import lift
from viz.comparison.lifted import Pair
from viz.comparison.records import NodeComparison, element_name
from viz.comparison.result import Comparison
from viz.comparison.tolerance import allowance, backward_sizes, defaults, forward_sizes
from viz.comparison.verdict import hooks_in_words, overflow_in_words, zeros_in_words
from viz.comparison.zeros import gradients_with_zeros
from viz.names import name_all
from viz.parts import part
from viz.passes import gradients
from viz.words import formula


def compare_pair(
    pair: Pair,
    given: Mapping[Node, str],
    taken: Iterable[str] = (),
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """The comparison of the two graphs of a pair; gradients are put back.

    given       the user's names for tensor nodes; the others get one here, none of those in `taken`
    rtol, atol  the tolerance; by default what the least precise dtype allows
    """
    default_rtol, default_atol = defaults(t.dtype for t in pair.tensors)
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    called = name_all(pair.tensors, given, taken)
    named = [bool(t.label) or t in given for t in pair.tensors]
    nodes = tuple(_node_comparisons(pair, called, named, rtol, atol))
    hooked = [name for t, name in zip(pair.tensors, called, strict=True) if has_hooks(t)]
    notes = tuple(filter(None, [zeros_in_words(nodes), overflow_in_words(nodes), hooks_in_words(nodes, hooked)]))
    return Comparison(nodes, pair, _scalar_names(pair, called), rtol, atol, notes)


def _scalar_names(pair: Pair, called: Sequence[str]) -> dict[Value, str]:
    return {
        node: element_name(name, index)
        for name, elements in zip(called, pair.elements, strict=True)
        for index, node in np.ndenumerate(elements)
        if isinstance(node, Value)
    }


def _node_comparisons(
    pair: Pair, called: Sequence[str], named: Sequence[bool], rtol: float, atol: float
) -> list[NodeComparison]:
    tensor = _by_node(pair.tensor_root, pair.seed, pair.tensors, add)
    tensor_overwritten = _by_node(pair.tensor_root, pair.seed, pair.tensors, overwrite)
    order = topological_order(pair.scalar_root)
    scalar = _by_node(pair.scalar_root, pair.scalar_seed, order, add)
    scalar_overwritten = _by_node(pair.scalar_root, pair.scalar_seed, order, overwrite)
    unit, _ = defaults(t.dtype for t in pair.tensors)
    data_sizes = forward_sizes(order, unit, _apart(pair))
    grad_sizes = backward_sizes(order, pair.scalar_seed, scalar, data_sizes, unit)

    with_zeros = cache(lambda: gradients_with_zeros(pair))

    place = {t: i for i, t in enumerate(pair.tensors)}
    found = []
    for i, (t, elements) in enumerate(zip(pair.tensors, pair.elements, strict=True)):
        ours, theirs = _floats(t.data), _floats(lift.numbers(elements))
        sizes = _each(elements, data_sizes.expected) if t.requires_grad else np.abs(ours)
        parents = [place[parent] for parent in t._prev]
        node = NodeComparison(
            key=f"n{i}",
            name=called[i],
            named=named[i],
            op=t._op,
            formula=formula(t._op, [called[p] for p in parents], part(t)) if parents else "",
            parents=tuple(f"n{p}" for p in parents),
            dtype=str(t.dtype),
            tensor_data=ours,
            scalar_data=theirs,
            data_allowed=allowance(ours, theirs, sizes, rtol, atol),
        )
        if t.requires_grad:
            ours, theirs = _floats(tensor[t]), _each(elements, scalar)
            nan_alone = np.isnan(ours) & ~np.isnan(theirs)
            if nan_alone.any():
                nan_alone &= np.isnan(_each(elements, with_zeros()))
            node = replace(
                node,
                tensor_grad=ours,
                scalar_grad=theirs,
                grad_allowed=allowance(ours, theirs, _each(elements, grad_sizes), rtol, atol),
                tensor_overwritten=_floats(tensor_overwritten[t]),
                scalar_overwritten=_each(elements, scalar_overwritten),
                zero_times_inf=nan_alone,
            )
        found.append(node)
    return found


def _apart(pair: Pair) -> dict[Value, float]:
    """How far the engines' data are apart, for each scalar node that is an element."""
    return {
        node: abs(float(t.data[index]) - node.data)
        for t, elements in zip(pair.tensors, pair.elements, strict=True)
        for index, node in np.ndenumerate(elements)
        if isinstance(node, Value)
    }


def _by_node(root: Node, seed: Any, order: Sequence[Node], combine: Any) -> dict[Node, Any]:
    """The gradient of each node after one pass; zero where nothing arrived."""
    found = gradients(root, seed, order, combine)
    return {node: node._zeros() if g is None else g for node, g in zip(order, found, strict=True)}


def _each(elements: np.ndarray, numbers: Mapping[Value, float]) -> np.ndarray:
    """The number of each element; 0 for one that the root does not depend on."""
    return np.array([numbers.get(node, 0.0) for node in elements.flat], dtype=np.float64).reshape(elements.shape)


def _floats(array: np.ndarray) -> np.ndarray:
    return np.array(array, dtype=np.float64)
