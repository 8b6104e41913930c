"""GPT-2's tokenizer: byte-pair encoding of bytes (Radford et al. 2019, section 2.2), by the package tokenizers, from
files on this machine. Any text has tokens, since each of the 256 bytes is one."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.models.folders import check_file, folder_of, read_json, short, some
from tensorgrad.node import ArrayNode
from tensorgrad.settings import kind

if TYPE_CHECKING:
    from tensorgrad.models.gpt import GPT, GPTConfig

_OP = "GPT2Tokenizer.from_pretrained"
_WHOLE, _VOCABULARY, _MERGES = "tokenizer.json", "vocab.json", "merges.txt"
_PLAIN_MODEL: dict[str, Any] = {"dropout": 0, "continuing_subword_prefix": "", "end_of_word_suffix": ""}
_PLAIN_MODEL |= {"ignore_merges": False}
_PLAIN_SPLITTING: dict[str, Any] = {"use_regex": True}
"""What of tokenizer.json else decides where a text is cut, with GPT-2's values; null and nothing are these, too."""
_PADDED = 128  # a token table's rows are padded to a multiple of at most this


class GPT2Tokenizer:
    """Text to token numbers and back. Made by `from_pretrained`.

    size         how many tokens there are
    end_of_text  the number of `<|endoftext|>`, which stands between documents; None where there is no such token
    """

    END_OF_TEXT = "<|endoftext|>"

    def __init__(self, vocabulary: dict[str, int], merges: list[tuple[str, str]], special: list[str]) -> None:
        package = _tokenizers()
        self._tokenizer = package.Tokenizer(package.models.BPE(vocab=vocabulary, merges=merges))
        self._tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._tokenizer.decoder = package.decoders.ByteLevel()
        self._tokenizer.add_special_tokens(special)
        self.size: int = self._tokenizer.get_vocab_size()
        self.end_of_text: int | None = self._tokenizer.token_to_id(self.END_OF_TEXT)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> GPT2Tokenizer:
        """The tokenizer in a folder as Hugging Face has it: `tokenizer.json`, or `vocab.json` and `merges.txt`.

        Raises FileNotFoundError for a folder or a file that is missing; ImportError without the package tokenizers;
        ValueError, naming the file, for one that is damaged or of a tokenizer of another kind.
        """
        path = folder_of(_OP, folder)
        if (path / _WHOLE).exists() or not ((path / _VOCABULARY).exists() or (path / _MERGES).exists()):
            hint = f", and no {_VOCABULARY} with {_MERGES}"
            return cls._whole(path / _WHOLE, read_json(_OP, path / _WHOLE, hint))
        vocabulary = read_json(_OP, path / _VOCABULARY)
        merges = _read_merges(path / _MERGES)
        _check(path / _VOCABULARY, vocabulary, path / _MERGES, merges)
        _check_numbers(path / _VOCABULARY, vocabulary)
        return cls(vocabulary, merges, [cls.END_OF_TEXT] if cls.END_OF_TEXT in vocabulary else [])

    @classmethod
    def _whole(cls, path: Path, content: dict[str, Any]) -> GPT2Tokenizer:
        where = f"{_OP}: {str(path)!r}"
        model, before = (content.get(name) or {} for name in ("model", "pre_tokenizer"))
        if not isinstance(model, dict) or model.get("type", "BPE") != "BPE" or "merges" not in model:
            raise ValueError(f"{where} is of no byte-pair encoding: it has no 'model' of type 'BPE' with 'merges'")
        bytewise = isinstance(before, dict) and before.get("type") == "ByteLevel" and not before.get("add_prefix_space")
        if not bytewise or content.get("normalizer") is not None:
            raise ValueError(
                f"{where} is of another tokenizer than GPT-2's, whose 'pre_tokenizer' is 'ByteLevel' without "
                "'add_prefix_space', and which has no 'normalizer'"
            )
        for part, names in ((model, _PLAIN_MODEL), (before, _PLAIN_SPLITTING)):
            for name, plain in names.items():
                if part.get(name, plain) not in (plain, None):
                    raise ValueError(f"{where}: {name!r} is {short(part[name])}; GPT-2's tokenizer has {plain!r}")
        vocabulary, merges = model.get("vocab"), model["merges"]
        if isinstance(merges, list):  # older files have each as one string
            merges = [tuple(pair.split(" ")) if isinstance(pair, str) else pair for pair in merges]
        _check(path, vocabulary, path, merges)
        added = content.get("added_tokens") or []
        if not isinstance(added, list) or not all(
            isinstance(token, dict) and isinstance(token.get("content"), str) and type(token.get("id")) is int
            for token in added
        ):
            raise ValueError(f"{where}: 'added_tokens' is no list of objects with 'id' and 'content'")
        for token in added:
            if wider := [name for name in ("lstrip", "rstrip", "single_word") if token.get(name)]:
                raise ValueError(
                    f"{where}: the token {short(token['content'])} has {wider[0]!r}, which GPT-2's have not"
                )
        added = sorted(added, key=lambda token: token["id"])
        _check_numbers(path, vocabulary | {token["content"]: token["id"] for token in added})
        return cls(vocabulary, [tuple(pair) for pair in merges], [token["content"] for token in added])

    def encode(self, text: str) -> list[int]:
        """The numbers of the text's tokens. `<|endoftext|>` in it is one token."""
        if not isinstance(text, str):
            raise TypeError(f"GPT2Tokenizer.encode: takes a str, got {kind(text)}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"GPT2Tokenizer.encode: the character {error.start} of the text, {text[error.start]!r}, is half a "
                "surrogate pair, which has no bytes"
            ) from None
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Any) -> str:
        """The text of token numbers: a list of whole numbers, or an array or a Tensor of one axis.

        Bytes that are no UTF-8, as when a character's tokens are not all there, become U+FFFD. Raises IndexError for
        a number that is no token's.
        """
        try:
            array = np.asarray(tokens.data if isinstance(tokens, ArrayNode) else tokens)
        except ValueError:  # lists of several lengths
            array = np.empty(0, dtype=object).reshape(0, 0)
        if array.size == 0 and array.ndim == 1:
            return ""
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"GPT2Tokenizer.decode: takes whole numbers, one after the other, got {kind(tokens)}")
        outside = array[(array < 0) | (array >= self.size)]
        if outside.size:
            raise IndexError(f"GPT2Tokenizer.decode: {outside[0]} is no token: there are {self.size}, from 0")
        return self._tokenizer.decode(array.tolist(), skip_special_tokens=False)

    def check_fits(self, model: GPT | GPTConfig) -> None:
        """Raise ValueError unless the model's vocabulary is this tokenizer's, or that padded to a multiple of 128."""
        config = getattr(model, "config", model)
        vocabulary = getattr(config, "vocabulary", None)
        if not isinstance(vocabulary, int):
            raise TypeError(f"GPT2Tokenizer.check_fits: takes a GPT or a GPTConfig, got {kind(model)}")
        if not self.size <= vocabulary < self.size + _PADDED:
            raise ValueError(
                f"GPT2Tokenizer: it has {self.size} tokens, and the model's vocabulary is of {vocabulary}: take the "
                "files of the model and of its tokenizer from the same folder"
            )

    def __repr__(self) -> str:
        return f"GPT2Tokenizer(size={self.size})"


