"""A small GPT learns to write a text, character by character, and one of four silent mistakes can be made on the way.

    python examples/char_gpt.py
    python examples/char_gpt.py --text my_book.txt --steps 2000
    python examples/char_gpt.py --bug unshifted
    python examples/char_gpt.py --resume runs/char-gpt/checkpoint.npz

The loop itself is in chars/training.py. Ctrl-C ends a run after the step that is running and says how to go on.
"""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from chars.checkpoint import load
from chars.logs import to_json
from chars.settings import BUGS, Settings
from chars.training import Result, train
from common.errors import Interrupted, Refused
from common.script import Parser, ended

import tensorgrad
from viz.text import count

NAME = "char_gpt.py"
SAMPLE = 300
MOST = 1_000_000  # characters of a sample, which take an hour


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says. Returns the exit status: 0, 2 for bad input, 128 + the number of a signal."""

    def work() -> None:
        options = parser().parse_args(arguments)
        report(options, run(options))

    return ended(NAME, work, how_to_go_on)


def how_to_go_on(interruption: Interrupted) -> str:
    """What to type after Ctrl-C."""
    if interruption.checkpoint is None:
        return ", which is not saved"
    return f"; to go on from there: python examples/{NAME} --resume {shlex.quote(str(interruption.checkpoint))}"


def run(options: argparse.Namespace) -> Result:
    """The run that the options describe."""
    given = {name: value for name in vars(Settings()) if (value := getattr(options, name, None)) is not None}
    settings = replace(load(options.resume).settings if options.resume else Settings(), **given)
    if not 0 <= options.sample <= MOST:
        raise Refused(f"--sample is {options.sample}; it must be from 0 to {MOST:,}")
    folder = options.folder
    if folder is None and options.checkpoint is None and options.resume is None:
        folder = free_folder(settings.bug)
    return train(
        settings,
        folder=folder,
        checkpoint=options.checkpoint,
        resume=options.resume,
        every=options.every,
        monitor=options.monitor,
        progress=True,
    )


def free_folder(bug: str) -> Path:
    """The first of runs/char-gpt, runs/char-gpt-2, ... in which there is no run yet; with the bug in the name."""
    name = "char-gpt" if bug == "none" else f"char-gpt-{bug}"
    folders = (Path("runs", name if n == 1 else f"{name}-{n}") for n in itertools.count(1))
    return next(folder for folder in folders if not (folder / "checkpoint.npz").exists())


def report(options: argparse.Namespace, result: Result) -> None:
    """The results on stdout."""
    text = sample(result, options.sample)
    if options.json:
        print(to_json(as_dict(result, text)))
        return
    corpus, settings = result.corpus, result.settings
    parameters = sum(p.numel() for p in result.model.parameters())
    print(f"text            {corpus.name}: {len(corpus.text):,} characters, {len(corpus.vocabulary)} distinct")
    print(f"model           {count(settings.blocks, 'block')}, {settings.width} wide: {parameters:,} parameters")
    print(f"run             {len(result.losses):,} steps in {result.seconds:.0f} s, bug: {settings.bug}")
    print(f"training loss   {result.losses[0]:.3f} at step 1, {result.losses[-1]:.3f} at step {len(result.losses)}")
    print(f"held-out text   {result.held_out:.3f} nats a character")
    print(f"for comparison  {corpus.letter_frequencies:.3f} by letter frequencies, {corpus.uniform:.3f} by guessing")
    print(f"monitor         {verdict(options.monitor, result)}")
    if result.checkpoint is not None:
        print(f"checkpoint      {result.checkpoint}")
    if text:
        print(f"\n{text}")


def verdict(monitor: bool, result: Result) -> str:
    """What the monitor said, shortly."""
    if not result.findings:
        return "found nothing" if monitor else "was left out"
    return "\n                ".join(f"step {found['step']}: {found['text']}" for found in result.findings)


def as_dict(result: Result, text: str) -> dict[str, Any]:
    """The result for other programs. Losses and scores are in nats a character."""
    losses = result.losses
    return {
        "settings": asdict(result.settings),
        "text": {"name": result.corpus.name, "sha256": result.corpus.sha256, "characters": len(result.corpus.text)},
        "vocabulary": len(result.corpus.vocabulary),
        "parameters": sum(p.numel() for p in result.model.parameters()),
        "losses": {"1": losses[0], "50": losses[49] if len(losses) >= 50 else None, "last": losses[-1]},
        "held_out": result.held_out,
        "letter_frequencies": result.corpus.letter_frequencies,
        "uniform": result.corpus.uniform,
        "findings": result.findings,
        "seconds": round(result.seconds, 3),
        "checkpoint": None if result.checkpoint is None else str(result.checkpoint),
        "sample": text,
    }


def sample(result: Result, length: int) -> str:
    """So many characters that the model writes, beginning after a line end or, in a text without, anywhere."""
    if length == 0:
        return ""
    start = max(result.corpus.vocabulary.find("\n"), 0)
    generator = tensorgrad.Generator().manual_seed(result.settings.seed)
    try:
        written = result.model.generate(tensorgrad.tensor([[start]]), length, temperature=0.8, generator=generator)
    except ValueError as error:  # weights that are nan, in a checkpoint that was changed
        raise Refused(
            f"no sample can be written: {str(error).removeprefix('generate: ')}; --sample 0 leaves it out"
        ) from None
    return result.corpus.decode(written.data[0, 1:])


def parser() -> argparse.ArgumentParser:
    usual = Settings()
    found = Parser(
        prog=NAME,
        description="Train a small GPT on the characters of a text, with or without one of four silent mistakes.",
        epilog="Settings that are not given are those in parentheses, or with --resume those of the run.",
    )

    def setting(group: Any, name: str, what: str, kind: type = int) -> None:
        usually = getattr(usual, name)
        group.add_argument(
            f"--{name.replace('_', '-')}", type=kind, metavar="N" if kind is int else "X", help=f"{what} ({usually:g})"
        )

    text = found.add_argument_group("what is learned")
    text.add_argument("--text", metavar="FILE", help="a UTF-8 file (the documentation that Python's help() shows)")
    setting(text, "steps", "updates of the weights")
    text.add_argument("--bug", choices=BUGS, metavar="NAME", help=f"a mistake to make: {', '.join(BUGS)} (none)")
    setting(text, "seed", "of the first weights and the batches")

    files = found.add_argument_group("files")
    files.add_argument("--folder", metavar="FOLDER", help="for checkpoint and logs (runs/char-gpt, or a free name)")
    files.add_argument("--checkpoint", metavar="FILE", help="of the run's state, .npz (checkpoint.npz in the folder)")
    files.add_argument("--resume", metavar="FILE", help="a checkpoint to go on from, to the same losses bit for bit")
    files.add_argument("--every", type=int, default=250, metavar="N", help="steps between held-out scores (250)")

    model = found.add_argument_group("the model")
    setting(model, "blocks", "transformer blocks")
    setting(model, "heads", "attention heads in each")
    setting(model, "width", "numbers that a character is inside")
    setting(model, "context", "characters that it sees at most")
    model.add_argument(
        "--untied", dest="tied", action="store_false", default=None, help="an output layer apart from the token table"
    )

    loop = found.add_argument_group("the training loop")
    setting(loop, "batch", "sequences in a micro-batch")
    setting(loop, "accumulate", "micro-batches a step, whose gradients are added")
    setting(loop, "learning_rate", "the highest, after the warmup", float)
    setting(loop, "warmup", "steps over which the learning rate rises")
    setting(loop, "clip", "longest gradient that is let through; inf for any", float)
    loop.add_argument("--no-monitor", dest="monitor", action="store_false", help="leave tensorgrad.monitor out")

    output = found.add_argument_group("output")
    output.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"characters to write then ({SAMPLE})")
    output.add_argument("--json", action="store_true", help="the results as one JSON object on stdout")
    return found


if __name__ == "__main__":
    sys.exit(main())
