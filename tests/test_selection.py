"""What `where` did not select does not poison the gradient: what torch gives as nan is 0 here."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from op_cases import elementwise as elementwise_cases
from ops_table import calls

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor, cat, enable_grad, masked_fill, stack, where, zeros
from tensorgrad.autograd import grad
from tensorgrad.selection import ELEMENTWISE, MOVES, SELECTING, Selected
from viz import compare, trace

BAD = [-4.0, -1.0, 0.0, 1.0, 4.0]
"""sqrt, log and 1/x have no finite value or slope at some of these."""


def leaf(data: Any = BAD) -> Tensor:
    return Tensor(data, dtype=np.float64, requires_grad=True)


def gradient(f: Callable[[Tensor], Tensor], data: Any = BAD) -> list[float]:
    x = leaf(data)
    f(x).sum().backward()
    return x.grad.tolist()


# -- programs ----------------------------------------------------------------------------------------------------------

SQRT = [0, 0, 0, 0.5, 0.25]
"""The slope of sqrt where BAD is positive."""

PROGRAMS: dict[str, tuple[Callable[[Tensor], Tensor], list[float]]] = {
    "sqrt": (lambda x: where(x > 0, x.sqrt(), 0), SQRT),
    "the other branch": (lambda x: where(x <= 0, 0, x.sqrt()), SQRT),
    "both branches": (lambda x: where(x > 0, x.sqrt(), x), [1, 1, 1, 0.5, 0.25]),
    "masked_fill": (lambda x: x.sqrt().masked_fill(x <= 0, 3), SQRT),
    "method": (lambda x: x.sqrt().where(x > 0, x * 2), [2, 2, 2, 0.5, 0.25]),
    "reciprocal": (lambda x: where(x != 0, 1 / x, 0), [-1 / 16, -1, 0, -1, -1 / 16]),
    "log of abs": (lambda x: where(x != 0, x.abs().log(), 0), [-0.25, -1, 0, 1, 0.25]),
    "a chain": (lambda x: where(x > 0, ((x * 4).sqrt() * 3).exp().log() / 3, 0), [0, 0, 0, 1, 0.5]),
    "overflow": (lambda x: where(x > 0, x, (x * 1000).exp()), [0, 0, 1000, 1, 1]),
    "broadcast condition": (lambda x: where(x > 0, stack([x, x]).sqrt(), 0), [2 * n for n in SQRT]),
    "broadcast operand": (lambda x: where(x > 0, x.sqrt(), x.sum()), [3, 3, 3, 3.5, 3.25]),
    "broadcast factor": (lambda x: where(x > 0, x.sqrt() * Tensor([[1.0], [2.0]]), 0), [3 * n for n in SQRT]),
    "nested": (lambda x: where(x > 0, where(x > 2, x.sqrt(), x.log()), 1), [0, 0, 0, 1, 0.25]),
    "nested outside": (lambda x: where(x > 2, where(x > 0, x.sqrt(), 0), x), [1, 1, 1, 1, 0.25]),
    "inside and outside": (lambda x: where(x > 0, where(x > -2, x.sqrt(), 7).log(), 0), [0, 0, 0, 0.5, 0.125]),
    "reshaped on the way": (lambda x: where((x > 0).reshape(5, 1), x.sqrt().reshape(5, 1), 0), SQRT),
    "indexed on the way": (lambda x: where((x > 0)[[4, 3, 0]], x.sqrt()[[4, 3, 0]], 0), SQRT),
    "in a stack": (lambda x: where(stack([x, x]) > 0, stack([x.sqrt(), x * 2]), 0), [0, 0, 0, 2.5, 2.25]),
    "cut and put together": (lambda x: where(x > 0, cat([x.sqrt()[:2], x.sqrt()[2:]]), 0), SQRT),
    "a sum that is not selected": (lambda x: where(x.sqrt().sum() > 0, x.sqrt().sum(), x), [1] * 5),
    "assigned": (lambda x: assigned(x.sqrt(), x.detach() <= 0, 0), SQRT),
    "selected here, not there": (lambda x: where(x > 0, h := x.sqrt(), 0) + where(x > 2, h, 0), [0, 0, 0, 0.5, 0.5]),
}  # fmt: skip


def assigned(y: Tensor, key: Tensor, value: float) -> Tensor:
    y[key] = value
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_what_was_selected(name: str):
    program, want = PROGRAMS[name]
    np.testing.assert_allclose(gradient(program), want)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_and_a_second_pass_show_the_same_numbers(name: str):
    program, want = PROGRAMS[name]
    x = leaf()
    loss = program(x).sum()
    for _ in range(2):
        found = trace(loss)
        keys = {node: record.key for record, node in zip(found.graph.nodes, topological_order(loss), strict=True)}
        np.testing.assert_allclose(found.grads[keys[x]], want)
    loss.backward()
    loss.backward()
    np.testing.assert_allclose(x.grad, 2 * np.array(want))
    np.testing.assert_allclose(grad(loss, x)[0].data, want)


def test_torch_gives_nan_there(torch: ModuleType):
    """What this is for. Where torch has a number, it is the same."""
    for program, _ in (PROGRAMS["sqrt"], PROGRAMS["masked_fill"]):
        x = torch.tensor(BAD, requires_grad=True)
        found = torch.where(x > 0, x.sqrt(), 0).sum() if program is PROGRAMS["sqrt"][0] else None
        if found is not None:
            found.backward()
            assert np.isnan(x.grad.numpy()[:3]).all()
            assert x.grad.tolist()[3:] == SQRT[3:]


# -- what is not a selection -------------------------------------------------------------------------------------------


def test_a_zero_from_arithmetic_is_not_a_selection():
    assert np.isnan(gradient(lambda x: x.sqrt() * 0.0)[:3]).all()
    assert np.isnan(gradient(lambda x: x.sqrt() * (x > 0))[:3]).all()
    assert np.isnan(gradient(lambda x: where(x > 0, x.sqrt(), 0) + 0 * x.sqrt())[:3]).all()


def test_what_was_selected_may_be_infinite():
    assert gradient(lambda x: where(x >= 0, x.sqrt(), 0))[2] == np.inf
    assert np.isnan(gradient(lambda x: where(x < 0, x.sqrt(), 0))[0])


def test_a_mask_ends_where_elements_are_mixed():
    """Before a product of matrices the zero is a plain zero."""
    found = gradient(lambda x: where(x > 0, (x.sqrt().reshape(1, 5) @ np.eye(5)).reshape(5), 0))
    assert np.isnan(found[:3]).all()


def test_another_contribution_makes_an_element_live_again():
    for f in (
        lambda h: where(zeros(5) > 0, h, 0) + h,
        lambda h: h + where(zeros(5) > 0, h, 0),
        lambda h: where(zeros(5) > 0, h, 0) + where(zeros(5) == 0, h, 0),
        lambda h: stack([where(zeros(5) > 0, h, 0), h]),
    ):
        found = gradient(lambda x, f=f: f(x.sqrt()))
        np.testing.assert_array_equal(found, [np.nan, np.nan, np.inf, 0.5, 0.25])


def test_an_operation_with_a_rule_of_the_users_own_makes_its_operands_live():
    def own(h: Tensor) -> Tensor:
        out = Tensor(h.data * 1.0, _prev=(h,), _op="own")

        def backward() -> None:
            h.grad = h.grad + out.grad

        out._backward = backward
        return out

    for f in (
        lambda h: own(h).sum() + where(zeros(5) > 0, h, 0).sum(),
        lambda h: where(zeros(5) > 0, h, 0).sum() + own(h).sum(),
    ):
        assert np.isnan(gradient(lambda x, f=f: f(x.sqrt()))[0])


def test_what_a_hook_puts_in_the_place_of_a_zero_is_live():
    x = leaf()
    h = x.sqrt()
    h.register_hook(lambda g: g + tensorgrad.tensor([1.0, 0, 0, 0, 0], dtype=np.float64))
    where(x > 0, h, 0).sum().backward()
    np.testing.assert_array_equal(x.grad, [np.nan, *SQRT[1:]])


def test_a_mask_does_not_outlive_its_pass():
    x = leaf()
    h = x.sqrt()
    where(x > 0, h, 0).sum().backward()
    x.grad = None
    h.sum().backward()
    np.testing.assert_array_equal(x.grad, [np.nan, np.nan, np.inf, 0.5, 0.25])


def test_a_comparison_with_the_scalar_engine():
    """Values take the branch as it is, and know no unselected one."""
    x = Tensor([0.5, 2.0], dtype=np.float64, requires_grad=True)
    assert compare(lambda x: where(x > 1, (x * x).log(), x.sqrt()).sum(), x).ok


def test_dtypes_and_broadcast_masks():
    x = Tensor(BAD, dtype=np.float32, requires_grad=True)
    y = Tensor(np.ones((2, 1)), dtype=np.float64, requires_grad=True)
    where(x > 0, x.sqrt() * y, 0).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(x.grad, [2 * n for n in SQRT])
    np.testing.assert_allclose(y.grad, [[3], [3]])


# -- any program -------------------------------------------------------------------------------------------------------

UNARY: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda a: a.sqrt(),
    "log": lambda a: a.log(),
    "reciprocal": lambda a: 1 / a,
    "rsqrt": lambda a: a.rsqrt(),
    "acos": lambda a: a.acos(),
    "log1p": lambda a: a.log1p(),
    "exp": lambda a: a.exp(),
    "square": lambda a: a * a,
    "root": lambda a: a**0.5,
    "power": lambda a: a**-2,
    "sin": lambda a: a.sin(),
    "minus": lambda a: -a,
    "relu": lambda a: a.relu(),
    "shifted": lambda a: a - 1.0,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "maximum": tensorgrad.maximum,
}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Steps, each on results of earlier ones: (name, operand), (name, left, right) or ("where", bits, left, right)."""
    steps: list[tuple[Any, ...]] = []
    for n in range(1, draw(st.integers(2, 8)) + 1):
        place = st.integers(0, n - 1)
        steps.append(
            draw(
                st.one_of(
                    st.tuples(st.sampled_from(sorted(UNARY)), place),
                    st.tuples(st.sampled_from(sorted(BINARY)), place, place),
                    st.tuples(st.just("where"), st.lists(st.booleans(), min_size=4, max_size=4), place, place),
                )
            )
        )
    bits = st.lists(st.booleans(), min_size=4, max_size=4)
    return [*steps, ("where", draw(bits), draw(st.integers(0, len(steps))), draw(st.integers(0, len(steps))))]


