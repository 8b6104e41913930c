"""One array in the graph: its storage, and how an operation is recorded.

The operations themselves are in `ops`; `tensor.Tensor` adds them as methods. Two things are known here and nowhere
else: when an operation is recorded (`record`), and what form a gradient has (`ArrayNode.grad`; `gate` brings what rules
send into it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet, ref

import numpy as np

from micrograd.backprop import Node, began_at, is_passing, move_hooks, topological_order
from micrograd.observing import made, named, observers
from micrograd.scopes import current_scope, open_scopes
from tensorgrad import checks, cuts, lean, lift, selection, sharing, versions
from tensorgrad.dtypes import is_differentiable, rank, scalar_dtype
from tensorgrad.errors import ChangedError, DtypeError, ShapeError
from tensorgrad.gate import QUIET, Several, aside, delivered, gate, quiet_pass
from tensorgrad.grad_mode import _mode
from tensorgrad.noise import warn
from tensorgrad.placing import Placed, Placing
from tensorgrad.reading import SCALARS, array_of
from tensorgrad.selection import SELECTING
from tensorgrad.versions import clock

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

Rule = Callable[[np.ndarray], np.ndarray]
"""From the gradient of a result to the contribution for one operand (a vector-Jacobian product): that gradient itself,
a view, or an array that the rule has made for this and does not keep."""

quiet = np.errstate(**QUIET)
"""Decorates what computes, forward and backward."""


_OF_ONE_NODE = ("_cuts", "_kin", "_stand_in", "_memory", "_handle", "_receivers")
"""Fields that a copy does not take over: weak references, and the stand-in in a lean graph."""


class ArrayNode(Node):
    """The fields of a Tensor: `data`, `grad`, `_prev`, `_op`, `label`, `requires_grad`.

    data           a NumPy array
    grad           None until a contribution arrives, then an array of data's shape and dtype, always
    requires_grad  whether gradients flow here; false makes the node a constant
    """

    __slots__ = (
        "_data",
        "_grad",
        "_prev",
        "_op",
        "_rules",
        "_requires_grad",
        "_time",
        "_used",
        "__dict__",
        "__weakref__",
    )

    _checksums: list[int] | None = None  # of the arrays that the rules hold, if it was recorded under debug
    _cuts: tuple[cuts.Cut, ...] = ()  # of a constant: where the graph ended that led to it
    _kin: WeakSet[ArrayNode] | None = None  # those that share its memory, see `sharing`
    _reshaped: int = 0  # when its data was last replaced by data of another shape
    _scaled_by: float = 1.0  # of a loss: by a GradScaler, which divides the gradients by it again
    _live: np.ndarray | None = None  # during a pass: where the gradient is more than the zero of an unselected branch
    _stand_in: ArrayNode | None = None  # what stands for it in a lean graph, see `lean`
    _memory: ref[np.ndarray] | None = None  # of what stands for a tensor: where that tensor's data are, or were
    _handle: ref[ArrayNode] | None = None  # and that tensor
    _receivers: list[ref[ArrayNode]] | None = None  # of one of several results: which nodes may get its gradient
    _retained: bool = False  # whether a pass that releases gradients is to leave this one
    _released: bool = False  # whether the last pass that came here has released its gradient

    _result_class: ClassVar[type[ArrayNode]]
    """What operations return: Tensor. (tensor.py sets it: its methods are built from functions that need it.)"""

    # -- fields ----------------------------------------------------------------------------------------------------

    data = property(attrgetter("_data"))
    requires_grad = property(attrgetter("_requires_grad"))

    @property
    def grad(self) -> np.ndarray | None:
        """The gradient. Warns where it is None although a backward pass has been run: that pass did not come here."""
        grad = self._grad
        if grad is None:
            if self._stand_in is not None and self._is_handle() and self._stand_in._grad is not None:
                return self._stand_in.grad
            if self._requires_grad and self._time < clock.last_pass and not is_passing():
                warn(_no_gradient(self))
        elif self._prev and (grad.base is not None or not grad.flags.writeable) and not is_passing():
            self._grad = grad = grad.copy()  # other nodes may hold it too, and this one is the reader's to change
        return grad

    @data.setter
    def data(self, value: Any) -> None:
        before = self._data
        if type(value) is not np.ndarray or not value.dtype.isnative:
            value = array_of("data", value, before.dtype)
        if value.dtype != before.dtype:
            rank(value.dtype)  # refuses strings, dates and records
            if self._requires_grad and not is_differentiable(value.dtype):
                raise DtypeError(f"data of {value.dtype} for {describe(self)}, which requires a gradient: use floats")
        if self._grad is not None and value.shape != self._grad.shape:
            raise ShapeError(
                f"data of shape {value.shape} for {describe(self)}, which holds a gradient of shape "
                f"{self._grad.shape}: set grad to None first"
            )
        if value is before:  # x.data += 1
            versions.wrote(value)
        elif value.shape != before.shape:
            versions.ticked()
            self._reshaped = clock.now
            self._stand_in = None
        if value.dtype != before.dtype and self._grad is not None and is_differentiable(value.dtype):
            self._grad = self._grad.astype(value.dtype)
        self._data = value

    def _bump(self) -> None:
        """Note that the array was changed in place: a rule that holds it refuses to compute with it."""
        versions.wrote(self._data)

    def __getstate__(self) -> Any:
        fields, slots = super().__getstate__()
        return {name: x for name, x in (fields or {}).items() if name not in _OF_ONE_NODE}, slots

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._prev:
            raise TypeError(
                f"pickle: {describe(self)} holds what it was computed from, with rules that are functions, and these "
                "cannot be pickled: pickle .detach(), or the leaves"
            )
        return super().__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        twin = self._take(object.__new__(type(self)), self.__getstate__())
        self._received_as(twin)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """With all that it was computed from; operands first, since a graph may be deeper than Python's stack."""
        for node in topological_order(self):
            if id(node) not in memo:
                twin = memo[id(node)] = object.__new__(type(node))
                if node._memory is not None:  # one element, whatever the shape: a copy would have them all
                    memo[id(node._data)] = node._data
                    twin._memory = node._memory
                self._take(twin, deepcopy(node.__getstate__(), memo))
                node._received_as(twin)
        return memo[id(self)]

    @staticmethod
    def _take(twin: ArrayNode, state: tuple[dict[str, Any], dict[str, Any]]) -> ArrayNode:
        fields, slots = state
        twin.__dict__.update(fields)
        for name, value in slots.items():
            setattr(twin, name, value)
        return twin

    def _received_as(self, other: ArrayNode) -> None:
        """Note that `other`, too, may get the gradient of this one of several results: see `outputs`."""
        if self._receivers is not None:
            other._receivers = self._receivers
            self._receivers.append(ref(other))

    def _moved(self) -> Tensor:
        """A node that takes this one's place in the graph below it, so that this one can become another's result."""
        old = new(self._data, self._op, self._prev, self._rules, self._requires_grad)
        old._grad, old._time, old._scope, old._used = self._grad, self._time, self._scope, self._used
        move_hooks(self, old)
        self._received_as(old)
        return old

    def _become(self, result: ArrayNode) -> None:
        """Take over what `result` is. (Nothing may have been made of either of them.)"""
        for name in ("_data", "_op", "_prev", "_rules", "_requires_grad", "_time"):
            setattr(self, name, getattr(result, name))
        self._scope = result._scope
        self._grad = self._stand_in = self._receivers = None

    def _is_handle(self) -> bool:
        """Whether its gradient is that of what stands for it: not a leaf's, and not while it is itself what a pass
        began at (as viz does, to show its data)."""
        return bool(self._prev) and not began_at(self)

    @grad.setter
    def grad(self, value: Any) -> None:
        data = self._data
        fits = type(value) is np.ndarray and value.dtype is data.dtype and value.shape == data.shape
        if fits and self._stand_in is None:  # what every contribution of a pass comes to
            self._grad = value
            return
        if self._stand_in is not None and self._is_handle():
            self._grad, self._stand_in.grad = None, value
            return
        if value is None:
            self._grad = None
            if self._live is not None:
                self._live = None
            if self._released:
                self._released = False
            if not self._prev:
                self._time = clock.now  # from here on its absence is no news until the next pass
            return
        if type(value) is not np.ndarray:
            value = array_of("grad", value, data.dtype)
        if value.shape != data.shape:
            raise ShapeError(f"a gradient of shape {value.shape} for {describe(self)}: the shapes must be equal")
        self._grad = value if value.dtype == data.dtype else array_of("grad", value, data.dtype)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"requires_grad is True or False, got {value!r}")
        if value and not is_differentiable(self._data.dtype):
            raise DtypeError(
                f"only floating-point tensors can require gradients, this one is {self._data.dtype}: "
                "make it from floats, e.g. Tensor(data, dtype=np.float32, requires_grad=True)"
            )
        if not value and self._prev:
            raise RuntimeError(
                f"{describe(self)} is the result of an operation, so it cannot stop requiring a gradient: "
                "use .detach() for a constant with its values"
            )
        if value and not self._requires_grad and not self._prev and lift.active():
            self._data = lift.leaves(self._data)
        self._requires_grad = bool(value)

    def _replace_grad(self, grad: np.ndarray) -> None:
        selection.replaced(self, grad)
        self.grad = grad

    # -- the contract of micrograd.backprop ------------------------------------------------------------------------

    def _vjp(self) -> list[tuple[Node, np.ndarray]]:
        if not _mode.quiet:
            with quiet_pass():
                return self._vjp()
        g = self._grad
        if g is None and self._stand_in is not None:  # asked outside of a pass
            g = self._stand_in._grad
        if self._rules is None:
            self._warn_no_rule()
            return []
        if self._time < clock.last_write:
            self._check_unchanged()
        if checks.enabled():
            checks.gradient(self)
            checks.unchanged(self)
        rules = self._rules
        arrived = None if checks.enabled() else _mode.arrived
        if type(rules) is not tuple:
            return self._sent_jointly(rules(g), arrived)
        if self._live is not None or self._op in SELECTING:
            return self._screened(rules, g)
        contributions: list[Any] = []
        for parent, rule in zip(self._prev, rules):  # as many, by `record`; strict= would take a third of the time here
            if rule is None or not parent._requires_grad:  # it may have been frozen since
                continue
            if parent._live is not None:
                parent._live = None
            if arrived is not None:
                if type(rule) is Placing and parent._grad is not None and (parent._prev or parent in arrived):
                    contributions.append((parent, Placed(rule, g)))
                    continue
                if not parent._prev:
                    arrived.add(parent)
            contributions.append((parent, gate(self, parent, rule(g))))
        return contributions

    def _sent_jointly(self, sent: Sequence[Any], arrived: set[ArrayNode] | None) -> list[tuple[Node, np.ndarray]]:
        """The contributions of a joint rule."""
        pairs = zip(self._prev, sent, strict=True)
        kept = [(parent, s) for parent, s in pairs if s is not None and parent._requires_grad]
        if arrived is not None:
            arrived.update([parent for parent, _ in kept if not parent._prev])
        return [delivered(self, parent, one) for parent, s in kept for one in (s if type(s) is Several else (s,))]

    def _screened(self, rules: tuple[Rule | None, ...], g: np.ndarray) -> list[tuple[Node, np.ndarray]]:
        """The contributions where branches are selected, here or above: see `selection`."""
        pairs = [(p, rule) for p, rule in zip(self._prev, rules, strict=True) if rule is not None]
        screened = selection.screened(self, [(p, rule(g), rule) for p, rule in pairs if p._requires_grad])
        return [(parent, gate(self, parent, s)) for parent, s in screened]

    def _check_unchanged(self) -> None:
        """Raise ChangedError if an array that the rules hold was changed in place since they were made, or the data of
        a node that takes part was replaced by data of another shape."""
        for node in (self, *self._prev) if self._prev else ():
            if node._reshaped > self._time:
                raise ChangedError(
                    f"backward: the data of {describe(node)} had another shape when {self._op!r} was computed: go "
                    "backward before it is replaced"
                )
        for array in versions.held_arrays(self._rules):
            if versions.changed_since(array, self._time):
                raise ChangedError(changed_in_place(self, array))

    def _run_closure(self) -> None:
        with aside():
            super()._run_closure()

    def _zeros(self) -> np.ndarray:
        return np.zeros_like(self._data)

    def _accept(self, parent: ArrayNode, sent: np.ndarray) -> np.ndarray:
        return delivered(self, parent, np.asarray(sent).view())[1]  # whoever made it may keep it: a view is copied


