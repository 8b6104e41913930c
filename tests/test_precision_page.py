"""The precision lab's page: what it counts at every scale, in Chromium, beside what rounding the numbers gives; and
what it shows of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepper import PHONE, data_of, load_axe

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from precision_lab.counts import counted, histogram
from precision_lab.formats import format_of, formats
from precision_lab.page import page as page_module
from precision_lab.page.binades import cuts, limits, tally
from precision_lab.page.page import page
from precision_lab.scales import extremes, scales

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
            near = np.float32(limit) * (1 + np.arange(-6, 7) * 2.0**-24)
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
    monkeypatch.setattr("precision_lab.counts._AT_ONCE", 1000)
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
    for some in (np.float32([3e-7, -2e-5, 0.004]), np.float32([0.5, 3e38])):
        best = tab.evaluate(
            "data => data.formats.map((kind) => bestScales(prepare(data.groups[0]), kind))",
            data_of(page({"some": some}, "some").html),
        )
        for kind, found in zip(formats(), best, strict=True):
            tried = [(power, counted(some, kind, 2.0**power)) for power in range(-126, 128)]
            kept = [power for power, at in tried if at.lost == 0]
            fits = [power for power, at in tried if at.overflowed == 0]
            assert found == {"from": min(kept), "to": max(fits)}
            table = scales(*extremes([some]), kind)  # as the command has it
            assert table.largest == 2.0 ** found["to"]
            lossless = (2.0 ** found["from"], 2.0 ** found["to"]) if found["from"] <= found["to"] else None
            assert table.lossless == lossless
    tab.close()
    for kind, rows in zip(formats(), got, strict=True):
        for power, row in zip(SCALES, rows, strict=True):
            expected = counted(values, kind, 2.0**power)
            assert row == [expected.lost, expected.short, expected.overflowed, True], (kind.name, power)


def gradients() -> dict[str, np.ndarray]:
    """Of a model of two blocks: at scale 1 fp16 loses some of each, and at 65,536 a few overflow."""
    rng = np.random.default_rng(4)
    sizes = {"tokens.weight": 2e-2, "blocks.0.w": 1e-5, "blocks.0.b": 1e-7, "blocks.1.w": 1e-4, "norm.weight": 1e-1}
    return {
        name: (size * rng.normal(size=(40, 25)) * 10 ** rng.uniform(-3, 1, (40, 25))).astype(np.float32)
        for name, size in sizes.items()
    }


def words(tab: Any, place: str) -> str:
    return " ".join(tab.locator(place).inner_text().split())


ROWS = """(place) => [...document.querySelectorAll(`${place} tbody tr`)].map((row) =>
  [...row.cells].map((cell) => (cell.querySelector("button") ?? cell).firstChild.textContent))"""
"""Each cell of a table's body, without the share that stands below the number."""

MOVED = f"""() => Array.from({{ length: 19 }}, (_, power) => {{
  const slider = document.getElementById("scale");
  slider.value = power;
  slider.dispatchEvent(new Event("input"));
  return [document.getElementById("scaler").getBoundingClientRect().top, ({ROWS})("#formats")];
}})"""
"""Where the words end and what the table says, at the scales 1 to 2**18."""


def table(tab: Any, place: str) -> list[list[str]]:
    return tab.evaluate(ROWS, place)


def checked_by_axe(tab: Any) -> None:
    report = load_axe().run(tab)
    assert report.violations_count == 0, report.generate_report()


TOO_SMALL = """() => [...document.querySelectorAll("button, select, .switch label")].filter((each) =>
  Math.min(each.offsetWidth, each.offsetHeight) < 24).map((each) => each.textContent)"""
"""What a finger would miss."""

CUT = """() => [...document.querySelectorAll("#panel :is(th, td)")].filter((each) =>
  each.scrollWidth > each.clientWidth).map((each) => each.textContent)"""
"""Cells whose text goes beyond them."""

DRAWN = """() => Object.fromEntries(["lost", "short", "full", "overflowed"].map((name) => {
  const bars = [...document.querySelectorAll(`#chart g > rect.${name}`)].map((bar) => bar.getBoundingClientRect());
  return [name, [Math.min(...bars.map((bar) => bar.left)), Math.max(...bars.map((bar) => bar.right))]];
}))"""
"""From where to where the bars of each kind reach."""