def run(steps: list[tuple[Any, ...]], x: Tensor, choose: Callable[[list[bool], Any, Any], Any]) -> Tensor:
    found = [x]
    for name, *rest in steps:
        if name == "where":
            found.append(choose(rest[0], found[rest[1]], found[rest[2]]))
        else:
            function = UNARY.get(name) or BINARY[name]
            found.append(function(*[found[place] for place in rest]))
    return found[-1]


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(
    steps=programs(),
    numbers=st.lists(st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0]), min_size=4, max_size=4),
)
def test_the_gradient_is_that_of_the_selected_branches_computed_alone(
    steps: list[tuple[Any, ...]], numbers: list[float]
):
    x = leaf(numbers)
    run(steps, x, lambda bits, a, b: where(np.array(bits), a, b)).sum().backward()
    for i, number in enumerate(numbers):
        alone = leaf([number])
        with enable_grad():
            out = run(steps, alone, lambda bits, a, b, i=i: a if bits[i] else b)
        out.sum().backward()
        np.testing.assert_allclose(x.grad[i], alone.grad[0], rtol=1e-9, err_msg=str((steps, number)))


# -- the lists of operations are true ----------------------------------------------------------------------------------


def recorded() -> dict[str, list[Any]]:
    """By the operation, the nodes of the table in which anything has two elements or more."""
    rng = np.random.default_rng(1)
    found: dict[str, list[Any]] = {}
    for _, case, shapes in calls():
        out = case.function(tensorgrad, *[leaf(a) for a in case.sample(rng, shapes)])
        for node in topological_order(out):
            if node._prev and max(x.data.size for x in (node, *node._prev)) > 1 and type(node._rules) is tuple:
                found.setdefault(node._op, []).append(node)
    return found


