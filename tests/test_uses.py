"""Gradients split by use: who sends what to a node that several operations read."""

from __future__ import annotations

import importlib.util
import json
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from graphs import seven_nodes

import tensorgrad
import viz
from micrograd import Value
from micrograd.backprop import overwrite
from micrograd.nn import MLP
from tensorgrad import Tensor, no_grad
from tensorgrad.models.gpt import GPT, GPTConfig
from tensorgrad.nn import functional as F
from tensorgrad.utils.checkpoint import checkpoint
from viz.errors import UserError
from viz.uses.table import share_text

BLOCK = Path(__file__).parent.parent / "examples" / "gpt_block.py"


def table(data: list[list[float]], **kwargs) -> Tensor:
    return Tensor(np.array(data), requires_grad=True, **kwargs)


def scalar_tensor(x: float) -> Tensor:
    return Tensor(np.array(x), requires_grad=True)


def small_gpt(*, tied: bool) -> GPT:
    tensorgrad.manual_seed(0)
    return GPT(GPTConfig(vocabulary=13, context=8, blocks=2, heads=2, width=16, tied=tied))


def loss_of(model: GPT) -> Tensor:
    tokens = np.random.default_rng(0).integers(0, 13, (3, 9))
    return F.cross_entropy(model(Tensor(tokens[:, :-1])).reshape(-1, 13), Tensor(tokens[:, 1:].reshape(-1)))


@pytest.fixture(scope="module")
def block() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gpt_block_for_uses", BLOCK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- what the uses are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", [Value, scalar_tensor])
def test_minus_two_is_four_and_minus_six(leaf):
    loss, names = seven_nodes(leaf)
    found = viz.uses(loss, names=names)
    assert [split.name for split in found] == ["a"]
    split = found["a"]
    assert [(use.number, use.op, use.formula) for use in split.uses] == [(1, "*", "f*a"), (2, "*", "a*b")]
    assert [float(use.contribution) for use in split.uses] == [4.0, -6.0]
    assert float(split.sum) == float(split.grad) == -2.0
    assert split.last.norm == 6.0
    assert [use.cosine for use in split.uses] == [-1.0, 1.0]
    assert [use.share for use in split.uses] == pytest.approx([16 / 52, 36 / 52])
    assert split.last.contribution == viz.trace(loss, overwrite, names=names).grads[split.key]


def test_all_gradients_are_put_back():
    loss, names = seven_nodes()
    loss.backward()
    before = {name: node.grad for name, node in names.items()}
    viz.uses(loss)
    assert {name: node.grad for name, node in names.items()} == before == {"a": -2.0, "b": 2.0 * 2.0, "c": 2.0}


def test_they_are_put_back_where_a_rule_fails():
    a = Value(2.0)
    a.grad = 5.0
    fails = a * 3

    def rule():
        raise ZeroDivisionError("in the rule")

    fails._backward = rule
    with pytest.raises(ZeroDivisionError):
        viz.uses(fails + a, a)
    assert a.grad == 5.0
    (a * a).backward()  # no pass is left open
    assert a.grad == 9.0


def test_one_operation_that_reads_a_node_twice_is_two_uses():
    x = Value(3.0)
    split = viz.uses(x * x)[0]
    assert [(use.slot, use.contribution) for use in split.uses] == [(0, 3.0), (1, 3.0)]
    t = table([[1.0, 2.0]])
    assert [use.slot for use in viz.uses((t - t).sum())[0].uses] == [0, 1]


def test_a_rule_of_the_users_answers_once():
    x = Value(3.0)
    out = Value(9.0, (x, x), "square")

    def rule():
        x.grad += 2 * x.data * out.grad

    out._backward = rule
    split = viz.uses(out + x)[0]
    assert [(use.op, use.contribution) for use in split.uses] == [("+", 1.0), ("square", 6.0)]
    assert split.sum == 7.0


