"""Stacks as curves of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from depth_lab.stack import Measured, Stack
from viz import Depth
from viz.text import count

SCALES = (0.5, 1.0, 2.0)


def usual(seed: int) -> list[Stack]:
    """The stacks of the picture where none is asked for: each scale, plain and with residual connections."""
    return [Stack(scale=scale, residual=residual, seed=seed) for residual in (False, True) for scale in SCALES]


def twins(stack: Stack) -> list[Stack]:
    """The stack, and the one that differs in having, or not having, residual connections."""
    return [stack, replace(stack, residual=not stack.residual)]


def curve_name(stack: Stack) -> str:
    return f"{'residual' if stack.residual else 'plain'}, scale {stack.scale:g}"


def title(stack: Stack) -> str:
    """What the curves of `usual` or `twins` have in common."""
    norm = ", pre-norm" if stack.norm else ""
    drawn = "" if stack.initialisation == "normal" else f", {stack.initialisation} weights"
    return f"{stack.activation}{norm}, {count(stack.layers, 'layer')}{drawn}, seed {stack.seed}"


def curves(stacks: Sequence[Stack], found: Sequence[Measured]) -> dict[str, Depth]:
    """What was measured of each stack, by its curve's name."""
    return {curve_name(stack): _depth(each) for stack, each in zip(stacks, found, strict=True)}


def _depth(found: Measured) -> Depth:
    states = tuple(found.states.tolist())
    names = tuple(str(layer) for layer in range(1, len(states)))
    return Depth(names, inputs=states[:-1], outputs=states[1:], weights=tuple(found.weights.tolist()))
