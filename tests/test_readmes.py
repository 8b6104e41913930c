"""Everything that the READMEs show is run, in README.md, */README.md and */*/README.md: the blocks of a file in order.

The convention for who writes a README:

```python
    Run statement by statement; the blocks of a file share their names. `# -> text`, at the end of a statement or on
    lines of its own after it, is what the statement prints; a bare expression prints its repr, as at the prompt, and
    an error is `# -> TypeError: its message`. `...` stands for any text, and white space counts once. What a
    statement without `# ->` prints is not looked at. A block that imports torch needs torch.

```sh
    A command a line (a \\ at the end goes on). Those that start with `plusequals` or `python` run and must exit with
    status 0, or with N where the line ends with `# exit N`. What is in NOT_RUN is left out, for the reason given
    there; anything else fails the test.

```console
    The same for lines that start with `$ `; the lines after one are what it prints, `...` again for any text.

Other languages are not run, and neither is a block with `<!-- not run: reason -->` on the line above it. All of a file
runs in one empty folder that holds a copy of examples/.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import missing, require_torch

from tensorgrad import ops
from tensorgrad.monitoring.checks import CHECKS
from viz import cli, limits
from viz.frames import MOST_FRAMES, MOST_NODES
from viz.pages import unfolded

ROOT = Path(__file__).parent.parent
READMES = [ROOT / "README.md", *sorted(ROOT.glob("[!.]*/README.md")), *sorted(ROOT.glob("[!.]*/[!.]*/README.md"))]

NOT_RUN = {
    "pip install": "changes the environment",
    "python -m pip": "changes the environment",
    "python -m venv": "makes an environment",
    "python3 -m venv": "makes an environment",
    "source": "enters an environment",
    ".": "enters an environment",
    "make": "sets up an environment of its own; CI calls both targets",
    "git": "reaches the network",
    "cd": "a command here runs in the file's folder",
}
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the number of its first line in the file, its lines."""

    language: str
    line: int
    lines: list[str]


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text that are to be run."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = re.match(r"```(\w+)", lines[number])
        if fence:
            end = lines.index("```", number)
            if number == 0 or not re.match(r"<!-- not run: \S.*-->$", lines[number - 1]):
                yield Block(fence[1], number + 2, lines[number + 1 : end])
            number = end
        number += 1


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.relative_to(ROOT)))
def test_readme(readme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    without_torch = 0
    for block in blocks(readme.read_text(encoding="utf-8")):
        if block.language == "python":
            if _imports_torch(block) and not _has_torch():
                without_torch += 1
            else:
                run_python(block, names)
        elif block.language in ("sh", "console"):
            for line, command, expected in commands(block):
                run_command(line, command, expected, tmp_path)
    if without_torch:
        missing(f"torch is not installed, so {without_torch} blocks were not run")


# -- Python ------------------------------------------------------------------------------------------------------------


def run_python(block: Block, names: dict[str, Any]) -> None:
    """Run a block in the namespace `names` and compare what each statement prints with what its comments say."""
    statements = ast.parse("\n".join(block.lines)).body
    ends = [statement.lineno - 1 for statement in statements[1:]] + [len(block.lines)]
    for statement, end in zip(statements, ends, strict=True):
        expected = _expected(block.lines[statement.lineno - 1 : end])
        printed = _run_statement(statement, names, catch=expected is not None)
        if expected is not None:
            _compare(expected, printed, block.line + statement.lineno - 1)


def _expected(lines: list[str]) -> str | None:
    found = [match[1] for line in lines if (match := re.search(r"# -> ?(.*)$", line))]
    return "\n".join(found) + "\n" if found else None


def _run_statement(statement: ast.stmt, names: dict[str, Any], *, catch: bool) -> str:
    code = compile(ast.Interactive([statement]), "README.md", "single")  # as at the prompt
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, names)
        except Exception as error:
            if not catch:
                raise
            out.write(f"{type(error).__name__}: {error}\n")
    return out.getvalue()


def _compare(expected: str, printed: str, line: int) -> None:
    if not doctest.OutputChecker().check_output(expected, printed, _FLAGS):
        pytest.fail(f"line {line} of the README says\n{expected}but it prints\n{printed}", pytrace=False)


