"""The monitor's log beside NumPy."""

from __future__ import annotations

import json
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
from tensorgrad import optim


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_log_beside_numpy(tmp_path: Path) -> None:
    """Norm, ratio, zeros and what is not finite, for each parameter and block, before clipping."""
    tensorgrad.manual_seed(0)
    tokens, vocabulary = english()
    model = gpt(vocabulary)
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)
    path, stream, expected = tmp_path / "run.jsonl", windows(tokens), []
    with tensorgrad.monitor(model, optimizer, log=path, say=unheard) as watch:
        for _ in range(3):
            loss = next_token(model, next(stream))
            optimizer.zero_grad()
            loss.backward()
            grads = {name: p.grad.astype(np.float64) for name, p in model.named_parameters()}
            before = {name: p.data.astype(np.float64) for name, p in model.named_parameters()}
            nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
            optimizer.step()
            changes = {name: p.data - before[name] for name, p in model.named_parameters()}
            expected.append((loss.item(), grads, before, changes))
    header, *steps = read(path)
    assert header["kind"] == "run"
    assert header["blocks"] == ["tokens", "positions", "blocks.0", "blocks.1", "norm", "head"]
    assert {p["name"]: tuple(p["shape"]) for p in header["parameters"]} == {
        name: p.shape for name, p in model.named_parameters()
    }
    assert watch.records == [header, *steps]
    for number, (found, (loss, grads, before, changes)) in enumerate(zip(steps, expected, strict=True), 1):
        assert (found["kind"], found["step"], found["passes"], found["lr"]) == ("step", number, 1, [0.01])
        assert found["loss"] == pytest.approx(loss, rel=1e-5)
        assert found["norm"] == pytest.approx(length(grads, list(grads)), rel=1e-5)
        assert found["parameters"].keys() == grads.keys()
        groups = {name: [name] for name in grads}
        of_blocks = {block: [n for n in grads if n.startswith(f"{block}.")] for block in header["blocks"][:-1]}
        for table, members in ((found["parameters"], groups), (found["blocks"], of_blocks)):
            for name, parts in members.items():
                size = sum(grads[n].size for n in parts)
                weights = length(before, parts)
                assert table[name]["norm"] == pytest.approx(length(grads, parts), rel=1e-4)
                assert table[name]["ratio"] == (
                    pytest.approx(length(changes, parts) / weights, rel=1e-3) if weights else None
                )
                assert table[name]["zeros"] == pytest.approx(sum((grads[n] == 0).sum() for n in parts) / size)
                assert table[name]["nonfinite"] == 0
        assert found["blocks"]["head"]["norm"] is None  # its weights are the token table's
        assert all(found["blocks"][block]["output"] > 0 for block in header["blocks"])


def length(arrays: dict[str, np.ndarray], names: list[str]) -> float:
    return float(np.sqrt(sum((arrays[name] ** 2).sum() for name in names)))


def test_what_is_not_finite_is_counted_and_written_as_json(tmp_path: Path) -> None:
    w = {name: tensorgrad.tensor([1.0, 2.0], requires_grad=True) for name in ("a", "b", "c")}
    optimizer = optim.SGD(w.values(), lr=0.1)
    with tensorgrad.monitor(w, optimizer, log=tmp_path / "run.jsonl", say=unheard) as watch:
        ((w["a"] - tensorgrad.tensor([1.0, 0.0])).sqrt() + w["b"] * 0).sum().backward()
        optimizer.step()
    header, finding, step = read(tmp_path / "run.jsonl")
    assert header["optimizer"] == "SGD"
    assert finding["check"] == "nonfinite"
    assert step["norm"] == "inf"
    assert step["parameters"]["a"] == {"norm": "inf", "ratio": "inf", "zeros": 0.0, "nonfinite": 1}
    assert step["parameters"]["b"] == {"norm": 0.0, "ratio": 0.0, "zeros": 1.0, "nonfinite": 0}
    assert step["parameters"]["c"] == {"norm": None, "ratio": 0.0, "zeros": None, "nonfinite": 0}
    assert watch.findings[0].text == finding["text"]


