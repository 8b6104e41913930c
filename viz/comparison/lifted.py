"""One program on both engines: run on Tensors, and again lifted onto Values, the two graphs side by side."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from micrograd import Value
from micrograd.backprop import topological_order
from tensorgrad import Tensor, get_rng_state, lift, set_rng_state
from viz.comparison.alignment import check_same, without_idle_casts
from viz.comparison.estimate import check_size
from viz.errors import UserError

MOST_SCALARS = 1_000_000

Program = Callable[..., Tensor]


@dataclass(frozen=True)
class Pair:
    """A graph of Tensors, and the graph of Values that computes the same.

    tensors      every node of the tensor graph, parents before children; the root is last
    elements     for each of them its scalar nodes, an array of the same shape; of a constant, an array of numbers
    leaves       the leaves that take gradients and that exist outside of the program: it does not make them itself
    seed         the gradient that the root starts with
    scalar_root  the Value to start from: the root's element, or the sum of its elements weighted with the seed
    """

    tensors: tuple[Tensor, ...]
    elements: tuple[np.ndarray, ...]
    leaves: tuple[Tensor, ...]
    seed: np.ndarray
    scalar_root: Value

    @property
    def tensor_root(self) -> Tensor:
        return self.tensors[-1]

    @property
    def scalar_seed(self) -> float:
        """The gradient that `scalar_root` starts with: the weights of a weighted sum hold the seed already."""
        return float(self.seed.item()) if self.scalar_root is _only(self.elements[-1]) else 1.0


class Repeatable:
    """A program with its operands, that finds the random generators of Python, NumPy and tensorgrad in one state at
    every call."""

    def __init__(self, program: Program, operands: Sequence[Any]) -> None:
        self.program = program
        self.operands = tuple(operands)
        self._python = random.getstate()
        self._numpy = np.random.get_state()
        self._tensorgrad = get_rng_state()

    def __call__(self) -> Any:
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        set_rng_state(self._tensorgrad)
        return self.program(*self.operands)


def run_on_both(run: Repeatable, gradient: Any = None, *, most: int = MOST_SCALARS) -> Pair:
    """Run a program on Tensors, then on Values. All data is put back.

    In the second run every leaf of the first run's graph that takes a gradient, operand or parameter, holds Values.

    gradient  the root's gradient, as for `backward`; a single number stands for every element
    most      how many scalar nodes there may be

    Raises UserError where the program returns no Tensor that requires a gradient, needs a `gradient` that is not
    given, cannot run on Values, or builds another graph the second time; TooLargeError over the limit.
    """
    root = _run_on_tensors(run)
    seed = seed_of(root, gradient)
    tensors = tuple(topological_order(root))
    check_size(tensors, most)
    leaves = [t for t in tensors if not t._prev and t.requires_grad]
    with _lifted(leaves):
        lifted, stands_for = without_idle_casts(tensors, topological_order(_run_lifted(run)))
        elements = tuple(t.data for t in lifted)
        check_same(tensors, lifted, stands_for)
    again = set(lifted)
    outside = tuple(t for t in leaves if t in again)
    return Pair(tensors, elements, outside, seed, scalar_root(elements[-1], seed))


def _run_on_tensors(run: Repeatable) -> Tensor:
    try:
        return check_result(run())
    except TypeError as error:
        if "does not support ufuncs" not in str(error):
            raise
        raise UserError(
            "compare: the program calls a function of NumPy's on a Tensor, which takes none of them: use tensorgrad's, "
            "e.g. x.exp() or tensorgrad.exp(x) for np.exp(x)"
        ) from error


def check_result(root: Any) -> Tensor:
    """`root`, if it is a Tensor that a backward pass can start from. Raises UserError if not."""
    if not isinstance(root, Tensor):
        hint = ": return one of them" if isinstance(root, (list, tuple)) else ""
        raise UserError(f"compare: the program must return one Tensor, got a {type(root).__name__}{hint}")
    if not root.requires_grad:
        raise UserError(
            "compare: the program's result requires no gradient, so there is nothing to compare: give it an operand "
            "that requires one, and look for detach(), no_grad() and .data on the way"
        )
    return root


def seed_of(root: Tensor, gradient: Any = None) -> np.ndarray:
    """The gradient to start from; a single number stands for every element. Raises UserError as `backward` does."""
    if isinstance(gradient, (int, float)):
        gradient = np.full(root.shape, gradient, dtype=root.dtype)
    try:
        return root._seed(gradient)
    except (RuntimeError, TypeError, ValueError) as error:
        raise UserError(str(error).replace("backward:", "compare:", 1)) from error


def scalar_root(elements: np.ndarray, seed: np.ndarray) -> Value:
    """One Value from which one pass gives all of `elements` the gradients in `seed`."""
    only = _only(elements)
    if only is not None:
        return only
    weights = tuple(seed.ravel().tolist())
    nodes = tuple(elements.flat)
    total = sum(w * node.data for w, node in zip(weights, nodes, strict=True))
    return Value(total, nodes, "weighted sum", local=weights)


def _only(elements: np.ndarray) -> Value | None:
    return elements.item() if elements.size == 1 else None


# -- the second run ----------------------------------------------------------------------------------------------------


def _constant(number: float) -> Value:
    node = Value(number)
    node.requires_grad = False
    return node


def _copy(node: Value, op: str) -> Value:
    return Value(node.data, (node,), op, local=(1.0,))


def _function(node: Value, op: str, number: float, slope: float) -> Value:
    return Value(number, (node,), op, local=(slope,))


_LIFTER = lift.Lifter(leaf=Value, constant=_constant, copy=_copy, function=_function)


@contextmanager
def _lifted(leaves: Sequence[Tensor]) -> Iterator[None]:
    """Values in the place of the leaves' numbers, inside the `with`."""
    kept = [leaf._data for leaf in leaves]
    try:
        with lift.lifting(_LIFTER):
            for leaf, data in zip(leaves, kept, strict=True):
                leaf._data = lift.leaves(data)
            yield
    finally:
        for leaf, data in zip(leaves, kept, strict=True):
            leaf._data = data


def _run_lifted(run: Repeatable) -> Tensor:
    try:
        with np.errstate(all="ignore"):  # the first run has warned already, and on objects NumPy warns of nothing much
            return check_result(run())
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"compare: {_why_not_on_values(error)}") from error


def _why_not_on_values(error: Exception) -> str:
    # NumPy asks the Values for a method of the function's name, for some functions not even that
    missing = re.search(r"no callable (?P<name>\w+) method|ufunc '(?P<ufunc>\w+)' not supported", str(error))
    if missing:
        return (
            f"{missing['name'] or missing['ufunc']} cannot run on Values: an operation that is compared computes "
            "with + - * / **, abs, exp, log, sqrt, sin, cos and tanh"
        )
    return (
        f"the program runs on Tensors but not on Values ({type(error).__name__}: {error}); use tensorgrad's "
        "operations, .item() for a number, and .detach() for a constant"
    )
