"""What is said on stderr while stacks are measured, where that takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

SECONDS = 5.0  # between two lines, and before the first


def told(name: str, total: int) -> Callable[[int], None]:
    """A function that takes how many stacks are done, of all, and now and then says so in the script's name."""
    said = time.monotonic()

    def done(stacks: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < SECONDS or stacks == total:
            return
        said = now
        with suppress(OSError):  # a terminal that is gone must not end the work
            print(f"{name}: {stacks:,} of {total:,} stacks measured ...", file=sys.stderr, flush=True)

    return done
