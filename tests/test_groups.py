"""The groups that a page shows a graph in: what is in which, what they are called, and how much a level shows."""

from __future__ import annotations

import random
import sys
from collections import Counter
from contextlib import ExitStack
from graphlib import TopologicalSorter
from pathlib import Path
from time import process_time

import pytest
import stepper
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorgrad as torch
from micrograd import Value
from micrograd.backprop import topological_order
from micrograd.nn import MLP, Module, Neuron
from tensorgrad import nn
from tensorgrad.nn import functional as F
from viz import scope
from viz.graph import describe
from viz.grouping.arrange import MOST, SMALL
from viz.groups import group_tree

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from gpt_block import Block


class Tree:
    """The groups of a graph, checked to be well formed, with the questions that the tests ask."""

    def __init__(self, root, **namespace):
        self.order = topological_order(root)
        graph = describe(self.order, namespace, contributions=False)
        start = process_time()
        groups = group_tree(self.order, graph, namespace)
        self.seconds = process_time() - start
        self.records, self.of = groups.records, groups.of
        self.names = [node.name for node in graph.nodes]
        self.shown = Counter([*self.of, *(record["parent"] for record in self.records[1:])])
        self._check()

    def _check(self):
        assert len(self.of) == len(self.order)
        assert set(self.of) <= set(range(len(self.records)))
        assert (self.records[0]["parent"], self.records[0]["kind"]) == (-1, "whole")
        assert self.records[0]["label"] == self.names[-1]
        for i, record in enumerate(self.records[1:], 1):
            assert 0 <= record["parent"] < i
            assert record["label"]
            assert record["kind"]
            assert self.shown[i], "an empty group"
            assert (record["copies"] > 1) == (record["kind"] == "fold")
        if len(self.order) > SMALL:
            assert max(self.shown.values()) <= MOST

    def path(self, i):
        """The labels of the groups that node number i is in, outer ones first, without the whole."""
        return self._labels(self.of[i])

    def _labels(self, group):
        labels = []
        while group:
            labels.append(self.records[group]["label"])
            group = self.records[group]["parent"]
        return " > ".join(reversed(labels))

    def paths(self):
        return {self._labels(i) for i in range(1, len(self.records))}

    def named(self, name):
        return self.path(self.names.index(name))

    def levels_without_circles(self):
        """Whether the boxes of each level, with their edges, are a graph without circles."""
        below = {}
        index = {node: i for i, node in enumerate(self.order)}
        for child, node in enumerate(self.order):
            for parent in node._prev:
                a, b = self._chain(index[parent]), self._chain(child)
                depth = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), None)
                assert depth is not None
                below.setdefault(a[depth - 1], {}).setdefault(b[depth], set()).add(a[depth])
        for level in below.values():
            list(TopologicalSorter(level).static_order())  # raises CycleError
        return True

    def _chain(self, i):
        chain, group = [("node", i)], self.of[i]
        while group >= 0:
            chain.append(("group", group))
            group = self.records[group]["parent"]
        return chain[::-1]


def test_a_graph_without_scopes_is_one_group():
    tree = Tree(stepper.seven(Value))
    assert (len(tree.records), tree.of) == (1, [0] * 7)


def test_a_net_called_once():
    net = MLP(3, [4, 4, 1])
    x = [Value(1.0, label="x"), 2.0, 3.0]
    tree = Tree(net(x), net=net)
    assert len(tree.records) == 1 + 1 + 3 + 9
    assert tree.path(len(tree.order) - 1) == "net > layers[2] > neurons[0]"
    assert tree.named("net.layers[1].neurons[2].w[0]") == "net > layers[1] > neurons[2]"
    assert tree.named("x") == "net > layers[0]"
    kinds = [record["kind"] for record in tree.records]
    assert Counter(kinds) == {"whole": 1, "mlp": 1, "layer": 3, "neuron": 9}


def test_an_input_that_is_used_outside_too_stays_outside():
    net, x = MLP(1, [2]), Value(1.0, label="x")
    a, b = net([x])
    tree = Tree(a * b + x, net=net)
    assert tree.named("x") == ""


def test_the_net_on_four_examples():
    random.seed(1)
    model = MLP(3, [4, 4, 1])
    loss = sum((model([1, 2, i]) - 1) ** 2 for i in range(4))
    tree = Tree(loss, model=model)
    assert len(tree.order) == 394
    assert tree.shown[0] <= 20
    assert tree.records[1] == {"label": "model × 4", "kind": "fold", "parent": 0, "copies": 4}
    inside = [record["label"] for record in tree.records if record["parent"] == 1]
    assert inside == ["model parameters", "model", "model, call 2", "model, call 3", "model, call 4"]
    weight = tree.named("model.layers[1].neurons[2].w[0]")
    assert weight == "model × 4 > model parameters > layers[1] > neurons[2]"
    assert tree.levels_without_circles()
    assert max(tree.shown.values()) <= 20


