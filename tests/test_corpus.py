"""The text that the character model learns: what is read, what is refused, and that no held-out text is learned."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars.corpus import DEFAULT, Corpus, read_text
from common.errors import Refused

LINES = "".join(f"line {i} of {i * i}\n" for i in range(100))


@pytest.fixture(scope="module")
def topics() -> Corpus:
    return Corpus(read_text())


def write(folder: Path, content: bytes) -> Path:
    path = folder / "text.txt"
    path.write_bytes(content)
    return path


# -- reading -----------------------------------------------------------------------------------------------------------


def test_reads_utf8_with_one_kind_of_line_end_and_without_a_mark(tmp_path: Path) -> None:
    assert read_text(write(tmp_path, b"\xef\xbb\xbfa\r\nb\n\xc3\xb1")) == "a\nb\nñ"


def test_the_default_text_is_pythons_own_documentation(topics: Corpus) -> None:
    assert topics.name == DEFAULT
    assert len(topics.text) > 300_000
    assert "yield" in topics.held_out  # the topics are in the order of the alphabet
    assert read_text() == topics.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty, but for"),
        (b"abc\xff", "no UTF-8 text: byte 3 is 0xff"),
        (b"\xef\xbb\xbfab\xe9 caf\xc3", "byte 5 is 0xe9"),
        (b"ab\0c", "byte 2 is a zero byte"),
    ],
)
def test_refuses_what_is_no_text(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(Refused, match=message) as caught:
        read_text(path)
    assert repr(str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refuses_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"there is no file .*nowhere"):
        read_text(tmp_path / "nowhere")
    with pytest.raises(Refused, match="is a folder"):
        read_text(tmp_path)
    with pytest.raises(Refused, match="null"):
        read_text("a\0b")


# -- the split ---------------------------------------------------------------------------------------------------------


def test_the_last_tenth_is_held_out_and_nothing_is_in_both_parts() -> None:
    corpus = Corpus(LINES)
    assert corpus.train + corpus.held_out == LINES
    assert len(corpus.train) == len(LINES) * 9 // 10
    assert corpus.repeated == 0


def test_paragraphs_that_were_learned_are_not_held_out() -> None:
    copied = "This paragraph stands in\nboth parts of the text."
    learned = [copied, *(f"Paragraph {i}, which stands here alone." for i in range(100))]
    last = [
        "Short one.",
        "    This paragraph stands in both\n    parts of the text.",
        "Nothing like it was ever before.",
    ]
    corpus = Corpus("\n\n".join([*learned, *["Short one."] * 30, *last]))
    assert copied in corpus.train
    assert "both" not in corpus.held_out
    assert corpus.held_out.endswith("Short one.\n\nNothing like it was ever before.")
    assert 0 < corpus.repeated < 0.5


def test_a_text_that_repeats_itself_throughout_keeps_its_last_tenth() -> None:
    text = "The same long paragraph again and again.\n\n" * 50
    corpus = Corpus(text)
    assert corpus.held_out == text[len(text) * 9 // 10 :]
    assert corpus.repeated == 0


def test_of_a_text_without_empty_lines_lines_that_were_learned_are_not_held_out() -> None:
    """A song, a list, a table: where a line comes again it could have been learned by heart."""
    lines = [f"line {n}, of which there is no other one" for n in range(100)]
    refrain = "and this is what they sing after every verse"
    text = "\n".join(line for n, line in enumerate(lines) for line in ([line, refrain] if n % 4 == 0 else [line]))
    corpus = Corpus(text)
    assert corpus.train.count(refrain) > 20
    assert refrain not in corpus.held_out
    assert corpus.held_out.endswith("\n".join(lines[-8:]))


def test_the_default_text_has_no_long_passage_in_both_parts(topics: Corpus) -> None:
    learned, held_out = (" ".join(part.split()) for part in (topics.train, topics.held_out))
    length = 80
    known = {learned[i : i + length] for i in range(len(learned) - length + 1)}
    both = [i for i in range(len(held_out) - length + 1) if held_out[i : i + length] in known]
    assert len(both) < 0.01 * len(held_out)  # none in Python 3.11's; without the rule 8 %
    assert 0.8 < len(topics.held_out) / (len(topics.text) / 10) < 1
    assert len(topics.text[len(topics.train) :]) > len(topics.held_out)


@pytest.mark.parametrize(("context", "needed"), [(1, 11), (8, 11), (16, 19), (64, 73)])
def test_says_how_many_characters_are_needed(context: int, needed: int) -> None:
    text = LINES[:needed]
    Corpus(text).require(context)
    assert len(Corpus(text).train) >= context + 1
    assert len(Corpus(text).held_out) >= 2
    with pytest.raises(Refused, match=rf"{needed - 1} characters are too few .* {needed} are needed"):
        Corpus(text[:-1]).require(context)


@pytest.mark.parametrize("text", ["a", "\n" * 1000])
def test_refuses_one_distinct_character(text: str) -> None:
    with pytest.raises(Refused, match="only the character"):
        Corpus(text)


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_characters_become_numbers_and_come_back() -> None:
    corpus = Corpus("bañana 1\n" * 20)
    assert corpus.vocabulary == "\n 1abnñ"
    numbers = corpus.encode("ñab\n")
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [6, 3, 4, 0]
    assert corpus.decode(numbers) == "ñab\n"
    assert corpus.encode("").shape == (0,)


def test_an_unknown_character_is_named_with_its_place() -> None:
    corpus = Corpus("abc\n" * 20, "letters.txt")
    with pytest.raises(ValueError, match=r"'é' \(line 2, column 3\) .* letters\.txt"):
        corpus.encode("ab\nabé\n")


def test_baselines() -> None:
    corpus = Corpus("aab" * 30 + "abbbbbbbbb")
    counts = {"a": 60 + 1, "b": 30 + 1}
    total = sum(counts.values())
    assert corpus.held_out == "abbbbbbbbb"
    expected = -(math.log(counts["a"] / total) + 9 * math.log(counts["b"] / total)) / 10
    assert corpus.letter_frequencies == pytest.approx(expected)
    assert corpus.uniform == pytest.approx(math.log(2))


def test_the_default_texts_baselines_are_those_of_english(topics: Corpus) -> None:
    assert 3.1 < topics.letter_frequencies < 3.4  # 3.25 in the source, on another text
