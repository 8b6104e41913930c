"""autograd.Function: operations of one's own as torch has them."""

from __future__ import annotations

import gc
import weakref
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, no_grad, tensor
from tensorgrad.autograd import Function, gradcheck
from viz import compare, trace


def leaf(*numbers: float) -> Tensor:
    return Tensor(list(numbers), requires_grad=True)


def double(*numbers: float) -> Tensor:
    return Tensor(list(numbers), dtype=np.float64, requires_grad=True)


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * out


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


# -- as torch ----------------------------------------------------------------------------------------------------------


def scaled(m: ModuleType) -> Any:
    class Scaled(m.autograd.Function):
        """With a number, a string and an operand that needs none among the arguments."""

        @staticmethod
        def forward(ctx, x, factor, how, offset):
            ctx.factor, ctx.how = factor, how
            ctx.seen = ctx.needs_input_grad
            return x * factor + offset

        @staticmethod
        def backward(ctx, g):
            assert ctx.seen == (True, False, False, False)
            assert ctx.how == "fast"
            return g * ctx.factor, None, None, None

    x = m.tensor([1.0, 2.0], requires_grad=True)
    out = Scaled.apply(x, 3.0, "fast", m.tensor([1.0, 1.0]))
    (out * out).sum().backward()
    return [out.tolist(), np.asarray(x.grad).tolist()]


