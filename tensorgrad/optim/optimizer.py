"""`Optimizer`: groups of parameters with their settings, what is remembered of each, and the step that changes them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

import numpy as np

from tensorgrad.grad_mode import enable_grad, no_grad
from tensorgrad.node import ArrayNode, describe, new, quiet
from tensorgrad.optim.hooks import StepHooks, with_hooks
from tensorgrad.parameters import clear_gradients
from tensorgrad.settings import real
from tensorgrad.tensor import Tensor

Group = dict[str, Any]
"""Parameters under "params" and their settings by name, "lr" among them."""

Work = tuple[np.ndarray, np.ndarray]
"""Two arrays for intermediate results, of the shape and dtype of the elements that are changed."""

_PIECE = 1 << 15  # elements that are computed with at a time: what an update reads and writes of them fits into a cache


class Optimizer(StepHooks):
    """The base of optimizers, which define `_update`; one of your own may define `step` instead.

    params    Tensors, or (name, Tensor) pairs, or dicts: {"params": Tensors, settings that differ from the defaults}
    defaults  settings for the groups that do not say otherwise

    param_groups  a list of dicts, of which "params" and the settings may be read and changed
    state         for each parameter that was changed, what is remembered of it, by name

    Raises ValueError for no parameters, a parameter that is a result of an operation, or is in two groups, or twice in
    one; TypeError for what is no Tensor.
    """

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        self.steps_taken = 0
        given = _listed(self._name, params)
        if not given:
            raise ValueError(
                f"{self._name}: there are no parameters to change (a generator, such as net.parameters(), can be gone "
                "through only once: make a list of it)"
            )
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Change these parameters too from now on: {"params": Tensors, settings that differ from the defaults}."""
        if not isinstance(param_group, Mapping) or "params" not in param_group:
            raise TypeError(f"{self._name}: a group is a dict with 'params' in it, got {_brief(param_group)}")
        group = {**self.defaults, **param_group}
        params = group["params"]
        found = [params] if isinstance(params, ArrayNode) else _listed(self._name, params)
        named = [p for p in found if isinstance(p, tuple) and len(p) == 2]
        if named:
            if len(named) != len(found):
                raise ValueError(f"{self._name}: either all parameters of a group have names or none has")
            group["param_names"] = [name for name, _ in named]
            found = [p for _, p in named]
        self._check_params(found)
        if any(("param_names" in group) != ("param_names" in other) for other in self.param_groups):
            raise ValueError(f"{self._name}: either the parameters of all groups have names or none has")
        self._check(group)
        group["params"] = found
        self.param_groups.append(group)

    def _check_params(self, params: list[Any]) -> None:
        known = set(self._params())
        for p in params:
            if not isinstance(p, ArrayNode):
                raise TypeError(f"{self._name}: changes Tensors, got {_brief(p)}")
            if p._prev:
                raise ValueError(f"{self._name}: {describe(p)} is no leaf: give the tensors that it was made from")
            if p in known:
                raise ValueError(f"{self._name}: {describe(p)} appears twice: each step would change it twice")
            known.add(p)

    def _check(self, group: Group) -> None:
        """Raise ValueError for settings that make no sense."""

    def _params(self) -> Iterator[Any]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients of all parameters away, or set them to zeros."""
        clear_gradients(self._params(), set_to_none)

    @with_hooks
    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient, once; one without is left as it is, with all that belongs to it.

        `closure`, if given, computes the loss and its gradients anew first; its result is returned.
        """
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(f"{self._name}.step: takes a function that computes the loss, got {_brief(closure)}")
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if not math.isfinite(group["lr"]):  # a schedule may make it a little negative, by rounding
                raise ValueError(f"{self._name}: lr is {group['lr']}: it was changed since the optimizer was made")
            for p in group["params"]:
                if p._grad is not None:
                    self._change(p, group)
        self.steps_taken += 1
        return loss

    @quiet
    def _change(self, p: Tensor, group: Group) -> None:
        data, grad = p._data, p._grad
        if not data.flags.writeable:
            raise RuntimeError(f"{self._name}: the array of {describe(p)} is read-only: give the tensor a copy of it")
        arrays, settings = self._prepare(data, group, self.state[p])
        in_float32 = data.dtype == np.float16  # squares and small numbers do not fit into float16
        everything = [data, *arrays]
        if in_float32:
            everything = [a.astype(np.float32) for a in everything]
        for piece, work in _pieces([grad.astype(everything[0].dtype, copy=False), *everything]):
            self._update(*piece, **settings, work=work)
        if in_float32:
            for a, b in zip([data, *arrays], everything, strict=True):
                a[...] = b
        p._bump()

    def _prepare(
        self, data: np.ndarray, group: Group, state: dict[str, Any]
    ) -> tuple[list[np.ndarray], dict[str, Any]]:
        """The arrays that are remembered of a parameter, made where this is its first step, and the numbers of this
        step, both as `_update` takes them."""
        raise NotImplementedError(f"{self._name} defines neither step nor _prepare and _update")

    def _update(self, *arrays: Any, **settings: Any) -> None:
        """One step, in place: called with the gradients, which stay as they are, the elements, the arrays and numbers
        from `_prepare`, and `work=` two arrays to compute in."""
        raise NotImplementedError(f"{self._name} defines neither step nor _prepare and _update")

    # -- state -----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """All but the parameters: settings and what is remembered, with parameters as numbers in order.

        It shares its arrays with the optimizer: copy it (deepcopy, save) to keep a state.
        """
        numbers = {p: i for i, p in enumerate(self._params())}
        return {
            "state": {numbers[p]: dict(found) for p, found in self.state.items() if p in numbers},
            "param_groups": [{**group, "params": [numbers[p] for p in group["params"]]} for group in self.param_groups],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from `state_dict`, that of an optimizer with parameters of the same shapes in the same order.

        Raises ValueError, with nothing changed, where groups, parameters or shapes differ. Arrays are copied, and take
        the dtypes of the parameters.
        """
        if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= state_dict.keys():
            raise ValueError(
                f"{self._name}.load_state_dict: takes what state_dict returned: 'state' and 'param_groups'"
            )
        groups, state = state_dict["param_groups"], state_dict["state"]
        self._check_state(groups, state)
        sizes, ours = [len(g["params"]) for g in groups], [len(g["params"]) for g in self.param_groups]
        if sizes != ours:
            raise ValueError(
                f"{self._name}.load_state_dict: groups of {sizes} parameters in the state, of {ours} in the optimizer"
            )
        params = dict(zip(chain.from_iterable(g["params"] for g in groups), self._params(), strict=True))
        loaded = {
            params[number]: {name: self._fitted(number, params[number], name, x) for name, x in found.items()}
            for number, found in state.items()
            if number in params
        }
        self.state = defaultdict(dict, loaded)
        for group, saved in zip(self.param_groups, groups, strict=True):
            group.update(deepcopy({key: value for key, value in saved.items() if key != "params"}))

    def _check_state(self, groups: Any, state: Any) -> None:
        """Raise ValueError for what is not built as `state_dict` builds it, TypeError for a setting that is no number
        and has to be one."""
        if (
            not isinstance(groups, (list, tuple))
            or not all(isinstance(g, Mapping) and isinstance(g.get("params"), (list, tuple)) for g in groups)
            or not isinstance(state, Mapping)
            or not all(isinstance(found, Mapping) for found in state.values())
        ):
            raise ValueError(
                f"{self._name}.load_state_dict: param_groups is a list of dicts with 'params', a list, in each, and "
                "state a dict of one dict a parameter; this state is damaged, or none of an optimizer"
            )
        for group in groups:
            for name, usual in self.defaults.items():
                if name in group and isinstance(usual, (int, float)) and not isinstance(usual, bool):
                    real(f"{self._name}.load_state_dict", name, group[name])

    def _fitted(self, number: int, p: Tensor, name: str, value: Any) -> Any:
        if not isinstance(value, (ArrayNode, np.ndarray)):
            return deepcopy(value)
        array = value._data if isinstance(value, ArrayNode) else value
        if name == "step" or array.dtype.kind != "f":
            return new(array.copy())
        if array.ndim and array.shape != p._data.shape:
            raise ValueError(
                f"{self._name}.load_state_dict: {name} of parameter {number} has shape {array.shape} in the state, the "
                f"parameter has {p._data.shape}"
            )
        return new(array.astype(p._data.dtype))

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            settings = sorted((k, v) for k, v in group.items() if k not in ("params", "param_names"))
            lines += [f"Parameter Group {i}", *[f"    {key}: {value}" for key, value in settings]]
        return "\n".join([*lines, ")"])


