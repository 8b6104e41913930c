"""`monitor`: one line beside a training loop, which then says what is wrong with its gradients."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import numpy as np

from tensorgrad.explain import graph_below
from tensorgrad.monitoring.change import Change
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.forward import Forward
from tensorgrad.monitoring.judge import Judge
from tensorgrad.monitoring.log import Log, Record
from tensorgrad.monitoring.measure import nonfinite, norm
from tensorgrad.monitoring.parts import Parts
from tensorgrad.monitoring.row import measured
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import Pass, Step
from tensorgrad.nn.module import Module
from tensorgrad.node import quiet
from tensorgrad.noise import warn
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.settings import kind, real, whole
from tensorgrad.tensor import Tensor
from tensorgrad.watching import watchers

_ALWAYS = 50  # of the first steps each is measured, whatever `every` says: that is where bugs show


def to_stderr(finding: Finding) -> None:
    """Print the line of a finding."""
    with suppress(OSError):  # a stderr that cannot be written to must not end a run
        print(f"monitor: {finding}", file=sys.stderr)


def monitor(
    model: Module | Mapping[str, Tensor] | Iterable[Tensor],
    optimizer: Optimizer,
    *,
    log: str | os.PathLike[str] | None = None,
    accumulate: int = 1,
    ignore: Iterable[str] = (),
    say: Callable[[Finding], Any] = to_stderr,
    every: int = 1,
    after: int = 0,
) -> Monitor:
    """Watch a training loop: from here on every `backward()` and every `optimizer.step()` is seen, and each cause of a
    wrong gradient is said once, in one line.

        watch = tensorgrad.monitor(model, optimizer)

    model       a Module; where there is none, Tensors by name ({"w": w}), or a list of them
    log         a file of JSON lines to write: at each step, for each block and each parameter, before clipping, the
                gradient's norm, its share of zeros and of what is not finite, and how far the step moved the weights
                in proportion to them. `plusequals run` draws it
    accumulate  backward passes whose gradients are meant to make one step
    ignore      names of checks that are to be silent (CHECKS lists them with what they look for)
    say         called with each Finding; one that raises makes a wrong gradient end the run
    every       measure each so many steps, after the first 50, of which each is measured
    after       steps taken before, where a run goes on: a log that is there is continued

    The optimizer keeps the monitor alive; `close()` ends it. Raises TypeError and ValueError for what is no model, no
    optimizer, or an optimizer of another model's parameters.
    """
    return Monitor(model, optimizer, log=log, accumulate=accumulate, ignore=ignore, say=say, every=every, after=after)


class Monitor:
    """What `monitor` returns.

    findings  what was said so far
    steps     steps that were taken
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        *,
        log: str | os.PathLike[str] | None,
        accumulate: int,
        ignore: Iterable[str],
        say: Callable[[Finding], Any],
        every: int,
        after: int,
    ) -> None:
        _check(optimizer, accumulate, every, after)
        if not callable(say):
            raise TypeError(f"monitor: say is a function that takes a Finding, got {kind(say)}")
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        self._parts = parts = Parts(model, trained)
        if parts.foreign.issuperset(parts.names):
            raise ValueError(
                "monitor: none of the optimizer's parameters is one of the model's: make the optimizer after the "
                "model's last change (a cast that replaces parameters, tied weights), and give the one that trains it"
            )
        self.steps = after
        self._every = every
        self._run = Run(accumulate)
        self._log = Log(log, parts, {"optimizer": type(optimizer).__name__, "accumulate": accumulate}, after)
        self._judge = Judge(ignore, self._run, (self._log.add, say))
        self._change = Change(parts.parameters)
        self._taken_before = np.zeros(len(parts.parameters), dtype=bool)
        self._left: list[ref[np.ndarray] | None] = [None] * len(parts.parameters)  # gradients after the last step
        self._passes = 0
        self._is_moving = self._by_hand = False
        self._is_fresh = True
        self._last: Pass | None = None
        self._told_of_released = False
        self._forward = Forward(model, parts.modules)
        self._optimizer = ref(optimizer)
        self._handles = [  # of all hooks, these alone hold the monitor: as long as the optimizer is there, it is
            optimizer.register_step_pre_hook(lambda *_: self.before_step()),
            optimizer.register_step_post_hook(lambda *_: self.after_step()),
        ]
        watchers.add(self)

    def close(self) -> None:
        """See nothing more, and close the log. The findings stay."""
        watchers.discard(self)
        for handle in self._handles:
            handle.remove()
        self._forward.close()
        self._last = None
        self._log.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def findings(self) -> list[Finding]:
        """What was said so far."""
        return self._judge.findings

    @property
    def records(self) -> list[Record]:
        """All that was measured and found, as the log's lines have it."""
        return list(self._log.records())

    def held_out(self, nats: float) -> None:
        """Tell the monitor what the model scores on text that it was not trained on, in nats, as the loss is."""
        self._run.held_out.append((self.steps, float(real("held_out", "nats", nats))))
        self._judge.after_score(self.steps)

    # -- called by backward() and by the optimizer -----------------------------------------------------------------

    def before_pass(self, roots: Sequence[Any]) -> None:
        """Called when any backward pass begins."""
        self._is_fresh = not self._has_gradient()
        for i in np.flatnonzero(self._taken_before):
            p = self._parts.parameters[i]
            if p._grad is None or not p._requires_grad or not np.any(p._grad):
                self._taken_before[i] = False

    @quiet
    def after_pass(self, roots: Sequence[Any]) -> None:
        """Called when it has ended; one of another model is not looked at."""
        optimizer = self._optimizer()
        if optimizer is None:  # no step will ever come
            self.close()
            return
        graph = graph_below(roots)
        inside = set(graph)
        outputs = self._forward.outputs_in(inside)
        if inside.isdisjoint(self._parts.parameters) and not any(outputs.values()):
            return
        if self._forward.calls:
            self._parts.in_order_of(self._forward.calls)
        self._forward.calls = None
        self._passes += 1
        if not self._told_of_released and any(x._released for x in graph):
            self._told_of_released = True
            warn(
                "monitor: this backward pass releases the gradients of results (keep_grads=False, or a lean graph), so "
                "what is read from those cannot be checked: dead units, how gradients fade with depth, the scores' "
                "gradient. Keep them in the first steps at least"
            )
        scaled_by = getattr(roots[0], "_scaled_by", 1.0)
        norms, odd = self._gradients()
        self._last = seen = Pass(
            step=self.steps + 1,
            number=self._passes,
            roots=roots,
            graph=graph,
            parts=self._parts,
            norms=norms / scaled_by,
            nonfinite=odd,
            outputs=outputs,
            inputs=self._forward.inputs,
            leftover=np.flatnonzero(self._taken_before).tolist(),
            is_fresh=self._is_fresh,
            is_again=self._last is not None and any(x._prev for x in inside.intersection(self._last.graph)),
            scaled_by=scaled_by,
        )
        if optimizer._is_stepping:  # in a closure, that step() was given
            self._is_moving = self._has_gradient()
        self._run.add_pass(seen.loss, seen.inputs, begins=seen.number == 1 or seen.is_fresh)
        self._judge.after_pass(seen)

    def before_step(self) -> None:
        """Called before the optimizer takes a step."""
        self._is_moving = self._has_gradient()
        self._by_hand = self._passes == 0 and any(
            p._grad is not None and (left is None or left() is not p._grad)
            for p, left in zip(self._parts.parameters, self._left, strict=True)
        )
        if self._is_measured():
            self._change.before()

    @quiet
    def after_step(self) -> None:
        """Called after it."""
        is_measured = self._is_measured()
        self.steps += 1
        try:
            if is_measured:
                self._change.after()
                taken = self._taken()
                if self._last is not None:
                    self._log.add(measured(taken, self._last, self._change, self._run.losses[-1]))
                self._judge.after_step(taken)
        finally:  # `say` may raise
            self._left = [None if p._grad is None else ref(p._grad) for p in self._parts.parameters]
            self._taken_before = np.array([p._grad is not None for p in self._parts.parameters], dtype=bool)
            self._passes = 0
            self._last = None
            self._forward.forget()

    def _is_measured(self) -> bool:
        number = self.steps + 1
        return number <= _ALWAYS or number % self._every == 0

    def _has_gradient(self) -> bool:
        return any(p._grad is not None and np.any(p._grad) for p in self._parts.parameters)

    def _gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """Each one's norm, and how many of its elements are not finite: now, as clipping spreads them to all."""
        held = [p._grad for p in self._parts.parameters]
        norms = np.array([np.nan if g is None else norm(g) for g in held])
        odd = [0 if g is None or math.isfinite(n) else nonfinite(g) for g, n in zip(held, norms, strict=True)]
        return norms, np.array(odd)

    def _taken(self) -> Step:
        last = self._last
        return Step(
            number=self.steps,
            passes=self._passes,
            parts=self._parts,
            norms=last.norms if last is not None else np.full(len(self._parts.parameters), np.nan),
            ratios=self._change.ratios,
            moved=self._change.norms != 0,
            rates=self._rates(),
            is_moving=self._is_moving,
            last=last,
            by_hand=self._by_hand,
        )

    def _rates(self) -> np.ndarray:
        optimizer = self._optimizer()
        assert optimizer is not None  # it is what calls
        rates = {p: float(group.get("lr", math.nan)) for group in optimizer.param_groups for p in group["params"]}
        return np.array([rates.get(p, 0.0) for p in self._parts.parameters])


def _check(optimizer: Any, accumulate: Any, every: Any, after: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"monitor: takes a model and an optimizer of tensorgrad.optim, got {kind(optimizer)}")
    for name, value, least in (("accumulate", accumulate, 1), ("every", every, 1), ("after", after, 0)):
        if whole("monitor", name, value) < least:
            raise ValueError(f"monitor: {name} is {value}; it must be {least} or more")
