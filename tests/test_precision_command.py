"""examples/precision.py: what it finds in checkpoints and files of arrays, prints and writes, and what it refuses."""

from __future__ import annotations

import importlib
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from surprised import caller, trained

import tensorgrad

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import precision
from chars.checkpoint import load, model_of
from chars.corpus import Corpus
from chars.settings import Settings
from chars.training import Batches
from precision_lab.formats import NEEDS, formats
from precision_lab.gradients import Gradients, gradients_of
from precision_lab.picture import figure_of
from precision_lab.report import reported
from precision_lab.wording import power, size

from tensorgrad.nn import functional as F
from viz.plots import paper


@pytest.fixture
def run(character_run, tmp_path, monkeypatch, capsys):
    """`run(*arguments)` in an empty folder; see `caller`."""
    monkeypatch.chdir(tmp_path)
    return caller(precision.main, character_run, capsys)


@pytest.fixture
def numbers(run):
    """`numbers(*arguments)`: what --json prints."""

    def call(*arguments: str) -> dict:
        status, out, _ = run(*arguments, "--json")
        assert status == 0
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))

    return call


# -- a character model -------------------------------------------------------------------------------------------------


def test_the_gradients_of_a_checkpoint_are_those_of_its_loss(character_run):
    found = gradients_of(character_run / "checkpoint.npz")
    saved = load(character_run / "checkpoint.npz")
    model = model_of(saved, "checkpoint")
    corpus = Corpus((character_run / "text.txt").read_text(encoding="utf-8"))
    [(tokens, targets)] = Batches(corpus.encode(corpus.train), saved.settings).draw()
    F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
    assert set(found.arrays) == {name for name, _ in model.named_parameters()}
    for name, p in model.named_parameters():
        np.testing.assert_array_equal(found.arrays[name], p.grad)
    assert "after step 30, on 8 sequences of 16 characters" in found.about
    assert found.of_gpt
    assert not found.remarks


def test_what_is_lost_of_the_keys_biases_is_told(run, numbers):
    found = numbers("CHECKPOINT")
    assert found["key_biases"]["values"] == 16
    assert found["key_biases"]["lost"] == 16  # rounding errors of float32, far below what fp16 holds
    _, out, _ = run("CHECKPOINT")
    assert "16 belong to the biases of attention's keys" in " ".join(out.split())


def test_blocks_add_up(numbers):
    found = numbers("CHECKPOINT")
    assert [block["name"] for block in found["blocks"]] == ["tokens", "positions", "blocks.0", "norm"]
    for name in ("values", "lost"):
        assert sum(block[name] for block in found["blocks"]) == found["formats"]["fp16"]["plain"][name]
    assert sum(b["lost_scaled"] for b in found["blocks"]) == found["formats"]["fp16"]["scaled"]["lost"]
    histogram = found["histogram"]
    assert sum(histogram["plain"]) == found["values"] - found["zero"]
    assert histogram["scaled"] == [*16 * [0], *histogram["plain"][:-16]]  # times 65,536


def test_a_divided_loss_is_a_smaller_scale(numbers):
    found = numbers("CHECKPOINT", "--divide", "1024")
    undone = numbers("CHECKPOINT", "--scale", str(1 / 1024))
    plain = found["formats"]["fp16"]["plain"]
    assert plain == undone["formats"]["fp16"]["scaled"]
    assert plain["share_lost"] > undone["formats"]["fp16"]["plain"]["share_lost"]
    assert found["gradients"].endswith("divided by 1024")


def test_without_a_file_a_model_is_trained(run, character_run, monkeypatch):
    text = str(character_run / "text.txt")
    small = {"text": text, "blocks": 1, "heads": 1, "width": 8, "context": 8, "batch": 2}
    monkeypatch.setattr(precision, "Settings", lambda steps: Settings(steps=steps, **small))
    status, out, err = run("--steps", "3")
    assert status == 0
    assert "the character model is trained first, 3 steps" in err
    assert "step 3 of 3" in err
    assert out.startswith("gradients  character model after step 3, on 2 sequences of 8 characters")


@pytest.fixture
def small_runs(character_run, monkeypatch):
    small = Settings(text=str(character_run / "text.txt"), steps=2, blocks=1, heads=1, width=8, context=8, batch=2)
    monkeypatch.setattr(precision, "SETTINGS", small)