def test_three_uses_broadcast_transposed_and_indexed_with_repeats():
    w = table([[1.0, -2.0, 0.5], [3.0, 4.0, -1.0]])
    x = Tensor(np.arange(12.0).reshape(4, 3))
    wide = Tensor(np.arange(24.0).reshape(4, 2, 3))
    loss = (x @ w.T).sum() + (w * wide).sum() + w[[0, 0, 1]].sum()
    split = viz.uses(loss)["w"]
    sent = {use.op: use.contribution for use in split.uses}
    assert list(sent) == ["index", "*", "T"]  # the last to be made is the first to send
    assert np.array_equal(sent["index"], [[2, 2, 2], [1, 1, 1]])
    assert np.array_equal(sent["*"], wide.data.sum(0))
    assert np.array_equal(sent["T"], np.broadcast_to(x.data.sum(0), (2, 3)))
    loss.backward()
    assert np.array_equal(split.sum, w.grad)
    assert sum(use.share for use in split.uses) == pytest.approx(1.0)
    assert split.norm == pytest.approx(np.linalg.norm(w.grad))


def test_it_sends_what_a_trace_shows():
    net = MLP(2, [3, 1])
    loss = sum(((net([x, -x]) - 1) ** 2 for x in (0.5, 1.0, -2.0)), Value(0))
    shown = viz.trace(loss)
    for split in viz.uses(loss):
        steps = [step for step in shown if step.receiver == split.key]
        arrived = [(use.key, use.slot, use.contribution) for use in split.arrived]
        assert arrived == [(step.sender, step.slot, step.contribution) for step in steps]


def test_an_inner_node():
    x = Value(2.0)
    h = x * 3
    split = viz.uses(h * h + h, h, names={"h": h})[0]
    assert [use.contribution for use in split.uses] == [1.0, 6.0, 6.0]
    assert (split.name, split.sum, split.part) == ("h", 13.0, None)


def test_sums_are_in_float64():
    t = Tensor(np.array([1.0], dtype=np.float32), requires_grad=True)
    loss = (t * 1e8).sum() + t.sum() - (t * 1e8).sum()
    split = viz.uses(loss)[0]
    assert split.sum.dtype == np.float64
    assert split.sum == [1.0]
    assert split.grad == [0.0]  # as the engine rounds it


# -- a tied table ------------------------------------------------------------------------------------------------------


def test_the_tied_table_of_the_example(block):
    split = viz.uses(block.loss, names=vars(block))["model.tokens.weight"]
    assert [(use.op, use.place) for use in split.uses] == [
        ("linear", "model > head"),
        ("embedding", "model > tokens"),
    ]
    block.loss.backward()
    held = block.model.tokens.weight.grad
    assert np.array_equal(split.grad, held)
    assert np.abs(split.sum - held).max() <= 4 * np.finfo(np.float32).eps * split.norm


