"""How surprised a trained character model is by a text: where its loss comes from, character by character.

    python examples/surprise.py CHECKPOINT [--text FILE] [-o surprise.html] [--json] [--top N]

CHECKPOINT is a file that char_gpt.py wrote. The text is by default the held-out part of the one that the model was
trained on. Each character costs minus the log of the probability that the model gave it, in nats; the mean of that is
the loss. Prints the report, or its numbers as JSON, and writes a page that shows the text coloured by surprise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from chars.checkpoint import Checkpoint, load, model_of, trained_on
from chars.corpus import read_text
from chars.surprise.page import page
from chars.surprise.printed import printed
from chars.surprise.scored import scored
from chars.surprise.summary import summarized
from common.errors import Refused
from common.script import Parser, ended

from tensorgrad.models import GPTConfig
from viz.kit.page import check_suffix
from viz.text import count

NAME = "surprise.py"
LONG = 100_000  # characters that take so long that it is said


def report(given: argparse.Namespace) -> None:
    """Score, print, and write the page. Raises Refused and UserError for input that cannot be used."""
    if given.top < 1:
        raise Refused(f"--top is {given.top}; it must be 1 or more")
    check_suffix(given.output)
    saved = load(given.checkpoint)
    model = model_of(saved, given.checkpoint)
    corpus, remarks = None, []
    try:
        corpus = trained_on(saved)
    except Refused as refused:
        if given.text is None:
            raise Refused(f"{refused}: give a text to score with --text FILE") from None
        remarks.append(f"The letter frequencies of the training text are unknown: {refused}.")
    if given.text is None:
        text, name = corpus.held_out, f"held-out part of {saved.text_name}"
    else:
        text, name = read_text(given.text), given.text
    if len(text) > LONG:
        print(f"{NAME}: scoring {len(text):,} characters ...", file=sys.stderr)
    try:
        found = scored(model, saved.vocabulary, text)
    except ValueError as error:
        raise Refused(f"{name}: {error}") from None
    summary = {
        "model": described(model.config, given.checkpoint, saved),
        "text": name,
        "remarks": remarks,
        **summarized(found, None if corpus is None else corpus.train, given.top),
    }
    print(json.dumps(summary, indent=2, allow_nan=False) if given.json else printed(summary))
    path = page(found, summary).save(given.output)
    if not given.json:
        print(f"\npage: {path}")


def described(size: GPTConfig, path: str, saved: Checkpoint) -> str:
    blocks, heads = count(size.blocks, "block"), count(size.heads, "head")
    bug = "" if saved.settings.bug == "none" else f", trained with the bug {saved.settings.bug}"
    return f"{path} after step {saved.step:,}{bug}: {blocks}, {heads}, {size.width} wide, context {size.context}"


def main(given: Sequence[str] | None = None) -> int:
    """Report as the command line says. Returns the exit status: 0, or 2 for bad input."""
    return ended(NAME, lambda: report(parser().parse_args(given)))


def parser() -> argparse.ArgumentParser:
    found = Parser(prog=NAME, description=(__doc__ or "").partition("\n")[0])
    found.add_argument("checkpoint", metavar="CHECKPOINT", help="a file that char_gpt.py wrote")
    found.add_argument("--text", metavar="FILE", help="the text to score (the held-out part of the model's own)")
    found.add_argument("-o", "--output", metavar="FILE", default="surprise.html", help="the page (surprise.html)")
    found.add_argument("--top", metavar="N", type=int, default=10, help="places listed of each kind (10)")
    found.add_argument("--json", action="store_true", help="the numbers as one JSON object on stdout")
    return found


if __name__ == "__main__":
    sys.exit(main())
