"""Functions before and after each step of an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tensorgrad import Tensor, optim


def parameter() -> Tensor:
    p = Tensor([1.0, 2.0], requires_grad=True)
    p.grad = Tensor([1.0, 1.0])
    return p


def test_hooks_run_around_the_step_in_the_order_in_which_they_came() -> None:
    p = parameter()
    optimizer = optim.SGD([p], lr=0.5)
    seen: list[tuple[str, float]] = []

    def note(name: str) -> Callable[..., None]:
        return lambda found, args, kwargs: seen.append((name, float(p.data[0])) if found is optimizer else ("", 0.0))

    optimizer.register_step_post_hook(note("after"))
    optimizer.register_step_pre_hook(note("before"))
    second = optimizer.register_step_pre_hook(note("second"))
    optimizer.step()
    assert seen == [("before", 1.0), ("second", 1.0), ("after", 0.5)]
    second.remove()
    seen.clear()
    optimizer.step()
    assert seen == [("before", 0.5), ("after", 0.0)]


def test_a_hook_may_give_the_step_other_arguments() -> None:
    optimizer = optim.SGD([parameter()], lr=0.5)
    given: list[Any] = []
    optimizer.register_step_pre_hook(lambda found, args, kwargs: ((lambda: "its closure",), {}))
    optimizer.register_step_post_hook(lambda found, args, kwargs: given.append((len(args), kwargs)))
    assert optimizer.step() == "its closure"
    assert optimizer.step(closure=lambda: "another") == "its closure"
    assert given == [(1, {}), (1, {})]


class Twice(optim.SGD):
    """Overrides `step`, and calls it."""

    def step(self, closure: Any = None) -> Any:
        super().step(closure)
        return super().step()


def test_an_optimizer_that_overrides_step_runs_them_once() -> None:
    optimizer = Twice([parameter()], lr=0.5)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.step()
    assert seen == ["before", "after"]
    assert optimizer.steps_taken == 2


def test_a_step_that_raises_is_no_step_and_the_next_one_is() -> None:
    optimizer = optim.SGD([parameter()], lr=0.5)
    seen: list[str] = []
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    optimizer.step()
    assert seen == ["before", "before", "after"]


def test_copies_and_states_are_without_hooks() -> None:
    optimizer = optim.SGD([parameter()], lr=0.5)
    seen: list[str] = []
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    deepcopy(optimizer).step()
    other = optim.SGD([parameter()], lr=0.5)
    other.load_state_dict(optimizer.state_dict())
    other.step()
    assert seen == []


@pytest.mark.parametrize("name", ["register_step_pre_hook", "register_step_post_hook"])
def test_what_is_no_function(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: takes a function, got"):
        getattr(optim.SGD([parameter()], lr=0.5), name)("print")
