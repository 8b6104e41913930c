"""Datasets and DataLoaders: batches as torch makes them, orders at random, what is refused."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import manual_seed, tensor
from tensorgrad.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

Pair = namedtuple("Pair", ("first", "second"))


class Squares(Dataset[int]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __getitem__(self, index: Any) -> int:
        return index * index

    def __len__(self) -> int:
        return self.n


def plain(batch: Any) -> Any:
    """A batch of either library as types, dtypes and lists that compare."""
    if isinstance(batch, dict):
        return {key: plain(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch).__name__, [plain(part) for part in batch]
    if hasattr(batch, "dtype"):
        return str(batch.dtype).removeprefix("torch."), tuple(batch.shape), batch.tolist()
    return batch


ITEMS: dict[str, Callable[[Any], list[Any]]] = {
    "tensors": lambda m: [m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])],
    "0-d tensors": lambda m: [m.tensor(1), m.tensor(2)],
    "arrays": lambda m: [np.ones((2, 1), dtype=np.float32), np.zeros((2, 1), dtype=np.float32)],
    "NumPy's numbers": lambda m: [np.float32(1), np.float32(2)],
    "whole numbers": lambda m: [1, 2],
    "fractions": lambda m: [0.5, 2.0],
    "booleans": lambda m: [True, False],
    "strings": lambda m: ["a", "b"],
    "tuples": lambda m: [(m.tensor([1.0]), 1, "a"), (m.tensor([2.0]), 0, "b")],
    "lists": lambda m: [[1, [2.5, 3]], [4, [5.5, 6]]],
    "dicts": lambda m: [{"x": 1, "y": m.ones(2)}, {"x": 2, "y": m.zeros(2)}],
    "named tuples": lambda m: [Pair(1, 2.0), Pair(3, 4.0)],
}


@pytest.mark.parametrize("name", ITEMS)
def test_batches_are_those_of_torch(name: str, torch: ModuleType) -> None:
    theirs = torch.utils.data.default_collate(ITEMS[name](torch))
    assert plain(default_collate(ITEMS[name](tensorgrad))) == plain(theirs)


@pytest.mark.parametrize("name", ITEMS)
def test_items_without_a_batch_are_those_of_torch(name: str, torch: ModuleType) -> None:
    ours, theirs = (
        [plain(item) for item in m.utils.data.DataLoader(ITEMS[name](m), batch_size=None)] for m in (tensorgrad, torch)
    )
    assert ours == theirs


LOADERS: dict[str, Callable[[Any, Any], Any]] = {
    "one by one": lambda d, x: d.DataLoader(x),
    "in batches": lambda d, x: d.DataLoader(x, batch_size=4),
    "without the last": lambda d, x: d.DataLoader(x, 4, drop_last=True),
    "in one": lambda d, x: d.DataLoader(x, len(x), num_workers=0, pin_memory=False),
    "items as they are": lambda d, x: d.DataLoader(x, batch_size=None),
    "a sampler": lambda d, x: d.DataLoader(x, 2, sampler=[5, 0, 0]),
    "a batch sampler": lambda d, x: d.DataLoader(x, batch_sampler=[[0, 1], [9]]),
    "collated otherwise": lambda d, x: d.DataLoader(x, 4, collate_fn=lambda items: len(items)),
    "part of a subset": lambda d, x: d.DataLoader(d.Subset(d.Subset(x, [9, 8, 7, 6]), [0, 2]), 2),
    "joined": lambda d, x: d.DataLoader(d.ConcatDataset([x, d.Subset(x, range(3))]), 6),
}


@pytest.mark.parametrize("name", LOADERS)
def test_loaders_give_what_torchs_give(name: str, torch: ModuleType) -> None:
    found = []
    for m in (tensorgrad, torch):
        data = m.utils.data.TensorDataset(m.arange(10), m.linspace(0.0, 1.0, 10).reshape(10, 1))
        loader = LOADERS[name](m.utils.data, data)
        found.append((len(loader), [plain(batch) for batch in loader]))
    (n, ours), (m, theirs) = found
    assert n == m
    assert len(ours) == len(theirs)
    np.testing.assert_equal(ours, theirs)


def test_shuffling_takes_every_item_once_in_a_new_order_each_time() -> None:
    manual_seed(0)
    loader = DataLoader(Squares(50), batch_size=8, shuffle=True)
    first, second = (tensorgrad.cat(list(loader)).tolist() for _ in range(2))
    assert sorted(first) == sorted(second) == [i * i for i in range(50)]
    assert first != second
    manual_seed(0)
    assert tensorgrad.cat(list(loader)).tolist() == first


def test_a_generator_of_ones_own_decides_the_order() -> None:
    orders = []
    for _ in range(2):
        loader = DataLoader(Squares(20), 20, shuffle=True, generator=tensorgrad.Generator().manual_seed(3))
        orders.append(next(iter(loader)).tolist())
    assert orders[0] == orders[1]


def test_random_split() -> None:
    data = Squares(10)
    a, b = random_split(data, [7, 3], generator=tensorgrad.Generator().manual_seed(0))
    assert (len(a), len(b)) == (7, 3)
    assert sorted([*a.indices, *b.indices]) == list(range(10))
    assert a[0] == a.indices[0] ** 2
    again, _ = random_split(data, [7, 3], generator=tensorgrad.Generator().manual_seed(0))
    assert again.indices == a.indices
    assert [len(part) for part in random_split(data, [0.5, 0.25, 0.25])] == [6, 2, 2]
    with pytest.raises(ValueError, match=r"lengths \[7, 2\] do not add up to the 10 items"):
        random_split(data, [7, 2])
    with pytest.raises(ValueError, match="do not add up"):
        random_split(data, [0.5, 0.25])


def test_the_shares_are_those_of_torch(torch: ModuleType) -> None:
    for n in (1, 7, 10, 11):
        for shares in ([0.8, 0.2], [0.1] * 10, [1 / 3] * 3, [0.7, 0.15, 0.15]):
            theirs = torch.utils.data.random_split(range(n), shares) if n > 9 else None
            if theirs is not None:
                assert [len(part) for part in random_split(range(n), shares)] == [len(part) for part in theirs]


def test_streams() -> None:
    class Counting(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(5))

    loader = DataLoader(Counting(), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]
    with pytest.raises(TypeError, match="len"):
        len(loader)
    with pytest.raises(ValueError, match="an IterableDataset has its own order"):
        DataLoader(Counting(), shuffle=True)


def test_samplers() -> None:
    data = Squares(6)
    assert list(SequentialSampler(data)) == list(range(6))
    assert sorted(RandomSampler(data)) == list(range(6))
    assert len(list(RandomSampler(data, num_samples=8))) == len(RandomSampler(data, num_samples=8)) == 8
    assert set(RandomSampler(data, replacement=True, num_samples=100)) == set(range(6))
    sampler = WeightedRandomSampler([0.0, 1.0, 3.0], 4000)
    counts = np.bincount(list(sampler), minlength=3)
    assert len(sampler) == counts.sum() == 4000
    assert counts[0] == 0
    assert counts[2] / counts[1] == pytest.approx(3, rel=0.2)
    assert sorted(WeightedRandomSampler(tensor([1.0, 2.0]), 2, replacement=False)) == [0, 1]
    loader = DataLoader(data, 2, sampler=SequentialSampler(data))
    assert [batch.tolist() for batch in loader] == [[0, 1], [4, 9], [16, 25]]


def test_datasets() -> None:
    pairs = TensorDataset(tensor([[1.0], [2.0]]), tensor([0, 1]))
    assert plain(pairs[1]) == ("tuple", [("float32", (1,), [2.0]), ("int64", (), 1)])
    both = Squares(2) + Squares(3)
    assert isinstance(both, ConcatDataset)
    assert [both[i] for i in range(-5, 5)] == [0, 1, 0, 1, 4] * 2
    with pytest.raises(IndexError, match="there is no item 5 among 5"):
        both[5]
    assert len(Subset(Squares(9), [1, 2])) == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: DataLoader(Squares(3), 0), ValueError, "batch_size must be 1 or more, or None, got 0"),
        (lambda: DataLoader(Squares(3), shuffle=True, sampler=[0]), ValueError, "give sampler or shuffle, not both"),
        (lambda: DataLoader(Squares(3), 2, batch_sampler=[[0]]), ValueError, "batch_sampler takes the place of"),
        (lambda: TensorDataset(tensor([1]), tensor([1, 2])), ValueError, r"equal length, got .*\(1,\), \(2,\)"),
        (lambda: TensorDataset(tensor(1)), ValueError, "tensors of equal length"),
        (lambda: default_collate([object()]), TypeError, "got a object; give a collate_fn"),
        (lambda: default_collate([(1, 2), (1,)]), ValueError, "items of a batch have different lengths"),
        (lambda: default_collate([np.array(["a"])]), TypeError, "give a collate_fn"),
        (lambda: ConcatDataset([]), ValueError, "takes one dataset or more"),
        (lambda: Dataset()[0], NotImplementedError, "Dataset defines no __getitem__"),
        (lambda: iter(IterableDataset()), NotImplementedError, "IterableDataset defines no __iter__"),
        (lambda: iter(Sampler()), NotImplementedError, "Sampler defines no __iter__"),
        (lambda: WeightedRandomSampler([0.0, 0.0], 1), ValueError, "not all of them 0"),
        (lambda: tensorgrad.utils.data.DistributedSampler, AttributeError, "no attribute 'DistributedSampler'"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_what_is_no_dataset_and_no_size_is_named() -> None:
    for call, message in {
        lambda: TensorDataset([1]): r"TensorDataset: takes tensors, got \[1\]",
        lambda: DataLoader(3): "DataLoader: takes a dataset, with __getitem__ and __len__, got 3",
        lambda: DataLoader(None): "DataLoader: takes a dataset, with __getitem__ and __len__, got None",
        lambda: DataLoader([1], batch_size="a"): "DataLoader: batch_size is a whole number, got 'a'",
        lambda: DataLoader([1], collate_fn=3): "DataLoader: collate_fn is a function of a list of items, got 3",
    }.items():
        with pytest.raises(TypeError, match=message):
            call()
