"""The package's one random generator, and torch's functions to seed it, to save it and to put it back.

It is NumPy's PCG64, so a seed gives other numbers than torch's generator would; the same seed gives the same numbers
again, on every machine with the same NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import devices
from tensorgrad.node import ArrayNode, new

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_WORD = 2**64
_LAYOUT = (("state", 16), ("inc", 16), ("uinteger", 4), ("has_uint32", 1))
"""The fields of PCG64's state and their sizes in bytes; the seed, in 8, comes after them."""


class Generator:
    """A random generator of one's own, for the `generator=` arguments; it starts from a seed that nobody knows."""

    _made: np.random.Generator | None

    def __init__(self, device: Any = "cpu") -> None:
        devices.check_device("Generator", device)
        self.seed()

    @property
    def device(self) -> devices.device:
        return devices.CPU

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, a whole number of at most 64 bits; a negative one stands for 2**64 - 1 + seed."""
        try:
            seed = int(seed)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"manual_seed: takes a whole number, got {seed!r}") from None
        if not -_WORD // 2 <= seed < _WORD:
            raise ValueError(f"manual_seed: {seed} does not fit into 64 bits")
        self._start(seed if seed >= 0 else _WORD - 1 + seed)
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody knows, and return it."""
        self._start(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that this generator last started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """All that the next numbers depend on, as a tensor of bytes."""
        found: Any = self._numpy.bit_generator.state
        fields = found | found["state"]
        packed = b"".join(int(fields[name]).to_bytes(size, "little") for name, size in _LAYOUT)
        return new(np.frombuffer(packed + self._seed.to_bytes(8, "little"), dtype=np.uint8).copy())

    def set_state(self, new_state: Any) -> Generator:
        """Go on from where `get_state` was called. Raises TypeError for anything but its result."""
        data = new_state._data if isinstance(new_state, ArrayNode) else new_state
        sizes = [size for _, size in _LAYOUT]
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape != (sum(sizes) + 8,):
            raise TypeError("set_state: takes what get_state returned, a tensor of bytes")
        parts = [int.from_bytes(part.tobytes(), "little") for part in np.split(data, np.cumsum(sizes))]
        state, inc, uinteger, has_uint32, seed = parts
        self._numpy.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }
        self._seed = seed
        return self

    @property
    def _numpy(self) -> np.random.Generator:
        """NumPy's generator, made at the first draw: NumPy imports its `random` when it is first asked for."""
        if self._made is None:
            self._made = np.random.Generator(np.random.PCG64(self._seed))
        return self._made

    def _start(self, seed: int) -> None:
        self._seed = seed
        self._made = None

    def __getstate__(self) -> np.ndarray:
        return self.get_state()._data

    def __setstate__(self, state: np.ndarray) -> None:
        self._start(0)
        self.set_state(state)


default_generator = Generator()


def generator(given: Any = None, op: str = "generator") -> np.random.Generator:
    """NumPy's generator to draw from: that of `given`, a `Generator` or one of NumPy's, or else the package's own."""
    if given is None:
        return default_generator._numpy
    if isinstance(given, Generator):
        return given._numpy
    if isinstance(given, np.random.Generator):
        return given
    raise TypeError(f"{op}: generator must be a tensorgrad.Generator, got a {type(given).__name__}")


def manual_seed(seed: int) -> Generator:
    """Start the package's generator from `seed`. The numbers that follow are not those that torch draws."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the package's generator from a seed that nobody knows, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the package's generator last started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the package's generator, as a tensor of bytes, for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Put the package's generator back to where `get_rng_state` was called."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = (), enabled: bool = True) -> Iterator[None]:
    """What is drawn inside the `with` leaves the package's generator as it was. `devices` are of no account here."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
