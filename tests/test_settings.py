"""Arguments that are one number: what they refuse, by name, and that NumPy's numbers do as Python's."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import tensorgrad as tg
import tensorgrad.nn.functional as F
from tensorgrad import nn
from tensorgrad.errors import ShapeError

X = tg.tensor([[0.5, -1.5, 2.0], [-0.1, 1.0, -3.0]])
Q = X.reshape(1, 2, 3)
C = tg.tensor([0, 2])

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
}
WHOLE = {
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


@pytest.mark.parametrize("where", [where for where in REAL if "ropout" not in where and "probability" not in where])
def test_numbers_of_numpy_and_single_tensors_do_as_pythons(where: str):
    call = REAL[where]
    expected = call(0.5)
    for same in (np.float64(0.5), np.array(0.5), np.array([0.5], np.float32), tg.tensor(0.5)):
        _all_close(call(same), expected)


def test_a_number_that_requires_a_gradient_is_refused_and_not_cut_off():
    slope = tg.tensor(0.1, requires_grad=True)
    with pytest.raises(TypeError, match=r"leaky_relu: negative_slope is a plain number, which gets no gradient.*item"):
        F.leaky_relu(X, slope)


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
    with pytest.raises(ShapeError, match="reshape"):
        X.reshape(10**18)
