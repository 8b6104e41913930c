"""Pictures of a pass, one a step, and the animation: what they show, that nothing moves, and what is left behind."""

from __future__ import annotations

import struct
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from command_line import SEVEN, run
from conftest import missing
from stepper import COMBINE, PROGRAMS, seven

import viz
from micrograd import Value
from micrograd.backprop import Node, topological_order
from tensorgrad import Tensor, stack
from viz import animation
from viz.errors import NoDotError, TooLargeError, UserError
from viz.frames import film
from viz.render import find_dot, run_dot
from viz.text import number as number_text
from viz.text import signed

SVG = "{http://www.w3.org/2000/svg}"
PURPLE, RED = "#7a3e9d", "#a30d3d"
MODES = ("add", "overwrite", "recursion")


@pytest.fixture(autouse=True)
def _dot() -> None:
    try:
        find_dot()
    except NoDotError:
        missing("no dot program is installed")


@pytest.fixture
def pillow() -> ModuleType:
    try:
        import PIL.Image
    except ImportError:
        missing("Pillow is not installed")
    return PIL.Image


def named() -> Node:
    """The seven nodes, each with its name."""
    root = seven(Value)
    for node, name in zip(topological_order(root), "abdcefL", strict=True):
        node.label = name
    return root


class Drawn:
    """An SVG as what a reader sees: the texts of each node, of the caption, and how borders are drawn."""

    def __init__(self, source: str) -> None:
        self.root = ElementTree.fromstring(run_dot(source, "svg"))
        self.groups = {
            title.text.replace(":c", ""): group
            for group in self.root.iter(f"{SVG}g")
            if (title := group.find(f"{SVG}title")) is not None
        }

    def texts(self, name: str) -> list[str]:
        return [(text.text or "").strip("\N{NO-BREAK SPACE} ") for text in self.groups[name].iter(f"{SVG}text")]

    def caption(self) -> str:
        graph = next(group for group in self.root.iter(f"{SVG}g") if group.get("class") == "graph")
        return " ".join("".join(text.itertext()) for text in graph.findall(f"{SVG}text")).replace("\xa0", " ")

    def border(self, name: str) -> tuple[str, float, bool]:
        """Colour, width, and whether it is dashed."""
        shape = next(e for e in self.groups[name].iter() if e.get("stroke", "none") != "none")
        dashed = shape.get("stroke-dasharray") is not None
        return shape.get("stroke").lower(), float(shape.get("stroke-width", 1)), dashed

    def arrival(self, use: str) -> str:
        """What stands on an edge: "" until something arrives."""
        return " ".join(self.texts(use)).replace("•", "")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_moves_from_frame_to_frame(program: str, mode: str) -> None:
    frames = film(PROGRAMS[program](), mode, None, {})
    places = set()
    for number in range(len(frames)):
        lines = [line.split() for line in run_dot(frames[number], "plain").decode().splitlines()]
        places.add(tuple(tuple(line[:6]) for line in lines if line[0] in ("graph", "node")))
    assert len(places) == 1
    assert len(frames) > 2


def test_frames_show_every_gradient_and_contribution_of_the_trace() -> None:
    root = named()
    for mode in ("add", "overwrite"):
        passed = viz.trace(root, COMBINE[mode], names={})
        frames = film(root, mode, None, {})
        assert len(frames) == len(passed) + 1
        held: dict[str, str] = {}
        arrived: dict[str, str] = {}
        for number in range(len(frames)):
            if number:
                step = passed.steps[number - 1]
                held[step.receiver] = f"grad {number_text(step.after)}"
                if step.sender:
                    arrived[f"{step.receiver}{step.sender}s{step.slot}"] = f"← {signed(step.contribution)}"
            drawn = Drawn(frames[number])
            for node in passed.graph.nodes:
                assert drawn.texts(node.key)[-1] == held.get(node.key, "grad not yet")
            for edge in passed.graph.edges:
                use = f"{edge.parent}{edge.child}s{edge.slot}"
                assert drawn.arrival(use).removesuffix(" lost") == arrived.get(use, "")


def test_the_sender_is_dashed_the_receiver_thick_and_the_edge_between_them_too() -> None:
    drawn = Drawn(film(named(), "add", None, {})[3])  # L sends to a
    assert drawn.border("n6") == (PURPLE, 2.5, True)
    assert drawn.border("n0") == (PURPLE, 4, False)
    assert drawn.border("n0n6s1")[0] == PURPLE
    assert drawn.border("n1")[0] != PURPLE
    edge = drawn.groups["n0->n0n6s1"]
    assert edge.find(f"{SVG}path").get("stroke-width") == "4"
    assert edge.find(f"{SVG}polygon") is not None  # the arrowhead at the operand
    assert drawn.groups["n1->n1n2s1"].find(f"{SVG}polygon") is None
    assert drawn.groups["n1n2s1->n2op"].find(f"{SVG}polygon") is not None  # not yet visited: forward


