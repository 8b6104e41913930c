"""`plusequals step --interactive`: a pass at a prompt, by scripts of commands; and --until."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SEVEN, files_in, run

STEPS = [
    ("the seed goes to L = f*a", "the seed = 1", "L.grad = 1"),
    ("L sends to f, operand 1 of 2; L = f*a", "a * L.grad = 2 * 1 = 2", "f.grad = 2"),
    ("L sends to a, operand 2 of 2; L = f*a", "f * L.grad = 4 * 1 = 4", "a.grad = 4"),
    ("f sends to e; f = relu(e)", "(e > 0) * f.grad = 1 * 2 = 2", "e.grad = 2"),
    ("e sends to d, operand 1 of 2; e = d + c", "e.grad = 2", "d.grad = 2"),
    ("e sends to c, operand 2 of 2; e = d + c", "e.grad = 2", "c.grad = 2"),
    ("d sends to a, operand 1 of 2; d = a*b", "b * d.grad = -3 * 2 = -6", "a.grad: 4 + (-6) = -2"),
    ("d sends to b, operand 2 of 2; d = a*b", "a * d.grad = 2 * 2 = 4", "b.grad = 4"),
]
START = "before the seed: no gradient has arrived anywhere"
END = "the end of the pass: g lists the gradients, p goes back, r starts again"
FORMS = 'write "nan", "inf", "|grad| > 100"'


def step(number: int) -> str:
    who, sent, becomes = STEPS[number - 1]
    return f"step {number} of 8: {who}\n  {sent}\n  {becomes}\n"


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch):
    """The answers to a script of commands, the opening first; each must have ended with status 0."""

    def talk(commands: str, *arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(commands))
        status, out, err = run("step", *(arguments or SEVEN), "--interactive")
        assert (status, err) == (0, "")
        assert out.isascii()
        assert "\x1b" not in out
        opening, *answers = out.split("\n(")
        return [opening, *("\n".join(answer.split("\n")[1:]) + "\n" for answer in answers)]

    return talk


def test_it_begins_with_what_there_is(talk, folder) -> None:
    assert talk("") == [f"relu(a*b + c)*a: 7 nodes, 8 steps with +=; L = f*a = 8\n{START}\n? lists the commands", "\n"]
    assert files_in(folder) == []


def test_every_step_forward_and_back(talk) -> None:
    _, *answers = talk("n\n" * 9 + "p\n" * 9 + "q\n")
    assert answers[:7] == [step(number) for number in range(1, 8)]
    assert answers[7] == step(8) + END + "\n"
    assert answers[8] == END + "\n"
    assert answers[9:16] == [step(number) for number in range(7, 0, -1)]
    assert answers[16:18] == [START + "\n"] * 2


def test_enter_repeats_and_the_first_enter_goes_on(talk) -> None:
    _, *answers = talk("\n\nn 3\n\np\n\nq\n")
    assert answers[:6] == [step(1), step(2), step(5), step(8) + END + "\n", step(7), step(6)]


@pytest.mark.parametrize("wrong", ["0", "-1", "x", "1.5"])
def test_a_number_of_steps_that_is_none(talk, wrong: str) -> None:
    assert talk(f"n {wrong}\nq\n")[1] == f"n takes a number of steps from 1 up, not '{wrong}'\n"


def test_long_words_do_the_same(talk) -> None:
    short = talk("n\nn\np\nw\nb a\nc\ng\nprint a\nr\n?\nq\n")
    long = talk(
        "next\nnext\nprevious\nwhere\nbreak a\ncontinue\ngradients\np a\nrestart\nhelp\nquit\n",
    )
    assert short == long
    assert "c, continue" in long[10]


def test_breakpoints_stop_what_goes_on(talk) -> None:
    _, *answers = talk('b a\nb "|grad| >= 6"\nb\nc\nc\nc\nc\nq\n')
    assert answers[2] == "breakpoint 1: a\nbreakpoint 2: |grad| >= 6\n"
    assert answers[3] == "breakpoint 1: a\n" + step(3)
    assert answers[4] == "breakpoint 1: a\n" + step(7)
    assert answers[5] == step(8) + END + "\n"
    assert answers[6] == END + "\n"


def test_breakpoints_can_be_taken_away(talk) -> None:
    _, *answers = talk("b\nb a\nb c\nb - 1\nb\nb - 7\nb -\nb - x\nc\nb -1\nb\nq\n")
    assert answers[0].startswith("no breakpoints; b sets one:")
    assert answers[3:5] == ["no longer: a\n", "breakpoint 1: c\n"]
    assert answers[5] == "no breakpoint 7 to take away: b lists them\n"
    assert answers[6] == "no breakpoint (which?) to take away: b lists them\n"
    assert answers[7] == "no breakpoint x to take away: b lists them\n"
    assert answers[8] == "breakpoint 1: c\n" + step(6)
    assert answers[9] == "no longer: c\n"
    assert answers[10].startswith("no breakpoints")


def test_what_cannot_be_read_is_said_and_the_talk_goes_on(talk) -> None:
    _, *answers = talk("b foo\nfly\nprint\nprint q\nn\nq\n")
    assert answers[0].startswith("cannot read the breakpoint 'foo': ")
    assert FORMS in answers[0]
    assert answers[1:4] == [
        "no command 'fly': ? lists them\n",
        "print what? name a node\n",
        "no node is called 'q': g lists the nodes\n",
    ]
    assert answers[4] == step(1)


def test_a_node_is_printed_with_its_ledger(talk) -> None:
    _, *answers = talk("p a\nn 6\np a\nn\np a\np n0\nn\nprint d\nq\n")
    assert answers[0] == "a = 2\n  a.grad so far: not yet\n  2 contributions to come\n"
    first = "    step 3, from L: f * L.grad = 4 * 1 = 4, so 4\n"
    assert answers[2] == f"a = 2\n  a.grad so far: 4\n{first}  1 contribution to come\n"
    second = "    step 7, from d: b * d.grad = -3 * 2 = -6, so -2\n"
    assert answers[4] == answers[5] == f"a = 2\n  a.grad so far: -2\n{first}{second}  nothing more to come\n"
    assert answers[7].startswith("d = a*b = -6\n  d.grad so far: 2\n")


def test_all_gradients(talk) -> None:
    _, *answers = talk("g\nn 7\ng\nq\n")
    assert answers[0] == "".join(f"  {name}  not yet\n" for name in "abdcefL")
    assert answers[2] == "  a  -2\n  b  not yet\n  d  2\n  c  2\n  e  2\n  f  2\n  L  1\n"


@pytest.mark.parametrize("mode", ["=", "overwrite"])
def test_the_bug_at_the_prompt(talk, mode: str) -> None:
    opening, *answers = talk("n 7\ng\nq\n", *SEVEN, "--mode", mode)
    assert "8 steps with =" in opening
    assert answers[0].endswith("a.grad = -6 (4 is lost)\n")
    assert answers[1].startswith("  a  -6\n")


def test_the_recursion_at_the_prompt(talk) -> None:
    opening, *answers = talk("b a\nc\nc\nc\np a\nq\n", "(a*a)*(a*a + a)", "a=2", "--mode", "recursion")
    assert "steps with recursion" in opening
    assert answers[4].startswith("a = 2\n  a.grad so far: ")
    assert answers[4].count("    step ") == 3


def test_a_recursion_that_was_stopped_says_so(talk, folder) -> None:
    (folder / "deep.py").write_text(
        "from micrograd import Value\nx = Value(1.0)\nfor _ in range(14):\n    x = x + x * 0.5\n", encoding="utf-8"
    )
    opening, *answers = talk("n 100000\nq\n", "deep.py:x", "--mode", "recursion")
    assert "stopped there: it would take " in opening
    assert "the end of the pass, stopped there: it would take " in answers[0]


def test_arrays_are_told_in_words_where_they_are_large(talk, folder) -> None:
    (folder / "big.py").write_text(
        "import numpy as np\nfrom tensorgrad import Tensor\n"
        "x = Tensor(np.ones((4, 5)), requires_grad=True)\nk = Tensor(np.full((4, 5), 2.0))\nloss = (x * k).sum()\n",
        encoding="utf-8",
    )
    opening, *answers = talk("b x\nc\np x\np k\ng\nq\n", "big.py:loss")
    assert " = 40\n" in opening
    assert "  k * a.grad = (4, 5) norm 8.944\n  x.grad = (4, 5) norm 8.944\n" in answers[1]
    assert answers[2].startswith("x = (4, 5) norm 4.472\n  x.grad so far: (4, 5) norm 8.944\n")
    assert answers[3] == "k = (4, 5) norm 8.944\n  a constant: it takes no gradient\n"
    assert "  k " not in answers[4]
    assert max(len(line) for answer in answers for line in answer.splitlines()) < 100


def test_the_first_value_that_is_not_finite_is_told_at_once(talk) -> None:
    opening, *answers = talk("b nan\nc\nq\n", "(x*k)/(x*k)", "x=1e200", "k=1e200")
    assert "the first value that is not finite: a = x*k is inf; x = 1e+200, k = 1e+200\n" in opening
    assert answers[1].startswith("breakpoint 1: nan\nstep ")
    assert "nan\n" in answers[1].splitlines(keepends=True)[-1]


def test_a_large_graph_lists_the_nodes_with_names(talk, folder) -> None:
    opening, *answers = talk("g\nq\n", "net.py:long")
    assert opening.startswith("net.py:long: ")
    assert len(answers[0].splitlines()) <= 101
    assert "more: print NAME shows one" in answers[0]


def test_a_rule_of_the_users_that_raises_is_their_error(folder, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    status, out, err = run("step", "net.py:closure", "--interactive")
    assert (status, out) == (2, "")
    assert "in the rule" in err


def test_ctrl_c_says_how_to_leave_and_the_second_one_leaves(monkeypatch) -> None:
    lines = iter([KeyboardInterrupt, "n", KeyboardInterrupt, "w", KeyboardInterrupt, KeyboardInterrupt])

    def typed(prompt: str) -> str:
        line = next(lines)
        if line is KeyboardInterrupt:
            raise line
        return line

    monkeypatch.setattr("builtins.input", typed)
    status, out, _ = run("step", *SEVEN, "--interactive")
    assert status == 130
    assert out.count("interrupted: q leaves, and so does Ctrl-C once more\n") == 3
    assert out.count("step 1 of 8") == 2


def test_a_page_is_told_of_before_the_talk(folder, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    status, out, err = run("step", *SEVEN, "--interactive", "-o", "seven.html")
    assert (status, files_in(folder)) == (0, ["seven.html"])
    assert "wrote seven.html" in err
    assert out.startswith("relu(a*b + c)*a: ")


def test_piped_into_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "viz", "step", *SEVEN, "--interactive"],
        input="n\nb a\nc\np a\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "(0/8) n\nstep 1 of 8" in done.stdout
    assert done.stdout.endswith("  1 contribution to come\n(3/8) \n")


# -- --until -----------------------------------------------------------------------------------------------------------


def test_text_ends_at_the_condition() -> None:
    status, out, _ = run("step", *SEVEN, "--text", "--until", "|grad| > 3")
    assert status == 0
    assert "backward: 3 steps with +=, stopped at |grad| > 3\n" in out
    assert out.splitlines()[-1].split() == "3 L -> a f * L.grad = 4 * 1 = 4 a.grad = 4".split()


def test_json_ends_at_the_first_of_several_conditions() -> None:
    passed = json.loads(run("step", *SEVEN, "--json", "--until", "b", "--until", "c")[1])
    assert [taken["receiver_name"] for taken in passed["steps"]] == ["L", "f", "a", "e", "d", "c"]
    assert passed["grads"]["n0"] == 4.0


def test_at_the_prompt_it_is_a_breakpoint(talk) -> None:
    opening, *answers = talk("c\nq\n", *SEVEN, "--until", "d")
    assert "\nbreakpoint 1: d\n" in opening
    assert answers[0] == "breakpoint 1: d\n" + step(5)


@pytest.mark.parametrize("how", ["--text", "--json", "--interactive"])
def test_a_condition_that_cannot_be_read_is_bad_input(how: str, folder) -> None:
    status, out, err = run("step", *SEVEN, how, "--until", "weight", "-o", "page.html")
    assert (status, out, files_in(folder)) == (2, "", [])
    assert err.startswith("plusequals: cannot read the breakpoint 'weight': ")
    assert err.count("\n") == 1


def test_options_that_do_not_go_together() -> None:
    assert run("step", *SEVEN, "--until", "a")[2] == (
        "plusequals: --until is for --text, --json and --interactive: add one of them\n"
    )
    for first, second in (("text", "json"), ("text", "interactive"), ("json", "interactive")):
        status, _, err = run("step", *SEVEN, f"--{first}", f"--{second}")
        assert (status, err) == (2, f"plusequals: --{first} and --{second} both print on stdout: leave one out\n")
