"""Gradients as values, operations of one's own, and checks against finite differences, under torch's names."""

from typing import TYPE_CHECKING

from tensorgrad import later, missing
from tensorgrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from tensorgrad.autograd.function import Context, Function
from tensorgrad.autograd.gradients import backward, grad
from tensorgrad.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Context",
    "Difference",
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "finite_difference",
    "grad",
    "gradcheck",
    "inference_mode",
    "input_gradients",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def __dir__() -> list[str]:  # for completion: what is for users, not the modules that it comes from
    return __all__


if TYPE_CHECKING:
    from tensorgrad.autograd.checking import Difference, GradcheckError, finite_difference, gradcheck, input_gradients
else:  # a type checker would take it for a promise that there is every name
    _CHECKING = ("Difference", "GradcheckError", "finite_difference", "gradcheck", "input_gradients")
    _LATER = dict.fromkeys(_CHECKING, "tensorgrad.autograd.checking")
    __getattr__ = later.names_from(__name__, _LATER, otherwise=missing.names_of(__name__))
