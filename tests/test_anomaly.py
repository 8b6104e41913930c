"""Anomaly detection: the first rule that sends nan is named."""

from __future__ import annotations

import pytest

import tensorgrad as torch
from tensorgrad import checks


def loss(x: torch.Tensor) -> torch.Tensor:
    return ((x - x).sqrt() * 0).sum()


def test_the_rule_that_sends_nan_first_is_named() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with (
        torch.autograd.detect_anomaly(),
        pytest.raises(
            RuntimeError, match=r"anomaly: 'sqrt', .* shape \(2,\), sent nan to its operand 0, .* arose here"
        ),
    ):
        loss(x).backward()
    loss(x).backward()  # no longer looked for
    assert x.grad is not None


def test_nan_that_came_from_above_is_said_to() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True), pytest.raises(RuntimeError, match="held nan already"):
        (x * 2).backward(torch.tensor([float("nan")]))


def test_nothing_is_raised_for_numbers_and_unselected_branches() -> None:
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        torch.where(x > 0, x.sqrt(), x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.25]


def test_it_is_on_as_long_as_asked_for() -> None:
    torch.autograd.set_detect_anomaly(True)
    assert checks.watching()
    assert checks.enabled()
    with torch.autograd.set_detect_anomaly(False):
        assert not checks.watching()
    assert checks.watching()
    with torch.autograd.detect_anomaly(check_nan=False):
        assert not checks.watching()
    torch.autograd.set_detect_anomaly(False)
    assert not checks.watching()
    assert not checks.enabled()
    with pytest.raises(KeyError), torch.autograd.detect_anomaly():
        raise KeyError
    assert not checks.watching()


def test_it_leaves_debug_as_it_is() -> None:
    with torch.debug():
        with torch.autograd.detect_anomaly():
            assert checks.enabled()
        assert checks.enabled()
        assert not checks.watching()
    assert not checks.enabled()