def test_captions_say_the_step_and_what_it_does() -> None:
    frames = film(named(), "add", None, {})
    assert "Before the pass, 8 steps with +=" in Drawn(frames[0]).caption()
    assert "Step 1 of 8: seed → L L.grad += the seed = 1, the first to arrive" in Drawn(frames[1]).caption()
    assert "Step 7 of 8: d → a a.grad += b * d.grad = −6, from 4 to −2" in Drawn(frames[7]).caption()
    assert "Wrong" not in Drawn(frames[8]).caption()


def test_overwriting_shows_what_is_lost_and_what_is_wrong_in_the_end() -> None:
    frames = film(named(), "=", None, {})
    assert Drawn(frames[6]).arrival("n0n6s1") == "← +4"
    drawn = Drawn(frames[7])
    assert drawn.arrival("n0n6s1") == "← +4 lost"
    assert drawn.border("n0n6s1")[2]
    assert "a.grad = b * d.grad = −6, from 4 to −6: what was there is lost" in drawn.caption()
    assert "Wrong" not in drawn.caption()
    assert "Wrong in the end: 1 gradient of 7, e.g. a.grad is −6, not −2" in Drawn(frames[8]).caption()
    assert Drawn(frames[8]).border("n0") == (RED, 3, False)


def test_a_zero_that_is_overwritten_is_not_lost() -> None:
    x = Value(2.0, label="x")
    frames = film(x * 3 + x * 0, "=", None, {})
    assert not any("lost" in frames[number] for number in range(len(frames)))


def test_the_recursion_sends_again_and_ends_wrong() -> None:
    x = Value(3.0, label="x")
    y = x * x
    frames = film(y.relu() * y, "recursion", None, {})
    assert "Wrong in the end" in Drawn(frames[len(frames) - 1]).caption()


def test_the_last_frame_shows_what_hooks_made_of_a_gradient() -> None:
    x = Tensor(3.0, requires_grad=True)
    x.register_hook(lambda grad: grad * 10)
    frames = film(x * x, "add", None, {"x": x})
    assert Drawn(frames[len(frames) - 1]).texts("n0")[-1] == "grad 60.0000"


def test_names_are_shown_and_never_become_markup() -> None:
    evil = '<B>x</B> & \\N "{|}" \x01'
    a = Value(2.0, label=evil)
    frames = film(a * a, "add", None, {})
    shown = evil.replace("\x01", "\ufffd")
    drawn = Drawn(frames[2])
    assert drawn.texts("n0")[0] == shown
    assert f"{shown}.grad" in drawn.caption()


# -- files -------------------------------------------------------------------------------------------------------------


def pixels(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG")
    return struct.unpack(">II", data[16:24])


def test_frames_are_numbered_files_of_one_size(tmp_path: Path) -> None:
    root = named()
    root.backward()
    before = [node.grad for node in topological_order(root)]
    paths = viz.frames(root, tmp_path / "new" / "frames")
    assert [path.name for path in paths] == [f"step-{number:03}.png" for number in range(9)]
    assert sorted((tmp_path / "new" / "frames").iterdir()) == paths
    assert len({pixels(path) for path in paths}) == 1
    assert [node.grad for node in topological_order(root)] == before
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["frames"]


def test_an_earlier_calls_pictures_are_replaced(tmp_path: Path) -> None:
    viz.frames(named(), tmp_path / "frames")
    paths = viz.frames(seven(Value) * 1.0, tmp_path / "frames", format="svg")
    assert sorted((tmp_path / "frames").iterdir()) == paths
    assert ElementTree.fromstring(paths[0].read_bytes()).tag == f"{SVG}svg"
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]


def test_other_files_are_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "step-000.png").touch()
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(UserError, match=r"holds other files, e\.g\. thesis\.txt; name a new or empty folder"):
        viz.frames(named(), tmp_path)
    with pytest.raises(UserError, match="it is a file, not a folder"):
        viz.frames(named(), tmp_path / "thesis.txt")
    with pytest.raises(UserError, match=r"cannot write to .*thesis\.txt is a file, not a folder"):
        viz.frames(named(), tmp_path / "thesis.txt" / "frames")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(UserError, match="you are in that folder"):
        viz.frames(named(), ".")
    assert (tmp_path / "thesis.txt").read_text() == "years"