def new(data: np.ndarray, op: str = "", parents: tuple = (), rules: tuple = (), tracked: bool = False) -> Tensor:
    """A Tensor that holds `data` itself, not a copy."""
    out = object.__new__(ArrayNode._result_class)
    out._data = data
    out._grad = None
    out._prev = parents
    out._op = op
    out._rules = rules
    out._requires_grad = tracked
    out._time = clock.now
    out._used = 0
    if open_scopes:
        out._scope = current_scope()
        if observers:
            made(out)
    return out


def record(op: str, data: Any, *edges: tuple[ArrayNode, Rule]) -> Tensor:
    """The result of an operation: `data`, made from the operands in `edges`, each with its rule.

    It is part of the graph if grad mode is on and any operand requires a gradient; otherwise it is a constant that
    remembers nothing. A rule must not hold the result itself (its array is fine), or graphs become reference cycles.
    """
    if type(data) is not np.ndarray:  # NumPy answers with bare numbers where all operands are 0-d
        data = np.asarray(data)
    kind = data.dtype.kind
    tracked = False
    if _mode.enabled:
        for operand, _ in edges:
            if operand._requires_grad:
                tracked = kind == "f" or _check_differentiable(op, data.dtype)
                break
    if kind == "O":
        data = lift.own(op, data, [operand._data for operand, _ in edges], tracked)
    if not tracked:
        return constant(op, data, [operand for operand, _ in edges])
    is_lean = _mode.lean and kind != "O"
    parents, rules = [], []
    for operand, rule in edges:
        if is_lean:
            parents.append(lean.stand_in(operand))
        elif operand._stand_in is None or not operand._prev or kind == "O":
            parents.append(operand)
        else:  # of one that was used in a lean graph, too, the node is there
            parents.append(operand._stand_in)
        rules.append(rule if operand._requires_grad else None)
        operand._used += 1
    out = new(data, op, tuple(parents), tuple(rules), True)
    if checks.enabled():
        checks.remember(out)
    return out


