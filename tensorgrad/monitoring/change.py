"""How far a step moved each parameter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorgrad.monitoring.measure import norm
from tensorgrad.tensor import Tensor


class Change:
    """The parameters before a step, in arrays that are made once, and what became of them.

    weights  norm of each parameter before the step
    norms    norm of the change of each
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = parameters
        self._arrays = [np.empty_like(p._data) for p in parameters]
        self.weights = self.norms = np.zeros(len(parameters))

    def before(self) -> None:
        """Copy them."""
        for i, p in enumerate(self._parameters):
            if self._arrays[i].shape != p._data.shape or self._arrays[i].dtype != p._data.dtype:  # it was cast, say
                self._arrays[i] = np.empty_like(p._data)
            np.copyto(self._arrays[i], p._data)

    def after(self) -> None:
        """Measure, over the copies: there is no other memory of their size."""
        self.weights = np.array([norm(array) for array in self._arrays])
        for i, p in enumerate(self._parameters):
            if self._arrays[i].shape != p._data.shape:  # the step itself put another in its place
                self._arrays[i] = np.array(p._data)
            else:
                np.subtract(p._data, self._arrays[i], out=self._arrays[i], casting="unsafe")
        self.norms = np.array([norm(array) for array in self._arrays])

    @property
    def ratios(self) -> np.ndarray:
        """Norm of the change over norm of the parameter; nan where that was all zeros."""
        found = np.full(len(self.weights), np.nan)
        np.divide(self.norms, self.weights, out=found, where=self.weights > 0)
        return found
