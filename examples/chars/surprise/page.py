"""The surprise report as a page: one file, with the text coloured by surprise."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
from common.words import percent

from chars.surprise.printed import figures, limits, notes
from chars.surprise.scored import Scored
from chars.surprise.summary import ALIKE
from chars.surprise.words import named, nats, visible
from viz.kit.page import SCRIPTS, Page, assemble
from viz.text import count

LEVELS = (0.5, 1.0, 2.0, 3.0, 5.0)
"""Nats at which the text's colour becomes stronger."""

MOST = 100_000
"""Characters of the text that a page takes: it has about 30 bytes for each."""

_HERE = Path(__file__).parent
_STYLES = ("kit/kit.css", _HERE / "page.css", "kit/print.css")
_SCRIPTS = (
    *SCRIPTS,
    *(_HERE / name for name in ("histogram.js", "text.js", "page.js")),
)


def page(found: Scored, summary: dict[str, Any]) -> Page:
    """The page of a scored text, of which `summary` says what `summarized` found, with its "model" and "text"."""
    shown = min(len(found.nats), MOST)
    data = {
        "model": summary["model"],
        "said": [_size(summary, shown), *notes(summary)],
        "figures": figures(summary),
        "bars": [{**bar, "limits": limits(bar)} for bar in summary["histogram"]],
        "mean": summary["mean"],
        "median": summary["median"],
        "most": [_row(place, shown) for place in summary["most_surprising"]],
        "least": [_row(place, shown) for place in summary["least_surprising"]],
        "alike": ALIKE,
        "levels": LEVELS,
        "worst": summary["worst_tenth"]["from"],
        "text": found.text[: shown + 1],
        "vocabulary": found.vocabulary,
        "nats": _packed(found.nats[:shown], "<f4"),
        "guesses": _packed(found.guesses[:shown], "<i4"),
        "chances": _packed(np.round(found.chances[:shown] * 65535), "<u2"),
        "guessesEach": found.guesses.shape[1],
    }
    title = summary["text"]
    return Page(assemble(_HERE / "page.html", title, data, _STYLES, _SCRIPTS), title)


def _size(summary: dict[str, Any], shown: int) -> str:
    scored = summary["characters"]
    whole = f"{count(scored, 'character')} scored."
    return whole if shown == scored else f"{whole} The text below is the first {shown:,} of them."


def _row(place: dict[str, Any], shown: int) -> dict[str, Any]:
    """A place as the tables show it; "place" is None where the page's text does not reach so far."""
    return {
        "place": place["place"] if place["place"] <= shown else None,
        "where": f"{place['line']}:{place['column']}",
        "nats": nats(place["nats"]),
        "probability": percent(place["probability"]),
        "before": visible(place["before"]),
        "character": visible(place["character"]),
        "after": visible(place["after"]),
        "guess": f"{named(place['guesses'][0]['character'])} {percent(place['guesses'][0]['probability'])}",
    }


def _packed(array: np.ndarray, dtype: str) -> str:
    """An array as base64 of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode("ascii")
