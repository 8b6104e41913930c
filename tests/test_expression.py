"""Expressions: what they compute on every kind of operand, and what they refuse, with the place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from micrograd import Value
from tensorgrad import Tensor
from viz.errors import UserError
from viz.inputs.expression import FUNCTIONS, parse
from viz.inputs.literals import is_assignment, parse_literal, parse_values


def message(function, *arguments):
    with pytest.raises(UserError) as caught:
        function(*arguments)
    return str(caught.value)


# -- what they compute -------------------------------------------------------------------------------------------------

SCALAR = [
    ("relu(a*b + c)*a", {"a": 2.0, "b": -3.0, "c": 10.0}, 8.0),
    ("a - b - c", {"a": 2.0, "b": -3.0, "c": 10.0}, -5.0),
    ("a / b / c", {"a": 12.0, "b": 3.0, "c": 2.0}, 2.0),
    ("a ** b ** c", {"a": 2.0, "b": 3.0, "c": 2.0}, 512.0),
    ("-a**2", {"a": 3.0}, -9.0),
    ("+a", {"a": 3.0}, 3.0),
    ("a**-1", {"a": 4.0}, 0.25),
    ("2**a", {"a": 3.0}, 8.0),
    ("1 - 2/a", {"a": 4.0}, 0.5),
    ("(1 + 2)*a", {"a": 4.0}, 12.0),
    ("exp(1)*a", {"a": 1.0}, math.e),
    ("a.exp().log()", {"a": 1.5}, 1.5),
    ("abs(a).sqrt()", {"a": -9.0}, 3.0),
    ("9**9**9*a", {"a": 1.0}, math.inf),
    ("1e999*a", {"a": 1.0}, math.inf),
    (f"{10**17}*a", {"a": 1.0}, 1e17),
    ("θ*x", {"θ": 2.0, "x": 3.0}, 6.0),
    ("a*\n\t b", {"a": 2.0, "b": 3.0}, 6.0),
]


@pytest.mark.parametrize(("text", "values", "expected"), SCALAR)
def test_value(text, values, expected):
    program = parse(text)
    assert program.parameters == tuple(values)
    assert program(*map(Value, values.values())).data == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("text", "values", "expected"), SCALAR)
def test_a_tensor_gives_what_a_value_gives(text, values, expected):
    with np.errstate(over="ignore"):
        out = parse(text)(*(Tensor(np.float64(x)) for x in values.values()))
    assert out.item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_is_also_a_method_and_is_the_engines_own(name):
    for text in (f"{name}(a)", f"a.{name}()"):
        assert parse(text)(Value(0.7)).data == getattr(Value(0.7), name)().data


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x @ x.T", X @ X.T),
        ("sum(x)", X.sum()),
        ("x.sum(0)", X.sum(axis=0)),
        ("x.sum(dim=1, keepdim=True)", X.sum(axis=1, keepdims=True)),
        ("sum(x, axis=(0, 1))", X.sum()),
        ("mean(x, -1)", X.mean(axis=-1)),
        ("max(x)", X.max()),
        ("max(x, dim=0)", X.max(axis=0)),
        ("x.max(1, True)", X.max(axis=1, keepdims=True)),
        ("reshape(x, 3, -1)", X.reshape(3, 2)),
        ("x.reshape((6,))", X.reshape(6)),
        ("transpose(x, 0, 1)", X.T),
        ("x.transpose(dim0=0, dim1=1)", X.T),
        ("permute(x, 1, 0)", X.T),
        ("x[0]", X[0]),
        ("x[-1, 1:]", X[-1, 1:]),
        ("x[:, ::2]", X[:, ::2]),
        ("x[..., None, 0]", X[..., None, 0]),
        ("x[[0, 0, 1]]", X[[0, 0, 1]]),
    ],
)
def test_array_operations(text, expected):
    program = parse(text)
    assert program.for_arrays
    assert program(Tensor(X)).data == pytest.approx(expected)


def test_scalar_expressions_are_not_marked_as_for_arrays():
    assert parse("relu(a)*2").for_arrays == ""


def test_the_graph_is_the_one_that_the_text_spells():
    root = parse("a*a + 2")(Value(3.0))
    assert root._op == "+"
    assert root._prev[0]._op == "*"
    assert root._prev[0]._prev[0] is root._prev[0]._prev[1]
    assert root._prev[1].data == 2.0
    assert parse("a**2")(Value(3.0))._op == "**2"


def test_a_program_runs_on_torch(torch):
    x, w = torch.arange(6.0).reshape(2, 3), torch.ones(3)
    assert parse("(x @ w).tanh().sum() + max(x, dim=0).mean()")(x, w).item() == pytest.approx(
        (x @ w).tanh().sum().item() + 4.0
    )


# -- what they refuse --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a^2", 2, "powers are written **"),
        ("a + (b)  ^  (c)", 9, "^ is none"),
        ("é*a^2", 4, "^ is none"),
        ("a//b", 2, "// is none of the operators"),
        ("a % b", 3, "% is none"),
        ("~a", 1, "~ is none"),
        ("a*not_there(b)", 3, "unknown function 'not_there': there are relu"),
        ("rel(a)", 1, "did you mean relu?"),
        ("a.ReLU()", 3, "did you mean relu?"),
        ("__import__('os')", 1, "unknown function '__import__'"),
        ("__builtins__*a", 1, "'__builtins__' is no name"),
        ("a.__class__", 3, ".__class__ cannot be"),
        ("a.data*b", 3, "only .T"),
        ("a.relu*b", 3, "write .relu()"),
        ("a > 0", 1, "a comparison"),
        ("a if b else c", 1, "if/else"),
        ("a and b", 1, "and/or"),
        ("[1, 2]*a", 1, "give it as a value"),
        ("(a, b)", 1, "a tuple"),
        ("[x for x in a]", 1, "a comprehension"),
        ("lambda: a", 1, "lambda"),
        ("(a := b)", 2, ":="),
        ("'a'*b", 1, "is no number"),
        ("True*a", 1, "is no number"),
        ("2j*a", 1, "is no number"),
        ("2a", 1, "write 2*a"),
        ("a b", 3, "invalid syntax"),
        ("a***b", 4, "invalid syntax"),
        ("(a", 1, "never closed"),
        ("a)", 2, "unmatched"),
        ("a×b", 2, "invalid character"),
        ("a(b)", 1, "unknown function 'a'"),
        ("2(b)", 1, "for a product write *"),
        ("relu()", 1, "needs an operand"),
        ("relu(a, 1)", 9, "takes one operand"),
        ("relu(a, dim=1)", 13, "no argument dim="),
        ("sum(a, foo=1)", 12, "no argument foo=: it has axis, dim"),
        ("sum(a, **b)", 10, "no argument **"),
        ("max(a, b)", 8, "whole numbers"),
        ("sum(*a)", 5, "cannot be"),
        ("x[a]", 3, "an index is made of"),
        ("x[1.5]", 3, "an index is made of"),
        ("1" * 400 + "*a", 1, "larger than a float"),
    ],
)
def test_refused_with_the_place(text, column, words):
    error = message(parse, text)
    assert words in error
    assert f"column {column} of " in error


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("2 + 3", "no variable"),
        ("a" * 5_001, "5,001 characters"),
        ("-" * 1_000 + "a", "too deep"),
        ("+".join("a" * 1_000), "too deep"),
        ("-" * 4_900 + "a", "at most 200 operations"),
        ("(" * 1_000 + "a" + ")" * 1_000, "too many nested parentheses"),
        ("a\0b", "null bytes"),
        ("a*\udcff", "cannot be read"),
        ("9" * 4_999, "4300 digits"),
    ],
)
def test_refused_as_a_whole(text, words):
    assert words in message(parse, text)


def test_a_sum_of_many_terms_is_fine():
    assert parse("+".join("a" * 190))(Value(1.0)).data == 190.0


@pytest.mark.parametrize(
    ("text", "operands", "words"),
    [
        ("a*b", (np.ones(2), np.ones(3)), "(2,) and (3,) do not broadcast"),
        ("a @ b", (np.ones((2, 3)), np.ones((2, 3))), "must be equal"),
        ("a[5]", (np.ones(2),), "out of bounds"),
        ("sum(a, 3)", (np.ones(2),), "dim 3 is not an axis"),
        ("a.reshape(5)", (np.ones(2),), "do not fit"),
    ],
)
def test_what_the_engine_refuses_is_told_with_the_place(text, operands, words):
    error = message(parse(text), *map(Tensor, operands))
    assert words in error
    assert "column " in error


@pytest.mark.parametrize("text", ["sum(a)", "a.T", "a[0]", "a @ a", "sum(2)*a"])
def test_scalars_have_no_array_operations(text):
    assert "operation on arrays" in message(parse(text), Value(1.0))


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2", 2.0), ("-3", -3.0), (" +1e-3 ", 1e-3), ("1_000", 1000.0), ("inf", math.inf), ("-inf", -math.inf)],
)
def test_numbers(text, expected):
    assert parse_literal(text, "a") == expected
    assert isinstance(parse_literal(text, "a"), float)


def test_nan():
    assert math.isnan(parse_literal("nan", "a"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[1, 2]", [1.0, 2.0]), ("[[1, -2], [3e0, inf]]", [[1.0, -2.0], [3.0, math.inf]]), ("(1, 2)", [1.0, 2.0])],
)
def test_lists(text, expected):
    array = parse_literal(text, "a")
    assert array.dtype == np.float64
    assert array.tolist() == expected


def test_an_empty_list_is_an_array_of_no_elements():
    assert parse_literal("[]", "a").shape == (0,)


@pytest.mark.parametrize(
    "text",
    [
        *("x", "1+2", "'3'", "True", "None", "2j", "--3", "1e", "two", "[1, x]", "f(2)", "__import__('os')", "1\0"),
        *("[" * 40 + "]" * 40, "[" * 5_000, "9" * 400, "9" * 5_000),
    ],
)
def test_no_number(text):
    assert message(parse_literal, text, "a").startswith("a=")
    assert "is no number" in message(parse_literal, text, "a")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a=1", "a=2"], "a is given twice"),
        (["5"], "'5' is no value: write name=value"),
        (["a==5"], "is no value"),
        (["1a=5"], "is no value"),
        (["a="], "a= has no value"),
        (["lambda=1"], "a word of Python's own"),
        (["a=[1, [2]]"], "ragged"),
    ],
)
def test_values_refused(arguments, words):
    assert words in message(parse_values, arguments)


def test_values_in_order():
    assert parse_values(["b = 2", "a=-1"]) == {"b": 2.0, "a": -1.0}
    assert is_assignment("a = 2")
    assert not is_assignment("a*b")
