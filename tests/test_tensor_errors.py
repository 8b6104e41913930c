"""What a Tensor refuses, and that the message says which operation, which shapes, and what to do."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import tensorgrad as tg
from micrograd import Value
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError

X = Tensor([1.0, 2.0, 3.0], requires_grad=True)
M = Tensor(np.ones((2, 3)))


def raises(error: type[Exception], *words: str):
    """An error of this type whose message holds the words in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(map(re.escape, words)))


# -- making one --------------------------------------------------------------------------------------------------------

NO_NUMBERS = {
    # what: (the data, words of the message)
    "None": (None, "got None"),
    "string": ("3", "got a str: write float('3')"),
    "bytes": (b"3", "got a bytes"),
    "list of strings": (["a", "b"], "the list holds <U1 data"),
    "list with a string": ([1.0, "b"], "the list holds"),
    "list with None": ([1.0, None], "this holds None"),
    "dictionary": ({"a": 1}, "got a dict"),
    "set": ({1.0}, "got a set"),
    "generator": ((x for x in [1.0]), "got a generator"),
    "object": (object(), "got a object"),
    "array of strings": (np.array(["a"]), "holds numbers, not <U1"),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), "holds numbers, not datetime64[D]"),
    "durations": (np.array([1], dtype="timedelta64[s]"), "holds numbers, not timedelta64[s]"),
    "list of dates": ([np.datetime64("2020-01-01")], "datetime64[D] data"),
    "records": (np.zeros(2, dtype=[("a", float)]), "holds numbers, not"),
    "array of objects": (np.array([1.0, None], dtype=object), "this holds None"),
    "numbers as objects": (np.array([1.0, 2.0], dtype=object), "convert it"),
    "huge integers": ([10**30], "too large for NumPy"),
    "Value": (Value(1.0), "not from Values: take their .data"),
    "list of Values": ([Value(1.0), 2.0], "not from Values: take their .data"),
    "array of Values": (np.array([Value(1.0)]), "not from Values: take their .data"),
}
every_no_number = pytest.mark.parametrize("what", NO_NUMBERS)


@every_no_number
def test_made_from_no_numbers(what: str):
    data, words = NO_NUMBERS[what]
    for make in (Tensor, tg.tensor):
        with raises(TypeError, words):
            make(data)


@every_no_number
def test_no_number_as_an_operand(what: str):
    data, words = NO_NUMBERS[what]
    for name, operation in {
        "add": lambda t: t + data,
        "mul": lambda t: t * data,
        "pow": lambda t: t**data,
        "matmul": lambda t: t @ data,
        "lt": lambda t: t < data,
    }.items():
        with raises(TypeError, f"{name}: ", words):
            operation(X)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_made_from_a_shape(shape: tuple[int, ...]):
    with raises(TypeError, "Tensor(2, 3): requires_grad is True or False", "empty(2, 3)"):
        Tensor(*shape)


@pytest.mark.parametrize("data", [[[1, 2], [3]], [1, [2]], [[1, 2], 3], [[1], [2, 3, 4]]])
def test_ragged_lists(data: list):
    with raises(ValueError, "ragged: every row needs the same length"):
        Tensor(data)
    with raises(TypeError, "add: ", "ragged"):
        X + data


def test_a_value_and_a_tensor_do_not_mix():
    v = Value(2.0)
    for mix in (lambda: X + v, lambda: v + X, lambda: X * v, lambda: v * X, lambda: v**X, lambda: X / v, lambda: v < X):
        with pytest.raises(TypeError, match=r"Tensor"):
            mix()


# -- shapes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul", lambda a, b: a * b),
        ("div", lambda a, b: a / b),
        ("pow", lambda a, b: a**b),
        ("lt", tg.lt),
        ("eq", tg.eq),
    ],
)
def test_shapes_that_do_not_broadcast(name: str, operation):
    with raises(ShapeError, f"{name}: shapes (3,) and (2,) do not broadcast", "reshape one"):
        operation(X, Tensor([1.0, 2.0]))
    with raises(ShapeError, f"{name}: shapes (2, 3) and (4, 1, 2)"):
        operation(M, np.ones((4, 1, 2)))
    with raises(ShapeError, f"{name}: shapes (4,) and (3,)"):
        operation(np.ones(4), X)


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((3,), (2,), "the last axis of the first (3) and axis 0 of the second (2) must be equal"),
        ((2, 3), (2,), "the last axis of the first (3) and axis 0 of the second (2)"),
        ((3,), (2, 3), "the last axis of the first (3) and axis -2 of the second (2)"),
        ((2, 3), (2, 3), "the last axis of the first (3) and axis -2 of the second (2)"),
        ((5, 2, 3), (5, 2, 3), "the last axis of the first (3) and axis -2 of the second (2)"),
        ((5, 2, 3), (4, 3, 2), "the axes before the last two do not broadcast"),
        ((), (3,), "a 0-d operand has no axis to sum over; use *"),
        ((2, 3), (), "a 0-d operand has no axis to sum over; use *"),
    ],
)
def test_products_that_do_not_fit(left: tuple, right: tuple, words: str):
    with raises(ShapeError, f"matmul: shapes {left} and {right}", words):
        Tensor(np.ones(left)) @ Tensor(np.ones(right))


