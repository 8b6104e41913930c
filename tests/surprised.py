"""A small character model and its text, for the tests of the scripts that take a checkpoint."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars.settings import Settings
from chars.training import train

WORDS = "the cat sat on a mat, and then it ran: so\tdid we. \\n is no end of line; <b>&amp; are no tags. 🙂 é".split(
    " "
)


def some_text(words: int) -> str:
    """Words at random, about seven to a line."""
    rng = np.random.default_rng(words)
    return "".join(f"{word}{' ' if rng.random() < 0.85 else chr(10)}" for word in rng.choice(WORDS, words))


def trained(folder: Path) -> Path:
    """The checkpoint of a few steps on `folder`/text.txt, which is written first. The folder has both."""
    text = folder / "text.txt"
    text.write_text(some_text(600), encoding="utf-8")
    settings = Settings(
        text=str(text), steps=30, blocks=1, heads=2, width=16, context=16, batch=8, warmup=5, learning_rate=0.02
    )
    return train(settings, folder=folder, monitor=False).checkpoint


def caller(
    main: Callable[[list[str]], int], folder: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """A function that runs a script's `main` with its arguments and returns status, stdout and stderr. The argument
    CHECKPOINT stands for the one in `folder`."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main([str(folder / "checkpoint.npz") if a == "CHECKPOINT" else a for a in arguments])
        return status, *capsys.readouterr()

    return call
