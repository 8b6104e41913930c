"""Pictures as DOT text: golden files, what labels say, and that every text survives a real dot program."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from graphs import seven_nodes

from micrograd import Value
from tensorgrad import Tensor
from viz import snapshot
from viz.dot import YELLOW, add_graph, edge_attributes, new_digraph, node_attributes, to_dot
from viz.errors import UserError
from viz.graph import Graph, NodeRecord
from viz.labels import CONSTANT, DIRECTIONS, NO_GRAD, contribution_label, escape, node_label, sign, tooltip
from viz.render import _graphviz_pure, run_dot

SVG = "{http://www.w3.org/2000/svg}"
XLINK_TITLE = "{http://www.w3.org/1999/xlink}title"
NBSP = "\N{NO-BREAK SPACE}"

HOSTILE = [
    'a"b',
    '"',
    "{x|y}",
    "<b>bold</b>",
    "<>",
    "\\N",
    "\\",
    "ends in \\",
    '\\"',
    "\\\\l\\r\\n",
    "&lt; &amp; &",
    "a -> b; }",
    "∂L/∂θ × Σ",
    "数 🙂",
    "%s {0} $x",
]


def square() -> tuple[Value, dict[str, Value]]:
    x = Value(3.0)
    return x * x, {"x": x}


def small_net() -> tuple[Tensor, dict[str, Tensor]]:
    """Numbers that give the same four decimals on every machine."""
    x = Tensor(np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]]))
    w = Tensor(np.array([[0.5, -0.25], [0.125, 1.0], [-0.5, 0.0]]), requires_grad=True)
    b = Tensor(np.array([0.1, -0.2]), requires_grad=True)
    return ((x @ w + b).tanh()).sum(), {"x": x, "w": w, "b": b}


@pytest.fixture(params=["graphviz-pure", "graphviz"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each of the two dot programs that is on this machine."""
    program = _graphviz_pure() if request.param == "graphviz-pure" else shutil.which("dot")
    if program is None:
        missing(f"{request.param} is not installed")
    monkeypatch.setenv("PLUSEQUALS_DOT", str(program))
    return Path(program)


def drawn(source: str) -> ElementTree.Element:
    return ElementTree.fromstring(run_dot(source, "svg"))


def groups(svg: ElementTree.Element, kind: str) -> dict[str, ElementTree.Element]:
    """The nodes or edges of an SVG by title; of two edges with one title the last."""
    return {g.find(f"{SVG}title").text: g for g in svg.iter(f"{SVG}g") if g.get("class") == kind}


def texts(element: ElementTree.Element) -> list[str]:
    return [(text.text or "").replace(NBSP, " ").strip() for text in element.iter(f"{SVG}text")]


# Golden files


@pytest.mark.parametrize(("make", "name"), [(seven_nodes, "seven"), (square, "square"), (small_net, "small_net")])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_golden(make, name, after, golden):
    root, names = make()
    if after:
        root.backward()
    golden(f"{name}-{'after' if after else 'before'}.dot", to_dot(snapshot(root, names)))


def test_golden_from_top_to_bottom(golden):
    root, names = small_net()
    root.backward()
    golden("small_net-after-TB.dot", to_dot(snapshot(root, names), "TB"))


def test_the_same_program_gives_the_same_text():
    first, second = (to_dot(snapshot(*seven_nodes())) for _ in range(2))
    assert first == second


# What a dot program makes of it


def test_seven_nodes_with_their_contributions(engine):
    root, names = seven_nodes()
    root.backward()
    svg = drawn(to_dot(snapshot(root, names)))
    nodes, edges = groups(svg, "node"), groups(svg, "edge")
    assert len(nodes) == 7 + 4
    assert len(edges) == 7 + 4
    assert texts(nodes["n0"]) == ["a", "data 2.0000", "grad −2.0000"]
    assert texts(nodes["n2op"]) == ["*"]
    assert texts(edges["n0->n2op"]) == ["← −6"]
    assert texts(edges["n0->n6op"]) == ["← +4"]
    assert svg.find(f"{SVG}g/{SVG}title").text == "L = f*a"


