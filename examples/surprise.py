"""How surprised a trained character model is by a text: where its loss comes from, character by character.

    python examples/surprise.py CHECKPOINT [--text FILE] [-o surprise.html] [--json] [--top N]

CHECKPOINT is a file that char_gpt.py wrote. The text is by default the held-out part of the one that the model was
trained on. Each character costs minus the log of the probability that the model gave it, in nats; the mean of that is
the loss. Prints the report, or its numbers as JSON, and writes a page that shows the text coloured by surprise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from chars import checkpoint
from chars.corpus import Corpus, read_text
from chars.errors import Refused
from chars.surprise.page import page
from chars.surprise.printed import printed
from chars.surprise.scored import scored
from chars.surprise.summary import summarized

from viz.errors import UserError
from viz.kit.page import check_suffix
from viz.text import count


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", help="a file that char_gpt.py wrote")
    parser.add_argument("--text", metavar="FILE", help="the text to score; by default the held-out part of its own")
    parser.add_argument("-o", "--output", metavar="FILE", default="surprise.html", help="the page (%(default)s)")
    parser.add_argument("--top", metavar="N", type=int, default=10, help="places listed of each kind (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    return parser.parse_args(given)


def trained_on(saved: checkpoint.Checkpoint) -> Corpus:
    """The text that the model was trained on. Raises Refused where it isn't there any more, or is another one now."""
    corpus = Corpus(read_text(saved.settings.text), saved.text_name)
    if corpus.sha256 != saved.text_sha256:
        raise Refused(f"{saved.text_name}, which the model was trained on, is another text now")
    return corpus


def report(given: argparse.Namespace) -> None:
    """Score, print, and write the page. Raises Refused and UserError for input that cannot be used."""
    if given.top < 1:
        raise Refused(f"--top is {given.top}; it must be 1 or more")
    check_suffix(given.output)
    saved = checkpoint.load(given.checkpoint)
    model, vocabulary = checkpoint.load_model(given.checkpoint)
    corpus, remarks = None, []
    try:
        corpus = trained_on(saved)
    except Refused as refused:
        if given.text is None:
            raise Refused(f"{refused}: give a text with --text FILE") from None
        remarks.append(f"Without the text of the training its letter frequencies are unknown: {refused}.")
    if given.text is None:
        text, name = corpus.held_out, f"held-out part of {corpus.name}"
    else:
        text, name = read_text(given.text), os.path.basename(given.text)
    try:
        found = scored(model, vocabulary, text)
    except ValueError as error:
        raise Refused(f"{name}: {error}") from None
    size = model.config
    summary = {
        "model": f"{os.path.basename(given.checkpoint)}, step {saved.step:,}: {count(size.blocks, 'block')}, "
        f"{count(size.heads, 'head')}, {size.width} wide, context {size.context}",
        "text": name,
        "remarks": remarks,
        **summarized(found, corpus and corpus.train, given.top),
    }
    print(json.dumps(summary, indent=2, allow_nan=False) if given.json else printed(summary))
    path = page(found, summary).save(given.output)
    if not given.json:
        print(f"\npage: {path}")


def main(given: list[str] | None = None) -> int:
    """The exit status: 0, or 2 for bad input, of which one line on stderr tells."""
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack characters that the text has
    try:
        report(arguments(given))
        sys.stdout.flush()
    except (Refused, UserError) as error:
        print(f"surprise: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads the output has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
