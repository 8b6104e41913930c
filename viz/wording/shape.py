"""Operations that put elements into another shape, order or place."""

from __future__ import annotations

LOCAL: dict[str, tuple[str, ...]] = {}

_RESHAPED = ("{g}.reshape({a}.shape)",)
_SUMMED = ("unbroadcast({g}, {a}.shape)",)
_COPIES = ("{g} added up over the copies of each element",)
_PART = ("{g} in the place of this part, 0 elsewhere",)
_AXES_BACK = ("{g} with the axes in their old order",)

WHOLE: dict[str, tuple[str, ...]] = {
    "reshape": _RESHAPED,
    "view": _RESHAPED,
    "flatten": _RESHAPED,
    "unflatten": _RESHAPED,
    "squeeze": _RESHAPED,
    "unsqueeze": _RESHAPED,
    "contiguous": ("{g}",),
    "transpose": ("{g} with the axes exchanged back",),
    "swapaxes": ("{g} with the axes exchanged back",),
    "permute": _AXES_BACK,
    "movedim": _AXES_BACK,
    "moveaxis": _AXES_BACK,
    "T": ("{g}.T",),
    "mT": ("{g}.mT",),
    "H": ("{g}.T",),
    "flip": ("{g} flipped back",),
    "roll": ("{g} rolled back",),
    "expand": _SUMMED,
    "broadcast_to": _SUMMED,
    "meshgrid": ("{g} summed over the other axes",),
    "repeat": _COPIES,
    "tile": _COPIES,
    "repeat_interleave": _COPIES,
    "split": _PART,
    "chunk": _PART,
    "unbind": _PART,
    "output": _PART,
    "pad": ("{g} without the margin; what the margin repeats receives the sum",),
    "tril": ("{g} in the lower triangle, 0 elsewhere",),
    "triu": ("{g} in the upper triangle, 0 elsewhere",),
    "diagonal": ("{g} on the diagonal, 0 elsewhere",),
    "diag": ("{g} on the diagonal, 0 elsewhere; of a matrix made from a vector, the diagonal of {g}",),
}

_SLICE = "the part of {g} that {a} is in"

EVERY: dict[str, str] = {"cat": _SLICE, "stack": _SLICE, "hstack": _SLICE, "vstack": _SLICE, "dstack": _SLICE}
EVERY["checkpoint"] = "what the block, run again, sends to {a}"

PROSE = frozenset(
    """
    transpose swapaxes permute movedim moveaxis flip roll meshgrid repeat tile repeat_interleave split chunk unbind
    output pad tril triu diagonal diag cat stack hstack vstack dstack checkpoint
    """.split()
)
