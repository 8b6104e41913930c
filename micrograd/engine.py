"""`Value`: one number a node. Each operation stands in one place, its value and its local derivatives together.

Arithmetic follows IEEE 754, as in NumPy and torch: what Python's floats would answer with ZeroDivisionError,
OverflowError, ValueError or a complex number is inf or nan here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Complex, Real
from typing import Any, SupportsFloat

from micrograd.backprop import Node, chain_rule, deliver
from micrograd.branches import compared
from micrograd.ieee import cos, divide, exp, log, power, sigmoid, sign, sin, sqrt
from micrograd.observing import made, observers
from micrograd.scopes import current_scope, open_scopes

_NOT_REACHED = float("0")
"""What `grad` holds before a contribution arrives: 0.0 to every reader, and told from a computed 0.0 by identity."""

Number = SupportsFloat


class _Blocked(float):
    """A local derivative of 0 through which nothing passes: 0 times any gradient, where 0.0 times inf is nan.

    torch's relu selects and does not multiply, and its x**0 is a constant; so are these.
    """

    def __mul__(self, gradient: float) -> float:
        return 0.0


_BLOCKED = _Blocked(0.0)


class Value(Node):
    """One number, the operation that made it, and the gradient of a root with respect to it.

    data   a Python float; anything that is one number is converted on entry (int, bool, NumPy scalar, Fraction)
    grad   a Python float, 0.0 until a backward pass reaches the node
    label  a name for pictures

    Raises TypeError for an array, a string, a Tensor, another Value, or None.
    """

    __slots__ = ("data", "grad", "_prev", "_op", "_local", "_scope", "__dict__", "__weakref__")

    _zero = _NOT_REACHED

    def __init__(
        self,
        data: Number,
        _children: Iterable[Value] = (),
        _op: str = "",
        label: str = "",
        *,
        local: tuple[float, ...] | None = None,
    ) -> None:
        self.data = data if type(data) is float else _to_float(data)
        self.grad = _NOT_REACHED
        self._prev = _children if type(_children) is tuple else tuple(_children)
        self._op = _op
        self._local = local
        if local is None and self._prev:
            _check_operands(self._prev)
        if label:
            self.label = label
        self._scope = None
        if open_scopes:
            self._scope = current_scope()
            if observers:
                made(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._grad = cls.grad  # type: ignore[method-assign]  # which may be a property of its own

    def __getstate__(self) -> Any:
        fields, slots = super().__getstate__()
        return fields, {**slots, "_scope": None}  # a copy was made nowhere

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def __add__(self, other: Value | Number) -> Value:
        other = other if isinstance(other, Value) else _constant(other)
        return _result(self.data + other.data, (self, other), "+", (1.0, 1.0))

    def __sub__(self, other: Value | Number) -> Value:
        other = other if isinstance(other, Value) else _constant(other)
        return _result(self.data - other.data, (self, other), "-", (1.0, -1.0))

    def __mul__(self, other: Value | Number) -> Value:
        other = other if isinstance(other, Value) else _constant(other)
        return _result(self.data * other.data, (self, other), "*", (other.data, self.data))

    def __truediv__(self, other: Value | Number) -> Value:
        other = other if isinstance(other, Value) else _constant(other)
        out = divide(self.data, other.data)
        return _result(out, (self, other), "/", (divide(1.0, other.data), -divide(out, other.data)))

    def __pow__(self, other: Value | Number) -> Value:
        """`self ** other`. A number as the exponent is part of the operation, a Value is an operand."""
        if isinstance(other, Value):
            a, b = self.data, other.data
            out = power(a, b)
            return _result(out, (self, other), "**", (_power_slope(a, b), _exponent_slope(a, b, out)))
        n = _to_float(other)
        shown = other if type(other) in (int, float) else n  # a Fraction, a bool or a float32 as the number that it is
        return _result(power(self.data, n), (self,), f"**{shown}", (_power_slope(self.data, n),))

    def __neg__(self) -> Value:
        return _result(-self.data, (self,), "neg", (-1.0,))

    def __abs__(self) -> Value:
        return _result(abs(self.data), (self,), "abs", (sign(self.data),))

    def __radd__(self, other: Number) -> Value:
        return Value(other) + self

    def __rsub__(self, other: Number) -> Value:
        return Value(other) - self

    def __rmul__(self, other: Number) -> Value:
        return Value(other) * self

    def __rtruediv__(self, other: Number) -> Value:
        return Value(other) / self

    def __rpow__(self, other: Number) -> Value:
        return Value(other) ** self

    # -- functions -------------------------------------------------------------------------------------------------

    def relu(self) -> Value:
        """max(self, 0); at 0 the derivative is 0."""
        x = self.data  # compared so that nan stays nan
        return _result(0.0 if x <= 0.0 else x, (self,), "ReLU", (_BLOCKED if x <= 0.0 else 1.0,))

    def tanh(self) -> Value:
        """The hyperbolic tangent."""
        t = math.tanh(self.data)
        return _result(t, (self,), "tanh", (1.0 - t * t,))

    def sigmoid(self) -> Value:
        """1 / (1 + e**-self), without overflow on either side."""
        s = sigmoid(self.data)
        return _result(s, (self,), "sigmoid", (s * (1.0 - s),))

    def exp(self) -> Value:
        """e**self; inf where that overflows."""
        out = exp(self.data)
        return _result(out, (self,), "exp", (out,))

    def log(self) -> Value:
        """The natural logarithm: -inf at 0, nan below."""
        return _result(log(self.data), (self,), "log", (divide(1.0, self.data),))

    def sqrt(self) -> Value:
        """The square root: at 0 with derivative inf, nan below."""
        out = sqrt(self.data)
        return _result(out, (self,), "sqrt", (divide(0.5, out),))

    def sin(self) -> Value:
        """The sine of self radians."""
        return _result(sin(self.data), (self,), "sin", (cos(self.data),))

    def cos(self) -> Value:
        """The cosine of self radians."""
        return _result(cos(self.data), (self,), "cos", (-sin(self.data),))

    def abs(self) -> Value:
        """|self|, with derivative 0 at 0."""
        return abs(self)

    # -- comparison: by value, except ==, which is identity (a Value can be in a set or be a dictionary's key) -----

    def __lt__(self, other: Value | Number) -> bool:
        return compared(self, "<", other, self.data < _number(other))

    def __le__(self, other: Value | Number) -> bool:
        return compared(self, "<=", other, self.data <= _number(other))

    def __gt__(self, other: Value | Number) -> bool:
        return compared(self, ">", other, self.data > _number(other))

    def __ge__(self, other: Value | Number) -> bool:
        return compared(self, ">=", other, self.data >= _number(other))

    # -- backpropagation -------------------------------------------------------------------------------------------

    def backward(self) -> None:
        """Add d(self)/d(leaf) to the `grad` of every leaf that this node depends on, and set it on the others."""
        deliver(chain_rule(self, self._seed()))

    def _seed(self, gradient: Number | None = None) -> float:
        return 1.0 if gradient is None else _to_float(gradient)

    def _vjp(self) -> Sequence[tuple[Node, float]]:
        local, g = self._local, self.grad
        if local is None:
            if self._prev:
                self._warn_no_rule()
            return ()
        # One and two operands, all that the operations above have, without a loop: it halves the time of a pass.
        if len(local) == 1:
            return ((self._prev[0], local[0] * g),)
        if len(local) == 2:
            a, b = self._prev
            return ((a, local[0] * g), (b, local[1] * g))
        return [(parent, slope * g) for parent, slope in zip(self._prev, local, strict=True)]

    def _zeros(self) -> float:
        return 0.0

    def _accept(self, parent: Node, sent: Any) -> float:
        return _to_float(sent)

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"


Value._grad = Value.grad  # type: ignore[method-assign]  # the same slot: reading `grad` does no more here
_new = object.__new__


def _result(data: Number, operands: tuple[Value, ...], op: str, local: tuple[float, ...] | None) -> Value:
    """The node of an operation on Values: as `Value(...)` makes it, in half the time."""
    out = _new(Value)
    out.data = data if type(data) is float else _to_float(data)  # somebody may have set an operand's to what is none
    out.grad = _NOT_REACHED
    out._prev = operands
    out._op = op
    out._local = local
    out._scope = None
    if open_scopes:
        out._scope = current_scope()
        if observers:
            made(out)
    return out


def _constant(x: Number) -> Value:
    """A number as an operand."""
    return _result(x, (), "", None)


def _to_float(x: Any) -> float:
    """`x` as a float, if it is one number and nothing else."""
    if hasattr(type(x), "__float__") and not hasattr(type(x), "__len__") and _is_real(x):  # an array has a length
        try:
            return float(x)
        except OverflowError:
            raise OverflowError("a Value is a 64-bit float, and this number is too large for one") from None
        except (TypeError, ValueError):  # a date of NumPy's has a __float__ that refuses
            pass
    raise TypeError(f"a Value is one number and takes one number, got {_describe(x)}")


def _describe(x: Any) -> str:
    """What `x` is, and what to write instead."""
    if isinstance(x, Value):
        return "a Value: it is a node already, use it as it is (or its .data for a copy outside the graph)"
    if isinstance(x, Node):
        return f"a {type(x).__name__}: the two engines do not mix, use .item() for its number"
    if isinstance(x, str):
        return f"the string {x!r}: write float({x!r}) if it holds a number"
    if x is None:
        return "None: does a function on the way end without a return?"
    if not _is_real(x):
        return f"the complex number {x}: make one Value of its .real and one of its .imag"
    if hasattr(type(x), "__len__"):
        return f"a {type(x).__name__}: make one Value an element (.item() of a single one), or use tensorgrad.Tensor"
    return f"a {type(x).__name__}: {x!r}; give a float"


def _is_real(x: Any) -> bool:
    return isinstance(x, Real) or not isinstance(x, Complex)


def _check_operands(operands: tuple[Any, ...]) -> None:
    for operand in operands:
        if not isinstance(operand, Value):
            raise TypeError(f"the operands of a Value are Values, got {operand!r}: a name goes into label=")


def _number(x: Value | Number) -> float:
    return x.data if isinstance(x, Value) else _to_float(x)


def _power_slope(a: float, n: float) -> float:
    """d(a**n)/da; for n = 0 nothing passes, at a = 0 too."""
    return _BLOCKED if n == 0.0 else n * power(a, n - 1.0)


def _exponent_slope(a: float, b: float, out: float) -> float:
    """d(a**b)/db = a**b log(a); at a = 0 with b >= 0 nothing passes (torch's convention), nan for negative a."""
    return _BLOCKED if a == 0.0 and b >= 0.0 else out * log(a)
