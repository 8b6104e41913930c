"""Backpropagation: the contract that a node keeps, and the one algorithm that walks both engines.

Vocabulary
----------
node           a number (`micrograd.Value`) or an array (`tensorgrad.Tensor`) in the graph
parents        `_prev`: the node's operands, in order, repeats kept (`x*x` has `(x, x)`)
leaf           a node without parents
rule           what computes, from a node's gradient, the contribution to each of its parents
contribution   the share of a node's gradient that goes to one parent (a vector-Jacobian product)
seed           the gradient given to the root
pass           one walk of the graph, from the seed to the leaves

Rules return contributions and never touch `.grad`. `chain_rule` yields the contributions of a whole pass one by
one; whoever iterates over it performs the `+=`. So stepping through a pass is `next()`, and the famous bug is
`overwrite` in the place of `add`. Nothing here computes with numbers, and nothing recurses.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet, ref

from micrograd.scopes import Scope

Contribution = tuple["Node | None", "Node", Any]
"""(sender, parent, contribution); the seed's sender is None."""


def add(grad: Any, sent: Any) -> Any:
    """The += of backpropagation: what a gradient becomes when `sent` arrives."""
    return sent if grad is None else grad + sent


def overwrite(grad: Any, sent: Any) -> Any:
    """The bug, for showing: `=` in place of `+=`. A node used twice loses a contribution and nothing raises."""
    return sent


def topological_order(root: Node, stop: Iterable[Node] = ()) -> list[Node]:
    """Every node that `root` depends on, each once, each after all of its parents; `root` is last.

    Nodes in `stop` are left out, and what only they depend on.

    Depth first, without recursion, first operand first. A node is marked when it is popped and not when it is
    pushed: a node that waits on the stack may still turn out to lie below another one that waits there.
    """
    order: list[Node] = []
    seen: set[Node] = set(stop)
    stack: list[Node | None] = [root]
    pop, see, place = stack.pop, seen.add, order.append
    while stack:
        node = pop()
        if node is None:  # a marker: all parents of the node below it are in the order
            place(pop())
        elif node not in seen:
            see(node)
            if node._prev:
                stack += (node, None)
                stack += node._prev[::-1]
            else:
                place(node)
    return order


_turn = threading.RLock()
_open_passes: dict[int, list[Node]] = {}  # by id; adding and deleting a key is safe between threads


def chain_rule(
    root: Node, seed: Any, stop: Iterable[Node] = (), done: Callable[[Node], None] | None = None
) -> Generator[Contribution, None, None]:
    """Yield every contribution of one backward pass; combine each into `parent.grad` before asking for the next.

    The first is the seed, (None, root, seed). The gradient of a node with parents lives for one pass and is
    cleared at its start; leaves accumulate over passes. By the time a node sends, all that use it have reported,
    so its gradient is complete: that is what the topological order is for.

    The walk ends at nodes in `stop`: they receive, and what becomes of their gradients is the caller's concern.
    `done` is called with each node that has parents once all that it sends has been taken: what it holds for this pass
    may be released then.

    Raises RuntimeError when another pass over some of the same nodes is still open: two that interleave would
    clear and send each other's gradients.
    """
    order = topological_order(root, stop)
    if _open_passes:
        _refuse_overlap(order)
    _open_passes[id(order)] = order
    hooked = {}
    try:
        empty = root._zero
        if _hooked:
            hooked = _set_aside(order, empty)
        for node in order:
            if node._prev and node._grad is not empty:
                node.grad = empty
        yield None, root, seed
        for node in reversed(order):
            if hooked and node in hooked:
                _run_hooks(node, hooked)
            # a leaf sends nothing, and no more does a node that nothing reached, below an operation without a rule
            if (node._prev or node._closure is not None) and node._grad is not empty:
                for parent, sent in node._contributions():
                    yield node, parent, sent
                sent = None  # an array that has been added need not live while the next rule runs
            if done is not None and node._prev:
                done(node)
    finally:
        del _open_passes[id(order)]
        for node, earlier in hooked.items():  # of a pass that was given up
            if not node._prev:
                node.grad = earlier


def is_passing() -> bool:
    """Whether a backward pass is open, in any thread."""
    return bool(_open_passes)


