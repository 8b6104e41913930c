"""Formats of few bits against torch's casts, counts against loops over single numbers, scales against trying them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import require_torch
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from precision_lab.blocks import block_of
from precision_lab.counts import LEAST, counted, histogram, scaled
from precision_lab.formats import NAMES, Format, format_of, formats
from precision_lab.scales import Scales, extremes, scales

TORCH = {"fp16": "float16", "bf16": "bfloat16", "fp8-e5m2": "float8_e5m2", "fp8-e4m3": "float8_e4m3fn"}
KINDS = formats()

each_format = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def some_floats() -> np.ndarray:
    """All that bfloat16 can hold, and so many others, of every exponent, with both signs."""
    rng = np.random.default_rng(0)
    others = rng.integers(0, 2**32, 200_000, dtype=np.uint32)
    return np.concatenate([np.arange(2**16, dtype=np.uint32) << 16, others]).view(np.float32)


def around(*values: float) -> np.ndarray:
    """Each, and the float32 below and above it."""
    exact = np.array(values, np.float32)
    return np.concatenate([exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))])


# -- formats -----------------------------------------------------------------------------------------------------------


def test_all_formats_are_there():
    assert [kind.name for kind in KINDS] == list(NAMES)


@each_format
def test_numbers_are_rounded_as_torch_does(kind):
    torch = require_torch()
    values = np.concatenate(
        [some_floats(), around(kind.zero_to, kind.smallest, 1.5 * kind.smallest, kind.normal, kind.largest)]
    )
    values = np.concatenate([values, around(kind.overflows_from)])
    ours = kind.rounded(values)
    theirs = torch.from_numpy(values.copy()).to(getattr(torch, TORCH[kind.name])).double().numpy()
    if kind.name == "fp8-e4m3":  # the format has no inf: torch takes the largest number in its place, ml_dtypes nan
        too_large = np.abs(values) >= kind.overflows_from
        assert np.isnan(ours[too_large]).all()
        assert (np.abs(theirs[too_large]) == kind.largest).all()
        ours, theirs = ours[~too_large], theirs[~too_large]
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[ours == 0]))


@each_format
def test_limits_are_torch_s(kind):
    limits = require_torch().finfo(getattr(require_torch(), TORCH[kind.name]))
    assert (kind.largest, kind.normal) == (limits.max, limits.smallest_normal)
    assert kind.smallest == limits.smallest_normal * limits.eps


@each_format
def test_limits_are_where_rounding_changes(kind):
    assert kind.rounded(kind.zero_to) == 0 < kind.rounded(np.nextafter(np.float32(kind.zero_to), np.float32(1)))
    assert kind.rounded(np.nextafter(np.float32(kind.overflows_from), np.float32(0))) == kind.largest
    assert not np.isfinite(kind.rounded(kind.overflows_from))


def test_the_limits_of_fp16_are_those_of_the_source():
    kind = format_of("fp16")
    assert f"{kind.smallest:.2e}" == "5.96e-08"
    assert (kind.largest, kind.overflows_from) == (65_504, 65_520)
    assert kind.zero_to == kind.smallest / 2


# -- counts ------------------------------------------------------------------------------------------------------------


def by_hand(values: np.ndarray, kind: Format, scale: float) -> tuple[int, ...]:
    """The counts of `counted`, one number at a time."""
    zero = odd = lost = short = overflowed = 0
    for x in values.astype(np.float32).ravel().tolist():
        with np.errstate(over="ignore"):
            y = float(kind.rounded(np.float32(x * scale)))
        if x == 0:
            zero += 1
        elif not math.isfinite(x):
            odd += 1
        elif y == 0:
            lost += 1
        elif not math.isfinite(y):
            overflowed += 1
        elif abs(y) < kind.normal:
            short += 1
    return values.size, zero, odd, lost, short, overflowed


def some_gradients(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    x = (rng.standard_normal(n) * 10.0 ** rng.uniform(-12, 6, n)).astype(np.float32)
    x[:4] = 0, np.inf, np.nan, -0.0
    return x.reshape(2, -1)


@each_format
@pytest.mark.parametrize("scale", [1.0, 65_536.0, 1_000.0, 0.01, 2.0**120])
def test_counts_are_those_of_a_loop(kind, scale):
    values = some_gradients(1_000)
    found = counted(values, kind, scale)
    assert (
        found.values,
        found.zero,
        found.odd,
        found.lost,
        found.short,
        found.overflowed,
    ) == by_hand(values, kind, scale)
    assert found.share_lost == found.lost / (1_000 - 4)


@each_format
def test_counts_do_not_depend_on_how_the_numbers_are_divided(kind, monkeypatch):
    values = some_gradients(1_000)
    whole = counted(values, kind, 256.0)
    monkeypatch.setattr("precision_lab.counts._AT_ONCE", 7)
    parts = counted([values[0, :100], values[0, 100:], np.float64(0.0), np.zeros((0, 3)), values[1]], kind, 256.0)
    assert (parts.values, parts.zero) == (whole.values + 1, whole.zero + 1)
    for name in ("odd", "lost", "short", "overflowed"):
        assert getattr(parts, name) == getattr(whole, name)
    assert parts.cosine == pytest.approx(whole.cosine, rel=1e-12)


def test_the_cosine_is_that_of_the_numbers_that_are_finite():
    x = np.float32([1, 0.1, 1e-9, 1e6])
    y = np.float16([1, 0.1, 0]).astype(float)
    wanted = x[:3].astype(float) @ y / np.linalg.norm(x[:3].astype(float)) / np.linalg.norm(y)
    assert counted(x, format_of("fp16")).cosine == pytest.approx(wanted, rel=1e-12)
    assert math.isnan(counted(np.float32([1e-9]), format_of("fp16")).cosine)
    assert counted(np.float32([1e38, 1e-45]), format_of("bf16")).cosine == pytest.approx(1)


def test_of_nothing_nothing_is_counted():
    found = counted(np.zeros((0, 3)), format_of("fp16"))
    assert (found.values, found.share_lost, found.share_short, found.share_overflowed) == (0, 0, 0, 0)
    assert counted([], format_of("fp16")).values == 0


def test_the_histogram_is_that_of_frexp():
    values = np.concatenate([some_floats()[::37], around(*(2.0**e for e in range(-148, 128))), np.float32([1e-45])])
    wanted: dict[int, int] = {}
    for x in values.tolist():
        if x and math.isfinite(x):
            exponent = math.frexp(x)[1] - 1
            wanted[exponent] = wanted.get(exponent, 0) + 1
    found = histogram([values[:100], values[100:]])
    assert {int(i) + LEAST: int(found[i]) for i in np.flatnonzero(found)} == wanted
    assert histogram(np.float32([3.9])).argmax() + LEAST == 1


def test_scaled_numbers_are_float32():
    [part] = scaled(np.float32([1e-3, 3e38]), 3.0)
    assert part.dtype == np.float32
    assert part.tolist() == [float(np.float32(np.float64(np.float32(1e-3)) * 3)), math.inf]


# -- scales ------------------------------------------------------------------------------------------------------------


@each_format
@settings(max_examples=12, deadline=None)
@given(low=st.floats(-30, 3), high=st.floats(-6, 8))
def test_scales_are_those_that_trying_finds(kind, low, high):
    values = np.float32([10.0 ** min(low, high), 10.0**high])
    powers = [2.0**e for e in range(-126, 128)]
    tried = {scale: counted(values, kind, scale) for scale in powers}
    fits = [scale for scale in powers if not tried[scale].overflowed]
    both = [scale for scale in fits if not tried[scale].lost]
    assert scales(float(values.min()), float(values.max()), kind) == Scales(
        largest=fits[-1] if fits else None, lossless=(both[0], both[-1]) if both else None
    )


def test_extremes_leave_out_what_is_no_size():
    assert extremes([np.float32([0, -3, np.nan]), np.float32(np.inf), np.zeros((0, 2)), np.float32([[1e-9]])]) == (
        float(np.float32(1e-9)),
        3.0,
    )
    assert extremes([np.zeros(3, np.float32), np.float32([np.inf])]) is None


def test_no_cosine_is_above_1():
    for whole in ([1, 1, 2], [2, 3], [12, 1, 2]):  # kept exactly; root 13 times root 13 is a little under 13
        assert counted(np.float32(whole), format_of("fp16"), 2.0).cosine == 1.0
    assert np.isnan(counted(np.zeros(2, np.float32), format_of("fp16")).cosine)


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("blocks.0.attention.qkv.bias", "blocks.0"),
        ("transformer.h.11.mlp.c_fc.weight", "transformer.h.11"),
        ("tokens.weight", "tokens"),
        ("transformer.wte.weight", "transformer.wte"),
        ("0.weight", "0"),
        ("a/b/2/w", "a/b/2"),
        ("norm1.weight", "norm1"),
        ("w", "w"),
        ("", ""),
        ("w2", "w2"),
        ("..", ".."),
    ],
)
def test_the_block_of_a_parameter(name, block):
    assert block_of(name) == block
