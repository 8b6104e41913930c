"""The GPT model beside the same architecture in torch (`gpt_torch.py`): scores, gradients, and 50 steps of training.

Tolerances: float32 rounds to 2^-24 = 6e-8 of a number, and the two sum in different orders. Losses are means of some
hundred numbers, and differ by a unit in the last place or two (2e-7 measured); gradients are sums of products, and
differ by some units relative to the largest of their parameter. In float64 the same comparisons hold to about 1e-15,
so that what is left in float32 is rounding and nothing else.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gpt_torch import build_equal

import tensorgrad
from tensorgrad.models import GPT, GPTConfig

TEXT = (
    "A gradient that is wrong stops nothing: it trains another model than the one that was meant, and the curve of its "
    "loss goes down all the same. What is counted twice, or never, or forty times, has to be looked for by name. "
)
VOCABULARY = "".join(sorted(set(TEXT)))
CODES = np.array([VOCABULARY.index(character) for character in TEXT])
STEPS, WARMUP, CLIP = 50, 10, 1.0

CONFIGS = [
    pytest.param({}, id="tied"),
    pytest.param({"tied": False}, id="untied"),
    pytest.param({"bias": False}, id="without biases"),
    pytest.param({"heads": 1, "blocks": 1, "tied": False}, id="one block, one head"),
]


def model_of(dtype: type, **changes: Any) -> GPT:
    tensorgrad.manual_seed(2)
    sizes = {"vocabulary": len(VOCABULARY), "context": 16, "blocks": 2, "heads": 4, "width": 32, **changes}
    model = GPT(GPTConfig(**sizes))
    return model.double() if dtype is np.float64 else model


def batches(count: int, rows: int = 8, length: int = 16) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and the characters after them, each (rows, length)."""
    rng = np.random.default_rng(6)
    starts = rng.integers(0, len(CODES) - length, (count, rows, 1)) + np.arange(length)
    return [(CODES[places], CODES[places + 1]) for places in starts]


def loss_of(lib: Any, model: Any, inputs: np.ndarray, targets: np.ndarray) -> tuple[Any, Any]:
    """Scores (B, T, V) and their mean cross entropy, written the same for both libraries."""
    scores = model(lib.tensor(inputs))
    return scores, lib.nn.functional.cross_entropy(scores.view(-1, len(VOCABULARY)), lib.tensor(targets).view(-1))


def array(x: Any) -> np.ndarray:
    return np.asarray(x.detach().numpy())


@pytest.mark.parametrize("changes", CONFIGS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-12)])
def test_scores_and_every_gradient_are_those_of_torch(
    torch: ModuleType, dtype: type, tolerance: float, changes: dict[str, Any]
) -> None:
    """`tolerance` is relative to the largest number of each array; gradients that are 0 in exact arithmetic (the keys'
    biases, which softmax cancels) stand in one array with others."""
    ours = model_of(dtype, **changes)
    theirs = build_equal(torch, ours)
    [(inputs, targets)] = batches(1)
    scores, loss = loss_of(tensorgrad, ours, inputs, targets)
    reference, their_loss = loss_of(torch, theirs, inputs, targets)
    loss.backward()
    their_loss.backward()
    assert loss.item() == pytest.approx(their_loss.item(), rel=tolerance)
    expected = array(reference)
    np.testing.assert_allclose(scores.data, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    named = dict(theirs.named_parameters())
    assert {name for name, _ in ours.named_parameters()} == set(named)
    for name, parameter in ours.named_parameters():
        gradient = named[name].grad.numpy()
        assert parameter.grad.dtype == dtype
        np.testing.assert_allclose(
            parameter.grad, gradient, rtol=0, atol=tolerance * np.abs(gradient).max(), err_msg=name
        )


@pytest.mark.parametrize("length", [1, 7])
def test_texts_shorter_than_the_context(torch: ModuleType, length: int) -> None:
    ours = model_of(np.float64)
    theirs = build_equal(torch, ours)
    [(inputs, _)] = batches(1, rows=3, length=length)
    expected = array(theirs(torch.tensor(inputs)))
    np.testing.assert_allclose(ours(tensorgrad.tensor(inputs)).data, expected, rtol=0, atol=1e-12)


def train(lib: Any, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, gradient norms before clipping and learning rates of STEPS steps, written once for both libraries:
    AdamW, decay of matrices alone, linear warmup, clipping."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = lib.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.99))
    schedule = lib.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / WARMUP))
    found = []
    for inputs, targets in batches(STEPS):
        _, loss = loss_of(lib, model, inputs, targets)
        optimizer.zero_grad()
        loss.backward()
        norm = lib.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        rate = optimizer.param_groups[0]["lr"]
        optimizer.step()
        schedule.step()
        found.append((loss.item(), float(norm), rate))
    return tuple(np.array(found).T)  # type: ignore[return-value]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    ("dtype", "losses_within", "norms_within"), [(np.float32, 2e-6, 2e-5), (np.float64, 1e-12, 1e-12)]
)
def test_fifty_steps_of_training_are_those_of_torch(
    torch: ModuleType, dtype: type, losses_within: float, norms_within: float, tied: bool
) -> None:
    ours = model_of(dtype, tied=tied)
    theirs = build_equal(torch, ours)
    losses, norms, rates = train(tensorgrad, ours)
    their_losses, their_norms, their_rates = train(torch, theirs)
    np.testing.assert_array_equal(rates, their_rates)
    assert rates[0] == pytest.approx(3e-4)
    assert rates[WARMUP] == rates[-1] == pytest.approx(3e-3)
    assert (norms > CLIP).mean() > 0.5  # the clipping was used
    assert losses[-5:].mean() < losses[:5].mean() - 0.5  # and something was learnt
    np.testing.assert_allclose(losses, their_losses, rtol=losses_within, atol=0)
    np.testing.assert_allclose(norms, their_norms, rtol=norms_within, atol=0)
