"""viz.memory: every array that a graph keeps, counted once, as a walk over the live objects finds them."""

from __future__ import annotations

import gc
import json
import math
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from graphs import deep
from ops_table import calls

import tensorgrad
import viz
from micrograd import Value
from micrograd.backprop import Node
from micrograd.nn import MLP
from tensorgrad import Tensor, lean_graph, lift, nn, no_grad
from tensorgrad.autograd.function import Function
from tensorgrad.holding import held
from tensorgrad.models.gpt import GPT, GPTConfig
from tensorgrad.nn import functional as F
from tensorgrad.node import record
from tensorgrad.utils.checkpoint import checkpoint
from viz.comparison import lifted
from viz.errors import UserError
from viz.memory.measure import memory_of
from viz.memory.result import KINDS
from viz.memory.sizes import in_megabytes, in_words

ROOT = Path(__file__).parent.parent
Loss = Callable[[], Tensor]


def leaf(*shape: int) -> Tensor:
    return tensorgrad.randn(*shape, requires_grad=True)


def reachable(root: Any) -> int:
    """The bytes of all arrays that Python's collector can reach from an object, each memory once."""
    memories: dict[int, int] = {}
    seen: set[int] = set()
    stack = [root]
    while stack:
        x = stack.pop()
        if id(x) in seen or isinstance(x, (type, ModuleType, CodeType)):
            continue
        seen.add(id(x))
        if isinstance(x, np.ndarray):
            while isinstance(x.base, np.ndarray):
                x = x.base
            memories[id(x)] = x.nbytes
        elif isinstance(x, FunctionType):  # not its module's variables
            stack += [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
        else:
            stack += gc.get_referents(x)
    return sum(memories.values())


@pytest.fixture(autouse=True)
def _seeded() -> None:
    tensorgrad.manual_seed(0)


# -- what is counted is what is there ----------------------------------------------------------------------------------


def small_gpt(**given: Any) -> tuple[GPT, Tensor]:
    config = GPTConfig(vocabulary=30, context=8, blocks=2, heads=2, width=16, **{"dropout": 0.1, **given})
    model, tokens = GPT(config), tensorgrad.randint(0, 30, (2, 8))
    return model, F.cross_entropy(model(tokens).view(-1, 30), tokens.view(-1))


def checkpointed() -> Tensor:
    block, x, scale = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.5)), leaf(4, 6), leaf(6)
    return (checkpoint(block, x) + checkpoint(lambda a, b=scale: (a * b).tanh(), x)).sum()


def views() -> Tensor:
    x = leaf(6, 4)
    y = x.tanh()
    return (y[1:3].reshape(8) * y.transpose(0, 1).reshape(-1)[:8] * x.view(24)[::3] * x.detach()[0, 0]).sum()


def several() -> Tensor:
    a, b, c = (leaf(9, 2) * 2).split(3)
    values, places = leaf(4, 5).max(dim=1)
    return (a * b).sum() + c.exp().sum() + values.sum() + places.sum()


class Twice(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x, x * 2)
        ctx.extra = {"kept": np.ones(5)}
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g * 2


def holds_a_graph() -> Tensor:
    """A rule that holds the result of another graph, which lives as long as it."""
    x, other = leaf(3), (leaf(3, 3) @ leaf(3)).tanh()
    return record("scaled", x.data * other.data, (x, lambda g: g * other.data)).sum()


PROGRAMS: dict[str, Loss] = {
    "MLP": lambda: deep()[1],
    "GPT": lambda: small_gpt()[1],
    "GPT, tied, no bias": lambda: small_gpt(bias=False, dropout=0.0)[1],
    "checkpoint": checkpointed,
    "views": views,
    "several results": several,
    "Function": lambda: Twice.apply(leaf(4, 3)).sum(),
    "a graph in a rule": holds_a_graph,
    "dropout and norms": lambda: F.dropout(F.layer_norm(leaf(5, 8), 8, leaf(8)), 0.3).pow(2).mean(),
}