def test_runs_are_compared(run, small_runs, tmp_path):
    status, out, err = run("--train", "--steps", "3", "-o", "runs.svg")
    assert status == 0
    assert "precision.py: 5 runs of 3 steps each" in err
    for name in ("float32", "fp16", "fp16, GradScaler", "bf16"):
        assert f"\n{name}" in out
    assert "picture: runs.svg" in out
    assert (tmp_path / "runs.svg").exists()


def test_runs_in_the_formats_that_are_named(run, small_runs):
    status, out, _ = run("--train", "--formats", "fp8-e5m2", "--json")
    assert status == 0
    runs = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))["runs"]
    assert [each["format"] for each in runs] == ["float32", "fp8-e5m2"]
    assert [len(each["losses"]) for each in runs] == [2, 2]


def test_a_bug_and_accumulation_are_told(character_run, tmp_path):
    saved = load(character_run / "checkpoint.npz")
    from_file = vars(saved.settings) | {"bug": "detached-positions", "accumulate": 4}
    content = {name: getattr(saved, name) for name in vars(saved)} | {"format": "char_gpt 1", "settings": from_file}
    tensorgrad.save(content, tmp_path / "bug.npz")
    found = gradients_of(tmp_path / "bug.npz")
    assert found.remarks[0] == "No gradient reaches positions.weight."
    assert "with the bug detached-positions" in found.remarks[1]
    assert "--divide 4" in found.remarks[2]


def test_a_bug_of_the_loss_is_in_its_gradients(character_run, tmp_path):
    saved = load(character_run / "checkpoint.npz")
    content = {name: getattr(saved, name) for name in vars(saved)}
    content |= {"format": "char_gpt 1", "settings": vars(saved.settings) | {"bug": "loss-times-40"}}
    tensorgrad.save(content, tmp_path / "bug.npz")
    found, sound = (gradients_of(path).arrays for path in (tmp_path / "bug.npz", character_run / "checkpoint.npz"))
    for name, array in found.items():
        np.testing.assert_allclose(array, 40 * sound[name], rtol=1e-3, atol=1e-5)


def test_what_float32_cannot_hold_is_told_of_the_values_that_it_changes(tmp_path):
    np.savez(tmp_path / "g.npz", w=np.array([np.inf, np.nan, 0.0, 1.0, 1e300, -1e300, 1e-50]))
    [remark] = gradients_of(tmp_path / "g.npz").remarks
    assert remark.endswith("2 values above 3.4e+38 became inf, 1 value below 7e-46 became 0.")


def test_what_overflows_leaves_no_direction(run, numbers):
    np.savez("g.npz", w=np.float32([3e-5, 1.0, 2.0]))
    _, out, _ = run("g.npz", "--formats", "fp16")
    one, large = (line.split() for line in out.splitlines() if line.startswith(("fp16   ", "      65,536")))
    assert (one[-2:], large[-2:]) == (["0", "1.000000"], ["2", "none"])
    assert numbers("g.npz", "--formats", "fp16")["formats"]["fp16"]["scaled"]["cosine"] == pytest.approx(1)


def test_gradients_are_of_one_micro_batch_and_the_same_each_time(character_run, tmp_path):
    saved = load(character_run / "checkpoint.npz")
    content = {name: getattr(saved, name) for name in vars(saved)} | {"format": "char_gpt 1"}
    found = []
    for count in (1, 4):
        settings = vars(saved.settings) | {"accumulate": count, "dropout": 0.3}
        tensorgrad.save(content | {"settings": settings}, tmp_path / "made.npz")
        tensorgrad.manual_seed(count)
        found.append(gradients_of(tmp_path / "made.npz").arrays)
    once, again = found
    assert again.keys() == once.keys()
    for name, array in once.items():
        np.testing.assert_array_equal(again[name], array)


# -- arrays ------------------------------------------------------------------------------------------------------------


def test_arrays_of_all_kinds_of_numbers(numbers, tmp_path):
    np.savez(
        tmp_path / "g.npz",
        **{
            "w.0": np.array([1e-9, 0.5, 0], ">f4"),
            "half": np.float16(2),
            "whole": np.arange(3),
            "double": np.array([1e-50, 1e300]),
            "empty": np.zeros((0, 4)),
        },
    )
    found = numbers("g.npz", "--formats", "fp16,bf16")
    assert list(found["formats"]) == ["fp16", "bf16"]
    assert (found["values"], found["zero"], found["odd"]) == (9, 3, 1)
    assert found["remarks"] == [
        "'double', float64, is read as float32: 1 value above 3.4e+38 became inf, 1 value below 7e-46 became 0."
    ]
    fp16, bf16 = (found["formats"][name]["plain"] for name in ("fp16", "bf16"))
    assert (fp16["lost"], bf16["lost"]) == (1, 0)
    assert found["formats"]["fp16"]["overflows_from"] == 65_520


