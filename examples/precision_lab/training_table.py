"""A comparison of training runs in several precisions as printed text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from common.words import percent, wrapped

from precision_lab.formats import format_of
from precision_lab.training import Comparison, Ran
from precision_lab.wording import power, size
from viz.text import MINUS, aligned, count, visible

_WIDTH = 100
_AS_GOOD = 0.02  # nats; runs with other seeds differ by more


def printed(comparison: Comparison) -> str:
    """The settings, the table, and what it shows in words."""
    told = [*_verdicts(comparison), *_reasons(comparison), _how(comparison)]
    lines = [wrapped(text, _WIDTH) for text in told]
    return "\n\n".join([_head(comparison), "\n".join(aligned(_rows(comparison))), "\n".join(lines)])


def _head(comparison: Comparison) -> str:
    s = comparison.settings
    sizes = f"{count(s.blocks, 'block')}, {s.width} wide, context {s.context}"
    return f"{visible(comparison.text)}; {sizes}; {count(s.steps, 'step')}, seed {s.seed}; losses in nats a character"


def _rows(comparison: Comparison) -> list[list[str]]:
    rows = [["", "targets", "held-out", "beside", "training", "rounded to 0", "rounded to 0", "last", "steps"]]
    rows += [["", "a step", "text", "float32", "at the end", "between layers", "of weights", "scale", "skipped"]]
    plain = comparison.runs[0]
    for ran in comparison.runs:
        rounds, scaled = ran.plan.kind is not None, ran.plan.scaled
        rows.append(
            [
                ran.plan.named(),
                f"{comparison.targets * ran.plan.micro_batches:,}",
                f"{ran.held_out:.3f}",
                _change(ran.held_out - plain.held_out) if rounds else "",
                f"{ran.end:.3f}",
                percent(mean(ran.lost_between)) if rounds else "",
                percent(mean(ran.lost_weights)) if rounds else "",
                power(ran.scales[-1]) if scaled else "",
                f"{len(ran.skipped):,}" if scaled else "",
            ]
        )
    return rows


def _change(x: float) -> str:
    if not math.isfinite(x):
        return ""
    text = f"{x:+.3f}".replace("-", MINUS)
    return text[1:] if float(f"{x:.3f}") == 0 else text


def _verdicts(comparison: Comparison) -> list[str]:
    """How each run ends beside that in float32."""
    plain, *others = comparison.runs
    if not math.isfinite(plain.held_out):
        return ["Even in float32 the weights are not finite any more, so the formats cannot be told apart."]
    if not plain.held_out < comparison.guess:
        return [
            "The runs are too short to tell: even in float32 the model does no better on the held-out text than "
            f"letter frequencies do ({comparison.guess:.3f})."
        ]
    return [f"{ran.name}: {_verdict(ran, plain.held_out, comparison.guess)}." for ran in others]


def _verdict(ran: Ran, plain: float, guess: float) -> str:
    if not math.isfinite(ran.held_out):
        where = next((f"step {i}" for i, x in enumerate(ran.losses, 1) if not math.isfinite(x)), "the last step")
        return f"the weights are not finite any more, seen at {where}"
    more = ran.held_out - plain
    if abs(more) <= _AS_GOOD:
        return "as good as float32"
    told = f"{abs(more):.2f} nats {'worse' if more > 0 else 'better'} than float32"
    return told if ran.held_out < guess else f"{told}, and no better than letter frequencies ({guess:.3f})"


def _reasons(comparison: Comparison) -> list[str]:
    """Why many targets are hard on a format, and what the scaler did: of the runs with the most rounded to 0."""
    unscaled = [ran for ran in comparison.runs if ran.plan.kind is not None and not ran.plan.scaled]
    worst = max(unscaled, key=lambda ran: mean(ran.lost_between), default=None)
    told = []
    if worst is not None and mean(worst.lost_between):
        targets = comparison.targets * worst.plan.micro_batches
        assert worst.plan.kind is not None
        told.append(
            f"The loss of a step is a mean, so each of {targets:,} targets sends back 1/{targets:,} of its gradient. "
            f"{worst.plan.kind} rounds to 0 what is {size(format_of(worst.plan.kind).zero_to)} or smaller: without a "
            f"scaler {percent(mean(worst.lost_between))} of the numbers between the layers."
        )
    for ran in comparison.runs:
        if ran.plan.scaled:
            skipped = f"{count(len(ran.skipped), 'step') if ran.skipped else 'no step'} skipped after an overflow"
            least, most = power(min(ran.scales)), power(max(ran.scales))
            scales = f"scale {least}" if least == most else f"scales from {least} to {most}"
            them = "them" if told else "the numbers between the layers become 0"
            lost = f"{percent(mean(ran.lost_between))} of {them}"
            told.append(f"{ran.plan.kind} with GradScaler: {lost}; {scales}, {skipped}.")
    return told


def _how(comparison: Comparison) -> str:
    """What was simulated, and how."""
    many = max(ran.plan.micro_batches for ran in comparison.runs)
    told = "Simulated: what torch.autocast computes in few bits is rounded to them, and weights stay float32."
    if many > 1:
        told += (
            f" Of the {many:,} micro-batches of a step, {comparison.targets:,} targets each, one is computed, as if "
            "all were like it: in float32 that is a step of this one alone, but for the last digits."
        )
    if any(ran.plan.scaled for ran in comparison.runs) and comparison.growth != 2000:
        told += f" Scales double after {comparison.growth:,} good steps (usually 2,000), so that short runs show it."
    return told


def mean(shares: Sequence[float]) -> float:
    """0.0 for none."""
    return math.fsum(shares) / max(len(shares), 1)
