"""Scopes: which nodes are in which, and that nothing else changes by it."""

from __future__ import annotations

import asyncio
import copy
import gc
import inspect
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from micrograd import Value
from micrograd.backprop import topological_order
from micrograd.nn import MLP, Module, Neuron
from micrograd.scopes import current_scope, module_scope, open_scopes
from tensorgrad import Tensor, nn
from viz import scope


@pytest.fixture(autouse=True)
def _all_closed():
    yield
    assert current_scope() is None
    assert open_scopes == []


def path(node):
    """The names of the scopes that a node was made in, outer ones first."""
    names, found = [], node._scope
    while found is not None:
        names.append(found.name)
        found = found.parent
    return "/".join(reversed(names))


MAKE = [Value, lambda x: Tensor(x, requires_grad=True)]


@pytest.mark.parametrize("make", MAKE)
def test_a_node_knows_where_it_was_made(make):
    outside = make(2.0)
    with scope("a"):
        inside = make(3.0)
        with scope("b"):
            product = outside * inside
        total = product + outside
    after = total * 2.0
    assert [path(x) for x in (outside, inside, product, total, after)] == ["", "a", "a/b", "a", ""]


def test_two_entries_are_two_scopes():
    both = scope("a")
    with both:
        first, also = Value(1.0), Value(2.0)
    with both:
        second = Value(1.0)
    assert first._scope is also._scope
    assert first._scope is not second._scope
    assert first._scope.number < second._scope.number


def test_one_scope_may_stand_in_itself():
    again = scope("a")
    with again, again:
        assert path(Value(1.0)) == "a/a"


@pytest.mark.parametrize("name", [None, 3, Value(1.0), test_one_scope_may_stand_in_itself])
def test_a_name_is_a_string(name):
    with pytest.raises(TypeError, match="a scope has a name"):
        scope(name)


def test_an_exception_leaves_the_scope():
    with pytest.raises(KeyError), scope("a"), scope("b"):
        raise KeyError
    assert current_scope() is None


def test_a_decorated_function():
    @scope("f")
    def f(x, y=2.0):
        """Doubles."""
        return x * y

    a, b = f(Value(1.0)), f(Value(1.0), y=3.0)
    assert (path(a), path(b)) == ("f", "f")
    assert a._scope is not b._scope
    assert f.__doc__ == "Doubles."
    assert str(inspect.signature(f)) == "(x, y=2.0)"


def test_a_decorated_generator_is_in_its_scope_while_it_runs():
    closed = []

    @scope("g")
    def g(x):
        try:
            got = yield x * 2.0
            yield x * got
            return path(x * 3.0)
        finally:
            closed.append(path(x * 4.0))

    x, steps = Value(1.0), g(Value(1.0))
    first = next(steps)
    between = x * 2.0
    second = steps.send(5.0)
    assert [path(v) for v in (first, between, second)] == ["g", "", "g"]
    assert first._scope is second._scope
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert (stop.value.value, closed) == ("g", ["g"])
    thrown = g(Value(1.0))
    next(thrown)
    with pytest.raises(KeyError):
        thrown.throw(KeyError())
    dropped = g(Value(1.0))
    next(dropped)
    dropped.close()
    assert closed == ["g"] * 3


def test_a_generator_that_is_dropped_inside_a_with():
    def g():
        with scope("inner"):
            yield Value(1.0)

    with scope("outer"):
        steps = g()
        next(steps)
    assert current_scope() is None
    steps.close()
    assert path(Value(1.0)) == ""


def test_scopes_closed_in_another_order():
    def g(name):
        with scope(name):
            yield
            yield

    a, b = g("a"), g("b")
    next(a)
    next(b)
    a.close()
    b.close()
    assert path(Value(1.0)) == ""


def test_each_thread_has_its_own():
    found, entered, checked = [], threading.Event(), threading.Event()

    def work():
        found.append(path(Value(1.0)))
        with scope("theirs"):
            entered.set()
            checked.wait(10)
            found.append(path(Value(1.0)))

    with scope("ours"):
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait(10)
        found.append(path(Value(1.0)))
        checked.set()
        thread.join()
    assert found == ["", "ours", "theirs"]


