"""`monitor`: one line beside a training loop, which then says what is wrong with its gradients."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import ref

import numpy as np

from tensorgrad.monitoring.checks import CHECKS
from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.log import Log, Record, Row
from tensorgrad.monitoring.measure import norm, share_of_zeros
from tensorgrad.monitoring.parts import Parts
from tensorgrad.monitoring.run import Run
from tensorgrad.monitoring.seen import MODEL, Pass, Step, graph_below
from tensorgrad.nn.module import Module
from tensorgrad.node import ArrayNode, quiet
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.settings import kind, real, whole
from tensorgrad.tensor import Tensor
from tensorgrad.watching import watchers

_ALWAYS = 50  # of the first steps each is measured, whatever `every` says: that is where bugs show
_CALLS = 64  # of a block's outputs in one pass, the last ones are looked at


def to_stderr(finding: Finding) -> None:
    """Print the line of a finding."""
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

    model       a Module, or Tensors by name ({"w": w}) where there is none
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
        silent = _names_of_checks(ignore)
        trained = [p for group in optimizer.param_groups for p in group["params"]]
        self._parts = parts = Parts(model, trained)
        if parts.foreign.issuperset(parts.names):
            raise ValueError(
                "monitor: none of the optimizer's parameters is one of the model's: make the optimizer after the "
                "model's last change (a cast that replaces parameters, tied weights), and give the one that trains it"
            )
        self.findings: list[Finding] = []
        self.steps = after
        self._say = say
        self._every = every
        self._checks = [check() for check in CHECKS.values() if check.name not in silent]
        self._run = Run(accumulate)
        self._log = Log(log, parts, {"optimizer": type(optimizer).__name__, "accumulate": accumulate}, after)
        self._optimizer = ref(optimizer)
        self._before = [np.empty_like(p._data) for p in parts.parameters]
        self._taken_before = np.zeros(len(parts.parameters), dtype=bool)
        self._passes = 0
        self._is_moving = False
        self._is_fresh = True
        self._last: Pass | None = None
        self._outputs: dict[str, deque[ref[Any]]] = {}
        self._calls: list[str] | None = []
        self._inputs: np.ndarray | None = None
        self._attach(model, optimizer)

    # -- seeing ----------------------------------------------------------------------------------------------------

    def _attach(self, model: Any, optimizer: Optimizer) -> None:
        """Hooks are functions that hold the monitor weakly, but for one: as long as the optimizer is there, it is."""
        itself = ref(self)
        modules = {name: module for name, module in self._parts.modules.items() if module is not None}
        self._handles = [
            optimizer.register_step_pre_hook(lambda *_: self.before_step()),
            optimizer.register_step_post_hook(lambda *_: self.after_step()),
        ]
        if isinstance(model, Module):
            modules[MODEL] = model
            self._handles.append(model.register_forward_pre_hook(_sees_inputs(itself, ref(model)), with_kwargs=True))
        for name, module in modules.items():
            self._handles.append(module.register_forward_hook(_sees_outputs(itself, name, ref(module))))
        watchers.add(self)

    def close(self) -> None:
        """See nothing more, and close the log. The findings stay."""
        watchers.discard(self)
        for handle in self._handles:
            handle.remove()
        self._forget()
        self._log.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _forget(self) -> None:
        self._last = None
        self._outputs.clear()

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
        outputs = {name: [x for r in calls if (x := r()) in inside] for name, calls in self._outputs.items()}
        self._outputs.clear()
        if inside.isdisjoint(self._parts.parameters) and not any(outputs.values()):
            return
        if self._calls:
            self._parts.in_order_of(self._calls)
        self._calls = None
        self._passes += 1
        scaled_by = getattr(roots[0], "_scaled_by", 1.0)
        self._last = seen = Pass(
            step=self.steps + 1,
            number=self._passes,
            roots=roots,
            graph=graph,
            parts=self._parts,
            norms=self._norms(scaled_by),
            outputs=outputs,
            inputs=self._inputs,
            leftover=np.flatnonzero(self._taken_before).tolist(),
            is_fresh=self._is_fresh,
            is_again=self._last is not None and any(x._prev for x in inside.intersection(self._last.graph)),
            scaled_by=scaled_by,
        )
        if optimizer._is_stepping:  # in a closure, that step() was given
            self._is_moving = self._has_gradient()
        self._run.add_pass(seen.loss, self._inputs)
        self._judge(lambda check: check.after_pass(seen, self._run))

    def _norms(self, scaled_by: float) -> np.ndarray:
        held = [p._grad for p in self._parts.parameters]
        return np.array([np.nan if g is None else norm(g) / scaled_by for g in held])

    def before_step(self) -> None:
        """Called before the optimizer takes a step."""
        self._is_moving = self._has_gradient()
        if self._is_measured():
            for p, before in zip(self._parts.parameters, self._before, strict=True):
                np.copyto(before, p._data)

    def _has_gradient(self) -> bool:
        return any(p._grad is not None and np.any(p._grad) for p in self._parts.parameters)

    @quiet
    def after_step(self) -> None:
        """Called after it."""
        measured = self._is_measured()
        self.steps += 1
        try:
            if measured:
                taken, changes, weights = self._taken()
                if self._last is not None:
                    self._log.add(self._row(taken, changes, weights))
                self._judge(lambda check: check.after_step(taken, self._run))
        finally:  # `say` may raise
            self._taken_before = np.array([p._grad is not None for p in self._parts.parameters], dtype=bool)
            self._passes = 0
            self._forget()

    def _is_measured(self) -> bool:
        number = self.steps + 1
        return number <= _ALWAYS or number % self._every == 0

    def _taken(self) -> tuple[Step, np.ndarray, np.ndarray]:
        """The step, and the norms of each parameter's change and of the parameter before."""
        parameters = self._parts.parameters
        weights = np.array([norm(before) for before in self._before])
        for p, before in zip(parameters, self._before, strict=True):
            np.subtract(p._data, before, out=before)
        changes = np.array([norm(before) for before in self._before])
        last = self._last
        step = Step(
            number=self.steps,
            passes=self._passes,
            parts=self._parts,
            norms=last.norms if last is not None else np.full(len(parameters), np.nan),
            ratios=np.divide(changes, weights, out=np.full(len(weights), np.nan), where=weights > 0),
            moved=changes != 0,
            rates=self._rates(),
            is_moving=self._is_moving,
            last=last,
        )
        return step, changes, weights

    def _rates(self) -> np.ndarray:
        optimizer = self._optimizer()
        assert optimizer is not None  # it is what calls
        rates = {p: float(group["lr"]) for group in optimizer.param_groups for p in group["params"]}
        return np.array([rates.get(p, 0.0) for p in self._parts.parameters])

    # -- saying ----------------------------------------------------------------------------------------------------

    def _judge(self, ask: Callable[[Any], Finding | None]) -> None:
        """Ask every check that no earlier finding explains, and say what is new."""
        for check in self._checks:
            said = {finding.check for finding in self.findings}
            if said.intersection(check.because_of):
                continue
            found = ask(check)
            if found is not None and not any((f.check, f.names) == (found.check, found.names) for f in self.findings):
                self.findings.append(found)
                self._log.add(found)
                self._say(found)

    def held_out(self, nats: float) -> None:
        """Tell the monitor what the model scores on text that it was not trained on, in nats, as the loss is."""
        self._run.held_out.append((self.steps, float(real("held_out", "nats", nats))))
        self._judge(lambda check: check.after_score(self.steps, self._run))

    # -- measuring -------------------------------------------------------------------------------------------------

    def _row(self, taken: Step, changes: np.ndarray, weights: np.ndarray) -> Row:
        parts, last = self._parts, self._last
        assert last is not None
        held = [p._grad for p in parts.parameters]
        sizes = np.array([p._data.size for p in parts.parameters], dtype=float)
        zeros = np.array([np.nan if g is None else share_of_zeros(g) for g in held])
        odd = last.nonfinite
        norms = last.norms
        count = len(parts.blocks)
        known = ~np.isnan(zeros)

        def per_block(values: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
            among = np.ones(len(values), dtype=bool) if among is None else among
            places = np.array(parts.block_of, dtype=int)
            return np.bincount(places[among], values[among], minlength=count)

        sent = per_block(known.astype(float)) > 0
        has_weights = per_block(sizes) > 0
        block_norms = np.where(sent, np.sqrt(per_block(norms**2, known)), np.nan)
        before = np.sqrt(per_block(weights**2))
        ratio = np.divide(np.sqrt(per_block(changes**2)), before, out=np.full(count, np.nan), where=before > 0)
        share = np.divide(
            per_block(zeros * sizes, known), per_block(sizes, known), out=np.full(count, np.nan), where=sent
        )
        return Row(
            step=taken.number,
            passes=taken.passes,
            loss=last.loss,
            norm=float(np.sqrt(np.sum(norms[known] ** 2))),
            rates=tuple(dict.fromkeys(taken.rates.tolist())),
            parameters=np.column_stack([norms, taken.ratios, zeros, odd]),
            blocks=np.column_stack([block_norms, np.where(has_weights, ratio, np.nan), share, per_block(odd)]),
            outputs=np.array([last.output_norm(name) for name in parts.blocks]),
        )

    @property
    def records(self) -> list[Record]:
        """All that was measured and found, as the log's lines have it."""
        return list(self._log.records())


def _check(optimizer: Any, accumulate: Any, every: Any, after: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"monitor: takes a model and an optimizer of tensorgrad.optim, got {kind(optimizer)}")
    for name, value, least in (("accumulate", accumulate, 1), ("every", every, 1), ("after", after, 0)):
        if whole("monitor", name, value) < least:
            raise ValueError(f"monitor: {name} is {value}; it must be {least} or more")


def _names_of_checks(ignore: Iterable[str]) -> set[str]:
    found = {ignore} if isinstance(ignore, str) else set(ignore)
    unknown = found.difference(CHECKS)
    if unknown:
        raise ValueError(f"monitor: there is no check {sorted(unknown)[0]!r}; there are {', '.join(CHECKS)}")
    return found


def _sees_inputs(monitor: ref[Monitor], of: ref[Any]) -> Callable[..., None]:
    def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen = monitor()
        if seen is not None and module.training and module is of():  # a copy of the model has the hooks too
            arrays = (getattr(x, "_data", x) for x in (*args, *kwargs.values()))
            seen._inputs = next((a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind in "iu"), None)

    return hook


def _sees_outputs(monitor: ref[Monitor], name: str, of: ref[Any]) -> Callable[..., None]:
    def hook(module: Any, args: Any, out: Any) -> None:
        seen = monitor()
        if seen is None or module is not of():
            return
        x = _first_tracked(out)
        if x is not None:
            seen._outputs.setdefault(name, deque(maxlen=_CALLS)).append(ref(x))
            if seen._calls is not None and name != MODEL:
                seen._calls.append(name)

    return hook


def _first_tracked(out: Any) -> Any:
    """The first tensor in what a module returned that is part of a graph."""
    if isinstance(out, ArrayNode):
        return out if out._requires_grad else None
    if isinstance(out, Mapping):
        out = list(out.values())
    if isinstance(out, (tuple, list)):
        return next((x for part in out if (x := _first_tracked(part)) is not None), None)
    return None
