"""Schedules of learning rates, under torch's names.

Call `scheduler.step()` after `optimizer.step()`. Most schedules multiply the rate that is there, so that several can
act on one optimizer, and a rate that was changed by hand stays changed.
"""

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.optim.lr_scheduler.base import LRScheduler
from tensorgrad.optim.lr_scheduler.cycle import OneCycleLR, PolynomialLR
from tensorgrad.optim.lr_scheduler.fixed import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    StepLR,
)
from tensorgrad.optim.lr_scheduler.plateau import ReduceLROnPlateau
from tensorgrad.optim.lr_scheduler.sequential import SequentialLR

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
