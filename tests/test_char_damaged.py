"""Checkpoints of the character model whose parts are not what they should be: one line, and the file stays."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgrad

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import char_gpt
import surprise
from chars.settings import Settings
from chars.training import train


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is in a checkpoint."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 20, encoding="utf-8")
    settings = Settings(text=str(folder / "text.txt"), steps=2, batch=2, context=4, blocks=1, heads=1, width=4)
    train(settings, folder=folder, monitor=False)
    return tensorgrad.load(folder / "checkpoint.npz")


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.ones(2)},
        {"settings": {"text": 3}},
        {"settings": {"seed": 1e400}},
        {"step": -1},
        {"losses": ["a", "b"]},
        {"norms": [None, None]},
        {"held_out": [1]},
        {"held_out": [[]]},
        {"held_out": [["a", "b"]]},
        {"findings": [1]},
        {"findings": [{}]},
        {"vocabulary": "a" * 12},
        {"model": {"tokens.weight": np.ones(3, np.float32)}},
        {"model": {"tokens.weight": "x"}},
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_refused_in_one_line(
    whole: dict[str, Any],
    changes: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    changed = {
        name: {**whole[name], **value} if name in ("settings", "model") else value for name, value in changes.items()
    }
    tensorgrad.save({**whole, **changed}, "x.npz")
    before = Path("x.npz").read_bytes()
    for main, arguments in ((char_gpt.main, ["--resume", "x.npz", "--steps=3"]), (surprise.main, ["x.npz"])):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]
        assert Path("x.npz").read_bytes() == before
