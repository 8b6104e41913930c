"""A comparison's picture: both graphs side by side."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from compared import W, X, layer, relu_example, square, wrong
from conftest import missing

from micrograd.backprop import topological_order
from tensorgrad import Tensor
from viz import compare
from viz.comparison.picture import owned_by
from viz.errors import NoDotError, TooLargeError


def test_the_picture_has_both_graphs_and_a_box_for_each_tensor() -> None:
    comparison = compare(layer, X, W, [0.1, -0.1])
    source = comparison.draw().source
    scalars = topological_order(comparison.scalar_root)
    for i in range(len(scalars)):
        assert f"\tsn{i} [" in source
    for node in comparison.nodes:
        assert f"subgraph cluster_{node.key} " in source
        assert f"\ttn{node.key[1:]} [" in source
    assert "tensor: grad" not in source
    assert "a = x @ w" in source


def test_partial_sums_belong_to_the_tensor_that_they_were_made_for() -> None:
    comparison = compare(lambda x, w: (x @ w).sum(), X, W)
    order = topological_order(comparison.scalar_root)
    owners = owned_by(comparison.pair, order)
    ops = {i: sorted(node._op for node, owner in zip(order, owners, strict=True) if owner == i) for i in range(4)}
    assert ops == {0: [""] * 4, 1: [""] * 4, 2: ["*"] * 8 + ["+"] * 4, 3: ["+"] * 3}
    several = compare(lambda x: x * x, [1.0, 2.0], gradient=1)
    order = topological_order(several.scalar_root)
    assert owned_by(several.pair, order)[-1] is None


def test_what_differs_is_marked_in_the_picture() -> None:
    source = compare(wrong, [1.0, -2.0]).draw().source
    assert "tensor: grad 22.5" in source
    assert "differs from the scalars in 2 of 2" in source


def test_the_picture_can_be_saved_and_has_a_limit(tmp_path: Path) -> None:
    comparison = compare(relu_example, 2, -3, 10)
    comparison.draw(tmp_path / "both.dot")
    assert (tmp_path / "both.dot").read_text().startswith("digraph")
    with pytest.raises(TooLargeError):
        comparison.draw(tmp_path / "too.dot", max_nodes=13)
    assert not (tmp_path / "too.dot").exists()


@pytest.mark.parametrize("label", ['a"b', "{x|y}", "<b>", "\\N", "ünï", "x:y", "l" * 300])
def test_any_label_can_be_drawn(label: str) -> None:
    x = Tensor([[1.0], [2.0]], requires_grad=True, label=label)
    drawing = compare(lambda x: square(x[:, :0].sum() + x, 3).sum(), x).draw()
    try:
        assert b"<svg" in drawing.render("svg")
    except NoDotError as error:
        missing(str(error))


def test_drawing_leaves_gradients_alone() -> None:
    x = Tensor(X, dtype=np.float64, requires_grad=True)
    comparison = compare(lambda x: (x * x).sum(), x)
    comparison.draw()
    assert x.grad is None
    assert comparison.tensor_root.grad is None


def test_two_tensors_with_one_label_keep_it() -> None:
    one, two = (Tensor([1.0, 2.0], requires_grad=True, label="w") for _ in range(2))
    source = compare(lambda x, y: (x * y).sum(), one, two).draw().source
    for i in range(2):
        assert source.count(f'label="{{w[{i}]|') == 2
        assert re.search(rf'\ttn{i} \[label="w\W', source)


def test_partial_results_have_their_tensors_name() -> None:
    source = compare(lambda x, w: (x @ w).sum(), X, W).draw().source
    assert [source.count(f'label="{{a.{i}|') for i in range(1, 10)] == [1] * 8 + [0]
