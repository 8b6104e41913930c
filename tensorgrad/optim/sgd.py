"""Gradient descent, with momentum if wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorgrad.node import new
from tensorgrad.optim.optimizer import Group, Optimizer, Work, number


class SGD(Optimizer):
    """x -= lr (g + weight_decay x); with momentum, lr times a running sum of these instead.

    The sum is v = momentum v + (1 - dampening) g, the first one g itself; with `nesterov` x goes along
    g + momentum v (Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning", with
    torch's choice that lr multiplies v and is not inside it). `maximize` goes uphill. `foreach` and `fused`, which
    choose how torch computes this, are of no account here.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _check(self, group: Group) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            number("SGD", name, group[name])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(
                "SGD: nesterov needs a momentum above 0 and no dampening, got "
                f"momentum={group['momentum']}, dampening={group['dampening']}"
            )

    def _prepare(
        self, data: np.ndarray, group: Group, state: dict[str, Any]
    ) -> tuple[list[np.ndarray], dict[str, Any]]:
        settings = {name: float(group[name]) for name in ("lr", "momentum", "dampening", "weight_decay")}
        settings |= {name: group[name] for name in ("nesterov", "maximize")}
        if not group["momentum"]:
            return [], settings
        settings["first"] = state.get("momentum_buffer") is None
        if settings["first"]:
            state["momentum_buffer"] = new(np.empty_like(data))
        return [state["momentum_buffer"]._data], settings

    def _update(
        self,
        g: np.ndarray,
        x: np.ndarray,
        v: np.ndarray | None = None,
        *,
        lr: float,
        momentum: float,
        dampening: float,
        weight_decay: float,
        nesterov: bool,
        maximize: bool,
        work: Work,
        first: bool = False,
    ) -> None:
        one, two = work
        if maximize:
            g = np.negative(g, out=two)
        if weight_decay:
            np.multiply(x, weight_decay, out=one)
            g = np.add(g, one, out=two)
        if v is not None:
            if first:
                np.copyto(v, g)
            else:
                np.multiply(v, momentum, out=v)
                np.multiply(g, 1 - dampening, out=one)
                np.add(v, one, out=v)
            if nesterov:
                np.multiply(v, momentum, out=one)
                g = np.add(g, one, out=two)
            else:
                g = v
        np.multiply(g, -lr, out=one)
        np.add(x, one, out=x)
