"""Gradients as return values (`grad`), and backward passes from several tensors at once (`backward`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import Node, chain_rule, deliver, gradients_kept, has_hooks, topological_order
from tensorgrad.gate import unseen_pass
from tensorgrad.lean import done, in_graph
from tensorgrad.node import describe, new
from tensorgrad.noise import warn_of_broadcast_loss
from tensorgrad.tensor import Tensor, refuse_second_derivatives
from tensorgrad.versions import passed
from tensorgrad.watching import begins, ended, watchers


class Together(Node):
    """A root above several tensors, which sends each of them its seed: one pass then serves them all."""

    __slots__ = ("__weakref__", "_op", "_prev", "_rules", "_seeds", "data", "grad")

    _retained = True  # there is nothing to release

    def __init__(self, roots: Sequence[Tensor], seeds: Sequence[np.ndarray]) -> None:
        self._prev = tuple(roots)
        self._op = "together"
        self._seeds = tuple(seeds)
        self.data = self.grad = None

    def _vjp(self) -> list[tuple[Node, Any]]:
        return list(zip(self._prev, self._seeds, strict=True))


def pass_back(
    roots: Sequence[Tensor],
    seeds: Sequence[np.ndarray],
    stop: Sequence[Node] = (),
    done: Callable[[Node], None] | None = None,
) -> None:
    """One backward pass from several tensors, which ends at those in `stop`; `done` as for `chain_rule`."""
    with unseen_pass():  # of the += too: inf - inf is nan
        deliver(chain_rule(Together([in_graph(x) for x in roots], seeds), True, stop, done))


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    keep_grads: bool | None = None,
) -> None:
    """Add to every leaf the gradient of the sum of `tensors`, each weighted with its entry in `grad_tensors`.

    `retain_graph` and `keep_grads` are as in `Tensor.backward`: with False, what rules hold and the gradients of
    results are released on the way. Raises and warns as `Tensor.backward` does; NotImplementedError for `create_graph`.
    """
    refuse_second_derivatives("backward", create_graph)
    roots = _listed(tensors)
    seeds = _seeds("backward", roots, grad_tensors)
    for root in roots:
        warn_of_broadcast_loss(root)
    if watchers:
        begins(roots)
    pass_back(roots, seeds, done=done(roots, keep_grads, retain_graph))
    passed(roots)
    if watchers:
        ended(roots)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    *,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the (weighted) sum of `outputs` with respect to `inputs`, as constants. No `.grad` changes.

    inputs             leaves or results; those that the outputs do not depend on get None with `allow_unused`
    retain_graph       False: what rules hold is released on the way, and the graph cannot be walked again
    grad_outputs       one gradient for each output; may be left out for those of one element
    materialize_grads  zeros in the place of None

    Raises RuntimeError for an input that requires no gradient or, without `allow_unused`, that is not used;
    NotImplementedError for `create_graph`: the gradients are not part of a graph themselves.
    """
    refuse_second_derivatives("grad", create_graph)
    roots, wanted = _listed(outputs), _listed(inputs)
    for i, x in enumerate(wanted):
        if not x._requires_grad:
            raise RuntimeError(
                f"grad: input {i}, {describe(x)}, requires no gradient: make it with requires_grad=True, and look for "
                "detach() and no_grad() on the way to it"
            )
    seeds = _seeds("grad", roots, grad_outputs)
    found = gradients(roots, seeds, wanted, done(roots, True, retain_graph))
    results = []
    for i, (x, g) in enumerate(zip(wanted, found, strict=True)):
        if g is None and materialize_grads:
            g = np.zeros_like(x._data)
        if g is None and not allow_unused:
            raise RuntimeError(
                f"grad: the outputs do not depend on input {i}, {describe(x)}; pass allow_unused=True if None is what "
                "you want for it"
            )
        results.append(None if g is None else new(g))
    return tuple(results)


def gradients(
    roots: Sequence[Tensor],
    seeds: Sequence[np.ndarray],
    wanted: Sequence[Tensor],
    done: Callable[[Node], None] | None = None,
) -> list[Any]:
    """An array for each tensor in `wanted`, None where nothing arrives. All gradients in the graph are put back."""
    roots, wanted = [in_graph(x) for x in roots], [in_graph(x) for x in wanted]
    order = topological_order(Together(roots, seeds))[:-1]
    with gradients_kept(dict.fromkeys([*order, *wanted])):
        pass_back(roots, seeds, _lowest(wanted, order), done)
        return [None if x._grad is None else x._grad.copy() for x in wanted]  # a rule may send two nodes one array


def _lowest(wanted: Sequence[Tensor], order: Sequence[Node]) -> list[Tensor]:
    """Those of `wanted` below which nothing is left to do: they lead to no other one, and have no hooks."""
    above = set(wanted)
    leading = set()
    for node in order:
        if not above.isdisjoint(node._prev):
            leading.add(node)
            above.add(node)
    return [x for x in wanted if x not in leading and not has_hooks(x)]


def _listed(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    found = list(tensors) if isinstance(tensors, Iterable) and not isinstance(tensors, Tensor) else [tensors]
    for x in found:
        if not isinstance(x, Tensor):
            raise TypeError(f"gradients are of Tensors, and with respect to Tensors; got a {type(x).__name__}")
    return found


def _seeds(op: str, roots: Sequence[Tensor], given: Any) -> list[np.ndarray]:
    given = [given] * len(roots) if given is None else [given] if len(roots) == 1 and _is_one(given) else list(given)
    if len(given) != len(roots):
        raise RuntimeError(f"{op}: {len(given)} gradients for {len(roots)} outputs")
    return [root._seed(g) for root, g in zip(roots, given, strict=True)]


def _is_one(given: Any) -> bool:
    return not isinstance(given, (list, tuple))
