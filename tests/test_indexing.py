"""x[...] with keys of every kind: against NumPy element by element, against torch, and forward against backward."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices, broadcastable_shapes

import tensorgrad
from tensorgrad import Tensor, no_grad
from tensorgrad.autograd import gradcheck
from tensorgrad.ops.keys import add_at, normalize_key, read

SHAPES = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
thorough = settings(max_examples=300, deadline=None, derandomize=True, database=None)


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape)


def leaf(shape: tuple[int, ...]) -> Tensor:
    return Tensor(numbered(shape), requires_grad=True)


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...], steps_back: bool = False) -> tuple[Any, ...]:
    """A key of integers, slices, None, Ellipsis, booleans, masks, and integer arrays that broadcast with each other."""
    common = draw(array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3))
    parts: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from("slice integer array list mask none end".split()))
        if kind == "none":
            parts.append(None)
            continue
        if kind == "end":
            break
        if kind in ("integer", "array", "list") and n == 0:
            kind = "slice"
        if kind == "integer":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "array":
            own = draw(broadcastable_shapes(common, max_dims=len(common), max_side=3))
            assume(own == () or np.broadcast_shapes(own, common) == common)
            size = int(np.prod(own, dtype=int))
            found = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            parts.append(np.array(found, dtype=np.int64).reshape(own))
        elif kind == "list":
            length = common[-1] if common else 1
            parts.append(draw(st.lists(st.integers(-n, n - 1), min_size=length, max_size=length)))
        elif kind == "mask":
            axes = draw(st.integers(1, min(2, len(shape) - axis)))
            size = int(np.prod(shape[axis : axis + axes], dtype=int))
            found = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            parts.append(np.array(found, dtype=bool).reshape(shape[axis : axis + axes]))
            axis += axes - 1
        else:
            ends = st.none() | st.integers(-n - 1, n + 1)
            step = draw(st.sampled_from([None, 1, 2] + ([-1, -2] if steps_back else [])))
            parts.append(slice(draw(ends), draw(ends), step))
        axis += 1
    if draw(st.booleans()):
        # what is left is taken whole: the place of the rest is where the Ellipsis stands
        parts.append(Ellipsis)
    if draw(st.integers(0, 5)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), draw(st.booleans()))
    return tuple(parts)


def in_two_steps(a: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """What torch means by the key, by NumPy: integers first, one by one from the right; then all that remains."""
    whole = a.ndim - sum(
        np.ndim(part) if isinstance(part, np.ndarray) and part.dtype == bool else 1
        for part in key
        if part is not None and part is not Ellipsis and not isinstance(part, bool)
    )
    parts: list[Any] = []
    for part in key:
        parts += [slice(None)] * whole if part is Ellipsis else [part]
    parts = [int(p) if isinstance(p, np.ndarray) and p.ndim == 0 and p.dtype != bool else p for p in parts]
    axis, integers, rest = 0, [], []
    for part in parts:
        if isinstance(part, int) and not isinstance(part, bool):
            integers.append((axis, part))
        else:
            rest.append(part)
        if part is not None and not isinstance(part, bool):
            axis += np.ndim(part) if isinstance(part, np.ndarray) and part.dtype == bool else 1
    for at, position in reversed(integers):
        a = np.take(a, position, at)
    return a[tuple(rest)]


@thorough
@given(data=st.data())
def test_forward_and_backward_of_random_keys(data: st.DataObject):
    """Each element is read where NumPy reads it, and receives what was sent to the places where it is."""
    shape = data.draw(SHAPES)
    key = data.draw(keys(shape, steps_back=True))
    try:
        want = np.asarray(in_two_steps(numbered(shape), key))
    except IndexError:  # arrays that do not broadcast, as a mask's number of elements is not known before
        with pytest.raises(IndexError, match="index: "):
            leaf(shape)[key]
        return
    x = leaf(shape)
    out = x[key]
    np.testing.assert_array_equal(out.data, want, strict=True)
    g = np.random.default_rng(0).standard_normal(want.shape)
    out.backward(g)
    sent = np.bincount(want.astype(int).ravel(), weights=g.ravel(), minlength=x.data.size + 1)[1:] * 1.0
    np.testing.assert_allclose(x.grad, sent.reshape(shape), rtol=1e-13, atol=1e-14, strict=True)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_gradcheck_of_random_keys(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, max_side=3))
    key = data.draw(keys(shape, steps_back=True))
    try:
        in_two_steps(numbered(shape), key)
    except IndexError:
        assume(False)
    assert gradcheck(lambda x: x[key] * 2, leaf(shape))


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_keys_equal_torch(data: st.DataObject, torch: ModuleType):
    shape = data.draw(SHAPES)
    key = data.draw(keys(shape))
    x, y = leaf(shape), torch.tensor(numbered(shape), requires_grad=True)
    theirs = tuple(torch.tensor(part) if isinstance(part, (np.ndarray, list)) else part for part in key)
    try:
        want = y[theirs]
    except IndexError:
        with pytest.raises(IndexError, match="index: "):
            x[key]
        return
    out = x[key]
    assert out.shape == tuple(want.shape)
    np.testing.assert_array_equal(out.data, want.detach().numpy())
    g = np.random.default_rng(0).standard_normal(out.shape)
    out.backward(g)
    want.backward(torch.tensor(g))
    np.testing.assert_allclose(x.grad, y.grad.numpy(), rtol=1e-13, atol=1e-14)


@thorough
@given(data=st.data())
def test_basic_keys_give_views(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    key = data.draw(basic_indices(shape, allow_newaxis=True))
    x = leaf(shape)
    out = x[key]
    np.testing.assert_array_equal(out.data, numbered(shape)[key])
    assert out.data.size == 0 or np.shares_memory(out.data, x.data)


def test_an_element_is_a_view_too():
    x = Tensor([1.0, 2.0])
    element = x[1]
    x.data[1] = 7.0
    assert (element.shape, element.item()) == ((), 7.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_many_repeats_add_up_in_order(dtype: str):
    """Bit for bit what adding one after the other gives; of float16 in float32."""
    rng = np.random.default_rng(3)
    where = rng.integers(0, 5, 400)
    g = rng.standard_normal((400, 3)).astype(dtype)
    x = Tensor(np.zeros((5, 3), dtype), requires_grad=True)
    x[where].backward(g)
    want = np.zeros((5, 3), np.float32 if dtype == "float16" else dtype)
    for i, row in zip(where, g, strict=True):
        want[i] += row
    np.testing.assert_array_equal(x.grad, want.astype(dtype), strict=True)


@pytest.mark.parametrize(
    "key",
    [
        (np.array([1, 1, -1]),),
        (slice(None), np.array([[0, 1], [1, -2]])),
        (np.array([[0], [2]]), np.array([0, 1, 1])),
        (slice(None), slice(None), np.array([3, 3])),
        (slice(None), np.array([0, 1]), np.array([3, 3])),
        (np.array([0, 2]), slice(None), np.array([3, 3])),
        (np.array([0, 0]), Ellipsis),
        (Ellipsis, np.array([0, 0])),
    ],
)
def test_adding_by_number_is_np_add_at(key: tuple[Any, ...]):
    target = np.random.default_rng(1).standard_normal((3, 2, 4))
    want = target.copy()
    g = np.random.default_rng(2).standard_normal(target[key].shape)
    np.add.at(want, key, g)
    add_at(target, key, g)
    np.testing.assert_array_equal(target, want)


def test_who_changes_the_key_later_does_not_change_where_the_gradient_goes():
    where = np.array([0, 0])
    x = leaf((3,))
    out = x[where]
    where[:] = 2
    out.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 0.0])
    index = Tensor(np.array([0, 0]))
    x.grad = None
    out = tensorgrad.gather(x, 0, index)
    with no_grad():
        index += 2
    out.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2.0, 0.0, 0.0])


def test_rules_of_reading_hold_no_data():
    """So the operand may be changed in place between forward and backward."""
    x = leaf((3, 2))
    y = x * 1
    parts = [y[0], y[[0, 0]], y[y.data > 2], y.t(), y.flip(0), y.sort(0).values, *y.split(1), y.repeat(2, 1)]
    parts += [tensorgrad.cat((y, y)), y.gather(0, np.zeros((1, 2), int)), y.tril(), y.expand(2, 3, 2), y.roll(1)]
    total = sum((part.sum() for part in parts), start=y.sum() * 0)
    with no_grad():
        y *= 3
    total.backward()


def test_results_of_arrays_lie_in_row_major_order():
    x = leaf((3, 4, 2))
    for key in ((slice(None), [0, 1]), (slice(None), slice(None), [1, 1]), (slice(None), [0, 1], [1, 1]), ([0], 1)):
        assert x[key].is_contiguous()
        x[key].view(-1)


def test_a_key_of_tensors_lists_and_ranges():
    x = leaf((3, 3))
    np.testing.assert_array_equal(x[tensorgrad.tensor([2, 0])].data, x.data[[2, 0]])
    np.testing.assert_array_equal(x[tensorgrad.tensor(2)].data, x.data[2])
    np.testing.assert_array_equal(x[range(2)].data, x.data[:2])
    np.testing.assert_array_equal(x[x.data > 4].data, x.data[x.data > 4])
    np.testing.assert_array_equal(x[x > 4].data, x.data[x.data > 4])
    np.testing.assert_array_equal(x[[True, False, True]].data, x.data[[0, 2]])
    np.testing.assert_array_equal(x[tensorgrad.tensor(1) : tensorgrad.tensor(3)].data, x.data[1:3])
    np.testing.assert_array_equal(x[np.bool_(True)].data, x.data[None])
    np.testing.assert_array_equal(x[tensorgrad.tensor(False)].data, x.data[None][:0])
    np.testing.assert_array_equal(x[np.int8(1)].data, x.data[1])
    np.testing.assert_array_equal(x[np.array([1, 0], dtype=np.uint64)].data, x.data[[1, 0]])


def test_a_key_that_reads_in_two_steps():
    key = normalize_key((0, slice(None), [1, 1]))
    assert key.view == (0, slice(None), slice(None))
    assert key.may_repeat
    a = numbered((2, 3, 2))
    np.testing.assert_array_equal(read(a, key), a[0][:, [1, 1]])


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, ["index 3 is out of bounds", "(2, 3)"]),
        ((0, 5), ["index 5 is out of bounds", "(2, 3)"]),
        ((0, 0, 0), ["too many indices", "(2, 3)"]),
        ([0, 2], ["index 2 is out of bounds", "(2, 3)"]),
        ((0, [7]), ["index 7 is out of bounds", "(2, 3)"]),
        ((slice(None), [[3]]), ["index 3 is out of bounds", "(2, 3)"]),
        (([0, 1], [0, 1, 2]), ["could not be broadcast", "(2, 3)"]),
        (np.array([True, False, True]), ["boolean index did not match", "(2, 3)"]),
        (np.array([0, 1], dtype=np.uint8), ["uint8 is a mask in torch and positions in NumPy", "bool or to int64"]),
        ((..., ...), ["ellipsis", "(2, 3)"]),
        ([[0, 1], [0]], ["ragged", "(2, 3)"]),
        (Tensor([0.5]), ["whole numbers or booleans, got float32", "(2, 3)"]),
        ("rows", ["whole numbers or booleans", "(2, 3)"]),
        (None, None),
    ],
)
def test_the_message_names_the_index_and_the_shape(key: Any, words: list[str] | None):
    x = leaf((2, 3))
    if words is None:
        assert x[key].shape == (1, 2, 3)
        return
    with pytest.raises(IndexError) as caught:
        x[key]
    message = str(caught.value)
    assert message.startswith("index: ")
    for word in words:
        assert word in message


# -- shapes: what broadcasts, and what is joined -----------------------------------------------------------------------

few = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@few
@given(data=st.data())
def test_broadcast_to_and_expand(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
    small = data.draw(broadcastable_shapes(shape, max_dims=len(shape), min_side=0, max_side=3))
    assume(np.broadcast_shapes(small, shape) == shape)
    x, y = leaf(small), leaf(small)
    wide, kept = x.broadcast_to(shape), [-1] * len(small)
    lengths = [*shape[: len(shape) - len(small)], *kept] if small == shape[len(shape) - len(small) :] else shape
    same = y.expand(*lengths) if lengths else y.expand(())
    np.testing.assert_array_equal(wide.data, np.broadcast_to(numbered(small), shape), strict=True)
    np.testing.assert_array_equal(same.data, wide.data, strict=True)
    assert wide.data.size == 0 or np.shares_memory(wide.data, x.data)
    g = np.random.default_rng(0).standard_normal(shape)
    wide.backward(g)
    same.backward(g)
    want = np.zeros(small)
    for place in np.ndindex(shape):
        source = tuple(0 if n == 1 else i for i, n in zip(place[len(shape) - len(small) :], small, strict=True))
        want[source] += g[place]
    np.testing.assert_allclose(x.grad, want, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(y.grad, x.grad)


@few
@given(data=st.data())
def test_cat_and_split_are_inverse(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    rng = np.random.default_rng(0)
    parts = []
    for n in lengths:
        own = list(shape)
        own[axis] = n
        parts.append(Tensor(rng.standard_normal(own), requires_grad=True))
    out = tensorgrad.cat(parts, axis)
    np.testing.assert_array_equal(out.data, np.concatenate([part.data for part in parts], axis), strict=True)
    back = out.split(lengths, axis)
    assert len(back) == len(parts)
    weights = [rng.standard_normal(part.shape) for part in parts]
    total = sum(((b * w).sum() for b, w in zip(back, weights, strict=True)), start=out.sum() * 0)
    total.backward()
    for part, again, w in zip(parts, back, weights, strict=True):
        np.testing.assert_array_equal(part.data, again.data, strict=True)
        np.testing.assert_array_equal(part.grad, w, strict=True)


@few
@given(data=st.data())
def test_sort_chooses_each_element_once(data: st.DataObject):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    falling = data.draw(st.booleans())
    values = np.random.default_rng(data.draw(st.integers(0, 9))).integers(0, 3, shape).astype(float)
    x = Tensor(values, requires_grad=True)
    out = x.sort(axis, descending=falling)
    order = np.argsort(-values if falling else values, axis, kind="stable")
    np.testing.assert_array_equal(out.indices.data, order)
    np.testing.assert_array_equal(out.values.data, np.take_along_axis(values, order, axis))
    g = np.random.default_rng(1).standard_normal(shape)
    out.values.backward(g)
    np.testing.assert_array_equal(np.take_along_axis(x.grad, order, axis), g)
