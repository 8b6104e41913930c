"""Records of a graph: keys, names, formulas, edges, gradients, and what each node sends."""

from collections import namedtuple

import numpy as np
import pytest

from micrograd.backprop import Node
from micrograd.engine import Value
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz.graph import snapshot
from viz.names import find_names

ENGINES = pytest.mark.parametrize(
    "make", [Value, lambda x: Tensor(float(x), requires_grad=True)], ids=["Value", "Tensor"]
)


def seven_nodes(make):
    a, b, c = make(2), make(-3), make(10)
    return (a * b + c).relu() * a, {"a": a, "b": b, "c": c}


@ENGINES
def test_titles_use_the_callers_variables_and_free_letters(make):
    a, b, c = make(2), make(-3), make(10)
    loss = (a * b + c).relu() * a
    titles = [node.title for node in snapshot(loss).nodes]
    assert titles == ["a", "b", "d = a*b", "c", "e = d + c", "f = relu(e)", "loss = f*a"]


@ENGINES
def test_a_namespace_and_labels_name_nodes(make):
    root, names = seven_nodes(make)
    names["a"].label = "weight"
    graph = snapshot(root, names)
    assert [node.name for node in graph.nodes] == ["weight", "b", "d", "c", "e", "f", "L"]


@ENGINES
def test_keys_are_the_same_in_every_run(make):
    first, second = (snapshot(*seven_nodes(make)) for _ in range(2))
    assert [(n.key, n.name, n.op, n.parents) for n in first.nodes] == [
        (n.key, n.name, n.op, n.parents) for n in second.nodes
    ]
    assert [n.key for n in first.nodes] == [f"n{i}" for i in range(7)]


@ENGINES
def test_a_square_as_a_product_has_two_edges_with_a_contribution_each(make):
    x = make(3)
    y = x * x
    y.backward()
    edges = snapshot(y).edges
    assert [(e.parent, e.child, e.slot, float(e.contribution)) for e in edges] == [
        ("n0", "n1", 0, 3.0),
        ("n0", "n1", 1, 3.0),
    ]


@ENGINES
def test_no_gradient_yet_is_not_zero(make):
    x = make(3)
    y = x * 0
    assert [n.grad for n in snapshot(y).nodes] == [None, None, None]
    y.backward()
    by_name = {n.name: n for n in snapshot(y).nodes}
    assert by_name["x"].grad == 0.0
    assert by_name["x"].grad is not None


@ENGINES
def test_a_snapshot_changes_no_gradient(make):
    root, names = seven_nodes(make)
    root.backward()
    snapshot(root)
    assert float(names["a"].grad) == -2.0
    root.backward()
    assert float(names["a"].grad) == -4.0


def test_constants_of_a_tensor_program_take_none():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * 3).sum()
    y.backward()
    constant = next(n for n in snapshot(y).nodes if n.name == "3")
    assert not constant.requires_grad
    assert constant.grad is None
    product = next(n for n in snapshot(y).nodes if n.op == "*")
    assert product.sent[1] is None
    np.testing.assert_array_equal(product.sent[0], [3.0, 3.0])


def test_a_parent_that_stopped_requiring_a_gradient_does_not_shift_the_others():
    w, x = Tensor([2.0], requires_grad=True), Tensor([3.0], requires_grad=True)
    y = (w * x).sum()
    y.backward()
    w.requires_grad = False
    product = next(n for n in snapshot(y).nodes if n.op == "*")
    np.testing.assert_array_equal(product.sent[1], [2.0])


def test_records_hold_copies():
    x = Tensor([1.0, 2.0], requires_grad=True)
    graph = snapshot(x.sum())
    x.data[0] = 9.0
    np.testing.assert_array_equal(graph.nodes[0].data, [1.0, 2.0])


def test_what_is_no_node_is_refused():
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got float"):
        snapshot(3.0)
    with pytest.raises(TypeError, match="did you mean one of its 2 elements"):
        snapshot([Value(1), Value(2)])


def test_parameters_of_networks_have_their_path_as_name():
    net = MLP(2, [2, 1])
    names = find_names({"net": net})
    assert names[net.layers[0].neurons[1].w[0]] == "net.layers[0].neurons[1].w[0]"
    assert len(names) == len(net.parameters())


