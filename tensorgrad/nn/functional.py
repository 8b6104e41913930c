"""Functions that networks are made of."""

from tensorgrad.ops.elementwise import relu, sigmoid, tanh

__all__ = ["relu", "sigmoid", "tanh"]