def test_blocks_are_logged_in_the_order_in_which_they_ran() -> None:
    class Backwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head, self.body, self.stem = nn.Linear(4, 5), nn.Linear(4, 4), nn.Linear(6, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.body(self.stem(x)).tanh())

    model = Backwards()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    with tensorgrad.monitor(model, optimizer, say=unheard) as watch:
        train(model, optimizer, classified(), 1, right_class)
    header, step = watch.records
    assert header["blocks"] == list(step["blocks"]) == ["stem", "body", "head"]
    assert all(p["name"].startswith(f"{p['block']}.") for p in header["parameters"])
    for block, found in step["blocks"].items():
        norms = [step["parameters"][f"{block}.{name}"]["norm"] for name in ("weight", "bias")]
        assert found["norm"] == pytest.approx(np.hypot(*norms), rel=1e-5)


def test_a_scaled_loss_is_logged_unscaled(tmp_path: Path) -> None:
    rows = []
    for scaler in (None, tensorgrad.amp.GradScaler(init_scale=1024.0)):
        model, optimizer, watch = small_watched()
        with watch:
            loss = right_class(model, next(classified()))
            (loss if scaler is None else scaler.scale(loss)).backward()
            optimizer.step() if scaler is None else scaler.step(optimizer)
        rows.append(watch.records[1])
    assert rows[0] == rows[1]


def test_a_log_is_continued(tmp_path: Path) -> None:
    """Lines after the step from which the run goes on are replaced, half a line is dropped."""
    path = tmp_path / "run.jsonl"
    model, optimizer, watch = small_watched(log=path)
    with watch:
        train(model, optimizer, classified(), 6, right_class)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "st')
    watch = tensorgrad.monitor(model, optimizer, log=path, say=unheard, after=4)
    with watch:
        train(model, optimizer, classified(), 3, right_class)
    found = read(path)
    assert [line["kind"] for line in found] == ["run", *["step"] * 7]
    assert [line["step"] for line in found[1:]] == [1, 2, 3, 4, 5, 6, 7]


def test_a_log_that_cannot_be_written_does_not_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "missing" / "run.jsonl"
    model, optimizer, watch = small_watched(log=path)
    with watch:
        train(model, optimizer, classified(), 4, right_class)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(f"monitor: no more is written to {str(path)!r}: ")
    assert len(watch.records) == 5


def test_a_part_of_an_accumulation_is_measured_too() -> None:
    """The last batches of a data set that 4 does not divide. The loss of a step is that of its passes together."""
    model, optimizer, watch = small_watched(accumulate=4)
    stream, expected = classified(), []
    with watch:
        for passes in (4, 4, 4, 2):
            losses = [right_class(model, next(stream)) / 4 for _ in range(passes)]
            for loss in losses:
                loss.backward()
            expected.append(sum(loss.item() for loss in losses))
            optimizer.step()
            optimizer.zero_grad()
    assert [line["passes"] for line in watch.records[1:]] == [4, 4, 4, 2]
    assert [line["loss"] for line in watch.records[1:]] == pytest.approx(expected, rel=1e-5)
    assert all(line["norm"] > 0 for line in watch.records[1:])
    assert watch.findings == []


def test_the_loss_of_passes_that_were_thrown_away_is_not_the_steps() -> None:
    model, optimizer, watch = small_watched()
    with watch:
        right_class(model, next(classified())).backward()
        optimizer.zero_grad()
        loss = right_class(model, next(classified(seed=1)))
        loss.backward()
        optimizer.step()
    assert watch.records[1]["loss"] == pytest.approx(loss.item(), rel=1e-5)


@pytest.mark.parametrize("other", ["another model's", "its own"])
def test_a_pass_in_between_hides_no_outputs(other: str) -> None:
    """Of another model, or of a loss that was computed before: what blocks returned for the next pass is kept."""
    model, optimizer, watch = small_watched()
    with watch:
        loss = right_class(model, next(classified()))
        right_class(model if other == "its own" else perceptron(nn.Tanh, 6, 5), next(classified())).backward()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(block["output"] > 0 for block in watch.records[1]["blocks"].values())


def test_what_is_not_finite_is_counted_before_clipping_spreads_it() -> None:
    w = {name: tensorgrad.tensor([0.0, 2.0], requires_grad=True) for name in ("a", "b")}
    optimizer = optim.SGD(w.values(), lr=0.1)
    with tensorgrad.monitor(w, optimizer, say=unheard, ignore="nonfinite") as watch:
        (w["a"].sqrt() * tensorgrad.tensor([0.0, 1.0]) + w["b"]).sum().backward()  # 0 * inf
        nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimizer.step()
    found = watch.records[1]["parameters"]
    assert (found["a"]["norm"], found["a"]["nonfinite"]) == ("nan", 1)
    assert (found["b"]["norm"], found["b"]["nonfinite"]) == (pytest.approx(2**0.5, rel=1e-5), 0)
