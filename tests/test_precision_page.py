"""The precision lab's page: what it counts at every scale, in Chromium, beside what rounding the numbers gives; and
what it shows of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from stepper import data_of

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from precision_lab.counts import counted, histogram
from precision_lab.formats import formats
from precision_lab.page import page as page_module
from precision_lab.page.binades import cuts, limits, tally
from precision_lab.page.page import page

HERE = Path(page_module.__file__).parent
WIDE = {"width": 1400, "height": 900}
SCALES = range(-8, 41)
ODD_NAME = "</script>\"🙂'<b>&amp;"


def numbers() -> np.ndarray:
    """Float32 numbers of every size, with all that lie on or beside a format's limits at one of the scales."""
    rng = np.random.default_rng(3)
    found = [rng.choice([-1, 1], 4000) * 2.0 ** rng.uniform(-155, 128, 4000), np.zeros(3)]
    for kind in formats():
        below = kind.normal - kind.smallest / 2
        for limit in (kind.zero_to, kind.smallest, below, kind.normal, kind.largest, kind.overflows_from):
            near = np.float32(limit) * (1 + np.arange(-3, 4) * 2.0**-23)
            wider = limit * (1 + np.array([-1, 1])[:, None] * 2.0 ** -np.arange(14.0, 19.0)).ravel()
            found += [np.concatenate([near, wider]) / 2.0**power for power in (*SCALES, -60)]
    with np.errstate(over="ignore"):
        return np.concatenate(found).astype(np.float32)


def test_limits_are_where_rounding_changes():
    for kind in formats():
        kept, full, over = (np.float32(m * 2.0**exponent) for exponent, m in limits(kind))
        for limit, least in ((kept, 0.0), (full, kind.normal), (over, np.inf)):
            below, at = kind.rounded(np.array([np.nextafter(limit, np.float32(0)), limit]))
            assert at != below
            assert not np.isfinite(at) if least == np.inf else at == least or (least == 0 < at)


def test_rows_are_the_histogram_whatever_the_chunks(monkeypatch):
    values, at = numbers(), cuts(formats())
    whole = tally(values, at)
    assert whole.values == len(values)
    assert whole.zero == np.count_nonzero(values == 0)
    assert whole.odd == np.count_nonzero(~np.isfinite(values))
    assert (whole.rows[:, 0] == histogram(values)).all()
    monkeypatch.setattr("precision_lab.page.binades._CHUNK", 1000)
    assert (tally(values.reshape(2, -1) if len(values) % 2 == 0 else values, at).rows == whole.rows).all()


def test_every_format_at_every_scale_counts_as_rounding_does(browser):
    values = numbers()
    data = data_of(page({"x": values}, "x").html)
    tab = browser.new_page()
    tab.add_script_tag(content=(HERE / "binades.js").read_text(encoding="utf-8"))
    got = tab.evaluate(
        """([data, scales]) => {
          const group = prepare(data.groups[0]);
          return data.formats.map((kind) => scales.map((power) => {
            const all = countedAt(group, kind, power);
            const parts = group.rows.map((_, i) => countedIn(group, i, kind, power));
            const sums = Object.keys(all).map((name) => parts.reduce((sum, part) => sum + part[name], 0));
            return [all.lost, all.short, all.overflowed, sums.join() === Object.values(all).join()];
          }));
        }""",
        [data, list(SCALES)],
    )
    tab.close()
    for kind, rows in zip(formats(), got, strict=True):
        for power, row in zip(SCALES, rows, strict=True):
            expected = counted(values, kind, 2.0**power)
            assert row == [expected.lost, expected.short, expected.overflowed, True], (kind.name, power)
