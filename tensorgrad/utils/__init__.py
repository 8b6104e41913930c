"""Tools under torch's names."""

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.utils import checkpoint, data

__all__ = [
    "checkpoint",
    "data",
]


def __dir__() -> list[str]:  # for completion: what is for users, not the modules that it comes from
    return __all__


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
