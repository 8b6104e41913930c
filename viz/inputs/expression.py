"""Expressions such as `relu(a*b + c)*a`, read against a list of what is allowed and never run as Python.

`parse` turns the text into a `Program`, which calls only operators and methods: so it runs on Values, Tensors and
torch's tensors alike.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn

from viz.errors import UserError
from viz.inputs.program import Apply, Program, Step, place

FUNCTIONS = ("relu", "tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos", "abs")
"""Functions of each element, for both engines; also as methods: relu(x) and x.relu() are the same."""

ARRAY_FUNCTIONS: dict[str, frozenset[str]] = {
    "sum": frozenset({"dim", "keepdim", "axis", "keepdims"}),
    "mean": frozenset({"dim", "keepdim", "axis", "keepdims"}),
    "max": frozenset({"dim", "keepdim", "axis", "keepdims"}),
    "reshape": frozenset(),
    "transpose": frozenset({"dim0", "dim1"}),
    "permute": frozenset(),
}
"""Functions of arrays, for Tensors only, each with its keywords; after the operand come whole numbers."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
}

_MOST_CHARACTERS = 5_000
_DEEPEST = 200
_LARGEST_INTEGER = 2**53  # what a float64 holds exactly


def parse(text: str) -> Program:
    """The program that an expression spells.

    Raises UserError that shows the place for what is not allowed, and for an expression that is empty, has no
    variable, is longer than 5,000 characters or nests deeper than 200 operations.
    """
    source = " ".join(text.split())
    if not source:
        raise UserError("the expression is empty: write one such as 'relu(a*b + c)*a'")
    if len(source) > _MOST_CHARACTERS:
        raise UserError(
            f"the expression has {len(source):,} characters, more than {_MOST_CHARACTERS:,}: "
            "write it as a function in a Python file and give file.py:function"
        )
    compiler = _Compiler(source)
    tree = _syntax_tree(source)
    _check_depth(tree)
    compiler.visit(tree)
    if not compiler.columns:
        raise UserError(f"{source!r} has no variable, so it makes no graph: use names, and give each a value (a=2)")
    return Program(
        source, tuple(compiler.columns), tuple(compiler.steps), tuple(compiler.columns.values()), compiler.for_arrays
    )


def _syntax_tree(source: str) -> ast.expr:
    try:
        with warnings.catch_warnings():  # about spellings that are refused later anyway
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        hint = {
            "invalid decimal literal": "a name cannot follow a number directly: write 2*a for 2a",
        }.get(error.msg, error.msg)
        raise UserError(f"{hint} ({place(source, max(error.offset or 1, 1))})") from None
    except (RecursionError, MemoryError):
        raise UserError(f"the expression is too deep: {_too_deep()}") from None
    except ValueError as error:
        raise UserError(f"the expression cannot be read: {error}") from None


def _check_depth(tree: ast.expr) -> None:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise UserError(f"the expression is too deep: {_too_deep()}")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _too_deep() -> str:
    return (
        f"at most {_DEEPEST} operations may stand inside one another (a sum of terms counts one for each): "
        "write it as a function in a Python file and give file.py:function"
    )