def test_each_side_of_a_tied_table_is_what_an_untied_one_gets():
    model, apart = small_gpt(tied=True), small_gpt(tied=False)
    apart.load_state_dict(model.state_dict())
    found = viz.uses(loss_of(model), parameters=model)
    (split,) = found
    by_op = {use.op: use for use in split.uses}
    loss_of(apart).backward()
    assert split.name == "tokens.weight"
    np.testing.assert_allclose(by_op["embedding"].contribution, apart.tokens.weight.grad, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(by_op["linear"].contribution, apart.head.weight.grad, rtol=1e-5, atol=1e-8)
    assert by_op["embedding"].norm == pytest.approx(np.linalg.norm(apart.tokens.weight.grad))
    assert by_op["linear"].norm == pytest.approx(np.linalg.norm(apart.head.weight.grad))
    loss_of(model).backward()
    assert found.norm == pytest.approx(tensorgrad.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
    assert split.part == pytest.approx((split.norm / found.norm) ** 2)
    assert found.leaves == len(list(model.parameters()))
    assert split.last is by_op["embedding"]  # with = the output side is lost


def test_a_checkpointed_block_is_one_use():
    w = table([[1.0, 2.0], [3.0, 4.0]])
    x = Tensor(np.array([[1.0, -1.0]]))
    loss = checkpoint(lambda a: ((a @ w) * w).sum(), x) + (w * 3).sum()
    split = viz.uses(loss)["w"]
    assert [use.op for use in split.uses] == ["*", "checkpoint"]
    plain = ((x @ w) * w).sum()
    plain.backward()
    np.testing.assert_allclose(split.uses[1].contribution, w.grad)


# -- uses that send nothing --------------------------------------------------------------------------------------------


def test_a_detached_use_is_told():
    w = table([[1.0, 2.0]])
    split = viz.uses((w * 2).sum() + (w.detach() * 3).sum() * w.sum())["w"]
    assert [(use.number, use.why) for use in split.uses] == [(1, None), (2, None), (None, "detached")]
    assert split.uses[2].contribution is None


def test_what_was_made_of_a_leaf_and_cut_off_is_no_use_of_the_leaf():
    """It is one only for who asks for the leaf by its name."""
    w, v = table([[1.0, 2.0]]), table([[3.0, 4.0]])
    loss = (w * v).sum() + ((w * 2).detach() * v).sum()
    assert [split.name for split in viz.uses(loss)] == ["v"]
    assert [use.why for use in viz.uses(loss, "w")["w"].uses] == [None, "detached"]


def test_a_parameter_whose_result_was_cut_off():
    model = small_gpt(tied=True)
    inner = model.positions.forward
    model.positions.forward = lambda places: inner(places).detach()
    split = viz.uses(loss_of(model), "positions.weight", parameters=model)[0]
    assert split.key is None
    assert split.sum is split.grad is None
    assert [(use.op, use.why) for use in split.uses] == [("+", "detached")]
    assert "no gradient reaches model.positions.weight from" in str(viz.uses(loss_of(model), model.positions.weight))


def test_a_target_computed_without_gradients():
    w = table([[1.0, 2.0]])
    with no_grad():
        target = w * 3
    split = viz.uses(((w - target) ** 2).sum(), w)[0]
    assert [use.why for use in split.uses] == [None, "no_grad"]


def test_what_blocks_a_use_that_sends_zero():
    w = table([[-1.0, -2.0]])
    split = viz.uses(w.relu().sum() + w.sum())["w"]
    assert [(use.norm, use.share, use.cosine, use.why) for use in split.uses[1:]] == [
        (0.0, 0.0, None, "dead relu: 2 of 2")
    ]


def test_a_frozen_leaf():
    frozen = Tensor(np.ones(2), label="frozen")
    split = viz.uses((frozen * table([[1.0, 2.0]])).sum() + (frozen * table([[1.0, 2.0]])).sum(), frozen)[0]
    assert {use.why for use in split.uses} == {"requires no gradient"}
    assert split.last is None


def test_a_hook_is_told_and_the_sum_is_what_arrived():
    w = table([[1.0, 2.0]])
    w.register_hook(lambda g: g * 10)
    split = viz.uses(w.sum() + (w * w).sum())["w"]
    assert split.hooked
    assert np.array_equal(split.sum, [[3.0, 5.0]])
    assert np.array_equal(split.grad, [[30.0, 50.0]])
    w.register_hook(lambda g: None)
    quiet = table([[1.0, 2.0]])
    quiet.register_hook(lambda g: None)
    assert not viz.uses(quiet.sum() + quiet.sum())[0].hooked


def test_shares_of_contributions_whose_squares_overflow():
    w = table([[1.0, 1.0]])
    split = viz.uses((w * 3e200).sum() + (w * 4e200).sum())["w"]
    assert sorted(use.share for use in split.uses) == pytest.approx([9 / 25, 16 / 25])


def test_infinities_and_sums_that_vanish():
    with np.errstate(over="ignore"):
        w = table([[1e200, 1.0]])
        loss = (w * 1e200 * w).sum()
    split = viz.uses(loss)["w"]
    assert math.isinf(split.norm)
    assert all(math.isnan(use.share) and use.cosine is None for use in split.uses)
    text = json.dumps(viz.uses(loss).to_json(), allow_nan=False)
    assert '"norm": "inf"' in text
    z = table([[1.0, 2.0]])
    split = viz.uses(z.sum() - z.sum())["z"]
    assert split.norm == 0
    assert split.cosines[0][1] == pytest.approx(-1.0)
    assert [use.cosine for use in split.uses] == [None, None]


# -- names, and what is refused ----------------------------------------------------------------------------------------


def test_by_name_and_by_pairs():
    model = small_gpt(tied=True)
    loss = loss_of(model)
    for parameters in (model, dict(model.named_parameters()), model.named_parameters()):
        assert [s.name for s in viz.uses(loss, parameters=parameters)] == ["tokens.weight"]
    assert viz.uses(loss, "model.norm.weight")[0].name == "model.norm.weight"
    with pytest.raises(KeyError):
        viz.uses(loss, parameters=model)["positions"]


def test_the_names_do_not_depend_on_who_asks():
    a, b = Value(2.0), Value(3.0)
    assert [split.name for split in viz.uses(a * b + a)] == ["a"]
    assert [split.name for split in viz.uses(a * b + a, names={"w": a})] == ["w"]


def test_what_is_refused():
    w = table([[1.0, 2.0]], label="weights")
    loss = (w * w).sum()
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got int"):
        viz.uses(3)
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got float"):
        viz.uses(loss, 3.0)
    with pytest.raises(UserError, match=r"no node is called weihgts: did you mean weights\?"):
        viz.uses(loss, "weihgts")
    with pytest.raises(UserError, match="no node is called q: there is weights, for example"):
        viz.uses(loss, "q")
    with pytest.raises(UserError, match="nothing below loss reads other: ask for a node that went into the root"):
        viz.uses(loss, Value(2.0, label="other"), names={"loss": loss})
    with pytest.raises(UserError, match=r"parameters= takes a module.*, got a int"):
        viz.uses(loss, parameters=3)
    with pytest.raises(UserError, match=r"parameters= takes a module.*among these is Tensor"):
        viz.uses(loss, parameters=[w])
    with pytest.raises(RuntimeError, match="not a scalar"):
        viz.uses(w * 2)
    twins = Value(1.0, label="x"), Value(2.0, label="x")
    with pytest.raises(UserError, match="2 leaves are called x: give them labels that differ"):
        viz.uses(twins[0] * twins[1], "x")
    turned = Value(2.0, label="turned")
    root = turned * turned
    turned.data = 1 + 2j
    with pytest.raises(UserError, match="turned is complex128"):
        viz.uses(root)


def test_a_seed_for_a_result_of_several_elements():
    w = table([[1.0, 2.0]])
    split = viz.uses(w * 2 + w, gradient=[[1.0, 10.0]])["w"]
    assert [use.contribution.tolist() for use in split.uses] == [[[1.0, 10.0]], [[2.0, 20.0]]]


# -- table, JSON and picture -------------------------------------------------------------------------------------------


def test_the_table():
    loss, names = seven_nodes()
    assert str(viz.uses(loss, names=names)).splitlines() == [
        "a, 2 uses: 17 % of the whole gradient's squared norm",
        "",
        "     use        in  sends  share  cos(sum)",
        "  1  f*a        –      +4   31 %    −1.000",
        "  2  a*b        –      −6   69 %    +1.000",
        "     their sum         −2",
        "  = in the place of += would leave the last to arrive: −6, of use 2",
        "",
        "The gradient of all 3 leaves has norm 4.899.",
    ]
    single = viz.uses(names["a"] * names["b"])
    assert (len(single), str(single)) == (0, "no leaf below L is used more than once")


def test_angles_between_arrays_stand_in_the_table():
    w = table([[3.0, 4.0]])
    text = str(viz.uses((w * Tensor([[1.0, 0.0]])).sum() + (w * Tensor([[0.0, 2.0]])).sum()))
    rows = [line.split() for line in text.splitlines()]
    assert rows[2] == ["use", "in", "norm", "share", "cos(sum)", "cos(1)", "cos(2)"]
    assert rows[3][-6:] == ["2", "80", "%", "+0.894", "+1.000", "+0.000"]
    assert rows[4][-6:] == ["1", "20", "%", "+0.447", "+0.000", "+1.000"]


def test_many_uses_and_many_nodes_are_cut_short():
    k, x = Value(0.9, label="k"), Value(0.0)
    for _ in range(30):
        x = x * k + 1
    text = str(viz.uses(x))
    assert "... and 10 uses with less" in text
    drawn = viz.draw_uses(viz.uses(x)).source
    assert drawn.count("-> p0") == 13
    assert "18 more uses" in drawn
    net = MLP(3, [4, 1])
    several = viz.uses(net([1.0, 2.0, 3.0]) + net([2.0, -1.0, 0.5]))
    assert len(several) == 21
    assert "... and 9 nodes with less" in str(several)
    assert "Of 21 nodes the 6 with the largest gradients." in viz.draw_uses(several).source


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1.0, "100 %"),
        (0.31, "31 %"),
        (0.0, "0 %"),
        (0.9998, "99.980 %"),
        (0.0002, "0.020 %"),
        (math.nan, "nan"),
        (0.049, "4.9 %"),
        (1e-9, "< 0.0001 %"),
        (1 - 1e-9, "> 99.9999 %"),
    ],
)
def test_shares_are_told_apart_from_nothing_and_all(share, text):
    assert share_text(share) == text


