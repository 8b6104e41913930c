"""A character model is trained without a bug and with each of four that raise nothing; what was said of each run.

    python examples/silent_bugs.py
    python examples/silent_bugs.py --text my_book.txt --folder runs/my-book
    python examples/silent_bugs.py --steps 200 --folder runs/short

One bug is made with and without clipping, which hides it. Writes silent_bugs.md, silent_bugs.json and the losses as a
picture. Runs that are in the folder already are not run again, so after Ctrl-C the same command goes on.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chars.corpus import DEFAULT, Corpus, read_text
from chars.five_runs import five_runs
from chars.five_table import LABELS, as_dict, as_markdown
from chars.logs import to_json
from chars.settings import Settings
from common.errors import Interrupted, Refused
from common.script import Parser, ended

import viz
from viz.files import write

NAME = "silent_bugs.py"
PICTURES = (".png", ".svg", ".pdf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing and write the table. Returns the exit status: 0, 2 for bad input, 128 + a signal's number."""
    given = sys.argv[1:] if arguments is None else list(arguments)

    def how_to_go_on(interruption: Interrupted) -> str:
        return f"; to go on: {shlex.join(['python', f'examples/{NAME}', *(w for w in given if w != '--again')])}"

    return ended(NAME, lambda: run(parser().parse_args(given)), how_to_go_on)


def run(options: argparse.Namespace) -> None:
    """The five runs, then the table, then the picture, so that a picture that fails costs neither."""
    folder = Path(options.folder)
    picture = Path(options.output) if options.output else folder / "curves.png"
    if picture.suffix.lower() not in PICTURES:
        raise Refused(f"-o {options.output}: a picture's name ends in {', '.join(PICTURES)}")
    settings = Settings(**{name: getattr(options, name) for name in ("text", *WHOLE)})
    corpus = Corpus(read_text(settings.text), str(settings.text or DEFAULT))
    corpus.require(settings.context)
    if find_spec("matplotlib") is None:  # now, not in minutes
        say("no curves will be drawn without matplotlib: pip install 'plusequals[train]'; after the runs will do, too")
    found = list(five_runs(settings, corpus, folder, again=options.again, say=say))
    content = as_dict(found, corpus, settings, os.cpu_count() or 1)
    table = as_markdown(content, settings)
    write(folder / "silent_bugs.md", table)
    write(folder / "silent_bugs.json", to_json(content) + "\n")
    print(to_json(content) if options.json else table, end="\n" if options.json else "")
    viz.draw_runs(
        {LABELS[finished.name]: finished.losses for finished in found},
        picture,
        baselines={"letter frequencies": corpus.letter_frequencies, "uniform": corpus.uniform},
        title="Training loss: a correct run, and the same with a bug",
    )
    say(f"wrote {folder / 'silent_bugs.md'}, {folder / 'silent_bugs.json'} and {picture}")


def say(line: str) -> None:
    with suppress(OSError):  # a stderr that cannot be written to must not end the runs
        print(line, file=sys.stderr, flush=True)


WHOLE = {
    "steps": "updates of the weights in each run",
    "seed": "of the first weights and the batches",
    "blocks": "transformer blocks",
    "heads": "attention heads in each",
    "width": "numbers that a character is inside",
    "context": "characters that the model sees at most",
    "batch": "sequences in a batch",
    "warmup": "steps over which the learning rate rises",
}


def parser() -> argparse.ArgumentParser:
    usual: dict[str, Any] = vars(Settings())
    found = Parser(
        prog=NAME,
        description="Train a small GPT without a bug and with each of four that raise nothing, and compare.",
        epilog="Settings that are not given are those in parentheses. A run takes minutes at these sizes.",
    )
    found.add_argument("--text", metavar="FILE", help="a UTF-8 file (the documentation that Python's help() shows)")
    for name, what in WHOLE.items():
        found.add_argument(f"--{name}", type=int, default=usual[name], metavar="N", help=f"{what} ({usual[name]})")
    found.add_argument("--folder", default="runs/silent-bugs", metavar="FOLDER", help="for all files (%(default)s)")
    found.add_argument("--again", action="store_true", help="replace the runs that are in the folder")
    found.add_argument("-o", "--output", metavar="PICTURE", help="the curves: .png, .svg or .pdf (curves.png there)")
    found.add_argument("--json", action="store_true", help="the results as one JSON object on stdout, not the table")
    return found


if __name__ == "__main__":
    sys.exit(main())
