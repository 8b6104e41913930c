"""What is said of a scored text, as plain data: the printed report, its JSON and the page are all made from it."""

from __future__ import annotations

import math
from collections import Counter
from itertools import count
from typing import Any

import numpy as np

from chars.surprise.scored import Scored

SOURCE = {"mean": 3.595, "median": 2.85, "worst_tenth": 0.28, "vocabulary": 50_257}
"""What the source text measured: GPT-2 small on 1,024 tokens of a blog, in nats a token."""

ALIKE = 4  # characters, a place's own and those before it, in which two places must differ to be listed both

_BARS = 16  # of a histogram, at most, beside the last one for what lies beyond
_INSIDE = 0.995  # share of the characters that lie within these
_BEFORE, _AFTER = 28, 12  # characters of the text that are shown around a place


def summarized(found: Scored, training: str | None, top: int) -> dict[str, Any]:
    """Everything that is reported of `found`, ready for JSON; nats are a character's, shares are from 0 to 1.

    training  the text that the model was trained on, for the frequencies of its characters; None where it isn't there
    top       how many of the most and of the least surprising places are listed, of those alike (see ALIKE) one
    """
    nats = found.nats
    mean = float(nats.mean())
    order = np.argsort(-nats, kind="stable")
    worst = order[: max(round(len(nats) / 10), 1)]
    return {
        "characters": len(nats),
        "mean": mean,
        "perplexity": _power(mean),
        "median": float(np.median(nats)),
        "worst_tenth": {
            "share": float(nats[worst].sum() / nats.sum()) if nats.any() else 0.0,
            "characters": len(worst),
            "from": float(nats[worst[-1]]),
        },
        "baselines": {
            "vocabulary": len(found.vocabulary),
            "uniform": math.log(len(found.vocabulary)),
            "letter_frequencies": None if training is None else letter_frequencies(found, training),
        },
        "histogram": histogram(nats),
        "most_surprising": [_place(found, place) for place in _different(found.text, order + 1, top)],
        "least_surprising": [_place(found, place) for place in _different(found.text, order[::-1] + 1, top)],
        "source": {
            **SOURCE,
            "perplexity": math.exp(SOURCE["mean"]),
            "uniform": math.log(SOURCE["vocabulary"]),
        },
        "costs": {"probability_1": -math.log(1) + 0.0, "probability_0.01": -math.log(0.01)},
    }


def letter_frequencies(found: Scored, training: str) -> float:
    """The mean surprise of a guesser that knows only how often each character occurs in the training text.

    Each character of the vocabulary is counted once more than it occurs, so that none is impossible.
    """
    counts = Counter(training)
    total = len(training) + len(found.vocabulary)
    cost = {character: -math.log((counts[character] + 1) / total) for character in found.vocabulary}
    return math.fsum(cost[character] for character in found.text[1:]) / (len(found.text) - 1)


def histogram(nats: np.ndarray) -> list[dict[str, Any]]:
    """Bars of equal width from 0 on, and one without an end where some lie far beyond the rest.

    Each has its limits in nats ("from" belongs to it, "to" does not, and is None for the last of all), the number of
    characters and their share, and the share of the whole loss that these carry.
    """
    most = max(float(np.quantile(nats, _INSIDE)), 0.5)
    width = next(
        w for power in count() for w in (0.5 * 10**power, 1.0 * 10**power, 2.0 * 10**power) if most <= _BARS * w
    )
    bar = (nats // width).astype(int)
    last = int(min(bar.max(), math.ceil(most / width)))
    bar = np.minimum(bar, last)
    counts = np.bincount(bar, minlength=last + 1)
    losses = np.bincount(bar, weights=nats, minlength=last + 1)
    total = float(nats.sum())
    is_open = bool((nats >= (last + 1) * width).any())
    return [
        {
            "from": i * width,
            "to": None if i == last and is_open else (i + 1) * width,
            "characters": int(counts[i]),
            "share": float(counts[i] / len(nats)),
            "loss_share": float(losses[i] / total) if total else 0.0,
        }
        for i in range(last + 1)
    ]


def _different(text: str, places: np.ndarray, most: int) -> list[int]:
    """The first `most` of the places of which no two are alike: else a row of dashes would fill the list."""
    chosen: dict[str, int] = {}
    for place in places:
        if len(chosen) == most:
            break
        chosen.setdefault(text[max(place + 1 - ALIKE, 0) : place + 1], int(place))
    return list(chosen.values())


def _place(found: Scored, place: int) -> dict[str, Any]:
    """One place of the text; lines and columns count from 1."""
    text = found.text
    return {
        "place": place,
        "line": text.count("\n", 0, place) + 1,
        "column": place - text.rfind("\n", 0, place),
        "before": text[max(place - _BEFORE, 0) : place],
        "character": text[place],
        "after": text[place + 1 : place + 1 + _AFTER],
        "nats": float(found.nats[place - 1]),
        "probability": math.exp(-found.nats[place - 1]),
        "guesses": [{"character": c, "probability": p} for c, p in found.guesses_at(place)],
    }


def _power(nats: float) -> float | None:
    """e**nats, the perplexity; None where that's more than a number can be."""
    return math.exp(nats) if nats < 700 else None
