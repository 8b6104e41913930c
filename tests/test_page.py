"""The stepper page without a browser: that nothing in it can break out, how it is written, what is refused."""

from __future__ import annotations

import html
import math
import re

import pytest
from stepper import data_of, seven, shared, size_beside

from micrograd import Value
from tensorgrad import Tensor
from viz import limits, step
from viz.errors import TooLargeError, UserError
from viz.kit.page import script_json

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029",
    "\ud800",
    '"\\',
    "$data ${data}",
    "&lt;",
)


def example() -> Value:
    return seven(Value)


# -- nothing breaks out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_can_end_the_script_or_become_markup(label):
    a = Value(1.0, label=label)
    text = step(a * a, names={}, title=label).html
    assert text.count("<script") == text.count("</script>") == 2
    assert "<!--" not in text
    assert "<img" not in text
    assert data_of(text)["names"][0] == label
    text.encode()


def test_the_page_refers_to_nothing_outside():
    text = step(example()).html
    assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href)=|@import", text)
    assert not re.search(r"url\((?!#)", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    assert "default-src 'none'" in text


def test_scripts_put_text_in_as_text_only():
    text = step(example()).html
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b", text)


# -- writing -----------------------------------------------------------------------------------------------------------


def test_a_page_is_written_whole(tmp_path):
    target = tmp_path / "folder" / "page.html"
    result = step(example(), target)
    assert target.read_text(encoding="utf-8") == result.html
    assert result.save(tmp_path / "again.HTM").read_text(encoding="utf-8") == result.html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.HTM", "folder"]


@pytest.mark.parametrize("name", ["page.png", "page", "page.html.txt"])
def test_another_suffix_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(UserError, match=r"name a file that ends in \.html"):
        step(example(), tmp_path / name)
    with pytest.raises(UserError, match=re.escape(name)):
        step(example()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        step(example(), tmp_path / "file" / "page.html")


def test_notebooks_get_the_page_in_a_frame():
    result = step(example(), title='a "title" & <more>')
    frame = result._repr_html_()
    source = re.search(r'srcdoc="([^"]*)"', frame)[1]
    assert html.unescape(source) == result.html
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert 'title="a &quot;title&quot; &amp; &lt;more&gt;"' in frame


def test_a_page_is_one_line_at_the_prompt():
    assert repr(step(example(), names={})) == "<Page 'L = f*a': save it with .save('step.html')>"
    assert len(repr(step(example(), title="x" * 1000))) < 100


def test_the_title_is_what_was_given_or_the_root():
    assert step(example(), title="mine").title == "mine"
    a = Value(1.0, label="a")
    assert step(a * 2.0, names={}).title == "L = a*2"


# -- room and time -----------------------------------------------------------------------------------------------------


def test_a_long_label_is_cut_wherever_the_page_has_it():
    a = Value(1.0, label="a" * 1_000_000)
    text = step(a * a, names={}).html
    assert size_beside(text) < 5_000
    assert max(map(len, re.findall("a+", text))) < 500


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_a_graph_over_the_limit_is_refused_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_ON_PAGE", 6)
    with pytest.raises(TooLargeError, match="7 nodes, and the page takes at most 6: "):
        step(example(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_graph_whose_passes_are_recorded_has_a_limit_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "MOST_RECORDED", 6)
    assert step(example(), names={}).html
    with pytest.raises(TooLargeError, match=r"at most 6 whose passes have to be recorded: .*viz\.trace"):
        step(shared(), tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_what_backward_refuses_is_refused():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="not a scalar"):
        step(x * 2.0)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        step(Tensor(1.0))
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got list"):
        step([Value(1.0)])
    assert step(x * 2.0, gradient=[1.0, 3.0]).html


def test_complex_numbers_are_refused_by_name(tmp_path):
    a = Value(2.0, label="a")
    root = a * 3.0
    a.data = 1 + 2j
    with pytest.raises(UserError, match="a is complex128, and only real numbers can be shown"):
        step(root, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_without_a_dot_program_there_is_a_page_all_the_same(no_dot, tmp_path):
    assert step(example(), tmp_path / "page.html", names={}).html
    assert step(shared(), names={}).html


def test_nan_has_no_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"x": math.nan})