@pytest.mark.parametrize("lean", [False, True], ids=["", "lean"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_sum_is_what_the_collector_reaches(program: str, lean: bool):
    if lean:
        with lean_graph():
            loss = PROGRAMS[program]()
    else:
        loss = PROGRAMS[program]()
    loss = loss * 1.0  # so that nothing of the graph hangs on this tensor but through its operands
    found = viz.memory(loss)
    assert found.total == reachable(loss) == sum(found.totals.values())
    assert found.gradients == 0
    loss.backward()
    found = viz.memory(loss)
    assert found.total == reachable(loss)
    assert found.gradients > 0


def test_so_it_is_for_every_operation():
    rng = np.random.default_rng(7)
    looked_at = 0
    for name, case, shapes in calls():
        operands = [Tensor(x, requires_grad=True) for x in case.sample(rng, shapes)]
        root = case.function(tensorgrad, *operands)
        if isinstance(root, Tensor) and root._prev:
            assert viz.memory(root).total == reachable(root), name
            looked_at += 1
    assert looked_at > 300


def test_memory_that_is_not_an_arrays_own():
    x = np.arange(12.0)
    assert memory_of(x[2:5][::2]) == (x, 96)
    assert memory_of(np.lib.stride_tricks.sliding_window_view(x, 3)) == (x, 96)
    assert memory_of(np.broadcast_to(x, (100, 12)))[1] == 96
    assert memory_of(np.asarray(memoryview(x)))[0] is x
    data = bytes(80)
    assert memory_of(np.frombuffer(data)[3:]) == (data, 80)
    windows, rows = np.lib.stride_tricks.sliding_window_view(x, 3), np.broadcast_to(x[:3], (10, 3))
    y = leaf(10, 3)
    loss = record("scaled", y.data * windows * rows, (y, lambda g: g * windows * rows)).sum()
    assert viz.memory(loss).saved == 96


# -- what a rule holds -------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


class Slotted:
    __slots__ = ("__weakref__", "array", "other")


def test_held_looks_into_whatever_a_rule_may_keep_its_arrays_in():
    arrays = [np.full(2, float(i)) for i in range(14)]
    slotted, plain = Slotted(), type("Plain", (), {})()
    slotted.array, plain.field = arrays[0], arrays[1]
    tensor = Tensor(arrays[2])
    arrays[2] = tensor.data  # its own

    def generating(array: np.ndarray) -> Iterator[int]:
        local = array
        del array
        yield 1
        print(local)

    generator = generating(arrays[3])
    next(generator)

    def made(inside: np.ndarray) -> Callable[[], Any]:
        return lambda: lambda: inside

    def rule(g: Any, default: Any = arrays[5], *, keyword: Any = arrays[6]) -> Any:
        return slotted, plain, tensor, generator, closure, pair, method, partially, queue, np, Slotted

    closure = made(arrays[4])()
    pair, method = Pair(arrays[7], {"a": [arrays[8]]}), arrays[9].dot
    partially, queue = partial(np.add, arrays[10]), deque([arrays[11]])
    rule.attribute = arrays[12]
    found = list(held((rule, map(abs, [arrays[13]]))))
    assert len(found) == len({id(x) for x in found}) == len(arrays)
    for i, array in enumerate(arrays):
        assert any((x._data if isinstance(x, Node) else x) is array for x in found), i
    assert sum(isinstance(x, Node) for x in found) == 1


# -- the kinds ---------------------------------------------------------------------------------------------------------


def test_each_kind_by_hand():
    x, w = Tensor(np.ones((4, 3))), leaf(3, 2)
    loss = (x @ w).tanh().sum()
    found = viz.memory(loss)
    # tanh keeps its result, (4, 2) float32 or float64; the product that it read, and the sum, are only looked at
    size = loss.data.itemsize
    expected = {"weights": w.data.nbytes, "inputs": 96, "saved": 8 * size, "shown": 8 * size + size}
    assert {kind: n for kind, n in found.totals.items() if n} == expected
    assert set(found.totals) == set(KINDS)
    (saved,) = [row for row in found.rows if row.kind == "saved"]
    assert (saved.shape, saved.op, saved.made_by, saved.where) == ((4, 2), "tanh", "tanh", "the result of tanh")
    assert (found.peak, found.added) == (None, None)
    loss.backward()
    after = viz.memory(loss)
    assert after.total - after.gradients == found.total
    assert {row.op for row in after.rows if row.kind == "gradients"} >= {"", "tanh"}


def test_shared_memory_is_counted_once_and_says_who_shares_it():
    x = leaf(8, 8)
    y = x.exp()
    loss = (y * y[2:3] + y.tanh()).sum()
    (row,) = [r for r in viz.memory(loss).rows if r.made_by == "exp"]
    assert (row.bytes, row.shape, row.kind) == (y.data.nbytes, (8, 8), "saved")
    assert row.op == "exp"
    assert row.held_by[0] == "exp"
    assert "*" in row.held_by
    assert row.nodes >= 3  # exp, the slice of it, and the product
    only = [r for r in viz.memory(F.dropout(leaf(9), 0.5).sum()).rows if r.kind == "saved"]
    assert only
    assert all(r.where == "only in the rule of dropout" for r in only)


def test_a_model_says_what_the_weights_are_and_an_optimizer_what_it_remembers():
    model, loss = small_gpt()
    model.unused = nn.Linear(5, 5)
    optimizer = tensorgrad.optim.AdamW(model.parameters())
    weights = sum(p.data.nbytes for p in model.parameters())
    assert viz.memory(loss).weights == weights - 30 * 4
    found = viz.memory(loss, model=model, optimizer=optimizer)
    assert (found.weights, found.optimizer, found.gradients) == (weights, 0, 0)  # None is not zero
    loss.backward()
    optimizer.step()
    after = viz.memory(loss, model=model, optimizer=optimizer)
    trained = weights - 30 * 4
    names = {row.name for row in after.rows if row.kind == "optimizer"}
    assert names == {"exp_avg", "exp_avg_sq", "step"}
    steps = len(optimizer.state) * 4
    assert after.optimizer == 2 * trained + steps
    x = leaf(2, 5)
    only = viz.memory(model.unused(x).sum(), model=model.unused)
    assert (only.weights, only.inputs) == (30 * 4, x.data.nbytes)  # an input that takes a gradient is no weight


def test_a_lean_graph_shows_nothing_and_saves_the_same():
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh())
    x, constant = leaf(16, 8), Tensor(np.ones((16, 8), dtype=np.float32))
    plain = viz.memory((net(x) * constant).sum())
    with lean_graph():
        lean = viz.memory((net(x) * constant).sum())
    assert plain.shown > 16 * 8 * 4 * 2
    assert lean.shown < 64
    for kind in ("weights", "inputs", "saved"):
        assert [(r.bytes, r.where, r.held_by) for r in lean.rows if r.kind == kind and r.bytes > 4] == [
            (r.bytes, r.where, r.held_by) for r in plain.rows if r.kind == kind
        ]


def test_of_a_tensor_that_is_an_operand_in_a_lean_graph_the_nodes_of_the_graph_are_counted():
    x = leaf(8)
    with lean_graph():
        y = x.exp().tanh()
        _used = y * 2
    found = viz.memory(y, gradient=np.ones(8, dtype=np.float32), peak=True)
    assert found.count == 3
    assert found.shown < 8 * 4
    assert found.added > 0


# -- tables ------------------------------------------------------------------------------------------------------------


def test_figure_11_comes_out_of_the_table():
    net, loss = deep()
    (tanh,) = [group for group in viz.memory(loss, model=net).by_op() if group.name == "tanh"]
    assert (tanh.operations, tanh.arrays, tanh.each, tanh.saved) == (10, 10, 64 * 1024, 640 * 1024)
    assert "tanh                  10      10  64 KiB  640 KiB        0          0  640 KiB" in str(viz.memory(loss))
    loss.backward()
    (line,) = [line for line in str(viz.memory(loss)).splitlines() if line.startswith("linear ")]
    assert line.split() == "linear 10 0 – 0 640 KiB 640 KiB 1.3 MiB".split()


def norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * w + b


class Written(nn.Module):
    """A transformer block of elementary operations."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        shapes = {
            "qkv": (width, 3 * width),
            "proj": (width, width),
            "up": (width, 4 * width),
            "down": (4 * width, width),
        }
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(tensorgrad.randn(*shape)))
            setattr(self, f"{name}_bias", nn.Parameter(tensorgrad.zeros(shape[1])))
        for name in ("w1", "b1", "w2", "b2"):
            setattr(self, name, nn.Parameter(tensorgrad.ones(width)))

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        parts = norm(x, self.w1, self.b1) @ self.qkv + self.qkv_bias
        q, k, v = (part.view(B, T, self.heads, -1).transpose(1, 2) for part in parts.split(C, dim=2))
        scores = (q @ k.transpose(-2, -1) / math.sqrt(C // self.heads)).masked_fill(
            tensorgrad.ones(T, T).tril() == 0, -math.inf
        )
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + (y @ self.proj + self.proj_bias)
        up = norm(x, self.w2, self.b2) @ self.up + self.up_bias
        return x + (F.gelu(up) @ self.down + self.down_bias)


def test_a_transformer_block_is_about_50_operations():
    block = Written(8, 2)
    found = viz.memory(block(leaf(2, 4, 8)), model=block)
    assert str(found).splitlines()[0] == f"{len(found.operations)} operations"
    assert 45 <= len(found.operations) <= 55
    assert [(group.name, group.operations) for group in found.by_module()] == [("Written", len(found.operations))]


def test_tables_by_module_and_shape_add_up():
    model, loss = small_gpt()
    loss.backward()
    found = viz.memory(loss, model=model)
    held_by_results = sum(row.bytes for row in found.rows if row.kind == "gradients" and row.op)
    for by in ("op", "module", "shape"):
        groups = found.groups(by)
        assert sum(group.saved for group in groups) == found.saved
        assert sum(group.shown for group in groups) == found.shown
        assert sum(group.gradients for group in groups) == held_by_results
        assert sum(group.operations for group in groups) == len(found.operations)
        assert [group.total for group in groups] == sorted((group.total for group in groups), reverse=True)
    modules = {group.name: group for group in found.by_module()}
    assert {"blocks.0.norm1", "blocks.1.mlp.up", "head", "(outside of modules)"} <= set(modules)
    alike = {group.name: group for group in found.by_module(alike=True)}
    both = modules["blocks.0.mlp.down"].saved + modules["blocks.1.mlp.down"].saved
    assert alike["blocks.*.mlp.down"].saved == both
    named = {group.name for group in viz.memory(loss).by_module()}
    assert {"GPT.blocks.0.norm1", "GPT.blocks.1.mlp.up", "GPT.head"} <= named
    assert "2x8x64 float32" in {group.name for group in found.by_shape()}
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (told["saved"], told["total"], told["peak"]) == (found.saved, found.total, None)
    assert len(told["rows"]) == len(found.rows)
    assert found.table("shape").count("\n\n") == 1
    assert repr(found).startswith("<Memory of ")


def test_sizes_are_told_in_one_kind_of_unit():
    assert [in_words(n) for n in (0, 1, 1000, 65536, 655360, 1310720)] == [
        "0",
        "1 byte",
        "1,000 bytes",
        "64 KiB",
        "640 KiB",
        "1.3 MiB",
    ]
    assert [in_megabytes(n) for n in (0, 20, 50_000, 497_759_232, 6_500_000_000)] == [
        "0",
        "< 0.1 MB",
        "0.1 MB",
        "497.8 MB",
        "6,500 MB",
    ]


# -- single numbers ----------------------------------------------------------------------------------------------------


def test_nodes_of_single_numbers_are_python_objects():
    a, b = Value(2.5), Value(-3.5)
    loss = a * b + a
    found = viz.memory(loss)
    assert found.count == 4
    assert found.weights == 2 * sys.getsizeof(2.5)
    assert found.shown == 2 * sys.getsizeof(2.5)
    same = 1.5
    assert viz.memory(Value(same) * Value(same)).weights == sys.getsizeof(same)  # one object
    pair = sys.getsizeof((1, 2))
    assert found.nodes == sum(map(sys.getsizeof, (a, b, loss, loss._prev[0]))) + 2 * pair
    assert found.gradients == 0
    assert f"{found.total / 4:,.0f} bytes a node" in str(found)
    loss.backward()
    assert viz.memory(loss).gradients > 0
    net = MLP(2, [3, 1])
    assert viz.memory(net([1.0, 2.0]), model=net, peak=True).added > 0
    grads = [p.grad for p in net.parameters()]
    assert grads == [0.0] * len(grads)


def test_the_elements_of_an_array_of_values_are_counted_with_their_graph():
    with lift.lifting(lifted._LIFTER):
        x = Tensor(np.ones(3), requires_grad=True)
        found = viz.memory((x * x).sum())
    values = [row for row in found.rows if row.dtype == "float"]
    assert {row.kind for row in values} == {"weights", "saved", "shown", "nodes"}
    assert found.nodes > 8 * sys.getsizeof(Value(1.0))  # three leaves, three products, two sums or more


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_what_has_no_graph_is_refused():
    x = leaf(3)
    with no_grad():
        constant = x * 2
    for wrong, told in (
        (constant, "requires no gradient, so no graph was recorded"),
        (Tensor(np.ones(2)), "requires no gradient"),
        (x, "this is a leaf, which no operation made"),
        (Value(1.0), "this is a leaf"),
    ):
        with pytest.raises(UserError, match=told):
            viz.memory(wrong)
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got float"):
        viz.memory(1.0)
    loss = (x * x).sum()
    with pytest.raises(UserError, match=r"model= takes a Module, with parameters\(\), got a int"):
        viz.memory(loss, model=3)
    with pytest.raises(UserError, match=r"optimizer= takes an optimizer of tensorgrad.optim, got a str"):
        viz.memory(loss, optimizer="adam")
    with pytest.raises(UserError, match="got the class Linear itself: give an object of it"):
        viz.memory(loss, model=nn.Linear)
    other = type("Other", (), {"parameters": lambda self: [np.ones(2)], "state": {1: 2}})()  # as of another library
    with pytest.raises(UserError, match=r"among the parameters of this Other is a numpy.ndarray"):
        viz.memory(loss, model=other)
    with pytest.raises(UserError, match=r"an optimizer of tensorgrad.optim, got a Other"):
        viz.memory(loss, optimizer=other)
    for by in ("ops", None):
        with pytest.raises(UserError, match="by op, module or shape, got"):
            viz.memory(loss).table(by)
        with pytest.raises(UserError, match="by op, module or shape, got"):
            viz.memory(loss).groups(by)
    halted = x.tanh()
    halted.register_hook(lambda g: tracemalloc.stop())
    with pytest.raises(UserError, match="a hook or a rule has stopped tracemalloc"):
        viz.memory(halted.sum(), peak=True)
    assert x._grad is None
    with pytest.raises(UserError, match="add peak=True"):
        viz.memory(loss, retain_graph=False)
    with pytest.raises(RuntimeError, match="gradient"):
        viz.memory(x * x, peak=True)
