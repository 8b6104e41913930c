"""One array in the graph: its storage, how an operation is recorded, and the gate that contributions pass.

The operations themselves are in `ops`; `tensor.Tensor` adds them as methods. Three things are known here and nowhere
else: when an operation is recorded (`record`), what form a gradient has (`ArrayNode.grad` and `_gate`), and how
broadcasting is undone (`unbroadcast`).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from micrograd.backprop import Node
from tensorgrad import checks, lift
from tensorgrad.dtypes import default_dtype, is_differentiable, rank, scalar_dtype, sum_dtype
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.grad_mode import _mode

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

Rule = Callable[[np.ndarray], np.ndarray]
"""From the gradient of a result to the contribution for one operand (a vector-Jacobian product)."""

quiet = np.errstate(divide="ignore", over="ignore", invalid="ignore")
"""Decorates what computes, forward and backward: inf and nan are answers here, as in torch, and NumPy does not warn."""


class ArrayNode(Node):
    """The fields of a Tensor: `data`, `grad`, `_prev`, `_op`, `label`, `requires_grad`.

    data           a NumPy array
    grad           None until a contribution arrives, then an array of data's shape and dtype, always
    requires_grad  whether gradients flow here; false makes the node a constant
    """

    __slots__ = ("_data", "_grad", "_prev", "_op", "_rules", "_requires_grad", "__dict__", "__weakref__")

    _result_class: ClassVar[type[ArrayNode]]
    """What operations return: Tensor. (tensor.py sets it: its methods are built from functions that need it.)"""

    # -- fields ----------------------------------------------------------------------------------------------------

    data = property(attrgetter("_data"))
    grad = property(attrgetter("_grad"))
    requires_grad = property(attrgetter("_requires_grad"))

    @data.setter
    def data(self, value: Any) -> None:
        before = self._data
        if type(value) is not np.ndarray:
            value = as_array(value, before.dtype)
        if value.dtype != before.dtype:
            rank(value.dtype)  # refuses strings, dates and records
            if self._requires_grad and not is_differentiable(value.dtype):
                raise DtypeError(f"data of {value.dtype} for {describe(self)}, which requires a gradient: use floats")
        if self._grad is not None and value.shape != self._grad.shape:
            raise ShapeError(
                f"data of shape {value.shape} for {describe(self)}, which holds a gradient of shape "
                f"{self._grad.shape}: set grad to None first"
            )
        self._data = value

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self._grad = None
            return
        data = self._data
        if type(value) is not np.ndarray:
            value = as_array(value, data.dtype)
        if value.shape != data.shape:
            raise ShapeError(f"a gradient of shape {value.shape} for {describe(self)}: the shapes must be equal")
        self._grad = value if value.dtype == data.dtype else as_array(value, data.dtype)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and not is_differentiable(self._data.dtype):
            raise DtypeError(
                f"only floating-point tensors can require gradients, this one is {self._data.dtype}: "
                "make it from floats, e.g. Tensor(data, dtype=np.float32, requires_grad=True)"
            )
        if not value and self._prev:
            raise RuntimeError(
                f"{describe(self)} is the result of an operation, so it cannot stop requiring a gradient: "
                "use .detach() for a constant with its values"
            )
        if value and not self._requires_grad and not self._prev and lift.active():
            self._data = lift.leaves(self._data)
        self._requires_grad = bool(value)

    # -- the contract of micrograd.backprop ------------------------------------------------------------------------

    @quiet
    def _vjp(self) -> list[tuple[Node, np.ndarray]]:
        g = self._grad
        if self._rules is None:
            self._warn_no_rule()
            return []
        if checks.enabled():
            checks.gradient(self)
        return [
            (parent, _gate(self, parent, rule(g)))
            for parent, rule in zip(self._prev, self._rules, strict=True)
            if rule is not None
        ]

    def _zeros(self) -> np.ndarray:
        return np.zeros_like(self._data)

    def _accept(self, parent: ArrayNode, sent: np.ndarray) -> np.ndarray:
        return _gate(self, parent, sent)


def new(data: np.ndarray, op: str = "", parents: tuple = (), rules: tuple = (), tracked: bool = False) -> Tensor:
    """A Tensor that holds `data` itself, not a copy."""
    out = object.__new__(ArrayNode._result_class)
    out._data = data
    out._grad = None
    out._prev = parents
    out._op = op
    out._rules = rules
    out._requires_grad = tracked
    return out


def record(op: str, data: Any, *edges: tuple[ArrayNode, Rule]) -> Tensor:
    """The result of an operation: `data`, made from the operands in `edges`, each with its rule.

    It is part of the graph if grad mode is on and any operand requires a gradient; otherwise it is a constant that
    remembers nothing. A rule must not hold the result itself (its array is fine), or graphs become reference cycles.
    """
    if type(data) is not np.ndarray:  # NumPy answers with bare numbers where all operands are 0-d
        data = np.asarray(data)
    tracked = False
    if _mode.enabled:
        for operand, _ in edges:
            if operand._requires_grad:
                tracked = _check_differentiable(op, data.dtype)
                break
    if data.dtype.kind == "O":
        data = lift.own(op, data, [operand._data for operand, _ in edges], tracked)
    if not tracked:
        return new(data)
    return new(
        data,
        op,
        tuple([operand for operand, _ in edges]),
        tuple([rule if operand._requires_grad else None for operand, rule in edges]),
        True,
    )


def _check_differentiable(op: str, dtype: np.dtype) -> bool:
    """Whether a result of this dtype can take part; a complex one would lose the gradient without a sound."""
    if dtype.kind == "c":
        raise DtypeError(f"{op}: an operand requires a gradient and the result is complex, which has none here")
    return is_differentiable(dtype)


def _gate(node: ArrayNode, parent: ArrayNode, sent: Any) -> np.ndarray:
    """`sent` as a contribution to `parent`: an array of its shape and dtype, and a leaf's own, not shared."""
    if type(sent) is not np.ndarray:
        sent = np.asarray(sent)
    data = parent._data
    if checks.enabled():
        checks.contribution(node, parent, sent)
    if sent.shape != data.shape:
        try:
            sent = unbroadcast(sent, data.shape)
        except ValueError as error:
            raise ShapeError(f"{node._op}: {error}") from None
    if sent.dtype != data.dtype:
        sent = sent.astype(data.dtype)
    if not parent._prev and parent._grad is None:
        sent = sent.copy()  # rules may send their input on, or a view of it; a leaf's gradient is the user's to change
    return sent