NODES = recorded()


def sent(rule: Callable[[np.ndarray], Any], g: np.ndarray) -> np.ndarray:
    found = rule(g)
    return found.array if type(found) is Selected else np.asarray(found)


def is_elementwise(op: str) -> bool:
    return op in ELEMENTWISE or op.startswith("**")


@pytest.mark.parametrize("op", sorted(op for op in NODES if is_elementwise(op)))
def test_rules_called_elementwise_are(op: str):
    """Element i of what is sent depends on element i of the gradient alone, and is 0 where that is."""
    rng = np.random.default_rng(2)
    for node in NODES[op]:
        for rule in filter(None, node._rules):
            g = rng.standard_normal(node.shape)
            base = sent(rule, g)
            assert base.shape == node.shape
            for i in range(min(g.size, 6)):
                other = g.copy()
                other.flat[i] = 0
                found = sent(rule, other)
                assert found.flat[i] == 0
                np.testing.assert_array_equal(np.delete(found, i), np.delete(base, i))


@pytest.mark.parametrize("op", sorted(op for op in NODES if op in MOVES))
def test_rules_said_to_move_map_masks_to_masks(op: str):
    """An element is sent something other than 0 only if some element that is live goes to it; and what one element
    of the gradient is sent to is what its mask is sent to."""
    rng = np.random.default_rng(3)
    for node in NODES[op]:
        for rule in filter(None, node._rules):
            g = rng.uniform(0.5, 2, node.shape)
            for _ in range(4):
                live = rng.random(node.shape) < 0.4
                mask = sent(rule, live.astype(node.dtype)) != 0
                found = sent(rule, np.where(live, g, 0))
                np.testing.assert_array_equal(found != 0, mask)
                rest = sent(rule, np.where(live, 0, g))
                np.testing.assert_allclose(found + rest, sent(rule, g), rtol=1e-12)


def test_every_operation_on_each_element_is_named():
    rng = np.random.default_rng(4)
    met = set()
    for case in elementwise_cases.CASES:
        for shapes in case.shapes:
            out = case.function(tensorgrad, *[leaf(a) for a in case.sample(rng, shapes)])
            met |= {node._op for node in topological_order(out) if node._prev}
    constant = {"floor_divide", "div_trunc"}  # they send zeros to everyone
    unnamed = {op for op in met if not is_elementwise(op) and op not in MOVES} - constant
    assert not unnamed


def test_every_name_is_of_an_operation():
    elsewhere = {"gelu", "dropout", "to", "contiguous", "embedding", "relu6", "add", "sub"}
    unknown = (ELEMENTWISE | MOVES) - set(NODES) - elsewhere
    assert not unknown


def test_selecting_operations_are_named():
    found = {
        op
        for op, nodes in NODES.items()
        for node in nodes
        for rule in filter(None, node._rules)
        if type(rule(np.ones(node.shape))) is Selected
    }
    assert found == SELECTING
    assert masked_fill(leaf(), zeros(5) > 0, 1.0)._op in SELECTING