def test_a_square_draws_two_edges_each_with_its_contribution(engine):
    root, names = square()
    root.backward()
    svg = drawn(to_dot(snapshot(root, names)))
    between = [g for g in svg.iter(f"{SVG}g") if g.get("class") == "edge" and "n0->" in g.find(f"{SVG}title").text]
    assert [texts(edge) for edge in between] == [["← +3"], ["← +3"]]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_hostile_text_is_shown_as_it_is(engine, direction):
    values = [Value(1.0, label=name) for name in HOSTILE]
    root = sum(values[1:], values[0])
    for value in values:
        value_out = value.exp()
        value_out._op = value.label
        root = root + value_out
    root.label = "".join(HOSTILE)
    graph = snapshot(root, {})
    svg = drawn(to_dot(graph, direction))
    nodes = groups(svg, "node")
    named = {record.name: record for record in graph.nodes if record.is_leaf}
    for name in HOSTILE:
        group = nodes[named[name].key]
        assert texts(group)[0] == name
        assert next(a.get(XLINK_TITLE) for a in group.iter(f"{SVG}a")) == name
    operations = {texts(group)[0] for key, group in nodes.items() if key.endswith("op")}
    assert set(HOSTILE) <= operations


def test_long_and_unprintable_names_make_a_picture(engine):
    long, odd = Value(1.0, label="x" * 500), Value(2.0, label="bell\a null\0 half\ud800 line\nbreak")
    graph = snapshot(long * odd, {})
    nodes = groups(drawn(to_dot(graph)), "node")
    shown = {texts(nodes[record.key])[0] for record in graph.nodes if record.is_leaf}
    assert shown == {"x" * 39 + "…", "bell� null� half� line break"}


def test_arrays_show_their_elements(engine):
    root, names = small_net()
    root.backward()
    graph = snapshot(root, names)
    nodes = groups(drawn(to_dot(graph)), "node")
    weight = next(record for record in graph.nodes if record.name == "w")
    shown = texts(nodes[weight.key])
    assert shown[0] == "w  (3, 2) float64"
    assert shown[1:5] == ["data", "0.5000  −0.2500", "0.1250    1.0000", "−0.5000    0.0000"]


# Labels


def record(data, grad=None, *, requires_grad=True, name="x") -> NodeRecord:
    return NodeRecord("n0", name, "", "", (), data, grad, requires_grad, ())


def test_not_computed_zero_and_constant_read_differently():
    not_yet, zero, constant = record(1.0), record(1.0, 0.0), record(1.0, requires_grad=False)
    assert node_label(not_yet) == f"{{x|{{data 1.0000|{NO_GRAD}}}}}"
    assert node_label(zero) == "{x|{data 1.0000|grad 0.0000}}"
    assert node_label(constant) == f"{{x|{{data 1.0000|{CONSTANT}}}}}"
    assert "dashed" in node_attributes(constant)["style"]
    assert "dashed" not in node_attributes(zero)["style"]


def test_nan_and_inf_stand_out_without_colour():
    for data, grad in [(float("nan"), 1.0), (1.0, float("inf")), (np.array([1.0, np.nan]), None)]:
        attributes = node_attributes(record(data, grad))
        assert attributes["fillcolor"] == YELLOW
        assert attributes["penwidth"] == "3"
    assert "penwidth" not in node_attributes(record(1.0, 1.0))


def test_fields_stand_with_the_direction():
    assert node_label(record(1.0, 2.0), "TB") == "x|data 1.0000|grad 2.0000"
    assert node_label(record(1.0, 2.0, name="layer.weight[0]"), "LR") == "layer.weight[0]|data 1.0000|grad 2.0000"
    tensor = record(np.array([1.0, 2.0]))
    assert node_label(tensor, "TB") == f"{{{node_label(tensor, 'LR')}}}"


def test_large_arrays_show_statistics():
    data = np.zeros(20, dtype=np.float32)
    data[:4] = [3.0, -4.0, np.nan, np.inf]
    label = node_label(record(data))
    for line in [
        "min −4.0000",
        "max 3.0000",
        "mean −0.0556",
        "norm 5.0000",
        "nan in 1 of 20",
        "inf in 1 of 20",
        "zero 80%",
    ]:
        assert line in label


def test_statistics_of_extreme_arrays_raise_no_warning():
    assert "mean 1.0e+308\\rnorm inf" in node_label(record(np.full(20, 1e308)))
    assert "norm 4.5e+300" in node_label(record(np.full(20, 1e300)))
    assert "min" not in node_label(record(np.full(20, np.nan)))
    assert "norm 268328.1573" in node_label(record(np.full(20, 60000, dtype=np.float16)))
    assert "no elements" in node_label(record(np.empty((0, 3))))
    assert "True" in node_label(record(np.array([True, False])))


