"""The layers of a GPT as NumPy would compute them if there were no engine: results go into arrays that the caller
made once, and what backward needs is left there by forward, as derivatives where these are as large.

Shapes: N = B T rows of tokens, C the width, H heads of D numbers, V the vocabulary. All float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from by_hand.tiles import shared, tiles

EPS = 1e-5
GELU, CUBE = math.sqrt(2 / math.pi), 0.044715


class LayerNorm:
    """Rows of mean 0 and variance 1, scaled and shifted (Ba et al. 2016)."""

    def __init__(self, rows: int, width: int) -> None:
        self.normal = np.empty((rows, width), np.float32)
        self.inverse = np.empty((rows, 1), np.float32)  # of the standard deviations
        self.out = np.empty((rows, width), np.float32)
        self.mean = np.full(width, 1 / width, np.float32)

    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """x (N, C) to (N, C)."""

        def work(pieces: Sequence[slice]) -> None:
            for s in pieces:
                normal = np.subtract(x[s], (x[s] @ self.mean)[:, None], self.normal[s])
                inverse = 1 / np.sqrt(np.vecdot(normal, normal) / x.shape[1] + np.float32(EPS))
                self.inverse[s, 0] = inverse
                normal *= inverse[:, None]
                out = np.multiply(normal, weight, self.out[s])
                out += bias

        shared(tiles(*x.shape), work)
        return self.out

    def backward(
        self,
        g: np.ndarray,
        weight: np.ndarray,
        weight_gradient: np.ndarray,
        bias_gradient: np.ndarray,
        stream: np.ndarray,
    ) -> None:
        """Add the gradient of x to `stream` (N, C); `g` (N, C) is written over."""

        def work(pieces: Sequence[slice]) -> tuple[np.ndarray, np.ndarray]:
            of_weight, of_bias = np.zeros((2, g.shape[1]), np.float32)
            for s in pieces:
                of_weight += np.einsum("ij,ij->j", g[s], self.normal[s])
                of_bias += np.add.reduce(g[s], 0)
                part = np.multiply(g[s], weight, g[s])
                along = np.vecdot(part, self.normal[s]) / g.shape[1]
                part -= (part @ self.mean)[:, None]
                part -= self.normal[s] * along[:, None]
                part *= self.inverse[s]
                stream[s] += part
            return of_weight, of_bias

        found = shared(tiles(*g.shape), work)
        np.sum([one[0] for one in found], 0, out=weight_gradient)
        np.sum([one[1] for one in found], 0, out=bias_gradient)


class Gelu:
    """x times a sigmoid-like gate (Hendrycks and Gimpel 2016, the tanh form), after a bias.

    With u = sqrt(2 / pi) (x + 0.044715 x**3) and h = (1 + tanh u) / 2, the result is x h and its derivative
    h + 2 x h (1 - h) u'.
    """

    def __init__(self, rows: int, width: int) -> None:
        self.out = np.empty((rows, width), np.float32)

    def forward(self, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """x (N, 4 C), without the bias, to (N, 4 C); x becomes the derivative."""

        def work(pieces: Sequence[slice]) -> None:
            rows = pieces[0].stop - pieces[0].start if pieces else 0
            gates, slopes = np.empty((2, rows, x.shape[1]), np.float32)
            for s in pieces:
                z, out = x[s], self.out[s]
                gate, slope = gates[: len(z)], slopes[: len(z)]
                z += bias
                np.multiply(z, z, gate)
                np.multiply(gate, 6 * GELU * CUBE, slope)
                slope += 2 * GELU  # 2 u'
                gate *= GELU * CUBE
                gate += GELU
                gate *= z
                np.tanh(gate, gate)
                gate *= 0.5
                gate += 0.5
                np.multiply(z, gate, out)
                np.subtract(1, gate, z)
                z *= slope
                z *= out
                z += gate

        shared(tiles(*x.shape), work)
        return self.out


class Attention:
    """Causal attention of several heads, on views of the rows that hold query, key and value side by side."""

    def __init__(self, batch: int, tokens: int, heads: int, width: int) -> None:
        self.shape = (batch, tokens, heads, width // heads)
        self.weights = np.empty((batch, heads, tokens, tokens), np.float32)
        self.out = np.empty((batch * tokens, width), np.float32)
        self.later = np.triu(np.full((tokens, tokens), -np.inf, np.float32), 1)
        self.ones = np.ones(tokens, np.float32)
        self.scale = np.float32(1 / math.sqrt(width // heads))

    def parts(self, rows: np.ndarray) -> list[np.ndarray]:
        """Views (B, H, T, D) of rows (N, n C), n of them."""
        B, T, H, D = self.shape
        return list(rows.reshape(B, T, -1, H, D).transpose(2, 0, 3, 1, 4))

    def pieces(self) -> list[slice]:
        """Of the batch or, where it is one sequence, of the heads."""
        B, _, H, _ = self.shape
        return [slice(i, i + 1) for i in range(B if B > 1 else H)]

    def cut(self, a: np.ndarray, s: slice) -> np.ndarray:
        return a[s] if self.shape[0] > 1 else a[:, s]

    def forward(self, qkv: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """qkv (N, 3 C), without the bias, to (N, C); it gets the bias, and queries are scaled."""
        q, k, v = self.parts(qkv)
        width = qkv.shape[1] // 3
        qkv += bias
        qkv[:, :width] *= self.scale
        (out,) = self.parts(self.out)

        def work(pieces: Sequence[slice]) -> None:
            for s in pieces:
                weights = np.matmul(self.cut(q, s), self.cut(k, s).mT, self.cut(self.weights, s))
                weights += self.later
                weights -= np.maximum.reduce(weights, -1, keepdims=True)
                np.exp(weights, weights)
                weights *= (1 / (weights @ self.ones))[..., None]
                np.matmul(weights, self.cut(v, s), self.cut(out, s))

        shared(self.pieces(), work)
        return self.out

    def backward(self, g: np.ndarray, qkv: np.ndarray, sent: np.ndarray) -> None:
        """From the gradient g (N, C) of the result to that of the rows of query, key and value, into sent (N, 3 C)."""
        q, k, v = self.parts(qkv)
        to_q, to_k, to_v = self.parts(sent)
        (g,), (out,) = self.parts(g), self.parts(self.out)

        def work(pieces: Sequence[slice]) -> None:
            for s in pieces:
                weights, part = self.cut(self.weights, s), self.cut(g, s)
                np.matmul(weights.mT, part, self.cut(to_v, s))
                slopes = np.matmul(part, self.cut(v, s).mT)
                slopes -= np.vecdot(part, self.cut(out, s))[..., None]
                slopes *= weights
                np.matmul(slopes.mT, self.cut(q, s), self.cut(to_k, s))
                slopes *= self.scale
                np.matmul(slopes, self.cut(k, s), self.cut(to_q, s))

        shared(self.pieces(), work)


def cross_entropy(scores: np.ndarray, targets: np.ndarray) -> float:
    """The mean of -log softmax at the targets (N,); scores (N, V) become its gradient."""
    count = len(scores)

    def work(pieces: Sequence[slice]) -> float:
        loss = 0.0
        for s in pieces:
            part, right = scores[s], (np.arange(s.stop - s.start), targets[s])
            part -= np.maximum.reduce(part, 1, keepdims=True)
            loss -= float(part[right].sum())
            np.exp(part, part)
            totals = np.add.reduce(part, 1)
            loss += float(np.log(totals).sum())
            part *= (1 / (count * totals))[:, None]
            part[right] -= np.float32(1 / count)
        return loss

    return sum(shared(tiles(*scores.shape), work)) / count
