"""The monitor's check of depth: chains that shrink or grow the gradient, and those that only look like it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad import Tensor, nn
from tensorgrad.models.gpt import GPT, GPTConfig
from tensorgrad.monitoring import Finding
from tensorgrad.nn import functional as F

WIDTH = 48
HE = math.sqrt(2)


class Layer(nn.Module):
    """act(linear(x)), and x + that with `residual`; weights from N(0, scale^2 / WIDTH)."""

    def __init__(self, act: str, scale: float, residual: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.act, self.residual = getattr(torch, act), residual
        nn.init.normal_(self.linear.weight, std=scale / math.sqrt(WIDTH))
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        out = self.act(self.linear(x))
        return x + out if self.residual else out


def stack(act: str, depth: int, scale: float, residual: bool = False) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*[Layer(act, scale, residual) for _ in range(depth)], nn.Linear(WIDTH, 10))


def found(model: nn.Module, steps: int = 6, lr: float = 1e-3, **options: object) -> list[Finding]:
    """What `depth` says of some steps of training on noise."""
    said: list[Finding] = []
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    rng = np.random.default_rng(0)
    with torch.monitor(model, optimizer, say=said.append, **options):  # type: ignore[arg-type]
        for _ in range(steps):
            x = torch.tensor(rng.normal(size=(16, WIDTH)).astype(np.float32))
            loss = F.cross_entropy(model(x), torch.tensor(rng.integers(0, 10, 16)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [finding for finding in said if finding.check == "depth"]


@pytest.mark.parametrize(
    ("act", "depth", "scale", "verb", "factor"),
    [
        ("tanh", 30, 0.5, "shrink", 0.50),
        ("tanh", 60, 0.5, "shrink", 0.50),
        ("tanh", 60, 2.0, "grow", 1.17),
        ("sigmoid", 12, 1.0, "shrink", 0.23),
        ("relu", 30, HE / 2, "shrink", 0.40),
        ("relu", 30, HE * 2, "grow", 1.91),
    ],
)
def test_a_chain_that_shrinks_or_grows_is_one_finding(
    act: str, depth: int, scale: float, verb: str, factor: float
) -> None:
    findings = found(stack(act, depth, scale), lr=1e-5)
    assert [(f.names, f.step) for f in findings] == [((f"{depth - 1}", "0"), 5)]
    said = re.match(
        rf"{depth} layers {verb} the gradient by (\d\.\d\d) each, from {depth - 1} down to 0: the first receives ",
        findings[0].text,
    )
    assert said
    assert float(said[1]) == pytest.approx(factor, rel=0.05)


def test_the_text_gives_the_measured_ratio() -> None:
    model = stack("tanh", 30, 0.5)
    outputs: list[Tensor] = []
    for layer in (model[0], model[29]):
        layer.register_forward_hook(lambda module, args, out: outputs.append(out))
    (finding,) = found(model, steps=5)
    first, last = (np.linalg.norm(x.grad.astype(np.float64)) for x in outputs[-2:])
    assert f"the first receives {first / last:.1g} of what the last does" in finding.text
    assert "nn.init.calculate_gain" in finding.text


@pytest.mark.parametrize(
    ("act", "depth", "scale", "residual"),
    [
        ("tanh", 10, 5 / 3, False),
        ("tanh", 60, 5 / 3, False),
        ("relu", 30, HE, False),
        ("tanh", 60, 2.0, True),
        ("tanh", 60, 0.5, True),
        ("sigmoid", 4, 1.0, False),
        ("tanh", 5, 0.1, False),  # too few layers to call it a trend
    ],
)
def test_a_healthy_chain_is_silent(act: str, depth: int, scale: float, residual: bool) -> None:
    assert found(stack(act, depth, scale, residual), steps=20) == []


def test_underflow_to_zero_does_not_hide_the_trend() -> None:
    (finding,) = found(stack("sigmoid", 70, 0.5), lr=1e-5)
    assert finding.text.startswith("70 layers shrink the gradient by 0.1")
    assert "below it the numbers are too small for float32" in finding.text


def test_a_break_in_one_place_names_that_place() -> None:
    model = stack("tanh", 12, 5 / 3)
    model[5].linear.weight.data *= 1e-6
    (finding,) = found(model, lr=1e-6)
    assert finding.text.startswith("the gradient falls in one place: at the output of 5 it is ")
    assert finding.names == ("5", "4")


def test_two_places_are_not_called_one() -> None:
    model = stack("tanh", 12, 5 / 3)
    for place in (5, 8):
        model[place].linear.weight.data *= 1e-6
    assert [finding.names for finding in found(model, lr=1e-6)] == [("11", "0")]  # a trend


def test_zeros_from_one_place_down_are_led_back_to_the_layer_whose_units_are_off() -> None:
    model = stack("relu", 12, HE)
    model[5].linear.bias.data -= 100
    (finding,) = found(model, lr=1e-4)
    assert "11 passes nothing on" in finding.text
    assert "output of 10 and the 10 below it is exactly 0" in finding.text
    assert "Look in 5 for units that are all off" in finding.text


def test_zeros_that_the_trend_does_not_explain_are_a_break() -> None:
    model = stack("tanh", 30, 0.5)
    nn.init.zeros_(model[3].linear.weight)
    model[3].linear.weight.requires_grad_(False)
    (finding,) = found(model, lr=1e-5)
    assert finding.text.startswith("3 passes nothing on: ")
    assert "output of 2 and the 2 below it is exactly 0. Look in 3 for" in finding.text


def _tiny_head() -> nn.Module:
    model = stack("tanh", 10, 5 / 3)
    model[10].weight.data *= 1e-7
    return model


def _zero_head() -> nn.Module:
    model = stack("tanh", 10, 5 / 3)
    nn.init.zeros_(model[10].weight)
    return model


def _zero_branches() -> nn.Module:
    return stack("relu", 12, 0.0, residual=True)


def _frozen_below() -> nn.Module:
    model = stack("sigmoid", 30, 1.0)
    for layer in model[:29]:
        layer.requires_grad_(False)
    return model


class Parallel(nn.Module):
    """Blocks side by side, the gradient of each half that of the one before it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Layer("tanh", 1.0) for _ in range(20))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(sum(part(x) * 0.5**i for i, part in enumerate(self.parts)))


