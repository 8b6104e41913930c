"""torch's switches for devices and libraries that are not here: they can be asked and set, and change nothing."""

from __future__ import annotations

from types import SimpleNamespace


class Backend(SimpleNamespace):
    """The switches of one library."""

    def is_available(self) -> bool:
        """False: the library is not here."""
        return False

    def is_built(self) -> bool:
        """False: the library is not here."""
        return False


mps = Backend()
cuda = Backend(matmul=SimpleNamespace(allow_tf32=False))
cudnn = Backend(enabled=False, deterministic=True, benchmark=False, allow_tf32=False)


def set_num_threads(threads: int) -> None:
    """Nothing: how many threads a product of matrices takes is up to the library that NumPy was built with."""


def get_num_threads() -> int:
    """1: a program here runs in the thread that calls it."""
    return 1


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing: products of float32 are computed in float32."""


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing: the same program gives the same numbers."""
