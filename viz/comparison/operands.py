"""A program's operands: Tensors made of what `viz.compare` is given, and names for them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from micrograd import Value
from tensorgrad import Tensor
from viz.comparison.lifted import Program
from viz.errors import UserError


def operand(x: Any, name: str) -> Tensor:
    """A Tensor as it is; of anything else a float64 leaf called `name`. Raises UserError for what is no array."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Value):
        x, name = x.data, x.label or name
    try:
        data = np.asarray(Tensor(x, dtype=np.float64).data)
    except (TypeError, ValueError) as error:
        raise UserError(f"compare: input {name}: {error}") from error
    return Tensor(data, requires_grad=True, label=name)


def parameter_names(program: Program, count: int) -> list[str]:
    """What the program calls its operands, as far as it says: its `parameters`, or its signature."""
    named = getattr(program, "parameters", None)
    if not isinstance(named, (tuple, list)):
        named = _positional(program)
    return [str(named[i]) if i < len(named) else f"x{i}" for i in range(count)]


def _positional(program: Program) -> Sequence[str]:
    try:
        kinds = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):
        return ()
    return [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
