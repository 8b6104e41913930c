"""What the monitor is to a program: its arguments, what it says, what it holds, and that it changes nothing."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from monitored import (
    classified,
    english,
    gpt,
    next_token,
    perceptron,
    right_class,
    small_watched,
    train,
    unheard,
    windows,
)

import tensorgrad
import tensorgrad.nn as nn
import tensorgrad.nn.functional as F
from tensorgrad import Tensor, optim
from tensorgrad.monitoring import Finding
from tensorgrad.monitoring.run import Run
from tensorgrad.watching import watchers

# -- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"ignore": ("copied", "unreach")}, ValueError, "there is no check 'unreach'; there are nonfinite"),
        ({"ignore": "copies"}, ValueError, "there is no check 'copies'"),
        ({"accumulate": 0}, ValueError, "accumulate is 0; it must be 1 or more"),
        ({"accumulate": 1.5}, TypeError, "accumulate"),
        ({"every": 0}, ValueError, "every is 0"),
        ({"after": -1}, ValueError, "after is -1"),
    ],
)
def test_arguments_that_make_no_sense(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        small_watched(**options)
    assert not watchers


def test_what_is_no_model_and_no_optimizer() -> None:
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(TypeError, match="takes a model and an optimizer"):
        tensorgrad.monitor(model, model)
    with pytest.raises(TypeError, match="takes a Module, or Tensors by name"):
        tensorgrad.monitor(3, optimizer)
    with pytest.raises(TypeError, match="under 'w'"):
        tensorgrad.monitor({"w": 1.0}, optimizer)
    with pytest.raises(ValueError, match="none of the optimizer's parameters is one of the model's"):
        tensorgrad.monitor(nn.Linear(2, 1), optimizer)
    assert not watchers


def test_ignored_checks_are_silent() -> None:
    for ignore, expected in (((), ["unchanged"]), ("unchanged", [])):
        model, optimizer, watch = small_watched(ignore=ignore)
        optimizer.param_groups[0]["lr"] = 0.0
        with watch:
            train(model, optimizer, classified(), 15, right_class)
        assert [finding.check for finding in watch.findings] == expected


def test_findings_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Linear(6, 5)
    optimizer = optim.SGD(model.parameters(), lr=1e-3)
    with tensorgrad.monitor(model, optimizer) as watch:
        train(model, optimizer, classified(), 4, lambda m, b: 40 * right_class(m, b))
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"monitor: {watch.findings[0]}\n")
    assert err.startswith("monitor: step 3: the loss is 40 times")


class Stop(Exception):
    """Raised by `say`."""


def stop(finding: Finding) -> None:
    raise Stop(finding.text)


def test_say_that_raises_ends_the_run_before_the_step() -> None:
    """With the graph there to look at, and the weights as they were."""
    model, _, watch = small_watched(say=stop)
    before = deepcopy(model.state_dict())
    x, y = next(classified())
    loss = F.cross_entropy(model(x) / 0.0, y)
    with watch, pytest.raises(Stop, match="The inf in it was made by '/'"):
        loss.backward()
    assert "inf" in tensorgrad.explain(model[0].weight, loss).text
    assert all(np.array_equal(p.data, before[name].data) for name, p in model.state_dict().items())


def test_say_that_raises_after_a_step_leaves_a_loop_that_can_go_on() -> None:
    model, optimizer, watch = small_watched(say=stop)
    with watch:
        with pytest.raises(Stop, match="40 times"):
            train(model, optimizer, classified(), 10, lambda m, b: 40 * right_class(m, b))
        assert watch.steps == 3
        train(model, optimizer, classified(), 10, lambda m, b: 40 * right_class(m, b))
    assert watch.steps == 13
    assert len(watch.findings) == 1


# -- what is said --------------------------------------------------------------------------------------------------


def said(factor: Callable[[Tensor], Tensor]) -> str:
    """The first finding of a small run whose loss is what `factor` makes of the mean cross entropy."""
    model, optimizer, watch = small_watched()
    with watch:
        train(model, optimizer, classified(), 4, lambda m, b: factor(right_class(m, b)))
    return watch.findings[0].text


def test_a_fraction_is_said_as_one() -> None:
    assert said(lambda loss: loss / 40).startswith("the loss is 1/40 of the mean cross entropy")


@pytest.mark.parametrize(
    ("broken", "remedy"),
    [
        (lambda loss: (loss - loss.item() - 1).log(), "Keep what it is given above 0"),
        (lambda loss: (loss * 0).sqrt(), "Keep what it is given above 0"),
        (lambda loss: loss / (loss * 0), "Keep the divisor away from 0"),
        (lambda loss: (loss * 1e4).exp(), "logsumexp"),
        (lambda loss: F.softmax(loss.reshape(1) - float("inf"), dim=0).sum(), "leave a place in each"),
    ],
)
def test_what_is_not_finite_comes_with_a_remedy(broken: Callable[[Tensor], Tensor], remedy: str) -> None:
    with np.errstate(all="ignore"):
        assert remedy in said(broken)


def test_operands_are_listed_in_one_phrase() -> None:
    with np.errstate(all="ignore"):
        assert "from operands of 1 and 0." in said(lambda loss: (loss * 0 + 1) / (loss * 0))


def test_a_loss_that_is_cut_off_from_the_model_is_not_called_a_forgotten_backward() -> None:
    text = said(lambda loss: tensorgrad.tensor(loss.item(), requires_grad=True))
    assert "of a loss that is computed from the model's result" in text


@pytest.mark.parametrize("is_cleared", [True, False])
def test_an_optimizer_that_takes_no_step_is_named(is_cleared: bool) -> None:
    """Gradients that are cleared without a step; added up, they may be meant for one large step."""
    model, optimizer, watch = small_watched()
    with watch:
        for (x, y), _ in zip(classified(), range(60)):
            if is_cleared:
                optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
    assert [finding.check for finding in watch.findings] == ["unchanged"] * is_cleared


def test_a_part_that_was_replaced_while_watched_is_told_from_one_that_is_not_used() -> None:
    """The optimizer holds the old one, and the model another of that name."""
    model, optimizer, watch = small_watched()
    model[4] = nn.Linear(24, 5)
    with watch:
        train(model, optimizer, classified(), 12, right_class)
    (finding,) = watch.findings
    assert (finding.step, finding.names) == (10, ("4.weight", "4.bias"))
    assert "another of that name, which the optimizer does not hold" in finding.text


def test_passes_after_training_need_no_step() -> None:
    """Gradients that are looked at, such as those of a trained model's inputs."""
    model, optimizer, watch = small_watched()
    with watch:
        train(model, optimizer, classified(), 3, right_class)
        for (x, y), _ in zip(classified(), range(60)):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
    assert not watch.findings


