"""How far a run is, on stderr: a bar in a terminal, else a line now and then."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

_LINES = 20  # of a run that has no bar


class Progress:
    """A bar over the steps of a run.

    steps    all of them
    done     those that were done before
    visible  False shows nothing

    The bar is tqdm's, of the extra `train`. Without it, or where stderr is no terminal, lines stand in for it. What
    cannot be shown (a terminal that is gone, a full disk behind stderr) is left out: it must not end a run.
    """

    def __init__(self, steps: int, done: int = 0, visible: bool = True) -> None:
        self._steps, self._visible, self._bar = steps, visible, None
        self._between = max(steps // _LINES, 1)
        if visible and sys.stderr is not None and sys.stderr.isatty():
            self._bar = self._tqdm(steps, done)

    def _tqdm(self, steps: int, done: int) -> Any:
        try:
            tqdm = importlib.import_module("tqdm")
        except ImportError:
            self.say("no progress bar: it needs tqdm, pip install 'plusequals[train]'")
            return None
        return tqdm.tqdm(total=steps, initial=done, unit="step", dynamic_ncols=True, file=sys.stderr)

    def step(self, step: int, loss: float, norm: float, speed: float) -> None:
        """Show a step that was done: nats a character, the length of the gradient, tokens a second."""
        shown = {"loss": f"{loss:.3f}", "norm": f"{norm:.2f}", "tokens/s": f"{speed:,.0f}"}
        if self._bar is not None:
            with suppress(OSError):
                self._bar.set_postfix(shown, refresh=False)
                self._bar.update()
        elif step == 1 or step % self._between == 0 or step == self._steps:
            self.say(f"step {step} of {self._steps}: " + ", ".join(f"{name} {value}" for name, value in shown.items()))

    def say(self, text: str) -> None:
        """A line above the bar."""
        with suppress(OSError):
            if self._bar is not None:
                self._bar.write(text, file=sys.stderr)
            elif self._visible:
                print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            with suppress(OSError):
                self._bar.close()
