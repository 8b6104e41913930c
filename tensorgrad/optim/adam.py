"""Adam, and AdamW, which decays the weights by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorgrad.node import new
from tensorgrad.optim.optimizer import Group, Optimizer, Work, number, remembered


class Adam(Optimizer):
    """x -= lr m / (sqrt(v) + eps), with m and v the running means of gradients and of their squares.

    m = b1 m + (1 - b1) g and v = b2 v + (1 - b2) g**2 start at 0 and are divided by 1 - b1**t and 1 - b2**t at step t
    (Kingma and Ba 2015, algorithm 1, in the order of its section 2's end but with eps beside the corrected root).
    Steps are counted for each parameter: one without a gradient is passed over. `weight_decay` times x is added to the
    gradient. `amsgrad` divides by the largest v so far (Reddi et al. 2018); `maximize` goes uphill. `foreach` and
    `fused`, which choose how torch computes this, are of no account here.
    """

    _decay_apart = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _check(self, group: Group) -> None:
        for name in ("lr", "eps", "weight_decay"):
            number(self._name, name, group[name])
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ValueError(f"{self._name}: betas are two numbers, got {betas!r}")
        for i, beta in enumerate(betas):
            number(self._name, f"betas[{i}]", beta, below=1.0)

    def _prepare(
        self, data: np.ndarray, group: Group, state: dict[str, Any]
    ) -> tuple[list[np.ndarray], dict[str, Any]]:
        if "step" not in state:
            state["step"] = new(np.zeros((), dtype=np.float32))
        state["step"]._data += 1
        step = float(state["step"]._data)
        arrays = [remembered(state, name, data) for name in ("exp_avg", "exp_avg_sq")]
        if group["amsgrad"]:
            arrays.append(remembered(state, "max_exp_avg_sq", data))
        lr, (beta1, beta2) = float(group["lr"]), map(float, group["betas"])
        return arrays, {
            "lr": lr,
            "step_size": lr / (1 - beta1**step),
            "root": math.sqrt(1 - beta2**step),
            "beta1": beta1,
            "beta2": beta2,
            "eps": float(group["eps"]),
            "weight_decay": float(group["weight_decay"]),
            "maximize": group["maximize"],
        }

    def _update(
        self,
        g: np.ndarray,
        x: np.ndarray,
        m: np.ndarray,
        v: np.ndarray,
        largest: np.ndarray | None = None,
        *,
        lr: float,
        step_size: float,
        root: float,
        beta1: float,
        beta2: float,
        eps: float,
        weight_decay: float,
        maximize: bool,
        work: Work,
    ) -> None:
        one, two = work
        if maximize:
            g = np.negative(g, out=two)
        if weight_decay and self._decay_apart:
            np.multiply(x, 1 - lr * weight_decay, out=x)
        elif weight_decay:
            np.multiply(x, weight_decay, out=one)
            g = np.add(g, one, out=two)
        _approach(m, g, 1 - beta1, one)
        np.multiply(v, beta2, out=v)
        np.multiply(g, 1 - beta2, out=one)
        np.multiply(one, g, out=one)
        np.add(v, one, out=v)
        if largest is not None:
            v = np.maximum(largest, v, out=largest)
        np.sqrt(v, out=one)
        np.divide(one, root, out=one)
        np.add(one, eps, out=one)
        np.multiply(m, -step_size, out=two)  # g is not needed any more
        np.divide(two, one, out=two)
        np.add(x, two, out=x)


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient: x is first multiplied by 1 - lr weight_decay (Loshchilov
    and Hutter 2019, algorithm 2, with torch's choice that the decay is multiplied by lr). The arguments are Adam's."""

    _decay_apart = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


def _approach(a: np.ndarray, b: np.ndarray, share: float, work: np.ndarray) -> None:
    """Move `a` by `share` of the way to `b`, in place; from the end that is nearer, so that a share of 1 gives b."""
    np.subtract(b, a, out=work)
    if share < 0.5:
        np.multiply(work, share, out=work)
        np.add(a, work, out=a)
    else:
        np.multiply(work, 1 - share, out=work)
        np.subtract(b, work, out=a)
