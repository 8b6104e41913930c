"""Layers, activations and losses as Modules: numbers, gradients and first values against torch's."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import manual_seed, nn

LAYERS = {
    "Linear": (lambda nn: nn.Linear(4, 3), (2, 5, 4)),
    "Linear without bias": (lambda nn: nn.Linear(4, 3, bias=False), (4,)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), (3, 4)),
    "LayerNorm of two axes": (lambda nn: nn.LayerNorm([3, 4], eps=0.1), (2, 3, 4)),
    "LayerNorm without bias": (lambda nn: nn.LayerNorm(4, bias=False), (3, 4)),
    "LayerNorm without parameters": (lambda nn: nn.LayerNorm(4, elementwise_affine=False), (3, 4)),
    "RMSNorm": (lambda nn: nn.RMSNorm(4, eps=1e-3), (3, 4)),
    "RMSNorm without parameters": (lambda nn: nn.RMSNorm(4, elementwise_affine=False), (3, 4)),
    "Flatten": (lambda nn: nn.Flatten(), (2, 3, 4)),
    "Flatten between": (lambda nn: nn.Flatten(0, 1), (2, 3, 4)),
    "Identity": (lambda nn: nn.Identity(3, any=4), (2,)),
    "Dropout of nothing": (lambda nn: nn.Dropout(0.0), (3, 4)),
    "Dropout in eval": (lambda nn: nn.Dropout(0.9).eval(), (3, 4)),
    "ReLU": (lambda nn: nn.ReLU(), (3, 4)),
    "ReLU6": (lambda nn: nn.ReLU6(), (3, 4)),
    "GELU": (lambda nn: nn.GELU(), (3, 4)),
    "GELU tanh": (lambda nn: nn.GELU(approximate="tanh"), (3, 4)),
    "Tanh": (lambda nn: nn.Tanh(), (3, 4)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), (3, 4)),
    "LogSigmoid": (lambda nn: nn.LogSigmoid(), (3, 4)),
    "SiLU": (lambda nn: nn.SiLU(), (3, 4)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), (3, 4)),
    "ELU": (lambda nn: nn.ELU(0.7), (3, 4)),
    "Hardtanh": (lambda nn: nn.Hardtanh(-0.5, 0.7), (3, 4)),
    "Softplus": (lambda nn: nn.Softplus(2.0, 3.0), (3, 4)),
    "Softmax": (lambda nn: nn.Softmax(dim=0), (3, 4)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(dim=-1), (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_and_gradients_are_those_of_torch(torch: ModuleType, name: str, dtype: Any) -> None:
    make, shape = LAYERS[name]
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=shape).astype(dtype)
    ours, theirs = make(nn).type(dtype), make(torch.nn).to(torch.tensor(numbers).dtype)
    names = [name for name, _ in theirs.named_parameters()]
    assert [name for name, _ in ours.named_parameters()] == names
    ours.load_state_dict({name: rng.normal(size=p.shape).astype(dtype) for name, p in ours.named_parameters()})
    theirs.load_state_dict({name: torch.tensor(x.data) for name, x in ours.state_dict().items()})
    x, y = tensorgrad.tensor(numbers, requires_grad=True), torch.tensor(numbers, requires_grad=True)
    out, reference = ours(x), theirs(y)
    upstream = rng.normal(size=tuple(reference.shape)).astype(dtype)
    (out * upstream).sum().backward()
    (reference * torch.tensor(upstream)).sum().backward()
    close = {"rtol": 1e-10, "atol": 1e-12} if dtype == np.float64 else {"rtol": 2e-4, "atol": 1e-6}
    assert (out.shape, out.dtype) == (tuple(reference.shape), dtype)
    np.testing.assert_allclose(out.data, reference.detach().numpy(), **close)
    np.testing.assert_allclose(x.grad, y.grad.numpy(), **close)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad, q.grad.numpy(), **close)


LOSSES = {
    "L1Loss": ("numbers", {}),
    "L1Loss sum": ("numbers", {"reduction": "sum"}),
    "MSELoss": ("numbers", {"reduction": "none"}),
    "SmoothL1Loss": ("numbers", {"beta": 0.3}),
    "HuberLoss": ("numbers", {"delta": 0.3}),
    "KLDivLoss": ("probabilities", {"reduction": "batchmean"}),
    "KLDivLoss of logarithms": ("numbers", {"log_target": True, "reduction": "sum"}),
    "CrossEntropyLoss": ("classes", {}),
    "CrossEntropyLoss weighted": ("classes", {"weight": [0.5, 1.0, 2.0, 0.1], "label_smoothing": 0.2}),
    "CrossEntropyLoss ignoring": ("classes", {"ignore_index": 1, "reduction": "sum"}),
    "NLLLoss": ("classes", {"weight": [0.5, 1.0, 2.0, 0.1], "ignore_index": 0}),
    "BCELoss": ("probabilities", {"weight": [0.5, 1.0, 2.0, 0.1]}),
    "BCEWithLogitsLoss": ("probabilities", {"pos_weight": [0.5, 1.0, 2.0, 0.1], "reduction": "none"}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_torch(torch: ModuleType, name: str) -> None:
    kind, settings = LOSSES[name]
    rng = np.random.default_rng(6)
    inputs = rng.random((5, 4)) if name == "BCELoss" else rng.normal(size=(5, 4))
    target = {
        "numbers": rng.normal(size=(5, 4)),
        "probabilities": rng.dirichlet(np.ones(4), size=5),
        "classes": np.array([0, 3, 1, 2, 1]),
    }[kind]
    found = []
    for library in (tensorgrad, torch):
        given = {
            key: library.tensor(x, dtype=library.float64) if isinstance(x, list) else x for key, x in settings.items()
        }
        loss = getattr(library.nn, name.partition(" ")[0])(**given)
        x = library.tensor(inputs, requires_grad=True)
        out = loss(x, library.tensor(target))
        out.sum().backward()
        found.append((np.asarray(out.detach().numpy()), np.asarray(x.grad), list(loss.state_dict())))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs) if isinstance(ours, list) else np.testing.assert_allclose(
            ours, theirs, rtol=1e-10
        )


def test_embedding(torch: ModuleType) -> None:
    ours, theirs = nn.Embedding(5, 3, padding_idx=-4), torch.nn.Embedding(5, 3, padding_idx=-4)
    assert ours.padding_idx == theirs.padding_idx == 1
    np.testing.assert_array_equal(ours.weight.data[1], np.zeros(3))
    assert ours.weight.data[0].all()
    theirs.load_state_dict({"weight": torch.tensor(ours.weight.data)})
    index = np.array([[1, 0, 4], [4, 4, 1]])
    out, reference = ours(tensorgrad.tensor(index)), theirs(torch.tensor(index))
    np.testing.assert_array_equal(out.data, reference.detach().numpy())
    (out**2).sum().backward()
    (reference**2).sum().backward()
    np.testing.assert_allclose(ours.weight.grad, theirs.weight.grad.numpy(), rtol=1e-6)
    rows = tensorgrad.ones(4, 2)
    frozen = nn.Embedding.from_pretrained(rows, padding_idx=3)
    assert (frozen.num_embeddings, frozen.embedding_dim, frozen.padding_idx) == (4, 2, 3)
    assert not frozen.weight.requires_grad
    assert np.shares_memory(frozen.weight.data, rows.data)
    assert nn.Embedding.from_pretrained(rows, freeze=False).weight.requires_grad


def test_dropout_is_at_work_in_training_only() -> None:
    manual_seed(0)
    layer, x = nn.Dropout(0.5), tensorgrad.ones(1000)
    out = layer(x).data
    assert set(out.tolist()) == {0.0, 2.0}
    assert 400 < np.count_nonzero(out) < 600
    np.testing.assert_array_equal(layer.eval()(x).data, x.data)


@pytest.mark.parametrize("dtype", [None, np.float64, np.float16])
def test_first_values(dtype: Any) -> None:
    """Uniform within +-1/sqrt(in_features), as torch says; the standard deviation of that is the bound over sqrt(3)."""
    manual_seed(1)
    layer = nn.Linear(400, 300, dtype=dtype, device="cpu")
    for p in layer.parameters():
        assert p.dtype == (dtype or np.float32)
        assert np.abs(p.data).max() <= 1 / 20
        assert p.data.astype(float).std() == pytest.approx(1 / 20 / math.sqrt(3), rel=0.1)
    rows = nn.Embedding(300, 400, dtype=dtype).weight.data.astype(float)
    assert rows.mean() == pytest.approx(0, abs=0.02)
    assert rows.std() == pytest.approx(1, rel=0.02)
    norm = nn.LayerNorm(3, dtype=dtype)
    np.testing.assert_array_equal([norm.weight.data, norm.bias.data], [np.ones(3), np.zeros(3)])
    assert norm.weight.dtype == (dtype or np.float32)


def test_the_seed_decides_the_first_values() -> None:
    found = []
    for seed in (3, 3, 4):
        manual_seed(seed)
        found.append(nn.Linear(5, 5).weight.data)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).all()


def test_the_default_dtype_is_that_of_parameters() -> None:
    tensorgrad.set_default_dtype(np.float64)
    try:
        assert nn.Linear(1, 1).weight.dtype == np.float64
    finally:
        tensorgrad.set_default_dtype(np.float32)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Linear(-1, 2), ValueError, "in_features is -1"),
        (lambda: nn.Linear(1.5, 2), TypeError, "in_features is a whole number"),
        (lambda: nn.Linear(1, 2, dtype=np.int64), TypeError, "parameters are floats"),
        (lambda: nn.Linear(1, 2, device="cuda"), RuntimeError, "Linear.*'cuda'"),
        (lambda: nn.Embedding(3, None), TypeError, "embedding_dim"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), IndexError, "padding_idx 3 is none of 3 rows"),
        (lambda: nn.Embedding.from_pretrained([[1.0]]), ValueError, "two axes"),
        (lambda: nn.LayerNorm((2, -1)), ValueError, "normalized_shape is -1"),
        (lambda: nn.Dropout(1.5), ValueError, "Dropout: the probability must be from 0 to 1, got 1.5"),
        (lambda: nn.Hardtanh(1, 1), ValueError, "max_val 1 is not above"),
        (lambda: nn.MSELoss(reduction="avg"), ValueError, "MSELoss: reduction.*'avg'"),
        (lambda: nn.CrossEntropyLoss(weight=[1.0]), TypeError, "'weight' must be a Tensor"),
        (lambda: nn.Softmax()(tensorgrad.ones(2)), ValueError, "along which axis"),
        (lambda: nn.Linear(2, 2)(tensorgrad.ones(3)), ValueError, "linear"),
    ],
)
def test_bad_arguments(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_layer_without_numbers() -> None:
    layer = nn.Linear(0, 3)
    np.testing.assert_array_equal(layer(tensorgrad.ones(2, 0)).data, np.zeros((2, 3)))
    nothing = nn.Linear(3, 0)
    out = nothing(tensorgrad.ones(2, 3, requires_grad=True))
    assert out.shape == (2, 0)
    out.sum().backward()
    assert nothing.weight.grad.shape == (0, 3)


def test_a_training_is_that_of_torch(torch: ModuleType) -> None:
    """A small classifier of sequences with all that belongs to a training loop, 30 steps in float64."""
    rng = np.random.default_rng(8)
    tokens, classes = rng.integers(0, 7, size=(12, 5)), rng.integers(0, 3, size=12)

    def losses(library: ModuleType, state: dict[str, np.ndarray]) -> list[float]:
        nn, optim = library.nn, library.optim
        net = nn.Sequential(
            nn.Embedding(7, 4), nn.LayerNorm(4), nn.Flatten(), nn.Linear(20, 8), nn.GELU(), nn.Linear(8, 3)
        )
        net.double().load_state_dict({name: library.tensor(x) for name, x in state.items()})
        decayed = [p for p in net.parameters() if p.ndim > 1]
        groups = [{"params": decayed}, {"params": [p for p in net.parameters() if p.ndim < 2], "weight_decay": 0.0}]
        optimizer = optim.AdamW(groups, lr=0.05, weight_decay=0.1)
        warmup = optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)
        cosine = optim.lr_scheduler.CosineAnnealingLR(optimizer, 25)
        scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[5])
        loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
        found = []
        for _ in range(30):
            loss = loss_of(net(library.tensor(tokens)), library.tensor(classes))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
            found.append(loss.item())
        return found

    shapes = {"0.weight": (7, 4), "1.weight": (4,), "1.bias": (4,), "3.weight": (8, 20), "3.bias": (8,)}
    shapes |= {"5.weight": (3, 8), "5.bias": (3,)}
    state = {name: rng.normal(size=shape) * 0.5 for name, shape in shapes.items()}
    ours = losses(tensorgrad, state)
    np.testing.assert_allclose(ours, losses(torch, state), rtol=1e-9)
    assert ours[-1] < ours[0] / 2
