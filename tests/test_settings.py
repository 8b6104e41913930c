"""Arguments that are one number: what they refuse, by name, and that NumPy's numbers do as Python's."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import tensorgrad as tg
import tensorgrad.nn.functional as F
from tensorgrad import nn, optim
from tensorgrad.errors import ShapeError
from tensorgrad.optim import lr_scheduler

X = tg.tensor([[0.5, -1.5, 2.0], [-0.1, 1.0, -3.0]])
Q = X.reshape(1, 2, 3)
C = tg.tensor([0, 2])


def _p() -> nn.Parameter:
    p = nn.Parameter(tg.ones(2, 3))
    p.grad = np.full((2, 3), 0.5, np.float32)
    return p


def _sgd(**settings) -> optim.SGD:
    return optim.SGD([_p()], **settings)


REAL = {
    # the operation and the argument's name: a call with that argument
    "softplus: beta": lambda v: F.softplus(X, v),
    "softplus: threshold": lambda v: F.softplus(X, 1.0, v),
    "hardtanh: min_val": lambda v: F.hardtanh(X, v, 9.0),
    "hardtanh: max_val": lambda v: F.hardtanh(X, -9.0, v),
    "leaky_relu: negative_slope": lambda v: F.leaky_relu(X, v),
    "elu: alpha": lambda v: F.elu(X, v),
    "dropout: the probability": lambda v: F.dropout(X, v),
    "scaled_dot_product_attention: the probability": lambda v: F.scaled_dot_product_attention(Q, Q, Q, dropout_p=v),
    "scaled_dot_product_attention: scale": lambda v: F.scaled_dot_product_attention(Q, Q, Q, scale=v),
    "isclose: rtol": lambda v: tg.isclose(X, X, v),
    "allclose: atol": lambda v: tg.allclose(X, X, 0.1, v),
    "layer_norm: eps": lambda v: F.layer_norm(X, (3,), eps=v),
    "rms_norm: eps": lambda v: F.rms_norm(X, (3,), eps=v),
    "normalize: eps": lambda v: F.normalize(X, eps=v),
    "cosine_similarity: eps": lambda v: F.cosine_similarity(X, X, eps=v),
    "smooth_l1_loss: beta": lambda v: F.smooth_l1_loss(X, X, beta=v),
    "huber_loss: delta": lambda v: F.huber_loss(X, X, delta=v),
    "cross_entropy: label_smoothing": lambda v: F.cross_entropy(X, C, label_smoothing=v),
    "var: correction": lambda v: tg.var(X, 1, correction=v),
    "std: correction": lambda v: tg.std(X, 1, correction=v),
    "addmm: beta": lambda v: tg.addmm(X, tg.eye(2), X, beta=v),
    "addmm: alpha": lambda v: tg.addmm(X, tg.eye(2), X, alpha=v),
    "pad: value": lambda v: F.pad(X, (1, 1), value=v),
    "nan_to_num: nan": lambda v: tg.nan_to_num(X, v),
    "nan_to_num: posinf": lambda v: tg.nan_to_num(X, posinf=v),
    "nan_to_num: neginf": lambda v: tg.nan_to_num(X, neginf=v),
    "LayerNorm: eps": lambda v: nn.LayerNorm(3, eps=v)(X),
    "RMSNorm: eps": lambda v: nn.RMSNorm(3, eps=v)(X),
    "Hardtanh: max_val": lambda v: nn.Hardtanh(-9.0, v)(X),
    "Dropout: the probability": lambda v: nn.Dropout(v)(X),
    "SGD: lr": lambda v: repr(_sgd(lr=v)),
    "SGD: momentum": lambda v: repr(_sgd(momentum=v)),
    "SGD: weight_decay": lambda v: repr(_sgd(weight_decay=v)),
    "Adam: lr": lambda v: repr(optim.Adam([_p()], lr=v)),
    "Adam: eps": lambda v: repr(optim.Adam([_p()], eps=v)),
    "AdamW: betas[0]": lambda v: repr(optim.AdamW([_p()], betas=(v, 0.9)).defaults["lr"]),
    "StepLR: gamma": lambda v: lr_scheduler.StepLR(_sgd(), 2, v).gamma,
    "MultiStepLR: gamma": lambda v: lr_scheduler.MultiStepLR(_sgd(), [2], v).gamma,
    "ExponentialLR: gamma": lambda v: lr_scheduler.ExponentialLR(_sgd(), v).gamma,
    "ConstantLR: factor": lambda v: lr_scheduler.ConstantLR(_sgd(), v).get_last_lr(),
    "LinearLR: start_factor": lambda v: lr_scheduler.LinearLR(_sgd(), v).get_last_lr(),
    "LinearLR: end_factor": lambda v: lr_scheduler.LinearLR(_sgd(), 0.1, v).end_factor,
    "CosineAnnealingLR: T_max": lambda v: lr_scheduler.CosineAnnealingLR(_sgd(), v).T_max,
    "CosineAnnealingLR: eta_min": lambda v: lr_scheduler.CosineAnnealingLR(_sgd(), 5, v).eta_min,
    "LambdaLR: what lr_lambda returns": lambda v: lr_scheduler.LambdaLR(_sgd(), lambda n: v).get_last_lr(),
    "ReduceLROnPlateau: factor": lambda v: lr_scheduler.ReduceLROnPlateau(_sgd(), factor=v).factor,
    "ReduceLROnPlateau: min_lr": lambda v: lr_scheduler.ReduceLROnPlateau(_sgd(), min_lr=[v]).min_lrs,
    "GradScaler: init_scale": lambda v: tg.amp.GradScaler(init_scale=v).get_scale(),
    "GradScaler: growth_factor": lambda v: tg.amp.GradScaler(growth_factor=v, enabled=False).get_growth_factor(),
    "GradScaler: backoff_factor": lambda v: tg.amp.GradScaler(backoff_factor=v).get_backoff_factor(),
    "clip_grad_norm_: max_norm": lambda v: nn.utils.clip_grad_norm_([_p()], v),
    "clip_grad_norm_: norm_type": lambda v: nn.utils.clip_grad_norm_([_p()], 0.1, v),
    "clip_grad_value_: clip_value": lambda v: nn.utils.clip_grad_value_([_p()], v),
    "constant_: val": lambda v: nn.init.constant_(_p(), v),
    "uniform_: a": lambda v: nn.init.uniform_(_p(), v).data.shape,
    "normal_: std": lambda v: nn.init.normal_(_p(), 0.0, v).data.shape,
    "trunc_normal_: mean": lambda v: nn.init.trunc_normal_(_p(), v).data.shape,
    "xavier_uniform_: gain": lambda v: nn.init.xavier_uniform_(_p(), v).data.shape,
    "orthogonal_: gain": lambda v: nn.init.orthogonal_(_p(), v).data.shape,
}
WHOLE = {
    "StepLR: step_size": lambda v: lr_scheduler.StepLR(_sgd(), v),
    "MultiStepLR: a milestone": lambda v: lr_scheduler.MultiStepLR(_sgd(), [1, v]),
    "ConstantLR: total_iters": lambda v: lr_scheduler.ConstantLR(_sgd(), 0.5, v),
    "LinearLR: total_iters": lambda v: lr_scheduler.LinearLR(_sgd(), 0.5, 1.0, v),
    "ReduceLROnPlateau: patience": lambda v: lr_scheduler.ReduceLROnPlateau(_sgd(), patience=v),
    "GradScaler: growth_interval": lambda v: tg.amp.GradScaler(growth_interval=v),
    "round: decimals": lambda v: tg.round(X, decimals=v),
    "one_hot: num_classes": lambda v: F.one_hot(C, v),
    "embedding: padding_idx": lambda v: F.embedding(C, tg.ones(3, 2), padding_idx=v),
    "cross_entropy: ignore_index": lambda v: F.cross_entropy(X, C, ignore_index=v),
    "nll_loss: ignore_index": lambda v: F.nll_loss(X, C, ignore_index=v),
    "topk: k": lambda v: tg.topk(X, v),
    "select: index": lambda v: tg.select(X, 0, v),
    "narrow: start": lambda v: tg.narrow(X, 1, v, 1),
    "narrow: length": lambda v: tg.narrow(X, 1, 0, v),
    "split: the length of a part": lambda v: tg.split(X, v),
    "chunk: chunks": lambda v: tg.chunk(X, v),
    "diag: diagonal": lambda v: tg.diag(X, v),
    "tril: the diagonal": lambda v: tg.tril(X, v),
    "diagonal: the diagonal": lambda v: tg.diagonal(X, v),
    "Linear: in_features": lambda v: nn.Linear(v, 2),
    "Embedding: embedding_dim": lambda v: nn.Embedding(2, v),
}
NONE_IS_DEFAULT = re.compile(r"scale$|correction|value|nan_to_num|rms_norm|RMSNorm|padding_idx")

NO_NUMBER = {
    "string": ("0.5", "got '0.5'"),
    "complex": (1j, "got 1j"),
    "dict": ({}, "got a dict"),
    "two numbers": (np.ones(2), "got an array of shape (2,), float64"),
    "tensor": (tg.ones(2, 2), "got a tensor of shape (2, 2), float32"),
    "torch's": (torch.ones(2), "got a torch.Tensor"),
    "date": (np.datetime64("2020-01-01"), "got a numpy.datetime64"),
    "None": (None, "got None"),
}


@pytest.mark.parametrize("what", NO_NUMBER)
@pytest.mark.parametrize("where", {**REAL, **WHOLE})
def test_what_is_no_number_is_named(where: str, what: str):
    value, words = NO_NUMBER[what]
    if value is None and NONE_IS_DEFAULT.search(where):
        return
    kind = "is a number" if where in REAL else "is a whole number"
    with pytest.raises(TypeError, match="^" + re.escape(f"{where} {kind}, {words}")):
        {**REAL, **WHOLE}[where](value)


@pytest.mark.parametrize("where", WHOLE)
def test_a_fraction_is_no_whole_number(where: str):
    with pytest.raises(TypeError, match=re.escape(f"{where} is a whole number, got 1.5")):
        WHOLE[where](1.5)


def _all_close(found, expected) -> None:
    if not isinstance(found, tg.Tensor):
        assert found == expected
        return
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.data, expected.data)


@pytest.mark.parametrize("where", [where for where in REAL if not re.search("ropout|probability|^SGD|^Adam", where)])
def test_numbers_of_numpy_and_single_tensors_do_as_pythons(where: str):
    call = REAL[where]
    expected = call(0.5)
    for same in (np.float64(0.5), np.array(0.5), np.array([0.5], np.float32), tg.tensor(0.5)):
        _all_close(call(same), expected)


def test_a_number_that_requires_a_gradient_is_refused_and_not_cut_off():
    slope = tg.tensor(0.1, requires_grad=True)
    with pytest.raises(TypeError, match=r"leaky_relu: negative_slope is a plain number, which gets no gradient.*item"):
        F.leaky_relu(X, slope)


def test_an_optimizer_keeps_the_tensor_that_is_its_lr():
    lr = tg.tensor(0.5)
    optimizer = _sgd(lr=lr)
    lr.fill_(2.0)
    optimizer.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert optimizer.param_groups[0]["params"][0].tolist() == [[0.0] * 3] * 2


def test_nan_is_no_tolerance_and_no_limit():
    nan = float("nan")
    for call in (
        lambda: tg.allclose(X, X, nan),
        lambda: F.huber_loss(X, X, delta=nan),
        lambda: F.smooth_l1_loss(X, X, beta=nan),
        lambda: F.dropout(X, nan),
        lambda: F.cross_entropy(X, C, label_smoothing=nan),
        lambda: nn.Hardtanh(nan, 1.0),
    ):
        with pytest.raises(ValueError, match="nan"):
            call()


def test_axes_given_as_something_else():
    for call in (X.sum, X.unsqueeze, lambda v: tg.softmax(X, v), lambda v: tg.cat([X], v)):
        for value in (tg.ones(2), tg.tensor([0, 1]), np.array([0, 1]), "0", 0.5):
            with pytest.raises(TypeError, match=r"^\w+: an axis is a whole number, got"):
                call(value)


def test_lengths_beyond_all_memory():
    for call in (
        lambda n: tg.zeros(n),
        lambda n: tg.ones(2, n),
        lambda n: tg.rand(n),
        lambda n: tg.full((n,), 1.0),
        lambda n: tg.eye(n),
        lambda n: tg.randperm(n),
        lambda n: tg.linspace(0, 1, n),
        lambda n: X.repeat(n, 1),
    ):
        with pytest.raises(ValueError, match=r"^\w+: .*no array is so long"):
            call(10**30)
        with pytest.raises(ValueError, match=r"^\w+: .* is a number of [\d,]+ bits: no array is so long"):
            call(10**5_000)  # more digits than Python writes
    with pytest.raises(ShapeError, match="reshape"):
        X.reshape(10**18)
