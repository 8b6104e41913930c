"""plusequals run: the table, JSON, the picture, and what it refuses."""

from __future__ import annotations

import json

import pytest
from command_line import run
from run_logs import header, step, stormy, usual, written


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The name of a log in the folder that the command works in."""
    monkeypatch.chdir(tmp_path)
    return written(tmp_path / "run.jsonl", usual()).name


def lines_of(text):
    """The lines of a table by their first words, as lists of cells."""
    return {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}


def test_the_table_has_first_median_and_last(log):
    status, out, err = run("run", log)
    assert (status, err) == (0, "")
    lines = lines_of(out)
    assert out.startswith("6 steps, 5 blocks, 4 parameters, AdamW\nsteps 1 to 6\n")
    assert lines["loss"] == ["loss", "4", "1.17", "0.667"]
    assert lines["norm"][-3:] == ["2", "7", "12"]
    assert lines["tokens"] == ["tokens", "1", "3.5", "6", "0.001", "0.001", "0.001", "25.0%", "-"]
    assert " ".join(lines["positions"]) == "positions - - - 0 0 0 - - no gradient"
    assert " ".join(lines["head"]) == "head - - - - - - - - no weights of its own"
    assert out.endswith("\n\n[1] step 3: no gradient has reached positions.weight in 3 steps\n")


def test_a_row_for_each_parameter(log):
    out = run("run", log, "--parameters")[1]
    assert {"parameter", "tokens.weight", "blocks.1.weight"} <= set(lines_of(out))
    assert "head" not in lines_of(out)


def test_what_is_not_finite_is_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "run.jsonl", stormy())
    out = run("run", "run.jsonl")[1]
    row = lines_of(out)["blocks.1"]
    assert row[1:4] == ["0.001", "0.004", "inf"]
    assert row[-2:] == ["3", "steps"]
    assert out.endswith("the monitor found nothing\n")
    found = json.loads(run("run", "run.jsonl", "--json")[1])
    assert found["blocks"]["blocks.1"]["norm"]["last"] == "inf"
    assert (found["loss"]["last"], found["norm"]["last"]) == ("nan", "inf")


def test_json_has_every_quantity(log):
    status, out, _ = run("run", log, "--json")
    found = json.loads(out)
    assert status == 0
    assert (found["steps"], found["first_step"], found["last_step"], found["accumulate"]) == (6, 1, 6, 1)
    assert found["blocks"]["tokens"]["norm"] == {"first": 1.0, "median": 3.5, "last": 6.0}
    assert set(found["blocks"]["tokens"]) == {"norm", "output", "ratio", "zeros", "nonfinite"}
    assert found["blocks"]["positions"]["norm"] is None
    assert found["findings"][0]["names"] == ["positions.weight"]
    assert set(json.loads(run("run", log, "--json", "--parameters")[1])["parameters"]) == {
        f"{name}.weight" for name in ("tokens", "positions", "blocks.0", "blocks.1")
    }


def test_the_picture_is_written_and_told(log, tmp_path):
    out = run("run", log, "-o", "new/run.png", "--quantity", "ratio", "--theme", "dark", "--parameters")
    assert out == (0, "wrote new/run.png (made the folder new): 6 steps, 1 finding\n", "")
    assert (tmp_path / "new" / "run.png").read_bytes().startswith(b"\x89PNG")
    status, out, err = run("run", log, "-o", "run.svg", "--json")
    assert (status, err) == (0, "wrote run.svg: 6 steps, 1 finding\n")
    assert json.loads(out)["steps"] == 6


def test_a_log_without_steps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "run.jsonl", [header()])
    assert run("run", "run.jsonl")[1] == "0 steps, 5 blocks, 4 parameters, AdamW\n\nthe monitor found nothing\n"
    assert json.loads(run("run", "run.jsonl", "--json")[1])["loss"] is None
    assert run("run", "run.jsonl", "-o", "run.png")[1] == "wrote run.png: 0 steps, no findings\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.jsonl"], "cannot read none.jsonl: No such file"),
        (["run.jsonl", "-o", "run.gif"], "'run.gif' names no picture's format: end it in .png, .svg or .pdf"),
        (["run.jsonl", "--theme", "dark"], "--theme is for the picture, and none is drawn: add -o FILE"),
        (["run.jsonl", "--quantity", "zeros"], "--quantity is for the picture"),
        (["run.jsonl", "--quantity", "size", "-o", "run.png"], "invalid choice: 'size'"),
        (["run.jsonl", "--parameters", "--quantity", "output", "-o", "a.png"], "parameters have no quantity 'output'"),
        (["bad.jsonl"], "bad.jsonl, line 2 has a step that is no whole number: 'x'"),
        ([], "the following arguments are required: LOG"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(log, tmp_path, arguments, told):
    written(tmp_path / "bad.jsonl", [header(), {"kind": "step", "step": "x"}, step(3)])
    status, out, err = run("run", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert told in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "run.jsonl"]
