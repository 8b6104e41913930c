"""Products of matrices."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

_OF_TWO = (
    "the products of {g} and {b}, summed over the axes that {a} has not",
    "the products of {g} and {a}, summed over the axes that {b} has not",
)

WHOLE: dict[str, tuple[str, ...]] = {
    "@": ("{g} @ {b}.T", "{a}.T @ {g}"),
    "@ 1 1": ("{g} * {b}", "{g} * {a}"),
    "@ 1 2": ("{b} @ {g}", "outer({a}, {g})"),
    "@ 2 1": ("outer({g}, {b})", "{a}.T @ {g}"),
    "@ batch": ("unbroadcast({g} @ {b}.mT, {a}.shape)", "unbroadcast({a}.mT @ {g}, {b}.shape)"),
    "@ batch 1": ("{g}[..., None] * {b}", "unbroadcast({g}[..., None] * {a}, {b}.shape)"),
    "@ 1 batch": ("unbroadcast(({b} @ {g}[..., None])[..., 0], {a}.shape)", "{a}[:, None] * {g}[..., None, :]"),
    "outer": ("{g} @ {b}", "{a} @ {g}"),
    "inner": ("the products of {g} and {b}, summed over the axes that {a} has not", "those of {g} and {a}, likewise"),
    "tensordot": (
        "the products of {g} and {b}, summed over the axes that {a} has not",
        "those of {g} and {a}, likewise",
    ),
    "addmm": ("beta * {g}", "alpha * {g} @ (the second matrix).T", "alpha * {b}.T @ {g}"),
    "trace": ("{g} on the diagonal, 0 elsewhere",),
}

EVERY = {"einsum": "the products of {g} and the other operands, summed over the letters that {a} has not"}

PROSE = frozenset({"inner", "tensordot", "addmm", "trace", "einsum"})
