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
