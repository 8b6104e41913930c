"""Sums of products of arrays whose axes have names: what einsum, tensordot and inner come down to.

Every contraction of two arrays is one batched product of matrices, for which there are fast routines: the axes that
both have and the result keeps are the batch, those that both have and the result lacks are summed over, and the others
are the rows of one and the columns of the other. The gradient of a contraction is a contraction again: of the
result's gradient with the other arrays.

An axis' name is a letter, or a number for the axes that an ellipsis stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from math import prod

import numpy as np

from tensorgrad.dtypes import sum_dtype
from tensorgrad.sums import sum_over

Names = Sequence[str | int]


def contract(arrays: Sequence[np.ndarray], names: Sequence[Names], out: Names) -> np.ndarray:
    """The product of the arrays, summed over every name that is not in `out`; of float16, computed in float32.

    In one array no name stands twice, and a name has the same length everywhere. All of `out` is in `names`.
    """
    dtype = arrays[0].dtype
    run = sum_dtype(dtype) if dtype.kind == "f" else dtype
    work = [(a.astype(run, copy=False), tuple(n)) for a, n in zip(arrays, names, strict=True)]
    lengths = {name: length for a, n in work for name, length in zip(n, a.shape, strict=True)}
    while len(work) > 1:
        pair = next_pair([n for _, n in work], out, lengths)
        rest = [one for i, one in enumerate(work) if i not in pair]
        needed = set(out).union(*(n for _, n in rest))
        (a, of_a), (b, of_b) = (work[i] for i in pair)
        of_both = tuple(name for name in dict.fromkeys((*of_a, *of_b)) if name in needed)
        work = [*rest, (_product(a, of_a, b, of_b, of_both), of_both)]
    a, of_a = _summed(*work[0], out)
    return a.transpose([of_a.index(name) for name in out]).astype(dtype, copy=False)


def next_pair(names: Sequence[Names], out: Names, lengths: dict[str | int, int]) -> tuple[int, int]:
    """Which two to multiply first: those whose product takes the least room beyond what they themselves give free."""
    if len(names) == 2:
        return 0, 1

    def cost(pair: tuple[int, int]) -> int:
        i, j = pair
        needed = set(out).union(*(n for k, n in enumerate(names) if k not in pair))
        made = needed & {*names[i], *names[j]}
        return size(made) - size(names[i]) - size(names[j])

    def size(names: Iterable[str | int]) -> int:
        return prod(lengths[name] for name in names)

    return min(combinations(range(len(names)), 2), key=cost)


def rule(
    slot: int, arrays: Sequence[np.ndarray], names: Sequence[Names], out: Names
) -> Callable[[np.ndarray], np.ndarray]:
    """What a contraction sends to its array number `slot`. It holds the others, and not this one."""
    others = [a for i, a in enumerate(arrays) if i != slot]
    known = [out, *(n for i, n in enumerate(names) if i != slot)]
    shape, own = arrays[slot].shape, names[slot]
    found = [name for name in own if any(name in n for n in known)]
    # a name that only this array has was summed over: what comes back is the same along it
    wide = tuple(length if name in found else 1 for name, length in zip(own, shape, strict=True))
    return lambda g: np.broadcast_to(contract([g, *others], known, found).reshape(wide), shape)


def _product(a: np.ndarray, of_a: Names, b: np.ndarray, of_b: Names, out: Names) -> np.ndarray:
    """The contraction of two arrays, as a batched product of matrices."""
    a, of_a = _summed(a, of_a, {*of_b, *out})
    b, of_b = _summed(b, of_b, {*of_a, *out})
    batch = [name for name in of_a if name in of_b and name in out]
    inner = [name for name in of_a if name in of_b and name not in out]
    left = [name for name in of_a if name not in of_b]
    right = [name for name in of_b if name not in of_a]
    x, y = _grouped(a, of_a, batch, left, inner), _grouped(b, of_b, batch, inner, right)
    both = x @ y if inner else x * y
    lengths = dict(zip((*of_a, *of_b), (*a.shape, *b.shape), strict=True))
    made = [*batch, *left, *right]
    return both.reshape([lengths[name] for name in made]).transpose([made.index(name) for name in out])


def _summed(a: np.ndarray, names: Names, needed: Iterable[str | int]) -> tuple[np.ndarray, Names]:
    """`a` summed over the names that are not needed."""
    axes = tuple(i for i, name in enumerate(names) if name not in needed)
    if not axes:
        return a, names
    return sum_over(a, axes, dtype=a.dtype), tuple(name for name in names if name in needed)


def _grouped(a: np.ndarray, names: Names, *groups: Names) -> np.ndarray:
    """`a` with one axis for each group of names."""
    shape = [prod(a.shape[names.index(name)] for name in group) for group in groups]
    return a.transpose([names.index(name) for group in groups for name in group]).reshape(shape)