def test_shape_errors_are_what_numpy_and_torch_raise():
    for error in (ValueError, RuntimeError):
        with raises(error, "add"):
            X + M[:, :2]
        with raises(error, "reshape"):
            X.reshape(2, 2)
    for error in (TypeError, RuntimeError):
        with raises(error, "only floating-point"):
            tg.tensor([1], requires_grad=True)
    assert issubclass(DtypeError, TypeError)


# -- axes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_axes_that_are_not_there(name: str):
    reduce = getattr(tg, name)
    for dim in (2, -3):
        with raises(IndexError, f"{name}: dim {dim} is not an axis of shape (2, 3); it must be from -2 to 1"):
            reduce(M, dim)
    with raises(IndexError, f"{name}: dim 1 is not an axis of shape ()"):
        reduce(Tensor(1.0), 1)
    for dim in (0.5, "0", [0.5] if name != "max" else (0, 1)):
        with raises(TypeError, f"{name}: an axis is a whole number, got"):
            reduce(M, dim)
    with raises(TypeError, f"{name}: give dim or axis, not both"):
        reduce(M, 0, axis=0)
    with raises(TypeError, f"{name}: give keepdim or keepdims, not both"):
        reduce(M, 0, keepdim=True, keepdims=True)


def test_axes_named_twice():
    for dims in ((0, 0), (0, -2), [1, 1]):
        with raises(ValueError, "sum: dim", "names an axis twice"):
            M.sum(dims)


def test_the_largest_of_nothing():
    with raises(ValueError, "max: over all of shape (0, 3) there is no element to choose"):
        tg.zeros(0, 3).max()
    with raises(ValueError, "max: over dim 0 of shape (0, 3)"):
        tg.zeros(0, 3).max(0)


@pytest.mark.parametrize("shape", [(4,), (2, 2), (-1, 2), (-1, -1), (), (0,), (-1, 0), (-2,)])
def test_a_shape_that_does_not_fit(shape: tuple[int, ...]):
    with raises(ShapeError, f"reshape: 3 elements of shape (3,) do not fit the shape {shape}"):
        X.reshape(shape)


@pytest.mark.parametrize("shape", [(1.5,), (None,), ("3",), ((1, 2), 3)])
def test_a_shape_of_no_whole_numbers(shape: tuple):
    with raises(TypeError, "reshape: takes whole numbers"):
        X.reshape(*shape)


def test_transposing_axes_that_are_not_there():
    with raises(IndexError, "transpose: dim 1 is not an axis of shape (3,)"):
        X.transpose(0, 1)
    with raises(IndexError, "permute: dim 2"):
        M.permute(0, 2)
    for dims in ((0,), (0, 0), (0, 1, 0), ()):
        with raises(ValueError, "permute:", "must name each of the 2 axes of (2, 3) once"):
            M.permute(dims)


# -- index -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [3, -4, (0, 0), [0, 3], np.array([5]), np.array([True, False]), slice(None, None, 0)])
def test_positions_that_are_not_there(where):
    with raises(IndexError, "index: ", "the tensor has shape (3,)"):
        X[where]


@pytest.mark.parametrize("where", [1.0, "a", [0.5], np.array([1.0]), Tensor([0.0, 1.0]), [[0, 1], [0]], {}, [None, 0]])
def test_positions_that_are_no_positions(where):
    with raises(IndexError, "index: ", "the tensor has shape (3,)"):
        X[where]


def test_a_slice_of_no_whole_numbers():
    with raises(TypeError, "index: slice indices must be integers", "(3,)"):
        X[0:1.5]


# -- one number --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [float, int, bool])
def test_several_elements_are_no_number(convert: type):
    with raises(ValueError, f"{convert.__name__}() of a tensor of shape (3,)", "3 elements"):
        convert(X)
    with raises(ValueError, "0 elements"):
        convert(Tensor([]))


def test_no_number_no_length_no_position():
    with raises(ValueError, "item: a tensor of shape (3,)", "3 elements, not one; use .tolist()"):
        X.item()
    with raises(TypeError, "len() of a 0-d tensor"):
        len(Tensor(1.0))
    with raises(TypeError, "iteration over a 0-d tensor"):
        iter(Tensor(1.0))
    with raises(TypeError, "only integer tensors", "float32"):
        [0, 1][Tensor(1.0)]
    assert [5, 6][tg.tensor(1)] == 6


def test_a_label_is_used_in_messages():
    w = Tensor([1.0, 2.0], requires_grad=True, label="w")
    with raises(RuntimeError, "w of shape (2,), float32 is not a scalar"):
        w.backward()


