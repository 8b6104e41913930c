"""What the monitor knows of the run so far, for checks that compare a moment with what came before."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

_ROWS_KEPT = 100_000  # rows of inputs that are known again: some 10 MB


class Run:
    """The run so far.

    accumulate  backward passes that make one step, as the user declared
    losses      of the last 100 steps: the loss that a step follows down is the sum of those of its passes
    first_loss  of the first step, nan before
    held_out    (step, nats) of each score that the user reported
    """

    def __init__(self, accumulate: int = 1) -> None:
        self.accumulate = accumulate
        self.losses: deque[float] = deque(maxlen=100)
        self.first_loss = float("nan")
        self.held_out: list[tuple[int, float]] = []
        self._count = 0
        self._rows: set[int] = set()
        self._seen_before: deque[float] = deque(maxlen=100)

    def add_pass(self, loss: float, inputs: np.ndarray | None, begins: bool = True) -> None:
        """Note a pass's loss, and which of its rows of inputs had been there before.

        begins  whether it is the first whose gradients the next step takes
        """
        if begins:
            self.losses.append(loss)
            self._count += 1
        else:
            self.losses[-1] += loss
        if self._count == 1:
            self.first_loss = self.losses[-1]
        if inputs is not None:
            rows = [hash(row.tobytes()) for row in np.atleast_2d(inputs)]
            self._seen_before.append(sum(row in self._rows for row in rows) / max(len(rows), 1))
            self._rows.update(rows if len(self._rows) < _ROWS_KEPT else ())

    @property
    def repeated(self) -> float:
        """Which share of the rows of the last 100 passes had been trained on before; nan where that is not known."""
        return float(np.mean(self._seen_before)) if self._seen_before else float("nan")

    def recent_loss(self, steps: int = 20) -> float:
        """The median of the last losses."""
        last: Sequence[float] = list(self.losses)[-steps:]
        return float(np.median(last)) if last else float("nan")
