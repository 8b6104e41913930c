"""Scalar gradients beside tensor gradients: compare(program, x, w) runs a program on both engines, node by node."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node, add, overwrite, topological_order
from tensorgrad import Tensor, lift
from viz.comparison.lifted import MOST_SCALARS, Pair, Program, Repeatable, run_on_both
from viz.comparison.references import finite_differences as differences_of
from viz.comparison.references import torch_gradients
from viz.comparison.result import Comparison, NodeComparison
from viz.comparison.table import element_name
from viz.comparison.tolerance import allowance, backward_sizes, defaults, forward_sizes
from viz.errors import UserError
from viz.names import caller_namespace, find_names, name_all
from viz.passes import gradients
from viz.words import formula


def compare(
    program: Program,
    *inputs: Any,
    gradient: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    names: Mapping[str, Any] | None = None,
    torch: bool = False,
    finite_differences: bool = True,
    max_scalars: int = MOST_SCALARS,
) -> Comparison:
    """Run `program(*inputs)` on Tensors and, lifted, on Values, and compare every tensor node element by element.

    inputs              Tensors as they are; arrays, lists and numbers become float64 Tensors that require gradients
    gradient            the root's gradient where it is no scalar; one number stands for every element
    rtol, atol          the tolerance, relative to the size of what was computed and absolute; by default what the
                        least precise dtype in the graph allows (float64 1e-12, float32 1e-5, float16 1e-2)
    names               a namespace to look node names up in; by default the caller's variables
    torch               whether to run the program on torch's tensors too, where torch is installed
    finite_differences  whether to compute them (for at most 2,000 elements of leaves)
    max_scalars         how many scalar nodes there may be

    The program runs several times, each with Python's and NumPy's random generators in the same state. All data and
    gradients are put back.

    Raises UserError for an input that is no array of numbers, for a program that returns no Tensor that requires a
    gradient or that cannot run on Values, and where `gradient` is missing; TooLargeError over `max_scalars`. What
    the program itself raises comes through.
    """
    namespace = caller_namespace() if names is None else names
    parameters = _parameter_names(program, len(inputs))
    operands = [_operand(x, name) for x, name in zip(inputs, parameters, strict=True)]
    run = Repeatable(program, operands)
    pair = run_on_both(run, gradient, most=max_scalars)
    comparison = compare_pair(pair, _given_names(namespace, parameters, operands), rtol=rtol, atol=atol)
    return with_references(comparison, run, torch=torch, differences=finite_differences)


def compare_pair(
    pair: Pair, given: Mapping[Node, str], *, rtol: float | None = None, atol: float | None = None
) -> Comparison:
    """The comparison of two graphs that stand side by side already; `given` names nodes. Gradients are put back."""
    default_rtol, default_atol = defaults(t.dtype for t in pair.tensors)
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    called = name_all(list(pair.tensors), given)
    nodes = tuple(_node_comparisons(pair, called, rtol, atol))
    return Comparison(nodes, pair, _scalar_names(pair, called), rtol, atol)


# -- operands and names ------------------------------------------------------------------------------------------------


def _operand(x: Any, name: str) -> Tensor:
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Value):
        x, name = x.data, x.label or name
    try:
        data = np.asarray(Tensor(x, dtype=np.float64).data)
    except (TypeError, ValueError) as error:
        raise UserError(f"compare: input {name}: {error}") from error
    return Tensor(data, requires_grad=True, label=name)


def _parameter_names(program: Program, count: int) -> list[str]:
    """What the program calls its operands, as far as it says: its `parameters`, or its signature."""
    named = getattr(program, "parameters", None)
    if not isinstance(named, (tuple, list)):
        try:
            kinds = inspect.signature(program).parameters.values()
        except (TypeError, ValueError):
            kinds = ()
        named = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [str(named[i]) if i < len(named) else f"x{i}" for i in range(count)]


def _given_names(namespace: Mapping[str, Any], parameters: Sequence[str], operands: Sequence[Tensor]) -> dict:
    """Names by node: those of the namespace, and for operands that it does not lead to those in the program."""
    given = find_names(namespace)
    for operand, name in zip(operands, parameters, strict=True):
        given.setdefault(operand, name)
    return given


def _scalar_names(pair: Pair, called: Sequence[str]) -> dict[str, Value]:
    return {
        element_name(name, index): node
        for name, elements in zip(called, pair.elements, strict=True)
        for index, node in np.ndenumerate(elements)
        if isinstance(node, Value)
    }


# -- the two passes ----------------------------------------------------------------------------------------------------


def _node_comparisons(pair: Pair, called: Sequence[str], rtol: float, atol: float) -> list[NodeComparison]:
    tensor = _by_node(pair.tensor_root, pair.seed, pair.tensors, add)
    tensor_overwritten = _by_node(pair.tensor_root, pair.seed, pair.tensors, overwrite)
    order = topological_order(pair.scalar_root)
    scalar = _by_node(pair.scalar_root, pair.scalar_seed, order, add)
    scalar_overwritten = _by_node(pair.scalar_root, pair.scalar_seed, order, overwrite)
    value_sizes = forward_sizes(order)
    grad_sizes = backward_sizes(pair.scalar_root, pair.scalar_seed, order, value_sizes)

    place = {t: i for i, t in enumerate(pair.tensors)}
    found = []
    for i, (t, elements) in enumerate(zip(pair.tensors, pair.elements, strict=True)):
        value, scalar_value = _floats(t.data), _floats(lift.numbers(elements))
        sizes = _each(elements, value_sizes) if t.requires_grad else np.abs(value)
        operands = [called[place[parent]] for parent in t._prev]
        node = NodeComparison(
            key=f"n{i}",
            name=called[i],
            op=t._op,
            formula=formula(t._op, operands) if operands else "",
            dtype=str(t.dtype),
            value=value,
            scalar_value=scalar_value,
            value_allowed=allowance(value, scalar_value, sizes, rtol, atol),
        )
        if t.requires_grad:
            ours, theirs = _each(elements, scalar), _floats(tensor[t])
            node = replace(
                node,
                scalar_grad=ours,
                tensor_grad=theirs,
                grad_allowed=allowance(ours, theirs, _each(elements, grad_sizes), rtol, atol),
                scalar_overwritten=_each(elements, scalar_overwritten),
                tensor_overwritten=_floats(tensor_overwritten[t]),
            )
        found.append(node)
    return found


def _by_node(root: Node, seed: Any, order: Sequence[Node], combine: Any) -> dict[Node, Any]:
    """The gradient of each node after one pass; zero where nothing arrived."""
    found = gradients(root, seed, order, combine)
    return {node: node._zeros() if g is None else g for node, g in zip(order, found, strict=True)}


def _each(elements: np.ndarray, numbers: Mapping[Value, float]) -> np.ndarray:
    """The number of each element; 0 for one that the root does not depend on."""
    return np.array([numbers.get(node, 0.0) for node in elements.flat], dtype=np.float64).reshape(elements.shape)


def _floats(array: np.ndarray) -> np.ndarray:
    return np.array(array, dtype=np.float64)


# -- gradients by other means ------------------------------------------------------------------------------------------


def with_references(comparison: Comparison, run: Repeatable, *, torch: bool, differences: bool) -> Comparison:
    """The comparison with the columns that `run`, the program on its operands, gives by finite differences and by
    torch, and a note for each that is missing."""
    pair = comparison.pair
    by_differences, note = differences_of(run, pair.leaves, pair.seed) if differences else ({}, "")
    by_torch, torch_note = torch_gradients(run, pair.seed) if torch else ({}, "")
    nodes = tuple(
        replace(node, finite_difference=by_differences.get(t), torch_grad=by_torch.get(t))
        for t, node in zip(pair.tensors, comparison.nodes, strict=True)
    )
    used = set(pair.tensors)
    unused = [x.label or f"input {i}" for i, x in enumerate(run.operands) if isinstance(x, Tensor) and x not in used]
    unused_note = f"not used by the program: {', '.join(unused)}" if unused else ""
    return replace(comparison, nodes=nodes, notes=(*comparison.notes, *filter(None, (note, torch_note, unused_note))))
