"""Operations that take several elements to one, and those that go along an axis."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

WHOLE: dict[str, tuple[str, ...]] = {
    "sum": ("broadcast_to({g}, {a}.shape)",),
    "mean": ("broadcast_to({g}, {a}.shape) * {out}.size / {a}.size",),
    "sum axis": ("{g} copied back along the summed axes",),
    "mean axis": ("{g} copied back along the averaged axes, / their length",),
    "prod": ("{g} * the product of the other elements",),
    "max": ("{g} where {a} is the largest",),
    "min": ("{g} where {a} is the smallest",),
    "amax": ("{g} where {a} is the largest, shared by ties",),
    "amin": ("{g} where {a} is the smallest, shared by ties",),
    "median": ("{g} where {a} is the median",),
    "cumsum": ("{g} summed from each element to the last",),
    "cumprod": ("the sum, from each element to the last, of {g} * the product of the other elements up to there",),
    "var": ("{g} * 2*({a} - its mean) / (n - correction)",),
    "std": ("{g} * ({a} - its mean) / ({out} * (n - correction)), 0 where {out} is 0",),
    "norm": ("{g} * sign({a}) * (abs({a})/{out})**(p - 1), 0 where {out} is 0",),
    "vector_norm": ("{g} * sign({a}) * (abs({a})/{out})**(ord - 1), 0 where {out} is 0",),
    "softmax": ("{out} * ({g} - the sum of {g} * {out} along the axis)",),
    "log_softmax": ("{g} - exp({out}) * the sum of {g} along the axis",),
    "logsumexp": ("{g} * exp({a} - {out})",),
}

PROSE = frozenset(WHOLE) - {"sum", "mean"}
