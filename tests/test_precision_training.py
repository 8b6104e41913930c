"""Training in simulated formats: against torch.autocast; what is lost without a scaler, and kept with one."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tensorgrad
from tensorgrad import amp, nn
from tensorgrad.nn import functional as F

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars.corpus import Corpus, read_text
from chars.settings import Settings
from chars.training import Batches, build_model
from precision_lab import training
from precision_lab.formats import format_of
from precision_lab.simulated import simulate
from precision_lab.training import Comparison, Plan, Ran, as_dict, backward, compare, plans
from precision_lab.training_picture import figure_of, picture
from precision_lab.training_table import printed

from viz import plain
from viz.errors import UserError
from viz.plots import paper

TINY = Settings(steps=12, blocks=1, heads=2, width=16, context=8, batch=4, warmup=3)
MANY = 15_360  # of 32 targets each: 491,520


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The same on a text of a few pages, which is soon read and scored."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(read_text(None)[:20_000], encoding="utf-8")
    return replace(TINY, text=str(path))


def layers(library: ModuleType) -> list:
    return [
        library.nn.Linear(24, 48),
        library.nn.GELU(approximate="tanh"),
        library.nn.LayerNorm(48),
        library.nn.Linear(48, 7),
    ]


@pytest.mark.parametrize(("name", "close"), [("fp16", 0.002), ("bf16", 0.01)])
def test_gradients_are_those_of_autocast(torch: ModuleType, name: str, close: float) -> None:
    tensorgrad.manual_seed(0)
    ours, theirs = nn.Sequential(*layers(tensorgrad)), torch.nn.Sequential(*layers(torch))
    theirs.load_state_dict({key: torch.tensor(x.data) for key, x in ours.state_dict().items()})
    x, y = np.random.default_rng(0).standard_normal((32, 24)).astype(np.float32), np.arange(32) % 7
    for factor in (1.0, 2.0**-17):  # with the second fp16 loses numbers
        ours.zero_grad()
        theirs.zero_grad()
        with simulate(ours, format_of(name)) as simulated:
            scores = ours(tensorgrad.tensor(x))
            (F.cross_entropy(scores, tensorgrad.tensor(y)) * factor).backward()
        with torch.autocast("cpu", dtype={"fp16": torch.float16, "bf16": torch.bfloat16}[name]):
            expected = theirs(torch.tensor(x)).float()
        (torch.nn.functional.cross_entropy(expected, torch.tensor(y)) * factor).backward()
        np.testing.assert_allclose(scores.data, expected.detach().numpy(), atol=close * 4)
        mine = np.concatenate([p.grad.ravel() for p in ours.parameters()])
        its = np.concatenate([p.grad.numpy().ravel() for p in theirs.parameters()])
        few_digits = name == "fp16" and factor < 1
        assert np.linalg.norm(mine - its) < np.linalg.norm(its) * (0.2 if few_digits else close)
        assert (simulated.between.lost > 1000) == few_digits
        assert abs(simulated.weights.lost - np.count_nonzero(its == 0)) < 40


def test_what_a_linear_reads_makes_and_sends_back_is_rounded() -> None:
    kind = format_of("fp8-e5m2")  # of 5 it makes 5, of 9 8, of 11 12: whole numbers, whose sums float32 has exactly
    rng = np.random.default_rng(0)
    x, w, b, g = (rng.integers(-15, 16, size).astype(np.float32) for size in ((6, 5), (4, 5), 4, (6, 4)))
    layer, read = nn.Linear(5, 4), tensorgrad.tensor(x, requires_grad=True)
    layer.load_state_dict({"weight": tensorgrad.tensor(w), "bias": tensorgrad.tensor(b)})
    with simulate(layer, kind):
        made = layer(read)
        made.backward(tensorgrad.tensor(g))
    rx, rw, rb, rg = map(kind.rounded, (x, w, b, g))
    for found, expected in (
        (made.data, rx @ rw.T + rb),
        (layer.weight.grad, rg.T @ rx),
        (layer.bias.grad, rg.sum(0)),
        (read.grad, rg @ rw),
    ):
        assert not np.array_equal(kind.rounded(expected), expected)
        np.testing.assert_array_equal(found, kind.rounded(expected))


def test_what_is_too_large_becomes_inf_and_goes_on() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    for kind, odd in (("fp16", np.isinf), ("fp8-e4m3", np.isnan)):
        with simulate(model, format_of(kind)) as simulated:
            model.zero_grad()
            (model(tensorgrad.ones(4, 2)).sum() * 1e6).backward()
        assert odd(model[1].bias.grad).all()
        assert simulated.between.overflowed == 4


def test_the_model_is_its_own_again_afterwards() -> None:
    tensorgrad.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    x, state = tensorgrad.randn(5, 3), model.state_dict().keys()
    plain = model(x).data
    simulated = simulate(model, format_of("fp8-e5m2"))
    assert not np.array_equal(model(x).data, plain)
    assert model.state_dict().keys() == state
    with pytest.raises(RuntimeError, match="simulated already"):
        simulate(model, format_of("fp16"))
    simulated.remove()
    np.testing.assert_array_equal(model(x).data, plain)
    with pytest.raises(ValueError, match="no Linear in this Tanh"):
        simulate(nn.Tanh(), format_of("fp16"))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
def test_a_copy_of_the_model_computes_with_its_own_weights(copied: Callable) -> None:
    model, x = nn.Sequential(nn.Linear(3, 2, bias=False)), tensorgrad.ones(1, 3) / 3
    with simulate(model, format_of("fp16")) as simulated:
        other, others = copied((model, simulated))
        assert other(x).tolist() == model(x).tolist()
        rounded = other(x).tolist()
        other[0].weight.data *= 2
        assert other(x).tolist() == [[2 * y for y in rounded[0]]]
        other(x).sum().backward()
        assert (others.weights.values, simulated.weights.values) == (6, 0)
    assert "forward" in other[0].__dict__
    others.remove()
    assert other(x).tolist() == F.linear(x, other[0].weight).tolist()
    model[0].forward = abs  # its own, as in a class made from Linear
    with pytest.raises(ValueError, match="no Linear"):
        simulate(model, format_of("fp16"))


def test_a_scaler_saves_a_step_of_many_targets(tiny: Settings) -> None:
    found = compare(tiny, [*plans(MANY), Plan(None, False, 1)])
    plain, few, lost, saved, brain, alone = found.runs
    for ran in (few, saved, brain):  # as float32, to the digits of the format
        np.testing.assert_allclose(ran.losses, plain.losses, atol=0.01)
        assert abs(ran.held_out - plain.held_out) < 0.01
    np.testing.assert_allclose(alone.losses, plain.losses, rtol=1e-4)  # one micro-batch that counts for all is right
    assert lost.held_out > plain.held_out + 0.05
    assert min(lost.lost_between) > 0.5 > 0.05 > max(few.lost_between)
    assert max(saved.lost_between) < 0.05
    assert not max(plain.lost_between + brain.lost_weights)
    assert (saved.scales, saved.skipped) == ([65536.0] * 12, [])
    assert [ran.name for ran in found.runs[1:4]] == [
        "fp16, 32 targets",
        "fp16, 491,520 targets",
        "fp16, GradScaler, 491,520 targets",
    ]


def test_a_scale_that_is_too_large_skips_steps_and_is_halved(tiny: Settings) -> None:
    (ran,) = compare(tiny, [Plan("fp16", True, 1)], growth_interval=1).runs
    assert ran.skipped
    for step in range(1, len(ran.scales)):
        assert ran.scales[step] == ran.scales[step - 1] * (0.5 if step in ran.skipped else 2)
    assert all(map(math.isfinite, ran.losses))


def test_weights_that_are_lost_end_a_run(tiny: Settings) -> None:
    (ran,) = compare(tiny, [Plan("fp8-e4m3", False, 1e-5)]).runs  # a loss times 100,000
    assert len(ran.losses) < 12
    assert math.isnan(ran.held_out)


def test_a_scaler_goes_on_after_a_loss_that_is_not_finite(tiny: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "backward", lambda *given: backward(*given) * math.inf)
    scaled, plain = compare(tiny, [Plan("fp16", True, 1), Plan("fp16", False, 1)]).runs
    assert (len(scaled.losses), len(plain.losses)) == (12, 1)


def test_the_end_of_a_run_is_the_mean_of_ten_losses() -> None:
    assert Ran("run", PLAIN.plan, losses=[100.0, *range(10)]).end == 4.5
    assert Ran("run", PLAIN.plan, losses=[3.0, 1.0]).end == 2


def test_small_numbers_are_rounded_to_fp16_as_numpy_does() -> None:
    halves = (np.arange(2**12) * 2.0**-26).astype(np.float32)  # every fourth is a subnormal of fp16, two beyond a tie
    numbers = np.concatenate([np.nextafter(halves, np.float32(way)) for way in (-1, 1)] + [halves])
    numbers = np.concatenate([numbers, -numbers])
    with np.errstate(under="ignore"):
        expected = numbers.astype(np.float16).astype(np.float64)
    found = format_of("fp16").rounded(numbers)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def ran(plan: Plan, held_out: float, **fields: list) -> Ran:
    losses = fields.pop("losses", [4.6, held_out])
    usual = {"scales": [1.0] * len(losses), "lost_between": [0.0] * len(losses), "lost_weights": [0.0] * len(losses)}
    return Ran(f"{plan.named()}, run", plan, losses=losses, held_out=held_out, **(usual | fields))


def made(*runs: Ran, guess: float = 3.2) -> Comparison:
    return Comparison(TINY, "a text", guess, 20, runs)


PLAIN = ran(Plan(None, False, 640), 2.1)


def test_what_is_said_of_the_runs() -> None:
    said = " ".join(
        printed(
            made(
                PLAIN,
                ran(Plan("fp16", False, 640), 3.4, lost_between=[0.8, 0.9]),
                ran(Plan("fp16", True, 640), 2.105, scales=[65536.0, 131072.0], skipped=[2], lost_between=[0.0, 0.02]),
                ran(Plan("bf16", False, 640), 2.4),
                ran(Plan("fp8-e5m2", False, 1), math.nan, losses=[4.6, math.inf]),
            )
        ).split()
    )
    for text in (
        "fp16, run: 1.30 nats worse than float32, and no better than letter frequencies (3.200).",
        "fp16, GradScaler, run: as good as float32.",
        "bf16, run: 0.30 nats worse than float32.",
        "fp8-e5m2, run: the weights are not finite any more, seen at step 2.",
        "each of 20,480 targets sends back 1/20,480 of its gradient. fp16 rounds to 0 what is 2.98e-08 or smaller: "
        "without a scaler 85 % of the numbers",
        "fp16 with GradScaler: 1 % of them; scales from 65,536 to 131,072, 1 step skipped",
        "Of the 640 micro-batches of a step, 32 targets each, one is computed",
        "Scales double after 20 good steps",
    ):
        assert text in said, said


def test_runs_that_are_too_short_are_not_judged() -> None:
    said = " ".join(printed(made(PLAIN, ran(Plan("bf16", False, 1), 2.1), guess=1.9)).split())
    assert "too short to tell: even in float32" in said
    assert "as good" not in said
    assert "without a scaler" not in said  # nothing was lost


def test_what_is_said_where_the_others_are_missing_or_float32_is_lost() -> None:
    lost = ran(Plan(None, False, 1), math.nan)
    scaled = ran(Plan("fp16", True, 1), 2.2, lost_between=[0.5, 0.5])
    said = printed(made(lost, scaled))
    assert "Even in float32 the weights are not finite any more" in said
    assert "short" not in said.split("Scales double")[0]
    assert "+nan" not in said
    assert "fp16 with GradScaler: 50 % of the numbers between the layers become 0;" in said


def test_what_stands_beside_the_curves_is_not_cut_off() -> None:
    runs = [
        ran(Plan("fp8-e5m2", True, 640), 2.2, losses=[4.6, 999.994, math.inf]),
        ran(Plan(None, False, 640), math.nan, losses=[4.6, 9e16, math.nan]),
    ]
    for each in runs:
        each.name = f"{each.plan.named()}, 491,520 targets"
    figure = figure_of(made(*runs), paper.theme_of("light"))
    figure.draw_without_rendering()
    labels = [text for axes in figure.axes for text in axes.texts]
    assert labels[0].get_text() == "999.99  fp8-e5m2, GradScaler, 491,520 targets, then inf or nan"
    assert labels[1].get_text().startswith("9e+16  float32")
    assert max(label.get_window_extent().x1 for label in labels) < figure.bbox.x1


def test_the_runs_as_picture_and_as_json(tmp_path: Path) -> None:
    scaled = ran(Plan("fp16", True, 640), 2.2, scales=[8.0, 4.0], skipped=[1])
    broken = ran(Plan("fp16", False, 640), math.nan, losses=[4.6, math.nan])
    for name, runs in (("all", [PLAIN, scaled, broken]), ("one", [PLAIN]), ("lost", [broken])):
        path = picture(made(*runs), tmp_path / f"{name}.svg", theme="dark")
        drawn = path.read_text(encoding="utf-8")
        assert drawn.count('id="axes_') == {"all": 3, "one": 1, "lost": 2}[name]
        assert drawn.count("4  fp16, GradScaler") == (name == "all")  # at the end of its scales
        assert drawn.count("The broad band: float32.") == (name != "lost")
    panels = figure_of(
        made(ran(Plan("fp16", True, 640), 2.0, losses=[4.0, 3.0, 2.0], skipped=[2])), paper.theme_of("light")
    )
    assert [line.get_xydata().tolist() for line in panels.axes[0].lines if line.get_marker() == "x"] == [[[2.0, 3.0]]]
    content = json.loads(plain.dumps(plain.plain(as_dict(made(PLAIN, scaled, broken)))))
    assert [run["held_out"] for run in content["runs"]] == [2.1, 2.2, "nan"]
    assert content["runs"][1]["skipped"] == [1]
    with pytest.raises(UserError, match="names no picture's format"):
        picture(made(PLAIN), tmp_path / "curves.txt")


def test_many_different_micro_batches_lose_no_less_than_one() -> None:
    """What fp16 loses of many micro-batches does not come back in the sum of their gradients."""
    text = "".join(map(chr, np.random.default_rng(0).integers(97, 123, 2000)))
    corpus = Corpus(text, "letters")
    tensorgrad.manual_seed(0)
    model = build_model(TINY, len(corpus.vocabulary))
    batches = Batches(corpus.encode(text), TINY)
    different = [batches.draw()[0] for _ in range(24)]

    def gradient(batch: tuple) -> np.ndarray:
        model.zero_grad()
        backward(model, batch, amp.GradScaler("cpu", enabled=False), MANY)
        return np.concatenate([p.grad.ravel() for p in model.parameters()]).astype(np.float64)

    def cosine(some: list) -> float:
        a = sum(gradient(batch) for batch in some)
        with simulate(model, format_of("fp16")):
            b = sum(gradient(batch) for batch in some)
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    assert cosine(different) < cosine(different[:1]) < 0.96
