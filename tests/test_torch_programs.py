"""Small programs for torch, as they stand, under both names: on torch and on tensorgrad, with equal losses."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import pytest

import tensorgrad

LEARNING = ("mlp_classifier", "char_rnn", "gpt_block")
PROGRAMS = LEARNING + tuple(
    "by_hand clusters experts graph_network own_adam resume rollouts tagger vae word2vec".split()
)

_SUBMODULES = (
    "autograd",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "optim",
    "optim.lr_scheduler",
    "utils",
    "utils.checkpoint",
    "utils.data",
)


@contextmanager
def named_torch(package: ModuleType) -> Iterator[None]:
    """`import torch` gives `package` inside the `with`, in modules that are imported there for the first time."""
    ours = package.__name__ != "torch"
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("torch", "programs_torch")}
    for name in kept:
        if ours or name.startswith("programs_torch"):
            del sys.modules[name]
    if ours:
        sys.modules["torch"] = package
        for name in _SUBMODULES:
            sys.modules[f"torch.{name}"] = importlib.import_module(f"{package.__name__}.{name}")
    try:
        yield
    finally:
        for name in list(sys.modules):
            if name.split(".")[0] == "programs_torch" or (ours and name.split(".")[0] == "torch"):
                del sys.modules[name]
        sys.modules.update(kept)


def losses(program: str, package: ModuleType) -> list[float]:
    with named_torch(package):
        return importlib.import_module(f"programs_torch.{program}").main()


@pytest.mark.parametrize("program", PROGRAMS)
def test_losses_equal_torch(program: str, torch: ModuleType):
    ours, theirs = losses(program, tensorgrad), losses(program, torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("program", LEARNING)
def test_they_learn_without_torch(program: str):
    found = losses(program, tensorgrad)
    assert found[-20 if program != "mlp_classifier" else -4] < 0.9 * found[0]
