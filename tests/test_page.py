"""The stepper page without a browser: what it embeds, that nothing in it can break out, and how it is written."""

from __future__ import annotations

import html
import json
import math
import re

import numpy as np
import pytest

from micrograd import Value
from micrograd.backprop import add, overwrite
from tensorgrad import Tensor
from viz import limits, step, trace
from viz.arrays import MOST_IN_PANEL
from viz.errors import NoDotError, TooLargeError, UserError
from viz.pages import data as page_data
from viz.pages import layout as page_layout
from viz.pages.quantities import Quantities

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029",
    "\ud800",
    '"\\',
    "$data ${data}",
    "&lt;",
)


def example():
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
    return (a * b + c).relu() * a


def data_of(text: str) -> dict:
    """The data that a page's text embeds."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def described(q) -> dict:
    quantities = Quantities()
    return quantities.records[quantities.of(q)]


# -- what is embedded --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "combine"), [("add", add), ("overwrite", overwrite)])
def test_each_pass_is_the_trace(mode, combine):
    data = data_of(step(example(), names={}).html)
    steps = trace(example(), combine, names={}).steps
    rows = [dict(zip(data["stepFields"], row, strict=True)) for row in data["passes"][mode]]
    assert len(rows) == len(steps) == 8
    for row, taken in zip(rows, steps, strict=True):
        assert row["sender"] == (None if taken.sender is None else int(taken.sender[1:]))
        assert row["receiver"] == int(taken.receiver[1:])
        assert row["slot"] == taken.slot
        assert data["words"][row["rule"]] == taken.rule
        for field in ("contribution", "before", "after", "upstream", "local"):
            q = getattr(taken, field)
            assert row[field] is None if q is None else data["quantities"][row[field]] == described(q)


def test_a_node_used_twice_by_one_other_has_two_edges():
    x = Value(3.0, label="x")
    data = data_of(step(x * x, names={}).html)
    assert data["edges"] == [[0, 1, 0], [0, 1, 1]]
    for layout in data["layouts"].values():
        assert len(layout["edges"]) == 2
        assert layout["edges"][0] != layout["edges"][1]


@pytest.mark.parametrize("direction", page_layout.DIRECTIONS)
def test_a_layout_places_every_node_inside_and_draws_every_edge(direction):
    graph = trace(example(), names={}).graph
    layout = page_layout.lay_out(graph, [120] * len(graph), (50, 22), direction)
    assert len(layout.nodes) == 7
    assert len(layout.edges) == 7
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in layout.nodes)
    assert all(len(points) % 6 == 2 for points in layout.edges)  # a start, then three points for each curve


def test_numbers_are_written_in_words():
    assert described(-6.0) == {"text": "−6.0000", "short": "−6", "chip": "−6", "sign": -1}
    assert described(4.0)["chip"] == "+4"
    assert described(-0.0) == {"text": "0.0000", "short": "0", "chip": "0", "sign": 0}


@pytest.mark.parametrize(
    ("x", "text", "sign"), [(math.nan, "nan", None), (math.inf, "inf", 1), (-math.inf, "−inf", -1)]
)
def test_what_json_has_no_numbers_for_survives(x, text, sign):
    assert described(x)["text"] == text
    assert described(x)["sign"] == sign
    a = Value(x, label="a")
    assert text in [q["text"] for q in data_of(step(a * 1.0, names={}).html)["quantities"]]


def test_equal_quantities_are_stored_once():
    quantities = Quantities()
    array = np.array([1.0, math.nan])
    assert quantities.of(0.0) == quantities.of(-0.0)
    assert quantities.of(math.nan) == quantities.of(-math.nan)
    assert quantities.of(array) == quantities.of(array.copy())
    assert quantities.of(1.0) != quantities.of(np.array(1.0))  # the array has a shape to show
    assert quantities.of(np.zeros((2, 3))) != quantities.of(np.zeros((3, 2)))
    assert quantities.of(None) is None


def test_small_arrays_are_written_out_in_columns():
    assert described(np.array([[1.0, -20.0], [0.5, 4.0]])) == {
        "text": "[[1, −20], [0.5, 4]]",
        "short": "[[1, −20], [0.5, 4]]",
        "chip": "[[1, −20], [0.5, 4]]",
        "sign": None,
        "shape": "(2, 2)",
        "rows": ["  1  −20", "0.5    4"],
    }
    assert described(np.arange(8.0).reshape(2, 2, 2))["rows"] == ["0  1", "2  3", "", "4  5", "6  7"]
    assert described(np.arange(5.0))["text"] == "[0, 1, 2, 3, 4]"
    assert described(np.arange(7.0))["text"] == "(7,) norm 9.539"
    assert described(np.arange(7.0))["chip"] == "norm 9.539"
    assert described(np.full(6, 0.12345))["text"] == "(6,) norm 0.3024"  # written out it would be too long
    assert described(np.zeros(3))["sign"] == 0
    assert described(np.array([[2.5]]))["text"] == "2.5000"
    assert described(np.zeros((0, 3)))["text"] == "(0, 3) no elements"


def test_large_arrays_are_summed_up():
    at_the_limit, above = described(np.ones(MOST_IN_PANEL)), described(np.ones(MOST_IN_PANEL + 1))
    assert "rows" in at_the_limit
    assert "more" not in at_the_limit
    assert "rows" not in above
    assert above["more"] == "min 1, max 1, mean 1, norm 8.062"
    endless = np.full(MOST_IN_PANEL + 1, np.inf)
    endless[0] = -np.inf
    assert described(endless)["more"] == "inf in 65 of 65"


def test_a_page_with_large_arrays_stays_small():
    w = Tensor(np.ones((300, 300)), requires_grad=True, label="w")
    assert len(step((w * w).sum(), names={}).html) < 100_000


def test_long_operand_names_keep_their_ends():
    a, b = Value(1.0, label="net.layers[0].neurons[1].w[2]"), Value(2.0, label="net.layers[0].b")
    short = data_of(step(a * b, names={}).html)["nodes"][-1]["short"]
    assert short == "L = …w[2]*…b"


def test_names_are_the_callers():
    a = Value(1.0)
    root = a + a
    assert [node["name"] for node in data_of(step(root).html)["nodes"]] == ["a", "root"]
    assert [node["name"] for node in data_of(step(root, names={"x": a}).html)["nodes"]] == ["x", "L"]


@pytest.mark.parametrize("label", ["nan", "inf", "1e3", "x"])
def test_a_leaf_with_a_label_is_listed_whatever_the_label_is(label):
    a = Value(2.0, label=label)
    data = data_of(step(a * 3.0 + 4.0, names={}).html)
    assert [data["nodes"][i]["name"] for i in data["leaves"]] == [label]


def test_the_leaves_listed_are_numbers_only_where_nothing_else_is():
    a, k = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
    data = data_of(step((a * k).sum() * 5.0, names={}).html)
    assert [data["nodes"][i]["data"] for i in data["leaves"]] == [data["nodes"][0]["data"]]  # nameless, but no number
    data = data_of(step(Value(2.0) * 3.0, names={}).html)
    assert [data["nodes"][i]["name"] for i in data["leaves"]] == ["2", "3"]


def test_the_gradients_stay_as_they_are():
    root = example()
    root.backward()
    leaf = root._prev[1]
    before = leaf.grad
    step(root)
    assert leaf.grad is before
    assert before == -2.0


# -- nothing breaks out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_can_end_the_script_or_become_markup(label):
    a = Value(1.0, label=label)
    text = step(a * a, names={}, title=label).html
    assert text.count("<script") == text.count("</script>") == 2
    assert "<!--" not in text
    assert "<img" not in text
    assert data_of(text)["nodes"][0]["name"] == label
    text.encode()


def test_the_page_refers_to_nothing_outside():
    text = step(example()).html
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href)=|@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_scripts_put_text_in_as_text_only():
    text = step(example()).html
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", text)


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_page_is_written_whole(tmp_path):
    target = tmp_path / "folder" / "page.html"
    result = step(example(), target)
    assert target.read_text(encoding="utf-8") == result.html
    assert result.save(tmp_path / "again.HTM").read_text(encoding="utf-8") == result.html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.HTM", "folder"]


@pytest.mark.parametrize("name", ["page.png", "page", "page.html.txt"])
def test_another_suffix_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(UserError, match=r"name a file that ends in \.html"):
        step(example(), tmp_path / name)
    with pytest.raises(UserError, match=re.escape(name)):
        step(example()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        step(example(), tmp_path / "file" / "page.html")


def test_notebooks_get_the_page_in_a_frame():
    result = step(example(), title='a "title" & <more>')
    frame = result._repr_html_()
    source = re.search(r'srcdoc="([^"]*)"', frame)[1]
    assert html.unescape(source) == result.html
    assert 'sandbox="allow-scripts"' in frame
    assert 'title="a &quot;title&quot; &amp; &lt;more&gt;"' in frame


def test_a_page_is_one_line_at_the_prompt():
    assert repr(step(example(), names={})) == "<Page 'L = f*a': save it with .save('step.html')>"
    assert len(repr(step(example(), title="x" * 1000))) < 100


def test_the_title_is_what_was_given_or_the_root():
    assert step(example(), title="mine").title == "mine"
    a = Value(1.0, label="a")
    assert step(a * 2.0, names={}).title == "L = a*2"


# -- room and time -----------------------------------------------------------------------------------------------------


def test_a_long_label_is_cut_wherever_the_page_has_it():
    a = Value(1.0, label="a" * 1_000_000)
    text = step(a * a, names={}).html
    assert len(text) < 100_000
    assert max(map(len, re.findall("a+", text))) < 500


def test_edges_that_pass_many_nodes_are_laid_out_once(monkeypatch):
    nodes = [Value(1.0)]
    for _ in range(12):
        nodes.append(nodes[-1] * nodes[0])
    graph = trace(sum(nodes), names={}).graph
    arguments = graph, [120] * len(graph), (50, 22)
    layouts = page_layout.layouts(*arguments)
    assert tuple(layouts) == page_layout.DIRECTIONS
    assert page_layout._ranks_passed(graph, layouts["LR"]) > 50
    monkeypatch.setattr(page_layout, "_MANY_RANKS_PASSED", 50)
    assert list(page_layout.layouts(*arguments)) == ["LR"]


def test_neighbouring_ranks_have_nothing_to_pass():
    graph = trace(Value(2.0, label="a") * Value(3.0, label="b"), names={}).graph
    assert page_layout._ranks_passed(graph, page_layout.lay_out(graph, [90, 120, 150], (50, 22), "LR")) == 0


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_a_graph_over_the_limit_is_refused_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_ON_PAGE", 6)
    with pytest.raises(TooLargeError, match="7 nodes, and the page takes at most 6: "):
        step(example(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_what_backward_refuses_is_refused():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="not a scalar"):
        step(x * 2.0)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        step(Tensor(1.0))
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got list"):
        step([Value(1.0)])
    assert step(x * 2.0, gradient=[1.0, 3.0]).html


def test_complex_numbers_are_refused_by_name(tmp_path):
    a = Value(2.0, label="a")
    root = a * 3.0
    a.data = 1 + 2j
    with pytest.raises(UserError, match="a is complex128, and only real numbers can be shown"):
        step(root, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_without_a_dot_program_the_error_says_so(monkeypatch, tmp_path):
    def none(*_):
        raise NoDotError

    monkeypatch.setattr("viz.render.find_dot", none)
    with pytest.raises(NoDotError, match="graphviz-pure"):
        step(example(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_nan_has_no_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        page_data.script_json({"x": math.nan})
