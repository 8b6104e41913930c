"""The stepper page where the window changes its shape, so that the graph is laid out the other way."""

from __future__ import annotations

import numpy as np

from micrograd.backprop import Node
from tensorgrad import Tensor
from viz import scope, step

WIDE, TALL = {"width": 1600, "height": 420}, {"width": 900, "height": 1400}
BOXES = (
    "found => found.map(e => e.getBoundingClientRect()).map(({left, top, right, bottom}) => [left, top, right, bottom])"
)


def in_a_scope() -> Node:
    """Six nodes in a scope: a number, what is computed there, and x, which is used there alone."""
    x = Tensor(np.linspace(-1, 1, 6).reshape(3, 2), requires_grad=True, label="x")
    with scope("part"):
        h = (x.tanh() * x).exp().sin()
    return (h * h).sum()


def test_a_frame_goes_around_its_nodes_after_the_direction_changed(opened):
    sizes = set()
    with opened(step(in_a_scope(), names={}), "#step=3", viewport=WIDE) as tab:
        for size in (TALL, WIDE, TALL):
            tab.set_viewport_size(size)
            tab.wait_for_timeout(500)
            tab.locator("#fit").click()
            tab.wait_for_timeout(200)
            [frame] = tab.locator("#stage .frame .body").evaluate_all(BOXES)
            nodes = tab.locator("#stage .node .body").evaluate_all(BOXES)
            inside = [n for n in nodes if all(np.less(frame[:2], n[:2])) and all(np.less(n[2:], frame[2:]))]
            assert len(inside) == 5
            sizes.add(frame[2] - frame[0] > frame[3] - frame[1])
    assert sizes == {True, False}  # it was laid out both ways