def test_three_axes_are_set_apart():
    label = node_label(record(np.arange(8.0).reshape(2, 2, 2)))
    assert "\\l" + "\\r".join(["0.0000  1.0000", "2.0000  3.0000", "", "4.0000"]).replace("  ", NBSP * 2) in label


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (4.0, "← +4"),
        (-6.0, "← −6"),
        (0.0, "← 0"),
        (-0.0, "← 0"),
        (float("nan"), "← nan"),
        (float("-inf"), "← −inf"),
        (1 / 3, "← +0.3333"),
        (np.array([[2.0]]), "← +2"),
        (np.array([1.0, -2.0]), "← (2,)\\n+1  −2"),
        (np.full(16, 2.0), "← (16,)\\nnorm 8"),
        (np.empty((0, 2)), "← (0, 2)\\nno elements"),
    ],
)
def test_contribution_label(sent, text):
    lines = contribution_label(sent).split("\\n")
    assert [line.replace(NBSP, " ").strip() for line in lines] == text.split("\\n")


def test_sign_of_a_contribution():
    assert sign(np.array([0.0, 2.0])) == "+"
    assert sign(np.array([0.0, -2.0])) == "-"
    assert sign(np.array([1.0, -2.0])) == "mixed"
    assert sign(-0.0) == "0"
    assert sign(np.array([1.0, np.nan])) == "not finite"


def test_a_zero_contribution_is_dashed_and_a_constant_gets_none():
    x, c = Tensor(0.0, requires_grad=True), Tensor(3.0)
    root = (x * c).relu()
    root.backward()
    edges = [edge_attributes(edge) for edge in snapshot(root, {"x": x, "c": c}).edges]
    assert {} in edges
    assert any(attributes.get("style") == "dashed" for attributes in edges)


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ([4.0, 2.0], "Blue adds."),
        ([-6.0], "Orange subtracts."),
        ([0.0, -6.0, 4.0], "Blue adds, orange subtracts, dashed is 0."),
        (
            [np.array([1.0, -1.0]), np.inf],
            "Black adds to some elements and subtracts from others, thick is inf or nan.",
        ),
    ],
)
def test_the_caption_tells_what_the_colours_in_this_picture_say(sent, text):
    leaves = [replace(record(1.0), key=f"n{i}") for i in range(len(sent))]
    child = replace(record(1.0), key=f"n{len(sent)}", parents=tuple(leaf.key for leaf in leaves), sent=tuple(sent))
    assert f'gradient.\\n{text}"' in to_dot(Graph((*leaves, child)))
    silent = replace(child, sent=(None,) * len(sent))
    assert "gradient." not in to_dot(Graph((*leaves, silent)))


def test_escape_keeps_line_breaks_and_replaces_what_no_picture_can_show():
    assert escape("a\nb\x07\ud800") == "a\\nb\ufffd\ufffd"
    assert escape("{a|b}<\\>&") == "\\{a\\|b\\}\\<\\\\\\>&amp;"
    assert tooltip("\\") == "\\\\\\\\"


# Whole graphs


def chain(length: int) -> Graph:
    value = Value(1.0)
    for _ in range(length - 1):
        value = -value
    value.backward()
    return snapshot(value, {})


def test_large_graphs_are_scaled_and_their_labels_take_no_room():
    small, middle, large = to_dot(chain(150)), to_dot(chain(500)), to_dot(chain(501))
    assert 'size="' not in small
    assert 'size="60,60"' in middle
    assert "xlabel" not in middle
    assert "xlabel" in large
    assert "splines" not in large


def test_two_graphs_in_one_picture():
    dot = new_digraph("both", 4)
    for prefix in ("s_", "t_"):
        add_graph(dot, snapshot(*square()), prefix=prefix)
    svg = drawn(dot.source)
    assert set(groups(svg, "node")) == {"s_n0", "s_n1", "s_n1op", "t_n0", "t_n1", "t_n1op"}


def test_a_wrong_direction_is_refused():
    with pytest.raises(UserError, match="direction is 'up'; it can be LR, RL, TB, BT"):
        to_dot(snapshot(*square()), "up")


def test_edges_that_cross_many_columns_have_labels_that_cost_no_room():
    """A node that is used at each of 100 steps: with `label` the layout takes minutes, with `xlabel` a second."""
    x = Value(1.0)
    product = x
    for _ in range(100):
        product = product * x
    product.backward()
    assert " xlabel=" in to_dot(snapshot(product))
    small = x * x
    small.backward()
    assert " xlabel=" not in to_dot(snapshot(small))
