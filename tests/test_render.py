"""Finding dot programs, and what `draw` gives and refuses."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import struct
import subprocess
import sys
import time
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from graphs import seven_nodes

from micrograd import Value
from micrograd.nn import MLP
from tensorgrad import Tensor
from viz import Drawing, draw, limits, render, step
from viz.errors import NoDotError, TooLargeError, UserError
from viz.render import find_dot, run_dot

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake dot programs are shell scripts")


def program(path: Path, script: str = "") -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def any_dot() -> None:
    """A machine with a dot program, whichever."""
    try:
        find_dot()
    except NoDotError:
        missing("no dot program is installed")


def example() -> Value:
    root, leaves = seven_nodes()
    for name, leaf in leaves.items():
        leaf.label = name
    root.backward()
    return root


# Which program


@posix
def test_the_variable_comes_before_graphviz_pure_before_path(no_dot, monkeypatch, tmp_path):
    on_path = program(tmp_path / "bin" / "dot")
    packaged = program(tmp_path / "packaged" / "graphviz-pure")
    named = program(tmp_path / "named" / "mydot")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_dot() == on_path
    monkeypatch.setattr(render, "_graphviz_pure", lambda: packaged)
    assert find_dot() == packaged
    assert find_dot("png") == packaged
    monkeypatch.setenv("PLUSEQUALS_DOT", str(named))
    assert find_dot() == named
    assert find_dot("pdf") == named
    monkeypatch.setenv("PLUSEQUALS_DOT", "dot")
    assert find_dot() == on_path


@posix
def test_pdf_prefers_the_program_on_path(no_dot, monkeypatch, tmp_path):
    packaged = program(tmp_path / "packaged" / "graphviz-pure")
    monkeypatch.setattr(render, "_graphviz_pure", lambda: packaged)
    assert find_dot("pdf") == packaged
    on_path = program(tmp_path / "bin" / "dot")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_dot("pdf") == on_path


def test_no_program_names_both_installs(no_dot):
    with pytest.raises(NoDotError) as raised:
        find_dot()
    for advice in ["pip install graphviz-pure", "install Graphviz", "PLUSEQUALS_DOT", ".dot"]:
        assert advice in str(raised.value)


def test_a_variable_that_names_no_program_is_an_error(no_dot, monkeypatch):
    monkeypatch.setenv("PLUSEQUALS_DOT", "/no/such/dot")
    with pytest.raises(UserError, match="PLUSEQUALS_DOT is '/no/such/dot', which is no program"):
        find_dot()


@posix
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("cat >/dev/null; echo 'Error: something' >&2; exit 1", "mydot could not draw this as pdf: Error: something"),
        ("cat >/dev/null; exit 3", "could not draw this as pdf: exit status 3; for PDF, Graphviz's own dot"),
        ("cat >/dev/null", "could not draw this as pdf: it wrote nothing"),
    ],
)
def test_a_program_that_fails_is_an_error_of_one_line(no_dot, monkeypatch, tmp_path, script, message):
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PLUSEQUALS_DOT", str(program(tmp_path / "mydot", script)))
    with pytest.raises(UserError) as raised:
        run_dot("digraph {}", "pdf")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@posix
def test_of_a_missing_format_the_hint_is_told_alone(no_dot, monkeypatch, tmp_path):
    script = """cat >/dev/null; echo 'Format: "pdf" not recognized. Use one of: canon cmap dot' >&2; exit 1"""
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PLUSEQUALS_DOT", str(program(tmp_path / "mydot", script)))
    with pytest.raises(UserError, match=r"^mydot could not draw this as pdf: for PDF, Graphviz's own dot has to be on"):
        run_dot("digraph {}", "pdf")


@posix
def test_a_program_that_cannot_start_is_an_error(no_dot, monkeypatch, tmp_path):
    broken = program(tmp_path / "broken")
    broken.write_text("#!/no/such/interpreter\n")
    monkeypatch.setenv("PLUSEQUALS_DOT", str(broken))
    with pytest.raises(UserError, match="broken could not be run: No such file"):
        run_dot("digraph {}", "svg")


@posix
@pytest.mark.parametrize("format", ["png", "svg", "pdf", "plain"])
@pytest.mark.parametrize("script", ["echo $@", r"printf '\377'", r"printf '<svg\377'"], ids=["words", "byte", "half"])
def test_a_program_that_answers_something_else_is_an_error(no_dot, monkeypatch, tmp_path, script, format):
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setenv("PLUSEQUALS_DOT", str(program(tmp_path / "mydot", f"cat >/dev/null; {script}")))
    with pytest.raises(UserError, match=f"mydot did not answer with {format}, as a dot program would"):
        run_dot("digraph {}", format)
    if format == "plain":
        return
    drawing, path = Drawing("digraph {}"), tmp_path / f"o.{format}"
    with pytest.raises(UserError, match="mydot did not answer"):
        drawing.save(path)
    assert not path.exists()
    assert drawing._repr_svg_() is None
    assert "mydot did not answer with svg" in drawing._repr_html_()


@posix
def test_a_relative_name_is_not_looked_up_on_path(no_dot, monkeypatch, tmp_path):
    here = program(tmp_path / "mydot", "cat >/dev/null; echo '<svg>here</svg>'")
    on_path = program(tmp_path / "bin" / "mydot", "cat >/dev/null; echo '<svg>on PATH</svg>'")
    monkeypatch.setenv("PATH", f"{on_path.parent}{os.pathsep}{os.defpath}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLUSEQUALS_DOT", "./mydot")
    assert find_dot() == here
    assert run_dot("digraph {}", "svg") == b"<svg>here</svg>\n"


@posix
def test_a_program_that_hangs_is_ended_with_all_that_it_started(no_dot, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", os.defpath)
    hanging = program(tmp_path / "mydot", f"echo $$ > {tmp_path}/pids; sleep 600 & echo $! >> {tmp_path}/pids; wait")
    monkeypatch.setenv("PLUSEQUALS_DOT", str(hanging))
    monkeypatch.setattr(render, "_LONGEST", 2)
    with pytest.raises(UserError, match="mydot was ended after 2 seconds without a picture: draw a smaller part"):
        run_dot("digraph {}", "svg")
    shell, child = (tmp_path / "pids").read_text().split()
    assert ended(shell)
    assert ended(child)


def ended(pid: str) -> bool:
    """Whether a process runs no more, within a few seconds; one that nobody has waited for counts as ended."""
    for _ in range(100):
        state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
        if state.strip()[:1] in ("", "Z"):
            return True
        time.sleep(0.05)
    return False


# Pictures


@pytest.mark.parametrize("suffix", ["png", "svg", "PNG", "dot", "gv"])
def test_the_suffix_decides_the_format(any_dot, tmp_path, suffix):
    path = tmp_path / "new folder" / f"loss.{suffix}"
    drawing = draw(example(), path)
    start = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "dot": b"digraph", "gv": b"digraph"}[suffix.lower()]
    assert path.read_bytes().startswith(start)
    assert list(path.parent.iterdir()) == [path]
    if suffix in ("dot", "gv"):
        assert path.read_text(encoding="utf-8") == drawing.source


def test_pdf_where_an_engine_can(tmp_path):
    if shutil.which("dot") is None:
        missing("Graphviz, which draws PDF, is not installed")
    draw(example(), tmp_path / "loss.pdf")
    assert (tmp_path / "loss.pdf").read_bytes().startswith(b"%PDF")


def test_pdf_with_graphviz_pure_says_what_to_do(monkeypatch, tmp_path):
    packaged = render._graphviz_pure()
    if packaged is None:
        missing("graphviz-pure is not installed")
    monkeypatch.setenv("PLUSEQUALS_DOT", str(packaged))
    with pytest.raises(UserError, match="for PDF, Graphviz's own dot has to be on PATH"):
        draw(example(), tmp_path / "loss.pdf")
    assert not list(tmp_path.iterdir())


def test_dot_text_needs_no_program(no_dot, tmp_path):
    drawing = draw(example(), tmp_path / "loss.dot")
    assert 'label="{a|{data 2.0000|grad −2.0000}}"' in drawing.source


@pytest.mark.parametrize("name", ["loss.jpg", "loss", "loss.", "png"])
def test_an_unknown_suffix_names_those_that_work(tmp_path, name):
    with pytest.raises(UserError, match=re.escape("let it end in one of .png, .svg, .pdf, .dot, .gv")):
        draw(example(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_is_refused():
    with pytest.raises(UserError, match="cannot draw as 'gif': the formats are png, svg, pdf"):
        Drawing("digraph {}").render("gif")


def test_a_missing_program_leaves_the_old_file(no_dot, tmp_path):
    path = tmp_path / "loss.png"
    path.write_text("old")
    with pytest.raises(NoDotError):
        draw(example(), path)
    assert path.read_text() == "old"


def test_what_is_no_node_is_refused():
    with pytest.raises(TypeError, match="expected a Value or a Tensor, got float"):
        draw(2.0)


@pytest.mark.parametrize("data", [[1 + 2j, 3], 1j])
def test_complex_numbers_are_refused_by_name(tmp_path, data):
    impedance = Tensor(np.array(data)) * 2
    with pytest.raises(UserError, match="impedance is complex128, and only real numbers can be shown"):
        draw(impedance, tmp_path / "z.png")
    assert not list(tmp_path.iterdir())


def test_names_come_from_the_caller():
    weight = Value(2.0)
    loss = weight * 3
    assert "{weight|" in draw(loss).source
    assert "{loss|" in draw(loss).source
    assert "{w|" in draw(loss, names={"w": weight}).source


def test_contributions_can_be_left_out():
    root = example()
    assert "←" in draw(root).source
    assert "←" not in draw(root, contributions=False).source


def chain(nodes: int) -> Value:
    """A graph of an odd number of nodes."""
    value = Value(1.0)
    for _ in range(nodes // 2):
        value = value + 1
    return value


def test_a_graph_over_the_limit_is_refused(tmp_path):
    with pytest.raises(TooLargeError, match=r"has 21 nodes, and a picture takes at most 20: .*\(max_nodes=\)"):
        draw(chain(21), tmp_path / "long.png", max_nodes=20)
    assert not list(tmp_path.iterdir())
    assert draw(chain(21), max_nodes=21)
    assert draw(chain(999))
    with pytest.raises(TooLargeError, match="has 1,001 nodes, and a picture takes at most 1,000"):
        draw(chain(1_001))


def test_the_page_is_named_exactly_where_it_takes_the_graph(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ON_PAGE", 2_000)
    with pytest.raises(TooLargeError, match=r"on a page \(viz.step\)"):
        draw(chain(1_999))
    assert step(chain(1_999)).html
    with pytest.raises(TooLargeError) as no_picture:
        draw(chain(2_001))
    with pytest.raises(TooLargeError) as no_page:
        step(chain(2_001))
    for refused in (no_picture, no_page):
        assert "viz.step" not in str(refused.value)
        assert "as text (viz.trace)" in str(refused.value)


def test_a_net_of_394_nodes_gives_a_png_that_opens(any_dot, tmp_path):
    """Figures row 2: the 41-parameter net on four examples."""
    inputs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    random.seed(0)
    net = MLP(3, [4, 4, 1])
    loss = sum((net(x) - y) ** 2 for x, y in zip(inputs, [1.0, -1.0, -1.0, 1.0]))
    loss.backward()
    data = draw(loss).save(tmp_path / "net.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert max(width, height) <= 60 * 144 + 1
    assert min(width, height) > 1000
    assert len(data) < 10_000_000
    assert data.endswith(b"IEND\xaeB`\x82")


# Notebooks


def test_a_notebook_shows_the_svg(any_dot):
    drawing = draw(example())
    svg = ElementTree.fromstring(drawing._repr_svg_())
    assert svg.find("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}title").text.startswith("L = ")
    assert 'fill="white"' in drawing._repr_svg_()
    assert drawing._repr_html_() is None


def test_a_notebook_fits_an_svg_to_the_cell_unless_it_is_very_wide(any_dot, tmp_path):
    drawing = draw(example())
    shown = drawing._repr_svg_()
    fitted = ' style="max-width:100%;height:auto"'
    assert f"<svg{fitted} width=" in shown
    assert drawing.save(tmp_path / "loss.svg").read_text(encoding="utf-8") == shown.replace(fitted, "")
    assert fitted not in draw(chain(41))._repr_svg_()


def test_a_notebook_without_a_program_shows_the_text_and_the_way_out(no_dot):
    root = example()
    root.label = "<script>"
    drawing = draw(root)
    assert drawing._repr_svg_() is None
    shown = drawing._repr_html_()
    assert "pip install graphviz-pure" in shown
    assert "digraph" in shown
    assert "<script>" not in shown


def test_drawing_raises_no_warning(any_dot):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(Value(float("nan")).exp())._repr_svg_()
