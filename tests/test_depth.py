"""The gradient along depth: norms at blocks' inputs, outputs and parameters, of models of both engines."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run
from conftest import require_torch

import tensorgrad
import viz
from micrograd import Value
from micrograd.nn import MLP
from tensorgrad import Tensor, nn, no_grad
from tensorgrad.models.gpt import GPT, GPTConfig
from tensorgrad.nn import functional as F
from tensorgrad.utils.checkpoint import checkpoint
from viz.depth.result import Depth, first_over_last
from viz.errors import UserError

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from depth_lab.stack import Stack, leaves, measured

EXAMPLES = Path(__file__).parent.parent / "examples"


def norm(*tensors: Tensor | Value) -> float:
    """Of the gradients of all of them together."""
    return math.sqrt(sum(float(np.sum(np.square(t.grad, dtype=np.float64))) for t in tensors))


def norm_of(gradient: float, at: Tensor) -> float:
    """Of a gradient that is the same number at all elements."""
    return gradient * math.sqrt(at.data.size)


def some(*shape: int, requires_grad: bool = False) -> Tensor:
    return Tensor(np.random.default_rng(3).normal(size=shape), requires_grad=requires_grad)


def linear(width: int = 4) -> nn.Linear:
    return nn.Linear(width, width, dtype=tensorgrad.float64)


class Chain(nn.Module):
    """Blocks one after the other, called by `call`."""

    def __init__(self, blocks, call=lambda block, x: block(x).tanh()) -> None:
        super().__init__()
        self.blocks, self.call = nn.ModuleList(blocks), call

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = self.call(block, x)
        return x


# -- what the numbers are ----------------------------------------------------------------------------------------------


def test_a_gpt_against_its_own_gradients_which_stay_as_they_are():
    tensorgrad.manual_seed(0)
    model = GPT(GPTConfig(vocabulary=11, context=6, blocks=3, heads=2, width=16))
    read, returned = [], []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda _, args: read.append(args[0]))
        block.register_forward_hook(lambda _, args, out: returned.append(out))
    tokens = tensorgrad.tensor([[3, 1, 4, 1, 5, 9, 2]])
    loss = F.cross_entropy(model(tokens[:, :-1])[0], tokens[0, 1:])
    model.norm.weight.grad = np.full(16, 7.0, np.float32)
    found = viz.depth(model, loss)
    assert [p.grad is None for p in model.parameters()].count(False) == 1
    assert model.norm.weight.grad[0] == 7
    assert loss._grad is None
    loss.backward()
    assert found.names == ("blocks.0", "blocks.1", "blocks.2")
    np.testing.assert_allclose(found.inputs, [norm(x) for x in read], rtol=1e-6)
    np.testing.assert_allclose(found.outputs, [norm(x) for x in returned], rtol=1e-6)
    np.testing.assert_allclose(found.weights, [norm(*block.parameters()) for block in model.blocks], rtol=1e-6)
    assert found.at_weights == found.weights[0] / found.weights[-1]


def test_against_torch():
    torch = require_torch()
    ours = Chain([linear() for _ in range(5)])
    theirs = [torch.nn.Linear(4, 4, dtype=torch.float64) for _ in range(5)]
    for mine, other in zip(ours.blocks, theirs, strict=True):
        other.load_state_dict({name: torch.tensor(p.data) for name, p in mine.state_dict().items()})
    x = some(3, 4, requires_grad=True)
    found = viz.depth(ours, ours(x).square().mean())
    y = torch.tensor(x.data, requires_grad=True)
    read, returned, out = [], [], y
    for block in theirs:
        read.append(out)
        returned.append(block(out))
        out = returned[-1].tanh()
    for t in read + returned:
        t.retain_grad()
    out.square().mean().backward()
    np.testing.assert_allclose(found.inputs, [t.grad.norm().item() for t in read], rtol=1e-12)
    np.testing.assert_allclose(found.outputs, [t.grad.norm().item() for t in returned], rtol=1e-12)
    both = [torch.cat([p.grad.ravel() for p in block.parameters()]).norm().item() for block in theirs]
    np.testing.assert_allclose(found.weights, both, rtol=1e-12)


@pytest.mark.parametrize("norm", [False, True])
def test_the_residual_stack_of_the_depth_lab(norm):
    stack = Stack(layers=6, scale=2.0, residual=True, norm=norm, width=16, batch=4)
    weights, (h,) = leaves(stack)

    class Layer(nn.Module):
        def __init__(self, w: Tensor) -> None:
            super().__init__()
            self.w = nn.Parameter(w.detach())

        def forward(self, h: Tensor) -> Tensor:
            read = F.layer_norm(h, (16,)) if norm else h
            return h + (2.0 * (read @ self.w)).tanh()

    model = nn.Sequential(*map(Layer, weights))
    found, lab = viz.depth(model, (model(h) ** 2).mean()), measured(stack)
    np.testing.assert_allclose(found.inputs, lab.states[:-1], rtol=1e-12)
    np.testing.assert_allclose(found.outputs, lab.states[1:], rtol=1e-12)
    np.testing.assert_allclose(found.weights, lab.weights, rtol=1e-12)
    assert found.at_inputs == pytest.approx(lab.at_inputs, rel=1e-12)


def test_an_mlp_of_values():
    random.seed(1)
    model = MLP(2, [4, 4, 1])
    x = [Value(0.5), Value(-1.0)]
    hidden = [model.layers[0](x)]
    hidden.append(model.layers[1](hidden[0]))
    loss = (model.layers[2](hidden[1]) - 1.0) ** 2
    found = viz.depth(model, loss)
    assert {p.grad for p in model.parameters()} == {0.0}
    loss.backward()
    assert found.names == ("layers[0]", "layers[1]", "layers[2]")
    np.testing.assert_allclose(found.inputs, [norm(*x), norm(*hidden[0]), norm(*hidden[1])])
    np.testing.assert_allclose(found.outputs[:2], [norm(*hidden[0]), norm(*hidden[1])])
    np.testing.assert_allclose(found.weights, [norm(*layer.parameters()) for layer in model.layers])
    assert viz.depth(model, model([0.5, -1.0]) * 2).inputs[0] is None  # numbers take no gradient


def test_what_the_last_block_makes_may_be_the_loss():
    model = Chain([linear(), linear()])
    y = model(some(3, 4))
    found = viz.depth(dict(model.blocks.named_children()), y, gradient=np.full((3, 4), 5.0))
    assert found.outputs[1] == pytest.approx(np.linalg.norm(5 * (1 - y.data**2)))  # before the tanh
    whole = viz.depth({"all": model}, model(some(3, 4)), gradient=np.full((3, 4), 5.0))
    assert whole.outputs == (pytest.approx(5 * math.sqrt(12)),)


def test_of_several_lists_of_values_layers_the_longest_is_the_depth():
    class Both(MLP):
        def __init__(self) -> None:
            super().__init__(2, [3, 3, 1])
            self.heads = MLP(1, [1, 1]).layers

    model = Both()
    found = viz.depth(model, model.heads[0]([model([0.5, -1.0])]))
    assert found.names == ("layers[0]", "layers[1]", "layers[2]")


# -- which blocks there are, and in which order -----------------------------------------------------------------------


def test_blocks_are_numbered_ones_else_children_and_stand_as_they_ran():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.late, self.early = linear(), nn.ModuleList([linear(), linear()]), nn.Sequential(linear())

        def forward(self, x: Tensor) -> Tensor:
            x = self.early(x)
            for block in self.late:
                x = block(x)
            return self.head(x)

    model = Two()
    assert viz.depth(model, model(some(2, 4)).sum()).names == ("late.0", "late.1")
    model.early.append(linear())
    assert viz.depth(model, model(some(2, 4)).sum()).names == ("early.0", "early.1", "late.0", "late.1")
    del model.early[1], model.late[1]
    assert viz.depth(model, model(some(2, 4)).sum()).names == ("early.0", "late.0", "head")
    alone = linear()
    assert viz.depth(alone, alone(some(2, 4)).sum()).names == ("Linear",)


def test_blocks_by_name_are_modules_or_parameters():
    model = Chain([linear() for _ in range(3)])
    w = some(4, 4, requires_grad=True)
    loss = (model(some(2, 4)) @ w).sum()
    whole = viz.depth(model, loss)
    found = viz.depth({"last": [w], "first": model.blocks[0], "bias": model.blocks[1].bias}, loss)
    assert found.names == ("last", "first", "bias")  # parameters alone do not run
    assert found.outputs == (None, whole.outputs[0], None)
    loss.backward()
    assert found.weights == pytest.approx((norm(w), whole.weights[0], norm(model.blocks[1].bias)))
    assert viz.depth(list(model.blocks), loss).weights == whole.weights
    held = nn.Module()
    held.weights = nn.ParameterList([nn.Parameter(w.detach()), nn.Parameter(w.detach())])
    kept = viz.depth(held, (some(2, 4) @ held.weights[0] @ held.weights[1]).sum())
    assert (kept.names, kept.inputs) == (("weights.0", "weights.1"), (None, None))
    assert min(kept.weights) > 0


# -- blocks that are called in other ways ------------------------------------------------------------------------------


def test_several_calls_of_one_block_count_together():
    block = linear()
    model = Chain([block], lambda block, x: block(block(block(x)).tanh()))
    between = []
    block.register_forward_hook(lambda _, args, out: between.append((args[0], out)))
    loss = model(some(2, 4, requires_grad=True)).square().sum()
    found = viz.depth(model, loss)
    loss.backward()
    assert found.names == ("blocks.0",)
    assert found.inputs[0] == pytest.approx(norm(*(x for x, _ in between)))
    assert found.outputs[0] == pytest.approx(norm(*(y for _, y in between)))


def test_blocks_within_blocks_have_each_their_own_edges():
    inner = linear()
    outer = Chain([nn.Sequential(nn.Tanh(), inner, nn.Tanh())], lambda block, x: block(x * 2) * 3)
    x = some(2, 4, requires_grad=True)
    y = outer(x)
    found = viz.depth({"outer": outer, "inner": inner}, (y * 5).sum())
    (y * 5).sum().backward()
    assert found.names == ("outer", "inner")
    assert found.inputs[0] == pytest.approx(norm(x))
    assert found.outputs[0] == pytest.approx(norm_of(5, y))
    slope = 1 - np.tanh(inner(Tensor(np.tanh(2 * x.data))).data) ** 2
    assert found.outputs[1] == pytest.approx(np.linalg.norm(15 * slope))


def test_a_block_that_calls_itself_is_one_call():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = linear()

        def forward(self, x: Tensor, again: bool = True) -> Tensor:
            return self(self.layer(x), False) * 2 if again else x.tanh()

    model = Twice()
    x = some(2, 4, requires_grad=True)
    y = model(x)
    found = viz.depth({"twice": model}, (y * 5).sum())
    (y * 5).sum().backward()
    assert found.inputs == (pytest.approx(norm(x)),)
    assert found.outputs == (pytest.approx(norm_of(5, y)),)


def test_a_module_with_two_names_is_the_same_block_twice():
    block = linear()
    loss = block(block(some(2, 4, requires_grad=True)).tanh()).sum()
    found = viz.depth([("first", block), ("again", block)], loss)
    assert found.names == ("first", "again")
    alone = viz.depth([("first", block)], loss)
    for quantity in ("inputs", "outputs", "weights"):
        assert getattr(found, quantity) == getattr(alone, quantity) * 2


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = linear(), linear()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.one(x).tanh(), self.two(x)


def test_checkpoints_and_tuples_change_nothing():
    blocks = [Pair() for _ in range(3)]
    x = some(2, 4, requires_grad=True)
    plain = Chain(blocks, lambda block, x: sum(block(x)))
    forgetful = Chain(blocks, lambda block, x: sum(checkpoint(block, x)))
    one = Chain([linear() for _ in range(3)], lambda block, x: checkpoint(lambda: block(x).tanh()))
    before, after = (viz.depth(model, model(x).square().sum()) for model in (plain, forgetful))
    for quantity in ("inputs", "outputs", "weights"):
        np.testing.assert_allclose(getattr(before, quantity), getattr(after, quantity), rtol=1e-12)
    assert before.names == after.names
    kept = viz.depth(one, one(x).square().sum())
    assert None not in kept.inputs + kept.outputs
    together = checkpoint(plain, x)
    told = viz.depth(plain, together.square().sum())
    assert told.outputs == (None,) * 3
    np.testing.assert_allclose(told.weights, before.weights, rtol=1e-12)


def test_what_has_no_gradient_is_none_and_what_gets_none_is_zero():
    model = Chain([linear() for _ in range(5)])
    for p in model.blocks[3].parameters():
        p.requires_grad_(False)
    h = model.blocks[0](some(2, 4)).tanh()
    with no_grad():
        h = model.blocks[1](h)
    found = viz.depth(model, model.blocks[4](model.blocks[3](model.blocks[2](h))).sum())  # the first two are cut off
    assert found.names == tuple(f"blocks.{i}" for i in range(5))
    assert [x is None for x in found.inputs] == [True, True, True, False, False]
    assert [x is None for x in found.outputs] == [True, True, False, False, False]
    assert found.weights[:2] == (0.0, 0.0)
    assert found.weights[3] is None
    assert found.at_inputs == found.inputs[3] / found.inputs[4]


def test_a_buffer_is_no_input():
    """Not even one that takes a gradient."""

    class Gained(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear()
            self.register_buffer("gain", some(4, requires_grad=True))

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x) * self.gain

    model = nn.Sequential(Gained(), Gained())
    loss = model(some(2, 4)).sum()
    assert viz.depth(model, loss).inputs[0] is None
    assert viz.depth(list(model), loss).inputs[0] is None


def test_zeros_infinities_and_nan_are_kept_as_they_are():
    model = Chain([linear() for _ in range(2)], lambda block, x: block(x))
    x = some(2, 4, requires_grad=True)
    assert viz.depth(model, (model(x) * 0.0).sum()).inputs == (0.0, 0.0)
    assert math.isnan(viz.depth(model, (model(x) * 0.0).sum()).at_inputs)
    assert viz.depth(model, (model(x) * math.inf).sum()).outputs[1] == math.inf
    assert math.isnan(viz.depth(model, (model(x) * math.nan).sum()).inputs[0])


@pytest.mark.parametrize(
    ("norms", "ratio"),
    [
        ((None, 3.0, None, 2.0), 1.5),
        ((0.0, 2.0), 0.0),
        ((math.inf, 2.0), math.inf),
        ((3.0, 0.0), math.nan),
        ((3.0, math.inf), math.nan),
        ((3.0, math.nan), math.nan),
        ((3.0,), 1.0),
        ((None, 3.0), math.nan),  # it would be itself over itself
        ((None,), math.nan),
        ((), math.nan),
    ],
)
def test_first_over_last_is_of_the_norms_that_are_known(norms, ratio):
    assert first_over_last(norms) == pytest.approx(ratio, nan_ok=True)


def test_a_loss_of_several_elements_takes_a_seed():
    model = Chain([linear() for _ in range(2)])
    y = model(some(2, 4))
    with pytest.raises(RuntimeError):
        viz.depth(model, y)
    found = viz.depth(model, y, gradient=np.ones((2, 4)))
    np.testing.assert_allclose(found.outputs, viz.depth(model, y.sum()).outputs)


# -- as text, and bad input --------------------------------------------------------------------------------------------


def test_the_table_and_json():
    found = Depth(("blocks.0", "blocks.1"), (None, 2e-9), (1.0, 2.0), (0.0, math.nan))
    assert str(found).splitlines() == [
        "norm of the gradient at  input  output  weights",
        "blocks.0                     –       1        0",
        "blocks.1                 2e-09       2      nan",
        "first over last            nan     0.5      nan",
        "the parameters of blocks.0 have a gradient of 0: nothing moves them",
    ]
    assert repr(found) == "<Depth of 2 blocks: print it for the table>"
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["inputs"] == [None, 2e-9]
    assert told["first_over_last"] == {"inputs": "nan", "outputs": 0.5, "weights": "nan"}
    many = Depth(tuple(map(str, range(1000))), *[(1.0,) * 1000] * 3)
    assert len(str(many).splitlines()) == 43
    assert "... 960 more" in str(many)


def test_what_are_no_norms_of_these_blocks_is_refused():
    one = (1.0,)
    with pytest.raises(ValueError, match="2 blocks but 1 norm in weights"):
        Depth(("a", "b"), one * 2, one * 2, one)
    with pytest.raises(ValueError, match="not below 0, but one in outputs is"):
        Depth(("a",), one, (-1.0,), one)


def test_bad_input_is_told_in_words():
    model, other = Chain([linear(), linear()]), Chain([linear(), linear()])
    loss = model(some(2, 4)).sum()
    with pytest.raises(UserError, match="nothing of this model has gone into this loss"):
        viz.depth(other, loss)
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got float"):
        viz.depth(model, 2.0)
    for wrong, told in [
        (3, "this is a int"),
        (loss, "this is a Tensor"),
        ("model", "this is a str"),
        ({}, "this dict is empty"),
        ({"a": 3}, "a is 3"),
        ({"a": []}, r"a is \[\]"),
        ([("a", linear()), ("a", linear())], "names are the same"),
        ([3], "among these is 3"),
    ]:
        with pytest.raises(UserError, match=rf"^depth takes a model, or its blocks by name: .*{told}"):
            viz.depth(wrong, loss)


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_and_draws(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = f"{EXAMPLES / 'gpt_block.py'}:loss"
    status, out, err = run("depth", target, "-o", "depth.svg", "--quantity", "weights", "--theme", "dark")
    assert (status, err) == (0, "wrote depth.svg\n")
    assert out.splitlines()[3].split()[0] == "block"
    assert "gpt_block.py:loss" in Path("depth.svg").read_text()
    inside = json.loads(run("depth", target, "--model", "model.block", "--json")[1])
    assert inside["names"] == ["norm1", "qkv", "proj", "norm2", "up", "down"]
    for arguments, told in [
        (("a*b", "a=1", "b=2"), "depth takes the loss of a file with a model in it"),
        ((target, "--model", "modl"), "has no model modl; the file has model"),
        ((target, "--model", "model.norm.weight"), "has no model model.norm.weight"),
        ((target, "--theme", "dark"), "--theme is for the picture"),
        ((target, "-o", "x.txt"), "'x.txt' names no picture's format"),
    ]:
        status, out, err = run("depth", *arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert told in err
    assert [path.name for path in tmp_path.iterdir()] == ["depth.svg"]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, out, err = run("depth", target, "-o", "x.png")
    assert (status, out) == (2, "")  # said before the work is done
    assert "matplotlib, which is not installed" in err


def test_the_model_of_a_file_is_its_only_one_that_is_public(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = "from tensorgrad import nn, ones\nnet = nn.Linear(2, 2)\nloss = net(ones(2)).sum()\n"
    for more, wanted in (("", 0), ("same = net", 0), ("_other = nn.Linear(2, 2)", 0), ("other = nn.Linear(2, 2)", 2)):
        Path("file.py").write_text(file + more)
        status, _, err = run("depth", "file.py:loss")
        assert status == wanted, err
        assert wanted == 0 or "which model? name it with --model NAME; the file has net, other" in err