# -- it changes nothing, and keeps nothing -------------------------------------------------------------------------


def losses(monitored: bool, tmp_path: Path) -> list[float]:
    tensorgrad.manual_seed(0)
    tokens, vocabulary = english()
    model = gpt(vocabulary, dropout=0.1)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    watch = tensorgrad.monitor(model, optimizer, say=unheard, log=tmp_path / "run.jsonl") if monitored else None
    found = []

    def loss(model: Any, batch: Any) -> Any:
        out = next_token(model, batch)
        found.append(out.item())
        return out

    train(model, optimizer, windows(tokens), 20, loss, clip=1.0)
    if watch is not None:
        watch.close()
    return found


def test_a_watched_run_has_the_same_losses_bit_for_bit(tmp_path: Path) -> None:
    assert losses(True, tmp_path) == losses(False, tmp_path)


def hooks_of(model: nn.Module, optimizer: Any) -> list[int]:
    modules = [len(x) for module in model.modules() for x in (module._forward_hooks, module._forward_pre_hooks)]
    return [*modules, *(len(optimizer.__dict__.get(name, ())) for name in ("_pre_hooks", "_post_hooks"))]


def test_close_leaves_nothing_behind() -> None:
    model, optimizer, watch = small_watched()
    before = hooks_of(model, optimizer)
    assert watch in watchers
    train(model, optimizer, classified(), 2, right_class)
    watch.close()
    watch.close()
    assert not any(hooks_of(model, optimizer))
    assert any(before)
    assert watch not in watchers
    train(model, optimizer, classified(), 2, right_class)
    assert watch.steps == 2