@pytest.mark.parametrize("error", [UserError("no"), KeyboardInterrupt()])
def test_a_failure_on_the_way_leaves_what_was_there(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {path.name: path.read_bytes() for path in viz.frames(named(), tmp_path / "frames")}
    calls = []

    def failing(source: str, format: str) -> bytes:
        calls.append(source)
        if len(calls) == 5:
            raise error
        return b"x"

    monkeypatch.setattr(sys.modules["viz.frames"], "run_dot", failing)
    for folder in ("frames", "new"):
        calls.clear()
        with pytest.raises(type(error)):
            viz.frames(named(), tmp_path / folder, mode="=")
    assert {path.name: path.read_bytes() for path in (tmp_path / "frames").iterdir()} == kept
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "gif"}, "cannot draw frames as 'gif': the formats are png and svg"),
        ({"mode": "sideways"}, r"mode is 'sideways'; it can be add \(\+=\), overwrite \(=\) or recursion"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        viz.frames(named(), tmp_path / "frames", **options)
    assert not list(tmp_path.iterdir())


def test_too_much_is_refused_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.frame_dot.run_dot", lambda *_: pytest.fail("drawn"))
    with pytest.raises(TooLargeError, match=r"61 nodes, and frames take at most 60: draw a smaller part"):
        viz.frames(sum((Value(1.0) for _ in range(30)), Value(1.0)), tmp_path / "frames")
    x = Tensor(np.ones(2), requires_grad=True)
    with pytest.raises(TooLargeError, match=r"502 steps, and frames show at most 499"):
        viz.frames(stack([x] * 500).sum(), tmp_path / "frames")
    y = Value(1.0)
    for _ in range(12):
        y = y.relu() * y  # twice as many paths
    with pytest.raises(TooLargeError, match=r"\d,\d\d\d steps"):
        viz.frames(y, tmp_path / "frames", mode="recursion")
    assert not list(tmp_path.iterdir())


def test_without_a_dot_program_no_folder_is_left(no_dot: None, tmp_path: Path) -> None:
    with pytest.raises(NoDotError):
        viz.frames(named(), tmp_path / "frames")
    assert not list(tmp_path.iterdir())


# -- the animation -----------------------------------------------------------------------------------------------------


def test_the_animation_has_every_step_and_rests_at_the_end(pillow: ModuleType, tmp_path: Path) -> None:
    path = viz.animate(named(), tmp_path / "pass.gif", seconds=0.5, mode="=")
    with pillow.open(path) as gif:
        assert gif.n_frames == 9
        assert gif.info["loop"] == 0
        times = []
        pictures = set()
        for number in range(9):
            gif.seek(number)
            times.append(gif.info["duration"])
            pictures.add(gif.convert("RGB").tobytes())
    assert times == [500] * 8 + [1500]
    assert len(pictures) == 9


def test_the_animations_colours_are_the_pictures_own(pillow: ModuleType, tmp_path: Path) -> None:
    """Text and borders keep their colours: few colours that are chosen anew in each frame would flicker."""
    path = viz.animate(named(), tmp_path / "pass.gif", mode="=")
    with pillow.open(path) as gif:
        gif.seek(8)
        colours = {f"#{bytes(colour).hex()}" for _, colour in gif.convert("RGB").getcolors(1 << 16)}
    assert {PURPLE, RED, "#0072b2", "#e3f0f9", "#ffffff"} <= colours


@pytest.mark.parametrize(
    ("name", "seconds", "said"),
    [("pass.png", 1, r"should end in \.gif"), ("pass.gif", 0, "cannot be shown"), ("pass.gif", float("nan"), "cannot")],
)
def test_animations_that_cannot_be_are_refused(name: str, seconds: float, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        viz.animate(named(), tmp_path / name, seconds=seconds)


def test_without_pillow_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(animation, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"Pillow, which is not installed: pip install pillow"):
        viz.animate(named(), tmp_path / "pass.gif")
    assert not list(tmp_path.iterdir())


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_command_draws_instead_of_writing_a_page(folder: Path) -> None:
    told = "wrote 9 pictures into slides, step-000.svg to step-008.svg\n"
    assert run("step", *SEVEN, "--frames", "slides", "--format", "svg", "--mode", "=") == (0, told, "")
    assert len(list((folder / "slides").iterdir())) == 9
    assert not (folder / "steps.html").exists()
    assert "lost" in (folder / "slides" / "step-008.svg").read_text(encoding="utf-8")


def test_the_command_writes_an_animation_and_a_page(pillow: ModuleType, folder: Path) -> None:
    status, out, err = run("step", *SEVEN, "--gif", "pass.gif", "--seconds", "0.1", "-o", "page.html")
    assert (status, err) == (0, "")
    assert "wrote pass.gif\n" in out
    assert (folder / "page.html").exists()
    with pillow.open(folder / "pass.gif") as gif:
        assert gif.info["duration"] == 100


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "svg"], "--format is for --frames"),
        (["--seconds", "1"], "--seconds is for --gif"),
        (["--gif", "pass.gif", "--seconds", "0"], "'0' is no time: write a number of seconds from 0.02 to 60"),
        (["--gif", "pass.mp4"], "should end in .gif"),
        (["--frames", "."], "you are in that folder"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], said: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    status, out, err = run("step", *SEVEN, *options)
    assert (status, out) == (2, "")
    assert said in err
    assert sorted(folder.iterdir()) == before
