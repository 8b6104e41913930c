"""The monitor's check of dead units: layers that are off for good, and zeros that have other reasons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad import Tensor, nn
from tensorgrad.monitoring import Finding
from tensorgrad.nn import functional as F

Forward = Callable[[Tensor], Tensor]


def network(act: Callable[[], nn.Module] = nn.ReLU, width: int = 20, layers: int = 2) -> nn.Sequential:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for i in range(layers):
        parts += [nn.Linear(width if i else 8, width), act()]
    return nn.Sequential(*parts, nn.Linear(width, 4))


def inputs(rng: np.random.Generator, rows: int) -> Tensor:
    return torch.tensor(rng.normal(size=(rows, 8)).astype(np.float32))


def found(
    model: nn.Module,
    steps: int = 30,
    lr: float = 1e-3,
    rows: int = 32,
    forward: Forward | None = None,
    classes: int = 4,
    **options: object,
) -> list[Finding]:
    """What `dead` says of some steps of training on noise."""
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    rng = np.random.default_rng(0)
    with torch.monitor(model, optimizer, say=lambda finding: None, **options) as watch:  # type: ignore[arg-type]
        for _ in range(steps):
            optimizer.zero_grad()
            scores = (forward or model)(inputs(rng, rows))
            F.cross_entropy(scores, torch.tensor(rng.integers(0, classes, rows))).backward()
            optimizer.step()
    return [finding for finding in watch.findings if finding.check == "dead"]


# -- dead --------------------------------------------------------------------------------------------------------------


def test_a_layer_that_starts_dead_is_named_after_twenty_passes() -> None:
    model = network()
    model[2].bias.data -= 100
    (finding,) = found(model)
    assert (finding.step, finding.names) == (20, ("2.weight",))
    assert finding.text.startswith("20 of 20 units of 2 (100%) are dead since step 1: no gradient came to them in 20")
    assert "the slope of relu is 0" in finding.text
    assert "leaky_relu" in finding.text


def test_the_share_and_the_step_since_when_are_counted() -> None:
    model = network()

    def forward(x: Tensor) -> Tensor:
        forward.passes += 1  # type: ignore[attr-defined]
        if forward.passes == 11:  # type: ignore[attr-defined]
            model[0].bias.data[:18] = -100
        return model(x)

    forward.passes = 0  # type: ignore[attr-defined]
    (finding,) = found(model, steps=40, forward=forward)
    assert finding.text.startswith("18 of 20 units of 0 (90%) are dead since step 11: ")
    assert finding.step == 30


def test_a_rate_that_is_far_too_high_kills_a_layer() -> None:
    findings = found(network(), steps=60, lr=3.0)
    assert len(findings) == 1
    assert findings[0].names


@pytest.mark.parametrize(("act", "op"), [(nn.Tanh, "tanh"), (nn.Sigmoid, "sigmoid"), (nn.GELU, "gelu")])
def test_saturated_units_are_dead(act: Callable[[], nn.Module], op: str) -> None:
    model = network(act)
    model[0].bias.data -= 200
    (finding,) = found(model)
    assert finding.text.startswith("20 of 20 units of 0 (100%) are dead since step 1: ")
    assert f"the slope of {op} is 0" in finding.text


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "x @ w": lambda x, w, b: (x @ w + b).clamp(min=0),
    "x @ w.T": lambda x, w, b: (x @ w.T + b).clamp(min=0),
    "w @ x": lambda x, w, b: (w @ x.T + b.view(12, 1)).clamp(min=0).T,
}


@pytest.mark.parametrize("form", FORMS)
def test_layers_written_by_hand(form: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "w": rng.normal(size=(8, 12) if form == "x @ w" else (12, 8)),
        "b": np.array([-100] * 10 + [3, 3]),
        "v": np.ones((12, 4)),
        "c": np.zeros(4),
    }
    weights = {name: Tensor(a.astype(np.float32), requires_grad=True) for name, a in arrays.items()}
    w, b, v, c = weights.values()
    optimizer = torch.optim.SGD(weights.values(), lr=0.01)
    with torch.monitor(weights, optimizer, say=lambda finding: None) as watch:
        for step in range(45):
            if step == 20:
                b.data[10] = -100
            optimizer.zero_grad()
            h = FORMS[form](inputs(rng, 32), w, b)
            F.cross_entropy(h @ v + c, torch.tensor(rng.integers(0, 4, 32))).backward()
            optimizer.step()
    (finding,) = watch.findings
    assert (finding.check, finding.step, finding.names) == ("dead", 40, ("w",))
    assert finding.text.startswith("11 of 12 units of w (92%) are dead since step 21: ")
    assert "the slope of clamp is 0" in finding.text


# -- not dead ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [nn.ReLU, nn.Tanh, nn.GELU, nn.LeakyReLU])
@pytest.mark.parametrize("layers", [1, 4])
def test_healthy_layers_are_silent(act: Callable[[], nn.Module], layers: int) -> None:
    assert found(network(act, layers=layers), steps=40) == []


def test_a_usual_share_of_relus_that_are_off_is_silent() -> None:
    model = network()
    model[0].bias.data[:15] = -100  # three in four, as in deep networks
    assert found(model) == []


def test_units_that_were_off_for_less_than_twenty_passes_are_silent() -> None:
    model = network()
    model[0].bias.data -= 100
    assert found(model, steps=19) == []


def test_tiny_batches_are_given_more_passes() -> None:
    model = network()
    model[0].bias.data -= 100
    (finding,) = found(model, rows=8, steps=70)
    assert finding.step == 64  # 512 rows
    assert "in 64 passes" in finding.text


def test_a_mask_behind_the_activation_is_silent() -> None:
    model = network()
    mask = torch.tensor(np.eye(20, dtype=np.float32)[0])  # pruned to one unit
    assert found(model, forward=lambda x: model[4](F.relu(model[2](F.relu(model[0](x)))) * mask)) == []


def test_dropout_is_silent() -> None:
    model = network()
    assert found(model, forward=lambda x: model[4](F.dropout(F.relu(model[0](x)), 0.9)), rows=32) == []


def test_weights_of_zero_above_are_silent() -> None:
    model = network()
    nn.init.zeros_(model[4].weight)
    model[4].weight.requires_grad_(False)
    assert found(model) == []


def test_scores_that_are_masked_are_silent() -> None:
    model = network()
    head = nn.Linear(20, 40)
    hidden = torch.tensor(np.arange(40) > 1)
    both = nn.ModuleList([model, head])
    assert found(both, forward=lambda x: head(model[:4](x)).masked_fill(hidden, -1e9), classes=2) == []


def test_batches_of_one_class_are_silent() -> None:
    assert found(network(), classes=1, lr=0.05, steps=60) == []


def test_frozen_layers_are_silent() -> None:
    model = network()
    model[0].requires_grad_(False)
    model[0].bias.data -= 100
    assert found(model) == []


def test_underflow_is_silent() -> None:
    model = network(nn.Sigmoid, layers=30)
    for layer in model[::2]:
        layer.weight.data *= 0.1
    assert found(model, steps=25, ignore=("depth", "unchanged")) == []


class Experts(nn.Module):
    """Two experts, of which one gets an empty batch, and counts for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = network(), network()

    def forward(self, x: Tensor) -> Tensor:
        return self.used(x) + self.unused(x) * 0.0 + self.unused(x[:0]).sum()


def test_experts_that_are_not_asked_are_silent() -> None:
    assert found(Experts()) == []


class Language(nn.Module):
    """A table of 200 tokens, of which 3 are seen; tied to the output layer or not, with relu on top of it."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(200, 8)
        self.hidden = nn.Linear(8, 8)
        self.head = nn.Linear(8, 200)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.tensor(np.abs(x.data[:, 0] * 2).astype(np.int64) % 3)
        return self.head(F.relu(self.hidden(F.relu(self.tokens(rows)))))


@pytest.mark.parametrize("tied", [False, True])
def test_rows_of_tables_are_silent(tied: bool) -> None:
    assert found(Language(tied)) == []