def test_each_task_has_its_own():
    @scope("task")
    async def task(x):
        await asyncio.sleep(0)
        return x * 2.0

    async def both():
        return await asyncio.gather(task(Value(1.0)), task(Value(1.0)))

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs: that of a browser's test
        a, b = thread.submit(lambda: asyncio.run(both())).result()
    assert (path(a), path(b)) == ("task", "task")
    assert a._scope is not b._scope


def test_an_asynchronous_generator_is_refused():
    async def g():
        yield 1

    with pytest.raises(TypeError, match="asynchronous generator"):
        scope("a")(g)
    with pytest.raises(TypeError, match="decorates a function"):
        scope("a")(3)


def test_modules_of_micrograd_are_scopes():
    net = MLP(2, [2, 1])
    out = net([1.0, 2.0])
    assert {path(v) for v in topological_order(out)} == {"", "MLP/Layer/Neuron"}
    assert out._scope.module is net.layers[1].neurons[0]
    assert out._scope.kind == "neuron"
    assert len({v._scope for v in topological_order(out)} - {None}) == 3


def test_a_users_module_of_micrograd():
    class Double(Module):
        def __call__(self, x):
            """Twice x."""
            return x * 2.0

    class More(Double):
        def __call__(self, x):
            return super().__call__(x) + 1.0

    class Same(Double):
        pass

    out = More()(Value(1.0))
    assert [path(v) for v in (out, out._prev[0])] == ["More", "More"]
    assert out._scope is out._prev[0]._scope
    assert path(Same()(Value(1.0))) == "Same"
    assert Double.__call__.__doc__ == "Twice x."
    assert str(inspect.signature(Double())) == "(x)"
    assert str(inspect.signature(Neuron.__call__)) == "(self, x: 'Iterable[Value | Number]') -> 'Value'"


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def forward(self, x):
        return self.inner(self.inner(x)) * 2.0


def test_modules_of_tensorgrad_are_scopes():
    net = Twice()
    net.register_forward_hook(lambda module, args, out: out + 1.0)
    out = net(Tensor([[1.0, 2.0]]))
    paths = [path(v) for v in topological_order(out) if v._prev]
    assert paths == [*["Twice/Sequential/Linear", "Twice/Sequential/Tanh"] * 2, "Twice", "Twice"]
    assert len({v._scope for v in topological_order(out) if v._prev}) == 5


def test_a_forward_that_raises_leaves_the_scope():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError(x)

    with pytest.raises(KeyError):
        Broken()(1)
    with pytest.raises(ValueError, match="takes 2 inputs, got 1"):
        Neuron(2)([1.0])


def test_an_assignment_in_place_is_where_it_was_made():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with scope("first"):
        y = x * 2.0
    with scope("second"):
        y[0] = x[1]
    assert path(y) == "second"
    assert path(y._prev[0]) == "first"


@pytest.mark.parametrize("make", MAKE)
def test_copies_were_made_nowhere(make):
    with scope("a"):
        x = make(2.0)
    x.label = "x"
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (twin._scope, twin.label, float(twin.data)) == (None, "x", 2.0)
    with scope("b"):
        y = make(1.0) * x
    assert copy.deepcopy(y)._scope is None


def test_nothing_is_kept_alive_and_there_are_no_cycles():
    gc.collect()
    gc.disable()
    try:
        net = MLP(2, [2, 1])
        out = net([1.0, 2.0])
        gone = [weakref.ref(net), weakref.ref(net.layers[0])]
        kept = out._scope
        del net
        assert [ref() for ref in gone] == [None, None]
        assert kept.module is None
        ended = weakref.ref(kept)
        del out, kept
        assert ended() is None
    finally:
        gc.enable()


def test_a_module_that_takes_no_weak_references():
    with module_scope((1, 2)) as entered:
        assert path(Value(1.0)) == "tuple"
    assert entered.module is None


def test_repr_names_the_scopes_around():
    with scope("a"), scope("b"):
        assert repr(Value(1.0)._scope) == "<Scope a > b>"
