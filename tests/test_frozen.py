"""`requires_grad` and `data` that change between forward and backward: what took part when it was computed counts."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor


def gradients(*tensors: Any) -> list[list[float] | None]:
    return [None if x.grad is None else np.asarray(x.grad).ravel().tolist() for x in tensors]


def through_linear(m: ModuleType, x: Any, layer: Any) -> Any:
    return layer(x)


def through_layer_norm(m: ModuleType, x: Any, layer: Any) -> Any:
    return m.nn.functional.layer_norm(x, (2,), layer.weight[0], layer.bias) * layer.bias


def through_attention(m: ModuleType, x: Any, layer: Any) -> Any:
    return m.nn.functional.scaled_dot_product_attention(x, layer.weight, layer.weight)


def through_a_selection(m: ModuleType, x: Any, layer: Any) -> Any:
    return m.where(x > 1.5, layer.bias, x * layer.bias)


def through_a_function(m: ModuleType, x: Any, layer: Any) -> Any:
    class Times(m.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b, (g * a).sum(0)

    return Times.apply(x, layer.bias)


def through_a_norm_alone(m: ModuleType, x: Any, layer: Any) -> Any:
    return m.nn.functional.layer_norm(x, (2,), layer.bias, layer.bias)


PROGRAMS = [
    through_linear,
    through_layer_norm,
    through_attention,
    through_a_selection,
    through_a_function,
    through_a_norm_alone,
]


@pytest.mark.filterwarnings("ignore:.*has no gradient")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False), (False, False), (True, True)])
def test_parameters_frozen_for_one_half_of_a_step(program: Any, before: bool, after: bool, torch: ModuleType):
    """As a discriminator is, while the generator learns."""

    def run(m: ModuleType) -> list[Any]:
        x, layer = m.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True), m.nn.Linear(2, 2)
        layer.load_state_dict({"weight": m.tensor([[1.0, 2.0], [3.0, 4.0]]), "bias": m.tensor([0.5, 2.0])})
        layer.requires_grad_(before)
        y = (program(m, x, layer) * m.tensor([[1.0, 3.0], [2.0, 5.0]])).sum()
        layer.requires_grad_(after)
        y.backward()
        return gradients(x, *layer.parameters())

    for a, b in zip(run(tensorgrad), run(torch), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_data_of_another_dtype_takes_the_gradient_along():
    w = Tensor([1.0, 2.0], requires_grad=True)
    (w * w).sum().backward()
    w.data = w.data.astype(np.float64)
    assert w.grad.dtype == np.float64
    assert w.grad.tolist() == [2, 4]
    (w * w).sum().backward()
    assert w.grad.dtype == np.float64
    assert w.grad.tolist() == [4, 8]


@pytest.mark.parametrize(("old", "new"), [((3,), (1,)), ((1,), (3,)), ((2, 3), (3,)), ((3,), ()), ((3,), (2, 3))])
def test_data_of_another_shape_between_forward_and_backward(old: tuple[int, ...], new: tuple[int, ...]):
    w = Tensor(np.ones(old), requires_grad=True)
    out = (w * np.array([1.0, 2.0, 3.0])).sum()
    w.data = np.ones(new)
    with pytest.raises(RuntimeError, match=r"had another shape when '\*' was computed"):
        out.backward()
    (w * 2).sum().backward()
    assert w.grad.tolist() == np.full(new, 2.0).tolist()
