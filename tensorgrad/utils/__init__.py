"""Tools under torch's names."""

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.utils import checkpoint, data

__all__ = [
    "checkpoint",
    "data",
]

if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