def test_the_program_of_the_page_tests():
    tree = Tree(stepper.net())
    assert tree.records[1]["label"] == "MLP × 4"  # no variable leads to it


class GPT(nn.Module):
    def __init__(self, symbols=9, width=8, heads=2, context=6, blocks=4):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, idx):
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def test_a_gpt_of_four_blocks():
    model, idx = GPT(), torch.tensor([[0, 1, 2, 3, 4, 5]])
    loss = F.cross_entropy(model(idx)[0], torch.tensor([1, 2, 3, 4, 5, 6]))
    tree = Tree(loss, model=model)
    fold = "model > blocks × 4"
    assert {fold, f"{fold} > blocks[0]", f"{fold} > blocks[3] > qkv", "model > norm"} <= tree.paths()
    assert tree.named("model.blocks[2].up.weight") == f"{fold} > blocks[2] > up"
    assert tree.named("model.tokens.weight") == "model"  # tied: the head uses it too
    assert [record["copies"] for record in tree.records if record["kind"] == "fold"] == [4]
    assert max(tree.shown.values()) <= 20
    assert tree.levels_without_circles()


def test_two_blocks_are_not_folded():
    model = GPT(blocks=2)
    tree = Tree(model(torch.tensor([[0, 1, 2]])).sum(), model=model)
    assert {"model > blocks[0]", "model > blocks[1]"} <= tree.paths()
    assert "fold" not in {record["kind"] for record in tree.records}


def test_blocks_that_differ_are_not_folded():
    model = GPT(blocks=5)
    model.blocks[2].heads = 1
    model.blocks[2].up = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
    tree = Tree(model(torch.tensor([[0, 1, 2]])).sum(), model=model)
    assert "fold" not in {record["kind"] for record in tree.records}


def test_many_neurons_fold_and_few_do_not():
    layer = MLP(2, [20, 1])
    tree = Tree(layer([1.0, 2.0]), net=layer)
    assert "net > layers[0] > neurons[19]" in tree.paths()
    outputs = [Neuron(2)([1.0, 2.0]) for _ in range(20)]
    tree = Tree(sum(outputs))
    assert tree.records[1]["label"] == "Neuron × 20"


def test_a_cell_in_a_loop():
    """The first call uses a leaf of its own; the nodes between the calls are in the fold, or it would use itself."""

    class Cell(Module):
        def __init__(self):
            self.inner = [Neuron(2), Neuron(2)]

        def __call__(self, x, h):
            return self.inner[0]([x, h]) * self.inner[1]([h, x])

    cell, h, start = Cell(), Value(0.5), Value(0.5, label="start")
    h = start
    for i in range(6):
        h = cell(i, h).tanh()
    tree = Tree(h, cell=cell)
    assert {"cell × 6", "cell × 6 > cell, call 6 > inner[1]"} <= tree.paths()
    assert tree.named("start") == "cell × 6 > cell"
    assert tree.levels_without_circles()


def test_a_module_that_is_used_twice_and_one_weight_in_two_modules():
    first, second = Neuron(1), Neuron(1)
    second.w = first.w
    x = Value(1.0, label="x")
    tree = Tree(first([first([x])]) * second([x]), first=first, second=second)
    assert tree.paths() == {"first", "first, call 2", "second"}
    assert tree.named("first.w[0]") == ""
    assert tree.named("second.b") == "second"


def test_modules_in_lists_and_dictionaries_are_named():
    nets = [Neuron(1), Neuron(1)]
    held = {"a": Neuron(1)}
    out = nets[1]([1.0]) + held["a"]([nets[0]([2.0])])
    assert Tree(out, nets=nets, held=held).paths() == {"nets[0]", "nets[1]", "held['a']"}
    assert Tree(out).paths() == {"Neuron", "Neuron (2)", "Neuron (3)"}


def test_calls_of_one_module_and_modules_of_one_name_are_told_apart():
    first, second = Neuron(1), Neuron(1)
    out = first([second([first([1.0])])])
    assert Tree(out).paths() == {"Neuron", "Neuron (2)", "Neuron, call 2"}


def test_modules_that_are_gone_are_not_taken_for_one():
    out = Neuron(1)([Neuron(1)([1.0])])
    assert Tree(out).paths() == {"Neuron", "Neuron (2)"}


def test_parts_of_a_sequential():
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    tree = Tree(net(torch.ones(1, 2)).sum(), net=net)
    assert tree.paths() == {"net", "net > [0]", "net > [2]"}  # tanh alone is one node


