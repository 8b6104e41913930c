"""What makes a wrong gradient say so, while a model is trained: see tensorgrad/MONITOR.md."""

from tensorgrad.monitoring.finding import Finding
from tensorgrad.monitoring.monitor import Monitor, monitor

__all__ = ["Finding", "Monitor", "monitor"]