def test_as_json():
    loss, names = seven_nodes()
    data = json.loads(json.dumps(viz.uses(loss, names=names).to_json(), allow_nan=False))
    (node,) = data["nodes"]
    assert (node["name"], node["sum"], node["last"], node["cosines"]) == ("a", -2.0, 2, [[1.0, -1.0], [-1.0, 1.0]])
    assert [use["contribution"] for use in node["uses"]] == [4.0, -6.0]
    w = Tensor(np.ones((10, 10)), requires_grad=True)
    (node,) = viz.uses(w.sum() + (w * w).sum()).to_json()["nodes"]
    assert node["sum"] is node["uses"][0]["contribution"] is None
    assert node["norm"] == pytest.approx(30.0)


def test_the_pictures_text(golden):
    loss, names = seven_nodes()
    golden("uses-seven.dot", viz.draw_uses(viz.uses(loss, names=names)).source)
    w, r = table([[1.0, -2.0], [3.0, 4.0]]), table([[-1.0, -2.0]])
    x = Tensor(np.ones((4, 2)))
    several = (x @ w.T).sum() - (w * w).sum() + (w.detach() * 3).sum() + r.relu().sum() + (r * 2).sum()
    golden("uses-arrays.dot", viz.draw_uses(viz.uses(several, names={"w": w, "r": r, "x": x})).source)


