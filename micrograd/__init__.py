"""A scalar engine for reverse-mode differentiation, a drop-in for Andrej Karpathy's micrograd."""

from micrograd.engine import Value

__all__ = ["Value"]
