"""Scalar gradients beside tensor gradients: how `viz.compare` does it."""
