"""The surprise report: its numbers against their definitions, as text, as JSON, and what it refuses."""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from surprised import caller, some_text

import tensorgrad

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import surprise
from chars.checkpoint import load_model
from chars.corpus import Corpus
from chars.surprise.printed import printed
from chars.surprise.scored import Scored, scored
from chars.surprise.summary import ALIKE, histogram, letter_frequencies, summarized
from chars.surprise.words import named, nats, visible
from common.words import percent


@pytest.fixture
def run(character_run, tmp_path, monkeypatch, capsys):
    """`run(*arguments)` in an empty folder; see `caller`."""
    monkeypatch.chdir(tmp_path)
    return caller(surprise.main, character_run, capsys)


@pytest.fixture(scope="module")
def found(character_run) -> Scored:
    return scored(*load_model(character_run / "checkpoint.npz"), held_out(character_run))


def held_out(folder: Path) -> str:
    return Corpus((folder / "text.txt").read_text(encoding="utf-8")).held_out


def costs(*values: float) -> Scored:
    """A text of which only the costs matter."""
    guesses = np.zeros((len(values), 1), np.int32)
    text = "".join(chr(97 + i % 26) for i in range(len(values) + 1))
    return Scored(text, "".join(sorted(set(text))), np.array(values), guesses, np.ones((len(values), 1)))


# -- the numbers -------------------------------------------------------------------------------------------------------


def test_the_figures_are_what_their_names_say(found):
    values = found.nats.tolist()
    summary = summarized(found, None, 5)
    assert summary["characters"] == len(found.text) - 1 == len(values)
    assert summary["mean"] == pytest.approx(sum(values) / len(values))
    assert summary["perplexity"] == pytest.approx(math.e ** (sum(values) / len(values)))
    assert summary["median"] == pytest.approx(statistics.median(values))
    tenth = sorted(values)[-round(len(values) / 10) :]
    assert summary["worst_tenth"] == {
        "share": pytest.approx(sum(tenth) / sum(values)),
        "characters": len(tenth),
        "from": pytest.approx(tenth[0]),
    }
    assert summary["baselines"]["uniform"] == pytest.approx(math.log(len(set(some_text(600)))))


def test_a_trained_model_beats_what_knows_letters_alone(character_run, found):
    summary = summarized(found, Corpus((character_run / "text.txt").read_text(encoding="utf-8")).train, 5)
    assert summary["mean"] < summary["baselines"]["letter_frequencies"] < summary["baselines"]["uniform"]


def test_letter_frequencies_by_hand():
    score = letter_frequencies(Scored("xaab", "abx", np.zeros(3), np.zeros((3, 1)), np.zeros((3, 1))), "aaab")
    assert score == pytest.approx(-(2 * math.log(4 / 7) + math.log(2 / 7)) / 3)


def test_the_facts_of_the_source_are_computed():
    source, costs_ = (summarized(costs(1.0), None, 1)[name] for name in ("source", "costs"))
    assert round(source["perplexity"]) == 36
    assert f"{source['uniform']:.1f}" == "10.8"
    assert (source["mean"], source["median"], source["worst_tenth"]) == (3.595, 2.85, 0.28)
    assert costs_["probability_1"] == 0
    assert f"{costs_['probability_0.01']:.1f}" == "4.6"


def test_the_worst_tenth_of_a_skewed_text():
    summary = summarized(costs(*[0.0] * 18, 3.0, 1.0), None, 1)
    assert summary["worst_tenth"] == {"share": 1.0, "characters": 2, "from": 1.0}
    assert summarized(costs(*[0.0] * 5), None, 1)["worst_tenth"]["share"] == 0.0


@pytest.mark.parametrize(
    "values",
    [
        [0.0],
        [1e-9, 2e-9],
        [0.5],
        [0.49, 0.5, 8.0, 8.2],
        [3000.0],
        [1e30],
        [*[0.1] * 999, 25.0],
        list(np.geomspace(1e-3, 40, 500)),
    ],
)
def test_the_histogram_leaves_nothing_out(values):
    bars = histogram(np.array(values))
    assert len(bars) <= 17
    assert bars[0]["from"] == 0
    assert all(a["to"] == b["from"] for a, b in pairwise(bars))
    for bar in bars:
        end = math.inf if bar["to"] is None else bar["to"]
        inside = [x for x in values if bar["from"] <= x < end]
        assert bar["characters"] == len(inside)
        assert bar["share"] == pytest.approx(len(inside) / len(values))
        assert bar["loss_share"] == pytest.approx(sum(inside) / sum(values) if any(values) else 0)
    assert sum(bar["characters"] for bar in bars) == len(values)