def began_at(node: Node) -> bool:
    """Whether a backward pass is open that began at this node, in any thread."""
    return any(order[-1] is node for order in list(_open_passes.values()))


def _refuse_overlap(order: list[Node]) -> None:
    ours = {node for node in order if node._prev}
    for other in list(_open_passes.values()):
        if not ours.isdisjoint(other):
            raise RuntimeError(
                "a backward pass over some of these nodes is still open: run it to its end, or close() the "
                "iterator of the half-finished one, before you start another"
            )


# -- hooks: functions of a node's whole gradient in one pass -----------------------------------------------------------

Hook = Callable[[Any], Any]

_hooked: WeakSet[Node] = WeakSet()
"""The nodes that have hooks. The hooks are on the nodes: one that knows its node must not keep it alive from here."""


def add_hook(node: Node, hook: Hook) -> Callable[[], None]:
    """Call `hook` with the gradient that a pass brings to `node`, when it is complete and before the node sends; what
    it returns, unless None, takes the gradient's place. Returns a function that takes the hook away."""
    hooks = node._hooks
    if hooks is None:
        hooks = node._hooks = {}
    _hooked.add(node)
    key = max(hooks, default=-1) + 1
    hooks[key] = hook
    itself = ref(node)

    def remove() -> None:
        hooks.pop(key, None)
        owner = itself()
        if not hooks and owner is not None and owner._hooks is hooks:
            owner._hooks = None
            _hooked.discard(owner)

    return remove


def has_hooks(node: Node) -> bool:
    """Whether there are any."""
    return bool(node._hooks)


def move_hooks(node: Node, to: Node) -> None:
    """Let the hooks of `node` hang on `to`, which takes its place in the graph."""
    if node._hooks is not None:
        to._hooks, node._hooks = node._hooks, None
        _hooked.discard(node)
        _hooked.add(to)


def _set_aside(order: list[Node], empty: Any) -> dict[Node, Any]:
    """The nodes with hooks, and the gradients that they hold from earlier passes: a hook is to see this pass alone."""
    hooked = {node: node._grad for node in order if node._hooks}
    for node in hooked:
        node.grad = empty
    return hooked


def _run_hooks(node: Node, hooked: dict[Node, Any]) -> None:
    earlier = hooked.pop(node)
    try:
        if reached(node):
            for hook in list((node._hooks or {}).values()):
                changed = hook(node.grad)
                if changed is not None:
                    node._replace_grad(changed)
    except BaseException:
        hooked[node] = earlier
        raise
    if not node._prev:
        node.grad = add(earlier, node.grad) if reached(node) else earlier


def deliver(contributions: Iterable[Contribution], combine: Callable[[Any, Any], Any] = add) -> None:
    """Combine each contribution into the gradient of the parent it is for. The one += of the code base.

    Passes in different threads take turns: two that add to one leaf at the same moment would lose a contribution.
    A pass that fails or is interrupted on the way is closed: it must not stay open as long as its traceback lives.
    """
    with _turn:
        try:
            for _, parent, sent in contributions:
                parent.grad = combine(parent._grad, sent)
                sent = None
        finally:
            if isinstance(contributions, Generator):
                contributions.close()


def reached(node: Node) -> bool:
    """Whether any contribution has arrived in `node.grad` (which may well be zero) since it was last empty."""
    grad = node._grad
    return grad is not node._zero and grad is not None


_OF_ONE_NODE = {"_hooks", "_scope"}
"""Fields that a copy does not take over."""


