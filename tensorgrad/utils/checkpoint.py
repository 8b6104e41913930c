"""Checkpointing: forget what a block computed, and compute it again in the backward pass.

The block is one operation in the graph. Its operands are all tensors that it read and did not make: arguments, and
parameters that it closes over. Its rule runs the block again, with the random generator as it was, and walks the graph
of that run back to the operands. Memory then holds one block's intermediate results at a time.

Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from micrograd.backprop import gradients_kept
from tensorgrad import lift, random
from tensorgrad.autograd.gradients import pass_back
from tensorgrad.grad_mode import enable_grad, is_grad_enabled
from tensorgrad.outputs import record_outputs
from tensorgrad.settings import kind
from tensorgrad.tensor import Tensor
from tensorgrad.versions import clock


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose intermediate results are not kept but computed again in backward.

    function            returns a Tensor, or a tuple, list or dict of Tensors and other things; it must do the same when
                        it is called again
    preserve_rng_state  whether dropout draws the same numbers again; without it the second run may give others
    use_reentrant       accepted and ignored: there is one kind

    The gradients are those without it. (Where a tensor gets several contributions from inside the block they are added
    up there first, so the last digits may differ.) Under `no_grad` it is a plain call.

    Raises RuntimeError in backward if the second run gives results of other shapes or dtypes, or other numbers (known
    by their sums), or reads other tensors that require gradients (parameters that were frozen since, say); and if an
    array that the block read, or that its arguments or the function hold, was changed in place since the first.
    """
    if not callable(function):
        raise TypeError(f"checkpoint: takes a function and its arguments, got {kind(function)} for the function")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    state = random.get_rng_state() if preserve_rng_state else None
    clock.now += 1  # what the block makes is younger than what it reads
    start = clock.now
    found = function(*args, **kwargs)
    results = _tensors(found)
    tracked = [x for x in results if x._requires_grad]
    if not tracked:
        return found
    parents = _read(tracked, start)
    kinds = [(x._data.shape, x._data.dtype) for x in tracked]
    given = _older(parents, start)
    sums = [_sums(x._data) for x in tracked] if preserve_rng_state else None

    def rule(gradients: list[np.ndarray | None]) -> list[np.ndarray | None]:
        clock.now += 1
        start = clock.now
        again = _run_again(function, args, kwargs, state)
        differs = ""
        if [(x._data.shape, x._data.dtype) for x in again] != kinds:
            differs = "gave results of other shapes or dtypes"
        elif _older(_read(again, start), start) != given:
            differs = "read other tensors that require gradients"
        elif sums is not None and not all(_agrees(x._data, s) for x, s in zip(again, sums, strict=True)):
            differs = "gave other numbers"
        if differs:
            raise RuntimeError(
                f"checkpoint: {_name(function)} {differs} when it was run again in backward: it must do the same each "
                "time"
            )
        reached = [(x, g) for x, g in zip(again, gradients, strict=True) if g is not None]
        with gradients_kept(parents):
            pass_back([x for x, _ in reached], [g for _, g in reached], parents)
            return [parent._grad for parent in parents]

    recorded = record_outputs("checkpoint", [x._data for x in tracked], parents, rule)
    return _rebuilt(found, dict(zip(tracked, recorded, strict=True)))


def _run_again(function: Callable[..., Any], args: Any, kwargs: Any, state: Any) -> list[Tensor]:
    now = random.get_rng_state()
    try:
        if state is not None:
            random.set_rng_state(state)
        with enable_grad():
            return [x for x in _tensors(function(*args, **kwargs)) if x._requires_grad]
    finally:
        random.set_rng_state(now)


def _sums(a: np.ndarray) -> tuple[float, float]:
    """What tells the numbers of two runs apart, at little cost: their sum, and that of their sizes."""
    a = lift.numbers(a)
    with np.errstate(invalid="ignore", over="ignore"):
        return float(a.sum(dtype=np.float64)), float(np.abs(a).sum(dtype=np.float64))


def _agrees(a: np.ndarray, sums: tuple[float, float]) -> bool:
    """Whether these are the sums of `a`, but for rounding, which may differ with the addresses of arrays."""
    allowed = float(np.sqrt(np.finfo(a.dtype).eps)) * sums[1]
    return not any(abs(x - y) > allowed for x, y in zip(_sums(a), sums, strict=True))  # nan agrees with everything


def _older(tensors: Sequence[Tensor], start: int) -> set[Tensor]:
    """Those that were there before a run that began at `start`: not leaves that it made."""
    return {x for x in tensors if x._time < start}


def _read(results: Sequence[Tensor], start: int) -> tuple[Tensor, ...]:
    """The tensors that a block read and did not make: where the nodes that are younger than `start` end."""
    read: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    stack = list(results[::-1])
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        if x._prev and x._time >= start:
            stack += x._prev[::-1]
        elif x._requires_grad:
            read[x] = None
    return tuple(read)


# -- what a block may return: Tensors, in tuples, lists and dicts -----------------------------------------------------


def _tensors(found: Any) -> list[Tensor]:
    if isinstance(found, Tensor):
        return [found]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, (tuple, list)) else ()
    return list(dict.fromkeys(x for part in parts for x in _tensors(part)))


def _rebuilt(found: Any, instead: dict[Tensor, Tensor]) -> Any:
    if isinstance(found, Tensor):
        return instead.get(found, found)
    if isinstance(found, dict):
        return type(found)((key, _rebuilt(part, instead)) for key, part in found.items())
    if isinstance(found, (tuple, list)):
        parts = [_rebuilt(part, instead) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
