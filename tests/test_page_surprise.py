"""The page of the surprise report in a browser: each character's colour, what is told of it, and ways to get to it."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepper import PHONE, WIDE, data_of, load_axe
from surprised import some_text

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from chars.surprise import page as page_module
from chars.surprise.page import LEVELS, page
from chars.surprise.scored import Scored
from chars.surprise.summary import summarized
from chars.surprise.words import named, nats
from common.words import percent


@pytest.fixture(scope="module")
def found() -> Scored:
    """A text of some 1,200 characters, costs at random, and three guesses at each place."""
    rng = np.random.default_rng(5)
    text = some_text(300)
    vocabulary = "".join(sorted(set(text)))
    count = len(text) - 1
    guesses = np.argsort(rng.random((count, len(vocabulary))))[:, :3]
    chances = np.sort(rng.dirichlet(np.ones(4), count)[:, :3])[:, ::-1]
    return Scored(text, vocabulary, rng.exponential(1.5, count), guesses, chances)


@pytest.fixture(scope="module")
def made(found) -> Any:
    return page(found, summary(found))


def summary(found: Scored) -> dict[str, Any]:
    return {"model": "a model", "text": "</title> a text", "remarks": [], **summarized(found, None, 10)}


def told(tab: Any) -> str:
    return " ".join(tab.locator("#readout").inner_text().split())


def expected(found: Scored, place: int) -> str:
    """What should be told of a place, as `told` gives it."""
    line = found.text.count("\n", 0, place) + 1
    column = place - found.text.rfind("\n", 0, place)
    cost = found.nats[place - 1]
    worst = cost >= worst_of(found)
    guesses = ", ".join(f"{named(c)} {percent(round(p * 65535) / 65535)}" for c, p in found.guesses_at(place))
    return (
        f"{named(found.text[place])}, line {line}, column {column}: {nats(cost)} nats, "
        f"probability {percent(math.exp(-np.float32(cost)))}{', among the worst tenth' * bool(worst)} "
        f"likeliest here: {guesses}"
    )


def worst_of(found: Scored) -> float:
    """The least cost among the worst tenth."""
    return np.sort(found.nats)[-round(len(found.nats) / 10)]


MIDDLE = """at => {
  const texts = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  let before = 0;
  let letters = [];
  while (before + letters.length <= at) {
    before += letters.length;
    letters = Array.from(texts.nextNode().data);
  }
  const text = texts.currentNode;
  text.parentElement.scrollIntoView({ block: "center" });
  const range = document.createRange();
  range.setStart(text, letters.slice(0, at - before).join("").length);
  range.setEnd(text, letters.slice(0, at - before + 1).join("").length);
  const shown = letters[0] === "\\n" ? text.parentElement : range;
  const { x, y, width, height } = shown.getClientRects()[0];
  return [x + width / 2, y + height / 2];
}"""
"""The middle of a character on the screen, once it has been scrolled there."""


def in_view(tab: Any) -> bool:
    """Whether the frame around the picked character lies within the part of the text that is seen."""
    return tab.evaluate(
        """() => {
          const frame = document.querySelector(".at.picked").getBoundingClientRect();
          const top = document.getElementById("key").getBoundingClientRect().bottom;
          const bottom = document.getElementById("readout").getBoundingClientRect().top;
          return frame.width > 0 && frame.top >= top && frame.bottom <= bottom;
        }"""
    )


def test_every_character_has_its_colour_and_the_worst_tenth_a_line(opened, made, found):
    last = len(found.text) - 1
    with opened(made, f"#at={last}", viewport=WIDE, until="#readout") as tab:
        assert told(tab) == expected(found, last)
        assert in_view(tab)
        runs = tab.evaluate(
            """[...document.querySelectorAll("#text span")].map((run) => {
              const { backgroundColor, textDecorationLine } = getComputedStyle(run);
              return [run.textContent, run.className, backgroundColor, textDecorationLine];
            })"""
        )
        assert "".join(text for text, *_ in runs) == found.text
        assert tab.locator("h1").inner_text() == "</title> a text"
        assert tab.locator("#legend span").count() == len(LEVELS) + 2
    looks = [look for text, *look in runs for _ in text]
    assert looks[0][0] == "read"
    worst = worst_of(found)
    colours: dict[int, set[str]] = {}
    for cost, (_, colour, line) in zip(found.nats, looks[1:], strict=True):
        colours.setdefault(sum(cost >= least for least in LEVELS), set()).add(colour)
        assert (line == "underline") == (cost >= worst)
    assert sorted(colours) == list(range(len(LEVELS) + 1))
    assert len(set.union(*colours.values())) == len(colours)


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide light", "phone dark"])
def test_ways_to_a_character_and_what_is_told_of_it(opened, made, found, viewport, scheme):
    axe = load_axe()
    worst = np.flatnonzero(found.nats >= worst_of(found)) + 1
    with opened(made, viewport=viewport, scheme=scheme, until="#readout") as tab:
        assert told(tab).startswith("Point at a character")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")

        listed = data_of(made.html)["most"][4]["place"]
        tab.locator("#most button").nth(4).click()
        assert told(tab) == expected(found, listed)
        assert in_view(tab)
        assert tab.evaluate("[document.activeElement.id, location.hash]") == ["text", f"#at={listed}"]

        tab.keyboard.press("n")
        surprise = int(worst[worst > listed][0])
        assert told(tab) == expected(found, surprise)
        tab.keyboard.press("ArrowRight")
        assert told(tab) == expected(found, surprise + 1)
        tab.keyboard.press("ArrowLeft")
        tab.locator("#before").click()
        before = int(worst[worst < surprise][-1])
        assert told(tab) == expected(found, before)
        tab.locator("#text").focus()
        tab.keyboard.press("ArrowDown")
        assert f", line {found.text.count(chr(10), 0, before) + 2}, " in told(tab)

        for _ in range(12):
            tab.keyboard.press("ArrowDown")
        assert in_view(tab)

        emoji = found.text.index("🙂", 300)  # two units of a string of JavaScript
        for place in (emoji, emoji + 1, found.text.index("\n", 300)):
            middle = tab.evaluate(MIDDLE, place)
            tab.mouse.move(*middle)
            assert told(tab) == expected(found, place)
        tab.mouse.click(*middle)
        assert tab.evaluate("location.hash") == f"#at={place}"
        report = axe.run(tab)
        assert report.violations_count == 0, report.generate_report()


def test_the_page_needs_nothing_else_and_its_data_is_no_markup(made, found):
    assert "default-src 'none'" in made.html
    assert "http://" not in made.html.replace("http://www.w3.org/", "")
    assert "https://" not in made.html
    assert data_of(made.html)["text"] == found.text
    assert made.html.count("<b>&amp;") == 0


def test_a_text_that_is_too_long_is_shown_in_part(found, monkeypatch):
    monkeypatch.setattr(page_module, "MOST", 100)
    data = data_of(page(found, summary(found)).html)
    assert data["text"] == found.text[:101]
    assert "The text below is the first 100 of them." in data["said"][0]
    places = [place["place"] for place in summary(found)["most_surprising"]]
    assert [row["place"] for row in data["most"]] == [place if place <= 100 else None for place in places]
    assert None in [row["place"] for row in data["most"]]
