"""The backward algorithm: its order, its passes, and rules that are the user's. On both engines."""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref

import pytest
from engines import BINARY, TENSOR, UNARY, Engine, number, on_both_engines

from micrograd import Value
from micrograd.backprop import add, chain_rule, deliver, overwrite, reached, topological_order
from viz.trace import trace


def double(v: Value) -> Value:
    """2*v, written as users of the original write an operation."""
    out = Value(2.0 * v.data, (v,), "double")

    def rule():
        v.grad += 2.0 * out.grad

    out._backward = rule
    return out


def seven_nodes(engine: Engine):
    """relu(a*b + c)*a of figures row 1, with its leaf a."""
    a, b, c = engine.leaf(2.0), engine.leaf(-3.0), engine.leaf(10.0)
    return (a * b + c).relu() * a, a


# -- figures row 1 -----------------------------------------------------------------------------------------------------


@on_both_engines
def test_seven_nodes_and_minus_two_with_plus_equals(engine):
    root, a = seven_nodes(engine)
    root.backward()
    assert len(topological_order(root)) == 7
    assert number(root) == 8.0
    assert number(a.grad) == -2.0


@on_both_engines
def test_minus_six_with_equals(engine):
    root, a = seven_nodes(engine)
    deliver(chain_rule(root, root._seed()), overwrite)
    assert number(a.grad) == -6.0


@on_both_engines
def test_a_receives_four_and_then_minus_six(engine):
    root, a = seven_nodes(engine)
    arrived = []
    for _, parent, sent in chain_rule(root, root._seed()):
        parent.grad = add(parent.grad, sent)
        if parent is a:
            arrived.append(number(sent))
    assert arrived == [4.0, -6.0]


# -- a pass ------------------------------------------------------------------------------------------------------------


@on_both_engines
def test_the_first_contribution_is_the_seed(engine):
    root, _ = seven_nodes(engine)
    passing = chain_rule(root, root._seed())
    sender, receiver, sent = next(passing)
    passing.close()
    assert sender is None
    assert receiver is root
    assert number(sent) == 1.0


@on_both_engines
def test_each_use_of_a_node_is_one_contribution(engine):
    root, _ = seven_nodes(engine)
    uses = sum(len(node._prev) for node in topological_order(root))
    passing = chain_rule(root, root._seed())
    count = 0
    for _, parent, sent in passing:
        parent.grad = add(parent.grad, sent)
        count += 1
    assert count == uses + 1  # and the seed


@on_both_engines
def test_leaves_accumulate_over_passes_and_intermediates_do_not(engine):
    x = engine.leaf(3.0)
    square = x * x
    root = square * x
    for passes in (1, 2, 3):
        root.backward()
        assert number(x.grad) == 27.0 * passes
        assert number(square.grad) == 3.0


@on_both_engines
def test_two_roots_over_shared_nodes_add_up(engine):
    x = engine.leaf(3.0)
    square = x * x
    first, second = square * 2, square * 5
    first.backward()
    second.backward()
    assert number(x.grad) == 6.0 * 2 + 6.0 * 5


@on_both_engines
def test_a_leaf_may_be_the_root(engine):
    x = engine.leaf(3.0)
    x.backward()
    x.backward()
    assert number(x.grad) == 2.0


@on_both_engines
def test_not_reached_is_told_from_a_computed_zero(engine):
    x, y, other = engine.leaf(0.0), engine.leaf(5.0), engine.leaf(1.0)
    assert not reached(x)
    (x * y + other).backward()
    assert reached(y)
    assert number(y.grad) == 0.0
    assert not reached(engine.leaf(1.0))


@on_both_engines
@pytest.mark.parametrize("combine", [add, overwrite])
def test_a_zero_that_a_users_rule_sends_has_arrived(engine, combine):
    x = engine.leaf(2.0)
    out = engine.custom(2.0, (x,), "mine")
    out._backward = lambda: None
    deliver(chain_rule(out, out._seed()), combine)
    assert reached(x)
    assert number(x.grad) == 0.0


# -- one pass at a time ------------------------------------------------------------------------------------------------


@on_both_engines
def test_interleaved_passes_over_shared_intermediates_are_refused(engine):
    x = engine.leaf(2.0)
    shared = x * x
    one, two = shared * 3, shared * 4
    first = chain_rule(one, one._seed())
    next(first)
    with pytest.raises(RuntimeError, match="still open"):
        two.backward()
    first.close()
    two.backward()
    assert number(x.grad) == 16.0


@on_both_engines
def test_a_pass_is_refused_inside_itself(engine):
    root, _ = seven_nodes(engine)
    for _ in (passing := chain_rule(root, root._seed())):
        with pytest.raises(RuntimeError, match="still open"):
            root.backward()
        break
    passing.close()
    root.backward()


@on_both_engines
def test_open_passes_may_share_leaves_only(engine):
    x = engine.leaf(2.0)
    one, two = x * x, x * 3
    first = chain_rule(one, one._seed())
    _, root, sent = next(first)
    root.grad = add(root.grad, sent)
    two.backward()
    deliver(first)
    assert number(x.grad) == 3.0 + 4.0


@on_both_engines
def test_disjoint_graphs_may_be_walked_in_turns(engine):
    graphs = [seven_nodes(engine), seven_nodes(engine)]
    walks = [chain_rule(root, root._seed()) for root, _ in graphs]
    for contributions in zip(*walks, strict=True):
        deliver(contributions)
    assert [number(a.grad) for _, a in graphs] == [-2.0, -2.0]


