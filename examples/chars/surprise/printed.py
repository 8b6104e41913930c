"""The surprise report as printed text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common.words import percent

from chars.surprise.summary import ALIKE
from chars.surprise.words import named, nats, visible
from viz.text import count, short

_BAR = 24  # characters that the longest bar of the histogram takes


def printed(summary: dict[str, Any]) -> str:
    """The report of `summary`, which `summarized` made, with a "model" and a "text" that are described in words."""
    parts = [_title(summary), _figures(summary), _histogram(summary["histogram"])]
    for which in ("most", "least"):
        places = summary[f"{which}_surprising"]
        heading = f"{which} surprising, one of those with the same {ALIKE} characters, up to the one in « »"
        parts.append("\n".join([heading, *_places(places)]))
    return "\n\n".join(parts)


def _title(summary: dict[str, Any]) -> str:
    return (
        f"model: {summary['model']}\n"
        f"text: {summary['text']}, {count(summary['characters'], 'character')} scored (the first is only read)"
    )


def _figures(summary: dict[str, Any]) -> str:
    lines = [f"{'':28}{'here':>10}{'source':>10}"]
    lines += [f"{name:28}{here:>10}{source:>10}" for name, here, source in figures(summary)]
    return "\n".join([*lines, *notes(summary)])


def figures(summary: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The rows of the table: what it is, its value here, and the source's."""
    source, base, worst = summary["source"], summary["baselines"], summary["worst_tenth"]
    letters, power = base["letter_frequencies"], summary["perplexity"]
    return [
        ("mean, nats", f"{summary['mean']:.3f}", f"{source['mean']:.3f}"),
        ("perplexity, e ** mean", "inf" if power is None else short(power, 3), short(source["perplexity"], 3)),
        ("median, nats", f"{summary['median']:.3f}", f"{source['median']:.2f}"),
        ("share of the worst tenth", percent(worst["share"]), percent(source["worst_tenth"])),
        ("uniform guess, nats", f"{base['uniform']:.3f}", f"{source['uniform']:.3f}"),
        ("letter frequencies, nats", "unknown" if letters is None else f"{letters:.3f}", ""),
        ("vocabulary", f"{base['vocabulary']:,}", f"{source['vocabulary']:,}"),
    ]


def notes(summary: dict[str, Any]) -> list[str]:
    """What must be known to read the table, a sentence each."""
    costs, worst = summary["costs"], summary["worst_tenth"]
    found = [
        f"A character of probability 1 costs {costs['probability_1']:g} nats, one of 1 % costs "
        f"{costs['probability_0.01']:.1f}.",
        f"The worst tenth are the {count(worst['characters'], 'character')} that cost {nats(worst['from'])} or more.",
        "The source scored tokens of GPT-2, pieces of words, so its nats are not those of characters; what compares is "
        "the skew: a mean above the median, and the share of the worst tenth.",
    ]
    if summary["mean"] > summary["baselines"]["uniform"]:
        found.append("This model predicts worse than a uniform guess.")
    return found + summary["remarks"]


def limits(bar: dict[str, Any]) -> str:
    """The nats that a bar of the histogram stands for."""
    return f"{bar['from']:g} or more" if bar["to"] is None else f"{bar['from']:g} to {bar['to']:g}"


def _histogram(bars: list[dict[str, Any]]) -> str:
    most = max(max(bar["share"], bar["loss_share"]) for bar in bars) or 1.0
    width = 10 + _BAR
    lines = [f"{'nats':>12}  {'characters':{width}}{'loss'}"]
    for bar in bars:
        shares = (f"{100 * bar[name]:5.1f} % {_blocks(bar[name] / most)}" for name in ("share", "loss_share"))
        lines.append(f"{limits(bar):>12}  {next(shares):{width}}{next(shares)}".rstrip())
    return "\n".join(lines)


def _blocks(part: float) -> str:
    return "█" * round(_BAR * part)


def _places(places: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{'nats':>9} {'probability':>13} {'line:column':>12}  {'likeliest':12}context"
    before = max((len(visible(place["before"])) for place in places), default=0)
    for place in places:
        where = f"{place['line']}:{place['column']}"
        context = f"{visible(place['before']):>{before}}«{visible(place['character'])}»{visible(place['after'])}"
        best = place["guesses"][0]
        guess = f"{named(best['character'])} {100 * best['probability']:.0f} %"
        yield f"{nats(place['nats']):>9} {percent(place['probability']):>13} {where:>12}  {guess:12}{context}"
