"""profile(loss_fn): where the time of a forward and backward pass goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.backprop import Node, chain_rule, deliver, topological_order
from micrograd.scopes import Scope, scope
from tensorgrad import lean, random
from tensorgrad.gate import unseen_pass
from tensorgrad.node import ArrayNode
from tensorgrad.versions import clock
from viz.errors import UserError
from viz.passes import empty_gradients
from viz.profiling import record
from viz.profiling.attribute import Key, Spent, backward, forward
from viz.profiling.between import moved, shares
from viz.profiling.places import Places
from viz.profiling.record import ENDED, SENT, Recording, observed, shape_of
from viz.profiling.result import Profile, Row

MOST_RUNS = 1000
"""That are measured at most."""


def profile(loss_fn: Callable[[], Any], *, repeats: int = 5, model: Any = None, gradient: Any = None) -> Profile:
    """Where the time goes that `loss_fn()`, which returns a Value or a Tensor, and the backward pass of that take.

    repeats   how many runs are measured; as many are run between them without being looked at. One is run before all,
              and one forward pass after, in which each call of a Python function is followed
    model     its modules have the names that it has for them; without it, paths begin with the outermost module's class
    gradient  the seed, for a tensor of several elements

    Each pass begins without gradients, and all gradients are put back; hooks run, monitors are not told. The package's
    random generator is put back, too; whatever else `loss_fn` does (reads batches, counts) is done in every run.

    The times of all operations, of the pass itself and of what is outside of operations add up to what the runs took.
    An operation has ended when its result is there. The time since the end of what came before it (an operation, or the
    begin or end of a module) is its own but for the Python of your program in between, which is outside: the share of
    that is from the pass in which calls are followed. Operations that are not recorded, as under `no_grad`, count, and
    so do those that a checkpoint computes again, which are told apart. Other threads do not.

    Raises what `loss_fn` and its backward pass raise; TypeError for what is no function, or returns no node; UserError
    for a loss without a graph or from which `loss_fn` goes backward itself, and for settings that make no sense.
    """
    _check(loss_fn, repeats)
    state = random.get_rng_state()
    try:
        _run(loss_fn, gradient)
        plain, measured = [], []
        for _ in range(repeats):
            plain.append(_run(loss_fn, gradient))
            measured.append(_observed_run(loss_fn, gradient, model))
        own = shares(loss_fn, model, _around())
    finally:
        random.set_rng_state(state)
    chosen = _fastest([wall for wall, _ in measured])
    walls = [measured[i][0] for i in chosen]
    return Profile(
        rows=_rows([moved(measured[i][1], own) for i in chosen]),
        wall=_mean(walls),
        plain=_mean([plain[i] for i in _fastest(plain)]),
        runs=repeats,
        averaged=len(chosen),
    )


def _check(loss_fn: Any, repeats: Any) -> None:
    if isinstance(loss_fn, Node):
        raise TypeError(
            f"profile runs the forward pass, too: give a function that returns the loss, got a {_kind(loss_fn)} that "
            "has been made already"
        )
    if not callable(loss_fn):
        raise TypeError(f"profile takes a function of no arguments that returns the loss, got a {_kind(loss_fn)}")
    if not isinstance(repeats, int) or isinstance(repeats, bool) or not 1 <= repeats <= MOST_RUNS:
        raise UserError(f"repeats= is a whole number from 1 to {MOST_RUNS}, got {repeats!r}")


def _kind(thing: Any) -> str:
    return type(thing).__name__


def _graph(loss: Any, gradient: Any) -> tuple[Node, Any, list[Node]]:
    """The node at which the pass begins, its seed, and all nodes of the graph. Raises where there is no pass to run."""
    if not isinstance(loss, Node):
        raise TypeError(
            f"profile: the function must return the loss, a Value or a Tensor, and it returned a {_kind(loss)}"
        )
    if not loss.requires_grad:
        raise UserError(
            "profile: the function returned a tensor that requires no gradient, so there is no backward pass: make one "
            "of its leaves with requires_grad=True, and look for no_grad() and detach() on the way"
        )
    if not loss._prev:
        raise UserError("profile: the function returned a leaf, which no operation made: return the loss")
    if _has_sent(loss):
        raise UserError(
            "profile: the function has gone backward from the loss already, which would count as forward: leave "
            "backward() and the optimizer's step out and return the loss; the backward pass is run for you"
        )
    root: Node = lean.in_graph(loss) if isinstance(loss, ArrayNode) else loss
    return root, loss._seed(gradient), topological_order(root)


def _has_sent(loss: Node) -> bool:
    """Whether a backward pass from here was the last one."""
    if isinstance(loss, ArrayNode):
        return any(root() is loss for root in clock.last_roots or ())
    return bool(loss.grad)


def _run(loss_fn: Callable[[], Any], gradient: Any) -> float:
    """How long both passes take, in seconds."""
    begun = record.clock()
    loss = loss_fn()
    ahead = record.clock() - begun
    root, seed, order = _graph(loss, gradient)
    done = _done(loss)
    with empty_gradients(order), unseen_pass():
        begun = record.clock()
        deliver(chain_rule(root, seed, done=done))
        return ahead + record.clock() - begun


def _observed_run(loss_fn: Callable[[], Any], gradient: Any, model: Any) -> tuple[float, dict[Key, Spent]]:
    """How long both passes take while they are looked at, and what for."""
    ahead, back = Recording(), Recording()
    with _around() as around:
        with observed(ahead):
            begun = ahead.begin()
            loss = loss_fn()
            ahead.note(ENDED)
            wall = record.clock() - begun
        root, seed, order = _graph(loss, gradient)
        done = _noted(_done(loss), back)
        with empty_gradients(order), observed(back), unseen_pass():
            begun = back.begin()
            deliver(back.timed(chain_rule(root, seed, done=done)))
            back.note(ENDED)
            wall += record.clock() - begun
    places = Places(model, around)
    found: dict[Key, Spent] = forward(ahead.events(), places)
    for key, one in backward(back.events(), places).items():
        both = found.setdefault(key, one)
        if both is not one:
            both.calls += one.calls
            both.backward += one.backward
            both.again += one.again
    return wall, found


def _around() -> Scope:
    """A scope for a run: what is made in it is this thread's."""
    return Scope(scope("profile"))