def record_joint(
    op: str, data: Any, parents: tuple[ArrayNode, ...], rule: Callable[[np.ndarray], Sequence[np.ndarray | None]]
) -> Tensor:
    """As `record`, for an operation that computes its contributions together: `rule` returns one for each of
    `parents`, in order, or None for one that it has nothing to send to (a constant need not be computed)."""
    out = record(op, data, *[(parent, rule) for parent in parents])
    if out._prev:
        constants = [i for i, parent in enumerate(parents) if not parent._requires_grad]
        out._rules = _without(constants, rule) if constants else rule
    return out


def _without(
    places: Sequence[int], rule: Callable[[np.ndarray], Sequence[np.ndarray | None]]
) -> Callable[[np.ndarray], Sequence[np.ndarray | None]]:
    """The rule with nothing for the operands at these places: constants then, whatever has become of them since."""

    def fewer(g: np.ndarray) -> Sequence[np.ndarray | None]:
        return [None if i in places else sent for i, sent in enumerate(rule(g))]

    return fewer


def _check_differentiable(op: str, dtype: np.dtype) -> bool:
    """Whether a result of this dtype can take part; a complex one would lose the gradient without a sound."""
    if dtype.kind == "c":
        raise DtypeError(f"{op}: an operand requires a gradient and the result is complex, which has none here")
    return is_differentiable(dtype)


