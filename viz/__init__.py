"""Looking at backpropagation: pictures, a page that steps through it, and scalar gradients beside tensor gradients."""

from micrograd.scopes import scope
from viz.comparison.recording import recording
from viz.comparison.result import Comparison
from viz.comparison.run import compare
from viz.depth.picture import draw_depth
from viz.depth.result import Depth
from viz.depth.run import depth
from viz.drawing import Drawing, draw
from viz.frames import animate, frames
from viz.graph import Graph, snapshot
from viz.memory.picture import draw_memory
from viz.memory.result import Memory
from viz.memory.run import memory
from viz.page import Page, step
from viz.profiling.picture import draw_profile
from viz.profiling.result import Profile
from viz.profiling.run import profile
from viz.trace import Step, Trace, trace
from viz.training.curves import draw_runs
from viz.training.log import Run, read_run
from viz.training.picture import draw_run
from viz.uses.picture import draw_uses
from viz.uses.result import Split, Use, Uses
from viz.uses.run import uses

__all__ = [
    "Comparison",
    "Depth",
    "Drawing",
    "Graph",
    "Memory",
    "Page",
    "Profile",
    "Run",
    "Split",
    "Step",
    "Trace",
    "Use",
    "Uses",
    "animate",
    "compare",
    "depth",
    "draw",
    "draw_depth",
    "draw_memory",
    "draw_profile",
    "draw_run",
    "draw_runs",
    "draw_uses",
    "frames",
    "memory",
    "profile",
    "read_run",
    "recording",
    "scope",
    "snapshot",
    "step",
    "trace",
    "uses",
]