def test_it_ends_with_the_optimizer() -> None:
    model, optimizer, watch = small_watched()
    train(model, optimizer, classified(), 2, right_class)
    held = weakref.ref(watch)
    del watch
    gc.collect()
    assert held() is not None
    del optimizer
    gc.collect()
    assert held() is None
    right_class(model, next(classified())).backward()


def test_it_ends_when_the_optimizer_is_gone_though_it_is_held() -> None:
    model, optimizer, watch = small_watched()
    del optimizer
    gc.collect()
    right_class(model, next(classified())).backward()
    assert watch not in watchers
    assert watch.steps == 0


def test_a_model_may_be_given_as_its_parameters() -> None:
    """In a list, or by a generator, which can be gone through only once."""
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for given in (list(model.parameters()), model.parameters()):
        with tensorgrad.monitor(given, optimizer, say=unheard) as watch:
            train(model, optimizer, classified(), 2, right_class)
        assert [p["name"] for p in watch.records[0]["parameters"]] == [f"parameter {i}" for i in range(6)]


def test_no_graph_is_kept() -> None:
    """After a step none, and of a pass without a step the last at most until the next."""
    model, optimizer, watch = small_watched()
    with watch:
        for _ in range(2):
            loss = right_class(model, next(classified()))
            loss.backward()
            optimizer.step()
        held = weakref.ref(loss)
        del loss
        gc.collect()
        assert held() is None
        hidden = model[0](next(classified())[0])  # a forward pass that is not used
        held = weakref.ref(hidden)
        del hidden
        assert held() is None


