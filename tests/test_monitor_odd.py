"""What the monitor must survive: gradients given by hand, copies of a model, optimizers without a rate, odd logs."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgrad as torch
from tensorgrad import nn
from tensorgrad.monitoring import Finding
from tensorgrad.nn import functional as F


def small() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def loss_of(model: nn.Module) -> Any:
    return F.cross_entropy(model(torch.randn(16, 4)), torch.randint(0, 3, (16,)))


def train(model: nn.Module, optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_gradients_that_are_given_by_hand_are_no_missing_backward_pass() -> None:
    found: list[Finding] = []
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.monitor(model, optimizer, say=found.append):
        for _ in range(20):
            parameters = list(model.parameters())
            for p, g in zip(parameters, torch.autograd.grad(loss_of(model), parameters), strict=True):
                p.grad = g
            optimizer.step()
        assert found == []
        for _ in range(2):  # the same again, which no pass has brought
            optimizer.step()
    assert [f.check for f in found] == ["unchanged"]


def test_a_monitored_model_can_be_pickled_and_copied_and_its_copies_are_not_seen() -> None:
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.monitor(model, optimizer) as watch:
        train(model, optimizer, 2)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(other(torch.ones(1, 4)).data, model(torch.ones(1, 4)).data)
            loss_of(other).backward()
        train(model, optimizer, 2)
    assert [r["passes"] for r in watch.records if r["kind"] == "step"] == [1, 1, 1, 1]


def test_an_optimizer_without_a_learning_rate_is_watched() -> None:
    class Own(torch.optim.Optimizer):
        def step(self, closure: Callable[[], Any] | None = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data -= group["eta"] * p.grad

    model = small()
    optimizer = Own(model.parameters(), {"eta": 0.1})
    with torch.monitor(model, optimizer) as watch:
        train(model, optimizer, 30)
    assert (watch.steps, watch.findings) == (30, [])
    assert watch.records[-1]["lr"] == []


@pytest.mark.parametrize("say", [None, 3, "stderr"])
def test_say_is_refused_at_once_where_it_is_no_function(say: Any) -> None:
    model = small()
    with pytest.raises(TypeError, match="monitor: say is a function"):
        torch.monitor(model, torch.optim.SGD(model.parameters(), lr=0.1), say=say)


def test_weights_of_another_shape_or_dtype_may_take_the_place_of_those_before() -> None:
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.monitor(model, optimizer) as watch:
        train(model, optimizer, 5)
        optimizer.zero_grad()
        for layer, shape in ((model[0], (6, 4)), (model[2], (5, 6))):
            layer.weight.data = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            layer.bias.data = np.zeros(shape[0], np.float32)
        train(model, optimizer, 30)
        model.to(torch.float64)
        for group in optimizer.param_groups:
            group["lr"] = 0.0  # then nothing moves, which rounding must not hide
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(16, 4).to(torch.float64)), torch.randint(0, 3, (16,))).backward()
        optimizer.step()
    assert watch.findings == []
    assert [p["ratio"] for p in watch.records[-1]["parameters"].values()] == [0.0] * 4


# -- logs --------------------------------------------------------------------------------------------------------------

HEAD = b'{"kind": "run", "blocks": [], "parameters": []}\n'
STEP = b'{"kind": "step", "step": 1}'


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        (b"\xff\xfe", b""),
        (b"[1]\n", b""),
        (b"null\n", b""),
        (STEP + b"\n", b""),
        (HEAD + b"3\n", b""),
        (HEAD + STEP, HEAD + STEP + b"\n"),
        (HEAD + STEP + b'\n{"kind": "st', HEAD + STEP + b"\n"),
        (HEAD + b'{"kind": "step", "step": "x"}\n', HEAD),
        (HEAD + STEP + b'\n{"kind": "step", "step": 2}\n', HEAD + STEP + b"\n"),
    ],
    ids=str,
)
def test_a_log_that_is_gone_on_with_keeps_its_whole_lines_up_to_there(tmp_path: Path, old: bytes, kept: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(old)
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.monitor(model, optimizer, log=path, after=1):
        train(model, optimizer, 1)
    content = path.read_bytes()
    assert content.startswith(kept or b'{"kind": "run", "blocks": ["0", "2"]')
    lines = [json.loads(line) for line in content.splitlines()]
    assert lines[0]["kind"] == "run"
    assert lines[-1]["step"] == 2
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Full:
        def __init__(self, *given: Any, **more: Any) -> None: ...

        def write(self, text: str) -> int:
            said.append(text)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        flush = close = lambda self: self.write("")

    monkeypatch.setattr(Path, "open", Full)
    monkeypatch.setattr(sys, "stderr", Full())
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.monitor(model, optimizer, log=tmp_path / "run.jsonl") as watch:
        train(model, optimizer, 3)
    assert watch.steps == 3
    assert any("no more is written to" in text for text in said)
