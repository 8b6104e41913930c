"""Operations that put elements into another shape, order or place: also joining, repeating, padding, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from op_cases.case import array


def _method(name: str, *arguments: Any, **named: Any) -> Any:
    """What torch has as a method only."""

    def call(m: Any, x: Any, *others: Any) -> Any:
        function = getattr(m, name) if isinstance(x, (np.ndarray, np.generic)) else getattr(type(x), name)
        return function(x, *others, *arguments, **named)

    return call


def _pad(*margins: int, **named: Any) -> Any:
    return lambda m, x: m.nn.functional.pad(x, margins, **named)


def _product(parts: Any) -> Any:
    """One result of several, each of which counts differently."""
    out = parts[0]
    for part in parts[1:]:
        out = out * part
    return out


CASES = (
    array("reshape", lambda m, x: m.reshape(x, (3, 2)), (6,), (2, 3), (1, 6, 1)),
    array("reshape -1", lambda m, x: m.reshape(x, (-1, 2)), (4,), (2, 3, 2), (0, 2)),
    array("reshape to no axes", lambda m, x: m.reshape(x, ()), (), (1,), (1, 1)),
    array("view", _method("view", -1, 2), (2, 2), (0, 2), torch=False),  # whose layouts have no other view
    array("view_as", lambda m, x, y: _method("view_as")(m, x * 1, y) * y, ((), (1, 1)), ((0, 2), (0,))),
    array("reshape_as", lambda m, x, y: _method("reshape_as")(m, x, y) * y, ((2, 3), (3, 2)), ((), (1,))),
    array("flatten", lambda m, x: m.flatten(x), (), (3,), (2, 3, 2), (2, 0)),
    array("ravel", lambda m, x: m.ravel(x), (), (3,), (2, 3), (2, 0)),
    array("flatten some", lambda m, x: m.flatten(x, 1), (2, 3), (2, 3, 2), (2, 0, 3)),
    array("flatten first", lambda m, x: m.flatten(x, 0, -2), (2, 3), (2, 3, 2)),
    array("unflatten", lambda m, x: m.unflatten(x, 1, (2, -1)), (3, 4), (2, 2, 3)),
    array("squeeze", lambda m, x: m.squeeze(x), (), (1,), (1, 3, 1), (2, 3), (1, 0)),
    array("squeeze one", lambda m, x: m.squeeze(x, -1), (3, 1), (1, 3), (1,)),
    array("squeeze two", lambda m, x: m.squeeze(x, (0, 1)), (1, 1, 3), (1, 3, 1)),
    array("unsqueeze", lambda m, x: m.unsqueeze(x, 0), (), (3,), (2, 3), (0,)),
    array("unsqueeze last", lambda m, x: m.unsqueeze(x, -1), (), (3,), (2, 3)),
    array("contiguous", lambda m, x: _method("contiguous")(m, x.T) * 2, (2, 3), (3, 1)),
    array("transpose", lambda m, x: m.transpose(x, 0, 1), (2, 3), (2, 3, 4), (0, 2)),
    array("transpose negative", lambda m, x: m.transpose(x, -1, -2), (2, 3), (2, 3, 4)),
    array("transpose none", lambda m, x: m.transpose(x, 0, 0), (2, 3), (3,)),
    array("swapaxes", lambda m, x: m.swapaxes(x, 0, -1), (2, 3), (2, 3, 4), (3,)),
    array("swapdims", lambda m, x: m.swapdims(x, 1, 0), (2, 3), (2, 3, 4)),
    array("permute", lambda m, x: m.permute(x, (2, 0, 1)), (2, 3, 4), (1, 0, 2)),
    array("permute negative", lambda m, x: m.permute(x, (1, -2)), (2, 3)),
    array("movedim", lambda m, x: m.movedim(x, 0, -1), (2, 3), (2, 3, 4), (3,)),
    array("movedim two", lambda m, x: m.movedim(x, (0, 1), (2, 0)), (2, 3, 4), (0, 2, 3)),
    array("moveaxis", lambda m, x: m.moveaxis(x, -1, 0), (2, 3), (2, 3, 4)),
    array("t", lambda m, x: m.t(x), (), (3,), (2, 3), (0, 2)),
    array("T", lambda m, x: x.T, (2, 3), (0, 2)),
    array("mT", lambda m, x: x.mT, (2, 3), (4, 2, 3), (2, 0, 2)),
    array("H", lambda m, x: m.H(x) if isinstance(x, np.ndarray) else x.H, (2, 3)),
    array("flip", lambda m, x: m.flip(x, (0,)), (3,), (2, 3), (0, 2)),
    array("flip two", lambda m, x: m.flip(x, (0, -1)), (2, 3), (2, 3, 2)),
    array("fliplr", lambda m, x: m.fliplr(x), (2, 3), (2, 3, 2)),
    array("flipud", lambda m, x: m.flipud(x), (3,), (2, 3)),
    array("roll", lambda m, x: m.roll(x, 2), (3,), (2, 3), (0,)),
    array("roll one", lambda m, x: m.roll(x, -1, 0), (3,), (3, 2), (0, 2)),
    array("roll two", lambda m, x: m.roll(x, (1, -5), (0, -1)), (2, 3), (3, 2, 2)),
    array("expand", _method("expand", 2, -1, 3), (4, 1), (2, 4, 1), (1, 3), (1, 0, 3)),
    array("expand number", _method("expand", (2, 3)), (), (1,), (3,), (2, 3)),
    array("expand to nothing", _method("expand", 0, 2), (2,), (1, 1)),
    array("expand_as", lambda m, x, y: _method("expand_as")(m, x, y) * y, ((3,), (2, 3)), ((), (2,)), ((2, 1), (2, 3))),
    array("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3)), (), (3,), (2, 1), (1, 3), (2, 3)),
    array("broadcast_tensors", lambda m, x, y: _product(m.broadcast_tensors(x, y)), ((2, 1), (3,)), ((), (2,))),
    array("repeat", _method("repeat", 2, 3), (), (2,), (2, 1), (2, 3), (0, 2)),
    array("repeat new axis", _method("repeat", 2, 1, 2), (2, 3), (3,)),
    array("repeat none", _method("repeat", 1, 1), (2, 3)),
    array("repeat nothing", _method("repeat", 0, 2), (2, 3)),
    array("tile", lambda m, x: m.tile(x, (2,)), (), (3,), (2, 3), (2, 0)),
    array("tile more", lambda m, x: m.tile(x, (2, 1, 3)), (2,), (2, 3)),
    array("repeat_interleave", lambda m, x: m.repeat_interleave(x, 2), (), (3,), (2, 3), (0,)),
    array("repeat_interleave one axis", lambda m, x: m.repeat_interleave(x, 2, -1), (3,), (2, 3), (2, 0)),
    array("repeat_interleave unequal", lambda m, x: m.repeat_interleave(x, m.tensor([2, 0, 1]), 0), (3,), (3, 2)),
    array("meshgrid", lambda m, x, y: _product(m.meshgrid(x, y, indexing="ij")), ((2,), (3,)), ((), (2,)), ((0,), ())),
    array("meshgrid xy", lambda m, x, y: _product(m.meshgrid(x, y, indexing="xy")), ((2,), (3,))),
    array("meshgrid xy three", lambda m, x, y, z: _product(m.meshgrid(x, y, z, indexing="xy")), ((2,), (3,), (2,))),
    array("cat", lambda m, x, y: m.cat((x, y)), ((2,), (3,)), ((2, 3), (1, 3)), ((0, 3), (2, 3)), ((0,), (0,))),
    array("cat last axis", lambda m, x, y: m.cat([x, y, x], -1), ((2,), (1,)), ((2, 2), (2, 1)), ((1, 0), (1, 3))),
    array("cat itself", lambda m, x: m.cat((x, x * 2, x), 0), (2,), (2, 3)),
    array("cat with nothing", lambda m, x, y: m.cat((x, y)), ((0,), (2, 3)), ((2, 3), (0,))),
    array("cat four", lambda m, w, x, y, z: m.cat((w, x, y, z), 1), ((2, 1), (2, 2), (2, 0), (2, 1))),
    array("concat", lambda m, x, y: m.concat((x, y), 1), ((2, 3), (2, 1))),
    array("concatenate", lambda m, x, y: m.concatenate((x, y), axis=0), ((2, 3), (1, 3))),
    array("stack", lambda m, x, y: m.stack((x, y)), ((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((0,), (0,))),
    array("stack second axis", lambda m, x, y: m.stack([x, y, x], 1), ((2,), (2,)), ((2, 3), (2, 3))),
    array("stack last axis", lambda m, x, y: m.stack([x, y], -1), ((2,), (2,)), ((2, 3), (2, 3))),
    array("hstack", lambda m, x, y: m.hstack((x, y)), ((), ()), ((2,), (3,)), ((2, 3), (2, 1))),
    array("vstack", lambda m, x, y: m.vstack((x, y)), ((), ()), ((3,), (3,)), ((3,), (2, 3))),
    array("dstack", lambda m, x, y: m.dstack((x, y)), ((3,), (3,)), ((2, 3), (2, 3)), ((2, 3, 1), (2, 3, 2))),
    array("split", lambda m, x: _product(m.split(x, 2)), (2,), (4,), (4, 3)),
    array("split last shorter", lambda m, x: m.split(x, 2, 1)[-1], (2, 3), (2, 5, 2)),
    array("split lengths", lambda m, x: m.split(x, [1, 0, 2], -1)[2], (3,), (2, 3)),
    array("split in order", lambda m, x: m.cat(m.split(x, [1, 2])[::-1]), (3,), (3, 2)),
    array("chunk", lambda m, x: _product(m.chunk(x, 3, -1)), (2, 3), (2, 6), (3,)),
    array("chunk fewer", lambda m, x: m.chunk(x, 4)[2], (5,), (5, 2)),
    array("unbind", lambda m, x: _product(m.unbind(x)), (1,), (3,), (3, 2), (2, 0)),
    array("unbind last axis", lambda m, x: _product(m.unbind(x, -1)), (2, 3), (2, 2, 3)),
    array("pad", _pad(1, 2), (3,), (2, 3), (0,)),
    array("pad two axes", _pad(0, 1, 2, 0, value=1.5), (2, 3), (2, 1, 3)),
    array("pad cut", _pad(-1, 2, 1, -1), (2, 3), (2, 3, 2)),
    array("pad reflect", _pad(2, 1, mode="reflect"), (2, 3), (2, 2, 3)),
    array("pad replicate", _pad(2, 1, mode="replicate"), (2, 3), (2, 2, 1)),
    array("pad circular", _pad(2, 1, mode="circular"), (2, 3), (2, 2, 2)),
    array("pad reflect two axes", _pad(1, 1, 1, 0, mode="reflect"), (2, 2, 3)),
    array("tril", lambda m, x: m.tril(x), (3, 3), (2, 3), (3, 2), (2, 3, 3), (0, 2)),
    array("tril above", lambda m, x: m.tril(x, 1), (3, 3), (2, 2, 4)),
    array("triu", lambda m, x: m.triu(x), (3, 3), (2, 3), (3, 2), (2, 3, 3), (2, 0)),
    array("triu below", lambda m, x: m.triu(x, diagonal=-1), (3, 3), (4, 2)),
    array("diagonal", lambda m, x: m.diagonal(x), (3, 3), (2, 3), (3, 2, 2), (0, 2)),
    array("diagonal below", lambda m, x: m.diagonal(x, -1), (3, 3), (3, 2, 2), (1, 2)),
    array("diagonal of a batch", lambda m, x: m.diagonal(x, 1, -2, -1), (2, 3, 3), (2, 2, 4)),
    array("diag", lambda m, x: m.diag(x), (3,), (1,), (0,), (3, 3), (2, 3)),
    array("diag above", lambda m, x: m.diag(x, 1), (2,), (3, 3), (1, 1)),
)  # fmt: skip

PLAIN = (array("repeat_interleave counts", lambda m, x: m.repeat_interleave(m.tensor([2, 0, 1])), ()),)
"""Those whose results are constants: no gradient, integers or booleans mostly."""


def _squeeze(x: np.ndarray, dim: Any = None) -> np.ndarray:
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, tuple) else (dim,)
    return x[tuple(0 if n == 1 and i in {d % x.ndim for d in dims} else slice(None) for i, n in enumerate(x.shape))]


def _expand(x: np.ndarray, *sizes: Any) -> np.ndarray:
    sizes = sizes[0] if isinstance(sizes[0], tuple) else sizes
    lengths = (1,) * (len(sizes) - x.ndim) + x.shape
    return x * np.ones([m if n == -1 else n for n, m in zip(sizes, lengths, strict=True)])


def _flatten(x: np.ndarray, start: int = 0, end: int = -1) -> np.ndarray:
    return x.reshape(*x.shape[:start], -1 if x.size else 0, *x.shape[end:][1:]) if x.ndim else x.reshape(1)


def _repeat_interleave(x: np.ndarray, repeats: Any = None, dim: int | None = None) -> np.ndarray:
    return np.repeat(np.arange(len(x)), x) if repeats is None else np.repeat(x, repeats, dim)


def _split(x: np.ndarray, size: Any, dim: int = 0) -> list[np.ndarray]:
    ends = np.cumsum(size)[:-1] if isinstance(size, list) else range(size, x.shape[dim], size)
    return np.split(x, ends, dim)


def _chunk(x: np.ndarray, chunks: int, dim: int = 0) -> list[np.ndarray]:
    return _split(x, -(-x.shape[dim] // chunks), dim)


def _cat(arrays: Any, dim: int = 0) -> np.ndarray:
    return np.concatenate([a for a in arrays if a.shape != (0,)] or arrays, dim)


def _torch_pad(x: np.ndarray, pad: Any, mode: str = "constant", value: float = 0) -> np.ndarray:
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    options = {"constant_values": value} if mode == "constant" else {}
    mode = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    out = np.pad(x, [(max(i, 0), max(j, 0)) for i, j in widths], mode, **options)
    return out[tuple(slice(max(-i, 0), n - max(-j, 0)) for n, (i, j) in zip(out.shape, widths, strict=True))]


NUMPY = {
    "reshape": np.reshape,
    "view": lambda x, *shape: np.reshape(x, shape),
    "view_as": lambda x, y: np.reshape(x, y.shape),
    "reshape_as": lambda x, y: np.reshape(x, y.shape),
    "flatten": _flatten,
    "ravel": np.ravel,
    "unflatten": lambda x, dim, sizes: x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :]),
    "squeeze": _squeeze,
    "unsqueeze": np.expand_dims,
    "contiguous": lambda x: x,
    "transpose": np.swapaxes,
    "swapaxes": np.swapaxes,
    "swapdims": np.swapaxes,
    "permute": np.transpose,
    "movedim": np.moveaxis,
    "moveaxis": np.moveaxis,
    "t": np.transpose,
    "H": np.transpose,
    "flip": np.flip,
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "roll": np.roll,
    "expand": _expand,
    "expand_as": lambda x, y: x * np.ones(y.shape),
    "broadcast_to": np.broadcast_to,
    "broadcast_tensors": np.broadcast_arrays,
    "repeat": lambda x, *times: np.tile(x, times),
    "tile": np.tile,
    "repeat_interleave": _repeat_interleave,
    "meshgrid": np.meshgrid,
    "cat": _cat,
    "concat": _cat,
    "concatenate": np.concatenate,
    "stack": np.stack,
    "hstack": np.hstack,
    "vstack": np.vstack,
    "dstack": np.dstack,
    "split": _split,
    "chunk": _chunk,
    "unbind": lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
    "pad": _torch_pad,
    "tril": np.tril,
    "triu": lambda x, diagonal=0: np.triu(x, diagonal),
    "diagonal": np.diagonal,
    "diag": np.diag,
}
"""For arrays: the forward value by NumPy's own functions."""
