"""Optimizers under torch's names, and schedules of their learning rates in `lr_scheduler`."""

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.optim import lr_scheduler
from tensorgrad.optim.adam import Adam, AdamW
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]


def __dir__() -> list[str]:  # for completion: what is for users, not the modules that it comes from
    return __all__


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
