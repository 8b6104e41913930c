"""The depth lab's page in a browser: its numbers and words are the engine's, every control does what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepper import PHONE, WIDE, data_of, load_axe

import viz
from tensorgrad import tensor
from tensorgrad.nn.utils import clip_grad_norm_

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from depth_lab import draws
from depth_lab.initialisation import WEIGHTS
from depth_lab.page.page import MOST_LAYERS, page
from depth_lab.stack import ACTIVATIONS, Measured, Stack, measured
from depth_lab.words import sentences, size

PARTS = Path(sys.modules[page.__module__].__file__).parent
SCRIPTS = [
    Path(viz.__file__).parent / "kit" / "numbers.js",
    *(PARTS / f"{n}.js" for n in "draws stack words clip".split()),
]

SMALL = Stack(layers=20, width=32)
STACKS = [
    *(replace(SMALL, activation=name, residual=residual) for name in ACTIVATIONS for residual in (False, True)),
    *(replace(SMALL, initialisation=name, scale=1.25, seed=3) for name in WEIGHTS),
    *(replace(SMALL, activation=name, norm=True, scale=1.0, seed=2**32 - 1) for name in ACTIVATIONS),
    replace(SMALL, initialisation="gpt2", activation="gelu", residual=True, norm=True, scale=1.0),
    replace(SMALL, layers=60, scale=2.0, residual=True),
    replace(SMALL, layers=1),
    replace(SMALL, layers=2, scale=4.0),
    replace(SMALL, layers=8, width=256),
    replace(SMALL, layers=100, scale=4.0, activation="linear", initialisation="orthogonal"),
    replace(SMALL, layers=100, scale=0.1, initialisation="gpt2"),  # less than float64 can hold
    replace(SMALL, layers=100, scale=1.0, width=2, activation="relu"),  # every relu closed
]


def counted(stack: Stack, first: float, last: float, weights: tuple[float, float], signal: float = 1.0) -> Measured:
    """Numbers that no stack above has, along a stack of ten layers."""
    with np.errstate(all="ignore"):
        states = np.linspace(first, last, stack.layers)
        return Measured(1.0, np.geomspace(1, signal, stack.layers + 1), np.append(states, last), np.array(weights))


def in_javascript(found: Measured) -> dict[str, Any]:
    """What `measuredStack` would give."""
    fields = {name: np.asarray(value).tolist() for name, value in asdict(found).items()}
    return fields | {"atInputs": found.at_inputs, "atOutputs": found.at_outputs, "atWeights": found.at_weights}


def beside_each_limit(ten: Stack) -> Iterator[Measured]:
    """Numbers a little below and above each of those at which other words are said."""
    for near in (0.99, 1.01):
        for ratio in (0.01 * near, 0.5 * near, 2 * near, 100 * near):
            yield counted(ten, ratio, 1.0, (ratio,) + (1.0,) * 9, ratio ** (1 / 0.9))  # carries as much to the last
            yield counted(ten, 1e-3 if ratio < 1 else 1e3, 1.0, (1.0,) * 10, ratio ** (1 / 0.9))
        for typical in (2.0**-150, 2.0**-25, 65_504.0, 1e-8 / ten.width):
            length = typical * ten.width * near
            yield counted(ten, 1.0, 1.0, (length,) * 10)
            yield counted(ten, 1.0, 1.0, (length,) + (length * 1e3,) * 9)
        for grown in (1e10, 1e14):
            yield counted(ten, grown * near, 1.0, (1.0,) * 10)


def test_the_numbers_and_the_words_are_those_of_the_engine(browser):
    tab = browser.new_page()
    for script in SCRIPTS:
        tab.add_script_tag(content=script.read_text(encoding="utf-8"))
    for seed, stream in ((0, 0), (7, 100), (2**32 - 1, 3)):
        assert tab.evaluate("a => Array.from(uniformDraws(...a))", [seed, stream, 50]) == list(
            draws.uniform(seed, stream, 50)
        )
    both = "stack => { const found = measuredStack(stack); return [found, depthSentences(stack, found)]; }"
    for stack in STACKS:
        found = measured(stack)
        got, said = tab.evaluate(both, asdict(stack))
        for name in ("loss", "signal", "states", "weights"):
            np.testing.assert_allclose(
                np.array(got[name], float), getattr(found, name), rtol=1e-9, atol=1e-310, err_msg=f"{name} of {stack}"
            )
        for name, there in (("at_inputs", "atInputs"), ("at_outputs", "atOutputs"), ("at_weights", "atWeights")):
            np.testing.assert_allclose(
                float(got[there]), getattr(found, name), rtol=1e-9, atol=1e-310, err_msg=f"{name} of {stack}"
            )
        assert said == sentences(stack, found), stack

    outgrown = replace(SMALL, layers=5, scale=1e300, activation="relu")
    _, said = tab.evaluate(both, asdict(outgrown))
    assert said == sentences(outgrown, measured(outgrown)) != sentences(SMALL, measured(SMALL))

    ten = replace(SMALL, layers=10)
    odd = [
        counted(ten, 1e12, 1.0, (5e9,) * 10),
        counted(ten, 1e-12, 1.0, (1e-30,) * 10, 1e-12),
        counted(ten, 1.0, 1.0, (1e-6,) + (1.0,) * 9),
        counted(ten, 1.0, 1.0, (0.0,) + (1.0,) * 9),
        counted(ten, 0.0, 1.0, (3.0,) + (0.0,) * 9),
        counted(ten, np.nan, 1.0, (1.0,) * 10),
        counted(ten, np.inf, 1.0, (1.0,) * 10),
        counted(ten, 1e-200, 1e150, (1e-200,) + (1e150,) * 9),
        counted(ten, 1e150, 1e-200, (1e150,) + (1e-200,) * 9),
        counted(ten, 1.0, 1.0, (0.0,) + (1e-30,) * 8 + (0.0,)),
        counted(ten, 1.001, 1.0, (1e-50,) + (1e-20,) * 9),
        counted(ten, 999.6, 1.0, (5e-324,) * 10),
        *(counted(replace(ten, activation=name), 0.0, 0.0, (0.0,) * 10) for name in ACTIVATIONS),
    ]
    kinds = [*(replace(ten, activation=name) for name in ACTIVATIONS), replace(ten, norm=True)]
    pairs = [(stack, found) for found in [*odd, *beside_each_limit(ten)] for stack in kinds]
    script = "pairs => pairs.map(([stack, found]) => depthSentences(stack, found))"
    said = tab.evaluate(script, [(asdict(stack), in_javascript(found)) for stack, found in pairs])
    for (stack, found), there in zip(pairs, said, strict=True):
        assert there == sentences(stack, found), found

    lengths = [3.0, 0.0, 1e-9, 4.0]
    for limit in (1.0, 5.0, 100.0, 1e-9):
        arrows = [tensor(np.zeros(2), requires_grad=True) for _ in lengths]
        for arrow, length in zip(arrows, lengths, strict=True):
            arrow.grad = tensor([0.6 * length, -0.8 * length], dtype=arrow.dtype)
        before = clip_grad_norm_(arrows, limit).item()
        after = [np.linalg.norm(arrow.grad) for arrow in arrows]
        got = tab.evaluate("([lengths, limit]) => clipped(lengths, limit)", [lengths, limit])
        np.testing.assert_allclose([got["before"], *got["weights"]], [before, *after], rtol=1e-12)
        np.testing.assert_allclose(got["after"], np.linalg.norm(after), rtol=1e-12)
    for length, limit, said in (
        (0.0, 1e-9, "A gradient of length 0 stays what it is."),
        (5.0, 5e-324, "what is left of the gradient has lost digits in float64, or is 0."),
        (1e-9, 1e-9, "shortens it."),
        (5.0, 1.0, "Down to 1, all layers shrink"),
        (5.0, 9.0, "The gradient is no longer than 9"),
    ):
        script = "([length, limit]) => clipSentences(clipped([length], limit), limit, { atWeights: NaN })"
        assert said in tab.evaluate(script, [length, limit])
    tab.close()


VERDICTS = ("it vanishes", "it shrinks", "about as much", "it grows", "it explodes")
"""One of them is in the first sentence of a stack of several layers, and stands above its numbers."""


def check_shown(tab: Any, name: str, stack: Stack) -> None:
    """Wait until the page names the stack so, and compare what it says of it with the engine."""
    tab.wait_for_selector(f"#setting:text-is('{name}')")
    found = measured(stack)
    shown = [tab.locator(f"#at-{where}").inner_text() for where in ("inputs", "outputs", "weights")]
    assert shown == [size(found.at_inputs), size(found.at_outputs), size(found.at_weights)]
    assert tab.locator("#words p").all_inner_texts() == sentences(stack, found)
    said = [verdict for verdict in VERDICTS if verdict in sentences(stack, found)[0]]
    assert [tab.locator("#verdict").inner_text()] == said
    total = np.linalg.norm(found.weights)
    limit = float(tab.locator("#limit").input_value())
    factor = min(1.0, limit / (total + 1e-6))
    shown = [tab.locator(f"#{what}").inner_text() for what in ("length-before", "factor", "length-after")]
    assert shown == [size(total), size(factor), size(total * factor)]


TOO_SMALL = """() =>
  [...document.querySelectorAll("button, select, summary, input[type=number], .check, .switch label")].filter(
    (each) => Math.min(each.offsetWidth, each.offsetHeight) < 24).map((each) => each.textContent)"""
"""What a finger would miss."""


def address_of(tab: Any) -> str:
    """The fields of the address, once what was changed last is in it."""
    tab.wait_for_timeout(600)
    return tab.evaluate("decodeURIComponent(location.hash)")


DRAWN = """() => {
  const points = (kind) => document.querySelector(`#chart path.${kind}`).getAttribute("d").split(/[ML]/).slice(1)
    .map((point) => point.split(" ").map(Number));
  return [points("gradient"), points("weights"), Number(document.querySelector("#chart .one").getAttribute("y1"))];
}"""
"""In pixels: the points of two curves, and how high the line of 1 lies."""


def test_controls_keys_and_the_address(opened):
    stack = Stack(layers=6, scale=1.5)
    with opened(page(stack), viewport=WIDE, until="#chart svg") as tab:
        check_shown(tab, "6 tanh layers, scale 1.5, plain, normal weights, seed 0", stack)
        place = "document.querySelector('#clip').getBoundingClientRect().top + scrollY"
        top = tab.evaluate(place)
        tab.keyboard.press("k")
        tab.wait_for_selector(".curve.kept")
        assert tab.locator("#keep").get_attribute("aria-pressed") == "true"

        tab.locator("#layers-slider").focus()
        tab.keyboard.press("ArrowLeft")
        tab.locator("#scale").fill("0.37")
        tab.get_by_label("residual").focus()
        tab.keyboard.press("Space")
        residual = replace(stack, layers=5, scale=0.37, residual=True)
        check_shown(tab, "5 tanh layers, scale 0.37, residual, normal weights, seed 0", residual)
        tab.get_by_label("gelu").focus()
        tab.keyboard.press("Space")
        tab.get_by_label("pre-norm").check()
        tab.locator("#initialisation").select_option("torch")
        tab.keyboard.press("r")
        tab.locator("#limit").fill("0.01")
        last = replace(residual, residual=False, activation="gelu", norm=True, initialisation="torch")
        name = "5 gelu layers, scale 0.37, plain, pre-norm, torch weights, seed 0"
        check_shown(tab, name, last)
        assert tab.evaluate(place) == top
        tab.get_by_label("as it is").check(force=True)

        address = address_of(tab)
        assert address == (
            "#layers=5&scale=0.37&residual=0&activation=gelu&norm=1&initialisation=torch&seed=0"
            "&measure=absolute&limit=0.01&keep=6,1.5,0,tanh,0,normal,0"
        )
        assert sentences(last, measured(last))[0] in tab.locator("#heard").text_content()
        tab.reload()
        check_shown(tab, name, last)
        tab.wait_for_selector(".curve.kept")
        assert tab.get_by_label("as it is").is_checked()

        for box, typed, left in (
            ("layers", "2.6", "3"),
            ("layers", "1000", "100"),
            ("layers", "0", "1"),
            ("scale", "", "0.37"),
            ("scale", "-2", "0.1"),
        ):
            tab.locator(f"#{box}").fill(typed)
            tab.locator(f"#{box}").blur()
            assert tab.locator(f"#{box}").input_value() == left
        tab.evaluate("location.hash = '#layers=3&scale=nan&activation=sine&seed=-1&keep=1,2'")
        check_shown(tab, "3 tanh layers, scale 1.5, plain, normal weights, seed 0", replace(stack, layers=3))
        assert tab.locator(".curve.kept").count() == 0

        gradient, weights, one = tab.evaluate(DRAWN)
        assert [x for x, _ in weights] == pytest.approx([(a + b) / 2 for (a, _), (b, _) in pairwise(gradient)], abs=0.2)
        assert (gradient[-2][1], weights[-1][1]) == pytest.approx((one, one), abs=0.1)  # over those of the last layer
        assert (gradient[0][1] < one) == (measured(replace(stack, layers=3)).at_inputs > 1)

        tab.locator("#numbers summary").click()
        tab.wait_for_selector("#numbers tbody tr:nth-child(4)")
        found = measured(replace(stack, layers=3))
        rows = [row.split("\t") for row in tab.locator("#numbers tbody tr").all_inner_texts()]
        weights = ["", *map(size, found.weights)]
        assert rows == [[str(at), size(found.states[at]), weights[at], size(found.signal[at])] for at in range(4)]
        tab.locator("#chart").hover(position={"x": 46, "y": 40})
        assert tab.locator("#pointed").inner_text() == (
            f"before layer 1: gradient {size(found.states[0])}, signal {size(found.signal[0])}"
        )

        tab.locator("#source button").nth(1).click()
        tab.wait_for_selector("#setting:text-is('60 tanh layers, scale 0.5, plain, normal weights, seed 0')")
        assert tab.locator("#source [aria-pressed=true]").count() == 1
        tab.wait_for_selector("#source tr:last-child .here:not(:text('…'))")
        here = tab.locator("#source .here").all_inner_texts()
        assert here[1] == tab.locator("#at-inputs").inner_text()
        for shown, each in zip(here, data_of(page(stack).html)["source"], strict=True):
            least, most = each["seeds"].replace(",", "").split(" to ")
            assert float(least) <= float(shown.replace(",", "")) <= float(most)
        tab.locator("#explode").click()
        exploding = Stack(layers=60, scale=2.0)
        check_shown(tab, "60 tanh layers, scale 2, plain, normal weights, seed 0", exploding)
        assert float(tab.locator("#factor").inner_text()) < 1
        tab.locator("#another").click()
        tab.wait_for_selector("#setting:has-text('seed 1')")
        assert tab.locator("#seed").input_value() == "1"
        assert tab.locator("#at-inputs").inner_text() != here[1]

        # two keys before one picture: what is kept is what was chosen
        tab.evaluate("[...'rk'].forEach((key) => document.dispatchEvent(new KeyboardEvent('keydown', { key })))")
        tab.wait_for_selector("#setting:has-text('residual')")
        kept, ratio = tab.locator("#kept-name").inner_text(), tab.locator("#at-inputs").inner_text()
        assert kept == f"kept: {tab.locator('#setting').inner_text()}: {ratio}"


def test_axe_has_nothing_to_object_to_and_a_phone_shows_all(opened):
    axe = load_axe()
    made = page(Stack(layers=300))
    assert data_of(made.html)["stack"]["layers"] == MOST_LAYERS
    with opened(made, "#layers=10&keep=9,1,0,relu,0,he,0", until="#chart svg") as tab:
        tab.wait_for_selector(".curve.kept")
        tab.locator("#numbers summary").click()
        tab.wait_for_selector("#numbers table")
        tab.set_viewport_size({"width": 320, "height": 700})
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for viewport, scheme in ((WIDE, "light"), (PHONE, "dark")):
            tab.set_viewport_size(viewport)
            tab.emulate_media(color_scheme=scheme)
            assert tab.locator("#remark").inner_text() == "Asked for were 300 layers; this page goes up to 100."
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
            dashes = tab.evaluate(  # in one go: the chart is drawn anew after a resize, and old curves have no style
                "[...document.querySelectorAll('#chart .curve')].map((c) => getComputedStyle(c).strokeDasharray)"
            )
            assert len(set(dashes)) == 4
            assert tab.evaluate(TOO_SMALL) == []
            report = axe.run(tab)
            assert report.violations_count == 0, report.generate_report()


def test_the_page_needs_nothing_else_and_refuses_what_it_cannot_draw():
    text = page(Stack()).html
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http://www.w3.org/", "").replace("http-equiv", "")
    with pytest.raises(ValueError, match="256 wide"):
        page(Stack(width=32))
    assert data_of(page(Stack(scale=9.0)).html)["scale"] == [0.1, 9.0]
