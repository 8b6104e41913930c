"""The command line: plusequals draw | step | compare | uses | depth | memory | profile | run | demo."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import NoReturn

import numpy as np

from tensorgrad.errors import LeanGraphError
from viz.commands import compare, demo, depth, draw, memory, profile, run, step, uses
from viz.errors import UserError

_COMMANDS = {
    "draw": draw,
    "step": step,
    "compare": compare,
    "uses": uses,
    "depth": depth,
    "memory": memory,
    "profile": profile,
    "run": run,
    "demo": demo,
}
_SHORT_OPTIONS = ("-o", "-h")

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells count
_CLOSED_PIPE = 141  # 128 + SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0, 1 for a mismatch, 2 for bad input (one line on stderr)."""
    _open_closed_streams()
    _print_any_text()
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except (UserError, LeanGraphError) as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # whoever reads our output has read enough, as `head` does
        _discard_output()
        return _CLOSED_PIPE
    except OSError as error:  # a full disk, a name that is too long
        if error.filename is None:  # it was stdout
            _discard_output()
        return _complain(f"{error.filename or 'stdout'}: {error.strerror or error}")
    return status


def _complain(message: str) -> int:
    with suppress(OSError):  # a full disk: the status still tells
        print(f"plusequals: {' '.join(message.split())}", file=sys.stderr)
    return _BAD_INPUT


def _run(arguments: list[str]) -> int:
    given = _top_parser().parse_args(arguments[:1])
    command = _COMMANDS[given.command]
    args = _parse(_command_parser(given.command), arguments[1:])
    with np.errstate(all="ignore"):  # the pictures and tables show every inf and nan
        return command.run(args)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like all others."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (try {self.prog} --help)")


def _top_parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:<9} {module.HELP}" for name, module in _COMMANDS.items())
    parser = _Parser(
        prog="plusequals",
        description="Look at backpropagation: draw a graph, step through its backward pass, compare the gradients of "
        "the scalar and the tensor engine, split a gradient by use, measure it along the blocks of a model, count what "
        "a graph keeps in memory, and measure where time goes.",
        usage="plusequals COMMAND ...",
        epilog=f"commands:\n{lines}\n\nexample:\n{step.EXAMPLES.splitlines()[0]}\n\n"
        "plusequals COMMAND --help says more about each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=True,
    )
    parser.add_argument("--version", action="version", version=f"plusequals {_version()}")
    parser.add_argument("command", metavar="COMMAND", choices=tuple(_COMMANDS), help=", ".join(_COMMANDS))
    return parser


def _command_parser(name: str) -> argparse.ArgumentParser:
    command = _COMMANDS[name]
    parser = _Parser(
        prog=f"plusequals {name}",
        description=command.DESCRIPTION,
        epilog=f"examples:\n{command.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


def _parse(parser: argparse.ArgumentParser, arguments: list[str]) -> argparse.Namespace:
    """The arguments, among which an expression or a file's name may start with a minus, as -a*b does: argparse takes
    it for no option if there is a space before it, which is taken away again afterwards."""
    shielded = {f" {argument}": argument for argument in arguments if _looks_like_an_option(argument)}
    plain = {argument: shield for shield, argument in shielded.items()}
    args = parser.parse_intermixed_args([plain.get(argument, argument) for argument in arguments])
    for name, given in vars(args).items():
        if isinstance(given, str):
            setattr(args, name, shielded.get(given, given))
    return args


def _looks_like_an_option(argument: str) -> bool:
    return len(argument) > 1 and argument[0] == "-" != argument[1] and not argument.startswith(_SHORT_OPTIONS)


def _version() -> str:
    try:
        return metadata.version("plusequals")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _open_closed_streams() -> None:
    """Let a stream that the caller has closed, as with >&-, be one that leads nowhere."""
    for name in ("stdin", "stdout", "stderr"):  # in this order each gets its own descriptor back
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            nowhere = os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8", closefd=False)
            setattr(sys, name, nowhere)


def _print_any_text() -> None:
    """Escape what the terminal's encoding lacks, so that no label can end a command with UnicodeEncodeError."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Let Python flush stdout into nothing at its exit, or it would complain about the closed pipe again."""
    with suppress(OSError, ValueError):  # a stdout without a file behind it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
