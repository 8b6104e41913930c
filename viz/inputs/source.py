"""A user's Python file: loading it, and finding in it the variable or function that is meant by `net.py:loss`."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from micrograd.backprop import Node
from viz.errors import UserError
from viz.inputs.running import running, telling, working_directory
from viz.names import find_names

_TARGET = re.compile(r"(.+\.py)(?::(.*))?", re.DOTALL)
_MODULE = "__plusequals_file__"  # not "__main__": what a file does only as a program, it does not do here
_MOST_LISTED = 12


@dataclass(frozen=True)
class Source:
    """A Python file that has been run, and what it left.

    namespace  its variables
    folder     the working directory, which its code may have changed; None for one that is gone
    held_back  whether it has a part for when it is the main program, which was not run
    """

    path: Path
    namespace: Mapping[str, Any]
    folder: str | None = None
    held_back: bool = False

    def find(self, name: str) -> Node | Callable[..., Any]:
        """The node or function called `name`; a node in a list or network too, as `losses[0]` or `net.w`.

        Raises UserError that lists what there is, or says what `name` is if it is something else.
        """
        if not name:
            raise UserError(
                f"{self.path}: which variable or function? write {self.path}:NAME; {self._offer()}{self._not_run()}"
            )
        if name in self.namespace:
            thing = self.namespace[name]
            if isinstance(thing, Node) or _is_function(thing):
                return thing
            raise UserError(f"{self.path}: {name} is {describe(thing, name)}; {self._offer()}")
        nodes = {called: node for node, called in find_names(self.namespace).items()}
        if name in nodes:
            return nodes[name]
        close = get_close_matches(name, [*self._names(), *nodes], n=1)
        hint = f"did you mean {close[0]}?" if close else self._offer()
        raise UserError(f"{self.path} has no variable or function {name!r}; {hint}{self._not_run()}")

    def call(self, name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """function(**arguments), to be called within `running`.

        Raises UserError where it does not take them, and in the place of what it raises.
        """
        positional, by_name = self._bind(name, function, arguments)
        with telling(self.path, otherwise=f"{self.path}: {name}()"):
            return function(*positional, **by_name)

    def _bind(
        self, name: str, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        where = f"{self.path}: {name}()"
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return [], dict(arguments)
        single = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
        unknown = [] if takes_any else sorted(set(arguments) - {p.name for p in single})
        if unknown:
            takes = f"it takes {', '.join(p.name for p in single)}" if single else "it takes none"
            raise UserError(f"{where} has no argument {unknown[0]!r}: {takes}")
        missing = [p.name for p in single if p.default is p.empty and p.name not in arguments]
        if missing:
            raise UserError(
                f"{where} needs {'a value' if len(missing) == 1 else 'values'} for {', '.join(missing)}: "
                f"add {' '.join(f'{m}=...' for m in missing)}"
            )
        positional = [p.name for p in single if p.kind is p.POSITIONAL_ONLY and p.name in arguments]
        by_name = {key: value for key, value in arguments.items() if key not in positional}
        return [arguments[key] for key in positional], by_name

    def _names(self) -> list[str]:
        """The nodes at the top level, but for constants, and the functions that the file itself defines."""
        return [
            name
            for name, thing in self.namespace.items()
            if not name.startswith("_")
            and (_takes_gradients(thing) or (isinstance(thing, FunctionType) and thing.__module__ == _MODULE))
        ]

    def _offer(self) -> str:
        names = self._names()
        if not names:
            return "the file has no function, and no Value or Tensor that takes a gradient, at its top level"
        more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
        return f"the file has {', '.join(names[:_MOST_LISTED])}{more}"

    def _not_run(self) -> str:
        return ' (what stands under `if __name__ == "__main__"` was not run)' if self.held_back else ""


def split_target(text: str) -> tuple[Path, str] | None:
    """The file and the name in "net.py:loss"; None for text that names no Python file."""
    found = _TARGET.fullmatch(text.strip())
    return None if found is None else (Path(found[1]), (found[2] or "").strip())


def load(path: Path) -> Source:
    """Run a Python file, from the top, as an import would; what it prints goes to stderr.

    Raises UserError if there is no such file, it cannot be read, or it raises.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a Python file in it")
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    module = ModuleType(_MODULE)
    module.__file__ = os.path.abspath(path)
    with running(path), telling(path, otherwise=str(path)):
        tree = ast.parse(text, str(path))
        sys.modules[_MODULE] = module  # dataclasses and pickle look their module up
        exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)
        folder = working_directory()
    return Source(path, module.__dict__, folder, any(map(_is_for_the_main_program, tree.body)))


def _is_for_the_main_program(statement: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__": ...`."""
    parts = list(ast.walk(statement.test)) if isinstance(statement, ast.If) else []
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in parts) and any(
        isinstance(part, ast.Constant) and part.value == "__main__" for part in parts
    )


def describe(thing: Any, name: str = "") -> str:
    """What something is that should have been a node, and what to write instead where that is clear."""
    kind = type(thing)
    if kind.__module__.partition(".")[0] == "torch":
        return f"torch's {kind.__name__}, and only graphs of Values and Tensors can be read: import tensorgrad as torch"
    if thing is None:
        return "None, not a Value or Tensor"
    if isinstance(thing, (list, tuple)) and name and any(isinstance(element, Node) for element in thing):
        return f"a {kind.__name__} of {len(thing)}, not one Value or Tensor: name one of its elements, {name}[0]"
    if isinstance(thing, (type, ModuleType)):
        return f"the {'class' if isinstance(thing, type) else 'module'} {thing.__name__}, not a Value or Tensor"
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}, not a Value or Tensor"


def _takes_gradients(thing: Any) -> bool:
    """Whether it is a node with something to compute gradients of: batches and targets are leaves without any."""
    return isinstance(thing, Node) and (bool(thing._prev) or thing.requires_grad)


def _is_function(thing: Any) -> bool:
    return inspect.isroutine(thing) or isinstance(thing, partial)
