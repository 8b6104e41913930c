"""Floating-point formats of 16 and 8 bits: their ranges, and numbers rounded to them.

float16 is NumPy's; the others are of `ml_dtypes`, which the extra `precision` brings.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Format:
    """A format by its name.

    name   "fp16", for example
    about  its bits, in words
    dtype  what NumPy computes in it with
    """

    name: str
    about: str
    dtype: Any

    @cached_property
    def smallest(self) -> float:
        """The smallest positive number, a subnormal one."""
        return float(self._limits.smallest_subnormal)

    @cached_property
    def normal(self) -> float:
        """The smallest positive number with all its digits."""
        return float(self._limits.smallest_normal)

    @cached_property
    def largest(self) -> float:
        """The largest finite number."""
        return float(self._limits.max)

    @cached_property
    def digits(self) -> int:
        """Binary digits after the point of a normal number."""
        return int(self._limits.nmant)

    @cached_property
    def overflows_from(self) -> float:
        """The smallest float32 that is rounded to no finite number."""
        above = np.float32(self.largest + 2.0 ** (np.floor(np.log2(self.largest)) - self.digits - 1))  # halfway
        return float(np.nextafter(above, np.float32(np.inf)) if np.isfinite(self.rounded(above)) else above)

    @property
    def zero_to(self) -> float:
        """The largest number that is rounded to 0: of two that are equally near, the even one is taken."""
        return self.smallest / 2

    def rounded(self, values: np.ndarray) -> np.ndarray:
        """`values`, of any shape, as float32, and each of them as the nearest number of this format, as float64.

        What is too large becomes inf, or nan in a format that has no inf, as fp8-e4m3; torch makes that 448 there.
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            found = np.asarray(values, np.float32)
            if self.dtype is np.float16:
                found = _on_subnormals(found)
            return found.astype(self.dtype).astype(np.float64)

    @property
    def _limits(self) -> Any:
        return np.finfo(self.dtype) if self.dtype is np.float16 else _ml_dtypes().finfo(self.dtype)


def _on_subnormals(x: np.ndarray) -> np.ndarray:
    """`x`, float32, with what is below float16's normal numbers rounded to its subnormal ones, the multiples of 2**-24.

    The cast would round to the same ones, 20 times as slowly: it raises the processor's underflow flag for each.
    Here float32's own rounding does it. From 0.5 to 1 its numbers, too, are the multiples of 2**-24, so 0.75 + x is
    rounded to one of them, and 0.75 is an even one, so that of two equally near the even one is taken, as in the cast.
    Taking 0.75 away again is exact, but for the sign of a 0.
    """
    shift = np.float32(0.75)
    return np.where(np.abs(x) < 2.0**-14, np.copysign((x + shift) - shift, x), x)


_OTHERS = {
    "bf16": ("bfloat16", "8 bits of exponent, 7 binary digits: float32's range"),
    "fp8-e5m2": ("float8_e5m2", "5 bits of exponent, 2 binary digits"),
    "fp8-e4m3": ("float8_e4m3fn", "4 bits of exponent, 3 binary digits, and no inf"),
}

NAMES = ("fp16", *_OTHERS)
"""The formats that `format_of` knows."""

NEEDS = "bf16 and fp8 need ml_dtypes: python -m pip install 'plusequals[precision]'"


def format_of(name: str) -> Format:
    """The format of that name. Raises KeyError for another name, ImportError where ml_dtypes is needed and missing."""
    if name == "fp16":
        return Format(name, "5 bits of exponent, 10 binary digits", np.float16)
    dtype, about = _OTHERS[name]
    return Format(name, about, getattr(_ml_dtypes(), dtype))


def formats() -> list[Format]:
    """All that this machine has: fp16 alone without ml_dtypes."""
    try:
        return [format_of(name) for name in NAMES]
    except ImportError:
        return [format_of("fp16")]


def _ml_dtypes() -> Any:
    return importlib.import_module("ml_dtypes")
