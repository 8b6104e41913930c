"""The one device there is, under torch's names: enough for programs that ask where to put their tensors."""

from __future__ import annotations

from typing import Any, Literal


class device:
    """`device("cpu")`. It equals the string "cpu" too. Raises RuntimeError for any other device."""

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, str):
            raise TypeError(f"device: takes a name such as 'cpu', got {type!r}")
        name, colon, number = type.partition(":")
        if name != "cpu" or (colon and number != "0") or index not in (None, 0):
            raise RuntimeError(
                f"device {type!r}: tensors here are NumPy arrays in main memory; the one device is 'cpu'"
            )
        self.type = name
        self.index = 0 if colon else index

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (device, str)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __enter__(self) -> device:
        return self

    def __exit__(self, *raised: object) -> Literal[False]:
        return False


CPU = device("cpu")


def check_device(op: str, wanted: Any) -> None:
    """Raise, naming `op`, unless `wanted` is None or the one device there is."""
    if wanted is None or wanted is CPU:
        return
    try:
        device(wanted)
    except (RuntimeError, TypeError) as error:
        raise type(error)(f"{op}: {error}") from None
