"""A monitor's log as arrays: what is recorded, what is not, what is damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from run_logs import BLOCKS, UNREACHED, header, numbers, step, stormy, usual, written

import viz
from viz.errors import UserError
from viz.training.log import run_of
from viz.training.thinning import columns


def test_a_log_becomes_arrays(tmp_path):
    run = viz.read_run(written(tmp_path / "run.jsonl", usual()))
    assert (run.name, run.optimizer, run.accumulate) == (f"{tmp_path.name}/run.jsonl", "AdamW", 1)
    assert run.blocks == BLOCKS
    assert run.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert run.loss.tolist() == [4.0 / n for n in run.steps]
    assert run.norm.tolist() == [2.0 * n for n in run.steps]
    assert run.values("norm")[0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert run.values("norm")[2].tolist() == pytest.approx([0.01 * n for n in run.steps])
    assert run.values("ratio", "parameters").shape == (4, 6)
    assert [(f.step, f.check, f.names) for f in run.findings] == [(3, "unreached", ("positions.weight",))]


def test_parameters_stand_in_the_order_of_their_blocks():
    run = run_of(usual())  # the log has them in another
    assert run.parameters == tuple(f"{name}.weight" for name in BLOCKS[:-1])
    assert run.values("norm", "parameters")[2].tolist() == run.values("norm")[2].tolist()
    assert (run.owned("tokens"), run.owned("head")) == (("tokens.weight",), ())


def test_what_was_not_recorded_is_masked_and_differs_from_zero_nan_and_inf():
    run = run_of([*stormy(), step(11, loss=None)])
    norm = run.values("norm")
    assert np.ma.getmaskarray(norm)[BLOCKS.index("positions")].all()
    assert norm[BLOCKS.index("blocks.0"), 3] == 0.0
    assert not np.ma.getmaskarray(norm)[BLOCKS.index("blocks.1")].any()
    assert np.isnan(
        norm[BLOCKS.index("blocks.1"), 7:9].filled(0.0)
    ).all()  # null, but with elements that are not finite
    assert norm[BLOCKS.index("blocks.1"), 9] == np.inf
    assert run.values("ratio")[BLOCKS.index("blocks.1"), 9] == -np.inf
    assert run.loss.mask.tolist() == [False] * 10 + [True]
    assert np.isnan(run.loss[9])


@pytest.mark.parametrize("source", ["path", "records", "monitor", "method", "run"])
def test_a_run_comes_from_a_path_records_a_monitor_or_itself(tmp_path, source):
    records = usual()
    monitor = type("Monitor", (), {"records": records})()
    method = type("Monitor", (), {"records": lambda self: iter(records)})()
    sources = {"path": written(tmp_path / "run.jsonl", records), "records": iter(records), "run": run_of(records)}
    run = run_of((sources | {"monitor": monitor, "method": method})[source])
    assert (len(run.steps), len(run.findings), run.blocks) == (6, 1, BLOCKS)


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_last_line_that_was_cut_short_is_left_out(tmp_path, cut):
    path = written(tmp_path / "run.jsonl", usual(), end="")
    path.write_bytes(path.read_bytes()[:-cut])
    assert viz.read_run(path).steps.tolist() == [1, 2, 3, 4, 5]


def test_a_last_line_of_zero_bytes_is_left_out_and_blank_lines_are_none(tmp_path):
    path = written(tmp_path / "run.jsonl", usual(), end="\n\n\0\0\0")
    assert len(viz.read_run(path).steps) == 6


def test_steps_that_were_taken_again_replace_the_old_ones():
    again = [header(), step(4, loss=7.0), step(5, loss=8.0), UNREACHED]
    run = run_of([*usual(), *again])
    assert run.steps.tolist() == [1, 2, 3, 4, 5]
    assert run.loss.tolist()[3:] == [7.0, 8.0]
    assert run.values("norm").shape == (5, 5)
    assert len(run.findings) == 1


def test_a_name_that_comes_up_later_is_masked_before():
    run = run_of([header(), step(1), step(2, (*BLOCKS, "late"))])
    assert run.blocks[-1] == "late"
    assert run.values("norm")[-1].mask.tolist() == [True, False]


def test_a_log_without_its_head_or_without_steps_is_read():
    assert run_of([step(1)]).blocks == BLOCKS
    run = run_of([header()])
    assert (run.steps.shape, run.loss.shape, run.values("norm").shape) == ((0,), (0,), (5, 0))
    assert repr(run) == "<Run, 0 steps of 5 blocks, 0 findings>"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "is no JSON"),
        ('"text"', "is no record of a run: it has no 'kind'"),
        ('{"step": 3}', "has no 'kind'"),
        ('{"kind": "step", "step": "three"}', "has a step that is no whole number: 'three'"),
        ('{"kind": "step", "step": true}', "has a step that is no whole number: True"),
        ('{"kind": "step", "step": 9, "loss": "low"}', "has a loss that is no number: 'low'"),
        ('{"kind": "step", "step": 9, "blocks": []}', None),
        ('{"kind": "step", "step": 9, "blocks": [1]}', "has blocks that are no object of names"),
        ('{"kind": "step", "step": 9, "blocks": {"a": 1}}', "has a block 'a' that is no object"),
        ('{"kind": "step", "step": 9, "blocks": {"a": {"norm": []}}}', "has a block 'a': norm that is no number: []"),
        ('{"kind": "run", "blocks": "a"}', "has blocks that are no list"),
        ('{"kind": "run", "parameters": [1]}', "has parameters without a name"),
        ('{"kind": "run", "blocks": ["other"]}', "begins another run, of other blocks"),
        ('{"kind": "finding", "step": null}', "has a step that is no whole number: None"),
        ('{"kind": "weather", "rain": 1}', None),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, told):
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join([json.dumps(header()), json.dumps(step(1)), line, json.dumps(step(10)), ""]))
    if told is None:
        assert viz.read_run(path).steps[-1] == 10
        return
    with pytest.raises(UserError) as error:
        viz.read_run(path)
    assert str(error.value).startswith(f"{path}, line 3 ")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_log_is_refused(tmp_path):
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    for name, told in [("none", "cannot read"), ("", "cannot read"), ("empty", "is empty"), ("binary", "line 1 is no")]:
        with pytest.raises(UserError, match=told):
            viz.read_run(tmp_path / name)
    for source in (3, None, {"kind": "run"}):
        with pytest.raises(UserError, match="a run is the path of a log, its records, or a monitor"):
            run_of(source)
    with pytest.raises(UserError, match="record 2 is no record of a run"):
        run_of([header(), 3])


def test_quantities_and_levels_that_there_are_not_are_refused():
    run = run_of(usual())
    with pytest.raises(UserError, match="no quantity 'size': take norm, output"):
        run.values("size")
    with pytest.raises(UserError, match="parameters have no quantity 'output'"):
        run.values("output", "parameters")
    with pytest.raises(UserError, match="no level 'layers': take blocks or parameters"):
        run.values("norm", "layers")


# -- long runs ---------------------------------------------------------------------------------------------------------


def test_columns_share_all_steps_evenly():
    shared = columns(10, 3)
    steps = np.arange(1, 11)
    assert (shared.size, shared.firsts(steps).tolist(), shared.lasts(steps).tolist()) == (4, [1, 4, 7], [3, 6, 10])
    assert columns(3, 10).firsts(steps).tolist() == columns(3, 10).lasts(steps).tolist() == [1, 2, 3]
    assert columns(0).starts.size == columns(0).lasts(steps[:0]).size == 0


def test_a_column_is_the_median_and_shows_anything_that_is_not_finite():
    values = np.ma.masked_array([[1.0, 9.0, 2.0, 5.0, np.nan, 5.0], [1.0] * 6], mask=[[0] * 6, [0, 1, 1, 1, 1, 1]])
    medians = columns(6, 2).median(values)
    assert medians.tolist() == [[2.0, np.inf], [1.0, None]]
    low, high = columns(6, 2).reach(np.array([1.0, 9.0, 2.0, 5.0, np.nan, 6.0]))
    assert (low.tolist(), high.tolist()) == ([1.0, 5.0], [9.0, 6.0])


def test_numbers_of_one_parameter_are_those_of_its_log():
    run = run_of([header(), step(1, tokens=numbers(3.5, 0.25, 0.125, 2))])
    assert [run.values(q, "parameters")[0, 0] for q in ("norm", "ratio", "zeros", "nonfinite")] == [3.5, 0.25, 0.125, 2]


def test_another_log_is_not_taken_for_a_monitors(tmp_path):
    """A loop's own log has steps and losses, too: that nothing was found in it would be no news."""
    path = written(tmp_path / "log.jsonl", [{"kind": "step", "step": n, "loss": 1.0, "norm": 1.0} for n in (1, 2)])
    with pytest.raises(UserError, match=r"log\.jsonl has steps without a block or parameter .* log="):
        viz.read_run(path)


