"""The command line: what each command prints and writes, and how the process ends."""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SEVEN, files_in, run

from micrograd.backprop import add, overwrite
from tensorgrad.ops import functions
from viz import cli, trace
from viz.commands import demo as demo_command
from viz.commands import draw as draw_command
from viz.commands.demo_graphs import network
from viz.commands.demo_report import Report

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


pytestmark = pytest.mark.usefixtures("folder")


# -- draw --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"), [("g.png", b"\x89PNG"), ("g.svg", b"<?xml"), ("g.dot", b"digraph"), ("g.gv", b"digraph")]
)
def test_draw_writes_what_the_suffix_says(folder, name, start):
    status, out, err = run("draw", *SEVEN, "-o", name)
    assert (status, err) == (0, "")
    assert out == f"wrote {name}: relu(a*b + c)*a, 7 nodes\n"
    assert (folder / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("command", "name"), [("draw", "deep/er/g.dot"), ("step", "deep/er/g.html"), ("compare", "deep/er/g.dot")]
)
def test_a_folder_that_is_made_is_told(folder, command, name):
    for told in (f"wrote {name} (made the folder deep/er)", f"wrote {name}"):
        status, out, err = run(command, *SEVEN, "-o", name)
        assert status == 0
        last = (err if command == "compare" else out).strip()
        assert last.partition(": ")[0] == told
        assert (folder / name).exists()


@pytest.mark.parametrize("target", ["net.py:loss", "net.py:twice"])
@pytest.mark.parametrize(("command", "name"), [("draw", "g.dot"), ("step", "g.html"), ("compare", "g.dot")])
def test_a_file_that_changes_the_working_directory_does_not_move_the_output(folder, command, name, target):
    (folder / "elsewhere").mkdir()
    (folder / "net.py").write_text(
        "import os\nfrom micrograd import Value\nos.chdir('elsewhere')\nloss = Value(2) * 3\n"
        "def twice(x=Value(1)):\n    os.chdir('..')\n    return x * 2\n"
    )
    assert run(command, target, "-o", name)[0] == 0
    assert files_in(folder) == ["elsewhere", name]
    assert not list((folder / "elsewhere").iterdir())


@pytest.mark.parametrize("name", ["-.dot", "-graph.dot"])
def test_a_files_name_may_start_with_a_minus(folder, name):
    assert run("draw", "-a*b", "a=2", "b=3", "-o", name)[:2] == (0, f"wrote {name}: -a*b, 4 nodes\n")
    assert files_in(folder) == [name]


def test_draw_without_o_writes_graph_png(folder):
    assert run("draw", *SEVEN)[0] == 0
    assert files_in(folder) == ["graph.png"]


def test_options_may_stand_anywhere(folder):
    expression, *values = SEVEN
    assert run("draw", expression, "a=2", "-o", "g.dot", *values[1:])[0] == 0
    assert run("draw", "-o", "h.dot", *SEVEN)[0] == 0
    assert (folder / "g.dot").read_text() == (folder / "h.dot").read_text()


def test_draw_json_has_data_gradients_and_contributions(folder):
    status, out, err = run("draw", *SEVEN, "--json")
    graph = json.loads(out)
    assert (status, err, files_in(folder)) == (0, "", [])
    nodes = {node["name"]: node for node in graph["nodes"]}
    assert len(graph["nodes"]) == 7
    assert nodes["a"]["data"] == 2.0
    assert nodes["a"]["grad"] == -2.0
    to_a = [edge["contribution"] for edge in graph["edges"] if edge["parent"] == nodes["a"]["key"]]
    assert sorted(to_a) == [-6.0, 4.0]


def test_draw_before_backward():
    graph = json.loads(run("draw", *SEVEN, "--no-backward", "--json")[1])
    assert {node["grad"] for node in graph["nodes"]} == {None}
    assert {edge["contribution"] for edge in graph["edges"]} == {None}


