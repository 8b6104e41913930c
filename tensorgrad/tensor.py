"""`Tensor`: one NumPy array a node, under torch's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from micrograd.backprop import add_hook, chain_rule, deliver
from micrograd.observing import made, observers
from micrograd.scopes import current_scope, open_scopes
from tensorgrad import cuts, lean, lift, sharing
from tensorgrad.dtypes import as_dtype
from tensorgrad.errors import ShapeError
from tensorgrad.gate import aside_for_hook, unseen_pass
from tensorgrad.grad_mode import is_grad_enabled, no_grad
from tensorgrad.hooks import RemovableHandle
from tensorgrad.node import ArrayNode, describe, new
from tensorgrad.noise import warn_of_broadcast_loss, warn_of_lost_parts
from tensorgrad.operators import Operators
from tensorgrad.reading import array_of, as_array
from tensorgrad.versions import clock, passed
from tensorgrad.watching import begins, ended, watchers


class Tensor(Operators):
    """An array, the operation that made it, and the gradient of a root with respect to it.

    data           copied from an array, a nested list or a number; an array keeps its dtype, lists and Python
                   numbers become float32 unless `dtype` says otherwise
    requires_grad  whether gradients flow to it; results inherit it from their operands
    _prev, _op     operands and name of an operation of your own: assign its rule to `_backward`
    label          a name for messages and pictures

    Warns where no gradient will pass to a tensor in `data` that requires one. Raises TypeError for what is no number,
    and for an integer tensor that requires a gradient (DtypeError); ValueError for ragged lists.
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        requires_grad: bool = False,
        _prev: tuple[Tensor, ...] = (),
        _op: str = "",
        label: str = "",
        *,
        dtype: Any = None,
    ) -> None:
        if isinstance(requires_grad, int) and not isinstance(requires_grad, bool):
            raise TypeError(
                f"Tensor({data!r}, {requires_grad!r}): requires_grad is True or False; for a tensor of a shape write "
                "empty(2, 3) or zeros(2, 3)"
            )
        dtype = None if dtype is None else as_dtype(dtype)
        if dtype is not None and dtype.kind == "O":
            data, dtype = lift.constant(as_array(data)), None
        self._data = as_array(data, dtype, copy=True)
        self._grad = None
        self._prev = ()
        self._op = ""
        self._rules = ()
        self._requires_grad = False
        self._time = clock.now
        self._used = 0
        if _prev:
            requires_grad = self._adopt(tuple(_prev), _op, requires_grad, data)
        if requires_grad is not False:
            self.requires_grad = requires_grad
        elif not _prev and is_grad_enabled():
            warn_of_lost_parts("Tensor", data)
        if label:
            self.label = label
        if open_scopes:
            self._scope = current_scope()
            if observers:
                made(self)

    def _adopt(self, parents: tuple[Tensor, ...], op: str, requires_grad: bool, data: Any) -> bool:
        """Become the result of an operation that is not in `ops`; its rule is still to come (see `_backward`).

        Whether it takes part in the graph is decided as in `node.record`, and is the answer.
        """
        for parent in parents:
            if not isinstance(parent, ArrayNode):
                raise TypeError(f"the operands in _prev must be Tensors, got a {type(parent).__name__}")
        tracked = is_grad_enabled() and (requires_grad or any(parent.requires_grad for parent in parents))
        if tracked:
            self._prev, self._op, self._rules = tuple(map(lean.in_graph, parents)), op, None
            for parent in parents:
                parent._used += 1
            if lift.active():
                self._data = lift.own_result(op, data, [parent._data for parent in parents])
        return tracked

    # -- backpropagation -------------------------------------------------------------------------------------------

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        *,
        keep_grads: bool | None = None,
    ) -> None:
        """Add the gradient of this tensor to the `grad` of every leaf it depends on, and set it on the others.

        gradient      the seed, of this tensor's shape; may be left out for a tensor of one element, where it is 1
        retain_graph  a graph may be walked again, unless this is False: then every rule is released, with the arrays
                      that it holds, once it has sent, and another pass raises RuntimeError
        create_graph  not here
        keep_grads    False: the gradients of results are released once they have been sent on, but for those of
                      tensors on which `retain_grad` was called. Left out: they are kept, to be looked at, unless the
                      graph was recorded under `lean_graph`

        Raises RuntimeError for a tensor that requires no gradient, or of several elements without `gradient`;
        ShapeError for a gradient of another shape; NotImplementedError for `create_graph`. Warns where a loss takes
        the difference of every element with every other one.
        """
        refuse_second_derivatives("backward", create_graph)
        seed = self._seed(gradient)
        done = lean.done((self,), keep_grads, retain_graph)
        warn_of_broadcast_loss(self)
        if watchers:
            begins((self,))
        with unseen_pass():  # of the += too: inf - inf is nan
            deliver(chain_rule(lean.in_graph(self), seed, done=done))
        passed((self,))
        if watchers:
            ended((self,))

    def _seed(self, gradient: Any = None) -> np.ndarray:
        """The gradient that a backward pass from here starts with; raises as `backward` does."""
        if not self._requires_grad:
            raise RuntimeError(
                f"backward: {describe(self)} requires no gradient: make a leaf with requires_grad=True, and look for "
                "detach() and no_grad() on the way"
            )
        data = self._data
        if data.dtype.kind == "O":
            raise RuntimeError("backward: a program that is run on Values must leave the backward pass to its caller")
        if gradient is None:
            if data.size != 1:
                raise RuntimeError(
                    f"backward: {describe(self)} is not a scalar, so its gradient is not clear: reduce it "
                    "(.sum(), .mean()) or pass gradient= of the same shape"
                )
            return np.ones(data.shape, data.dtype)
        seed = np.array(array_of("backward: gradient", gradient, data.dtype), dtype=data.dtype)
        if seed.shape != data.shape:
            raise ShapeError(f"backward: a gradient of shape {seed.shape} for {describe(self)}: they must be equal")
        return seed

    def detach(self) -> Tensor:
        """The same data, outside the graph: a constant. The array is shared, not copied."""
        out = new(lift.constant(self._data) if self._data.dtype == object else self._data)
        out._cuts = cuts.detached(self)
        sharing.joined(out, (self,))
        return out

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad`; returns the tensor."""
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this result also in a pass that releases them (`keep_grads=False`, a lean graph); else
        they are kept anyway. Raises RuntimeError for a tensor that requires none."""
        if not self._requires_grad:
            raise RuntimeError(f"retain_grad: {describe(self)} requires no gradient, so there will be none to keep")
        lean.in_graph(self)._retained = True

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call `hook(gradient)` in each backward pass, once the gradient of this tensor in that pass is complete.

        gradient  a constant Tensor, read-only, of this pass alone also for a leaf that holds more from earlier ones
        hook      what it returns (a Tensor or an array of that shape), unless None, takes the gradient's place

        Returns a handle with `remove()`, which may stand in a `with`. Raises RuntimeError for a tensor that requires
        no gradient.
        """
        if not self._requires_grad:
            raise RuntimeError(f"register_hook: {describe(self)} requires no gradient, so the hook would never run")
        if not callable(hook):
            raise TypeError(f"register_hook: takes a function of the gradient, got a {type(hook).__name__}")

        def called(grad: np.ndarray) -> np.ndarray | None:
            shown = grad.view()
            shown.flags.writeable = False  # other nodes may have been sent the same array
            with no_grad(), aside_for_hook():
                changed = hook(new(shown))
            if changed is None:
                return None
            array = array_of("register_hook: what a hook returned", changed, grad.dtype).copy()
            if array.shape != grad.shape:
                raise ShapeError(f"register_hook: a hook returned shape {array.shape} for a gradient of {grad.shape}")
            return array

        return RemovableHandle(add_hook(lean.in_graph(self), called))

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._data.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim

    @property
    def dtype(self) -> np.dtype:
        """The dtype of data and gradient."""
        return self._data.dtype

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by hand and not by a recorded operation."""
        return not self._prev

    def numel(self) -> int:
        """The number of elements."""
        return self._data.size

    def item(self) -> float | int | bool:
        """The one element, as a Python number. Raises ValueError where there is not exactly one."""
        if self._data.size != 1:
            raise ValueError(f"item: {describe(self)} has {self._data.size} elements, not one; use .tolist()")
        return lift.numbers(self._data).item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; of a 0-d tensor, the number."""
        return lift.numbers(self._data).tolist()

    def numpy(self) -> np.ndarray:
        """The array itself, shared. Raises RuntimeError where that would leave the graph without a word."""
        if self._requires_grad:
            raise RuntimeError(
                f"numpy: {describe(self)} requires a gradient, which NumPy does not track: use .detach().numpy()"
            )
        return self._data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        plain = lift.numbers(self._data)
        body = np.array2string(plain, separator=", ", prefix="Tensor(")
        extra = f", op={self._op!r}" if self._op else ", requires_grad=True" if self._requires_grad else ""
        return f"Tensor({body}, dtype={self._data.dtype}{extra})"

    def __format__(self, spec: str) -> str:
        if self._data.ndim == 0:
            return format(self.item(), spec)
        try:
            return format(str(self), spec)
        except ValueError:
            raise ValueError(f"the format {spec!r} is for one number, and {describe(self)} has several") from None

    def __len__(self) -> int:
        if not self._data.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._data)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._data.ndim:
            raise TypeError("iteration over a 0-d tensor: use .item() for its number")
        return (self[i] for i in range(len(self._data)))

    def __bool__(self) -> bool:
        return bool(self._one_number("bool"))

    def __float__(self) -> float:
        return float(self._one_number("float"))

    def __int__(self) -> int:
        return int(self._one_number("int"))

    def __index__(self) -> int:
        if self._data.dtype.kind not in "iu":
            raise TypeError(f"only integer tensors of one element are positions, this one is {self._data.dtype}")
        return int(self._one_number("index"))

    def _one_number(self, op: str) -> Any:
        if self._data.size != 1:
            how = "with .all() or .any()" if op == "bool" else "with .sum(), .mean() or an index"
            raise ValueError(
                f"{op}() of {describe(self)}: it has {self._data.size} elements, so the answer is not clear; "
                f"reduce it first, {how}"
            )
        return self.item()


def refuse_second_derivatives(op: str, create_graph: bool) -> None:
    """Raise NotImplementedError for `create_graph`."""
    if create_graph:
        raise NotImplementedError(
            f"{op}: create_graph: gradients are arrays without a graph here, so there are no second derivatives; "
            "take finite differences of first ones"
        )


class _TensorStandIn(lean.StandIn, Tensor):
    """See `lean`."""

    __slots__ = ()


ArrayNode._result_class = Tensor
lean.StandIn.of_class = _TensorStandIn
