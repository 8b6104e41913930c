"""The scalar benchmark's contenders compute the same thing, so that their times can be compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent / "benchmarks"))

import scalar_programs as programs

from micrograd import script
from micrograd.backprop import topological_order

ROOT = Path(__file__).parents[1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> tuple[programs.Engine, programs.Engine]:
    """Ours and the smallest."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    return programs.Engine(str(ROOT)), programs.Engine("smallest")


def trained(engine: programs.Engine, name: str, **sizes: int) -> tuple[list[float], list[float]]:
    """Parameters and gradients after two steps of a program."""
    nets: list[Any] = []
    mlp = engine.MLP
    engine.MLP = lambda *sizes: nets.append(mlp(*sizes)) or nets[-1]
    step = programs.TIMED[name](engine, **sizes)
    engine.MLP = mlp
    step()
    step()
    parameters = nets[0].parameters()
    return [p.data for p in parameters], [p.grad for p in parameters]


def test_both_engines_take_the_same_steps(engines: tuple[programs.Engine, programs.Engine]):
    for name, sizes in (("net_step", {}), ("moons_step", {"size": 3, "hidden": 4})):
        ours, theirs = (trained(engine, name, **sizes) for engine in engines)
        assert ours == theirs
        assert any(ours[1])


def test_the_net_has_394_nodes_on_both(engines: tuple[programs.Engine, programs.Engine]):
    for engine in engines:
        _, loss_of = programs.net_loss(engine)
        assert len(topological_order(loss_of())) == 394


def test_the_source_code_replays_the_step(engines: tuple[programs.Engine, programs.Engine]):
    net, loss_of = programs.net_loss(engines[0])
    loss = loss_of()
    loss.backward()
    replayed = script(loss_of, net.parameters())(*[p.data for p in net.parameters()])
    assert replayed == (loss.data, [p.grad for p in net.parameters()])


def test_bytes_of_a_node(engines: tuple[programs.Engine, programs.Engine]):
    assert programs.memory(lambda: [0.0] * 1_000, 1_000) == pytest.approx(8, abs=0.3)  # pointers, and a list's head
    assert programs.memory(lambda: programs.chained(engines[1], 100), 100) < 300