def remembered(state: dict[str, Any], name: str, like: np.ndarray) -> np.ndarray:
    """The array `name` of a parameter's state; at its first step zeros."""
    if name not in state:
        state[name] = new(np.zeros_like(like))
    return state[name]._data


def number(op: str, name: str, value: Any, low: float = 0.0, below: float = math.inf) -> float:
    """`value` as a float in [low, below). Raises ValueError if it is not, or is nan."""
    found = float(real(op, name, value))
    if not low <= found < below:
        limit = f"from {low:g}" + (f" to below {below:g}" if below < math.inf else ", and finite")
        raise ValueError(f"{op}: {name} is {found:g}; it must be {limit}")
    return found


def _listed(op: str, params: Any) -> list[Any]:
    if isinstance(params, ArrayNode):
        raise TypeError(f"{op}: takes an iterable of Tensors, got one Tensor: write [w]")
    if isinstance(params, Mapping):
        raise TypeError(f"{op}: takes an iterable, got a dict: write [group] for one group, or d.values()")
    if isinstance(params, (set, frozenset)):
        raise TypeError(f"{op}: a set has no order, and states are saved by place: give a list")
    if not isinstance(params, Iterable):
        raise TypeError(f"{op}: takes an iterable of Tensors, got {_brief(params)}")
    return list(params)


def _brief(x: Any) -> str:
    return "None" if x is None else f"a {type(x).__name__}"


def _pieces(arrays: list[np.ndarray]) -> Iterator[tuple[list[np.ndarray], Work]]:
    """The arrays, or where they are long the same parts of each in turn; with arrays to compute in."""
    size, last = arrays[0].size, arrays[-1]
    if size <= _PIECE or not all(a.flags.c_contiguous for a in arrays):
        yield arrays, (np.empty_like(last), np.empty_like(last))
        return
    flat = [a.reshape(-1) for a in arrays]
    one, two = np.empty((2, _PIECE), dtype=last.dtype)
    for start in range(0, size, _PIECE):
        n = min(_PIECE, size - start)
        yield [a[start : start + n] for a in flat], (one[:n], two[:n])
