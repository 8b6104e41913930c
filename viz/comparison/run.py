"""viz.compare: a program, or a graph that exists already, on both engines, node by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz.comparison.kept import leaves_kept, leaves_of
from viz.comparison.lifted import MOST_SCALARS, Pair, Program, Repeatable, run_on_both
from viz.comparison.measure import compare_pair
from viz.comparison.operands import operand, parameter_names
from viz.comparison.recording import program_from
from viz.comparison.references import finite_differences as differences_of
from viz.comparison.references import torch_gradients
from viz.comparison.replay import rebuild
from viz.comparison.result import Comparison
from viz.comparison.verdict import kinks_in_words
from viz.names import caller_namespace, find_names, names_for

_NO_TORCH = (
    "no gradients by torch: these Tensors were made by tensorgrad's functions, which torch's tensors do not take"
)
_CHANGED = (
    "data differ, perhaps because some were changed after the graph was made (by a training step, say): compare the "
    "graph before that, or make it anew"
)


def compare(
    program: Program | Node,
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

    program             a function that returns a Tensor. Or the root of a graph, a Value or a Tensor, and no inputs: a
                        graph of Values is built again on 0-d Tensors, one for one; a graph of Tensors is run again and
                        lifted, and must have been made inside `with viz.recording():`
    inputs              Tensors as they are; arrays, lists and numbers become float64 Tensors that require gradients
    gradient            the root's gradient where it is no scalar; one number stands for every element
    rtol, atol          the tolerance, relative to the size of what was computed and absolute; by default what the
                        least precise dtype in the graph allows (float64 1e-12, float32 1e-5, float16 1e-2)
    names               a namespace to look node names up in; by default the caller's variables
    torch               whether to run the program on torch's tensors too, where torch is installed
    finite_differences  whether to compute them (for at most 2,000 elements of leaves)
    max_scalars         how many scalar nodes there may be

    The program runs several times, each with the random generators of Python, NumPy and tensorgrad in the same state.
    The leaves that require gradients and that its variables or the caller's lead to have, afterwards, the data and the
    gradients that they had before, whatever the program does to them; a program that goes back through its graph or
    updates its parameters is refused. While it runs lifted,
    `x.dtype` and `x.data.dtype` are `object` for each Tensor that takes a gradient: a program that branches on the
    dtype takes the branch of no float there.

    Raises UserError for an input that is no array of numbers; for a program that returns no Tensor that requires a
    gradient, that cannot run on Values, or that calls NumPy's functions on Tensors; for a graph with an operation that
    cannot be done again (the user's own, or one that was not recorded); and where `gradient` is missing. TooLargeError
    over `max_scalars`; TypeError for what is no program and no node, and for a node with inputs. What else the program
    itself raises comes through.
    """
    _check(program, inputs)
    namespace = caller_namespace() if names is None else names
    with leaves_kept(leaves_of(program, inputs, namespace)):
        if isinstance(program, Value):
            run, pair, given = rebuild(program, namespace, gradient, most=max_scalars)
        else:
            run, given = _on_operands(program, inputs, namespace)
            pair = run_on_both(run, gradient, most=max_scalars)
        given = names_for(pair.tensors, namespace) | given
        comparison = compare_pair(pair, given, namespace, rtol=rtol, atol=atol)
        return _with_notes_and_references(comparison, program, run, torch=torch, differences=finite_differences)


def _with_notes_and_references(
    comparison: Comparison, program: Program | Node, run: Repeatable, *, torch: bool, differences: bool
) -> Comparison:
    """The comparison with the columns that `run`, the program on its operands, gives by finite differences and by
    torch, and a note for each that is missing."""
    pair, notes = comparison.pair, list(comparison.notes)
    if isinstance(program, Value) and not all(node.data_matches.all() for node in comparison.nodes):
        notes.append(_CHANGED)
    if isinstance(program, Tensor) and torch:
        notes.append(_NO_TORCH)
        torch = False
    by_differences, note = differences_of(run, pair.leaves, pair.seed, len(pair.tensors)) if differences else ({}, "")
    by_torch, torch_note = torch_gradients(run, pair.seed) if torch else ({}, "")
    nodes = tuple(
        replace(node, finite_difference=by_differences.get(t), torch_grad=by_torch.get(t))
        for t, node in zip(pair.tensors, comparison.nodes, strict=True)
    )
    kinks = kinks_in_words(nodes, float(np.abs(pair.seed).max(initial=0.0)))
    notes += filter(None, (note, kinks, torch_note, _unused(pair, run)))
    return replace(comparison, nodes=nodes, notes=tuple(notes))


def _check(program: Any, inputs: tuple[Any, ...]) -> None:
    if isinstance(program, Node):
        if inputs:
            raise TypeError("compare: a graph has its operands already: give a node alone, or a function with inputs")
    elif not callable(program):
        hint = f"; did you mean one of its {len(program)} elements?" if isinstance(program, (list, tuple)) else ""
        raise TypeError(f"compare: expected a function, a Value or a Tensor, got {type(program).__name__}{hint}")


def _on_operands(
    program: Program | Tensor, inputs: tuple[Any, ...], namespace: Mapping[str, Any]
) -> tuple[Repeatable, dict[Node, str]]:
    """The program on its operands, and the user's names: those of the namespace, and for operands that it does not
    lead to those in the program."""
    given = find_names(namespace)
    if isinstance(program, Tensor):
        program = program_from(program, given)
        return Repeatable(program, program.leaves), given
    parameters = parameter_names(program, len(inputs))
    operands = [operand(x, name) for x, name in zip(inputs, parameters, strict=True)]
    for x, name in zip(operands, parameters, strict=True):
        given.setdefault(x, name)
    return Repeatable(program, operands), given


def _unused(pair: Pair, run: Repeatable) -> str:
    used = set(pair.tensors)
    unused = [x.label or f"input {i}" for i, x in enumerate(run.operands) if isinstance(x, Tensor) and x not in used]
    return f"not used by the program: {', '.join(unused)}" if unused else ""