def _noted(done: Callable[[Node], None] | None, recording: Recording) -> Callable[[Node], None] | None:
    """What is done with a node that has sent, whose time is its rule's."""
    if done is None:
        return None

    def noted(node: Node) -> None:
        done(node)
        recording.note(SENT, node._op, node._scope, shape_of(node))

    return noted


def _done(loss: Node) -> Callable[[Node], None] | None:
    return lean.done((loss,), None, None) if isinstance(loss, ArrayNode) else None


def _fastest(walls: Sequence[float]) -> list[int]:
    """The places of the faster half of the runs: what slows some down is what else the machine does."""
    return sorted(range(len(walls)), key=walls.__getitem__)[: (len(walls) + 1) // 2]


def _mean(times: Sequence[float]) -> float:
    return sum(times) / len(times)


def _rows(runs: Sequence[dict[Key, Spent]]) -> tuple[Row, ...]:
    """The mean of the runs, in the order of the first one's events."""
    together: defaultdict[Key, list[Spent]] = defaultdict(list)
    for run in runs:
        for key, one in run.items():
            together[key].append(one)
    n = len(runs)
    return tuple(
        Row(
            op=op,
            module=path,
            stack=stack,
            shape=shape,
            calls=round(sum(one.calls for one in each) / n),
            forward=sum(one.forward for one in each) / n,
            backward=sum(one.backward for one in each) / n,
            again=sum(one.again for one in each) / n,
        )
        for (op, path, stack, shape), each in together.items()
    )
