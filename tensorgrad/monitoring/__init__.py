"""What makes a wrong gradient say so, while a model is trained: see tensorgrad/MONITOR.md."""

from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.known_loss import check_loss_scale
from tensorgrad.monitoring.monitor import Monitor, monitor

__all__ = ["Finding", "Monitor", "check_loss_scale", "monitor"]
