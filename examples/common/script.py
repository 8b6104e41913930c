"""What the scripts share: how their options are read, and how they end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, suppress
from typing import NoReturn

from common.errors import Interrupted, Refused
from viz.errors import UserError


class Parser(argparse.ArgumentParser):
    """One that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} (see --help)")


def ended(name: str, work: Callable[[], object], how_to_go_on: Callable[[Interrupted], str] | None = None) -> int:
    """Do the work of the script of that name. Returns its exit status: 0; 2 for input that cannot be used, after one
    line on stderr; 128 + the number of a signal that ended it.

    how_to_go_on  what is said of a run that was interrupted and can be gone on with
    """
    with ExitStack() as opened:
        if sys.stderr is None:  # closed (`2>&-`); print would then write to stdout, in the middle of the results
            opened.enter_context(redirect_stderr(opened.enter_context(open(os.devnull, "w"))))
        return _status(name, work, how_to_go_on)


def _status(name: str, work: Callable[[], object], how_to_go_on: Callable[[Interrupted], str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed (`>&-`); print then prints nothing
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a text may have any character
    try:
        work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Refused, UserError) as error:
        return _complain(name, str(error), 2)
    except Interrupted as interruption:
        how = "" if how_to_go_on is None else how_to_go_on(interruption)
        return _complain(name, f"interrupted after step {interruption.step}{how}", 128 + interruption.signal)
    except KeyboardInterrupt:
        return _complain(name, "stopped at once; every file that was written before is whole", 130)
    except MemoryError as error:
        return _complain(name, f"there is not enough memory for this: {error or 'take smaller sizes'}", 2)
    except BrokenPipeError:  # `| head`
        _discard_output()
        return 1
    except OSError as error:  # a full disk
        if error.filename is None:
            _discard_output()
        return _complain(name, f"{error.filename or 'stdout'}: {error.strerror or error}", 2)
    return 0


def _complain(name: str, text: str, status: int) -> int:
    with suppress(OSError):  # where stderr cannot be written to, the status says it
        print(f"{name}: {' '.join(text.split())}", file=sys.stderr, flush=True)
    return status


def _discard_output() -> None:
    """Let Python flush stdout into nothing at its exit, where it would complain once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