def test_the_listed_places_are_the_extreme_ones_of_those_that_differ(found):
    summary = summarized(found, None, 6)
    for which, sign in (("most", -1), ("least", 1)):
        places = summary[f"{which}_surprising"]
        endings = {found.text[max(p["place"] + 1 - ALIKE, 0) : p["place"] + 1] for p in places}
        assert len(places) == len(endings) == 6
        assert [p["nats"] for p in places] == sorted((p["nats"] for p in places), key=lambda x: sign * x)
        last = places[-1]["nats"]
        for i, cost in enumerate(found.nats):  # whatever is more extreme looks like one that is listed
            if sign * cost < sign * last:
                assert found.text[max(i + 2 - ALIKE, 0) : i + 2] in endings
    assert summary["most_surprising"][0]["nats"] == found.nats.max()


def test_a_place_says_where_it_is(found):
    for place in summarized(found, None, 3)["most_surprising"]:
        line = found.text.split("\n")[place["line"] - 1] + "\n"
        assert line[place["column"] - 1] == place["character"] == found.text[place["place"]]
        assert found.text[: place["place"]].endswith(place["before"])
        assert found.text[place["place"] + 1 :].startswith(place["after"])
        assert place["probability"] == pytest.approx(math.exp(-place["nats"]))


def test_the_likeliest_characters_come_first_with_their_probabilities(character_run, found):
    model, vocabulary = load_model(character_run / "checkpoint.npz")
    tokens = tensorgrad.tensor([[vocabulary.index(c) for c in found.text[:9]]])
    with tensorgrad.no_grad():
        scores = model(tokens).data[0, -1].astype(float)
    chances = np.exp(scores) / np.exp(scores).sum()
    best = np.argsort(-chances)[:3]
    assert [character for character, _ in found.guesses_at(9)] == [vocabulary[token] for token in best]
    assert [chance for _, chance in found.guesses_at(9)] == pytest.approx(chances[best], rel=1e-4)


# -- in words ----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_seen_is_escaped():
    assert visible("a\n\t\\n\0é🙂'\"\u200b") == "a\\n\\t\\\\n\\x00é🙂'\"\\u200b"
    assert [named(c) for c in "a '\"\n"] == ["'a'", "' '", '"\'"', "'\"'", "'\\n'"]


def test_probabilities_and_costs_are_not_rounded_to_what_they_are_not():
    assert [percent(p) for p in (0, 0.01, 0.28, 0.999999, 1)] == ["0 %", "1 %", "28 %", "99.9999 %", "100 %"]
    assert [nats(x) for x in (0, 1e-4, 0.01, 4.605)] == ["0.00", "0.0001", "0.01", "4.61"]


def test_the_printed_report(run, character_run, found):
    status, out, err = run("CHECKPOINT", "--top", "3")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    text = f"held-out part of {character_run / 'text.txt'}"
    assert lines[1] == f"text: {text}, {len(found.nats):,} characters scored (the first is only read)"
    assert f"mean, nats {found.nats.mean():.3f} 3.595" in lines
    assert f"median, nats {np.median(found.nats):.3f} 2.85" in lines
    assert any(line.startswith("perplexity, e ** mean ") and line.endswith(" 36.4") for line in lines)
    assert f"uniform guess, nats {math.log(len(found.vocabulary)):.3f} 10.825" in lines
    assert any(line.startswith("share of the worst tenth ") and line.endswith(" 28 %") for line in lines)
    assert "A character of probability 1 costs 0 nats, one of 1 % costs 4.6." in lines
    assert sum(len(line.split("«")) == 2 and line[0].isdigit() for line in lines) == 6
    assert lines[-1] == "page: surprise.html"
    assert os.listdir() == ["surprise.html"]


def test_the_report_of_a_model_that_predicts_worse_than_chance():
    summary = {"model": "m", "text": "t", "remarks": [], **summarized(costs(*[9.0] * 20), None, 1)}
    assert "predicts worse than a uniform guess" in printed(summary)
    assert "letter frequencies, nats       unknown" in printed(summary)
    summary |= summarized(costs(3000.0), None, 1)
    assert summary["perplexity"] is None
    assert "perplexity, e ** mean              inf" in printed(summary)