BARS = """[...document.querySelectorAll("#bars .track")].map((track) => {
  const whole = track.getBoundingClientRect();
  const shares = (name) => {
    const bar = track.querySelector(name)?.getBoundingClientRect();
    return bar ? [bar.left + 2, bar.right - 2].map((x) => (x - whole.left) / whole.width) : null;
  };
  return { safe: shares(".safe"), best: shares(".best") };
})"""
"""From where to where the bars below the slider go, as shares of its length."""


def test_slider_words_tables_and_address(opened):
    found = gradients()
    whole = np.concatenate([values.ravel() for values in found.values()])
    fp16 = format_of("fp16")
    with opened(page(found, "a model"), viewport=WIDE, until="#chart svg") as tab:
        slider = tab.locator("#scale")
        first = counted(whole, fp16)
        assert first.lost
        assert not first.overflowed
        assert words(tab, "#outcome").startswith(f"At scale 1, fp16 rounds {first.lost:,} (")
        assert f"of {np.count_nonzero(whole):,} nonzero values to zero" in words(tab, "#outcome")
        before = tab.evaluate(DRAWN)
        lines = tab.evaluate(
            "[...document.querySelectorAll('.limit')].map((line) => line.getBoundingClientRect().left)"
        )
        assert before["lost"][1] == pytest.approx(lines[0], abs=1.5)
        assert before["full"][0] == pytest.approx(lines[1], abs=1.5)

        least, most = (float(slider.get_attribute(name)) for name in ("min", "max"))
        for kind, bars in zip(formats(), tab.evaluate(BARS), strict=True):
            suit = scales(*extremes(found.values()), kind)
            for name, ends in (("safe", (2.0**least, suit.largest)), ("best", suit.lossless)):
                shares = ends and [(min(max(np.log2(end), least), most) - least) / (most - least) for end in ends]
                assert bars[name] == (shares and pytest.approx(shares, abs=0.005)), (kind.name, name)

        moved = tab.evaluate(MOVED)
        for power, (top, rows) in enumerate(moved):
            assert top == moved[0][0]  # nothing jumps
            for kind, row in zip(formats(), rows, strict=True):
                expected = counted(whole, kind, 2.0**power)
                assert row[:4] == [kind.name, *(f"{n:,}" for n in (expected.lost, expected.short, expected.overflowed))]
        slider.focus()
        tab.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "524,288, 2 to the power of 19"
        after = tab.evaluate(DRAWN)
        now = tab.evaluate("[...document.querySelectorAll('.limit')].map((line) => line.getBoundingClientRect().left)")
        assert now == lines  # the ranges stand still
        assert after["overflowed"][0] == pytest.approx(lines[2], abs=1.5)
        lost, over = counted(whole, fp16, 2.0**19).lost, counted(whole, fp16, 2.0**19).overflowed
        rescued = f"it rescues all{f' but {lost:,}' * bool(lost)} of them."
        assert words(tab, "#outcome").endswith(f"Without the scale {first.lost:,} would be rounded to zero: {rescued}")
        assert words(tab, "#step").startswith(f"{over:,} of the whole gradient overflow, so GradScaler skips this step")
        assert words(tab, "#step").endswith("to 262,144.")
        slider.fill("1")
        few = first.lost - counted(whole, fp16, 2.0).lost
        assert words(tab, "#outcome").endswith(f"it rescues {few:,} of them.")

        tab.keyboard.press("g")
        best = next(power for power in range(16, -20, -1) if not counted(whole, fp16, 2.0**power).overflowed)
        assert best < 16
        start = counted(whole, fp16, 65536.0).overflowed
        assert f"at 65,536: {start:,} overflow, skipped; " in words(tab, "#way")
        assert words(tab, "#way").endswith(f"at {2**best:,}: none overflows, and the step is made.")
        assert tab.evaluate("location.hash") == f"#scale={2**best}"

        assert [row[0] for row in table(tab, "#parts")] == ["tokens.weight", "blocks.0", "blocks.1.w", "norm.weight"]
        tab.locator("#parts button").nth(1).click()
        block = np.concatenate([found["blocks.0.w"].ravel(), found["blocks.0.b"].ravel()])
        there = counted(block, fp16, 2.0**best)
        assert f"of {block.size:,} nonzero values of blocks.0 to zero" in words(tab, "#outcome")
        assert table(tab, "#formats")[0][1:3] == [f"{there.lost:,}", f"{there.short:,}"]
        assert tab.evaluate("document.activeElement.textContent") == "blocks.0"
        tab.locator("#axis span", has_text="linear").click()
        assert tab.evaluate("location.hash") == f"#scale={2**best}&group=block%3Ablocks.0&count=linear"
        tab.wait_for_selector("#told:has-text('blocks.0')", state="attached")
        checked_by_axe(tab)
        for width in (1024, 1280):
            tab.set_viewport_size({"width": width, "height": 768})
            assert tab.evaluate(CUT) == []

        other = formats()[-1]
        tab.evaluate(f"location.hash = '#scale=8&format={other.name}&group=array:norm.weight'")
        tab.wait_for_selector("#outcome:has-text('norm.weight')")
        assert words(tab, "#outcome").startswith(f"At scale 8, {other.name} rounds ")
        assert tab.locator("#group option:checked").inner_text() == "norm.weight"
        assert tab.locator("#kinds :checked + span").inner_text() == other.name


