"""Training in float16: scale the loss up so that small gradients are not rounded to 0, and the gradients down again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad import missing
from tensorgrad.node import new, quiet
from tensorgrad.noise import warn
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.parameters import own_gradient
from tensorgrad.settings import real, whole
from tensorgrad.tensor import Tensor

_READY, _UNSCALED, _STEPPED = "ready", "unscaled", "stepped"
_DEVICES = ("cpu", "cuda")


class _OrderError(RuntimeError, AssertionError):
    """Calls in an order that makes no sense: a RuntimeError, and an AssertionError where torch raises that."""


class _SettingError(ValueError, AssertionError):
    """A setting that makes no sense: a ValueError, and an AssertionError as in torch."""


class GradScaler:
    """Dynamic loss scaling (Micikevicius et al. 2018, section 3.2), in torch's steps:

        scaler.scale(loss).backward()
        scaler.step(optimizer)  # divides the gradients by the scale; no step where one of them is inf or nan
        scaler.update()

    init_scale       the scale to start with; a power of two loses no digits
    growth_factor    what it is multiplied by after `growth_interval` updates in a row without inf or nan
    backoff_factor   what it is multiplied by after one with inf or nan
    enabled          False makes it do nothing but call optimizer.step()
    device           taken for torch's sake, "cpu" or "cuda": programs written for either run here
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if str(device).partition(":")[0] not in _DEVICES:
            raise ValueError(f"GradScaler: device is 'cpu' (or 'cuda', which changes nothing), got {device!r}")
        growth_factor = real("GradScaler", "growth_factor", growth_factor)
        backoff_factor = real("GradScaler", "backoff_factor", backoff_factor)
        if enabled and not growth_factor > 1:
            raise _SettingError(f"GradScaler: growth_factor is {growth_factor}; it must be above 1")
        if enabled and not 0 < backoff_factor < 1:
            raise _SettingError(f"GradScaler: backoff_factor is {backoff_factor}; it must be between 0 and 1")
        self._enabled = enabled
        self._scale = np.float32(real("GradScaler", "init_scale", init_scale))
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = whole("GradScaler", "growth_interval", growth_interval)
        self._growth_tracker = 0
        self._has_scaled = False
        self._stages: dict[Optimizer, str] = {}
        self._found_inf: dict[Optimizer, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """`outputs`, a Tensor or any nesting of lists and tuples of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            self._has_scaled = True
            scaled = outputs * new(np.array(self._scale))
            scaled._scaled_by = float(self._scale)
            return scaled
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(x) for x in outputs)
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, np.ndarray)):
            return (self.scale(x) for x in outputs)
        raise ValueError(f"GradScaler.scale: takes a Tensor or an iterable of them, got a {type(outputs).__name__}")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, in place: to look at them, or clip them,
        before `step`, which does it otherwise.

        Raises RuntimeError when called twice, or after `step`, before `update`; ValueError for float16 gradients,
        which small numbers would be lost in: keep the parameters in float32.
        """
        if not self._enabled:
            return
        self._check_scaled("unscale_")
        stage = self._stages.get(optimizer, _READY)
        if stage == _UNSCALED:
            raise RuntimeError("GradScaler.unscale_: called twice on this optimizer: call update() between")
        if stage == _STEPPED:
            raise RuntimeError("GradScaler.unscale_: called after step() on this optimizer: call update() between")
        self._unscale(optimizer)
        self._stages[optimizer] = _UNSCALED

    @quiet
    def _unscale(self, optimizer: Optimizer) -> None:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        if any(p._grad is not None and p._grad.dtype == np.float16 for p in params):
            raise ValueError("GradScaler.unscale_: the gradients are float16; keep the parameters in float32")
        inverse = np.float32(1 / np.float64(self._scale))  # inf for a scale of 0
        for g in [g for p in params if (g := own_gradient(p)) is not None]:
            finite = bool(np.isfinite(g).all())
            self._found_inf[optimizer] = self._found_inf.get(optimizer, False) or not finite
            np.multiply(g, inverse.astype(g.dtype), out=g)

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), with gradients divided by the scale; no step where one of them is inf or nan.

        Returns what optimizer.step() does, None where there was no step. Raises RuntimeError when called twice before
        `update`, or where no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise RuntimeError("GradScaler.step: takes no closure: its gradients would not be divided by the scale")
        self._check_scaled("step")
        if self._stages.get(optimizer) == _STEPPED:
            raise RuntimeError("GradScaler.step: called twice on this optimizer: call update() between")
        if self._stages.get(optimizer, _READY) == _READY:
            self.unscale_(optimizer)
        if optimizer not in self._found_inf:
            raise _OrderError("GradScaler.step: no parameter of this optimizer has a gradient: call backward() first")
        found = None if self._found_inf[optimizer] else optimizer.step(**kwargs)
        self._stages[optimizer] = _STEPPED  # not where step() raised: then it may be called again
        return found

    def update(self, new_scale: Any = None) -> None:
        """Set the scale for the next iteration: smaller where inf or nan was found, larger after enough good ones, or
        `new_scale`. Raises RuntimeError where no gradient was looked at."""
        if not self._enabled:
            return
        self._check_scaled("update")
        if new_scale is not None:
            self._scale = np.float32(float(new_scale))
        elif not self._found_inf:
            raise _OrderError("GradScaler.update: no gradients were looked at since the last one: call step() first")
        elif any(self._found_inf.values()):
            self._back_off()
        else:
            self._grow()
        self._stages, self._found_inf = {}, {}

    @quiet
    def _back_off(self) -> None:
        before, self._scale = self._scale, np.float32(self._scale * np.float32(self._backoff_factor))
        self._growth_tracker = 0
        if before and not self._scale:
            warn(
                "GradScaler.update: the scale has become 0, after gradients with inf or nan again and again: all "
                "gradients will be 0 / 0 = nan, and the next step makes the parameters nan. Look for nan in the loss"
            )

    @quiet
    def _grow(self) -> None:
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = np.float32(self._scale * np.float32(self._growth_factor))
            self._scale = grown if np.isfinite(grown) else self._scale
            self._growth_tracker = 0

    def _check_scaled(self, method: str) -> None:
        if not self._has_scaled:
            raise _OrderError(f"GradScaler.{method}: nothing was scaled yet: call scale(loss).backward() first")

    def get_scale(self) -> float:
        """The scale; 1.0 if not enabled."""
        return float(self._scale) if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy. Raises RuntimeError between a step and `update`: what was found of the gradients belongs
        to optimizers, which a copy has not."""
        if self._stages:
            raise _OrderError("GradScaler: it is copied or pickled in the middle of a step: call update() first")
        return self.__dict__.copy()

    def state_dict(self) -> dict[str, Any]:
        """Scale, settings and the count of good updates; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from `state_dict`. Raises RuntimeError for an empty one, that of a scaler that was not enabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler.load_state_dict: the state is empty: it is that of one that is not enabled")
        op, names = "GradScaler.load_state_dict", self.state_dict().keys()
        if not isinstance(state_dict, Mapping) or not names <= state_dict.keys():
            raise ValueError(f"{op}: takes what state_dict returned: a dict with {', '.join(names)}")
        found = {name: real(op, name, state_dict[name]) for name in names}
        self._scale = np.float32(found["scale"])
        self._growth_factor = found["growth_factor"]
        self._backoff_factor = found["backoff_factor"]
        self._growth_interval = found["growth_interval"]
        self._growth_tracker = found["_growth_tracker"]


class autocast:
    """Not here: NumPy computes in float16 more slowly than in float32."""

    def __init__(self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True, **kwargs: Any) -> None:
        if enabled:
            raise NotImplementedError(
                "autocast: there is no automatic casting here; leave it out, or cast with .half() and .float()"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *raised: object) -> None:
        return None


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