ODD = "a\ud800\x1b[31m\x00$x$<b>"


def test_names_that_no_terminal_and_no_picture_can_show_are_shown_with_a_sign_for_that(tmp_path):
    finding = {"kind": "finding", "step": 1, "check": ODD, "names": [ODD], "text": ODD}
    log = written(tmp_path / "run.jsonl", [header((ODD,), optimizer=ODD), step(1, (ODD,)), finding])
    run = viz.read_run(log)
    shown = "a\ufffd\ufffd[31m\ufffd$x$<b>"
    assert (run.blocks, run.parameters, run.optimizer) == ((shown,), (f"{shown}.weight",), shown)
    assert run.owned(shown) == (f"{shown}.weight",)
    assert run.values("norm").tolist() == [[1.0]]
    assert (run.findings[0].text, run.findings[0].names) == (shown, (shown,))
    assert viz.draw_run(log, tmp_path / "run.svg").stat().st_size


def test_a_log_with_a_mark_of_the_byte_order_is_read(tmp_path):
    log = written(tmp_path / "run.jsonl", usual())
    log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes())
    assert len(viz.read_run(log).steps) == 6


@pytest.mark.parametrize("number", [2**63, -(10**30)])
def test_a_step_of_more_than_64_bits_is_refused(tmp_path, number):
    with pytest.raises(UserError, match="line 2 has a step that is no whole number of 64 bits"):
        viz.read_run(written(tmp_path / "run.jsonl", [header(), step(1) | {"step": number}]))