def _imports_torch(block: Block) -> bool:
    return any(re.match(r"\s*(import|from) torch\b", line) for line in block.lines)


def _has_torch() -> bool:
    with contextlib.suppress(pytest.skip.Exception):
        require_torch()
        return True
    return False


# -- commands ----------------------------------------------------------------------------------------------------------


def commands(block: Block) -> Iterator[tuple[int, str, str | None]]:
    """(line number, command, what it prints or None) of a sh or console block."""
    console = block.language == "console"
    pending: tuple[int, str, list[str]] | None = None
    for number, line in enumerate(block.lines, block.line):
        if pending and pending[1].endswith("\\"):
            pending = (pending[0], pending[1][:-1] + line.strip(), pending[2])
        elif console and not line.startswith("$ "):
            assert pending, f"line {number}: a console block starts with `$ command`"
            pending[2].append(line)
        elif line.strip() and not line.startswith("#"):
            if pending:
                yield _finished(pending, console)
            pending = (number, line.removeprefix("$ ").strip(), [])
    if pending:
        yield _finished(pending, console)


def _finished(pending: tuple[int, str, list[str]], console: bool) -> tuple[int, str, str | None]:
    number, command, output = pending
    return number, command, "".join(f"{line}\n" for line in output) if console else None


def run_command(line: int, command: str, expected: str | None, folder: Path) -> None:
    """Run one command in `folder`, unless NOT_RUN leaves it out."""
    words = shlex.split(command, comments=True)
    if any(command == start or command.startswith(f"{start} ") for start in NOT_RUN):
        return
    if words[0] == "plusequals":
        returned, printed, errors = _run_here(words[1:], folder)
    elif words[0] == "python":
        returned, printed, errors = _run_python(words[1:], folder)
    else:
        pytest.fail(f"line {line}: `{command}` is neither run here nor in NOT_RUN", pytrace=False)
    status = re.search(r"# exit (\d+)$", command)
    if returned != int(status[1] if status else 0):
        pytest.fail(f"line {line}: `{command}` exits with {returned}\n{errors}", pytrace=False)
    if expected is not None:
        _compare(expected, printed, line)