class Node:
    """The contract that both engines keep, and that drawing and stepping read.

    Each engine supplies the fields `data`, `grad` and `_prev`, `_op` (the operation's name, "" for a leaf), the
    method `_vjp()` (its own rules' contributions), and what a gradient looks like: `_zero` before anything has
    arrived, `_zeros()` as a number or array to add to, `_accept()` for what user code made.
    """

    __slots__ = ()

    label: str = ""
    requires_grad: bool = True
    _local: tuple[float, ...] | None = None  # d(node)/d(parent) for each of _prev, where these are plain numbers
    _zero: Any = None
    _hooks: dict[int, Hook] | None = None
    _scope: Scope | None = None  # where it was made
    _live: Any = None  # what an engine may note of a gradient beside its numbers
    _closure: Callable[[], None] | None = None  # a rule of the user's, see `_backward`
    _stand_in: Any = None  # the node that stands for this one in the graph, if an engine has such

    data: Any
    grad: Any
    _prev: tuple[Node, ...]
    _op: str

    def __getstate__(self) -> Any:
        """For copies, which have no hooks and were made nowhere."""
        state = super().__getstate__()
        if isinstance(state, tuple) and state[0] and not _OF_ONE_NODE.isdisjoint(state[0]):
            return {name: x for name, x in state[0].items() if name not in _OF_ONE_NODE}, state[1]
        return state

    def _replace_grad(self, grad: Any) -> None:
        """Set `grad` to what a hook returned."""
        self.grad = grad

    @property
    def _grad(self) -> Any:
        """`grad` as the node holds it: where an engine warns or copies when `grad` is read, this does neither."""
        return self.grad

    def _vjp(self) -> Sequence[tuple[Node, Any]]:
        """[(parent, contribution)] by the engine's own rule, in the order of `_prev`; constants may be left out."""
        raise NotImplementedError

    def _seed(self, gradient: Any = None) -> Any:
        """The gradient that a pass from this root starts with; raises where `backward(gradient)` would."""
        raise NotImplementedError

    def _zeros(self) -> Any:
        """A zero gradient that in-place addition may work on."""
        raise NotImplementedError

    def _run_closure(self) -> None:
        """Call the rule of the user's. An engine may have something to stand around it."""
        assert self._closure is not None
        self._closure()

    def _accept(self, parent: Node, sent: Any) -> Any:
        """`sent`, checked and brought into the form of `parent`'s gradient."""
        raise NotImplementedError

    def _warn_no_rule(self) -> None:
        """Say that the gradient ends here; an engine calls it for a node with operands and no rule."""
        warnings.warn(
            f"the operation {self._op!r} has operands but no rule, so no gradient flows through it: assign a "
            "function to its _backward (one that does nothing, if that is what is meant)",
            RuntimeWarning,
            stacklevel=2,
        )

    def _contributions(self) -> Sequence[tuple[Node, Any]]:
        """[(parent, contribution)] for this node's present gradient."""
        return self._vjp() if self._closure is None else _measure(self)

    @property
    def _backward(self) -> Callable[[], None]:
        """Adds this node's contributions to its parents' gradients, as in the original micrograd.

        Reading it gives the node's rule, ready to call. Assigning a function of no arguments that adds to the
        parents' `.grad` makes that the node's rule. It may write to the nodes in `_prev` and to no others: only
        those are measured, and looking at a graph runs the rule again.
        """
        if self._closure is not None:
            return self._closure
        return lambda: deliver((self, parent, sent) for parent, sent in (self._vjp() if reached(self) else ()))

    @_backward.setter
    def _backward(self, closure: Callable[[], None] | None) -> None:
        if closure is not None and not callable(closure):
            raise TypeError(f"_backward must be a function of no arguments, got {type(closure).__name__}")
        self._closure = closure
        if self._stand_in is not None:
            self._stand_in._closure = closure


def _measure(node: Node) -> list[tuple[Node, Any]]:
    """The contributions of a user's closure: run it on emptied parents, read what it added, put all back."""
    parents = list(dict.fromkeys(node._prev))
    with gradients_kept(parents):
        for parent in parents:
            parent.grad = parent._zeros()
        node._run_closure()
        sent = [parent.grad for parent in parents]
    return [(p, node._accept(p, s)) for p, s in zip(parents, sent, strict=True) if p.requires_grad]


@contextmanager
def gradients_kept(nodes: Iterable[Node]) -> Iterator[None]:
    """After the `with`, these nodes have the gradients that they had before. Inside they start empty."""
    nodes = list(nodes)
    nodes += [node._stand_in for node in nodes if node._stand_in is not None]
    kept = [(node, node._grad, node._live) for node in nodes]
    try:
        for node, _, _ in kept:
            node.grad = node._zero
        yield
    finally:
        for node, grad, live in kept:
            node.grad = grad
            if node._live is not live:
                node._live = live
