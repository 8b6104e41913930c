"""What the examples say instead of a traceback."""

from __future__ import annotations

from pathlib import Path


class Refused(Exception):
    """Input that cannot be used, or a run that cannot go on; the text is one line for the user."""


class Interrupted(KeyboardInterrupt):
    """A run that Ctrl-C or SIGTERM ended after a whole step.

    step        the step that was finished
    checkpoint  the file from which the run goes on, or None where it writes none
    signal      the number of the signal
    """

    def __init__(self, step: int, checkpoint: Path | None, signal: int) -> None:
        super().__init__(f"interrupted after step {step}")
        self.step, self.checkpoint, self.signal = step, checkpoint, signal
