"""The correct run and the four with a silent bug, one after the other, each in a folder of its own.

One bug is made twice. Clipping changes gradients in place, so where they are never cleared it shortens, too, what has
piled up: a step then adds to a sum of length 1, old gradients fade as in momentum, and the loss falls as if nothing
were wrong. Without clipping the sum grows and the run fails, which is what the source saw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from common.errors import Refused

from chars.checkpoint import Checkpoint, load
from chars.corpus import Corpus
from chars.settings import Settings
from chars.training import train

RUNS: dict[str, dict[str, Any]] = {
    "none": {},
    "no-zero-grad": {},
    "no-zero-grad-unclipped": {"bug": "no-zero-grad", "clip": math.inf},
    "unshifted": {},
    "loss-times-40": {},
    "detached-positions": {},
}
"""By name: which settings it changes; where no bug is among them it is the name."""


@dataclass(frozen=True)
class Finished:
    """What is told of a run.

    name      one of RUNS
    losses    of each step, mean nats a character of the batch, without the factor 40 where that is the bug
    held_out  mean nats a character of the held-out text after the last step
    findings  what the monitor said: dicts with "step", "check", "names", "text"
    seconds   that it took
    """

    name: str
    losses: list[float]
    held_out: float
    findings: list[dict[str, Any]]
    seconds: float


def five_runs(
    settings: Settings, corpus: Corpus, folder: Path, *, again: bool = False, say: Callable[[str], Any] | None = None
) -> Iterator[Finished]:
    """Each run once it is finished, the correct one first. `settings.bug` is not looked at.

    A run that is in the folder is taken from there if it is finished, and goes on if it was interrupted.

    again  replaces what is there
    say    is given a line before each run

    Raises what `train` raises, and Refused where the folder has runs of another text or other settings.
    """
    for number, (name, changes) in enumerate(RUNS.items(), 1):
        wanted = replace(settings, **{"bug": name, **changes})
        place = folder / name
        path = place / "checkpoint.npz"
        found = load(path) if path.exists() and not again else None
        if found is not None:
            _require_same(found, wanted, corpus, path)
        done = found is not None and found.step == wanted.steps and len(found.held_out) > 0
        if say is not None:
            how = "is there" if done else "starts" if found is None else f"goes on after step {found.step}"
            say(f"run {number} of {len(RUNS)}, bug: {name}, {how}")
        if found is not None and done:
            yield Finished(name, found.losses, found.held_out[-1][1], found.findings, found.seconds)
            continue
        resume = None if found is None else path
        result = train(
            wanted, folder=place, resume=resume, every=wanted.steps, progress=say is not None, overwrite=again
        )
        yield Finished(name, result.losses, result.held_out, result.findings, result.seconds)


def _require_same(found: Checkpoint, wanted: Settings, corpus: Corpus, path: Path) -> None:
    """The text is compared by what is in it, not by its path."""
    how = "replace it with --again, or choose another --folder"
    if found.text_sha256 != corpus.sha256:
        raise Refused(f"{str(path)!r} is a run on another text, {found.text_name}: {how}")
    ours, theirs = asdict(wanted), asdict(found.settings)
    for setting, value in ours.items():
        if setting != "text" and value != theirs[setting]:
            raise Refused(f"{str(path)!r} is a run with {setting} = {theirs[setting]}, not {value}: {how}")