def _run_here(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    """Run the command line in this process: to start one of its own, with torch, takes longer than most commands."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(arguments)
    return status, out.getvalue(), err.getvalue()


def _run_python(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return done.returncode, done.stdout, done.stderr


# -- links -------------------------------------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """Those that a page with this Markdown has for its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> list[str]:
    """The links of a Markdown file, but for those to the web, whose file or heading is not there."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    found = []
    for link in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        to = path.parent / name if name else path
        if not to.exists() or (anchor and anchor not in anchors(to.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize(
    "path", sorted(set(READMES) | set(ROOT.glob("[!.]*/*.md"))), ids=lambda p: str(p.relative_to(ROOT))
)
def test_links_lead_somewhere(path):
    assert dead_links(path) == []


def test_a_dead_link_is_found(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "# GPT-2's own (`x`)\n[a](#gpt-2s-own-x) [b](#gone) [c](gone.md) [d](README.md#no) [e](https://x.org/y)\n"
    )
    assert dead_links(page) == ["#gone", "gone.md", "README.md#no"]


# -- what the READMEs say is where -------------------------------------------------------------------------------------


def test_every_module_of_tensorgrad_has_its_place_in_the_tables():
    package = ROOT / "tensorgrad"
    folder = (package / "README.md").read_text(encoding="utf-8").partition("## The folder")[2]
    modules = {path.name for path in package.glob("[!_]*.py")}
    assert set(re.findall(r"`(\w+\.py)`", folder)) == modules
    operations = {path.stem for path in (package / "ops").glob("[!_]*.py")}
    told = set(re.findall(r"\w+", ops.__doc__ or ""))
    assert operations <= told


def _viz_readme() -> str:
    return " ".join((ROOT / "viz" / "README.md").read_text(encoding="utf-8").split())


def test_every_part_of_viz_has_its_place_in_the_table():
    package = ROOT / "viz"
    table = _viz_readme().rpartition("## What is where")[2]
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+(?:\.py|/))`", table)) == {path.name for path in package.glob("[!_]*.py")} | folders


def test_the_limits_of_pages_and_frames_are_those_that_are_told():
    told = _viz_readme()
    assert f"The page takes {limits.MOST_ON_PAGE:,} Values, or {limits.MOST_RECORDED:,} nodes" in told
    assert f'"Open as scalars" takes {unfolded.MOST_VALUES:,} Values' in told
    assert f"the GIF take {MOST_NODES} nodes and {MOST_FRAMES - 1} steps" in told
    assert f"A picture takes {limits.MOST_IN_PICTURE:,} nodes" in told


def test_the_keys_of_the_page_are_those_that_are_told():
    names = {"←": "ArrowLeft", "→": "ArrowRight", "space": " ", "−": "-"}
    table = re.search(r"\n\| key \|.*?\n\n", (ROOT / "viz" / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    rows = [line.split("|")[1].split() for line in table[0].splitlines()[3:-2]]  # without that on the graph
    told = {names.get(key, key) for row in rows for key in row}
    script = (ROOT / "viz" / "pages" / "controls.js").read_text(encoding="utf-8")
    keys = re.search(r"const KEYS = \{(.*?)\n\};", script, re.DOTALL)[1]
    assert told | {"Escape"} == set(re.findall(r'^  "?(.+?)"?: ', keys, re.MULTILINE))


# -- the runner itself -------------------------------------------------------------------------------------------------


def block_of(text: str, language: str = "python") -> Block:
    return Block(language, 1, text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1  # -> 2",
        "print('a')\n# -> a",
        "for i in range(2):\n    print(i)\n# -> 0\n# -> 1",
        "x = 3\nx  # -> 3",
        "int('a')  # -> ValueError: invalid literal ...",
        "print(1.23456)  # -> 1.23...",
    ],
)
def test_what_a_statement_prints_is_compared(text):
    run_python(block_of(text), {})


@pytest.mark.parametrize("text", ["1 + 1  # -> 3", "x = 1  # -> 1", "int('a')  # -> 3", "print(1)\nx = 2\n# -> 1"])
def test_a_wrong_comment_fails(text):
    with pytest.raises(pytest.fail.Exception, match="but it prints"):
        run_python(block_of(text), {})


def test_an_error_that_no_comment_names_fails():
    with pytest.raises(ZeroDivisionError):
        run_python(block_of("1 / 0"), {})


def test_blocks_are_found_and_left_out():
    text = "a\n```python\nx\n```\n<!-- not run: why -->\n```sh\ny\n```\n```sh\nz\n```\n"
    assert list(blocks(text)) == [Block("python", 3, ["x"]), Block("sh", 10, ["z"])]


def test_commands_of_a_console_block():
    block = block_of("$ plusequals a \\\n    b\nout\n$ plusequals c", "console")
    assert list(commands(block)) == [(1, "plusequals a b", "out\n"), (4, "plusequals c", "")]


def test_commands_run_and_their_status_counts(tmp_path):
    run_command(1, "python -c 'print(1)'", "1\n", tmp_path)
    run_command(1, "python -c 'raise SystemExit(2)'  # exit 2", None, tmp_path)
    run_command(1, "make demo", None, tmp_path)
    with pytest.raises(pytest.fail.Exception, match="exits with 3"):
        run_command(1, "python -c 'raise SystemExit(3)'", None, tmp_path)
    with pytest.raises(pytest.fail.Exception, match="neither run here nor in NOT_RUN"):
        run_command(1, "rm -rf x", None, tmp_path)


def test_the_table_of_checks():
    """It lists every check of the monitor, in the order in which they are asked, and so does that of false alarms."""
    text = (ROOT / "tensorgrad" / "monitoring" / "README.md").read_text(encoding="utf-8")
    asked, alarms = (part.partition("\n## ")[0] for part in re.split("\n## (?:What it looks|False alarms)", text)[1:])
    assert set(re.findall(r"^\| `([\w ]+)` \|", asked, re.MULTILINE)) == set(CHECKS)
    assert set(re.findall(r"^\| `([\w ]+)` \|", alarms, re.MULTILINE)) == set(CHECKS)
