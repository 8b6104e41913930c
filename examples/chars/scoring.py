"""How well a model predicts a text that it has not seen, measured apart from the code that trains.

A mistake in how training prepares its batches (targets that are not shifted, say) must not be able to hide here, so
this file imports nothing of the package: it has its own encoding, its own windows and its own cross-entropy, which is
computed in float64 with NumPy. The model is asked for scores and for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorgrad

_BATCH = 2048  # characters that the model reads at a time, about: larger batches are no faster


def held_out_score(model: Any, vocabulary: str, text: str) -> float:
    """The mean surprise of the characters of `text` after the first, in nats: the cross-entropy. See `surprises`."""
    return float(surprises(model, vocabulary, text).mean())


def surprises(model: Any, vocabulary: str, text: str) -> np.ndarray:
    """What each character of `text` but the first cost: minus the log of its probability, in nats (len(text) - 1,).

    model       gives scores (B, T, V) for tokens (B, T), and has `config.context` and `config.vocabulary`
    vocabulary  the character that each token stands for, in the order of the tokens

    See `predictions` for what is seen of the text before each character, and for what is raised.
    """
    found = np.empty(max(len(text) - 1, 0))
    for places, targets, logs in predictions(model, vocabulary, text):
        found[places - 1] = -logs[np.arange(len(places)), targets]
    return found


def predictions(model: Any, vocabulary: str, text: str) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The model's log-probabilities for each character of `text` but the first, some places at a time.

    Yields the places (N,) in the text, from 1 on and in order; the tokens (N,) that stand there; and the logarithms of
    the probabilities (N, V) that the model gave each token there, in float64. They are nan where its scores are not
    finite.

    The text is read in windows of `context` characters that begin half a context apart. A window counts for the
    characters that none before it has predicted, so all but those of the first are predicted from half a context or
    more. The model is in evaluation mode meanwhile, and no gradients are recorded.

    Raises ValueError for a text of fewer than 2 characters, for a character that the vocabulary lacks, with its place,
    and for a vocabulary that does not fit the model.
    """
    tokens = _tokens(model, vocabulary, text)
    length = min(model.config.context, len(tokens) - 1)  # of a window
    step = max(length // 2, 1)
    starts = [*range(0, len(tokens) - 1 - length, step), len(tokens) - 1 - length]  # the last ends at the text's end
    batch = max(_BATCH // length, 1)
    done = 0  # the last place that is predicted
    for first in range(0, len(starts), batch):
        at = np.array(starts[first : first + batch])
        inputs = tokens[at[:, None] + np.arange(length)]  # (B, T)
        with _evaluation(model), tensorgrad.no_grad():
            scores = model(tensorgrad.tensor(inputs)).data  # (B, T, V)
        places = at[:, None] + np.arange(1, length + 1)  # (B, T); what row b, place t predicts
        before = np.concatenate([[done], places[:-1, -1]])  # (B,); where each window's predecessor ended
        new = places > before[:, None]
        done = int(places[-1, -1])
        yield places[new], tokens[places[new]], _log_softmax(scores[new])


def _tokens(model: Any, vocabulary: str, text: str) -> np.ndarray:
    """The text as token numbers, checked."""
    if len(vocabulary) != model.config.vocabulary or len(set(vocabulary)) != len(vocabulary):
        raise ValueError(
            f"the vocabulary has {len(vocabulary)} characters, {len(set(vocabulary))} of them distinct, and the model "
            f"{model.config.vocabulary} tokens: give the vocabulary that the model was trained with"
        )
    if len(text) < 2:
        raise ValueError(
            f"a text of {'one character' if text else 'no characters'} cannot be scored: the first character is read "
            "and not predicted, so give 2 or more"
        )
    number = {character: token for token, character in enumerate(vocabulary)}
    unknown = next((place for place, character in enumerate(text) if character not in number), None)
    if unknown is not None:
        line = text.count("\n", 0, unknown) + 1
        column = unknown - text.rfind("\n", 0, unknown)
        raise ValueError(
            f"the character {text[unknown]!r} (U+{ord(text[unknown]):04X}) in line {line}, column {column} is none of "
            f"the {len(vocabulary)} that the model knows: take it out, or train on a text that has it"
        )
    return np.array([number[character] for character in text])


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    """Logarithms of the probabilities (N, V) that scores (N, V) stand for, in float64."""
    scores = scores.astype(np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf: nan says it
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


@contextmanager
def _evaluation(model: Any) -> Iterator[None]:
    """Dropout off, and each module's mode as it was afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