def test_a_long_run_knows_the_rows_of_its_beginning_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no more room for new ones; those that are known are asked for all the same."""
    monkeypatch.setattr("tensorgrad.monitoring.run._ROWS_KEPT", 10)
    run = Run()
    rows = np.arange(300).reshape(150, 2)
    for row in rows:
        run.add_pass(1.0, row)
    assert run.repeated == 0
    for row in rows[:10]:
        run.add_pass(1.0, row)
    assert run.repeated == pytest.approx(0.1)


def test_memory_does_not_grow_by_more_than_the_rows() -> None:
    model, optimizer, watch = small_watched()
    with watch:
        train(model, optimizer, classified(), 60, right_class)
        gc.collect()
        tracemalloc.start()
        try:
            train(model, optimizer, classified(), 200, right_class)
            gc.collect()
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert grown < 200 * 2500  # bytes; a graph has 20,000


# -- other programs ------------------------------------------------------------------------------------------------


def test_two_monitors_see_the_same() -> None:
    model, optimizer, one = small_watched()
    two = tensorgrad.monitor(model, optimizer, say=unheard)
    with one, two:
        train(model, optimizer, classified(), 5, lambda m, b: 40 * right_class(m, b))
    assert one.records == two.records
    assert [finding.check for finding in one.findings] == ["scaled"]


def test_copies_of_model_and_optimizer_are_not_watched() -> None:
    model, optimizer, watch = small_watched()
    with watch:
        train(model, optimizer, classified(), 2, right_class)
        other = deepcopy(model)
        kept = deepcopy(optimizer)
        train(other, optim.SGD(other.parameters(), lr=0.1), classified(), 3, right_class)
        kept.step()
        assert watch.steps == 2
        train(model, optimizer, classified(), 2, right_class)
    assert watch.steps == 4
    assert [line["passes"] for line in watch.records[1:]] == [1, 1, 1, 1]
    assert watch.findings == []


def test_a_closure_that_clears_after_itself() -> None:
    """step(closure) with the gradients cleared after each step: the pass is seen as that of its own step."""
    model, optimizer, watch = small_watched()
    stream = classified()

    def closure() -> Any:
        loss = right_class(model, next(stream))
        loss.backward()
        return loss

    with watch:
        for _ in range(15):
            optimizer.step(closure)
            optimizer.zero_grad()
    assert watch.findings == []
    assert [line["passes"] for line in watch.records[1:]] == [1] * 15
    assert watch.records[-1]["norm"] > 0


def test_a_pass_from_several_roots() -> None:
    model, optimizer, watch = small_watched()
    stream = classified()
    with watch:
        for _ in range(12):
            optimizer.zero_grad()
            tensorgrad.autograd.backward([right_class(model, next(stream)), model[0].weight.sum() * 0.01])
            optimizer.step()
    assert watch.findings == []
    assert all(line["parameters"]["0.weight"]["norm"] > 0 for line in watch.records[1:])


def test_grads_of_another_kind_are_no_passes() -> None:
    """autograd.grad accumulates nothing."""
    model, optimizer, watch = small_watched()
    stream = classified()
    with watch:
        for _ in range(12):
            tensorgrad.autograd.grad(right_class(model, next(stream)), list(model.parameters()))
            train(model, optimizer, stream, 1, right_class)
    assert watch.findings == []


def test_the_state_of_a_watched_optimizer_is_saved_and_loaded(tmp_path: Path) -> None:
    tensorgrad.manual_seed(0)
    model = perceptron(nn.Tanh, 6, 5)
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    with tensorgrad.monitor(model, optimizer, say=unheard) as watch:
        train(model, optimizer, classified(), 3, right_class)
        tensorgrad.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state.npz")
        found = tensorgrad.load(tmp_path / "state.npz")
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        train(model, optimizer, classified(), 12, right_class)
    assert watch.findings == []
    assert watch.steps == 15


def test_steps_that_are_not_measured_are_counted() -> None:
    model, optimizer, watch = small_watched(every=10)
    with watch:
        train(model, optimizer, classified(), 75, right_class)
    assert watch.steps == 75
    assert [line["step"] for line in watch.records[1:]] == [*range(1, 51), 60, 70]


def never_cleared(model: Any, optimizer: Any, batch: Any) -> None:
    right_class(model, batch).backward()
    optimizer.step()


def no_pass(model: Any, optimizer: Any, batch: Any) -> None:
    optimizer.step()


def cleared_too_soon(model: Any, optimizer: Any, batch: Any) -> None:
    right_class(model, batch).backward()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (never_cleared, "after steps 59 and 69: step 70 took the sum of"),
        (no_pass, "steps 60 and 70 were taken without a backward pass"),
        (cleared_too_soon, "steps 60 and 70 changed nothing"),
    ],
)
def test_findings_name_the_steps_that_were_measured(step: Any, says: str) -> None:
    model, optimizer, watch = small_watched(every=10)
    stream = classified()
    with watch:
        train(model, optimizer, stream, 54, right_class)
        optimizer.zero_grad()
        for _ in range(20):
            step(model, optimizer, next(stream))
    assert says in watch.findings[0].text


def test_an_evaluation_between_forward_and_backward_is_not_the_passs_input() -> None:
    tensorgrad.manual_seed(0)
    tokens, vocabulary = english()
    model, stream = gpt(vocabulary), windows(tokens)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    with tensorgrad.monitor(model, optimizer, say=unheard) as watch:
        for _ in range(4):
            x, _ = next(stream)
            loss = next_token(model, (x, x))
            model.eval()
            model(next(stream)[0])
            model.train()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    assert [finding.check for finding in watch.findings] == ["copied"]
