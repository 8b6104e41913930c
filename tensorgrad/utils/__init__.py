"""Tools under torch's names."""

from tensorgrad.utils import checkpoint
