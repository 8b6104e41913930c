"""Neural-network parts under torch's names."""

from tensorgrad.nn import functional

__all__ = ["functional"]
