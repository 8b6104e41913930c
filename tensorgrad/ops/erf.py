"""The error function on arrays, by rational approximations.

The formulas and coefficients are those of W. J. Cody, "Rational Chebyshev approximations for the error function",
Mathematics of Computation 23 (1969), 631-637, as in his routine CALERF of the SPECFUN library: one for |x| up to
0.46875, one for e**(x*x) * erfc(x) from there to 4. The second is used up to 6 here, where erf is 1 to every digit of
float64: erfc is so small there that its relative error no longer counts.
"""

from __future__ import annotations

import numpy as np

_NEAR = 0.46875
_FAR = 6.0
_BLOCK = 32768
"""How many elements are computed at a time, so that what stands in between stays in the processor's cache."""

_NEAR_ABOVE = (
    1.85777706184603153e-1,
    3.16112374387056560e0,
    1.13864154151050156e2,
    3.77485237685302021e2,
    3.20937758913846947e3,
)
_NEAR_BELOW = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)

_FAR_ABOVE = (
    2.15311535474403846e-8,
    5.64188496988670089e-1,
    8.88314979438837594e0,
    6.61191906371416295e1,
    2.98635138197400131e2,
    8.81952221241769090e2,
    1.71204761263407058e3,
    2.05107837782607147e3,
    1.23033935479799725e3,
)
_FAR_BELOW = (
    1.0,
    1.57449261107098347e1,
    1.17693950891312499e2,
    5.37181101862009858e2,
    1.62138957456669019e3,
    3.29079923573345963e3,
    4.36261909014324716e3,
    3.43936767414372164e3,
    1.23033935480374942e3,
)


def erf_of(x: np.ndarray | float) -> np.ndarray:
    """erf of each element, in the dtype of x (float16 is computed in float32); nan stays nan.

    The error, against `math.erf`: at most 2.3e-16, and 5e-16 of the value, in float64; 1.9e-7, and 3.5e-7 of the value,
    in float32.
    """
    given = np.asarray(x)
    flat = given.astype(np.float32 if given.dtype == np.float16 else given.dtype, order="C", copy=False).reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        out[block] = _erf(flat[block])
    return out.reshape(given.shape).astype(given.dtype, copy=False)


def _erf(x: np.ndarray) -> np.ndarray:
    """erf of a short array of one axis. Both formulas run on every element: to sort them apart takes longer."""
    size = np.abs(x)
    near = size <= _NEAR
    np.minimum(size, _FAR, out=size)
    square = size * size
    inner = _ratio(square, _NEAR_ABOVE, _NEAR_BELOW)
    inner *= size
    np.negative(square, out=square)
    outer = np.exp(square, out=square)
    outer *= _ratio(size, _FAR_ABOVE, _FAR_BELOW)
    np.subtract(1, outer, out=outer)
    inner *= near  # times 1 or 0, and a sum with 0: exact
    outer *= ~near
    outer += inner
    return np.copysign(outer, x, out=outer)


def _ratio(x: np.ndarray, above: tuple[float, ...], below: tuple[float, ...]) -> np.ndarray:
    """The quotient of two polynomials in x, their coefficients from the highest power down."""
    quotient = _polynomial(x, above)
    quotient /= _polynomial(x, below)
    return quotient


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    total = x * coefficients[0]
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total
