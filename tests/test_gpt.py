"""The GPT model by itself: sizes, causality, dropout, sampling, what it refuses. `test_gpt_torch.py` has torch's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd.backprop import topological_order
from tensorgrad import Tensor, no_grad
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.nn import Dropout
from tensorgrad.nn import functional as F


def small(**changes: Any) -> GPT:
    """11 tokens, a context of 8, 2 blocks of 2 heads, 16 wide, with weights large enough that everything matters."""
    tensorgrad.manual_seed(5)
    model = GPT(GPTConfig(**{"vocabulary": 11, "context": 8, "blocks": 2, "heads": 2, "width": 16, **changes}))
    with no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(10.0)
    return model


def tokens(rows: int = 2, length: int = 8, vocabulary: int = 11) -> Tensor:
    return tensorgrad.tensor(np.random.default_rng(3).integers(0, vocabulary, (rows, length)))


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    tensorgrad.manual_seed(1)
    yield
    tensorgrad.manual_seed(0)


def parameters_expected(config: GPTConfig) -> int:
    """Counted from the architecture, by hand."""
    V, T, C, bias = config.vocabulary, config.context, config.width, int(config.bias)
    norm = C + bias * C
    attention = C * 3 * C + bias * 3 * C + C * C + bias * C
    mlp = C * 4 * C + bias * 4 * C + 4 * C * C + bias * C
    head = 0 if config.tied else V * C
    return V * C + T * C + config.blocks * (2 * norm + attention + mlp) + norm + head


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"bias": False}, {"bias": False, "tied": False}])
def test_as_many_parameters_as_the_architecture_has(changes: dict[str, bool]) -> None:
    config = GPTConfig(vocabulary=23, context=6, blocks=3, heads=2, width=8, **changes)
    model = GPT(config)
    assert sum(p.numel() for p in model.parameters()) == parameters_expected(config)
    assert any("bias" in name for name, _ in model.named_parameters()) == config.bias
    assert (model.head.weight is model.tokens.weight) == config.tied
    assert "head.weight" in model.state_dict()  # as torch has it, also where it is the token table


def test_the_reference_model_has_815_thousand_parameters() -> None:
    config = GPTConfig(vocabulary=103, context=64, blocks=4, heads=4, width=128)
    assert sum(p.numel() for p in GPT(config).parameters()) == parameters_expected(config) == 814_720


def test_the_default_is_gpt_2_small() -> None:
    assert parameters_expected(GPTConfig()) == 124_439_808  # the size of the model that was published


@pytest.mark.parametrize(
    ("setting", "value", "error", "message"),
    [
        ("vocabulary", 0, ValueError, "vocabulary is 0; it must be 1 or more"),
        ("context", -1, ValueError, "context is -1"),
        ("blocks", 0, ValueError, "blocks is 0"),
        ("heads", 0, ValueError, "heads is 0"),
        ("width", 0, ValueError, "width is 0"),
        ("width", 15, ValueError, "2 heads cannot share a width of 15"),
        ("blocks", 2.5, TypeError, "blocks is a whole number, got 2.5"),
        ("vocabulary", "103", TypeError, "vocabulary is a whole number, got '103'"),
        ("dropout", 1.0, ValueError, "dropout is 1.0"),
        ("dropout", -0.1, ValueError, "dropout is -0.1"),
        ("dropout", math.nan, ValueError, "dropout is nan"),
        ("dropout", "0.1", TypeError, "dropout is a number"),
        ("bias", 1, TypeError, "bias is True or False, got 1"),
        ("tied", None, TypeError, "tied is True or False, got None"),
    ],
)
def test_sizes_that_make_no_sense(setting: str, value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        small(**{setting: value})


def test_only_a_configuration_makes_a_model() -> None:
    with pytest.raises(TypeError, match="takes a GPTConfig, got a dict"):
        GPT({"vocabulary": 11})


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"bias": False}, {"heads": 1}, {"blocks": 1}])
def test_scores_for_every_token_at_every_place(changes: dict[str, Any]) -> None:
    model = small(**changes)
    for shape in [(2, 8), (1, 1), (3, 5)]:
        scores = model(tokens(*shape))
        assert scores.shape == (*shape, 11)
        assert scores.dtype == np.float32
        assert np.isfinite(scores.data).all()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros((2, 9), int), ShapeError, "sequences of 9 tokens, of shape .2, 9.: from 1 to 8, the context"),
        (np.zeros((2, 0), int), ShapeError, "sequences of 0 tokens"),
        (np.zeros(3, int), ShapeError, "takes tokens of shape .B, T., got .3,."),
        (np.array([[1, 11]]), IndexError, "11 at .0, 1. is out of range"),
        (np.array([[-1]]), IndexError, "-1 at .0, 0. is out of range"),
        (np.array([[1.0]]), DtypeError, "whole numbers, got float64"),
    ],
)
def test_tokens_that_cannot_be_read(given: np.ndarray, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        small()(tensorgrad.tensor(given))


def test_no_score_sees_a_later_token() -> None:
    model = small().double()
    before = tokens(1)
    scores = model(before).data
    for place in range(8):
        changed = before.data.copy()
        changed[0, place] = (changed[0, place] + 1) % 11
        others = model(tensorgrad.tensor(changed)).data
        np.testing.assert_array_equal(others[0, :place], scores[0, :place])
        differences = np.abs(others - scores)[0].max(axis=-1)
        assert (differences[place:] > 1e-6).all()  # and every place from there on does see it


def test_no_gradient_flows_to_a_later_place() -> None:
    model = small(tied=False)
    model(tokens(1))[0, 3].sum().backward()
    reached = np.abs(model.positions.weight.grad).max(axis=1) > 0
    np.testing.assert_array_equal(reached, [True] * 4 + [False] * 4)


def test_sequences_of_a_batch_do_not_see_each_other() -> None:
    model = small().double()
    batch = tokens(3)
    together = model(batch).data
    for row in range(3):
        np.testing.assert_allclose(model(batch[row : row + 1]).data[0], together[row], rtol=0, atol=1e-12)


def test_positions_tell_equal_tokens_apart() -> None:
    scores = small()(tensorgrad.tensor([[4, 4, 4]])).data[0]
    assert np.abs(scores[0] - scores[1]).max() > 1e-3
    assert np.abs(scores[1] - scores[2]).max() > 1e-3


def test_a_fresh_model_guesses_evenly() -> None:
    tensorgrad.manual_seed(0)
    model = GPT(GPTConfig(vocabulary=103, context=16, blocks=2, heads=2, width=32))
    text = tokens(4, 17, 103)
    loss = F.cross_entropy(model(text[:, :-1]).view(-1, 103), text[:, 1:].reshape(-1))
    assert abs(loss.item() - math.log(103)) < 0.05


def test_the_residual_stream_does_not_grow_with_depth() -> None:
    """Std of each projection onto the stream: 0.02 / sqrt(2 * blocks); of any other matrix 0.02."""
    tensorgrad.manual_seed(0)
    model = GPT(GPTConfig(vocabulary=50, context=64, blocks=8, heads=2, width=64))
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            expected = 0.02 / 4 if name.endswith(("proj.weight", "down.weight")) else 0.02
            assert parameter.data.std() == pytest.approx(expected, rel=0.06), name
        else:
            assert np.all(parameter.data == (0.0 if name.endswith("bias") else 1.0)), name


def test_dropout_is_for_training_alone() -> None:
    model = small(dropout=0.5)
    plain = small()
    read = tokens()
    model.eval()
    np.testing.assert_array_equal(model(read).data, plain(read).data)
    model.train()
    first, second = model(read).data, model(read).data
    assert np.abs(first - second).max() > 1e-2


def test_dropout_is_used_at_every_place() -> None:
    """On the embeddings, after both halves of each block, and on the weights of attention."""
    model, read = small(dropout=0.5), tokens()
    layers = {name: module for name, module in model.named_modules() if isinstance(module, Dropout)}
    assert len(layers) == 1 + 2 * 2
    called = []
    for name, layer in layers.items():
        layer.register_forward_hook(lambda module, inputs, output, name=name: called.append(name))
    model(read)
    assert sorted(called) == sorted(layers)
    for layer in layers.values():
        layer.p = 0.0
    assert np.abs(model(read).data - model(read).data).max() > 1e-2  # attention's is left


def test_dropout_is_repeated_by_the_seed() -> None:
    model, read = small(dropout=0.3), tokens()
    tensorgrad.manual_seed(9)
    first = model(read).data
    tensorgrad.manual_seed(9)
    np.testing.assert_array_equal(model(read).data, first)


def test_the_seed_decides_the_weights() -> None:
    states = [small().state_dict() for _ in range(2)]
    for name, value in states[0].items():
        np.testing.assert_array_equal(value.data, states[1][name].data)


@pytest.mark.parametrize("tied", [True, False])
def test_every_parameter_gets_a_gradient(tied: bool) -> None:
    model = small(tied=tied)
    F.cross_entropy(model(tokens()).view(-1, 11), tokens().view(-1)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert np.abs(parameter.grad).max() > 0, name


def test_a_tied_table_receives_the_sum_of_what_its_two_uses_send() -> None:
    """An untied model with the same numbers in both tables has one part in each."""
    tied, untied = small().double(), small(tied=False).double()
    state = tied.state_dict()
    untied.load_state_dict(state)
    for model in (tied, untied):
        F.cross_entropy(model(tokens()).view(-1, 11), tokens().view(-1)).backward()
    total = untied.tokens.weight.grad + untied.head.weight.grad
    np.testing.assert_allclose(tied.tokens.weight.grad, total, rtol=1e-12, atol=1e-15)


def test_a_tied_state_stays_tied_when_it_is_loaded() -> None:
    model = small()
    model.load_state_dict(small(tied=True).state_dict())
    assert model.head.weight is model.tokens.weight


# --- sampling


def test_temperature_0_takes_the_likeliest_token() -> None:
    model, start = small(), tokens(2, 3)
    out = model.generate(start, 4, temperature=0)
    assert out.shape == (2, 7)
    assert out.dtype == np.int64
    np.testing.assert_array_equal(out.data[:, :3], start.data)
    for length in range(3, 7):
        np.testing.assert_array_equal(out.data[:, length], model(out[:, :length]).data[:, -1].argmax(axis=1))


def test_what_lies_behind_the_context_is_not_seen() -> None:
    model, start = small(), tokens(1, 8)
    longer = tensorgrad.tensor(np.concatenate([[[7, 7, 7]], start.data], axis=1))
    expected = model.generate(start, 6, temperature=0).data[0, 8:]
    np.testing.assert_array_equal(model.generate(longer, 6, temperature=0).data[0, 11:], expected)


@pytest.mark.parametrize("temperature", [1e-320, 1e-40, 1e-6])
def test_any_low_temperature_comes_near_0(temperature: float) -> None:
    model, start = small(), tokens(2, 3)
    expected = model.generate(start, 5, temperature=0).data
    np.testing.assert_array_equal(model.generate(start, 5, temperature=temperature).data, expected)


def test_a_high_temperature_draws_evenly() -> None:
    drawn = small().generate(tensorgrad.tensor(np.zeros((3300, 1), int)), 1, temperature=1e300).data[:, 1]
    counts = np.bincount(drawn, minlength=11)
    assert ((counts - 300) ** 2 / 300).sum() < 29.6  # chi squared of 10 degrees: 1 in 1000


def test_tokens_are_drawn_by_their_probability() -> None:
    model = small()
    scores = model(tensorgrad.tensor([[2]])).data[0, -1].astype(float) / 2.0
    expected = 5000 * np.exp(scores) / np.exp(scores).sum()
    drawn = model.generate(tensorgrad.tensor(np.full((5000, 1), 2)), 1, temperature=2.0).data[:, 1]
    frequent = expected > 5
    counts = np.bincount(drawn, minlength=11)
    assert ((counts - expected) ** 2 / expected)[frequent].sum() < 29.6


def test_top_k_draws_from_the_likeliest_alone() -> None:
    model = small()
    best = set(np.argsort(model(tensorgrad.tensor([[2]])).data[0, -1])[-3:])
    drawn = model.generate(tensorgrad.tensor(np.full((500, 1), 2)), 1, temperature=100.0, top_k=3).data[:, 1]
    assert set(drawn) == best


def test_top_k_of_1_is_temperature_0_and_of_all_is_none() -> None:
    model, start = small(), tokens(2, 3)
    expected = model.generate(start, 4, temperature=0).data
    np.testing.assert_array_equal(model.generate(start, 4, temperature=50.0, top_k=1).data, expected)
    draws = []
    for top_k in (None, 11, 99):
        tensorgrad.manual_seed(4)
        draws.append(model.generate(start, 4, top_k=top_k).data)
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])


def test_top_k_of_equal_scores_draws_no_more_than_k() -> None:
    model = small(tied=False)
    with no_grad():
        model.head.weight.mul_(0.0)
    drawn = model.generate(tensorgrad.tensor(np.zeros((500, 1), int)), 1, top_k=2).data[:, 1]
    assert len(set(drawn)) == 2


def test_the_seed_or_a_generator_decides_what_is_drawn() -> None:
    model, start = small(), tokens(1, 2)
    drawn = []
    for seed in (1, 1, 2):
        tensorgrad.manual_seed(seed)
        drawn.append(model.generate(start, 20, temperature=3.0).data)
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()
    own = [
        model.generate(start, 20, temperature=3.0, generator=tensorgrad.Generator().manual_seed(7)).data
        for _ in range(2)
    ]
    np.testing.assert_array_equal(own[0], own[1])


def test_modes_are_put_back_and_nothing_is_recorded() -> None:
    model = small(dropout=0.5)
    model.blocks[0].eval()
    modes = [module.training for module in model.modules()]
    recorded = []
    model.head.register_forward_hook(lambda module, inputs, output: recorded.append(output.requires_grad))
    first = model.generate(tokens(1, 2), 5, temperature=0)
    assert recorded == [False] * 5
    np.testing.assert_array_equal(first.data, model.generate(tokens(1, 2), 5, temperature=0).data)  # dropout is off
    assert [module.training for module in model.modules()] == modes


def test_modes_are_put_back_after_an_error() -> None:
    model = small(dropout=0.5)
    with pytest.raises(IndexError):
        model.generate(tensorgrad.tensor([[99]]), 1)
    assert all(module.training for module in model.modules())


def test_no_token_more_is_what_was_given() -> None:
    np.testing.assert_array_equal(small().generate(tokens(2, 3), 0).data, tokens(2, 3).data)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"count": -1}, ValueError, "count is -1"),
        ({"count": 1.5}, TypeError, "count is a whole number"),
        ({"count": 1, "temperature": -1}, ValueError, "temperature is -1"),
        ({"count": 1, "temperature": math.inf}, ValueError, "temperature is inf"),
        ({"count": 1, "temperature": math.nan}, ValueError, "temperature is nan"),
        ({"count": 1, "temperature": "hot"}, TypeError, "temperature is a number"),
        ({"count": 1, "top_k": 0}, ValueError, "top_k is 0"),
        ({"count": 1, "top_k": 2.5}, TypeError, "top_k is a whole number"),
    ],
)
def test_settings_of_sampling_that_make_no_sense(arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        small().generate(tokens(1, 2), **arguments)


def test_what_cannot_be_gone_on_from() -> None:
    for start in ([[1, 2]], tensorgrad.tensor([1, 2])):
        with pytest.raises(ShapeError, match=r"generate: takes tokens of shape \(B, T\), got"):
            small().generate(start, 1)
    with pytest.raises(ShapeError, match="sequences of 0 tokens"):
        small().generate(tensorgrad.tensor(np.zeros((1, 0), int)), 1)


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_a_model_that_diverged_says_so(temperature: float) -> None:
    model = small()
    with no_grad():
        model.norm.weight.mul_(math.nan)
    with pytest.raises(ValueError, match="scores are not all finite"):
        model.generate(tokens(1, 2), 1, temperature=temperature)


def test_sizes_of_a_config_are_pythons_numbers_whatever_they_came_as() -> None:
    config = GPTConfig(
        np.int64(7), np.uint8(4), blocks=1, heads=tensorgrad.tensor(2), width=True * 8, dropout=np.float32(0)
    )
    assert [type(value) for value in vars(config).values()] == [int, int, int, int, int, float, bool, bool]
    assert json.loads(json.dumps(vars(config))) == vars(config)


# -- what the backward pass computes again -----------------------------------------------------------------------------


def step_of(checkpoint: bool | int | str, *, chunked: bool = False, dropout: float = 0.3) -> tuple[float, list]:
    tensorgrad.manual_seed(1)
    model = GPT(GPTConfig(vocabulary=13, context=5, blocks=3, heads=2, width=8, dropout=dropout), checkpoint=checkpoint)
    tokens, targets = (
        tensorgrad.tensor([[1, 2, 3, 4, 12], [5, 4, 10, 0, 0]]),
        tensorgrad.tensor([[2, 3, 4, 12, 1], [4, 10, 0, 0, -100]]),
    )
    loss = model.loss(tokens, targets, chunked=chunked)
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters()]


@pytest.mark.parametrize("checkpoint", [True, 1, 2, 3, 100, "selective", np.bool_(True)])
def test_a_checkpointed_gpt_has_the_same_gradients_bit_for_bit(checkpoint: bool | int | str) -> None:
    loss, wanted = step_of(False)
    again, found = step_of(checkpoint)
    assert loss == again
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(f, w)


def test_the_chunked_loss_has_the_same_gradients() -> None:
    loss, wanted = step_of(False)
    again, found = step_of(True, chunked=True)
    assert again == pytest.approx(loss, rel=1e-6)
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-7)


def test_what_a_gpt_checkpoints_may_be_changed_and_is_checked() -> None:
    model = GPT(GPTConfig(vocabulary=13, context=5, blocks=3, heads=2, width=8))
    assert model.checkpoint is False
    model.checkpoint = 2
    tokens = tensorgrad.tensor([[1, 2, 3]])
    blocks = {x._op for x in topological_order(model(tokens).sum())}
    assert "checkpoint" in blocks
    assert "gelu" not in blocks
    model.checkpoint = False
    assert "gelu" in {x._op for x in topological_order(model(tokens).sum())}
    for wrong in (0, -1, "blocks"):
        with pytest.raises(ValueError, match="checkpoint is"):
            model.checkpoint = wrong
    with pytest.raises(TypeError, match="checkpoint"):
        model.checkpoint = 1.5
    with pytest.raises(ShapeError, match=r"targets of shape \(1, 2\) for tokens of shape \(1, 3\)"):
        model.loss(tokens, tensorgrad.tensor([[1, 2]]))