@on_both_engines
def test_a_dropped_pass_is_closed(engine):
    root, a = seven_nodes(engine)
    next(chain_rule(root, root._seed()))  # nobody keeps the generator
    root.backward()
    assert number(a.grad) == -2.0


@on_both_engines
def test_a_combine_that_raises_leaves_no_pass_open(engine):
    root, a = seven_nodes(engine)

    def refuse(grad, sent):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        deliver(chain_rule(root, root._seed()), refuse)
    root.backward()
    assert number(a.grad) == -2.0


# -- rules that are the user's -----------------------------------------------------------------------------------------


@on_both_engines
def test_an_exception_in_a_users_rule_restores_the_parents_gradients(engine):
    x = engine.leaf(2.0)
    (x * 5).backward()
    out = engine.custom(2.0, (x,), "mine")

    def rule():
        x.grad = x.grad + 100.0
        raise ZeroDivisionError("in the user's rule")

    out._backward = rule
    with pytest.raises(ZeroDivisionError, match="in the user's rule"):
        out.backward()
    assert number(x.grad) == 5.0
    (x * 2).backward()  # and no pass is left open
    assert number(x.grad) == 7.0


@on_both_engines
def test_a_rule_must_be_a_function(engine):
    with pytest.raises(TypeError, match="function of no arguments, got int"):
        engine.leaf(1.0)._backward = 3


@on_both_engines
def test_a_rule_is_taken_back_with_none(engine):
    x = engine.leaf(2.0)
    out = x * 3
    out._backward = lambda: None
    out.backward()
    assert number(x.grad) == 0.0
    out._backward = None
    out.backward()
    assert number(x.grad) == 3.0


@on_both_engines
def test_a_node_without_a_rule_warns_and_what_lies_below_it_is_not_reached(engine):
    x = engine.leaf(2.0)
    below = x.exp()
    root = engine.custom(1.0, (below,), "mine") * 3
    with pytest.warns(RuntimeWarning, match="'mine' has operands but no rule"):
        root.backward()
    assert not reached(below)
    assert not reached(x)


# -- reference cycles --------------------------------------------------------------------------------------------------

OPERATIONS = {**{name: (f, 1) for name, f in UNARY.items()}, **{name: (f, 2) for name, f in BINARY.items()}}


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@on_both_engines
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_no_reference_cycles(engine, name, backward):
    function, arity = OPERATIONS[name]
    out = function(*[engine.leaf(0.7) for _ in range(arity)])
    root = out * 1.0
    if backward:
        root.backward()
    dies = [weakref.ref(node) for node in topological_order(root)]
    del out, root
    assert [ref() for ref in dies] == [None] * len(dies)


@pytest.mark.usefixtures("no_collector")
@on_both_engines
def test_reading_a_rule_makes_no_cycle(engine):
    out = engine.leaf(2.0) * 3
    out._backward()
    dies = weakref.ref(out)
    del out
    assert dies() is None


@pytest.mark.usefixtures("no_collector")
def test_a_rule_that_names_its_own_node_is_a_cycle_for_the_collector():
    """The one exception: what a user's closure holds is the user's. The collector finds it."""
    dies = weakref.ref(double(Value(2.0)))
    assert dies() is not None
    gc.collect()
    assert dies() is None


# -- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_collector")  # it would walk a million live nodes again and again
def test_a_chain_of_a_million_nodes():
    x = Value(0.5)
    y = x
    for _ in range(1_000_000):
        y = -y
    assert y.data == 0.5
    order = topological_order(y)
    assert len(order) == 1_000_001
    assert order[0] is x
    del order
    y.backward()
    assert x.grad == 1.0
    dies = weakref.ref(y._prev[0])
    del y  # a destructor that recursed would end the interpreter here
    assert dies() is None


def test_a_chain_of_tensors():
    x = TENSOR.leaf(0.5)
    y = x
    for _ in range(50_000):
        y = -y
    y.backward()
    assert number(x.grad) == 1.0
    dies = weakref.ref(y._prev[0])
    del y
    assert dies() is None


def test_a_long_chain_of_users_rules():
    x = Value(0.0)
    y = x
    for _ in range(100_000):
        y = double(y)
    deliver(chain_rule(y, 2.0**-1000))
    assert x.grad == math.inf  # 2**(100,000 - 1,000)
    dies = weakref.ref(y)
    del y
    gc.collect()
    assert dies() is None


@on_both_engines
def test_a_pass_that_failed_is_closed_even_while_its_traceback_lives(engine):
    """A notebook keeps the last traceback, and with it every frame of the pass."""
    x = engine.leaf(3.0)
    out = x * x

    def fail(grad, sent):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:
        deliver(chain_rule(out, out._seed()), fail)
    with pytest.raises(KeyboardInterrupt) as also_kept:
        list(trace(out, fail))
    out.backward()
    assert number(x.grad) == 6.0
    assert kept.tb is not also_kept.tb


@on_both_engines
def test_threads_that_add_to_one_leaf_lose_nothing(engine):
    x = engine.leaf(1.0)
    passes, before = 300, sys.getswitchinterval()

    def work():
        for _ in range(passes):
            (x * 1.0).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    try:
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert number(x.grad) == 4 * passes


def test_a_gradient_of_none_counts_as_not_reached():
    """Tensors have it so, and users of torch set it on Values too."""
    x = Value(2.0)
    x.grad = None
    assert not reached(x)
    (x * 3).backward()
    assert x.grad == 3.0
