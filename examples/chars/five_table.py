"""The table of the five runs, with the figures that "Loss and gradients as a graph walk" gives for its own text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from chars.corpus import Corpus
from chars.five_runs import Finished
from chars.settings import Settings

LABELS = {
    "none": "correct",
    "no-zero-grad": "gradients not cleared",
    "no-zero-grad-unclipped": "gradients not cleared, not clipped",
    "unshifted": "targets not shifted",
    "loss-times-40": "loss times 40",
    "detached-positions": "positions detached",
}
SOURCE_CHARACTERS = 106
SOURCE: dict[str, dict[str, float]] = {
    "letter frequencies": {"held_out": 3.25},
    "none": {"held_out": 1.74},
    "no-zero-grad": {},
    "no-zero-grad-unclipped": {"step_50": 3.37, "end": 7.37},
    "unshifted": {"end": 0.001, "held_out": 10.7},
    "loss-times-40": {"held_out": 1.735},
    "detached-positions": {"held_out": 1.95},
}
"""Nats a character: training loss at step 50 and at the end, held-out text."""

_WINDOW = 10  # steps: a single batch is a sample of the loss
_TOO_GOOD = 0.1  # of the letter frequencies
_RISE = 0.5  # nats; means of ten steps of the correct run go up and down by 0.1


def loss_at(losses: Sequence[float], step: int) -> float | None:
    """The mean of up to ten losses that end with the step; None where the run is shorter."""
    part = losses[max(step - _WINDOW, 0) : step]
    return math.fsum(part) / len(part) if len(losses) >= step else None


def seen_in_curve(losses: Sequence[float], letter_frequencies: float) -> str:
    """What somebody who looks at the training loss alone, and knows the letter frequencies, sees to be wrong with it.

    "" for nothing. It is wrong where it rises by half a nat, and where it ends above what letter frequencies give or
    below a tenth of that.
    """
    end = loss_at(losses, len(losses))
    if end is None or not math.isfinite(end):
        return "not finite"
    if end < _TOO_GOOD * letter_frequencies:
        return "too good"
    low, high = _largest_rise(losses)
    if high - low > _RISE:
        return f"rises from {low:.2f} to {high:.2f}"
    return "no better than letter frequencies" if end > letter_frequencies else ""


def _largest_rise(losses: Sequence[float]) -> tuple[float, float]:
    """From where to where the loss, a mean of ten steps, goes up furthest: (low, high), equal if it never does."""
    lowest, found = math.inf, (0.0, 0.0)
    for step in range(_WINDOW, len(losses) + 1, _WINDOW):
        value = math.fsum(losses[step - _WINDOW : step]) / _WINDOW
        lowest = min(lowest, value)
        found = max(found, (lowest, value), key=lambda pair: pair[1] - pair[0])
    return found


def as_dict(runs: Sequence[Finished], corpus: Corpus, settings: Settings, cores: int) -> dict[str, Any]:
    """All that the table says, for other programs. Losses and scores are in nats a character.

    "long_enough" says whether the correct run got below the letter frequencies: until then no curve tells anything.
    """
    correct = next(run for run in runs if run.name == "none")
    return {
        "text": {"name": corpus.name, "sha256": corpus.sha256, "characters": len(corpus.text)},
        "vocabulary": len(corpus.vocabulary),
        "steps": settings.steps,
        "seed": settings.seed,
        "uniform": {"held_out": corpus.uniform, "source": {"held_out": math.log(SOURCE_CHARACTERS)}},
        "letter_frequencies": {"held_out": corpus.letter_frequencies, "source": SOURCE["letter frequencies"]},
        "runs": [
            {
                "run": run.name,
                "step_50": loss_at(run.losses, 50),
                "end": loss_at(run.losses, len(run.losses)),
                "held_out": run.held_out,
                "source": SOURCE[run.name],
                "seen_in_curve": seen_in_curve(run.losses, corpus.letter_frequencies),
                "findings": run.findings,
                "seconds": round(run.seconds, 1),
            }
            for run in runs
        ],
        "long_enough": (loss_at(correct.losses, len(correct.losses)) or math.inf) < corpus.letter_frequencies,
        "seconds": round(math.fsum(run.seconds for run in runs), 1),
        "cores": cores,
    }


def as_markdown(content: dict[str, Any], settings: Settings) -> str:
    """The table of what `as_dict` gives, with a caption, and below it every line that the monitor said."""
    rows = [
        [
            "run",
            "training loss, step 50",
            "at the end",
            "held-out text",
            "in the source",
            "seen in the curve",
            "monitor",
        ],
        ["---", "---:", "---:", "---:", "---", "---", "---"],
        _baseline("all characters equally likely", content["uniform"]),
        _baseline("letter frequencies", content["letter_frequencies"]),
        *(_row(run, content["long_enough"]) for run in content["runs"]),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = [
        f"- {LABELS[run['run']]}, step {found['step']}: {' '.join(found['text'].split())}"
        for run in content["runs"]
        for found in run["findings"]
    ]
    parts = [
        table,
        _caption(content, settings),
        _beside_the_correct_run(content["runs"]),
        _of_clipping(content["runs"]),
    ]
    if said:
        parts.append("What the monitor said:\n\n" + "\n".join(said))
    return "\n\n".join(part for part in parts if part) + "\n"


def _baseline(name: str, figures: dict[str, Any]) -> list[str]:
    return [name, "", "", nats(figures["held_out"]), f"{figures['source']['held_out']:.2f} held out", "", ""]


def _row(run: dict[str, Any], long_enough: bool) -> list[str]:
    source = run["source"]
    told = [f"{source['step_50']:g} at step 50"] if "step_50" in source else []
    told += [f"{source['end']:g} at the end"] if "end" in source else []
    told += [f"{source['held_out']:g} held out"] if "held_out" in source else []
    seen = f"yes: {run['seen_in_curve']}" if run["seen_in_curve"] else "no"
    steps: dict[str, int] = {}
    for found in run["findings"]:
        steps.setdefault(found["check"], found["step"])
    said = ", ".join(f"{check} (step {step})" for check, step in steps.items())
    return [
        LABELS[run["run"]],
        nats(run["step_50"]),
        nats(run["end"]),
        nats(run["held_out"]),
        ", ".join(told),
        seen if long_enough else "too early to tell",
        said or "nothing",
    ]


def _caption(content: dict[str, Any], settings: Settings) -> str:
    text = content["text"]
    blocks = f"{settings.blocks} block{'s' * (settings.blocks > 1)}"
    return (
        f"Nats a character; a training loss is the mean of ten steps. {settings.steps:,} steps of {settings.batch} "
        f"sequences of {settings.context} characters, {blocks} {settings.width} wide, seed {settings.seed}; "
        f"{text['name']}, {text['characters']:,} characters, {content['vocabulary']} distinct (the source had its own "
        f"text, with {SOURCE_CHARACTERS}). A curve is seen to be wrong where it rises by half a nat, or ends above "
        f"the letter frequencies or below a tenth of them. The runs took {minutes(content['seconds'])} together, on "
        f"{content['cores']} cores."
    )


def _beside_the_correct_run(runs: Sequence[dict[str, Any]]) -> str:
    """The two bugs that no curve shows, as parts of the correct run's score."""
    scores = {run["run"]: run["held_out"] for run in runs}
    if not {"none", "loss-times-40", "detached-positions"} <= scores.keys():
        return ""

    def change(bug: str, score: dict[str, float]) -> str:
        return f"{100 * (score[bug] / score['none'] - 1):+.1f} %".replace("-0.0", "0.0")

    source = {bug: figures["held_out"] for bug, figures in SOURCE.items() if "held_out" in figures}
    return " ".join(
        f"{LABELS[bug].capitalize()}: {change(bug, scores)} beside the correct run (source: {change(bug, source)})."
        for bug in ("loss-times-40", "detached-positions")
    )


def _of_clipping(runs: Sequence[dict[str, Any]]) -> str:
    """Why one bug stands in the table twice."""
    ends = {run["run"]: run["end"] for run in runs}
    if not {"no-zero-grad", "no-zero-grad-unclipped"} <= ends.keys():
        return ""
    return (
        "Gradients that are not cleared pile up. Clipping shortens the pile at each step, so that old ones fade, and "
        f"the training loss ends at {nats(ends['no-zero-grad'])} as if nothing were wrong; without clipping it ends at "
        f"{nats(ends['no-zero-grad-unclipped'])}."
    )


def nats(x: float | None) -> str:
    """Three digits after the point, and one digit of what is less than 0.01; none for a run that was too short."""
    return "" if x is None else f"{x:.3f}" if abs(x) >= 0.01 else f"{x:.1g}"


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