def _read_merges(path: Path) -> list[tuple[str, ...]]:
    """Pairs of tokens in the order in which they are merged: one a line, with a space between."""
    check_file(_OP, path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{_OP}: {str(path)!r} is no text, or is damaged ({error})") from None
    except OSError as error:
        raise OSError(f"{_OP}: {str(path)!r} cannot be read ({error.strerror or error})") from None
    if lines[0].startswith("#version"):
        del lines[0]
    return [tuple(line.split(" ")) for line in lines if line.strip()]


def _check(path: Path, vocabulary: Any, merges_path: Path, merges: Any) -> None:
    """Raise ValueError unless there is a token for each byte, and for each pair that is merged; the package would leave
    bytes out without a word, and stop the program."""
    where = f"{_OP}: {str(path)!r}"
    if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
        raise ValueError(f"{where} has no vocabulary from tokens to whole numbers")
    absent = [byte for byte in sorted(_tokenizers().pre_tokenizers.ByteLevel.alphabet()) if byte not in vocabulary]
    if absent:
        raise ValueError(f"{where} has no tokens for {len(absent)} of the 256 bytes: {some(absent)}")
    where = f"{_OP}: {str(merges_path)!r}"
    if not isinstance(merges, list):
        raise ValueError(f"{where} has no list of merges")
    for pair in merges:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ValueError(f"{where}: the merge {short(pair)} is no pair of tokens")
        for token in (*pair, "".join(pair)):
            if token not in vocabulary:
                raise ValueError(f"{where}: {short(token)}, of the merge {short(pair)}, is not in the vocabulary")


def _check_numbers(path: Path, vocabulary: dict[str, int]) -> None:
    """Raise ValueError unless the tokens are text and their numbers those of the rows of a table, each once."""
    for token in vocabulary:
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{_OP}: {str(path)!r}: the token {short(token)} is no text: it has half a surrogate pair"
            ) from None
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError(
            f"{_OP}: {str(path)!r}: the numbers of its {len(vocabulary)} tokens are not 0 to {len(vocabulary) - 1}, "
            "each once"
        )


def _tokenizers() -> Any:
    """The package, which only the tokenizer needs."""
    try:
        return import_module("tokenizers")
    except ImportError:
        raise ImportError(
            f"{_OP}: GPT-2's tokenizer needs the package tokenizers: pip install 'plusequals[gpt2]'"
        ) from None
