"""GPT-2's tokenizer from local files: merges that can be followed by hand, any text there and back, wrong files.

The package tokenizers trains a small vocabulary here and writes it as GPT-2's is written, in both ways.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import missing
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorgrad
from tensorgrad.models import GPT, GPTConfig, tokenizer
from tensorgrad.models.tokenizer import GPT2Tokenizer

END = "<|endoftext|>"
SENTENCE = "the cat and the other cat sat on the mat; that hat is the one that the cat had. "


def package() -> Any:
    try:
        import tokenizers
    except ImportError:
        missing("tokenizers is not installed")
        raise
    return tokenizers


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tokenizer.json, vocab.json and merges.txt of 20 merges."""
    folder = tmp_path_factory.mktemp("tokenizer")
    made = package().ByteLevelBPETokenizer(add_prefix_space=False)
    made.train_from_iterator([SENTENCE * 20], vocab_size=257 + 20, special_tokens=[END], show_progress=False)
    made.save(str(folder / "tokenizer.json"))
    made.save_model(str(folder))
    return folder


@pytest.fixture(scope="module")
def two_files(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    for name in ("vocab.json", "merges.txt"):
        (folder / name).write_bytes((trained / name).read_bytes())
    return folder


def by_hand(folder: Path, merges: list[str]) -> Path:
    """A vocabulary of the 256 bytes, then what `merges` make, then the end of a text."""
    letters = sorted(package().pre_tokenizers.ByteLevel.alphabet())
    names = [*letters, *(pair.replace(" ", "") for pair in merges), END]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    return folder


# -- there and back ----------------------------------------------------------------------------------------------------


def test_merges_can_be_followed_by_hand(tmp_path: Path) -> None:
    found = GPT2Tokenizer.from_pretrained(by_hand(tmp_path, ["a b", "ab c", "Ġ ab"]))
    a, b, c, space = (found.encode(letter)[0] for letter in "abc ")
    ab, abc, space_ab = 256, 257, 258
    assert found.encode("ab") == [ab]
    assert found.encode("abcab") == [abc, ab]
    assert found.encode("ba") == [b, a]
    assert found.encode("cab") == [c, ab]
    assert found.encode(" ab") == [space_ab]  # the space goes with the word after it
    assert found.encode(" abc") == [space, abc]  # since "ab c" is merged before "Ġ ab"
    assert found.encode("ab  ab") == [ab, space, space_ab]
    assert found.encode(f"ab{END}c") == [ab, found.end_of_text, c]
    assert (found.size, found.end_of_text) == (260, 259)
    assert repr(found) == "GPT2Tokenizer(size=260)"
    assert found.encode("") == []
    assert found.decode([]) == ""
    merges = (tmp_path / "merges.txt").read_bytes()
    (tmp_path / "merges.txt").write_bytes(b"\xef\xbb\xbf" + merges.replace(b"\n", b"\r\n"))  # as some editors save it
    assert GPT2Tokenizer.from_pretrained(tmp_path).encode("abcab") == [abc, ab]


def test_both_kinds_of_files_give_the_same_tokens(trained: Path, two_files: Path) -> None:
    whole, two = GPT2Tokenizer.from_pretrained(trained), GPT2Tokenizer.from_pretrained(str(two_files))
    theirs = package().Tokenizer.from_file(str(trained / "tokenizer.json"))
    assert whole.size == two.size == 257 + 20
    assert whole.end_of_text == two.end_of_text == 0
    for text in (SENTENCE, " the  cat\n\nthat's 12 é", f"a{END}b"):
        assert whole.encode(text) == two.encode(text) == theirs.encode(text).ids
    assert len(whole.encode(SENTENCE)) < len(SENTENCE) / 2


TEXTS = [
    "",
    " ",
    "\n\n \t",
    "  two  spaces ",
    "it's",
    "naïve café",
    "日本語",
    "😀 👩‍👩‍👧",
    "\0\x7f\u0085\u2028",
    END,
    f" {END} ",
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back(trained: Path, text: str) -> None:
    found = GPT2Tokenizer.from_pretrained(trained)
    tokens = found.encode(text)
    assert all(type(token) is int for token in tokens)
    assert found.decode(tokens) == text
    assert found.decode(np.array(tokens, np.int64)) == text
    if tokens:
        assert found.decode(tensorgrad.tensor(tokens)) == text


def test_any_text_at_all_comes_back(two_files: Path) -> None:
    found = GPT2Tokenizer.from_pretrained(two_files)

    @settings(max_examples=50, deadline=None, database=None, derandomize=True)
    @given(st.text())
    def check(text: str) -> None:
        assert found.decode(found.encode(text)) == text

    check()


def test_part_of_a_character_is_shown_as_one_that_is_none(trained: Path) -> None:
    found = GPT2Tokenizer.from_pretrained(trained)
    assert found.decode(found.encode("a😀")[:-1]) == "a\ufffd"


def test_what_cannot_be_encoded_or_decoded(trained: Path) -> None:
    found = GPT2Tokenizer.from_pretrained(trained)
    with pytest.raises(TypeError, match="encode: takes a str, got 3"):
        found.encode(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the character 2 of the text, '\\ud83d', is half a surrogate pair"):
        found.encode("ab\ud83d")
    for wrong in (277, -1, 2**40):
        with pytest.raises(IndexError, match=rf"decode: {wrong} is no token: there are 277, from 0"):
            found.decode([0, wrong])
    for nothing in ([0.5], [[1]], 3, "ab", [[]], [True], None, [2**70], [1, [2]]):
        with pytest.raises(TypeError, match="decode: takes whole numbers, one after the other, got"):
            found.decode(nothing)


def test_a_model_that_fits(trained: Path) -> None:
    found = GPT2Tokenizer.from_pretrained(trained)
    sizes = {"context": 4, "blocks": 1, "heads": 1, "width": 2}
    found.check_fits(GPT(GPTConfig(277, **sizes)))
    found.check_fits(GPTConfig(384, **sizes))  # padded to a multiple of 128
    for vocabulary in (276, 277 + 128, 50_257):
        with pytest.raises(
            ValueError, match=f"277 tokens, and the model's vocabulary is of {vocabulary}: take the files"
        ):
            found.check_fits(GPTConfig(vocabulary, **sizes))
    with pytest.raises(TypeError, match="takes a GPT or a GPTConfig, got 277"):
        found.check_fits(277)  # type: ignore[arg-type]


# -- what is wrong with a folder ---------------------------------------------------------------------------------------


def test_files_that_are_not_there(two_files: Path, tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"GPT2Tokenizer.from_pretrained: there is no folder 'gpt2'; only files"
    ):
        GPT2Tokenizer.from_pretrained("gpt2")
    message = r"no file 'tokenizer.json' in .*, and no vocab.json with merges.txt, where nothing else is"
    with pytest.raises(FileNotFoundError, match=message):
        GPT2Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "merges.txt").write_text("")
    with pytest.raises(FileNotFoundError, match=r"no file 'vocab.json' in .*; there are 'merges.txt'"):
        GPT2Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "merges.txt").unlink()
    (tmp_path / "vocab.json").write_bytes((two_files / "vocab.json").read_bytes())
    with pytest.raises(FileNotFoundError, match=r"no file 'merges.txt' in .*; there are 'vocab.json'"):
        GPT2Tokenizer.from_pretrained(tmp_path)


def test_two_files_that_are_wrong(tmp_path: Path) -> None:
    def refused(message: str) -> None:
        with pytest.raises(ValueError, match=message):
            GPT2Tokenizer.from_pretrained(tmp_path)

    by_hand(tmp_path, ["a b"])
    vocabulary = json.loads((tmp_path / "vocab.json").read_text())
    for merges, message in {
        "a": r"merges.txt': the merge \('a',\) is no pair",
        "a b c": "is no pair of tokens",
        "a c": r"merges.txt': 'ac', of the merge \('a', 'c'\), is not in the vocabulary",
        "a  b": "is no pair of tokens",
        "xy b": "'xy', of the merge",
        "a b\n#version: 0.2": "'#version:', of the merge",
    }.items():
        (tmp_path / "merges.txt").write_text(f"#version: 0.2\n{merges}\n")
        refused(message)
    (tmp_path / "merges.txt").write_bytes(b"\xff\xfe\x00")
    refused("merges.txt' is no text, or is damaged")
    by_hand(tmp_path, ["a b"])
    for changed, message in [
        (
            {key: i for key, i in vocabulary.items() if key not in ("a", "Ġ")},
            "no tokens for 2 of the 256 bytes: 'a', 'Ġ'",
        ),
        (vocabulary | {"ab": 3}, "numbers of its 258 tokens are not 0 to 257, each once"),
        (vocabulary | {"ab": "3"}, "no vocabulary from tokens to whole numbers"),
        (vocabulary | {"\ud800": 258}, r"vocab.json': the token '\\ud800' is no text: it has half a surrogate pair"),
        ([], r"vocab.json' holds \[\], not an object"),
    ]:
        (tmp_path / "vocab.json").write_text(json.dumps(changed))
        refused(message)
    (tmp_path / "vocab.json").write_text('{"a": ')
    refused("vocab.json' is not JSON, or is damaged")


def test_a_whole_file_that_is_wrong(trained: Path, tmp_path: Path) -> None:
    whole = json.loads((trained / "tokenizer.json").read_text())
    model, (added,) = whole["model"], whole["added_tokens"]
    other = "is of another tokenizer than GPT-2's, whose 'pre_tokenizer' is 'ByteLevel'"
    for changed, message in [
        ({}, "is of no byte-pair encoding"),
        ({"model": 3}, "is of no byte-pair encoding"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, "is of no byte-pair encoding"),
        (whole | {"pre_tokenizer": None}, other),
        (whole | {"pre_tokenizer": whole["pre_tokenizer"] | {"add_prefix_space": True}}, other),
        (whole | {"normalizer": {"type": "Lowercase"}}, other),
        (whole | {"model": model | {"vocab": {}}}, "no tokens for 256 of the 256 bytes"),
        (whole | {"model": model | {"vocab": None}}, "no vocabulary from tokens"),
        (whole | {"model": model | {"merges": None}}, "no list of merges"),
        (whole | {"model": model | {"merges": [["a", 3]]}}, r"the merge \['a', 3\] is no pair"),
        (whole | {"added_tokens": [{"id": "0"}]}, "'added_tokens' is no list of objects"),
        (whole | {"added_tokens": [{"id": 277, "content": "\ud800"}]}, r"the token '\\ud800' is no text"),
        (whole | {"added_tokens": [added | {"rstrip": True}]}, "the token '<.endoftext.>' has 'rstrip', which GPT-2's"),
        (
            whole | {"pre_tokenizer": whole["pre_tokenizer"] | {"use_regex": False}},
            "'use_regex' is False; GPT-2's .* True",
        ),
        (whole | {"model": model | {"dropout": 0.5}}, "'dropout' is 0.5; GPT-2's tokenizer has 0"),
        (
            whole | {"model": model | {"end_of_word_suffix": "</w>"}},
            "'end_of_word_suffix' is '</w>'; GPT-2's tokenizer has ''",
        ),
        (whole | {"model": model | {"continuing_subword_prefix": "##"}}, "'continuing_subword_prefix' is '##'"),
        (whole | {"model": model | {"ignore_merges": True}}, "'ignore_merges' is True"),
        (whole | {"added_tokens": [{"id": 999, "content": "<|more|>"}]}, "numbers of its 278 tokens are not 0 to 277"),
    ]:
        (tmp_path / "tokenizer.json").write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=message):
            GPT2Tokenizer.from_pretrained(tmp_path)
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]  # as older files have them
    added = [*whole["added_tokens"], {"id": 277, "content": "<|more|>"}]
    (tmp_path / "tokenizer.json").write_text(
        json.dumps(whole | {"model": model | {"merges": merges}, "added_tokens": added})
    )
    found = GPT2Tokenizer.from_pretrained(tmp_path)
    assert found.encode(SENTENCE) == GPT2Tokenizer.from_pretrained(trained).encode(SENTENCE)
    assert found.encode("<|more|>") == [277]


def test_without_the_package(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tokenizer, "import_module", absent)
    with pytest.raises(ImportError, match=r"needs the package tokenizers: pip install 'plusequals\[gpt2\]'"):
        GPT2Tokenizer.from_pretrained(trained)
