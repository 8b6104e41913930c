"""The seed and the backward pass of a command."""

from __future__ import annotations

import numpy as np

from micrograd.backprop import Node, chain_rule, deliver, topological_order
from viz.errors import UserError
from viz.inputs.literals import Literal, parse_literal


def gradient_for(root: Node, text: str | None, title: str) -> Literal | None:
    """The seed that --gradient asks for: None without it, else a number or an array; "ones" is ones of root's shape.

    Raises UserError where `root` requires no gradient, has several elements and no seed, or one of another shape.
    """
    shape = np.shape(root.data)
    if not root.requires_grad:
        raise UserError(
            f"{title} requires no gradient, so there is no backward pass: make one of its leaves with "
            "requires_grad=True, and look for no_grad() and detach() on the way"
        )
    if text is None:
        if np.size(root.data) != 1:
            raise UserError(
                f"{title} has shape {shape}, not one number, so its gradient is not clear: reduce it (.sum(), "
                ".mean()), or add --gradient ones"
            )
        return None
    gradient = np.ones(shape) if text.strip() == "ones" else parse_literal(text, "--gradient")
    if np.shape(gradient) != shape:
        raise UserError(f"--gradient has shape {np.shape(gradient)}, but {title} has shape {shape}: make them equal")
    return gradient if shape else float(gradient)


def run_backward(root: Node, gradient: Literal | None) -> None:
    """Run a backward pass from empty gradients."""
    clear_gradients(root)
    deliver(chain_rule(root, root._seed(gradient)))


def clear_gradients(root: Node) -> None:
    """Empty the gradients of every node that `root` depends on."""
    for node in topological_order(root):
        node.grad = node._zero