def test_the_first_name_wins_and_hidden_names_do_not_count():
    x = Value(1)
    assert find_names({"_": x, "x": x, "xs": [x, x], "p": x}) == {x: "x"}


def test_a_notebooks_histories_give_no_names():
    x = Value(1)
    assert find_names({"In": ["x"], "Out": {1: x}, "_1": x, "x": x}) == {x: "x"}


def test_a_loop_variable_does_not_rename_a_parameter():
    net = MLP(1, [1])
    names = find_names({"net": net, "p": net.parameters()[-1]})
    assert sorted(names.values()) == ["net.layers[0].neurons[0].b", "net.layers[0].neurons[0].w[0]"]


def test_a_namespace_that_contains_itself_is_no_trap():
    loop = []
    loop.append(loop)
    assert find_names({"loop": loop}) == {}


def test_more_nameless_nodes_than_letters_are_called_by_their_place():
    x = Value(1.0)
    out = x
    for _ in range(30):
        out = out + x
    nodes = snapshot(out, {"x": x}).nodes
    assert nodes[0].name == "x"
    assert nodes[5].name == "n5"


def test_names_look_tensors_up_by_identity_without_comparing_them():
    x, y = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    assert [n.name for n in snapshot((x * y).sum()).nodes][:2] == ["x", "y"]


def test_nodes_of_any_engine_that_keeps_the_contract_are_drawn():
    class Plain(Node):
        def __init__(self, data, parents=()):
            self.data, self.grad, self._prev, self._op = data, None, parents, "plain" if parents else ""

    a = Plain(1.0)
    assert [n.title for n in snapshot(Plain(2.0, (a, a)), {"a": a}).nodes] == ["a", "L = plain(a, a)"]


def test_a_name_that_reads_like_a_number_is_the_users_all_the_same():
    nan = Value(3.0)
    x = Value(2.0)
    nodes = snapshot(x * nan + 5, {"nan": nan, "x": x}).nodes
    assert [(n.name, n.named) for n in nodes if n.is_leaf] == [("x", True), ("nan", True), ("5", False)]


def test_letters_of_other_variables_stay_free():
    x = Value(2.0)
    graph = snapshot((x * 3 + x).tanh(), {"x": x, "a": "unrelated", "c": 5, "L": [1]})
    assert [n.title for n in graph.nodes if not n.is_leaf] == ["b = x*3", "d = b + x", "e = tanh(d)"]


def test_an_array_operand_has_the_name_of_its_variable():
    X = np.ones((2, 3))
    w = Tensor(np.ones(3), requires_grad=True)
    assert [n.title for n in snapshot((X @ w).sum()).nodes] == ["X", "w", "a = X @ w", "L = sum(a)"]


def test_a_graph_is_short_at_the_prompt():
    x = Value(2.0)
    assert repr(snapshot(x * x)) == "<Graph of 2 nodes, root L = x*x>"


def test_parameters_deep_in_containers_keep_their_path():
    nets = [MLP(2, [2, 1])]
    net = nets[0]
    assert "nets[0].layers[0].neurons[0].w[0]" in find_names({"nets": nets, "net": net}).values()


def test_long_lists_of_data_do_not_hide_what_comes_after_them():
    rows = [[0.5] * 784 for _ in range(400)]
    net = MLP(1, [1])
    assert len(find_names({"rows": rows, "net": net})) == len(net.parameters())


class Net:
    """A network of a user's own, without `parameters()`."""

    def __init__(self):
        self.w = Value(2.0)


Pair = namedtuple("Pair", "weight bias")


def test_objects_of_the_programs_own_classes_give_names():
    net, pair = Net(), Pair(Value(1.0), Value(2.0))
    names = find_names({"__name__": __name__, "net": net, "pair": pair})
    assert list(names.values()) == ["net.w", "pair.weight", "pair.bias"]


def test_a_nameless_leaf_that_is_used_twice_is_no_literal():
    """Its variable has another value by now; a literal is a new node at each use."""
    n = Value(2.0)
    n = n * n + 3
    assert [node.name for node in snapshot(n, {}).nodes] == ["a", "b", "3", "L"]
