"""What a command looks at: an expression with values, or a variable or function of a Python file with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from inspect import iscoroutine
from types import ModuleType
from typing import Any, Literal

import numpy as np

from micrograd import Value
from micrograd.backprop import Node
from tensorgrad import Tensor
from viz.errors import UserError
from viz.inputs import literals
from viz.inputs.expression import parse
from viz.inputs.program import Program, place
from viz.inputs.running import running
from viz.inputs.source import Source, describe, load, split_target

Engine = Literal["scalar", "tensor"]


@dataclass(frozen=True)
class Target:
    """A graph, or a program that makes one.

    title    what to call it: the expression, or file.py:name
    program  makes the root from one operand for each of `values`; None for a variable, which is a root already
    variable that root
    values   the operands' numbers and arrays, by name, in the program's order
    engine   which nodes `root` makes of the values
    source   the user's file, if it comes from one
    """

    title: str
    program: Callable[..., Any] | None = None
    variable: Node | None = None
    values: Mapping[str, literals.Literal] = field(default_factory=dict)
    engine: Engine = "scalar"
    source: Source | None = None

    @property
    def names(self) -> Mapping[str, Any]:
        """A namespace to look node names up in: the file's. (An expression's leaves carry their names as labels.)"""
        return {} if self.source is None else self.source.namespace

    def running(self) -> AbstractContextManager[None]:
        """For everything that may run the user's code, rules of the user's in a backward pass among it: what that
        code raises becomes a UserError, and what it prints goes to stderr."""
        return nullcontext() if self.source is None else running(self.source.path, self.source.folder)

    def operands(self) -> list[Node]:
        """A new leaf for each of the values."""
        return [_leaf(name, value, self.engine) for name, value in self.values.items()]

    def root(self) -> Node:
        """The graph's root. Raises UserError if the program returns something else."""
        if self.variable is not None:
            return self.variable
        root = self.program(*self.operands())
        if not isinstance(root, Node):
            if iscoroutine(root):
                root.close()  # which would otherwise complain, much later, that nobody awaited it
            raise UserError(f"{self.title} returned {describe(root)}")
        return root


def read(text: str, arguments: Sequence[str], engine: Engine | None = None) -> Target:
    """The target that the words of a command line name; a file is run here, its function only by `root`.

    engine  "scalar" or "tensor" nodes; by default tensors where there is an array or an operation on arrays (in a
            file: where it uses tensorgrad), else scalars

    Raises UserError for what cannot be read or does not fit together.
    """
    file = split_target(text)
    if file is not None:
        path, name = file
        values = literals.parse_values(arguments)
        return _in_file(load(path), name, values, engine)
    if literals.is_assignment(text):
        raise UserError(f"{text!r} is a value: the expression, or file.py:name, comes before the values")
    program = parse(text)
    return _expression(program, literals.parse_values(arguments), engine)


def _expression(program: Program, values: Mapping[str, literals.Literal], engine: Engine | None) -> Target:
    missing = [name for name in program.parameters if name not in values]
    unused = [name for name in values if name not in program.parameters]
    if missing:
        column = program.columns[program.parameters.index(missing[0])]
        close = get_close_matches(missing[0], unused, n=1)
        hint = f"did you mean {close[0]}?" if close else f"add {' '.join(f'{name}=...' for name in missing)}"
        raise UserError(f"no value for {', '.join(missing)}: {hint} ({place(program.source, column)})")
    if unused:
        raise UserError(f"{unused[0]} is given but {program.source!r} does not use it: leave {unused[0]}= out")
    arrays = [name for name, value in values.items() if isinstance(value, np.ndarray)]
    reason = program.for_arrays or (f"the list {arrays[0]}" if arrays else "")
    if engine == "scalar" and reason:
        raise UserError(f"a scalar graph cannot hold {reason}: leave --engine scalar out")
    return Target(
        title=program.source,
        program=program,
        values={name: values[name] for name in program.parameters},
        engine=engine or ("tensor" if reason else "scalar"),
    )


def _in_file(source: Source, name: str, values: Mapping[str, literals.Literal], engine: Engine | None) -> Target:
    found = source.find(name)
    title = f"{source.path.name}:{name}"
    if isinstance(found, Node):
        if values:
            raise UserError(f"{title} is a variable, and only functions take values: leave {next(iter(values))}= out")
        if engine is not None:
            raise UserError(f"{title} is a variable, and its nodes are made already: leave --engine and --tensor out")
        return Target(title=title, variable=found, source=source)

    if engine is not None and not values:
        raise UserError(f"{title}() is given no values to make nodes of: leave --engine and --tensor out")

    def program(*operands: Any) -> Any:
        return source.call(name, found, dict(zip(values, operands, strict=True)))

    arrays = any(isinstance(value, np.ndarray) for value in values.values())
    return Target(
        title=title,
        program=program,
        values=values,
        engine=engine or ("tensor" if arrays or _uses_tensorgrad(source.namespace) else "scalar"),
        source=source,
    )


def _uses_tensorgrad(namespace: Mapping[str, Any]) -> bool:
    """Whether a file has imported tensorgrad, or something from it."""
    names = (x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", "") for x in namespace.values())
    return any(str(name).partition(".")[0] == "tensorgrad" for name in names)


def _leaf(name: str, value: literals.Literal, engine: Engine) -> Node:
    if engine == "tensor":
        return Tensor(np.asarray(value, dtype=np.float64), requires_grad=True, label=name)
    if isinstance(value, np.ndarray):
        raise UserError(f"the list {name} needs tensors: leave --engine scalar out")
    return Value(value, label=name)
