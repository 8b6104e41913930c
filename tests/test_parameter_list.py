"""`ParameterList`: what is in it is registered."""

from __future__ import annotations

from types import ModuleType

import pytest

import tensorgrad
from tensorgrad import nn
from tensorgrad.nn import Parameter


def test_a_parameter_list_registers_what_is_in_it(torch: ModuleType) -> None:
    found = []
    for m in (tensorgrad, torch):
        net = m.nn.Module()
        net.weights = m.nn.ParameterList([m.nn.Parameter(m.ones(2)), m.zeros(3)])
        net.weights.append(m.ones(1))
        net.weights += [m.ones(4)]
        net.weights[1] = m.nn.Parameter(m.full((3,), 7.0))
        assert all(isinstance(p, m.nn.Parameter) for p in net.weights)
        part = net.weights[1:3]
        assert type(part) is m.nn.ParameterList
        names = [name for name, _ in net.named_parameters()]
        found.append(
            (names, len(net.weights), net.weights[-1].tolist(), [p.tolist() for p in part], list(net.state_dict()))
        )
    assert found[0] == found[1]


def test_a_parameter_list_refuses() -> None:
    held = nn.ParameterList([Parameter([1.0])])
    with pytest.raises(IndexError, match="there is no number 1 among 1 Parameters"):
        _ = held[1]
    with pytest.raises(TypeError, match="ParameterList: holds Parameters, got a int"):
        held.append(1)
    with pytest.raises(NotImplementedError, match="use the Parameters in it"):
        held(1)
