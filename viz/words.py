"""Derivative rules in words: what a node sends to each of its operands, as a person would write it in Python.

In the texts {a} and {b} are the first and second operand, {out} the result and {g} the result's gradient. A test
evaluates every one of them and compares it with what the engine sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from viz.wording import casting, elementwise, functional, index, linalg, reduce, shape

_FAMILIES = (elementwise, linalg, reduce, shape, index, functional, casting)

LOCAL: dict[str, tuple[str, ...]] = {op: texts for family in _FAMILIES for op, texts in family.LOCAL.items()}
"""For operations on each element: the local derivative for each operand; the contribution is that times {g}."""

WHOLE: dict[str, tuple[str, ...]] = {op: texts for family in _FAMILIES for op, texts in family.WHOLE.items()}
"""For the others: the contribution for each operand."""

EVERY: dict[str, str] = {op: text for family in _FAMILIES for op, text in getattr(family, "EVERY", {}).items()}
"""For those of any number of operands: the contribution for one of them, which is {a} there."""

PROSE: frozenset[str] = frozenset().union(*(family.PROSE for family in _FAMILIES))
"""Operations whose rule is a sentence: it depends on arguments that a node does not remember."""

_INFIX = {"+", "-", "*", "/", "**", "@"}

_WRITTEN = {
    "T": "{0}.T",
    "mT": "{0}.mT",
    "H": "{0}.H",
    "floor_divide": "{0} // {1}",
    "remainder": "{0} % {1}",
    "clamp_between": "clamp({0}, {1}, {2})",
    "where": "where(…, {0}, {1})",
    "masked_fill": "masked_fill({0}, …, {1})",
    "setitem": "setitem({0}, …, {1})",
}
"""How operations are written whose names do not say it. A node does not remember conditions and indices: they are …"""

_PARTS = {"index", "split", "chunk", "unbind", "output"}
"""Operations that take a part out of their operand."""


def local_derivative(op: str, slot: int, operands: Sequence[str], out: str) -> str | None:
    """d(out)/d(operands[slot]) as text, for operations on each element; None for others and for unknown ones."""
    if op.startswith("**") and op != "**":
        return _power_slope(op[2:], operands[0])
    if op.startswith("to ") and len(operands) == 1:  # a cast: its gradient is cast back
        return "1"
    texts = LOCAL.get("relu" if op == "ReLU" else op, ())
    return _fill(texts[slot], operands, out) if slot < len(texts) == len(operands) else None


def entry(op: str, ndims: Sequence[int], out_ndim: int) -> str:
    """Where the tables have an operation, for operands and a result with so many axes.

    Products with vectors have rules of their own, and so have sums over some of the axes that leave these out.
    """
    if op in ("sum", "mean"):
        return f"{op} axis" if 0 < out_ndim < ndims[0] else op
    if op != "@" or max(ndims) == min(ndims) == 2:
        return op
    return "@ " + " ".join(str(n) if n < 3 else "batch" for n in ndims) if 1 in ndims else "@ batch"


def contribution(op: str, slot: int, operands: Sequence[str], out: str) -> str | None:
    """What `out` sends to `operands[slot]`, as text; None for an operation that is not in the tables.

    op  as `entry` gives it
    """
    if op in EVERY:
        return _fill(EVERY[op], operands[slot : slot + 1], out) if slot < len(operands) else None
    texts = WHOLE.get(op)
    if texts is not None:
        # the last operands of some may be left out: a layer without a bias
        return _fill(texts[slot], operands, out) if slot < len(operands) <= len(texts) else None
    local = local_derivative(op, slot, operands, out)
    if local is None:
        return None
    g = f"{out}.grad"
    return {"1": g, "-1": f"-{g}"}.get(local, f"{local} * {g}")


def formula(op: str, operands: Sequence[str], part: str | None = None) -> str:
    """The operation on its operands as text, e.g. `a*b`, `a**2`, `relu(e)`.

    part  for an operation that takes a part out of its operand, which one, as "[:, 2:4]", if that is known
    """
    if op in _PARTS and len(operands) == 1 and (part or op == "index"):
        return f"{operands[0]}{part or '[…]'}"
    if op in _WRITTEN and len(operands) == _WRITTEN[op].count("{"):
        return _WRITTEN[op].format(*operands)
    if op in _INFIX and len(operands) == 2:
        space = " " if op in "+-@" else ""
        return f"{operands[0]}{space}{op}{space}{operands[1]}"
    if op.startswith("**"):
        return f"{operands[0]}{op}"
    if op.startswith("to ") and len(operands) == 1:
        return f"{operands[0]}.to({op[3:]})"
    if op == "neg":
        return f"-{operands[0]}"
    return f"{op.lower() if op == 'ReLU' else op}({', '.join(operands)})"


def _power_slope(exponent: str, x: str) -> str | None:
    """The derivative of x**exponent, worked out as one would by hand: 2*x, 3 * x**2, 0.5 * x**-0.5; None where the
    exponent is no number, as in the name of an operation of the user's."""
    try:
        n = float(exponent)
    except ValueError:
        return None
    if n in (0.0, 1.0):
        return f"{n:g}"
    less = f"{n - 1:g}" if float(f"{n - 1:g}") == n - 1 else f"({exponent} - 1)"
    return f"{exponent}*{x}" if n == 2.0 else f"{exponent} * {x}**{less}"


def _fill(text: str, operands: Sequence[str], out: str) -> str:
    names = {"a": operands[0], "b": operands[1] if len(operands) > 1 else "", "out": out, "g": f"{out}.grad"}
    return text.format(**names)
