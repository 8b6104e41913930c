"""That there is no graphics device, under torch's names, for programs that ask before they choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorgrad import missing


def is_available() -> bool:
    """False: tensors are on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator on a graphics device. `tensorgrad.manual_seed` seeds the one there is."""


def manual_seed_all(seed: int) -> None:
    """Nothing, as `manual_seed`."""


def empty_cache() -> None:
    """Nothing: no memory is held back."""


def synchronize(device: Any = None) -> None:
    """Nothing: every operation is done when it returns."""


if not TYPE_CHECKING:
    __getattr__ = missing.names_of(__name__)
