"""Errors that NumPy raises under one name and torch under another: code written for either catches them."""


class ShapeError(ValueError, RuntimeError):
    """Shapes that do not fit: a ValueError as in NumPy, a RuntimeError as in torch."""


class DtypeError(TypeError, RuntimeError):
    """A dtype that cannot be used so: a TypeError as in NumPy, a RuntimeError as in torch."""


class LeanGraphError(RuntimeError):
    """The data of a result that a lean graph has not kept was asked for."""


class ChangedError(RuntimeError):
    """An array that a backward pass needs was changed in place after the forward pass, as by an optimizer's step: a
    RuntimeError as in torch."""
