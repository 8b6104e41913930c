"""A target whose operations' arguments are known: a file whose variable is a Tensor is run twice for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from tensorgrad import Tensor
from viz.commands.options import target_of
from viz.commands.target import Target
from viz.comparison.lifted import Repeatable
from viz.comparison.recording import recording
from viz.inputs.running import is_the_users


def recorded_target(args: argparse.Namespace) -> Target:
    """The target. A file whose variable is a Tensor is run again, with its operations noted: how they were called is
    not in the graph, and noting it is slow, so that files with other targets are spared it."""
    known = set(sys.modules)
    read = Repeatable(target_of, [args])
    target = read()
    if not isinstance(target.variable, Tensor):
        return target
    _forget_modules(target.source.path.resolve().parent, known)
    with recording():
        return read()


def _forget_modules(folder: Path, known: Collection[str]) -> None:
    """Let modules of the user's that are not `known` be imported anew: tensors may be made there too."""
    for name in set(sys.modules).difference(known):
        file = Path(getattr(sys.modules[name], "__file__", None) or "")
        if is_the_users(file, folder) and file.suffix == ".py":
            del sys.modules[name]
