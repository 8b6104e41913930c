"""Between rules and gradients: what a rule sends becomes a contribution here, in the form that its receiver's has.

A rule sends its argument on, a view, or an array that it made for this one contribution and does not keep: so the gate
knows what may be a leaf's as it is, without a copy. (`tests/test_rules.py` goes through all operations.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from micrograd.backprop import is_passing
from tensorgrad import checks
from tensorgrad.errors import ShapeError
from tensorgrad.grad_mode import _mode
from tensorgrad.shapes import unbroadcast

if TYPE_CHECKING:
    from tensorgrad.node import ArrayNode

QUIET: dict[str, Any] = {"divide": "ignore", "over": "ignore", "invalid": "ignore"}
"""For np.errstate: inf and nan are answers here, as in torch, and NumPy does not warn."""


class Several(list[np.ndarray]):
    """Contributions of a joint rule to one operand that are to be added one by one, in this order."""


class Arrived(set[Any]):
    """The leaves that a pass has sent to: what they hold is a sum or an array of this pass, and nobody else's.

    outer  that of the pass whose rule runs this one: a checkpoint's
    """

    def __init__(self, outer: Arrived | None = None) -> None:
        super().__init__()
        self.outer = outer

    def forget(self) -> None:
        """Count on nothing any more, in the passes around this one neither."""
        found: Arrived | None = self
        while found is not None:
            found.clear()
            found = found.outer


class quiet_pass(np.errstate):
    """No warnings of NumPy's from the rules of a backward pass in this thread: once, and not around every node's.

    arrived  None where contributions are looked at, one by one. Else they may take a form that can only be added (see
             `placing`), and the leaves that this pass has sent to are in this set
    """

    def __init__(self, arrived: Arrived | None = None) -> None:
        super().__init__(**QUIET)
        self.now = True, arrived

    def __enter__(self) -> None:
        super().__enter__()
        self.before = _mode.quiet, _mode.arrived
        _mode.quiet, _mode.arrived = self.now

    def __exit__(self, *exc: Any) -> None:
        _mode.quiet, _mode.arrived = self.before
        super().__exit__(*exc)


def unseen_pass() -> quiet_pass:
    """What stands around a backward pass that runs to its end in `deliver`, with nobody looking at contributions."""
    return quiet_pass(Arrived(_mode.arrived))


class aside:
    """Stands around code of the user's inside of a pass. What it does is no part of the pass: where it walks a graph
    and looks at contributions, they are arrays."""

    def __enter__(self) -> None:
        self.arrived, _mode.arrived = _mode.arrived, None

    def __exit__(self, *exc: object) -> None:
        _mode.arrived = self.arrived


class aside_for_hook(aside):
    """As `aside`, for hooks and the like, which may read and set the gradients of leaves: these are then not the pass's
    alone."""

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self.arrived is not None:
            self.arrived.forget()


def gate(node: ArrayNode, parent: ArrayNode, sent: Any) -> np.ndarray:
    """`sent`, by a rule of `node`, as a contribution to `parent`: an array of its shape and dtype, and a leaf's own.

    Raises ShapeError where the shape does not broadcast from the parent's.
    """
    data = parent._data
    if type(sent) is not np.ndarray:
        sent = np.asarray(sent)
    if checks.enabled():
        checks.contribution(node, parent, sent)
    if sent.shape != data.shape:
        try:
            sent = unbroadcast(sent, data.shape)
        except ValueError as error:
            raise ShapeError(f"{node._op}: {error}") from None
    if sent.dtype is not data.dtype:
        sent = sent.astype(data.dtype, copy=False)
    if sent is node._grad or sent.base is not None:  # else it is the rule's own, and made for this contribution
        if not parent._prev:
            return sent.copy() if parent._grad is None else sent  # a leaf's gradient is the user's to change
        if is_passing():
            node._grad.setflags(write=False)  # two nodes hold it from here on: `grad` copies it for who reads it
    return sent


def delivered(node: ArrayNode, parent: ArrayNode, sent: Any) -> tuple[ArrayNode, np.ndarray]:
    """(parent, contribution) of a rule that selects nothing: all of the parent's gradient counts from here on."""
    if parent._live is not None:
        parent._live = None
    return parent, gate(node, parent, sent)
