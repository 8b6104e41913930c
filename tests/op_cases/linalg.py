"""Products of matrices."""

from __future__ import annotations

import numpy as np

from op_cases.case import array

CASES = (
    array("matmul", lambda m, x, y: x @ y, ((2, 3), (3, 4)), ((1, 1), (1, 1))),
    array("matmul vector", lambda m, x, y: x @ y, ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2))),
    array("matmul batch", lambda m, x, y: x @ y, ((2, 4, 3), (2, 3, 2)), ((2, 1, 2, 3), (4, 3, 2))),
    array("matmul batch of one", lambda m, x, y: x @ y, ((5, 2, 3), (1, 3, 2))),
    array("matmul batch, matrix", lambda m, x, y: x @ y, ((2, 2, 4, 3), (3, 2)), ((4, 3), (2, 3, 2))),
    array("matmul batch, vector", lambda m, x, y: x @ y, ((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((2, 2, 4, 3), (3,))),
    array("matmul empty", lambda m, x, y: x @ y, ((0,), (0,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((0, 2, 3), (3, 2))),
    array("matmul itself", lambda m, x: x @ x, (3,), (2, 2), (2, 3, 3)),
    array("mm", lambda m, x, y: m.mm(x, y), ((2, 3), (3, 4)), ((0, 3), (3, 2))),
    array("bmm", lambda m, x, y: m.bmm(x, y), ((2, 4, 3), (2, 3, 2)), ((0, 2, 3), (0, 3, 1))),
    array("mv", lambda m, x, y: m.mv(x, y), ((2, 3), (3,)), ((2, 0), (0,))),
    array("dot", lambda m, x, y: m.dot(x, y), ((3,), (3,)), ((0,), (0,))),
    array("dot itself", lambda m, x: m.dot(x, x), (3,)),
    array("outer", lambda m, x, y: m.outer(x, y), ((2,), (3,)), ((0,), (3,)), ((1,), (1,))),
    array("outer itself", lambda m, x: m.outer(x, x), (3,)),
    array("inner", lambda m, x, y: m.inner(x, y), ((3,), (3,)), ((2, 3), (4, 3)), ((2, 4, 3), (3,)), ((2, 0), (3, 0))),
    array("inner number", lambda m, x, y: m.inner(x, y), ((), (2, 3)), ((2,), ())),
    array("addmm", lambda m, c, x, y: m.addmm(c, x, y), ((2, 4), (2, 3), (3, 4)), ((4,), (2, 0), (0, 4))),
    array("addmm scaled", lambda m, c, x, y: m.addmm(c, x, y, beta=0.5, alpha=-2), ((), (2, 3), (3, 1))),
    array("baddbmm", lambda m, c, x, y: m.baddbmm(c, x, y), ((4, 1), (2, 4, 3), (2, 3, 2)), ((), (0, 2, 1), (0, 1, 2))),
    array("baddbmm scaled", lambda m, c, x, y: m.baddbmm(c, x, y, beta=0.5, alpha=-2), ((), (1, 2, 3), (1, 3, 1))),
    array("cross", lambda m, x, y: m.cross(x, y, dim=-1), ((3,), (3,)), ((2, 3), (1, 3)), ((0, 3), (0, 3))),
    array("cross first axis", lambda m, x, y: m.cross(x, y, 0), ((3, 2), (3, 2)), ((3, 1, 2), (3, 4, 1))),
    array("cross itself", lambda m, x: m.cross(x, x * x, dim=-1), (3,), (2, 3)),
    array("kron", lambda m, x, y: m.kron(x, y), ((2,), (3,)), ((2, 3), (3, 2)), ((2, 1, 2), (3,)), ((), (2,))),
    array("cdist", lambda m, x, y: m.cdist(x, y), ((2, 3), (4, 3)), ((2, 1, 3), (2, 4, 3)), ((0, 3), (2, 3))),
    array("cdist p", lambda m, x, y: m.cdist(x, y, p=1.0), ((2, 3), (4, 3)), ((2, 4, 1), (3, 1))),
    array("trace", lambda m, x: m.trace(x), (3, 3), (2, 3), (4, 2), (0, 2)),
    array("tensordot", lambda m, x, y: m.tensordot(x, y, 2), ((4, 2, 3), (2, 3, 5)), ((2, 0), (2, 0))),
    array("tensordot of nothing", lambda m, x, y: m.tensordot(x, y, 0), ((2, 3), (4,)), ((), (2,))),
    array("tensordot pairs", lambda m, x, y: m.tensordot(x, y, ([-1, 0], [1, 2])), ((2, 4, 3), (5, 3, 2))),
    array("einsum matmul", lambda m, x, y: m.einsum("ij,jk->ik", x, y), ((2, 3), (3, 4)), ((2, 0), (0, 3))),
    array("einsum of one", lambda m, x: m.einsum("ij->j", x), (2, 3), (0, 3)),
    array("einsum transposed", lambda m, x: m.einsum("ba", x), (2, 3)),
    array("einsum diagonal", lambda m, x: m.einsum("iij->ij", x), (2, 2, 3)),
    array("einsum trace", lambda m, x: m.einsum("ii", x), (3, 3)),
    array("einsum heads", lambda m, q, k: m.einsum("bhqd,bhkd->bhqk", q, k), ((2, 2, 3, 4), (2, 2, 2, 4))),
    array("einsum ellipsis", lambda m, x, y: m.einsum("...i,ij->...j", x, y), ((2, 4, 3), (3, 2)), ((3,), (3, 2))),
    array("einsum three", lambda m, x, y, z: m.einsum("i,ij,j->", x, y, z), ((2,), (2, 3), (3,))),
    array("einsum four", lambda m, w, x, y, z: m.einsum("ij,jk,kl,l->i", w, x, y, z), ((2, 3), (3, 1), (1, 4), (4,))),
    array("einsum itself", lambda m, x: m.einsum("ij,kj->ik", x, x), (2, 3)),
    array("einsum left out", lambda m, x, y: m.einsum("ij,kl->l", x, y), ((2, 3), (1, 2))),
)  # fmt: skip

PLAIN = ()
"""Those whose results are constants: no gradient, integers or booleans mostly."""


def _cross(x: np.ndarray, y: np.ndarray, dim: int = -1) -> np.ndarray:
    (a, b, c), (d, e, f) = np.moveaxis(x, dim, 0), np.moveaxis(y, dim, 0)
    return np.stack((b * f - c * e, c * d - a * f, a * e - b * d), axis=dim)


NUMPY = {
    "mm": np.matmul,
    "bmm": np.matmul,
    "mv": np.matmul,
    "dot": np.dot,
    "outer": np.outer,
    "inner": np.inner,
    "addmm": lambda c, x, y, beta=1, alpha=1: beta * c + alpha * (x @ y),
    "baddbmm": lambda c, x, y, beta=1, alpha=1: beta * c + alpha * np.einsum("bnk,bkm->bnm", x, y),
    "cross": _cross,
    "kron": np.kron,
    "cdist": lambda x, y, p=2.0: (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p),
    "trace": np.trace,
    "tensordot": np.tensordot,
    "einsum": np.einsum,
}
"""For arrays: the forward value by NumPy's own functions."""
