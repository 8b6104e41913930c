"""Operations that act on each element."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {
    "+": ("1", "1"),
    "-": ("1", "-1"),
    "*": ("{b}", "{a}"),
    "/": ("1/{b}", "-{a}/{b}**2"),
    "**": ("{b} * {a}**({b} - 1)", "{a}**{b} * log({a})"),
    "neg": ("-1",),
    "abs": ("sign({a})",),
    "exp": ("{out}",),
    "log": ("1/{a}",),
    "sqrt": ("1/(2*{out})",),
    "sin": ("cos({a})",),
    "cos": ("-sin({a})",),
    "tanh": ("(1 - {out}**2)",),
    "sigmoid": ("{out} * (1 - {out})",),
    "relu": ("({a} > 0)",),
}

WHOLE: dict[str, tuple[str, ...]] = {}

PROSE: frozenset[str] = frozenset()
