"""The text that a character model is trained on: read, given numbers, split into a part to learn and a part to test.

The vocabulary is that of the whole text. What the model is told of the held-out part by this is which characters there
are, not where; without it a single rare character there would make the score infinite.
"""

from __future__ import annotations

import codecs
import hashlib
import importlib
import math
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np
from common.errors import Refused

DEFAULT = "pydoc_data.topics"
"""The name of the default text: what Python's own `help()` shows of the language, which is on every machine."""

_LONG = (
    24  # characters from which on a paragraph or line that comes twice is a copy, and not an ordinary turn of phrase
)


def read_text(path: str | Path | None = None) -> str:
    """The text in a UTF-8 file, with line ends as "\\n"; None stands for the default text.

    Raises Refused for a file that is missing, empty or no text.
    """
    if path is None:
        return _topics()
    if str(path) == "":
        raise Refused("the path of the text is empty")
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise Refused(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise Refused(f"{str(path)!r} is a folder: give the path of a text file in it") from None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}") from None
    if not content:
        raise Refused(f"{str(path)!r} is empty")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{str(path)!r} is no UTF-8 text: byte {error.start} is 0x{content[error.start]:02x} ({error.reason}); "
            "convert it to UTF-8 first"
        ) from None
    if "\0" in text:
        raise Refused(f"{str(path)!r} is no text: byte {content.index(0)} is a zero byte, so it is a binary file")
    text = text.removeprefix(codecs.BOM_UTF8.decode()).replace("\r\n", "\n")
    if not text:
        raise Refused(f"{str(path)!r} is empty, but for a mark of the byte order")
    return text


def _topics() -> str:
    """The topics of `help()`, in the order of the alphabet, with an empty line between them."""
    try:
        topics: dict[str, str] = importlib.import_module(DEFAULT).topics
    except ImportError:
        raise Refused(f"this Python comes without {DEFAULT}, the default text: give one with --text FILE") from None
    return "\n\n".join(topics[name] for name in sorted(topics))


class Corpus:
    """A text as a character model needs it.

    text  the whole of it
    name  what messages and checkpoints call it

    vocabulary  its distinct characters, sorted; a character's place here is its number
    train       its first nine tenths
    held_out    the last tenth, without the paragraphs (in a text without empty lines: the lines) that are also in
                `train`
    repeated    the share of the last tenth that was left out for this
    sha256      of the whole text in UTF-8, to know it again

    The split is one cut, so that no window of the one part reaches into the other. Python's documentation repeats whole
    sections: 8 % of its last tenth (the `with` and `while` statements above all) stand word for word in the first nine,
    where a model could learn them by heart. Without these paragraphs, no 80 characters in a row are in both parts.
    A text whose last tenth would lose more than half (a log file, the same verse again and again) keeps it as it is.

    Raises Refused for a text of one distinct character.
    """

    def __init__(self, text: str, name: str = DEFAULT) -> None:
        self.text, self.name = text, name
        self.vocabulary = "".join(sorted(set(text)))
        if len(self.vocabulary) < 2:
            what = f"only the character {self.vocabulary!r}" if text else "no character"
            raise Refused(f"{name}: there is {what} in the text; a model needs two or more to choose between")
        cut = len(text) * 9 // 10
        self.train, last = text[:cut], text[cut:]
        fresh = _without_copies(last, self.train)
        self.held_out = fresh if 2 * len(fresh) >= len(last) else last
        self.repeated = 1 - len(self.held_out) / len(last)

    def require(self, context: int) -> None:
        """Raise Refused where the text is too short for windows of `context` characters and the one that follows."""
        needed = max(math.ceil((context + 1) * 10 / 9), 11)  # 11: two held-out characters, the second is scored
        if len(self.text) < needed:
            raise Refused(
                f"{self.name}: {len(self.text)} characters are too few for a context of {context}: {needed} are needed "
                f"(nine tenths of them must hold {context + 1}); take a longer text, or a smaller --context"
            )

    def encode(self, text: str) -> np.ndarray:
        """The characters as numbers, int64 of shape (len(text),).

        Raises ValueError, naming the character and its place, for one that is not in the vocabulary.
        """
        try:
            return np.fromiter((self._numbers[c] for c in text), dtype=np.int64, count=len(text))
        except KeyError:
            place = next(i for i, c in enumerate(text) if c not in self._numbers)
            line, column = text.count("\n", 0, place) + 1, place - (text.rfind("\n", 0, place) + 1) + 1
            raise ValueError(
                f"the character {text[place]!r} (line {line}, column {column}) is not in the vocabulary of {self.name}"
            ) from None

    def decode(self, numbers: np.ndarray) -> str:
        """The text that has these numbers."""
        return "".join(self.vocabulary[i] for i in numbers)

    @property
    def uniform(self) -> float:
        """Nats a character of a guess that finds all characters equally likely."""
        return math.log(len(self.vocabulary))

    @property
    def letter_frequencies(self) -> float:
        """Nats a character of the held-out text for a guess that knows only how often each character is in `train`.

        Every count is one larger than it is (Laplace's rule), so that no character is impossible.
        """
        counts, total = Counter(self.train), len(self.train) + len(self.vocabulary)
        found = Counter(self.held_out)
        return -sum(n * math.log((counts[c] + 1) / total) for c, n in found.items()) / len(self.held_out)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {c: i for i, c in enumerate(self.vocabulary)}


def _without_copies(text: str, other: str) -> str:
    """`text` without its long paragraphs that are in `other`, too, however indented and broken into lines; in texts
    that have none, without such lines."""
    between = "\n\n" if "\n\n" in text or "\n\n" in other else "\n"
    known = {_words(part) for part in other.split(between)}
    kept = [part for part in text.split(between) if len(_words(part)) < _LONG or _words(part) not in known]
    return between.join(kept)


def _words(paragraph: str) -> str:
    return " ".join(paragraph.split())