def with_setup_context(m: ModuleType) -> Any:
    class Product(m.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, y = inputs
            ctx.save_for_backward(x, y)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
    Product.apply(x, y).sum().backward()
    return [np.asarray(x.grad).tolist(), np.asarray(y.grad).tolist()]


def several_results(m: ModuleType) -> Any:
    class Both(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y[:1], (x * x).sum()

        @staticmethod
        def backward(ctx, gp, gs, gq):
            x, y = ctx.saved_tensors
            gy = gp * x + m.cat([gs.sum().reshape(1), m.zeros(1)])
            return gp * y + gs + gq * 2 * x, gy

    x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
    p, s, q = Both.apply(x, y)
    (p * s).sum().backward(retain_graph=True)
    first = [np.asarray(x.grad).tolist(), np.asarray(y.grad).tolist()]
    q.backward()
    return [*first, np.asarray(x.grad).tolist(), np.asarray(y.grad).tolist()]


def unused_results(m: ModuleType, materialize: bool = True) -> Any:
    seen = []

    class Both(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x.sum()

        @staticmethod
        def backward(ctx, g, gs):
            seen.append([None if part is None else part.tolist() for part in (g, gs)])
            return gs * m.ones(2) if g is None else g * 2

    x = m.tensor([1.0, 2.0], requires_grad=True)
    Both.apply(x)[0].sum().backward()
    Both.apply(x)[1].backward()
    return [*seen, np.asarray(x.grad).tolist()]


def no_gradient_for_one(m: ModuleType) -> Any:
    class First(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = m.tensor([1.0], requires_grad=True), m.tensor([2.0], requires_grad=True)
    First.apply(x, y).sum().backward()
    return [np.asarray(x.grad).tolist(), y.grad is None if m is not tensorgrad else y._grad is None]


def one_operand_twice(m: ModuleType) -> Any:
    class Product(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    x = m.tensor([3.0, 4.0], requires_grad=True)
    Product.apply(x, x).sum().backward()
    return np.asarray(x.grad).tolist()


def not_differentiable(m: ModuleType) -> Any:
    class Sorted(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            order = m.argsort(x)
            half = x * 0.5
            ctx.mark_non_differentiable(half)
            ctx.save_for_backward(order)
            return x[order], order, half

        @staticmethod
        def backward(ctx, g, *others):
            (order,) = ctx.saved_tensors
            out = m.zeros(3)
            out[order] = g
            return out

    x = m.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, order, half = Sorted.apply(x)
    (values * m.tensor([1.0, 10.0, 100.0])).sum().backward()
    flags = [values.requires_grad, order.requires_grad, half.requires_grad]
    return [flags, values.tolist(), order.tolist(), half.tolist(), np.asarray(x.grad).tolist()]


def more_gradients_than_arguments(m: ModuleType) -> Any:
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2, None, None

    x = m.tensor([1.0], requires_grad=True)
    Double.apply(x).sum().backward()
    return np.asarray(x.grad).tolist()


def without_gradients(m: ModuleType) -> Any:
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    constant = Double.apply(m.tensor([1.0]))
    with m.no_grad():
        cut = Double.apply(m.tensor([1.0], requires_grad=True))
    return [constant.requires_grad, cut.requires_grad, cut.is_leaf]


@pytest.mark.parametrize(
    "program",
    [
        scaled,
        with_setup_context,
        several_results,
        unused_results,
        lambda m: unused_results(m, False),
        no_gradient_for_one,
        one_operand_twice,
        not_differentiable,
        more_gradients_than_arguments,
        without_gradients,
    ],
)
def test_programs_equal_torch(program: Any, torch: ModuleType):
    assert program(tensorgrad) == program(torch)


# -- in the graph ------------------------------------------------------------------------------------------------------


def test_it_is_one_node_named_as_the_class():
    x = double(0.5, 1.0)
    out = Exp.apply(x * 2)
    assert (out._op, [parent._op for parent in out._prev]) == ("Exp", ["*"])
    assert gradcheck(lambda x: Exp.apply(x) * Exp.apply(2 * x), x)
    assert [step.rule for step in trace(out.sum())][2] == "the rule of Exp"


def test_a_graph_may_be_walked_again():
    x = leaf(0.0, 1.0)
    loss = Exp.apply(x).sum()
    loss.backward()
    first = x.grad.copy()
    loss.backward()
    np.testing.assert_array_equal(x.grad, 2 * first)


def test_a_comparison_follows_forward_and_finds_a_wrong_backward():
    x = double(0.5, 1.5)
    assert compare(lambda x: (Exp.apply(x) * x).sum(), x).ok
    found = compare(lambda x: Wrong.apply(x).sum(), x)
    assert not found.ok
    assert "Wrong" in str(found)


def test_several_results_are_compared_too():
    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x, x.sin()

        @staticmethod
        def backward(ctx, g, h):
            (x,) = ctx.saved_tensors
            return g * 2 * x + h * x.cos()

    def f(x: Tensor) -> Tensor:
        a, b = Both.apply(x)
        return (a * b).sum()

    x = double(0.5, 1.5)
    assert gradcheck(f, x)
    assert compare(f, x).ok


def test_results_of_different_dtypes_get_gradients_of_theirs():
    seen = []

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x.double(), x.half(), x.reshape(1, 2)

        @staticmethod
        def backward(ctx, *gradients):
            seen.extend((g.dtype.name, g.shape) for g in gradients)
            return gradients[2].reshape(2)

    x = leaf(1.0, 2.0)
    a, b, c = Both.apply(x)
    assert [(y.dtype.name, y.shape) for y in (a, b, c)] == [("float64", (2,)), ("float16", (2,)), ("float32", (1, 2))]
    (a + b + c).sum().backward()
    assert seen == [("float64", (2,)), ("float16", (2,)), ("float32", (1, 2))]
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [1, 1])


# -- changes in place --------------------------------------------------------------------------------------------------


def test_a_saved_tensor_that_was_changed_in_place(torch: ModuleType):
    x = leaf(1.0, 2.0)
    out = Exp.apply(x)
    loss = out.sum()
    with no_grad():
        out.mul_(2)
    with pytest.raises(RuntimeError, match=r"the result of 'Exp'.*changed in place"):
        loss.backward()
    y = leaf(1.0, 2.0)
    loss = Wrong.apply(y).sum()
    with no_grad():
        y += 1
    with pytest.raises(RuntimeError, match=r"the result of 'Wrong'.*changed in place"):
        loss.backward()


def test_an_operand_that_was_not_saved_may_change():
    x = leaf(1.0, 2.0)
    loss = Exp.apply(x).sum()
    with no_grad():
        x += 1
    loss.backward()
    np.testing.assert_allclose(x.grad, np.exp([1.0, 2.0]), rtol=1e-6)


def test_it_makes_no_cycle_of_references():
    x = leaf(1.0, 2.0)
    gc.collect()
    gc.disable()
    try:
        out = Exp.apply(x)
        gone = weakref.ref(out)
        del out
        assert gone() is None
    finally:
        gc.enable()


# -- refused -----------------------------------------------------------------------------------------------------------


def make(forward: Any = None, backward: Any = None) -> type[Function]:
    members: dict[str, Any] = {}
    if forward is not None:
        members["forward"] = staticmethod(forward)
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type("Mine", (Function,), members)


def double_it(ctx: Any, x: Tensor) -> Tensor:
    return x * 2


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (make(), NotImplementedError, r"write a static method forward\(ctx, \*args\)"),
        (make(double_it), NotImplementedError, r"write a static method backward\(ctx, \*gradients\)"),
        (make(lambda ctx, x: 5), TypeError, "Mine: forward must return Tensors, got a int"),
        (make(lambda ctx, x: [x]), TypeError, "Mine: forward must return Tensors, got a list"),
        (
            make(double_it, lambda ctx, g: (g, g)),
            RuntimeError,
            "Mine: backward returned 2 gradients for the 1 arg",
        ),
        (make(double_it, lambda ctx, g: ()), RuntimeError, "Mine: backward returned 0 gradients for the 1 arguments"),
        (make(double_it, lambda ctx, g: g.sum()), ValueError, r"shape \(\) for argument 0, w of shape \(2,\), float32"),
        (make(double_it, lambda ctx, g: "text"), TypeError, "Mine: what backward returned for argument 0: .*str"),
        (make(lambda ctx, x: ctx.save_for_backward(5)), TypeError, "save_for_backward: takes Tensors, got a int"),
        (make(lambda ctx, x: ctx.mark_dirty(x)), NotImplementedError, "mark_dirty"),
    ],
)
def test_errors(function: type[Function], error: type, text: str):
    x = leaf(1.0, 2.0)
    x.label = "w"
    with pytest.raises(error, match=text):
        function.apply(x).sum().backward()


def test_integers_and_none_among_the_arguments_and_saved_tensors():
    class Picked(Function):
        @staticmethod
        def forward(ctx, x, where, nothing):
            ctx.save_for_backward(where, nothing)
            ctx.shape = x.shape
            return x[where]

        @staticmethod
        def backward(ctx, g):
            where, nothing = ctx.saved_tensors
            assert nothing is None
            out = tensorgrad.zeros(*ctx.shape)
            out[where] = g
            return out, None, None

    x = leaf(1.0, 2.0, 3.0)
    Picked.apply(x, tensor([2, 0]), None).sum().backward()
    assert x.grad.tolist() == [1, 0, 1]


def test_a_function_that_is_made_and_called_says_to_apply_it():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(TypeError, match=r"Twice: .* write Twice.apply\(\.\.\.\)"):
        Twice()(Tensor([1.0]))
