"""Looking at backpropagation: pictures, a page that steps through it, and scalar gradients beside tensor gradients."""

from viz.graph import Graph, snapshot
from viz.trace import Step, Trace, trace

__all__ = ["Graph", "Step", "Trace", "snapshot", "trace"]
