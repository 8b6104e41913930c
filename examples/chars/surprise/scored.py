"""A text with what each of its characters cost, and what the model would rather have read there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chars.scoring import predictions

GUESSES = 3  # the likeliest characters that are kept for each place


@dataclass(frozen=True)
class Scored:
    """A text of N + 1 characters, of which the first is read and not predicted.

    nats     the surprise of each other character, (N,)
    guesses  the tokens that the model held likeliest there, likeliest first, (N, G)
    chances  their probabilities, (N, G)
    """

    text: str
    vocabulary: str
    nats: np.ndarray
    guesses: np.ndarray
    chances: np.ndarray

    def guesses_at(self, place: int) -> list[tuple[str, float]]:
        """The likeliest characters at a place from 1 on, with their probabilities."""
        rows = zip(self.guesses[place - 1], self.chances[place - 1])
        return [(self.vocabulary[token], float(chance)) for token, chance in rows]


def scored(model: Any, vocabulary: str, text: str) -> Scored:
    """Score `text`. Raises what `predictions` does, and ValueError where the model gives nan."""
    count = min(GUESSES, len(vocabulary))
    nats = np.empty(max(len(text) - 1, 0))
    guesses = np.empty((len(nats), count), np.int32)
    chances = np.empty((len(nats), count))
    for places, tokens, logs in predictions(model, vocabulary, text):
        if np.isnan(logs).any():
            raise ValueError(
                "the model's scores are not finite: its training went astray, so take an earlier checkpoint"
            )
        at = places - 1
        best = np.argsort(-logs, axis=1, kind="stable")[:, :count]
        nats[at] = -np.take_along_axis(logs, tokens[:, None], axis=1)[:, 0]
        guesses[at] = best
        chances[at] = np.exp(np.take_along_axis(logs, best, axis=1))
    return Scored(text, vocabulary, nats, guesses, chances)