def test_odd_gradients_on_a_dark_phone(opened):
    odd = np.array([1e30, 3.0, -2.0, 1e-40, np.nan, np.inf, 0.0], np.float32)
    found = {ODD_NAME: odd, "empty": np.zeros((0, 3)), "zeros": np.zeros(5), "layers.0." + "w" * 90: np.ones(9) * 1e5}
    found["\N{RIGHT-TO-LEFT OVERRIDE}none"] = np.float32([np.nan, np.inf])
    made = page(found, f"</title>{ODD_NAME}", start=1000.0, remarks=["No gradient reaches <i>."])
    with opened(made, "#format=nope&scale=3&group=nobody", viewport=PHONE, scheme="dark", until="#chart svg") as tab:
        assert tab.locator("#of").inner_text() == f"</title>{ODD_NAME}"
        assert words(tab, "#digits").startswith("Fewer digits: below 6.1e-05 fp16 has no smaller exponent left")
        assert words(tab, "#said").startswith(
            "No gradient reaches <i>. The scales here are powers of two: 1,000 was asked"
        )
        assert words(tab, "#outcome").startswith("At scale 512, fp16 rounds 1 (7.69 %) of 13 nonzero values to zero")
        assert words(tab, "#outcome").endswith("4 more are inf or nan at any scale.")
        assert words(tab, "#step").startswith("4 of the whole gradient's numbers are inf or nan before the scale")
        tab.locator("#scaler").click()
        assert "never ends it" in words(tab, "#way")
        tab.locator("#group").select_option(label=ODD_NAME)
        assert f"4 nonzero values of {ODD_NAME} to zero" in words(tab, "#outcome")
        for name, said in (("empty", "There are no numbers in"), ("zeros", "There is nothing to lose in")):
            tab.locator("#group").select_option(label=name)
            assert words(tab, "#outcome") == f"{said} the gradient of {name}" + (
                ": every finite number in it is 0." if name == "zeros" else "."
            )
        tab.locator("#group").select_option(label="\N{REPLACEMENT CHARACTER}none")
        assert words(tab, "#outcome").endswith("none: it has no finite number. 2 are inf or nan at any scale.")
        lowest = int(tab.locator("#scale").get_attribute("min"))
        assert counted(odd, formats()[-1], 2.0**lowest).overflowed == 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.locator("#key span").count() == 4
        assert tab.evaluate(TOO_SMALL) == []
        checked_by_axe(tab)


def test_the_page_needs_nothing_else_and_without_ml_dtypes_says_so(monkeypatch):
    made = page(gradients(), "a model", start=65536.0)
    assert "default-src 'none'" in made.html
    assert "https://" not in made.html
    assert "http://" not in made.html.replace("http://www.w3.org/", "")
    assert data_of(made.html)["slider"] == {"least": 0, "most": 32, "start": 16}
    monkeypatch.setattr(page_module, "formats", lambda: [format_of("fp16")])
    monkeypatch.setattr(page_module, "MOST_ARRAYS", 3)
    data = data_of(page({**gradients(), "small": np.ones(2)}, "a model").html)
    assert [kind["name"] for kind in data["formats"]] == ["fp16"]
    assert "python -m pip install 'plusequals[precision]'" in data["said"][1]
    assert data["said"][0] == "Of 6 arrays the 3 largest can be chosen by themselves."
    assert [group["values"] for group in data["groups"]] == [5002, 2000, 1000, 1000, 1000]
    assert data_of(page({}, "nothing").html)["groups"][0]["rows"] == []


@pytest.mark.parametrize("start", [0.0, -1.0, float("nan"), float("inf")])
def test_a_start_that_is_no_scale_is_refused(start):
    with pytest.raises(ValueError, match="above 0"):
        page({}, "nothing", start)
