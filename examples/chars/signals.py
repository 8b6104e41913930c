"""Ctrl-C and SIGTERM as a wish that a loop fulfils when it can."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Signals:
    """While the `with` lasts, `caught` is the number of a signal that came, or None.

    The first is only noted down; the second stops at once, as KeyboardInterrupt. Only a program's main thread may
    listen to signals: in another one nothing is caught.
    """

    def __init__(self) -> None:
        self.caught: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.caught is not None:
            raise KeyboardInterrupt
        self.caught = number