def test_json_has_everything_that_is_printed(run, character_run, found):
    status, out, err = run("CHECKPOINT", "--json", "--top", "2", "-o", "page.html")
    assert (status, err) == (0, "")
    told = json.loads(out)
    corpus = Corpus((character_run / "text.txt").read_text(encoding="utf-8"))
    expected = summarized(found, corpus.train, 2)
    assert {name: told[name] for name in expected} == json.loads(json.dumps(expected))
    assert printed(told) == run("CHECKPOINT", "--top", "2")[1].split("\n\npage:")[0]
    assert told["baselines"]["letter_frequencies"] == pytest.approx(corpus.letter_frequencies, abs=0.02)
    assert sorted(os.listdir()) == ["page.html", "surprise.html"]


def test_another_text(run):
    Path("other.txt").write_text("the cat ran", encoding="utf-8")
    status, out, _ = run("CHECKPOINT", "--text", "other.txt")
    assert status == 0
    assert "text: other.txt, 10 characters scored" in out


def test_a_model_trained_with_a_bug_says_so(run, character_run):
    content = tensorgrad.load(character_run / "checkpoint.npz")
    content["settings"]["bug"] = "unshifted"
    tensorgrad.save(content, "bug.npz")
    assert "after step 30, trained with the bug unshifted: 1 block, 2 heads, 16 wide" in run("bug.npz")[1]


# -- what is refused ---------------------------------------------------------------------------------------------------


def refused(result: tuple[int, str, str], *said: str) -> None:
    """One line on stderr that says so, nothing on stdout, and no page."""
    status, out, err = result
    assert (status, out) == (2, "")
    assert err.startswith("surprise.py: ")
    assert err.count("\n") == 1
    for words in said:
        assert words in err
    assert not [name for name in os.listdir() if name.endswith((".html", ".tmp"))]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no file 'text'"),
        (b"", "'text' is empty"),
        (b"\xff\xfe\x00", "'text' is no UTF-8 text: byte 0 is 0xff"),
        (b"ab\0cd", "is a zero byte"),
        (b"t", "text: a text of one character cannot be scored"),
        ("the cat\nsaß".encode(), "text: the character 'ß' (U+00DF) in line 2, column 3 is none of the "),
    ],
)
def test_texts_that_cannot_be_scored(run, content, said):
    if content is not None:
        Path("text").write_bytes(content)
    refused(run("CHECKPOINT", "--text", "text"), said)


def test_checkpoints_that_are_none(run, character_run):
    refused(run("none.npz"), "there is no file 'none.npz'")
    whole = (character_run / "checkpoint.npz").read_bytes()
    Path("half.npz").write_bytes(whole[: len(whole) // 2])
    refused(run("half.npz"), "'half.npz'", "damaged")
    np.savez("foreign.npz", a=np.ones(3))
    refused(run("foreign.npz"), "'foreign.npz'")
    tensorgrad.save({"a": 1}, "other.npz")
    refused(run("other.npz"), "'other.npz' is no checkpoint of a character model")
    refused(run("."), "'.' is a folder")


def test_a_model_whose_weights_are_nan(run, character_run):
    content = tensorgrad.load(character_run / "checkpoint.npz")
    content["model"]["norm.weight"].data[:] = np.nan
    tensorgrad.save(content, "nan.npz")
    refused(run("nan.npz"), "the model's scores are not finite")


def test_options_that_make_no_sense(run):
    refused(run("CHECKPOINT", "--top", "0"), "--top is 0")
    refused(run("CHECKPOINT", "--top", "x"), "invalid int value: 'x'")
    refused(run(), "CHECKPOINT (see --help)")
    refused(run("CHECKPOINT", "-o", "page.txt"), "name a file that ends in .html")


def test_a_page_that_cannot_be_written_costs_no_numbers(run):
    Path("file").write_text("", encoding="utf-8")
    status, out, err = run("CHECKPOINT", "-o", "file/page.html")
    assert status == 2
    assert "mean, nats" in out
    assert err == "surprise.py: cannot write file/page.html: file is a file, not a folder\n"
    assert os.listdir() == ["file"]


def test_the_text_of_the_training_is_gone_or_changed(run, character_run):
    content = tensorgrad.load(character_run / "checkpoint.npz")
    content["settings"]["text"] = "gone.txt"
    tensorgrad.save(content, "moved.npz")
    refused(run("moved.npz"), "there is no file 'gone.txt': give a text to score with --text FILE")
    Path("gone.txt").write_text("the cat sat on a mat, and then it ran", encoding="utf-8")
    refused(run("moved.npz"), "which the model was trained on, is another text now: give a text to score")
    status, out, _ = run("moved.npz", "--text", "gone.txt")
    assert status == 0
    assert "The letter frequencies of the training text are unknown: " in out
