"""Optimizers under torch's names, and schedules of their learning rates in `lr_scheduler`."""

from tensorgrad.optim import lr_scheduler
from tensorgrad.optim.adam import Adam, AdamW
from tensorgrad.optim.optimizer import Optimizer
from tensorgrad.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
