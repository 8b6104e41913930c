"""Putting back what a program changes that runs only to be looked at."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tensorgrad import Tensor


@contextmanager
def leaves_kept() -> Iterator[None]:
    """After the `with`, every leaf that requires a gradient has the data and the gradient that it had before.

    A program reaches its parameters as it likes, through globals, closures and objects of any kind, so all leaves
    that exist are kept: Python's collector knows them.
    """
    leaves = [x for x in gc.get_objects() if issubclass(type(x), Tensor) and x.requires_grad and not x._prev]
    kept = [(leaf, leaf._data, leaf._data.copy(), leaf._grad, _copy(leaf._grad)) for leaf in leaves]
    try:
        yield
    finally:
        for leaf, data, numbers, grad, grad_numbers in kept:
            leaf._data, leaf._grad = data, grad
            _restore(data, numbers)
            _restore(grad, grad_numbers)


def _copy(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else array.copy()


def _restore(array: np.ndarray | None, numbers: np.ndarray | None) -> None:
    if array is not None and not np.array_equal(array, numbers, equal_nan=True):  # it may be read-only, if unchanged
        array[...] = numbers
