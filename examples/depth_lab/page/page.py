"""The depth lab as a page: one file, in which sliders change the stack and the curves follow."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from depth_lab.initialisation import WEIGHTS
from depth_lab.source import SETTINGS, Setting
from depth_lab.stack import ACTIVATIONS, BATCH, WIDTH, Stack
from depth_lab.words import size
from viz.kit.page import SCRIPTS, Page, assemble

MOST_LAYERS = 100
"""Of the page: a pass through them takes it about a tenth of a second."""

LEAST_SCALE, MOST_SCALE = 0.1, 4.0

_HERE = Path(__file__).parent
_STYLES = ("kit/kit.css", _HERE / "page.css", "kit/print.css")
_SCRIPTS = (
    *SCRIPTS,
    *(_HERE / name for name in ("draws.js", "stack.js", "words.js", "settings.js", "chart.js", "clip.js", "page.js")),
)
_TITLE = "How the gradient changes along a deep stack"


def page(stack: Stack) -> Page:
    """The page that opens with `stack`; of a deeper one than the page goes with as many layers as that, and it says so.

    Raises ValueError for another width or batch than the lab's.
    """
    if (stack.width, stack.batch) != (WIDTH, BATCH):
        raise ValueError(f"the page's stacks are {WIDTH} wide, with {BATCH} rows, got {stack.width} and {stack.batch}")
    remark = ""
    if stack.layers > MOST_LAYERS:
        remark = f"Asked for were {stack.layers:,} layers; this page goes up to {MOST_LAYERS}."
    data = {
        "stack": {**asdict(stack), "layers": min(stack.layers, MOST_LAYERS)},
        "remark": remark,
        "layers": [1, MOST_LAYERS],
        "scale": [min(LEAST_SCALE, stack.scale), max(MOST_SCALE, stack.scale)],
        "activations": list(ACTIVATIONS),
        "initialisations": WEIGHTS,
        "source": [_sourced(setting) for setting in SETTINGS],
    }
    return Page(assemble(_HERE / "page.html", _TITLE, data, _STYLES, _SCRIPTS), _TITLE)


def _sourced(setting: Setting) -> dict[str, Any]:
    """A row of the table of the source's stacks."""
    return {
        "layers": setting.stack.layers,
        "scale": setting.stack.scale,
        "residual": setting.stack.residual,
        "source": setting.in_words,
        "seeds": " to ".join(map(size, setting.ours)),
    }