def test_json_and_a_file_together_keep_stdout_clean(folder):
    status, out, err = run("draw", *SEVEN, "--json", "-o", "g.dot")
    assert status == 0
    json.loads(out)
    assert err.startswith("wrote g.dot")
    assert files_in(folder) == ["g.dot"]


def test_nan_and_inf_are_strings_in_json():
    graph = json.loads(run("draw", "a*b", "a=nan", "b=-inf", "--json")[1])
    assert [node["data"] for node in graph["nodes"]] == ["nan", "-inf", "nan"]


def test_lists_make_tensors_and_numbers_values():
    assert json.loads(run("draw", "(a*b).sum()", "a=[1,2]", "b=3", "--json")[1])["nodes"][0]["shape"] == [2]
    scalar = json.loads(run("draw", "relu(a)", "a=1", "--json")[1])
    tensor = json.loads(run("draw", "relu(a)", "a=1", "--tensor", "--json")[1])
    assert [graph["nodes"][1]["op"] for graph in (scalar, tensor)] == ["ReLU", "relu"]


def test_an_expression_may_start_with_a_minus():
    assert json.loads(run("draw", "-a*b", "a=2", "b=3", "--json")[1])["nodes"][-1]["data"] == -6.0


def test_a_seed_for_a_result_of_several_elements():
    for seed, expected in (("ones", [3.0, 3.0]), ("[1, -1]", [3.0, -3.0])):
        graph = json.loads(run("draw", "a*b", "a=[1,2]", "b=3", "--gradient", seed, "--json")[1])
        assert graph["nodes"][0]["grad"] == expected


def test_a_files_variable_keeps_the_gradients_it_has(folder):
    (folder / "net.py").write_text("from micrograd import Value\na = Value(2)\nL = a*3\nL.backward()\na.grad = 7.0")
    assert json.loads(run("draw", "net.py:L", "--json")[1])["nodes"][0]["grad"] == 7.0


def test_a_files_variable_of_several_elements_keeps_the_gradients_it_has(folder):
    (folder / "net.py").write_text(
        "from tensorgrad import Tensor\nx = Tensor([1.0, 2.0], requires_grad=True)\nL = x*3\nL.backward([1.0, -1.0])"
    )
    assert json.loads(run("draw", "net.py:L", "--json")[1])["nodes"][0]["grad"] == [3.0, -3.0]


def test_a_files_variable_without_gradients_gets_them_from_empty(folder):
    (folder / "net.py").write_text("from micrograd import Value\na = Value(2)\na.grad = 7.0\nL = a*3")
    assert json.loads(run("draw", "net.py:L", "--json")[1])["nodes"][0]["grad"] == 3.0


def test_a_files_function_takes_values():
    assert json.loads(run("draw", "net.py:square", "x=[3]", "times=2", "--json")[1])["nodes"][-1]["data"] == [18.0]


def test_a_constant_can_be_drawn_without_a_backward_pass():
    graph = json.loads(run("draw", "net.py:constant", "--no-backward", "--json")[1])
    assert [(node["requires_grad"], node["grad"]) for node in graph["nodes"]] == [(False, None)]


# -- step --------------------------------------------------------------------------------------------------------------


def test_step_writes_a_page(folder):
    status, out, err = run("step", *SEVEN)
    assert (status, err) == (0, "")
    assert out == "wrote steps.html: open it in a browser\n"
    assert "relu(a*b + c)*a" in (folder / "steps.html").read_text(encoding="utf-8")


