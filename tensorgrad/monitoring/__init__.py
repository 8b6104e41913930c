"""What makes a wrong gradient say so, while a model is trained: see the README beside this file."""

from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.known_loss import check_loss_scale
from tensorgrad.monitoring.monitor import Monitor, monitor

__all__ = ["Finding", "Monitor", "check_loss_scale", "monitor"]
