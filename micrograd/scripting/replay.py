"""`script(loss, inputs)`: a graph as a Python function, which replays it with other numbers and builds no graph."""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from micrograd import branches
from micrograd.engine import Value, _to_float
from micrograd.scripting.checks import check_root, checked_inputs
from micrograd.scripting.writing import FUNCTION, Listing, source

Function = Callable[..., tuple[Any, list[Any]]]

_FLOAT = frozenset({float})
_numbers = count(1)


class Script:
    """A graph as one straight-line function: called with the inputs' numbers, it gives (loss, gradients).

    source         the text; it can be saved as a module of its own, whose function is `loss_and_gradients`
    array_source   the text for arrays of NumPy's, in which conditions are `where`
    function       what the text defines, for floats alone: a call of it checks nothing
    names          the parameters, in the order of the inputs

    It holds no node of the graph, and can be pickled: what a copy gets is the text.

    Inputs are given in their order or by name. Floats give the bits of a backward pass through the graph. Arrays
    that broadcast to one shape, (batch,) for example, give a loss and gradients of that shape: those of each
    element by itself, so that `.sum(0)` of a gradient is the one of the batch's sum. NumPy's functions may differ
    from Python's in the last bit.

    A call raises TypeError for what is no number or array and for a wrong count of inputs, ValueError for shapes
    that do not fit, BranchChanged where a comparison comes out otherwise than when the script was written.
    """

    def __init__(self, names: tuple[str, ...], source: str, array_source: str) -> None:
        self.names = names
        self.source = source
        self.array_source = array_source
        self.function: Function = _compiled(source)
        self._array_function: Function | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.names, self.source, self.array_source)

    def __call__(self, /, *inputs: Any, **named: Any) -> tuple[Any, list[Any]]:
        if named or not _FLOAT.issuperset(map(type, inputs)):
            return self._converted(inputs, named)
        return self.function(*inputs)

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        names = self.names if len(self.names) <= 8 else (*self.names[:3], "...", self.names[-1])
        return f"<Script of {', '.join(names)}: {self.source.count(chr(10))} lines>"

    def _converted(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, list[Any]]:
        rest = self.names[len(inputs) :]
        if named and named.keys() == set(rest):  # else the function says what is wrong
            inputs, named = (*inputs, *map(named.__getitem__, rest)), {}  # Python looks for each name among all
        numpy: Any = sys.modules.get("numpy")  # without it nobody has an array
        arrays = numpy is not None and any(isinstance(x, numpy.ndarray) for x in (*inputs, *named.values()))
        convert = _to_array if arrays else _to_number
        called = (*self.names, *map(str, range(len(self.names), len(inputs))))  # too many: the function says so
        inputs = tuple(convert(x, f"input {name}") for x, name in zip(inputs, called))
        named = {name: convert(x, f"input {name}") for name, x in named.items()}
        if not arrays:
            return self.function(*inputs, **named)
        if self._array_function is None:
            self._array_function = _compiled(self.array_source)
        shape = _common_shape(inputs, named)
        with numpy.errstate(all="ignore"):  # infinities may meet silently, as they do in a Value
            loss, gradients = self._array_function(*inputs, **named)
        return _filled(loss, shape), [_filled(gradient, shape) for gradient in gradients]


def script(
    loss: Value | Callable[[], Value], inputs: Iterable[Value] | Mapping[str, Value], *, no_branches: bool = False
) -> Script:
    """Write the graph of `loss` as a Python function of the numbers of `inputs`, which gives loss and gradients.

    loss         a function of no arguments that builds the graph and returns its root; or the root of one that is there
    inputs       the leaves that the function takes: a list, whose order is that of the parameters, or a dictionary,
                 whose keys name them. All other leaves are constants: their numbers are baked in.
    no_branches  your word that no comparison of Values decided what the graph of a given root became

    relu and abs replay right on either side. Comparisons of Values, as in `if`, `max` and `sorted`, leave nothing in a
    graph: a function's are recorded, and become lines that raise BranchChanged where one comes out otherwise. Of a
    root nobody can tell, so it is refused once Values have been compared. A branch that hangs on a number read from
    `.data`, or on a comparison in a thread of the function's own, cannot be seen: what the function did is replayed.

    Raises ValueError for operations, rules and hooks of the user's own, for inputs of which the graph has none, and
    where comparisons cannot be known; TypeError for what is no Value.
    """
    leaves, names = checked_inputs(inputs)
    seen: list[branches.Comparison] = []
    if callable(loss) and not isinstance(loss, Value):
        with branches.recorded() as seen:
            root = check_root(loss())
    else:
        root = check_root(loss)
        if branches.any_made() and not no_branches:
            raise ValueError(
                "Values were compared in this program, and a graph does not show what hung on it: give script() the "
                "function that builds the graph, which it can watch, or say no_branches=True if nothing did"
            )
    listing = Listing(root, leaves, names, seen)
    if root not in listing.depends and not listing.seen:
        raise ValueError(
            "the result depends on none of the inputs: does the function make its own, in place of using those?"
        )
    parameters = tuple(listing.names[x] for x in leaves)
    return Script(parameters, source(listing), source(listing, arrays=True))


def _compiled(text: str) -> Function:
    """The function that a script defines. Debuggers and tracebacks find its lines as long as it lives."""
    name = f"<micrograd script {next(_numbers)}>"
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, name, "exec", dont_inherit=True), space)
    function: Function = space.pop(FUNCTION)  # which would keep itself alive there
    lines = importlib.import_module("linecache").cache
    lines[name] = (len(text), None, text.splitlines(keepends=True), name)
    weakref.finalize(function, lines.pop, name, None).atexit = False
    return function


def _to_number(x: Any, name: str) -> float:
    if isinstance(x, (list, tuple)):
        kind = type(x).__name__
        raise TypeError(f"{name}: a number or an array is wanted, got a {kind}: numpy.array of it is a batch")
    try:
        return _to_float(x.data if isinstance(x, Value) else x)
    except (TypeError, OverflowError) as error:
        raise type(error)(f"{name}: {error}") from None


def _to_array(x: Any, name: str) -> Any:
    numpy = sys.modules["numpy"]
    if not isinstance(x, numpy.ndarray):
        return _to_number(x, name)
    if x.dtype.kind not in "biuf":
        raise TypeError(f"{name}: an array of numbers is wanted, got one of dtype {x.dtype}")
    if isinstance(x, numpy.ma.MaskedArray):
        raise TypeError(f"{name}: got a masked array, whose mask would be lost: fill it, or take what is not masked")
    return numpy.asarray(x, dtype=numpy.float64)  # of a matrix, too, whose * is another one


def _common_shape(inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[int, ...]:
    numpy = sys.modules["numpy"]
    shapes = [numpy.shape(x) for x in (*inputs, *named.values())]
    try:
        return tuple(numpy.broadcast_shapes(*shapes))
    except ValueError:
        different = ", ".join(map(str, dict.fromkeys(shapes)))
        raise ValueError(
            f"the inputs' shapes do not broadcast to one: {different}; a batch is one axis of all"
        ) from None


def _filled(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` as an array of this shape, with numbers of its own."""
    return sys.modules["numpy"].broadcast_to(x, shape).copy()