def test_inf_and_nan_are_counted_and_told(run, tmp_path):
    np.savez(tmp_path / "g.npz", a=np.float32([np.nan, np.inf, 1e-9, 1.0]))
    status, out, _ = run("g.npz")
    assert status == 0
    assert "2 inf or nan" in out
    assert "2 values are inf or nan already: GradScaler would skip" in out


def test_all_zeros(run, numbers, tmp_path):
    np.savez(tmp_path / "g.npz", a=np.zeros(5))
    out = run("g.npz")[1]
    assert "rounding changes nothing" in out
    assert re.search(r"fp16 .* any +any", out)  # scales
    found = numbers("g.npz")
    assert found["largest"] is None
    assert found["formats"]["fp16"]["largest_scale"] is None
    assert run("g.npz", "-o", "zeros.svg", "-o", "zeros.html")[0] == 0


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        ("65536", "In fp16 GradScaler would skip this step and halve its scale, down to 32,768 with such gradients."),
        ("100000", "the largest power of two at which nothing overflows is 32,768"),
        ("32768", "none overflows, at the scale 32,768 as without"),
    ],
)
def test_what_gradscaler_would_do(run, tmp_path, scale, told):
    np.savez(tmp_path / "g.npz", a=np.float32([1.0, 0.5]))
    assert told in " ".join(run("g.npz", "--scale", scale)[1].split())


def test_many_blocks_are_cut_to_those_that_lose_most(run, tmp_path):
    np.savez(tmp_path / "g.npz", **{f"h.{i}.w": np.full(3, 10.0**-i, np.float32) for i in range(30)})
    out = run("g.npz", "--formats", "fp16")[1]
    assert "6 more that lose no larger share" in out
    assert "\nh.29 " in out


def test_one_scale_is_shown_once(run, tmp_path):
    np.savez(tmp_path / "g.npz", a=np.float32([1e-9, 1.0]))
    out = run("g.npz", "--scale", "1", "--formats", "fp16")[1]
    assert "fp16 rounds 1 of 2 nonzero values (50 %) to 0, and none overflows." in out
    assert out.count("\nfp16 ") == 3  # counts, limits, words


# -- files -------------------------------------------------------------------------------------------------------------


