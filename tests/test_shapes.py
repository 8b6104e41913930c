"""Operations that move elements: their special arguments, layouts in memory, dtypes and errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.nn.functional import pad


def ones(*shape: int) -> Tensor:
    return Tensor(np.ones(shape), requires_grad=True)


def count(*shape: int) -> Tensor:
    return Tensor(np.arange(float(np.prod(shape, dtype=int))).reshape(shape), requires_grad=True)


M, V, N = count(2, 3), count(3), Tensor(5.0)
POSITIONS = tensorgrad.tensor([0, 1])


# -- layouts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.view(3, 2),
        lambda x: x.reshape(6),
        lambda x: x.flatten(),
        lambda x: x.unflatten(1, (3, 1)),
        lambda x: x.unsqueeze(1),
        lambda x: x[None].squeeze(),
        lambda x: x.t(),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.H,
        lambda x: x.transpose(0, 1),
        lambda x: x.permute(1, 0),
        lambda x: x.movedim(0, 1),
        lambda x: x.expand(4, 2, 3),
        lambda x: x.broadcast_to(2, 3),
        lambda x: x.split(1)[1],
        lambda x: x.chunk(2, 1)[0],
        lambda x: x.unbind(1)[2],
        lambda x: x.diagonal(),
        lambda x: x.select(0, 1),
        lambda x: x.narrow(1, 1, 2),
        lambda x: x.contiguous(),
    ],
)
def test_views_share_memory(view: Any):
    x = count(2, 3)
    assert np.shares_memory(view(x).data, x.data)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.flip(0),
        lambda x: x.roll(0),
        lambda x: x.repeat(1, 1),
        lambda x: x.tile(1),
        lambda x: x.repeat_interleave(1, 0),
        lambda x: x.sort().values,
        lambda x: x.tril(5),
        lambda x: x.gather(0, np.zeros((1, 3), int)),
        lambda x: x.index_select(0, [0, 1]),
        lambda x: tensorgrad.cat([x]),
        lambda x: tensorgrad.diag(x),
        lambda x: pad(x, (0, 0)),
        lambda x: x.T.contiguous(),
    ],
)
def test_copies_share_none(copy: Any):
    """And own their memory, so that they may be assigned to inside the graph."""
    x = count(2, 3)
    out = copy(x)
    assert not np.shares_memory(out.data, x.data)
    assert out.data.base is None


def test_a_diagonal_can_be_written_through():
    x = Tensor(np.zeros((2, 2)))
    x.diagonal().fill_(1.0)
    np.testing.assert_array_equal(x.data, np.eye(2))


def test_what_shows_an_element_twice_is_locked():
    wide = Tensor([1.0]).expand(3)
    assert not wide.data.flags.writeable
    with pytest.raises(RuntimeError, match="read-only"):
        wide.fill_(2.0)


def test_view_refuses_what_needs_a_copy():
    with pytest.raises(ShapeError, match=r"view: \(3, 2\) with strides \(1, 3\) .* use reshape"):
        M.t().view(6)
    assert M.t().reshape(6).tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert M.t().contiguous().view(6).tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    assert M.t().view(3, 2, 1).shape == (3, 2, 1)
    assert ones(1).expand(2, 3).view(6).shape == (6,)
    assert Tensor(np.zeros((0, 3))).t().view(0, 7).shape == (0, 7)


def test_view_as_another_dtype_is_not_there():
    with pytest.raises(NotImplementedError, match=r"view: .* x.to\('int32'\)"):
        M.view(tensorgrad.int32)


def test_contiguous_is_the_tensor_itself_where_it_can_be():
    assert M.contiguous() is M
    turned = M.t()
    copy = turned.contiguous()
    assert not turned.is_contiguous()
    assert copy.is_contiguous()
    np.testing.assert_array_equal(copy.data, turned.data)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3), (2, 0, 3), (1, 1)])
def test_layouts_are_told_as_in_torch(shape: tuple[int, ...], torch: ModuleType):
    x, y = ones(*shape), torch.ones(shape, dtype=torch.float64)
    pairs = [(x, y)]
    if x.numel():  # NumPy leaves open what the strides of an empty array are
        pairs.append((x.T, y.permute(tuple(reversed(range(y.ndim))))))
    for ours, theirs in pairs:
        assert ours.stride() == theirs.stride()
        assert ours.is_contiguous() == theirs.is_contiguous()
        assert (ours.size(), ours.dim(), ours.nelement()) == (tuple(theirs.size()), theirs.dim(), theirs.nelement())
        assert ours.element_size() == theirs.element_size()
        for d in range(-len(shape), len(shape)):
            assert (ours.size(d), ours.stride(d)) == (theirs.size(d), theirs.stride(d))


# -- arguments ---------------------------------------------------------------------------------------------------------


def same(x: Tensor, y: Tensor) -> None:
    np.testing.assert_array_equal(x.data, y.data, strict=True)


def test_lengths_and_axes_by_position_in_a_sequence_and_by_name():
    same(M.reshape(3, 2), tensorgrad.reshape(M, shape=(3, 2)))
    same(M.reshape([3, 2]), M.view(size=(3, 2)))
    same(M.permute(1, 0), tensorgrad.permute(M, dims=(1, 0)))
    same(M.flip(0, 1), tensorgrad.flip(M, dims=(0, 1)))
    same(V.expand(2, 3), V.expand(size=(2, 3)))
    same(V.repeat(2, 1), V.repeat(repeats=(2, 1)))
    same(V.tile(2, 1), tensorgrad.tile(V, dims=(2, 1)))
    same(tensorgrad.broadcast_to(V, (2, 3)), tensorgrad.broadcast_to(V, size=(2, 3)))
    for call in (lambda: M.reshape(6, shape=(6,)), lambda: M.permute(), lambda: M.flip(), lambda: V.expand()):
        with pytest.raises(TypeError, match=r"twice|missing"):
            call()


def test_axis_for_dim():
    same(M.squeeze(axis=0), M.squeeze(0))
    same(M.unsqueeze(axis=1), M.unsqueeze(1))
    same(tensorgrad.cat((M, M), axis=1), tensorgrad.cat((M, M), 1))
    same(tensorgrad.stack((M, M), axis=1), tensorgrad.stack((M, M), dim=1))
    same(M.split(1, axis=1)[2], M.split(1, 1)[2])
    same(M.chunk(3, axis=1)[2], M.chunk(3, dim=1)[2])
    same(M.unbind(axis=1)[2], M.unbind(1)[2])
    same(M.sort(axis=0, descending=True).values, M.sort(0, True).values)
    same(M.topk(1, axis=0).indices, M.topk(1, 0).indices)
    same(M.argsort(axis=0), M.argsort(0))
    same(M.gather(axis=0, index=[[0]]), M.gather(0, [[0]]))
    same(M.index_select(axis=1, index=[0]), M.index_select(1, POSITIONS[:1]))
    with pytest.raises(TypeError, match="cat: give dim or axis, not both"):
        tensorgrad.cat((M, M), 0, axis=0)


def test_several_results():
    assert [part.shape for part in M.split([1, 2], -1)] == [(2, 1), (2, 2)]
    assert [part.shape for part in ones(0, 2).split(3)] == [(0, 2)]
    assert [part.shape for part in ones(0, 2).chunk(2)] == [(0, 2), (0, 2)]
    assert [part.shape for part in ones(0, 2).unbind()] == []
    values, indices = M.sort()
    assert (values.dtype, indices.dtype, indices.requires_grad) == (np.float64, np.int64, False)
    assert M.topk(2).values.shape == (2, 2)
    assert {part._op for part in (*M.split(1), *M.chunk(2), *M.unbind())} == {"split", "chunk", "unbind"}
    rows, columns = M.nonzero(as_tuple=True)
    np.testing.assert_array_equal(M[rows, columns].data, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert M.nonzero().tolist() == [[0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


@pytest.mark.parametrize("values", [[True, False, True], [3, 1, 2], [3.0, np.nan, -np.inf, np.inf, np.nan, 3.0]])
@pytest.mark.parametrize("falling", [False, True])
def test_sorting_equals_torch(values: list, falling: bool, torch: ModuleType):
    x = np.array(values)
    ours, theirs = tensorgrad.sort(Tensor(x), descending=falling), torch.sort(torch.tensor(x), descending=falling)
    np.testing.assert_array_equal(ours.values.data, theirs.values.numpy(), strict=True)
    np.testing.assert_array_equal(ours.indices.data, theirs.indices.numpy(), strict=True)
    if x.dtype == bool:  # torch has no topk of booleans
        return
    largest = tensorgrad.topk(Tensor(x), 2, largest=falling).values
    np.testing.assert_array_equal(largest.data, torch.topk(torch.tensor(x), 2, largest=falling).values.numpy())


def test_the_gradient_of_a_long_sort():
    """Positions are kept in 32 bits, and there are more than 16 bits hold."""
    n = 2**17 + 1
    x = Tensor(np.arange(n, 0, -1, dtype=np.float32), requires_grad=True)
    x.sort()[0].backward(np.arange(n, dtype=np.float32))
    np.testing.assert_array_equal(x.grad, np.arange(n - 1, -1, -1))


def test_changing_the_indices_of_a_sort_does_not_change_its_gradient():
    x = Tensor([2.0, 1.0], requires_grad=True)
    values, indices = x.sort()
    indices.zero_()
    values.backward([1.0, 5.0])
    np.testing.assert_array_equal(x.grad, [5.0, 1.0])


@pytest.mark.parametrize(
    ("first", "second"),
    [("float32", "float64"), ("float32", "int64"), ("int32", "int64"), ("bool", "int64"), ("float16", "float32")],
)
def test_joining_promotes_as_torch(first: str, second: str, torch: ModuleType):
    a, b = np.ones(2, first), np.ones(2, second)
    for ours, theirs in ((tensorgrad.cat, torch.cat), (tensorgrad.stack, torch.stack)):
        want = theirs((torch.tensor(a), torch.tensor(b))).numpy()
        np.testing.assert_array_equal(ours((Tensor(a), Tensor(b))).data, want, strict=True)


def test_gradients_of_joined_operands_have_their_dtypes():
    x, y = Tensor(np.ones(2, np.float32), requires_grad=True), Tensor(np.ones(1), requires_grad=True)
    tensorgrad.cat((x, y)).backward([1.0, 2.0, 3.0])
    assert (x.grad.dtype, x.grad.tolist(), y.grad.dtype, y.grad.tolist()) == (np.float32, [1, 2], np.float64, [3])


def test_scattered_numbers_take_the_tensors_dtype():
    x = Tensor(np.array([1, 2, 3]))
    assert x.scatter(0, POSITIONS, 7).tolist() == [7, 7, 3]
    assert x.scatter(0, POSITIONS, value=7).dtype == np.int64
    assert V.scatter(0, POSITIONS, src=Tensor(np.array([8.0, 9.0]))).tolist() == [8.0, 9.0, 2.0]
    assert V.scatter_add(0, [1, 1], Tensor(np.array([8.0, 9.0]))).tolist() == [0.0, 18.0, 2.0]


def test_float16_is_added_up_in_float32():
    many = np.full(4096, 0.1, np.float16)
    where = np.zeros(4096, int)
    x = Tensor(np.zeros(1, np.float16))
    for total in (x.scatter_add(0, where, Tensor(many)), x.index_add(0, where, Tensor(many))):
        assert total.dtype == np.float16
        assert total.item() == pytest.approx(4096 * float(np.float16(0.1)), rel=1e-3)


def test_take_and_take_along_dim_count_from_the_end():
    assert M.take([-1, 0]).tolist() == [5.0, 0.0]
    assert M.take_along_dim(Tensor(np.array([[-1]])), 1).tolist() == [[2.0], [5.0]]
    assert M.take_along_dim(np.array([5])).tolist() == [5.0]


def test_pads_take_any_number_of_axes():
    assert pad(N, ()).shape == ()
    assert pad(V, (1, 1), "reflect").tolist() == [1.0, 0.0, 1.0, 2.0, 1.0]
    assert pad(V, (2, 0), "circular").tolist() == [1.0, 2.0, 0.0, 1.0, 2.0]
    assert pad(V, (-1, 1), value=7).tolist() == [1.0, 2.0, 7.0]
    assert pad(Tensor(np.array([1, 2])), (1, 0)).dtype == np.int64


def test_where_a_mask_of_ties_goes_on():
    """An unselected nan stays unselected through what moves elements."""
    for move in (
        lambda y: y.flip(0),
        lambda y: y.roll(1),
        lambda y: y.repeat(2),
        lambda y: y.repeat_interleave(2),
        lambda y: tensorgrad.hstack((y, y)),
        lambda y: y.unflatten(0, (2, 1)),
        lambda y: y.diag(),
        lambda y: y.take([0, 1]),
    ):
        x = Tensor(np.array([-1.0, 4.0]), requires_grad=True)
        root = move(x.sqrt() * 1)
        keep = move(Tensor(np.array([0.0, 1.0]))) > 0
        tensorgrad.where(keep, root, root.detach() * 0).sum().backward()
        assert x.grad[0] == 0
        assert x.grad[1] > 0


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: M.reshape(4, 2), ShapeError, "reshape: 6 elements of shape (2, 3) do not fit the shape (4, 2)"),
        (lambda: M.view(-1, -1), ShapeError, "view: 6 elements of shape (2, 3) do not fit the shape (-1, -1)"),
        (lambda: M.reshape("a"), TypeError, "reshape: takes whole numbers, got ('a',)"),
        (lambda: M.reshape(2.0, 3), TypeError, "reshape: takes whole numbers"),
        (lambda: M.flatten(1, 0), ValueError, "flatten: start_dim 1 comes after end_dim 0 in shape (2, 3)"),
        (lambda: M.flatten(2), IndexError, "flatten: dim 2 is not an axis of shape (2, 3)"),
        (lambda: M.unflatten(1, (2, 2)), ShapeError, "unflatten: dim 1 of shape (2, 3) cannot become"),
        (lambda: M.unflatten(1, (2, -1)), ShapeError, "unflatten: dim 1 of shape (2, 3) cannot become"),
        (lambda: M.squeeze(2), IndexError, "squeeze: dim 2 is not an axis of shape (2, 3)"),
        (lambda: N.squeeze(1), IndexError, "squeeze: dim 1 is not an axis of shape ()"),
        (lambda: M.unsqueeze(3), IndexError, "unsqueeze: dim 3 is no place for an axis in shape (2, 3)"),
        (lambda: M.unsqueeze(None), TypeError, "unsqueeze: dim is missing"),
        (lambda: M.unsqueeze(0.5), TypeError, "unsqueeze: an axis is a whole number"),
        (lambda: M.transpose(0, 2), IndexError, "transpose: dim 2 is not an axis of shape (2, 3)"),
        (lambda: M.swapaxes(0, 2), IndexError, "swapaxes: dim 2 is not an axis of shape (2, 3)"),
        (lambda: M.permute(0, 0), ValueError, "permute: (0, 0) must name each of the 2 axes of (2, 3) once"),
        (lambda: M.movedim((0, 0), (0, 1)), ValueError, "movedim: source (0, 0) names an axis twice"),
        (lambda: M.movedim((0, 1), 0), ValueError, "movedim: source (0, 1) and destination 0 must name equally many"),
        (lambda: ones(1, 2, 3).t(), ShapeError, "t: of at most two axes, this tensor has shape (1, 2, 3)"),
        (lambda: V.mT, ShapeError, "mT: of matrices, with at least two axes; this tensor has shape (3,)"),
        (lambda: V.H, ShapeError, "H: of a matrix, this tensor has shape (3,)"),
        (lambda: M.flip(0, 0), ValueError, "flip: (0, 0) names an axis twice"),
        (lambda: V.fliplr(), ShapeError, "fliplr: needs at least 2 axes, this tensor has shape (3,)"),
        (lambda: N.flipud(), ShapeError, "flipud: needs at least 1 axes, this tensor has shape ()"),
        (lambda: M.roll((1, 2), 0), ValueError, "roll: 2 shifts (1, 2) for dims 0"),
        (lambda: M.roll((1, 2)), ValueError, "roll: 2 shifts (1, 2) for dims None"),
        (lambda: N.roll(1, 0), IndexError, "roll: dim 0 is not an axis of shape ()"),
        (lambda: M.expand(4, 3), ShapeError, "expand: shape (2, 3) to (4, 3)"),
        (lambda: M.expand(3), ShapeError, "expand: shape (2, 3) to (3,)"),
        (lambda: V.expand(-1, 3), ShapeError, "expand: shape (3,) to (-1, 3)"),
        (lambda: M.expand_as(V), ShapeError, "expand: shape (2, 3) to (3,)"),
        (lambda: M.broadcast_to(2, 4), ShapeError, "broadcast_to: shape (2, 3) to (2, 4)"),
        (lambda: tensorgrad.broadcast_tensors(M, ones(2)), ShapeError, "shapes (2, 3) and (2,) do not broadcast"),
        (lambda: M.repeat(2), ShapeError, "repeat: (2,) for shape (2, 3)"),
        (lambda: M.repeat(2, -1), ValueError, "repeat: (2, -1) has a negative number of copies"),
        (lambda: M.tile(-1), ValueError, "tile: (-1,) has a negative number of copies"),
        (lambda: M.repeat_interleave(-1), ValueError, "repeat_interleave: -1 repeats"),
        (
            lambda: M.repeat_interleave(1.5),
            DtypeError,
            "repeat_interleave: positions are whole numbers",
        ),
        (lambda: M.repeat_interleave([1, 2], 1), ShapeError, "repeats of shape (2,) for 3 slices"),
        (lambda: V.repeat_interleave(2, output_size=5), ValueError, "output_size is 5, and the repeats add up to 6"),
        (lambda: V.repeat_interleave(), DtypeError, "repeat_interleave: repeats are whole numbers, 1-d, got float64"),
        (lambda: tensorgrad.meshgrid(M), ShapeError, "meshgrid: of vectors, this tensor has shape (2, 3)"),
        (lambda: tensorgrad.meshgrid(V, indexing="yx"), ValueError, "meshgrid: indexing is 'ij' or 'xy', got 'yx'"),
        (lambda: tensorgrad.meshgrid(V, POSITIONS), DtypeError, "meshgrid: dtypes float64 and int64"),
        (lambda: tensorgrad.meshgrid(), ValueError, "meshgrid: give at least one tensor"),
        (lambda: tensorgrad.cat([]), ValueError, "cat: the list of tensors is empty"),
        (lambda: tensorgrad.cat(M), TypeError, "cat: takes a list of tensors, got a Tensor"),
        (lambda: tensorgrad.cat((M, ones(2, 2))), ShapeError, "cat: shapes (2, 3) at 0 and (2, 2) at 1"),
        (lambda: tensorgrad.cat((M, V)), ShapeError, "cat: shapes (2, 3) at 0 and (3,) at 1"),
        (lambda: tensorgrad.cat((N, N)), ShapeError, "cat: tensor 0 is 0-d"),
        (lambda: tensorgrad.cat((M, M), 2), IndexError, "cat: dim 2 is not an axis of shape (2, 3)"),
        (lambda: tensorgrad.cat((M, "a")), TypeError, "cat: "),
        (lambda: tensorgrad.stack((M, V)), ShapeError, "stack: shapes (2, 3) at 0 and (3,) at 1"),
        (lambda: tensorgrad.stack((M, M), 3), IndexError, "stack: dim 3 is no place for an axis in shape (2, 3)"),
        (lambda: tensorgrad.hstack((M, ones(3, 2))), ShapeError, "hstack: shapes (2, 3) at 0 and (3, 2) at 1"),
        (lambda: tensorgrad.vstack((M, ones(2))), ShapeError, "vstack: shapes (2, 3) at 0 and (1, 2) at 1"),
        (lambda: M.split(0), ValueError, "split: parts of length 0 of dim 0 of shape (2, 3)"),
        (lambda: M.split([1, 2]), ValueError, "split: lengths (1, 2) must add up to 2"),
        (lambda: M.split([3, -1]), ValueError, "split: lengths (3, -1) must add up to 2"),
        (lambda: M.split(1.5), TypeError, "split: the length of a part is a whole number"),
        (lambda: N.split(1), ShapeError, "split: a 0-d tensor has no axis"),
        (lambda: M.chunk(0), ValueError, "chunk: 0 parts: at least 1"),
        (lambda: N.unbind(), ShapeError, "unbind: a 0-d tensor has no axis"),
        (lambda: M.unbind(2), IndexError, "unbind: dim 2 is not an axis of shape (2, 3)"),
        (lambda: pad(M, (1,)), ShapeError, "pad: (1,) for shape (2, 3): give two numbers an axis"),
        (lambda: pad(V, (1, 1, 1, 1)), ShapeError, "pad: (1, 1, 1, 1) for shape (3,)"),
        (lambda: pad(V, (-2, -2)), ShapeError, "pad: (-2, -2) cuts off more than there is in dim 0 of shape (3,)"),
        (lambda: pad(V, (3, 0), "reflect"), ShapeError, "(3, 0) in mode 'reflect' for dim 0 of shape (3,): at most 2"),
        (lambda: pad(V, (0, 4), "circular"), ShapeError, "for dim 0 of shape (3,): at most 3 a side"),
        (lambda: pad(ones(0), (1, 0), "replicate"), ShapeError, "at most 0 a side"),
        (lambda: pad(V, (-1, 1), "circular"), ShapeError, "pad: (-1, 1) in mode 'circular': cut off first"),
        (lambda: pad(V, (1, 1), "reflect", 2.0), ValueError, "pad: value is for mode 'constant'"),
        (lambda: pad(V, (1, 1), "mirror"), NotImplementedError, "pad: mode 'mirror' is not known; constant, reflect"),
        (lambda: V.tril(), ShapeError, "tril: of matrices, with at least two axes; this tensor has shape (3,)"),
        (lambda: M.triu(0.5), TypeError, "triu: the diagonal is a whole number"),
        (lambda: M.diagonal(0, 1, -1), ValueError, "diagonal: dim1 1 and dim2 -1 of shape (2, 3) are one axis"),
        (lambda: V.diagonal(), ShapeError, "diagonal: of matrices"),
        (lambda: N.diag(), ShapeError, "diag: of a vector or a matrix, this tensor has shape ()"),
        (lambda: M.gather(0, [0]), ShapeError, "gather: index of shape (1,) for a tensor of shape (2, 3)"),
        (lambda: M.gather(0, [[0, 0, 0, 0]]), ShapeError, "gather: index of shape (1, 4) for a tensor of shape (2, 3)"),
        (lambda: M.gather(0, [[2]]), IndexError, "gather: position 2 is out of range for dim 0 of shape (2, 3)"),
        (lambda: M.gather(0, [[-1]]), IndexError, "gather: position -1 is out of range for dim 0 of shape (2, 3)"),
        (lambda: M.gather(0, [[0.5]]), DtypeError, "gather: positions are whole numbers, got float64"),
        (lambda: M.gather(0), TypeError, "gather: takes the tensor, dim and index; index is missing"),
        (lambda: M.take_along_dim([0], 0), ShapeError, "take_along_dim: indices of shape (1,) for shape (2, 3)"),
        (lambda: M.take_along_dim([[3]], 1), IndexError, "take_along_dim: position 3 is out of range for dim 1"),
        (lambda: M.take_along_dim([[0, 0]], 0), ShapeError, "apart from dim 0 they must broadcast"),
        (lambda: M.take([6]), IndexError, "take: position 6 is out of range"),
        (lambda: M.index_select(0, [[0]]), ShapeError, "index_select: index of shape (1, 1) for shape (2, 3)"),
        (lambda: M.index_select(0, [2]), IndexError, "index_select: position 2 is out of range for dim 0"),
        (lambda: M.masked_select(POSITIONS), DtypeError, "masked_select: the mask must be boolean, this one is int64"),
        (lambda: M.masked_select(POSITIONS > 0), ShapeError, "masked_select: shapes (2, 3) and (2,) do not"),
        (lambda: M.select(0, 2), IndexError, "select: position 2 is out of range for dim 0 of shape (2, 3)"),
        (lambda: N.select(0, 0), IndexError, "select: a 0-d tensor has no axis"),
        (lambda: M.narrow(1, 2, 2), IndexError, "narrow: 2 from 2 on are not all in dim 1 of shape (2, 3)"),
        (lambda: N.narrow(0, 0, 1), IndexError, "narrow: a 0-d tensor has no axis"),
        (lambda: V.scatter(0, POSITIONS, V[:1]), ShapeError, "scatter: index of shape (2,) for a source of shape (1,)"),
        (lambda: M.scatter(0, POSITIONS, 1.0), ShapeError, "scatter: index of shape (2,) for a tensor of shape (2, 3)"),
        (lambda: V.scatter(0, [3], 1.0), IndexError, "scatter: position 3 is out of range for dim 0 of shape (3,)"),
        (lambda: V.scatter(0, [0], POSITIONS), DtypeError, "scatter: a source of int64 for a tensor of float64"),
        (lambda: V.scatter(0, [0]), TypeError, "scatter: src or value is missing"),
        (lambda: V.scatter(0, src=V), TypeError, "scatter: index is missing"),
        (lambda: V.scatter(0, [0], V, reduce="add"), NotImplementedError, "scatter_add adds"),
        (lambda: V.scatter_add(0, [0]), TypeError, "scatter_add: src is missing"),
        (lambda: V.scatter_add(0, [5], V), IndexError, "scatter_add: position 5 is out of range"),
        (lambda: M.index_add(0, [0], V), ShapeError, "index_add: source of shape (3,) and index of shape (1,)"),
        (lambda: M.index_add(0, [2], M[:1]), IndexError, "index_add: position 2 is out of range for dim 0"),
        (lambda: M.index_add(0, [0]), TypeError, "index_add: takes the tensor, dim, index and source"),
        (lambda: M.sort(2), IndexError, "sort: dim 2 is not an axis of shape (2, 3)"),
        (lambda: M.topk(4), ValueError, "topk: k is 4, and dim 1 of shape (2, 3) has 3 elements"),
        (lambda: M.topk(-1), ValueError, "topk: k is -1"),
        (lambda: M.topk(1.5), TypeError, "topk: k is a whole number"),
        (lambda: Tensor(np.ones(2, complex)).argsort(), DtypeError, "argsort: complex numbers have no order"),
        (lambda: M.size(2), IndexError, "size: dim 2 is not an axis of shape (2, 3)"),
        (lambda: N.stride(0), IndexError, "stride: dim 0 is not an axis of shape ()"),
        (lambda: tensorgrad.flatten(None), TypeError, "flatten: a Tensor is made from numbers"),
        (lambda: tensorgrad.sort("abc"), TypeError, "sort: a Tensor is made from numbers"),
    ],
)
def test_messages_name_the_operation_and_the_shapes(call: Any, kind: type[Exception], words: str):
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value)


def test_a_diagonal_far_outside_holds_nothing():
    x = tensorgrad.ones(2, 3)
    far = 10**12
    assert tensorgrad.tril(x, far).tolist() == x.tolist()
    assert tensorgrad.triu(x, far).tolist() == [[0.0] * 3] * 2
    assert tensorgrad.diagonal(x, far).shape == tensorgrad.diagonal(x, -far).shape == (0,)


def test_arguments_of_odd_kinds_are_named():
    x = tensorgrad.ones(2, 3)
    with pytest.raises(TypeError, match=r"^squeeze: an axis is a whole number"):
        tensorgrad.squeeze(x, np.ones(2))
    with pytest.raises(TypeError, match=r"^roll: takes whole numbers"):
        tensorgrad.roll(x, 1, np.ones(2))
    for mode in ([], {}, np.array(["constant"])):
        with pytest.raises(NotImplementedError, match=r"^pad: mode .* is not known"):
            tensorgrad.nn.functional.pad(x, (1, 1), mode=mode)
    for call in (lambda c: tensorgrad.where(c, x, x), lambda c: x.masked_fill(c, 0.0)):
        with pytest.raises(ValueError, match=r"^(where|masked_fill): the lists of the \w+ are ragged"):
            call([[True], [True, False]])
    for op in ("floor", "ceil", "trunc"):
        with pytest.raises(TypeError, match=f"^{op}: of real numbers only"):
            getattr(tensorgrad, op)(np.array([1j]))