def test_step_text(folder):
    status, out, err = run("step", *SEVEN, "--text")
    assert (status, err, files_in(folder)) == (0, "", [])
    assert out == (
        "forward: 7 nodes\n"
        "  a = 2\n"
        "  b = -3\n"
        "  d = a*b = -6\n"
        "  c = 10\n"
        "  e = d + c = 4\n"
        "  f = relu(e) = 4\n"
        "  L = f*a = 8\n"
        "\n"
        "backward: 8 steps with +=\n"
        "  1  seed -> L  the seed = 1                  L.grad = 1\n"
        "  2  L -> f     a * L.grad = 2 * 1 = 2        f.grad = 2\n"
        "  3  L -> a     f * L.grad = 4 * 1 = 4        a.grad = 4\n"
        "  4  f -> e     (e > 0) * f.grad = 1 * 2 = 2  e.grad = 2\n"
        "  5  e -> d     e.grad = 2                    d.grad = 2\n"
        "  6  e -> c     e.grad = 2                    c.grad = 2\n"
        "  7  d -> a     b * d.grad = -3 * 2 = -6      a.grad: 4 + (-6) = -2\n"
        "  8  d -> b     a * d.grad = 2 * 2 = 4        b.grad = 4\n"
    )


@pytest.mark.parametrize("mode", ["=", "overwrite"])
def test_step_text_shows_the_bug(mode):
    out = run("step", *SEVEN, "--text", "--mode", mode)[1]
    assert "8 steps with =\n" in out
    assert "a.grad = -6 (4 is lost)" in out


def test_step_text_of_arrays():
    out = run("step", "sum(x @ w)", "x=[[1,2],[3,4],[5,6],[7,8]]", "w=[1,-1]", "--text")[1]
    assert "x.T @ a.grad = [16, 20]" in out
    assert "x = (4, 2) norm 14.28" in out


def test_step_text_spells_a_long_name_in_one_way():
    name = "a" * 60
    out = run("step", f"{name} * relu({name})", f"{name}=2", "--text")[1]
    assert name[:41] not in out
    assert f"{name[:39]}… * L.grad = 2 * 1 = 2" in out


def test_step_text_lists_no_number_that_is_its_own_name():
    out = run("step", "a*3 + 0.5", "a=2", "--text")[1]
    listed = out.partition("\n\n")[0].splitlines()
    assert listed == ["forward: 5 nodes", "  a = 2", "  b = a*3 = 6", "  L = b + 0.5 = 6.5"]


def test_step_json_is_the_trace():
    steps = json.loads(run("step", *SEVEN, "--json", "--mode", "=")[1])
    assert steps["operator"] == "="
    assert steps["steps"][0] == {
        "sender": None,
        "receiver": "n6",
        "slot": 0,
        "rule": "the seed",
        "local_text": None,
        "local": None,
        "upstream": None,
        "contribution": 1.0,
        "before": None,
        "after": 1.0,
        "number": 1,
        "sender_name": None,
        "receiver_name": "L",
    }
    assert steps["grads"]["n0"] == -6.0


# -- compare -----------------------------------------------------------------------------------------------------------


def test_compare_prints_a_table(folder):
    status, out, err = run("compare", *SEVEN, "--no-torch")
    lines = out.splitlines()
    assert (status, err, files_in(folder)) == (0, "", [])
    assert lines[0].split()[:1] == ["name"]
    assert lines[1].split() == ["a", "2.000000", "-2.000000", "-2.000000", "0", "-2.000000", "-6.000000"]
    assert "7 elements of 7 tensor nodes" in out


def test_compare_all_has_a_row_for_every_node():
    out = run("compare", *SEVEN, "--no-torch", "--all")[1]
    assert [line.split()[0] for line in out.splitlines()[1:8]] == ["a", "b", "d", "c", "e", "f", "L"]


def test_compare_with_torch(torch):
    assert "torch" in run("compare", *SEVEN)[1].splitlines()[0]


def test_compare_json_and_picture(folder):
    status, out, err = run("compare", "sum(x @ w)", "x=[[1,2]]", "w=[3,4]", "--no-torch", "--json", "-o", "both.dot")
    assert status == 0
    assert json.loads(out)["ok"] is True
    assert err == "wrote both.dot\n"
    assert files_in(folder) == ["both.dot"]