def test_scopes_by_name():
    x, y = Value(2.0, label="x"), Value(3.0, label="y")
    with scope("outer"):
        z = x * y + 1.0
        with scope("inner"):
            z = (z * z + x).tanh()
    for _ in range(2):
        with scope("again"):
            z = z * y * 2.0
    tree = Tree(z)
    assert tree.paths() == {"outer", "outer > inner", "again", "again (2)"}
    assert (tree.named("x"), tree.named("y")) == ("outer", "")
    assert {record["kind"] for record in tree.records} == {"whole", "scope"}


def test_scopes_with_numbers_fold_under_what_they_share():
    x = Value(2.0, label="x")
    for i in range(14):
        with scope(f"step {i}"):
            x = (x * 2.0 + 1.0).tanh()
    tree = Tree(x * x)
    assert tree.records[1]["label"] == "step × 14"


def test_labels_are_short_and_on_one_line():
    with scope("a\n" * 200):
        out = Value(1.0) * 2.0 + 3.0
    assert len(Tree(out).records[1]["label"]) <= 60
    assert "\n" not in Tree(out).records[1]["label"]


def test_a_leaf_made_in_a_module_stays_there_and_one_in_a_named_scope_goes_with_its_user():
    class Start(Module):
        def __init__(self):
            self.neuron = Neuron(1)

        def __call__(self):
            zero = Value(0.0, label="zero")
            return self.neuron([zero])

    net = Start()
    with scope("all"):
        scale = Value(2.0, label="scale")
        out = net()
        with scope("scaled"):
            out = out * scale + 1.0
    tree = Tree(out * 2.0, net=net)
    assert (tree.named("zero"), tree.named("scale")) == ("all > net", "all > scaled")


def test_a_module_that_is_gone_has_the_name_of_its_class():
    assert Tree(Neuron(2)([1.0, 2.0]) + 1.0).records[1]["label"] == "Neuron"


def test_objects_around_that_cannot_be_looked_at():
    class Odd:
        @property
        def parameters(self):
            raise RuntimeError("not now")

    around = [Odd(), {"k": Odd()}, 3, "text", None]
    around.append(around)
    net = Neuron(2)
    order = topological_order(net([1.0, 2.0]))
    groups = group_tree(order, describe(order, {}, contributions=False), {"around": around, "net": net})
    assert groups.records[1]["label"] == "net"


@pytest.mark.parametrize("count", [50, 61, 400, 5_000])
def test_a_long_chain_is_cut_into_parts(count):
    x = Value(1.0, label="x")
    for _ in range(count):
        x = x.tanh()
    tree = Tree(x)
    assert (len(tree.records) == 1) == (count < SMALL)
    assert tree.levels_without_circles()
    assert {record["kind"] for record in tree.records} <= {"whole", "part"}


def test_100_000_nodes():
    x = v = Value(1.0)
    for i in range(99_000):
        v = v + x if i % 7 else v.tanh()
    tree = Tree(v)
    assert len(tree.order) > 90_000
    assert tree.seconds < 12  # 2 where nothing else runs


def test_many_calls():
    model = MLP(3, [8, 8, 1])
    tree = Tree(sum(model([1, 2, i]) ** 2 for i in range(100)), model=model)
    assert "model × 100" in tree.paths()
    assert "model × 100 > model, call 11 – model, call 20 > model, call 12 > layers[0] > neurons[3]" in tree.paths()


def test_a_long_sum():
    assert Tree(sum(Value(float(i)) for i in range(5_000))).levels_without_circles()


def test_one_node_with_many_operands():
    leaves = [Value(float(i)) for i in range(1_000)]
    tree = Tree(Value(0.0, leaves, "all", local=(1.0,) * 1_000) * 2.0)
    assert tree.levels_without_circles()


def test_scopes_in_each_other():
    def deeper(x, depth):
        with scope(f"d{depth}"):
            return deeper(x * 2.0, depth - 1) + x if depth else x * 3.0

    tree = Tree(deeper(Value(1.0), 200))
    assert len(tree.records) == 202
    assert tree.levels_without_circles()


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 300))
def test_any_program(chance, count):
    """Programs at random, in which scopes open and close and any earlier node may be used again."""
    nodes = [Value(1.0) for _ in range(3)]
    opened = []
    with ExitStack() as outermost:  # closes them where an example is given up, too
        for _ in range(count):
            done = chance.random()
            if done < 0.15 and len(opened) < 5:
                opened.append(outermost.enter_context(ExitStack()))
                opened[-1].enter_context(scope(chance.choice("abc")))
            elif done < 0.3 and opened:
                opened.pop().close()
            elif done < 0.4:
                nodes.append(Value(2.0))
            else:
                a, b = (chance.choice(nodes[-8:] if chance.random() < 0.8 else nodes) for _ in range(2))
                nodes.append(a + b if chance.random() < 0.5 else a * b)
    assert Tree(sum(nodes[-6:])).levels_without_circles()