class _Compiler:
    """Goes through a syntax tree once and lists the steps, operands before operations."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.steps: list[Step] = []
        self.columns: dict[str, int] = {}
        self.for_arrays = ""
        self.kinds: dict[type[ast.expr], Callable[[Any], None]] = {
            ast.Name: self.name,
            ast.Constant: self.number,
            ast.BinOp: self.binary,
            ast.UnaryOp: self.unary,
            ast.Call: self.call,
            ast.Attribute: self.attribute,
            ast.Subscript: self.subscript,
        }

    def visit(self, node: ast.expr) -> None:
        visit = self.kinds.get(type(node))
        if visit is None:
            self.refuse(node, f"{_kind(node)} cannot be part of an expression: {_allowed()}")
        visit(node)

    def name(self, node: ast.Name) -> None:
        if node.id.startswith("__"):
            self.refuse(node, f"{node.id!r} is no name for a variable: leave the underscores out")
        self.columns.setdefault(node.id, self.column(node))
        self.steps.append(node.id)

    def number(self, node: ast.Constant) -> None:
        if type(node.value) not in (int, float):
            self.refuse(node, f"{node.value!r} is no number: {_allowed()}")
        if isinstance(node.value, int) and node.value > _LARGEST_INTEGER:
            try:
                self.steps.append(float(node.value))
            except OverflowError:
                self.refuse(node, "the number is larger than a float can hold (1.8e308)")
        else:
            self.steps.append(node.value)

    def binary(self, node: ast.BinOp) -> None:
        function = _OPERATORS.get(type(node.op))
        if function is None:
            hint = "; powers are written **" if isinstance(node.op, ast.BitXor) else ""
            self.refuse(
                self.operator_column(node), f"{_SYMBOLS[type(node.op)]} is none of the operators + - * / ** @{hint}"
            )
        self.visit(node.left)
        self.visit(node.right)
        self.apply(function, 2, self.operator_column(node), "@" if function is operator.matmul else "")

    def unary(self, node: ast.UnaryOp) -> None:
        if not isinstance(node.op, (ast.USub, ast.UAdd)):
            self.refuse(node, f"{_SYMBOLS[type(node.op)]} is none of the operators + - * / ** @")
        self.visit(node.operand)
        if isinstance(node.op, ast.UAdd):
            return
        if isinstance(self.steps[-1], (int, float)):
            self.steps[-1] = -self.steps[-1]
        else:
            self.apply(operator.neg, 1, self.column(node))

    def call(self, node: ast.Call) -> None:
        """f(x, ...) and x.f(...): both are the method f of the operand x, with literal arguments."""
        if isinstance(node.func, ast.Name):
            name, given = node.func.id, node.args
        elif isinstance(node.func, ast.Attribute):
            name, given = node.func.attr, [node.func.value, *node.args]
        else:
            self.refuse(node, "only functions can be called; for a product write *")
        if name not in FUNCTIONS and name not in ARRAY_FUNCTIONS:
            self.refuse(self.name_column(node.func), f"unknown function {name!r}: {_known_functions(name)}")
        if not given:
            self.refuse(node, f"{name} needs an operand: {name}(x)")
        self.visit(given[0])
        positional = [self.argument(name, argument) for argument in given[1:]]
        by_name = {k.arg: self.argument(name, k.value) for k in node.keywords if self.check_keyword(name, k)}
        if name in FUNCTIONS and positional:
            self.refuse(given[1], f"{name} takes one operand")
        method = operator.methodcaller(name, *positional, **by_name)
        along_axis = name == "max" and (positional or by_name)  # then values and positions come back
        function = (lambda x: method(x).values) if along_axis else method
        self.apply(function, 1, self.name_column(node.func), name if name in ARRAY_FUNCTIONS else "")

    def check_keyword(self, function: str, given: ast.keyword) -> bool:
        allowed = ARRAY_FUNCTIONS.get(function, frozenset())
        if given.arg not in allowed:
            what = f"{given.arg}=" if given.arg else "**"
            options = f": it has {', '.join(sorted(allowed))}" if allowed else ""
            self.refuse(given.value, f"{function} has no argument {what}{options}")
        return True

    def argument(self, function: str, node: ast.expr) -> Any:
        """A literal argument: a whole number, a tuple or list of them, or True or False."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.argument(function, element) for element in node.elts)
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, type(None))):
            return node.value
        number = _whole_number(node)
        if number is None:
            self.refuse(node, f"{function}: after the operand come whole numbers (axes or lengths), True or False")
        return number

    def attribute(self, node: ast.Attribute) -> None:
        if node.attr in FUNCTIONS or node.attr in ARRAY_FUNCTIONS:
            self.refuse(self.name_column(node), f".{node.attr} is a method: write .{node.attr}()")
        if node.attr != "T":
            self.refuse(
                self.name_column(node), f".{node.attr} cannot be part of an expression: of attributes there is only .T"
            )
        self.visit(node.value)
        self.apply(operator.attrgetter("T"), 1, self.name_column(node), ".T")

    def subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self.apply(operator.itemgetter(self.index(node.slice)), 1, self.column(node.value), "an index")

    def index(self, node: ast.expr) -> Any:
        """A literal index: whole numbers, slices of them, lists of them, None, and ..."""
        if isinstance(node, ast.Tuple):
            return tuple(self.index(part) for part in node.elts)
        if isinstance(node, ast.List):
            return [self.index(part) for part in node.elts]
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self.index(part) for part in parts))
        if isinstance(node, ast.Constant) and node.value in (None, ...):
            return node.value
        number = _whole_number(node)
        if number is None:
            self.refuse(node, "an index is made of whole numbers, slices, None and ..., as in x[0, 1:]")
        return number

    def apply(self, function: Callable[..., Any], count: int, column: int, arrays_only: str = "") -> None:
        self.for_arrays = self.for_arrays or arrays_only
        self.steps.append(Apply(function, count, column, arrays_only))

    def column(self, node: ast.AST) -> int:
        """Where `node` starts, counted in characters from 1."""
        return self._characters(node.col_offset) + 1

    def name_column(self, node: ast.Name | ast.Attribute) -> int:
        """Where the name of a function, a method or an attribute starts: for x.T at the T."""
        return (
            self._characters(node.end_col_offset) - len(node.attr if isinstance(node, ast.Attribute) else node.id) + 1
        )

    def operator_column(self, node: ast.BinOp) -> int:
        """Where the operator between two operands stands; there may be parentheses on both sides of it."""
        start = self._characters(node.left.end_col_offset)
        return self.source.index(_SYMBOLS[type(node.op)], start) + 1

    def _characters(self, byte_offset: int) -> int:
        return len(self.source.encode()[:byte_offset].decode())  # Python's syntax trees count in bytes

    def refuse(self, where: ast.AST | int, why: str) -> NoReturn:
        column = where if isinstance(where, int) else self.column(where)
        raise UserError(f"{why} ({place(self.source, column)})")


def _whole_number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _whole_number(node.operand)
        return None if number is None else -number
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value < _LARGEST_INTEGER:
        return node.value
    return None


def _known_functions(name: str) -> str:
    """The function that `name` is probably a misspelling of, else all there are."""
    known = (*FUNCTIONS, *ARRAY_FUNCTIONS)
    close = get_close_matches(name.lower(), known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def _allowed() -> str:
    return "it has names, numbers, + - * / ** @, functions, .T and indices"


_KINDS = {
    "Compare": "a comparison",
    "BoolOp": "and/or",
    "Lambda": "lambda",
    "IfExp": "if/else",
    "NamedExpr": ":=",
    "List": "a list (give it as a value, w=[1, 2])",
    "Tuple": "a tuple (give it as a value, w=[1, 2])",
    "JoinedStr": "a string",
    "Starred": "*",
}

_SYMBOLS: dict[type[ast.operator | ast.unaryop], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitXor: "^",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Invert: "~",
    ast.Not: "not",
}


def _kind(node: ast.expr) -> str:
    name = type(node).__name__
    return _KINDS.get(name, "a comprehension" if name.endswith("Comp") else f"this ({name})")
