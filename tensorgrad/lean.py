"""A graph that keeps what its rules need and no more, see `grad_mode.lean_graph`.

Rules hold arrays, not tensors. So the data of a result stays alive where a rule holds the array, where the program
holds the tensor, and otherwise only because the graph holds the tensor, as the operand of another. In a lean graph the
operand's place is taken by a stand-in: a node with the same operands and rules, the same shape and dtype, and no data.
The tensor that the program holds becomes a handle: its data ends with it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn

import numpy as np

from micrograd.backprop import Node, move_hooks
from tensorgrad.errors import LeanGraphError
from tensorgrad.versions import owner


def stand_in(x: Any) -> Any:
    """What takes the place of `x` among the operands in a lean graph: always the same for one tensor.

    A leaf that takes a gradient stands for itself, and so do a result whose rule is the user's, or is still to come,
    which reads the gradient of this very tensor, and a stand-in (what a checkpointed block read is an operand once
    more). A result that was used outside of a lean graph, which keeps its data anyway, stays itself: of one tensor
    there is one node, or its gradient, its hooks and `autograd.grad` would know of a part of its uses alone.
    """
    if isinstance(x, StandIn) or (x._requires_grad and (not x._prev or x._closure is not None or x._rules is None)):
        return x
    node = x._stand_in
    if node is None or node._requires_grad is not x._requires_grad:
        if x._requires_grad and x._used:
            return x
        node = x._stand_in = _without_data(x)
    return node


def in_graph(x: Any) -> Any:
    """The node of the graph that `x` is a handle of; itself, if it is none."""
    return x if x._stand_in is None or (x._requires_grad and not x._prev) else x._stand_in


def _without_data(x: Any) -> Any:
    node: Any = object.__new__(StandIn.of_class)
    node._data = np.broadcast_to(np.zeros((), x._data.dtype), x._data.shape)  # one element, whatever the shape
    node._grad = None
    node._memory, node._handle = weakref.ref(owner(x._data)), weakref.ref(x)
    for name in ("_op", "_prev", "_rules", "_requires_grad", "_time", "_used", "_scope"):
        setattr(node, name, getattr(x, name))
    if x.label:
        node.label = x.label
    for name in ("_cuts", "_checksums", "_scaled_by", "_retained"):
        if name in x.__dict__:
            setattr(node, name, x.__dict__[name])
    if x._requires_grad:  # a frozen leaf keeps what it may need again
        node._grad, x._grad = x._grad, None
        move_hooks(x, node)
        x._received_as(node)
    return node


class StandIn:
    """What Tensors that are stand-ins have instead of data."""

    __slots__ = ()

    of_class: ClassVar[type]
    """The class of stand-ins. (tensor.py sets it: it is a Tensor, which is made of what needs this file.)"""

    @property
    def data(self) -> NoReturn:
        """Raises LeanGraphError, as does all else that tells what the elements are."""
        self._no_data()

    def _no_data(self, *args: Any, **kwargs: Any) -> NoReturn:
        x: Any = self
        what = x.label or (f"the result of {x._op!r}" if x._op else "a constant")
        raise LeanGraphError(
            f"{what} of shape {x._data.shape} was recorded in a lean graph, which keeps no data to look at: record it "
            "without lean_graph()"
        )

    item = tolist = numpy = detach = clone = __array__ = __getitem__ = __iter__ = _one_number = _no_data

    def __repr__(self) -> str:
        x: Any = self
        return f"Tensor(no data of shape {x._data.shape}, dtype={x._data.dtype}, op={x._op!r}, in a lean graph)"


# -- what a backward pass may release as it goes -----------------------------------------------------------------------


def done(roots: Iterable[Any], keep_grads: bool | None, retain_graph: bool | None) -> Callable[[Node], None] | None:
    """What a pass from `roots` does with each node once that has sent, by what `Tensor.backward` was asked for."""
    keep_grads = not any(map(is_lean, roots)) if keep_grads is None else bool(keep_grads)
    if retain_graph is not None and not retain_graph:
        return release_rule if keep_grads else release
    return None if keep_grads else release_grad


def is_lean(root: Any) -> bool:
    """Whether the graph of `root` has stand-ins."""
    return any(isinstance(x, StandIn) for x in root._prev)


def release_grad(node: Any) -> None:
    """Forget the gradient of a result, unless `retain_grad` asked for it."""
    if not node._retained:
        node.grad = None
        node._released = True


def release_rule(node: Any) -> None:
    """Forget the rule and all arrays in it: the graph cannot be walked again."""
    node._rules = _released


def release(node: Any) -> None:
    """Forget both."""
    release_grad(node)
    release_rule(node)


def _released(g: np.ndarray) -> NoReturn:
    raise RuntimeError(
        "backward: this graph has been walked with retain_graph=False, which releases what its rules need: leave that "
        "out to walk it again, or run the forward pass again"
    )