def constant(op: str, data: np.ndarray, operands: Sequence[ArrayNode]) -> Tensor:
    """The result of an operation that is not recorded. It remembers, for `explain`, which tensors were cut off here."""
    out = new(data)
    if observers:
        named(op)
    if data.base is not None:
        sharing.joined(out, operands)
    for operand in operands:
        if operand._cuts or (_mode.why and operand._requires_grad):
            out._cuts = cuts.joined(op, operands, _mode.why)
            break
    return out


def changed_in_place(node: ArrayNode, array: np.ndarray) -> str:
    """The message for a rule whose array is no longer what it was."""
    return (
        f"backward: {describe(node)} needs an array of shape {array.shape} that was changed in place after the forward "
        "pass (by +=, x[i] = ..., an optimizer's step): go backward before the change, or change a clone()"
    )


# -- operands ----------------------------------------------------------------------------------------------------------


def operand(x: Any, op: str, beside: ArrayNode | None = None) -> Tensor:
    """`x` as an operand of `op`: a Tensor as it is; a number or an array as a constant.

    A Python scalar takes the dtype of the tensor `beside` it, by the rules in `dtypes`.
    """
    if isinstance(x, ArrayNode):
        if x._memory is not None:  # what stands for a tensor has no elements to compute with
            x._no_data()  # type: ignore[attr-defined]
        return x
    dtype = scalar_dtype(x, beside._data.dtype) if beside is not None and type(x) in SCALARS else None
    return new(array_of(op, x, dtype))


def _no_gradient(x: ArrayNode) -> str:
    if lean.in_graph(x)._released:
        return (
            f"{describe(x)} has no gradient: the last backward pass released those of results as it went (keep_grads="
            "False, or a lean graph): call retain_grad() on the tensor before, or keep all of them"
        )
    return (
        f"{describe(x)} has no gradient: the last backward pass did not reach it; tensorgrad.explain(tensor) says "
        "where the graph was cut"
    )


def describe(x: ArrayNode) -> str:
    """A short name for messages: label or operation, shape, dtype."""
    what = x.label or (f"the result of {x._op!r}" if x._op else "a tensor")
    return f"{what} of shape {x._data.shape}, {x._data.dtype}"
