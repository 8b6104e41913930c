"""Operations of one's own, as torch has them: a class with a forward and a backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorgrad import lift
from tensorgrad.dtypes import is_differentiable
from tensorgrad.errors import ShapeError
from tensorgrad.gate import aside_for_hook
from tensorgrad.grad_mode import enable_grad, no_grad
from tensorgrad.node import describe, new
from tensorgrad.outputs import record_outputs
from tensorgrad.reading import as_array
from tensorgrad.tensor import Tensor


class Context:
    """What forward leaves for backward.

    saved_tensors     what `save_for_backward` was given
    needs_input_grad  for each argument, whether a gradient is asked of backward
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Tensor | None, ...] = ()
        self._constants: tuple[Tensor, ...] = ()
        self._zeros_for_none = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep operands and results for backward; a change of one in place is then noticed."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward: takes Tensors, got a {type(x).__name__}: set other things as attributes of ctx"
                )
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These results take no gradient."""
        self._constants = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (as it does at first) or None for a result that no gradient reached."""
        self._zeros_for_none = bool(value)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Not here: operations do not change their operands."""
        raise NotImplementedError("mark_dirty: operations do not change their operands here; return a new tensor")


class Function:
    """An operation: subclass it, write `forward(ctx, *args)` and `backward(ctx, *gradients)`, call `apply(*args)`.

    forward   computes a Tensor, or a tuple of Tensors, from the arguments; what it does is not recorded
    backward  takes the gradient of each result, a Tensor; returns one for each argument of forward, None where there is
              none to give

    torch's other form works too: `forward(*args)` and `setup_context(ctx, inputs, output)`. In a comparison with the
    scalar engine, forward is followed on Values, so its true derivative is what `backward` is compared with.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise TypeError(f"{name}: a Function is not made and called: write {name}.apply(...)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """To be written."""
        raise NotImplementedError("Function: write a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        """To be written where forward takes no ctx."""

    @staticmethod
    def backward(ctx: Context, *gradients: Any) -> Any:
        """To be written."""
        raise NotImplementedError("Function: write a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record it as one operation, named as the class."""
        tensors = tuple(x for x in args if isinstance(x, Tensor))
        ctx = Context(tuple(isinstance(x, Tensor) and x.requires_grad for x in args))
        with enable_grad() if lift.active() else no_grad():
            found = cls._forward(ctx, args, kwargs)
        several = isinstance(found, tuple)
        results = found if several else (found,)
        for x in results:
            if not isinstance(x, Tensor):
                raise TypeError(f"{cls.__name__}: forward must return Tensors, got a {type(x).__name__}")
        places = [i for i, x in enumerate(results) if _takes_gradient(x) and not any(x is y for y in ctx._constants)]
        recorded = dict(zip(places, cls._record(ctx, args, tensors, [results[i] for i in places]), strict=True))
        out = tuple(recorded[i] if i in recorded else new(x._data) for i, x in enumerate(results))
        return out if several else out[0]

    @classmethod
    def _forward(cls, ctx: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs)
        found = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, found)
        return found

    @classmethod
    def _record(
        cls, ctx: Context, args: tuple[Any, ...], tensors: tuple[Tensor, ...], results: Sequence[Tensor]
    ) -> list[Tensor]:
        if not results:
            return []
        shapes = [(x._data.shape, x._data.dtype) for x in results]
        wanted = [  # not the operands themselves: backward needs what it saved, no more
            (x._data.shape, describe(x), x._requires_grad) if isinstance(x, Tensor) else None for x in args
        ]

        def rule(gradients: list[np.ndarray | None]) -> list[np.ndarray | None]:
            if ctx._zeros_for_none:
                pairs = zip(gradients, shapes, strict=True)
                gradients = [np.zeros(shape, dtype) if g is None else g for g, (shape, dtype) in pairs]
            with no_grad(), aside_for_hook():
                sent = cls.backward(ctx, *[None if g is None else new(g) for g in gradients])
            return _contributions(cls.__name__, wanted, sent if isinstance(sent, tuple) else (sent,))

        return record_outputs(cls.__name__, [x._data for x in results], tensors, rule)


def _takes_gradient(x: Tensor) -> bool:
    return x._data.dtype == object or is_differentiable(x._data.dtype)


def _contributions(
    op: str, wanted: Sequence[tuple[tuple[int, ...], str, bool] | None], sent: tuple[Any, ...]
) -> list[np.ndarray | None]:
    """What backward returned, an array for each argument that is a Tensor.

    wanted  for each argument its shape, a name for it, and whether it takes a gradient; None for what is no Tensor
    """
    while len(sent) > len(wanted) and sent[-1] is None:  # torch takes more of them
        sent = sent[:-1]
    if len(sent) != len(wanted):
        raise RuntimeError(
            f"{op}: backward returned {len(sent)} gradients for the {len(wanted)} arguments of forward: return one for "
            "each, None where there is none"
        )
    found = []
    for i, (x, g) in enumerate(zip(wanted, sent, strict=True)):
        if x is None:
            continue
        shape, name, takes_gradient = x
        try:
            array = None if g is None or not takes_gradient else as_array(g)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{op}: what backward returned for argument {i}: {error}") from None
        if array is not None and array.shape != shape:
            raise ShapeError(
                f"{op}: backward returned a gradient of shape {array.shape} for argument {i}, {name}: they must be "
                "equal"
            )
        found.append(None if array is None else array.view())  # whoever made it may keep it: a view is copied
    return found