def test_compare_exits_with_1_on_a_mismatch(monkeypatch):
    right = functions.record  # to be wrong for tanh, in the tensor engine only
    monkeypatch.setattr(
        functions,
        "record",
        lambda op, data, *edges: right(op, data, *((x, (lambda g: g * 0.5) if op == "tanh" else r) for x, r in edges)),
    )
    status, out, _ = run("compare", "tanh(a)*a", "a=0.5", "--no-torch")
    assert status == 1
    assert "DIFFER" in out


def test_compare_a_files_function():
    status, out, _ = run("compare", "net.py:square", "x=3", "--no-torch")
    assert status == 0
    assert "6.000000" in out


def test_compare_a_files_variable():
    assert run("compare", "net.py:loss", "--no-torch")[0] == 0


# -- users' files, through all three commands --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xor", "two_moons"])
def test_examples_through_all_three_commands(folder, name):
    target = f"{EXAMPLES / name}.py:loss"
    assert run("draw", target, "-o", "loss.png")[0] == 0
    assert run("step", target, "-o", "loss.html")[0] == 0
    status, out, err = run("compare", target)
    assert status == 0, err
    assert "DIFFER" not in out
    assert files_in(folder) == ["loss.html", "loss.png"]


def test_a_function_of_an_example():
    target = f"{EXAMPLES / 'two_moons.py'}:loss_at"
    status, out, _ = run("compare", target, "points=[[0, 1], [1, -0.5]]", "side=[[1], [-1]]", "--no-torch")
    assert status == 0
    assert "w1[0, 0]" in out


# -- demo --------------------------------------------------------------------------------------------------------------


def test_demo(folder):
    status, out, err = run("demo", "out")
    assert (status, err) == (0, "")
    figures = [line.split()[-1] for line in out.splitlines() if line.startswith(("  nodes", "  gradient"))]
    assert figures == ["7", "-2", "-6", "7", "-2", "-6", "394", "394"]  # Values, then Tensors
    assert "WRONG" not in out
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(
        [
            *("expression.png", "expression.html", "expression-compare.png", "expression-compare.txt"),
            *("network.png", "network.html", "network-compare.txt"),
        ]
    )
    assert all(path.as_posix() in out for path in Path("out").iterdir())


def test_demo_with_torch_compares_both_dtypes_on_both_engines(torch):
    out = run("demo", "out")[1]
    for line in ("Value from torch, float64", "Value from torch, float32", "Tensor from torch, both float32"):
        assert line in out


def test_demo_without_torch_says_so(monkeypatch):
    monkeypatch.setattr(demo_command, "torch_is_installed", lambda: False)
    status, out, _ = run("demo", "out")
    assert status == 0
    assert out.count("torch is not installed: not compared with it") == 2
    assert "from torch" not in out


def test_demo_json_has_the_figures_and_the_files(folder):
    status, out, err = run("demo", "out", "--json")
    report = json.loads(out, parse_constant=pytest.fail)
    assert (status, err, report["ok"]) == (0, "", True)
    expression, net = report["graphs"]
    figures = {figure["what"]: figure for graph in (expression, net) for figure in graph["figures"]}
    assert figures["gradient of a with =, the bug, Tensors"] == {
        "what": "gradient of a with =, the bug, Tensors",
        "value": -6.0,
        "least": -6,
        "most": -6,
        "ok": True,
    }
    assert figures["Tensor from Value, float64"]["most"] == 1e-12
    assert sorted(Path(file["path"]).name for file in report["files"]) == sorted(
        path.name for path in (folder / "out").iterdir()
    )


@pytest.mark.parametrize("engine", ["Value", "Tensor"])
def test_demo_finds_what_is_wrong_with_either_engine(monkeypatch, engine):
    def trace_wrong(root, combine, **options):
        if type(root).__name__ == engine:
            combine = overwrite if combine is add else add
        return trace(root, combine, **options)

    monkeypatch.setattr(demo_command, "trace", trace_wrong)
    status, out, _ = run("demo", "out")
    assert status == 1
    wrong = [line.split("  ")[1] for line in out.splitlines() if line.endswith("WRONG")]
    assert wrong == [f"gradient of a with +=, {engine}s", f"gradient of a with =, the bug, {engine}s"]


