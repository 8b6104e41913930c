"""Checkpointing: forget what a block computed, and compute it again in the backward pass.

The block is one operation in the graph. Its operands are all tensors that it read and did not make: arguments, and
parameters that it closes over. Its rule runs the block again, with the random generator as it was, and walks the graph
of that run back to the operands, releasing it on the way. Memory then holds what blocks read, and one block's
intermediate results at a time.

Every contribution from the inside is sent by itself, in the order of the inside, so the gradients are those of a plain
pass bit for bit as long as the plain pass, too, takes the block's operations one after the other. It may not where an
operation outside shares an operand `t` with the block and lies between its operations in the order of the graph: where
the block reads `t` and also something that was computed from `t` outside (a function of a function of it), or where it
has several results and `t` is used again between the uses of these. Then a tensor with three or more contributions may
get them in another order, and differ by rounding. The masks of unselected branches (see `selection`) end at a block:
0 times inf inside of it is nan, as in torch.

Source: Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any

import numpy as np

from micrograd import observing
from micrograd.backprop import Contribution, chain_rule, deliver
from tensorgrad import random
from tensorgrad.autograd.gradients import Together
from tensorgrad.gate import Several, aside, unseen_pass
from tensorgrad.grad_mode import _mode, is_grad_enabled
from tensorgrad.lean import in_graph, release, stand_in
from tensorgrad.node import ArrayNode, Rule
from tensorgrad.outputs import record_outputs
from tensorgrad.placing import Placed
from tensorgrad.remembering import session
from tensorgrad.settings import kind, whole
from tensorgrad.tensor import Tensor
from tensorgrad.utils.same import CheckpointError, agrees, first_difference, operations, sample
from tensorgrad.utils.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from tensorgrad.utils.structure import rebuilt, tensors
from tensorgrad.versions import clock

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "noop_context_fn",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """Contexts of the two runs that do nothing: `context_fn` if it is left out."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose intermediate results are not kept but computed again in backward.

    function            returns a Tensor, or a tuple, list or dict of Tensors and other things; it must do the same when
                        it is called again. What it does beside (counts, prints, running averages) is done twice
    context_fn          gives two contexts, for the first run and for the second: with
                        `partial(create_selective_checkpoint_contexts, ["linear"])` results of these operations are kept
    determinism_check   "default": the second run's results are compared with the first's, in 512 of their numbers;
                        "none": in shape and dtype alone
    debug               whether the error about a second run that differs says which operation was another one
    preserve_rng_state  whether dropout draws the same numbers again; without it the second run may give others, and
                        numbers are not compared. It is the package's generator; one of your own must be put back by you
    early_stop          True or False, to the same effect: the second run always goes on to its end
    use_reentrant       accepted and ignored: there is one kind

    The gradients are those without it, bit for bit but for the cases at the head of this file. Under `no_grad` it is a
    plain call. A block in the block is as good as any.

    Raises CheckpointError (a RuntimeError) in backward if the second run gives results of other shapes or dtypes, or
    other numbers, reads other tensors that require gradients (parameters that were frozen since, say) or, where results
    are kept, computes other products; ChangedError if an array that the block read, or that its arguments or the
    function hold, was changed in place since the first; TypeError and ValueError for settings that make no sense.
    """
    _check(function, context_fn, determinism_check)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = _contexts(context_fn)
    state = random.get_rng_state() if preserve_rng_state else None
    lean = _mode.lean
    clock.now += 1  # what the block makes is younger than what it reads
    start = clock.now
    with _alone(), first:
        found = function(*args, **kwargs)
    results = [x for x in tensors(found) if x._requires_grad]
    if not results:
        return found
    parents = _read(results, start)
    older = [x._time < start for x in parents]  # the others are leaves that the block makes for itself
    kinds = [(x._data.shape, x._data.dtype) for x in results]
    is_compared = determinism_check == "default" and preserve_rng_state
    samples = [sample(x._data) for x in results] if is_compared else None
    done = operations(results, start) if debug else None
    turns: dict[int, None] = {}

    def rule(gradients: list[np.ndarray | None]) -> list[Any]:
        clock.now += 1
        begun = clock.now
        with _alone(), aside(), _as_recorded(state, lean), second:
            again = [x for x in tensors(function(*args, **kwargs)) if x._requires_grad]
        stop = [in_graph(x) for x in parents]
        differs = ""
        if [(x._data.shape, x._data.dtype) for x in again] != kinds:
            differs = "gave results of other shapes or dtypes"
        elif {x for x in _read(again, begun) if x._time < begun} != {x for x, is_older in zip(stop, older) if is_older}:
            differs = "read other tensors that require gradients"
        elif samples is not None and not all(agrees(x._data, s) for x, s in zip(again, samples, strict=True)):
            differs = "gave other numbers"
        if differs:
            where = f" ({first_difference(done, operations(again, begun)) or 'by the same operations'})" if done else ""
            raise CheckpointError(
                f"checkpoint: {_name(function)} {differs} when it was run again in backward{where}: it must do the "
                "same each time"
            )
        # whose gradient was complete first is the last that a walk down the graph comes to
        order = [i for i in list(turns)[::-1] or range(len(again)) if gradients[i] is not None]
        roots = [stand_in(again[i]) if lean else in_graph(again[i]) for i in order]
        seeds: list[Any] = [gradients[i] for i in order]
        again.clear()  # from here on the graph alone holds what the pass is to release
        sent = _contributions(roots, seeds, stop)
        return [sent[x] or None for x in stop]

    recorded: list[Any] = [*record_outputs("checkpoint", [x._data for x in results], parents, rule)]
    if len(recorded) > 1:
        for i, x in enumerate(recorded):
            x._rules = in_graph(x)._rules = (_noting(turns, i, x._rules[0]),)
    return rebuilt(found, dict(zip(results, recorded, strict=True)))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True
) -> Any:
    """The functions one after the other, each on the result of the one before, in `segments` checkpoints.

    functions  a `nn.Sequential`, or an iterable of functions of one argument
    segments   how many parts of about equal length; as in torch, the last is not checkpointed: backward begins there

    Raises ValueError for fewer segments than one, or more than functions.
    """
    steps = list(functions)
    count = whole("checkpoint_sequential", "segments", segments)
    if not 1 <= count <= len(steps):
        raise ValueError(
            f"checkpoint_sequential: {count} segments of {len(steps)} functions: give 1 to as many as functions"
        )

    def run(x: Any, part: Sequence[Callable[[Any], Any]]) -> Any:
        for function in part:
            x = function(x)
        return x

    length = len(steps) // count
    for start in range(0, length * (count - 1), length):
        part = steps[start : start + length]
        input = checkpoint(run, input, part, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state)
    return run(input, steps[length * (count - 1) :])


# -- the two runs ------------------------------------------------------------------------------------------------------


@contextmanager
def _alone() -> Iterator[None]:
    """A block in a selective one decides for itself what is kept."""
    token = session.set(None)
    try:
        yield
    finally:
        session.reset(token)


@contextmanager
def _as_recorded(state: Tensor | None, lean: bool) -> Iterator[None]:
    """The random generator and the kind of graph as they were in the first run; and afterwards as they are now."""
    mode, now = _mode.state, random.get_rng_state()
    try:
        if state is not None:
            random.set_rng_state(state)
        _mode.set(True)
        _mode.lean = lean
        yield
    finally:
        random.set_rng_state(now)
        _mode.state = mode


def _noting(turns: dict[int, None], i: int, rule: Rule) -> Rule:
    """The rule of result `i`, which notes in `turns` that it is the last one so far that has sent."""

    def noted(g: np.ndarray) -> np.ndarray:
        turns.pop(i, None)
        turns[i] = None
        return rule(g)

    return noted


def _contributions(
    roots: Sequence[Any], seeds: Sequence[np.ndarray], stop: Sequence[ArrayNode]
) -> dict[ArrayNode, Several]:
    """What a pass from `roots` sends to each of `stop`, in order. The graph in between is released."""
    sent = {x: Several() for x in stop}

    def inside(contributions: Iterator[Contribution]) -> Iterator[Contribution]:
        for sender, node, g in contributions:
            if node in sent:
                sent[node].append(g.array() if type(g) is Placed else g)
            else:
                yield sender, node, g

    with (
        unseen_pass(),
        closing(chain_rule(Together(roots, seeds), True, stop, done=release)) as contributions,
    ):
        deliver(inside(observing.inner(contributions)))
    return sent


def _read(results: Sequence[Tensor], start: int) -> tuple[ArrayNode, ...]:
    """The tensors that a block read and did not make: where the nodes that are younger than `start` end."""
    read: dict[ArrayNode, None] = {}
    seen: set[ArrayNode] = set()
    stack = [in_graph(x) for x in results[::-1]]
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


def _contexts(context_fn: Callable[[], Contexts]) -> Contexts:
    found = context_fn()
    if isinstance(found, tuple) and len(found) == 2 and all(hasattr(x, "__enter__") for x in found):
        return found
    raise TypeError(f"checkpoint: context_fn must return two contexts, for the two runs, got {kind(found)}")


def _check(function: Any, context_fn: Any, determinism_check: Any) -> None:
    if not callable(function):
        raise TypeError(f"checkpoint: takes a function and its arguments, got {kind(function)} for the function")
    if not callable(context_fn):
        raise TypeError(f"checkpoint: context_fn is a function that returns two contexts, got {kind(context_fn)}")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is 'default' or 'none', got {determinism_check!r}")


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
