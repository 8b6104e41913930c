"""Layers tanh(h @ w + b) with the mean of the squares of the last one's results as the loss, forward and backward, each
line one call of NumPy: as a function for any size, and for one size, where arrays are made once and written over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def step(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], x: np.ndarray
) -> tuple[float, list[np.ndarray], list[np.ndarray]]:
    """The loss for x (rows, in), and new arrays with the gradients of weights (in, out) and biases (out,)."""
    results = [x]
    for w, b in zip(weights, biases):
        out = results[-1] @ w
        out += b
        np.tanh(out, out)
        results.append(out)
    out = results.pop()
    flat = out.ravel()
    loss = float(np.dot(flat, flat)) / out.size
    g = out * np.float32(2 / out.size)
    weight_gradients, bias_gradients = [], []
    for w in reversed(weights):
        out *= out  # its value is not needed any more: the layer after it is done
        np.subtract(1, out, out)
        out *= g  # of what tanh was taken of
        before = results.pop()
        weight_gradients.append(before.T @ out)
        bias_gradients.append(np.add.reduce(out, 0))
        if results:
            g = out @ w.T
        out = before
    return loss, weight_gradients[::-1], bias_gradients[::-1]


class MLP:
    """All layers, for batches of one size.

    weights  each (in, out)
    biases   each (out,)
    rows     how many rows a batch has

    `step(x)` leaves the gradients in `weight_gradients` and `bias_gradients`, until the next step.
    """

    def __init__(self, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], rows: int) -> None:
        dtype = weights[0].dtype
        self.weights, self.biases = list(weights), list(biases)
        self.results = [np.empty((rows, w.shape[1]), dtype) for w in weights]
        self.weight_gradients = [np.empty_like(w) for w in weights]
        self.bias_gradients = [np.empty_like(b) for b in biases]
        self.slopes = [np.empty_like(h) for h in self.results]
        self.ones = np.ones(rows, dtype)

    def step(self, x: np.ndarray) -> float:
        """The loss for x (rows, in)."""
        h = x
        for w, b, out in zip(self.weights, self.biases, self.results):
            np.matmul(h, w, out)
            np.add(out, b, out)
            np.tanh(out, out)
            h = out
        flat = h.ravel()
        loss = float(np.dot(flat, flat)) / h.size
        inputs = [x, *self.results]
        g = np.multiply(h, 2 / h.size, self.slopes[-1])  # of the last layer's results
        for i in reversed(range(len(self.weights))):
            out = self.results[i]
            np.multiply(out, out, out)  # its value is not needed any more: the layer after it is done
            np.subtract(1, out, out)
            np.multiply(out, g, out)  # of what tanh was taken of
            np.matmul(inputs[i].T, out, self.weight_gradients[i])
            np.matmul(self.ones, out, self.bias_gradients[i])
            if i:
                g = np.matmul(out, self.weights[i].T, self.slopes[i - 1])
        return loss
