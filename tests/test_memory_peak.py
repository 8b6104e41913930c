"""The peak of a backward pass: measured by `tracemalloc`, beside what the process itself measures."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import deep

import tensorgrad
import viz
from tensorgrad import Tensor, lean_graph, nn
from tensorgrad.autograd import Function
from tensorgrad.models import GPT, GPTConfig

ROOT = Path(__file__).parent.parent


def leaf(*shape: int) -> Tensor:
    return tensorgrad.randn(*shape, requires_grad=True)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    tensorgrad.manual_seed(0)


def test_the_peak_of_a_pass_is_measured_and_nothing_is_left_of_it():
    net, loss = deep()
    loss.backward()
    before = [p.grad.copy() for p in net.parameters()]
    kept = [p.grad for p in net.parameters()]
    found = viz.memory(loss, model=net, peak=True)
    assert all(p.grad is grad for p, grad in zip(net.parameters(), kept, strict=True))
    assert all(np.array_equal(p.grad, grad) for p, grad in zip(net.parameters(), before, strict=True))
    gradients = found.gradients
    assert gradients <= found.added < gradients * 1.1 + 300_000
    assert found.peak == found.total - gradients + found.added
    assert "at the peak of a backward pass" in str(found)
    released = viz.memory(loss, model=net, peak=True, keep_grads=False)
    assert released.added < found.added - 1_000_000
    assert viz.memory(loss).gradients == gradients


def test_a_pass_that_was_measured_does_not_change_what_is_known_of_the_last_one():
    x = leaf(3)
    y = x * 2
    loss = y.sum()
    loss.backward(keep_grads=False)
    viz.memory(loss, peak=True)
    with pytest.warns(UserWarning, match="released those of results as it went"):
        assert y.grad is None


def test_a_contribution_that_has_been_added_does_not_live_while_the_next_rule_runs():
    sent: list[weakref.ref[np.ndarray]] = []
    alive = []

    class Probe(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            alive.append([array() is not None for array in sent])
            found = g * 2
            sent.append(weakref.ref(found.data))
            return found

    y = Probe.apply(leaf(3))
    (Probe.apply(y) + Probe.apply(y)).sum().backward()
    assert alive == [[], [True], [False, False]]  # the first was y's gradient until the second came


@pytest.mark.parametrize("computed_again", [False, True, "selective"], ids=str)
def test_the_peak_of_a_pass_that_releases_is_what_tracemalloc_sees_of_both_passes(computed_again: bool | str):
    model = GPT(GPTConfig(vocabulary=700, context=50, blocks=3, heads=2, width=96), checkpoint=computed_again)
    tokens = tensorgrad.randint(0, 700, (3, 40))

    def loss() -> Tensor:
        with lean_graph():
            return model.loss(tokens, tokens)

    found = viz.memory(loss(), model=model, peak=True, retain_graph=False)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        root = loss()
        tracemalloc.reset_peak()
        root.backward(retain_graph=False)
        seen = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert found.saved + found.added == pytest.approx(seen, rel=0.03)  # which has the graph's Python objects, too


def test_a_pass_that_releases_its_rules_has_a_lower_peak_and_ends_the_graph():
    def added(**given: Any) -> tuple[int, Tensor]:
        with lean_graph():
            net = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(16, 16), nn.Tanh())])
            loss = net(tensorgrad.randn(2048, 16)).sum()
        return viz.memory(loss, peak=True, **given).added, loss

    keeps, loss = added()
    loss.backward()
    releases, loss = added(retain_graph=False)
    assert releases < keeps - 100_000
    with pytest.raises(RuntimeError, match="retain_graph=False"):
        loss.backward()


MEASURED = """
import resource
import numpy as np
import tensorgrad, viz
from tensorgrad import nn
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
warm = np.ones((1024, 1024), np.float32)
warm @ warm
del warm
start = most()
net = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Tanh())])
loss = net(tensorgrad.randn(16384, 256)).mean()
loss.backward()
grown = most() - start
for p in net.parameters():
    p.grad = None
print(grown, viz.memory(loss, model=net, peak=True).peak)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux alone")
def test_the_peak_is_within_a_tenth_of_what_the_process_measures():
    # a shell between: a process begins with the peak of the one that started it
    line = f'"{sys.executable}" -W error -c "$PROGRAM"; exit $?'
    environment = {"PROGRAM": MEASURED, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=True, timeout=120)
    grown, peak = map(int, ran.stdout.split())
    assert grown > 200e6
    assert peak == pytest.approx(grown, rel=0.1)


def test_peaks_in_several_threads_do_not_disturb_each_other():
    losses = [(leaf(400, 400).tanh() * leaf(400, 400)).sum() for _ in range(2)]
    for loss in losses:  # a pass that takes a while, in which the other thread could begin and end its own
        loss._prev[0].register_hook(lambda g: time.sleep(0.02))
    alone = viz.memory(losses[0], peak=True).added
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda loss: viz.memory(loss, peak=True).added, losses * 2))
    assert found == [pytest.approx(alone, rel=0.05)] * 4
    assert not tracemalloc.is_tracing()