def test_pictures_and_pages_are_written(run, tmp_path):
    names = ["a.svg", "b.png", "sub/c.html"]
    status, out, _ = run("CHECKPOINT", *(part for name in names for part in ("-o", name)), "--theme", "dark")
    assert status == 0
    assert "picture: a.svg" in out
    assert "page: sub/c.html" in out
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "</html>" in (tmp_path / "sub/c.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("values", [[1e30, 1e-40], [1e-3], []])
def test_the_picture_has_room_for_every_formats_limits(values):
    report = reported(Gradients({"g": np.array(values, np.float32)}, "a test"), formats(), 65536.0)
    figure = figure_of(report, paper.theme_of("light"))
    figure.draw_without_rendering()
    limits = figure.axes[-1]
    assert [text.get_text() for text in limits.texts[:2]] == ["5.96e-08", "65,504"]
    for text in limits.texts:
        box = text.get_window_extent()
        assert limits.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text


def test_the_key_hides_no_bar():
    even = np.repeat(2.0 ** np.arange(-45, 30), 1000).astype(np.float32)
    for values in (even, even[::1000], np.float32([1e-9, 1e5])):
        figure = figure_of(reported(Gradients({"a": values}, "all sizes"), formats()[:1], 2.0), paper.theme_of("light"))
        figure.draw_without_rendering()
        for axes in figure.axes[:2]:
            key = axes.get_legend().get_window_extent()
            assert not any(key.overlaps(bar.get_window_extent()) for bar in axes.patches)


def test_where_stderr_is_closed_stdout_has_the_numbers_alone(tmp_path, monkeypatch, capsys):
    np.savez(tmp_path / "g.npz", a=np.zeros(2))
    monkeypatch.setattr(precision, "LONG", 1)  # something is said on stderr
    monkeypatch.setattr(sys, "stderr", None)
    status = precision.main([str(tmp_path / "g.npz"), "--json"])
    assert status == 0
    assert json.loads(capsys.readouterr().out)["values"] == 2


@pytest.mark.parametrize("script", ["depth", "precision", "surprise"])
def test_scripts_run_without_their_docstrings(script, monkeypatch):
    module = importlib.import_module(script)
    monkeypatch.setattr(module, "__doc__", None)  # as with python -OO
    assert module.parser().format_usage().startswith(f"usage: {script}.py")


def test_of_many_arrays_that_lose_values_some_are_named(numbers, tmp_path):
    for arrays, said in ((7, 7), (8, 7)):
        np.savez(tmp_path / "g.npz", **{f"a{i}": np.array([1e-300, 1.0]) for i in range(arrays)})
        remarks = numbers("g.npz")["remarks"]
        assert len(remarks) == said
    assert remarks[-1] == "2 more arrays lost values in the same way."


def test_names_that_have_no_parts(run, tmp_path):
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as archive:
        for name in (".npy", "...npy"):
            archive.writestr(name, npy("<f4", (1,), bytes(4)))
    assert re.search(r"^\.npy .*\n\.\. ", run("g.npz")[1], re.MULTILINE)


def test_the_same_numbers_give_the_same_output(run):
    assert run("CHECKPOINT")[1] == run("CHECKPOINT")[1]


def test_without_ml_dtypes_there_is_fp16(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    status, out, err = run("CHECKPOINT")
    assert status == 0
    assert err == f"precision.py: only fp16 is shown: {NEEDS}\n"
    assert "bf16 " not in out.replace("none in bf16", "")
    assert run("CHECKPOINT", "--formats", "bf16")[0] == 2


# -- bad input ---------------------------------------------------------------------------------------------------------


def write_entry(path: Path, content: bytes, packed: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with the array a, whose bytes those are. Returns the archive's."""
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("a.npy", content)
    return path.read_bytes()


def npy(descr: object, shape: tuple[int, ...], numbers: bytes = b"") -> bytes:
    """What numpy.save would write of such an array, whether or not the numbers are all there."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + numbers


def write_damaged(folder: Path) -> None:
    """Files that say they hold more than they do, or that no longer unpack."""
    write_entry(folder / "shape.npz", npy("<f4", (10**13,)))
    write_entry(folder / "shapes.npz", npy("<f4", (10**6,) * 4))
    write_entry(folder / "short.npz", npy("<f4", (100,), bytes(396)))
    write_entry(folder / "fp8.npz", npy("<f1", (2,), bytes(2)))
    write_entry(folder / "pairs.npz", npy(("<f4", (2,)), (3,), bytes(24)))
    for name, packed in (("lzma", zipfile.ZIP_LZMA), ("zlib", zipfile.ZIP_DEFLATED)):
        content = bytearray(write_entry(folder / f"{name}.npz", npy("<f4", (100,), bytes(range(200)) * 2), packed))
        content[60:64] = b"\xff" * 4
        (folder / f"{name}.npz").write_bytes(content)
    content = bytearray(write_entry(folder / "locked.npz", npy("<f4", (1,), bytes(4))))
    for flags in (6, content.index(b"PK\1\2") + 8):
        content[flags] |= 1
    (folder / "locked.npz").write_bytes(content)


def write_bad(folder: Path, character_run: Path) -> None:
    write_damaged(folder)
    (folder / "b.html").mkdir()
    np.savez(folder / "good.npz", a=np.float32([1.0]))
    np.savez(folder / "none.npz")
    np.savez(folder / "empty.npz", a=np.zeros((0, 3)))
    np.savez(folder / "objects.npz", a=np.array([{}], object))
    np.savez(folder / "strings.npz", a=np.array(["x"]))
    np.savez(folder / "complex.npz", **{"a\nb": np.array([1j])})
    np.savez(folder / "bool.npz", a=np.array([True]))
    np.savez(folder / "raw.npz", a=np.zeros(2, "V2"))
    (folder / "nothing.npz").write_bytes(b"")
    (folder / "text.npz").write_text("1 2 3")
    whole = (folder / "good.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "changed.npz").write_bytes(whole.replace(np.float32(1).tobytes(), b"abcd", 1))
    with (
        zipfile.ZipFile(character_run / "checkpoint.npz") as old,
        zipfile.ZipFile(folder / "version.npz", "w") as new,
        zipfile.ZipFile(folder / "newer.npz", "w") as newer,
        zipfile.ZipFile(folder / "json.npz", "w") as broken,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"char_gpt 1", b"char_gpt 0"))
            newer.writestr(name, old.read(name).replace(b"tensorgrad 1", b"tensorgrad 7"))
        broken.writestr("structure.json", "[1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.npz"], "there is no file 'missing.npz'"),
        ([""], "path of the gradients is empty"),
        (["."], "'.' is a folder: give the path"),
        (["nothing.npz"], "is no .npz file, or is damaged"),
        (["text.npz"], "not a zip file"),
        (["cut.npz"], "is no .npz file, or is damaged"),
        (["changed.npz"], "is damaged"),
        (["json.npz"], "is damaged"),
        (["none.npz"], "has no arrays in it"),
        (["empty.npz"], "has no numbers in it: 1 array, empty"),
        (["objects.npz"], "the array 'a' is of Python objects"),
        (["strings.npz"], "the array 'a' is of <U1"),
        (["complex.npz"], "the array 'a b' is of complex128"),
        (["bool.npz"], "is of bool"),
        (["raw.npz"], "which NumPy writes bfloat16 and fp8 as"),
        (["shape.npz"], "the array 'a' is damaged: there are 0 bytes for the shape (10000000000000,)"),
        (["shapes.npz"], "0 bytes for the shape (1000000, 1000000, 1000000, 1000000)"),
        (["short.npz"], "there are 396 bytes for the shape (100,)"),
        (["fp8.npz"], "is of a type that NumPy does not know, as fp8"),
        (["pairs.npz"], "is of ('<f4', (2,)); gradients are"),
        (["lzma.npz"], "is damaged"),
        (["zlib.npz"], "is damaged"),
        (["locked.npz"], "is encrypted"),
        (["/dev/null"], "'/dev/null' is a pipe or a device"),
        (["version.npz"], "no checkpoint of a character model"),
        (["newer.npz"], "has the format 'tensorgrad 7'"),
        (["good.npz", "--scale", "nan"], "--scale is nan"),
        (["good.npz", "--scale", "0"], "--scale is 0; it must be a number from 1.2e-38 to 3.4e+38"),
        (["good.npz", "--scale=-1"], "--scale is -1"),
        (["good.npz", "--scale", "inf"], "--scale is inf"),
        (["good.npz", "--scale", "big"], "invalid float value: 'big'"),
        (["good.npz", "--divide", "0"], "--divide is 0"),
        (["good.npz", "--formats", "fp16,fp4"], "there is none of the name 'fp4'; there are fp16, bf16"),
        (["good.npz", "--formats", ""], "there is none of the name ''"),
        (["good.npz", "--steps", "5"], "--steps is for a model that is trained now"),
        (["--steps", "0"], "--steps is 0; it must be 1 or more"),
        (
            ["good.npz", "-o", "picture.gif"],
            "-o 'picture.gif': end the name in .html for the page, or .png, .svg or .pdf",
        ),
        (["good.npz", "-o", "a.svg", "-o", "b.html"], "-o 'b.html': it is a folder; name a file in it"),
        (["good.npz", "-o", ""], "end the name"),
        (["good.npz", "--theme", "pink"], "invalid choice: 'pink'"),
        (["good.npz", "--theme", "dark", "-o", "new.html"], "--theme is for the picture: add -o"),
        (["good.npz", "-o", "good.npz/new.svg"], "'good.npz' is a file, not a folder"),
        (["good.npz", "--train"], "--train makes runs of its own: leave out FILE"),
        (["--train", "--scale", "2"], "leave out --scale"),
        (["--train", "-o", "a.html"], "--train draws pictures"),
        (["--train", "--formats", "fp8-e4m3"], "--train makes no run in fp8-e4m3"),
        (["--train", "--steps", "-1"], "--steps is -1"),
        (["good.npz", "other.npz"], "unrecognized arguments"),
    ],
)
def test_bad_input_is_told_in_one_line(run, character_run, tmp_path, arguments, told):
    write_bad(tmp_path, character_run)
    before = sorted(tmp_path.iterdir())
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("precision.py: ")
    assert err.count("\n") == 1
    assert told in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_text_that_has_changed_is_refused(run, character_run, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    trained(folder)
    (folder / "text.txt").write_text("another text, and a long one" * 10, encoding="utf-8")
    status, _, err = run(str(folder / "checkpoint.npz"))
    assert status == 2
    assert "is another text now" in err


def test_numbers_and_scales_as_text():
    assert [size(x) for x in (65_504.0, 5.96e-8, 0.5, 3.4e38, 464.00003)] == [
        "65,504",
        "5.96e-08",
        "0.5",
        "3.4e+38",
        "464",
    ]
    assert [power(x) for x in (None, 0.5, 1.0, 65_536.0, 2.0**-20, 2.0**100)] == [
        "none",
        "0.5",
        "1",
        "65,536",
        "2^-20",
        "2^100",
    ]
