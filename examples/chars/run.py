"""What a run leaves behind: its log, its checkpoints, what was said of it. The loop itself is in training.py."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common.errors import Interrupted, Refused

import tensorgrad
from chars.checkpoint import Checkpoint, fitting, load, save
from chars.corpus import Corpus
from chars.logs import Log
from chars.progress import Progress
from chars.scoring import held_out_score
from chars.settings import Settings
from chars.signals import Signals
from tensorgrad.models import GPT
from tensorgrad.monitoring import Finding, Monitor


@dataclass(frozen=True)
class Result:
    """A finished run.

    losses, norms  of each step: mean nats a character of the batch, length of the gradient before clipping
    held_out       mean nats a character of the held-out text, after the last step
    scores         pairs (step, held_out) on the way
    findings       what the monitor said: dicts with "step", "check", "names", "text"
    seconds        that the steps and the scores took
    checkpoint     the file, or None
    """

    settings: Settings
    losses: list[float]
    norms: list[float]
    held_out: float
    scores: list[list[float]]
    findings: list[dict[str, Any]]
    seconds: float
    checkpoint: Path | None
    model: GPT
    corpus: Corpus


class Run:
    """A run in progress. See `training.train` for the arguments; `batches` is the generator that batches come from.

    step   the last that was done
    watch  the monitor, which is told of held-out scores and closed at the end
    """

    def __init__(
        self,
        settings: Settings,
        corpus: Corpus,
        model: GPT,
        optimizer: tensorgrad.optim.Optimizer,
        batches: tensorgrad.Generator,
        *,
        every: int,
        on_step: Callable[[int, float, float], Any] | None,
    ) -> None:
        if every < 1:
            raise Refused(f"--every is {every}; it must be 1 or more")
        self.settings, self.corpus, self.model, self.optimizer = settings, corpus, model, optimizer
        self.step = 0
        self.watch: Monitor | None = None
        self._batches, self._every, self._on_step = batches, every, on_step
        self._losses: list[float] = []
        self._norms: list[float] = []
        self._scores: list[list[float]] = []
        self._findings: list[dict[str, Any]] = []
        self._before = 0.0  # seconds, of earlier parts of the run
        self._path: Path | None = None
        self._saved: int | None = None  # the step that is in the file
        self._resumed: Path | None = None
        self._folder: Path | None = None

    # -- on from a checkpoint --------------------------------------------------------------------------------------

    def restore(self, path: str | Path) -> None:
        """Put everything back to where the checkpoint was made. Raises Refused for one of another text or settings."""
        found = load(path)
        if found.text_sha256 != self.corpus.sha256:
            raise Refused(
                f"{str(path)!r} was trained on another text: {found.text_name}, whose SHA-256 begins with "
                f"{found.text_sha256[:12]}; that of {self.corpus.name} begins with {self.corpus.sha256[:12]}. Give "
                "that text with --text, or start a new run without --resume"
            )
        ours, theirs = asdict(self.settings), asdict(found.settings)
        differing = [name for name in ours if name not in ("text", "steps") and ours[name] != theirs[name]]
        if differing:
            name = differing[0]
            raise Refused(f"{str(path)!r} was made with {name} = {theirs[name]}, which cannot become {ours[name]} now")
        if found.step > self.settings.steps:
            raise Refused(f"{str(path)!r} is {found.step} steps on already, and --steps is {self.settings.steps}")
        with fitting(path):
            self.model.load_state_dict(found.model)
            self.optimizer.load_state_dict(found.optimizer)
            parameters = dict(self.model.named_parameters())
            for name, gradient in found.gradients.items():
                parameters[name].grad = gradient
            self._batches.set_state(found.generators["batches"])
            tensorgrad.set_rng_state(found.generators["default"])
        self.step, self._before = found.step, found.seconds
        self._losses, self._norms, self._scores = found.losses, found.norms, found.held_out
        self._findings = found.findings
        self._resumed = Path(path)

    def _state(self) -> Checkpoint:
        return Checkpoint(
            settings=self.settings,
            step=self.step,
            model=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            gradients={name: p._grad for name, p in self.model.named_parameters() if p._grad is not None},
            generators={"batches": self._batches.get_state(), "default": tensorgrad.get_rng_state()},
            text_name=self.corpus.name,
            text_sha256=self.corpus.sha256,
            vocabulary=self.corpus.vocabulary,
            losses=self._losses,
            norms=self._norms,
            held_out=self._scores,
            findings=self._findings,
            seconds=self._seconds(),
        )

    # -- the run ---------------------------------------------------------------------------------------------------

    @contextmanager
    def recorded(
        self,
        folder: str | Path | None,
        checkpoint: str | Path | None,
        *,
        progress: bool,
        overwrite: bool,
    ) -> Iterator[None]:
        """Around the loop: opens what is written to, and closes it however the loop ends."""
        self._folder = None if folder is None else Path(folder)
        if checkpoint is None:
            checkpoint = self._resumed if folder is None else self.file("checkpoint.npz")
        self._path = None if checkpoint is None else Path(checkpoint)
        if self._folder is None and self._path is not None:
            self._folder = self._path.parent
        self._start = time.perf_counter()
        self._open(overwrite)
        self._log = Log(self.file("log.jsonl"), after=self.step)
        self._progress = Progress(self.settings.steps, self.step, progress)
        try:
            with Signals() as self._signals:
                self._last = time.perf_counter()
                yield
                if not self._scores or self._scores[-1][0] != self.step:  # a finished run that was resumed has one
                    self._score()
        finally:
            if self.watch is not None:
                self.watch.close()
            self._progress.close()
            self._log.close()

    def _open(self, overwrite: bool) -> None:
        """The first checkpoint, before the first step: it shows now, and not in minutes, that there can be one."""
        if self._path is None:
            return
        if self._resumed is not None and self._path.exists() and self._path.samefile(self._resumed):
            self._saved = self.step
            return
        if self._path.exists() and not overwrite:
            raise Refused(
                f"{str(self._path)!r} is there already: go on from it with --resume, or choose another --folder or "
                "--checkpoint"
            )
        self._save()

    def require_finite(self, step: int, loss: float, norm: float) -> None:
        """Raise Refused, before the weights are changed, where the step's loss or its gradient is inf or nan."""
        if math.isfinite(loss) and math.isfinite(norm):
            return
        self._log.write({"kind": "step", "step": step, "loss": loss, "norm": norm, "lr": self.settings.rate(step)})
        what = f"the loss is {loss}" if not math.isfinite(loss) else f"the gradient's norm is {norm}"
        raise self._stopped(f"step {step}: {what}")

    def _stopped(self, why: str) -> Refused:
        kept = "" if self._path is None else f"; {str(self._path)!r} holds the run as it was after step {self._saved}"
        return Refused(f"{why}, so the run has stopped{kept}. A smaller --learning-rate may help")

    def done(self, step: int, loss: float, norm: float) -> None:
        """Note down a step. Raises Interrupted after one during which a signal came."""
        self.step = step
        self._losses.append(loss)
        self._norms.append(norm)
        tokens = self.settings.batch * self.settings.accumulate * self.settings.context
        now = time.perf_counter()
        speed, self._last = tokens / (now - self._last), now
        line = {"kind": "step", "step": step, "loss": loss, "norm": norm, "lr": self.settings.rate(step)}
        line |= {"tokens": tokens * step, "seconds": round(self._seconds(), 3)}
        try:
            self._log.write(line)
        except Refused:
            self._save()  # there may be room for it, or it is on another disk
            raise
        self._progress.step(step, loss, norm, speed)
        if self._on_step is not None:
            self._on_step(step, loss, norm)
        if step % self._every == 0 or step == self.settings.steps:
            self._score()
            self._save()
            self._last = time.perf_counter()
        if self._signals.caught is not None:
            self._save()
            raise Interrupted(step, self._path, self._signals.caught)

    def _score(self) -> None:
        score = held_out_score(self.model, self.corpus.vocabulary, self.corpus.held_out)
        self._log.write({"kind": "held_out", "step": self.step, "nats": score})
        if not math.isfinite(score):
            raise self._stopped(f"after step {self.step}: the score of the held-out text is {score}")
        self._scores.append([self.step, score])
        self._progress.say(f"step {self.step}: held-out text {score:.3f} nats a character")
        if self.watch is not None:
            self.watch.held_out(score)

    def found(self, finding: Finding) -> None:
        """Show what the monitor says, and keep it; what was kept before the run was resumed is kept once."""
        self._progress.say(f"monitor: {finding}")
        told = [(kept["check"], kept["names"]) for kept in self._findings]
        if (finding.check, list(finding.names)) not in told:
            self._findings.append(asdict(finding) | {"names": list(finding.names)})

    def file(self, name: str) -> Path | None:
        """The path of a file of this name in the run's folder; None where nothing is written."""
        return None if self._folder is None else self._folder / name

    def _save(self) -> None:
        if self._path is not None and self._saved != self.step:
            # a step may leave nan behind, though its loss and gradient were finite: nothing can go on from there
            broken = [n for n, p in self.model.named_parameters() if not np.isfinite(p.data).all()]
            if broken:
                raise self._stopped(f"after step {self.step}: {broken[0]} is not finite any more")
            save(self._state(), self._path)
            self._saved = self.step

    def _seconds(self) -> float:
        return self._before + time.perf_counter() - self._start

    def result(self) -> Result:
        return Result(
            settings=self.settings,
            losses=self._losses,
            norms=self._norms,
            held_out=self._scores[-1][1],
            scores=self._scores,
            findings=self._findings,
            seconds=self._seconds(),
            checkpoint=self._path,
            model=self.model,
            corpus=self.corpus,
        )