def test_a_figure_that_is_nan_is_wrong():
    report = Report("a graph")
    report.at_most("distance", float("nan"), 1.0)
    assert not report.ok


def test_the_demo_network_is_the_same_every_time_and_leaves_random_alone():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    first = network()
    assert random.random() == expected
    assert network().root.data == first.root.data


# -- the process -------------------------------------------------------------------------------------------------------


def test_ctrl_c(monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(draw_command, "run", interrupted)
    assert run("draw", *SEVEN) == (130, "", "")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([command, "--help"] for command in ("draw", "step", "compare", "demo"))]
)
def test_help_and_version(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert (end.value.code, err) == (0, "")
    assert "plusequals" in out


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams as a shell does")
@pytest.mark.parametrize(
    ("closed", "arguments", "status", "out", "err"),
    [
        (">&-", SEVEN, 0, "", ""),
        ("2>&-", SEVEN, 0, "forward: 7 nodes\n", ""),
        ("<&- >&- 2>&-", SEVEN, 0, "", ""),
        (">&-", ["a"], 2, "", "plusequals: no value for a: add a=... (column 1 of 'a')\n"),
        ("2>&-", ["a"], 2, "", ""),
    ],
)
def test_closed_streams(closed, arguments, status, out, err):
    command = shlex.join([sys.executable, "-m", "viz", "step", *arguments, "--text"])
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout[:17], done.stderr) == (status, out, err)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_what_an_encoding_lacks_is_escaped(folder, encoding):
    (folder / "net.py").write_text(
        "from micrograd import Value\nL = Value(2, label='é🙂') * 2\nprint('é🙂')\n", encoding="utf-8"
    )
    environment = {"PYTHONIOENCODING": encoding}
    name = json.loads(process("draw", "net.py:L", "--json", more=environment).stdout)["nodes"][0]["name"]
    assert name == "é🙂"
    done = process("step", "net.py:L", "--text", more=environment)
    assert done.returncode == 0
    assert ("\n  é🙂 = 2" if encoding == "utf-8" else "\n  \\xe9\\U0001f642 = 2") in done.stdout


def process(*arguments, more=None):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "viz", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**ENVIRONMENT, **(more or {})},
        check=False,
    )


def test_as_a_module():
    done = process("step", *SEVEN, "--text")
    assert (done.returncode, done.stderr) == (0, "")
    assert "a.grad: 4 + (-6) = -2" in done.stdout


def test_as_a_module_with_bad_input():
    done = process("draw", "a*b", "a=1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "plusequals: no value for b: add b=... (column 3 of 'a*b')\n"


def test_what_a_file_prints_does_not_disturb_json(folder):
    (folder / "net.py").write_text("from micrograd import Value\nprint('training')\nL = Value(1) * 2\n")
    done = process("draw", "net.py:L", "--json")
    assert json.loads(done.stdout)["root"] == "n2"
    assert done.stderr == "training\n"


def test_what_a_files_function_prints_does_not_disturb_json(folder):
    (folder / "net.py").write_text("def f(x):\n    print('forward')\n    return x * x\n")
    done = process("draw", "net.py:f", "x=1", "--json")
    assert json.loads(done.stdout)["root"] == "n1"
    assert done.stderr == "forward\n"


def test_a_closed_pipe_is_quiet():
    with subprocess.Popen(
        [sys.executable, "-m", "viz", "step", *SEVEN, "--text"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "viz", "step", *SEVEN, "--text"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, "plusequals: stdout: No space left on device\n")


def test_of_a_zero_that_is_overwritten_nothing_is_lost():
    _, out, _ = run("step", "a*b + 3*a", "a=1", "b=0", "--text", "--mode", "=")
    assert "a.grad = 0 (3 is lost)" in out
    _, out, _ = run("step", "3*a + a*b", "a=1", "b=0", "--text", "--mode", "=")
    assert "a.grad = 3\n" in out
    assert "lost" not in out