class Cell(nn.Module):
    """One layer, 40 times."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = Layer("tanh", 0.5)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(40):
            x = self.cell(x)
        return self.head(x)


@pytest.mark.parametrize("make", [_tiny_head, _zero_head, _zero_branches, _frozen_below, Parallel, Cell])
def test_what_only_looks_like_it_is_silent(make: Callable[[], nn.Module]) -> None:
    assert found(make(), steps=8) == []


def test_a_residual_transformer_is_silent() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocabulary=20, context=8, blocks=16, heads=2, width=16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    watch = torch.monitor(model, optimizer)
    for _ in range(20):
        tokens = torch.tensor(rng.integers(0, 20, (4, 9)))
        loss = F.cross_entropy(model(tokens[:, :-1]).reshape(-1, 20), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert watch.findings == []


def test_it_is_seen_when_it_arises_in_training() -> None:
    model = stack("tanh", 30, 5 / 3)
    said: list[Finding] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x, y = torch.randn(4, WIDTH), torch.zeros(4, dtype=torch.int64)
    with torch.monitor(model, optimizer, say=said.append, ignore="unchanged"):
        for step in range(80):
            if step == 25:
                for layer in model[:30]:
                    layer.linear.weight.data *= 0.3
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    (finding,) = [finding for finding in said if finding.check == "depth"]
    assert finding.step == 70


@pytest.mark.parametrize("turned", [False, True])
def test_weights_without_modules_are_judged_at_their_products(turned: bool) -> None:
    rng = np.random.default_rng(0)
    weights = {
        f"w{i}": Tensor(rng.normal(0, 0.5 / 4, (16, 16)).astype(np.float32), requires_grad=True) for i in range(30)
    }
    said: list[Finding] = []
    optimizer = torch.optim.SGD(weights.values(), lr=1e-3)
    with torch.monitor(weights, optimizer, say=said.append, ignore="unchanged"):
        for _ in range(6):
            h = Tensor(rng.normal(size=(8, 16)).astype(np.float32))
            for w in weights.values():
                h = (h @ (w.T if turned else w)).tanh()
            optimizer.zero_grad()
            (h**2).sum().backward()
            optimizer.step()
    assert [(f.check, f.names) for f in said] == [("depth", ("w29", "w0"))]
    assert "30 layers shrink the gradient by 0." in said[0].text
    assert "(norms at the product with each)" in said[0].text