def test_a_picture_where_one_contribution_is_not_finite(tmp_path):
    w = table([[1.0, 2.0]])
    found = viz.uses(w.sum() + (w * Tensor([[math.inf, 1.0]])).sum())
    source = viz.draw_uses(found, tmp_path / "uses.svg").source
    assert "penwidth=nan" not in source
    assert "norm inf" in source
    assert "thick is inf or nan" in source.lower()


def test_the_picture_in_a_file(tmp_path):
    loss, _ = seven_nodes()
    found = viz.uses(loss)
    viz.draw_uses(found, tmp_path / "uses.svg")
    svg = (tmp_path / "uses.svg").read_text(encoding="utf-8")
    assert "sum: −2" in svg
    assert "= would leave −6" in svg
    with pytest.raises(UserError, match="what to draw"):
        viz.draw_uses(found, tmp_path / "uses.txt")
    with pytest.raises(UserError, match="there is nothing to draw: no leaf below"):
        viz.draw_uses(viz.uses(Value(1.0) * Value(2.0)))
    with pytest.raises(TypeError, match=r"draw_uses: takes what .* returns, got a float"):
        viz.draw_uses(3.0)


def test_names_that_would_break_dot_text(tmp_path):
    a = Value(2.0, label='{a|"b"} <c> \\N & -> }')
    path = tmp_path / "uses.svg"
    viz.draw_uses(viz.uses(a * a + a), path)
    drawn = [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert a.label in drawn
