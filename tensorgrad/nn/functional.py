"""Functions that networks are made of."""

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.nn.in_place import elu, hardtanh, leaky_relu, relu, relu6, silu
from tensorgrad.ops.activations import gelu, logsigmoid, sigmoid, softplus
from tensorgrad.ops.attention import scaled_dot_product_attention
from tensorgrad.ops.cross_entropy import cross_entropy, nll_loss
from tensorgrad.ops.dropout import dropout
from tensorgrad.ops.embedding import embedding, one_hot
from tensorgrad.ops.functions import tanh
from tensorgrad.ops.linear import linear
from tensorgrad.ops.linear_cross_entropy import linear_cross_entropy
from tensorgrad.ops.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from tensorgrad.ops.normalization import cosine_similarity, layer_norm, normalize, rms_norm
from tensorgrad.ops.padding import pad
from tensorgrad.ops.softmax import log_softmax, softmax

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "hardtanh",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "linear_cross_entropy",
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "relu",
    "relu6",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
]

if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
