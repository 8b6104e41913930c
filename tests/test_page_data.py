"""What the stepper page embeds: the graph, its numbers or its recorded passes, the update."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from stepper import MODES, arrays, data_of, described, odd_arrays, passed_in, seven, shared, size_beside
from stepper import net as net_of_394

from micrograd import Value
from micrograd.backprop import add_hook, topological_order
from tensorgrad import Tensor
from tensorgrad.optim import SGD
from viz import step
from viz.arrays import MOST_IN_PANEL
from viz.errors import UserError
from viz.pages.quantities import Quantities


def example() -> Value:
    return seven(Value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", [shared, arrays, odd_arrays])
def test_each_recorded_pass_is_the_trace(program, mode):
    data = data_of(step(program(), names={}).html)
    passed = passed_in(program(), mode)
    columns = data["passes"][mode]
    firsts = np.cumsum([0, *map(len, data["parents"])])
    assert {len(columns[name]) for name in ("sender", "receiver", "slot", "contribution", "after")} == {len(passed)}
    for i, taken in enumerate(passed.steps):
        assert columns["sender"][i] == (-1 if taken.sender is None else int(taken.sender[1:]))
        assert columns["receiver"][i] == int(taken.receiver[1:])
        assert columns["slot"][i] == taken.slot
        assert data["quantities"][columns["contribution"][i]] == described(taken.contribution)
        assert data["quantities"][columns["after"][i]] == described(taken.after)
        if taken.sender is not None:
            local = data["locals"].get(str(firsts[int(taken.sender[1:])] + taken.slot))
            assert local is None if taken.local is None else data["quantities"][local] == described(taken.local)
    assert [data["quantities"][i] for i in data["data"]] == [described(node.data) for node in passed.graph.nodes]


def test_a_graph_of_values_goes_in_as_numbers_and_slopes_without_its_passes():
    root = example()
    data = data_of(step(root, names={}).html)
    order = topological_order(root)
    assert "passes" not in data
    assert "quantities" not in data
    assert floats(data["scalars"]["data"]) == [node.data for node in order]
    assert floats(data["scalars"]["local"]) == [slope for node in order if node._prev for slope in node._local]
    assert data["scalars"]["computable"]


def floats(packed: str) -> list[float]:
    return np.frombuffer(base64.b64decode(packed), dtype="<f8").tolist()


@pytest.mark.parametrize("kind", ["hook", "rule"])
def test_passes_with_hooks_or_rules_of_the_users_are_recorded(kind):
    x = Value(3.0, label="x")
    y = x * 2.0 if kind == "hook" else Value(9.0, (x, x), "sq")
    if kind == "hook":
        add_hook(y, lambda grad: 5.0 * grad)
    else:
        y._backward = lambda: x.__setattr__("grad", x.grad + 6.0 * y.grad)
    data = data_of(step(y * 1.0, names={}).html)
    assert "scalars" not in data
    assert set(data["passes"]) == set(MODES)
    columns = data["passes"]["add"]
    held = dict(zip(columns["receiver"], columns["after"], strict=True))
    assert data["quantities"][held[0]] == (10.0 if kind == "hook" else 6.0)


def test_a_node_used_twice_by_one_other_is_its_operand_twice():
    x = Value(3.0, label="x")
    data = data_of(step(x * x, names={}).html)
    assert data["parents"] == [[], [0, 0]]
    assert floats(data["scalars"]["local"]) == [3.0, 3.0]


def test_operations_of_one_kind_share_their_words():
    data = data_of(step(net_of_394(), names={}).html)
    assert len(data["names"]) == 394
    assert len(data["recipes"]) < 12


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf, 0.0, -6.0])
def test_numbers_of_scalar_nodes_are_stored_as_numbers(x):
    stored = float(described(x))
    assert stored == x or (math.isnan(stored) and math.isnan(x))
    assert stored.is_integer() or not math.isfinite(x)


def test_a_single_element_array_is_written_in_words():
    """As the page writes numbers itself: test_numbers_js.py has that these texts are the same."""
    found = described(np.array(-6.0))
    assert (found["text"], found["short"], found["chip"], found["sign"]) == ("−6.0000", "−6", "−6", -1)
    assert described(np.array([4.0]))["chip"] == "+4"
    zero = described(np.array([-0.0]))
    assert (zero["text"], zero["short"], zero["chip"], zero["sign"]) == ("0.0000", "0", "0", 0)
    assert described(np.array(math.nan))["value"] == "nan"


@pytest.mark.parametrize(
    ("x", "text", "sign"), [(math.nan, "nan", None), (math.inf, "inf", 1), (-math.inf, "−inf", -1)]
)
def test_what_json_has_no_numbers_for_survives(x, text, sign):
    assert described(np.array(x))["text"] == text
    assert described(np.array(x))["sign"] == sign
    a = Value(x, label="a")
    held = floats(data_of(step(a * 1.0, names={}).html)["scalars"]["data"])[0]
    assert held == x or (math.isnan(held) and math.isnan(x))
    t = Tensor(x, label="t", requires_grad=True)
    assert text in [q["text"] for q in data_of(step(t * 1.0, names={}).html)["quantities"] if isinstance(q, dict)]


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
    found = described(np.array([[1.0, -20.0], [0.5, 4.0]]))
    assert {found[name] for name in ("text", "short", "chip")} == {"[[1, −20], [0.5, 4]]"}
    assert found["sign"] is None
    assert (found["shape"], found["dtype"]) == ("(2, 2)", "float64")
    assert found["rows"] == ["  1  −20", "0.5    4"]
    assert found["grid"]["values"] == [1, -20, 0.5, 4]
    assert (found["grid"]["rows"], found["grid"]["columns"]) == (2, 2)
    assert found["grid"]["exact"]
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
    assert size_beside(step((w * w).sum(), names={}).html) < 40_000


def test_a_page_of_values_takes_few_bytes_a_node():
    assert size_beside(step(net_of_394(), names={}).html) < 100 * 394


def test_long_operand_names_are_given_once():
    a, b = Value(1.0, label="net.layers[0].neurons[1].w[2]"), Value(2.0, label="net.layers[0].b")
    text = step(a * b, names={}).html
    assert text.count("net.layers[0].neurons[1].w[2]") == 1 + 2  # and in the heading and the title, by its formula


def test_names_are_the_callers():
    a = Value(1.0)
    root = a + a
    assert data_of(step(root).html)["names"] == ["a", "root"]
    assert data_of(step(root, names={"x": a}).html)["names"] == ["x", "L"]


@pytest.mark.parametrize("label", ["nan", "inf", "1e3", "x"])
def test_a_leaf_with_a_label_is_listed_whatever_the_label_is(label):
    a = Value(2.0, label=label)
    data = data_of(step(a * 3.0 + 4.0, names={}).html)
    assert [data["names"][i] for i in data["leaves"]] == [label]


def test_the_leaves_listed_are_numbers_only_where_nothing_else_is():
    a, k = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
    data = data_of(step((a * k).sum() * 5.0, names={}).html)
    assert data["leaves"] == [0]  # nameless, but no number
    data = data_of(step(Value(2.0) * 3.0, names={}).html)
    assert [data["names"][i] for i in data["leaves"]] == ["2", "3"]


def test_the_gradients_stay_as_they_are():
    root = example()
    root.backward()
    leaf = root._prev[1]
    before = leaf.grad
    step(root)
    assert leaf.grad is before
    assert before == -2.0


# -- the update --------------------------------------------------------------------------------------------------------


def test_an_update_by_a_rate_is_for_the_leaves_that_take_a_gradient():
    a, k = Tensor([1.0, 2.0], requires_grad=True, label="a"), Tensor([3.0, 4.0], label="k")
    update = data_of(step((a * k).sum(), names={}, update=0.5).html)["update"]
    assert update["nodes"] == [0]
    assert update["words"] == "{}.data -= 0.5 * {}.grad"


def test_an_optimizer_takes_a_step_on_a_copy():
    """With momentum, which has come to (3, 4) before: 0.9 times that and the gradient (3, 4) make (5.7, 7.6)."""
    a = Tensor([1.0, 2.0], requires_grad=True, label="a")
    root = (a * Tensor([3.0, 4.0])).sum()
    optimizer = SGD([a], lr=0.1, momentum=0.9)
    root.backward()
    optimizer.step()
    a.data[:] = [1.0, 2.0]
    state = repr(optimizer.state_dict())
    data = data_of(step(root, names={}, update=optimizer).html)
    assert data["update"]["words"] == "SGD.step() on {}"
    [after] = data["update"]["after"]["add"]
    assert data["quantities"][after] == described(a.data - np.float32(0.1) * np.array([5.7, 7.6], np.float32))
    assert a.data.tolist() == [1.0, 2.0]
    assert repr(optimizer.state_dict()) == state


@pytest.mark.parametrize("update", [math.nan, math.inf, "0.1", True, SGD([Tensor(1.0, requires_grad=True)], lr=0.1)])
def test_an_update_that_is_none_is_refused(update, tmp_path):
    with pytest.raises(UserError, match=r"update|learning rate"):
        step(example(), tmp_path / "page.html", update=update)
    assert not list(tmp_path.iterdir())


def test_the_parameters_of_an_update_can_be_named():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    assert data_of(step(a * b, names={}, update=0.1, parameters=[b]).html)["update"]["nodes"] == [1]
    with pytest.raises(UserError, match="none of the parameters"):
        step(a * b, names={}, update=0.1, parameters=[Value(1.0)])
