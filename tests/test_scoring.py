"""Held-out scores: what one prediction at a time gives, by code that shares nothing with what trains."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tensorgrad
from tensorgrad.models import GPT, GPTConfig

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars import scoring
from chars.scoring import held_out_score, predictions, surprises

VOCABULARY = "\n abcdé"


def model(*, context: int = 8, dropout: float = 0.0, vocabulary: int = len(VOCABULARY)) -> GPT:
    tensorgrad.manual_seed(3)
    made = GPT(GPTConfig(vocabulary, context, blocks=1, heads=2, width=16, dropout=dropout))
    for parameter in made.parameters():
        parameter.data *= 20  # far from uniform
    return made


class Fake:
    """Something that is asked for scores as a model is, and keeps what it gave."""

    def __init__(self, scores: Callable, context: int, vocabulary: int) -> None:
        self.scores, self.given = scores, []
        self.config = SimpleNamespace(context=context, vocabulary=vocabulary)
        self.modules, self.eval = list, list

    def __call__(self, tokens):
        self.given.append(self.scores(tokens))
        return self.given[-1]


def some_text(length: int) -> str:
    return "".join(np.random.default_rng(length).choice(list(VOCABULARY), length))


def one_at_a_time(made: GPT, text: str) -> list[float]:
    """The definition: for each character, a forward pass over the characters that its window has before it."""
    context = made.config.context
    step = max(context // 2, 1)
    found = []
    for place in range(1, len(text)):
        start = 0
        while start + context < place:  # the first window that predicts this place
            start += step
        start = min(start, max(len(text) - 1 - context, 0))  # the last window ends at the text's end
        tokens = [VOCABULARY.index(character) for character in text[start:place]]
        scores = made(tensorgrad.tensor([tokens])).data[0, -1].astype(np.float64)
        found.append(math.log(sum(math.exp(s) for s in scores)) - scores[VOCABULARY.index(text[place])])
    return found


@pytest.mark.parametrize("context", [1, 2, 5, 8])
@pytest.mark.parametrize("length", [2, 3, 8, 9, 10, 12, 13, 41])
def test_each_character_costs_what_one_prediction_at_a_time_gives(context, length):
    made, text = model(context=context), some_text(length)
    expected = one_at_a_time(made, text)
    found = surprises(made, VOCABULARY, text)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert held_out_score(made, VOCABULARY, text) == pytest.approx(np.mean(expected), rel=1e-5)


def test_batches_do_not_change_the_result(monkeypatch):
    made, text = model(), some_text(300)
    whole = surprises(made, VOCABULARY, text)
    monkeypatch.setattr(scoring, "_BATCH", 24)  # three windows at a time
    np.testing.assert_allclose(surprises(made, VOCABULARY, text), whole, rtol=1e-5, atol=1e-6)


def test_every_place_but_the_first_is_predicted_once_and_in_order():
    text = some_text(100)
    parts = list(predictions(model(), VOCABULARY, text))
    places = np.concatenate([places for places, _, _ in parts])
    assert places.tolist() == list(range(1, 100))
    assert "".join(VOCABULARY[token] for _, tokens, _ in parts for token in tokens) == text[1:]
    for _, _, logs in parts:
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, rtol=1e-12)


def test_a_uniform_prediction_costs_the_log_of_the_vocabulary():
    made = model()
    for parameter in made.parameters():
        parameter.data *= 0
    assert held_out_score(made, VOCABULARY, some_text(50)) == pytest.approx(math.log(len(VOCABULARY)), abs=1e-12)


def test_dropout_is_off_and_modes_are_restored():
    made, text = model(dropout=0.5), some_text(60)
    made.blocks[0].drop = None
    made.blocks[0].eval()
    before = [module.training for module in made.modules()]
    assert set(before) == {True, False}
    assert np.array_equal(surprises(made, VOCABULARY, text), surprises(made, VOCABULARY, text))
    assert [module.training for module in made.modules()] == before


def test_nothing_is_recorded_and_no_gradient_changes():
    made = model()
    fake = Fake(made, context=8, vocabulary=len(VOCABULARY))
    surprises(fake, VOCABULARY, some_text(20))
    assert [scores.requires_grad for scores in fake.given] == [False]
    assert made(tensorgrad.tensor([[0]])).requires_grad


def test_scores_that_are_not_finite_give_nan_without_a_warning():
    made = model()
    made.norm.weight.data[:] = np.nan
    assert math.isnan(held_out_score(made, VOCABULARY, some_text(20)))


def test_an_improbable_character_costs_a_finite_amount():
    sure = Fake(lambda tokens: tensorgrad.from_numpy(np.full((*tokens.shape, 2), [5000, 0], np.float32)), 4, 2)
    assert surprises(sure, "ab", "aab").tolist() == [0, 5000]


def test_a_character_that_the_vocabulary_lacks_is_named_with_its_place():
    with pytest.raises(ValueError, match=r"'z' \(U\+007A\) in line 3, column 2 .* 7 that the model knows: take it out"):
        surprises(model(), VOCABULARY, "ab\n\nazb")
    with pytest.raises(ValueError, match=r"'\\x00' \(U\+0000\) in line 1, column 1 "):
        surprises(model(), VOCABULARY, "\0ab")


@pytest.mark.parametrize(("text", "said"), [("", "no characters"), ("a", "one character")])
def test_a_text_too_short_to_score(text, said):
    with pytest.raises(ValueError, match=rf"a text of {said} cannot be scored: .* give 2 or more"):
        held_out_score(model(), VOCABULARY, text)


@pytest.mark.parametrize("vocabulary", ["abc", "aabcdef"])
def test_a_vocabulary_that_is_not_the_models(vocabulary):
    with pytest.raises(ValueError, match="and the model 7 tokens: give the vocabulary"):
        surprises(model(), vocabulary, "abc")


def test_it_shares_no_code_with_what_trains():
    tree = ast.parse(Path(scoring.__file__).read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.split(".")[0])
    assert imported == {"__future__", "collections", "contextlib", "typing", "numpy", "tensorgrad"}
    assert "cross_entropy" not in ast.unparse(tree)