def unbroadcast(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Sum `grad` over the axes along which an operand of `shape` was broadcast: from (4, 3) back to (3,), say.

    Raises ShapeError if `shape` does not broadcast to `grad.shape`.
    """
    extra = grad.ndim - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, grad.shape[extra:], strict=True)):
        raise ShapeError(f"a contribution of shape {grad.shape} cannot be summed to an operand of shape {shape}")
    axes = (*range(extra), *(extra + i for i, n in enumerate(shape) if n == 1 and grad.shape[extra + i] != 1))
    total = grad.sum(axis=axes, dtype=sum_dtype(grad.dtype))
    return np.asarray(total, dtype=grad.dtype).reshape(shape)


_SCALARS = (bool, int, float, complex)


# -- operands ----------------------------------------------------------------------------------------------------------


def operand(x: Any, op: str, beside: ArrayNode | None = None) -> Tensor:
    """`x` as an operand of `op`: a Tensor as it is; a number or an array as a constant.

    A Python scalar takes the dtype of the tensor `beside` it, by the rules in `dtypes`.
    """
    if isinstance(x, ArrayNode):
        return x
    dtype = scalar_dtype(x, beside._data.dtype) if beside is not None and type(x) in _SCALARS else None
    try:
        data = as_array(x, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{op}: {error}") from None
    return new(data)


@quiet
def as_array(x: Any, dtype: np.dtype | None = None, copy: bool = False) -> np.ndarray:
    """`x` (array, Tensor, number, or nested list of these) as an array; lists and Python numbers become float32.

    Raises TypeError for what is no number, ValueError for ragged lists.
    """
    if isinstance(x, ArrayNode):
        x = x._data
    if isinstance(x, Node) or (isinstance(x, np.ndarray) and x.dtype == object):
        return _from_objects(x)
    if isinstance(x, (np.ndarray, np.generic)):
        rank(x.dtype)  # refuses strings, dates and records
        return np.array(x, dtype=dtype, copy=True if copy else None)
    if isinstance(x, _SCALARS):
        try:
            return np.array(x, dtype=dtype or (np.complex64 if isinstance(x, complex) else default_dtype))
        except OverflowError as error:
            raise OverflowError(f"{error}: the number does not fit into {dtype or default_dtype}") from None
    if isinstance(x, (list, tuple, range)):
        return _from_list(x, dtype)
    hint = f": write float({x!r}) if it holds a number" if isinstance(x, str) else ""
    raise TypeError(f"a Tensor is made from numbers, arrays or nested lists of them, got {_kind(x)}{hint}")


def _from_list(x: list | tuple, dtype: np.dtype | None) -> np.ndarray:
    try:
        found = np.array(lift.plain_list(x))
    except RecursionError:
        raise ValueError("the nested lists are too deep, or hold themselves") from None
    except ValueError as error:
        if "inhomogeneous" not in str(error):  # more axes than NumPy has
            raise
        raise ValueError("the nested lists are ragged: every row needs the same length") from None
    if found.dtype == object:
        return _from_objects(found)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"a Tensor is made from numbers; the list holds {found.dtype} data, e.g. {found.flat[0]!r}")
    return found.astype(dtype or (found.dtype if found.dtype.kind == "c" else default_dtype))


def _from_objects(x: Any) -> np.ndarray:
    """Scalar nodes, in a lift; anywhere else an error that says what the objects are."""
    found = np.asarray(x, dtype=object)
    odd = [element for element in found.flat if not isinstance(element, _SCALARS)]
    if lift.active() or (odd and isinstance(odd[0], Node)):
        return lift.constant(found)
    what = _kind(odd[0]) if odd else "Python's own numbers, perhaps too large for NumPy's integers"
    raise TypeError(f"a Tensor is made from numbers; this holds {what}: convert it, e.g. .astype(np.float32)")


def _kind(x: Any) -> str:
    return "None" if x is None else f"a {type(x).__name__}"


def describe(x: ArrayNode) -> str:
    """A short name for messages: label or operation, shape, dtype."""
    what = x.label or (f"the result of {x._op!r}" if x._op else "a tensor")
    return f"{what} of shape {x._data.shape}, {x._data.dtype}"