def test_numbers_and_lists_that_numpy_cannot_take():
    with pytest.raises(OverflowError, match="does not fit into float32"):
        Tensor(10**400)
    with pytest.raises(TypeError, match=r"mul: .*does not fit into int8"):
        Tensor(np.int8(1)) * 1000
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="hold themselves"):
        Tensor(loop)


# -- arrays of other kinds ---------------------------------------------------------------------------------------------


def test_another_librarys_tensor_is_named_with_the_way_to_convert_it():
    theirs = torch.ones(3)
    for op, call in {
        "add": lambda: X + theirs,
        "data": lambda: setattr(Tensor([1.0]), "data", theirs),
        "grad": lambda: setattr(Tensor([1.0]), "grad", theirs),
        "backward: gradient": lambda: (X * 2).backward(theirs),
    }.items():
        with raises(TypeError, f"{op}: ", "got a torch.Tensor: write .detach().numpy()"):
            call()
    with raises(IndexError, "got a torch.Tensor"):
        X[torch.tensor([0])]  # a tensor of one element, which could pass for a number
    with raises(TypeError, "gather: positions are whole numbers, in a tensor, an array or a list; got a tor"):
        tg.gather(X, 0, torch.tensor([0]))


def test_masked_elements_are_not_taken_for_numbers():
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for call in (Tensor, tg.tensor, tg.from_numpy, tg.as_tensor, tg.exp):
        with raises(TypeError, "masked", ".filled(...)"):
            call(masked)
    assert Tensor(np.ma.masked_array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_bytes_in_another_order_are_put_in_order():
    foreign = np.array([1.0, 2.0], dtype=">f4")
    for x in (Tensor(foreign), tg.tensor(foreign), tg.as_tensor(foreign), tg.exp(foreign).log()):
        assert x.dtype.isnative
        assert x.sum().item() == pytest.approx(3.0)
    assert Tensor([1.0], dtype=">f8").dtype == np.float64
    x = Tensor([0.0, 0.0])
    x.data = foreign
    assert x.dtype.isnative
    assert x.tolist() == [1.0, 2.0]
    with raises(ValueError, "from_numpy", "cannot be shared: use tensor()"):
        tg.from_numpy(foreign)


def test_complex_numbers_do_not_lose_a_part_without_a_word():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for value in (1j, [1j, 2.0], np.array([1j, 2.0])):
        with raises(DtypeError, "grad: complex numbers do not fit into float32"):
            x.grad = value
        with raises(DtypeError, "complex numbers do not fit into float32"):
            tg.tensor(value, dtype=np.float32)


def test_tensors_and_none_are_no_dtypes():
    for dtype in (X, np.ones(2), np.float32(1), torch.ones(2)):
        for call in (lambda d: tg.zeros_like(X, dtype=d), lambda d: X.sum(dtype=d), X.astype, tg.set_default_dtype):
            with raises(TypeError, "not a dtype: a tensor or an array; write x.dtype"):
                call(dtype)
    with raises(TypeError, "not a dtype: None"):
        tg.set_default_dtype(None)
    assert tg.get_default_dtype() == np.float32


def test_integers_without_a_common_dtype_do_not_become_floats():
    with raises(DtypeError, "no common integer dtype", "x.long()"):
        tg.tensor(np.ones(2, np.uint64)) + tg.tensor([1, 2])


def test_what_a_hook_returned_is_named():
    x = Tensor([1.0], requires_grad=True)
    with x.register_hook(lambda g: "a"), raises(TypeError, "register_hook: what a hook returned: ", "got a str"):
        x.sum().backward()


@pytest.mark.parametrize("wish", ["False", "yes", None, [True]])
def test_requires_grad_is_true_or_false(wish):
    x = Tensor([1.0])
    for call in (
        lambda: setattr(x, "requires_grad", wish),
        lambda: x.requires_grad_(wish),
        lambda: Tensor([1.0], requires_grad=wish),
        lambda: tg.zeros(2, requires_grad=wish),
        lambda: tg.tensor([1.0], requires_grad=wish),
        lambda: tg.nn.Parameter(x, requires_grad=wish),
    ):
        with raises(TypeError, "requires_grad is True or False, got"):
            call()
    x.requires_grad = np.bool_(True)
    assert x.requires_grad is True


def test_a_format_for_numbers_on_several_elements():
    assert f"{Tensor(1.5):.3f}" == "1.500"
    assert f"{X:>60}".startswith(" ")
    with raises(ValueError, "the format '.2f' is for one number, and a tensor of shape (3,)", "has several"):
        f"{X.detach():.2f}"


def test_gradients_of_nothing():
    x = Tensor([1.0], requires_grad=True)
    for outputs, inputs in ((None, x), (x.sum(), None), (x.sum(), 3)):
        with raises(TypeError, "gradients are of Tensors, and with respect to Tensors; got a"):
            tg.autograd.grad(outputs, inputs)
