"""Datasets, and iterating over them in batches, under torch's names. There is one process: no workers are started."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import ceil, floor, isclose
from operator import index
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from tensorgrad import missing, random
from tensorgrad.creation.filled import tensor
from tensorgrad.errors import ShapeError
from tensorgrad.node import ArrayNode, new
from tensorgrad.ops.joining import stack
from tensorgrad.reading import as_array
from tensorgrad.settings import kind, whole

if TYPE_CHECKING:
    from tensorgrad.tensor import Tensor

_Item = TypeVar("_Item", covariant=True)

# -- datasets ----------------------------------------------------------------------------------------------------------


class Dataset(Generic[_Item]):
    """The base of datasets: define `__getitem__(i)`, and `__len__` for a DataLoader."""

    def __getitem__(self, index: Any) -> _Item:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_Item]):
    """The base of datasets that are streams: define `__iter__`."""

    def __iter__(self) -> Iterator[_Item]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of equal length: item i is the tuple of their elements i. Raises ShapeError for other lengths."""

    def __init__(self, *tensors: Tensor) -> None:
        for t in tensors:
            if not hasattr(t, "shape"):
                raise TypeError(f"TensorDataset: takes tensors, got {kind(t)}")
        shapes = [t.shape for t in tensors]
        if not tensors or not all(shapes) or len({shape[0] for shape in shapes}) > 1:
            raise ShapeError(f"TensorDataset: takes tensors of equal length, got shapes {shapes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset[_Item]):
    """The items of a dataset at some `indices`."""

    def __init__(self, dataset: Dataset[_Item], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> _Item:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[Any]):
    """Datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: takes one dataset or more")

    def __getitem__(self, index: int) -> Any:
        i = index + len(self) if index < 0 else index
        for dataset in self.datasets:
            if 0 <= i < len(dataset):
                return dataset[i]
            i -= len(dataset)
        raise IndexError(f"ConcatDataset: there is no item {index} among {len(self)}")

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset[Any]]:
    """The dataset cut at random into Subsets of these lengths, or of these shares if they add up to 1.

    Raises ValueError where they do not add up to the whole.
    """
    n = len(dataset)
    counts: list[Any] = list(lengths)
    if isclose(sum(counts), 1) and sum(counts) <= 1 and not all(isinstance(c, int) for c in counts):
        counts = [floor(n * share) for share in lengths]
        for i in range(n - sum(counts)):  # what rounding left over goes to the first ones, as in torch
            counts[i % len(counts)] += 1
    if sum(counts) != n or not all(c == int(c) >= 0 for c in counts):
        raise ValueError(f"random_split: lengths {list(lengths)} do not add up to the {n} items of the dataset")
    order = iter(random.generator(generator, "random_split").permutation(n).tolist())
    return [Subset(dataset, list(islice(order, int(count)))) for count in counts]


# -- the order of items ------------------------------------------------------------------------------------------------


class Sampler(Generic[_Item]):
    """The base of what gives a DataLoader the positions of its items: define `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


class SequentialSampler(Sampler[int]):
    """All positions in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All positions in random order, or with `replacement` or `num_samples` as many as that, drawn at random."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self.generator = generator
        self._given = num_samples

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._given is None else self._given

    def __iter__(self) -> Iterator[int]:
        n, rng = len(self.data_source), random.generator(self.generator, "RandomSampler")
        if self.replacement:
            return iter(rng.integers(0, n, self.num_samples).tolist())
        rounds = ceil(self.num_samples / n) if n else 0
        return islice((i for _ in range(rounds) for i in rng.permutation(n).tolist()), self.num_samples)

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` positions drawn with probabilities in proportion to `weights`."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        chances = np.asarray(as_array(weights), dtype=np.float64)
        if chances.ndim != 1 or not np.all(chances >= 0) or not chances.sum() > 0:
            raise ValueError("WeightedRandomSampler: weights are a vector of numbers from 0 up, not all of them 0")
        self.weights = new(chances)
        self.num_samples = index(num_samples)
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        chances = self.weights._data / self.weights._data.sum()
        rng = random.generator(self.generator, "WeightedRandomSampler")
        return iter(rng.choice(len(chances), self.num_samples, self.replacement, chances).tolist())

    def __len__(self) -> int:
        return self.num_samples


# -- batches -----------------------------------------------------------------------------------------------------------


def default_collate(batch: Sequence[Any]) -> Any:
    """Items as one batch: tensors, arrays and numbers stacked along a new first axis; in tuples, lists and dicts part
    by part; strings as they are. Raises TypeError for anything else."""
    first = batch[0]
    if isinstance(first, ArrayNode):
        return stack(list(batch))
    if isinstance(first, (np.ndarray, np.generic)) and first.dtype.kind in "biufc":
        return stack([tensor(x) for x in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=np.float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(item) != len(first) for item in batch):
            raise ValueError("default_collate: the items of a batch have different lengths; give a collate_fn")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        f"default_collate: items are tensors, arrays, numbers, strings, or tuples, lists and dicts of them, got a "
        f"{type(first).__name__}; give a collate_fn"
    )


def default_convert(item: Any) -> Any:
    """One item without a batch: arrays as tensors, also in tuples, lists and dicts; the rest as it is."""
    if isinstance(item, (np.ndarray, np.generic)) and item.dtype.kind in "biufc":
        return tensor(item)
    if isinstance(item, Mapping):
        return {key: default_convert(part) for key, part in item.items()}
    if isinstance(item, (tuple, list)):
        parts = [default_convert(part) for part in item]
        return type(item)(*parts) if hasattr(item, "_fields") else parts
    return item


class DataLoader(Generic[_Item]):
    """Batches of a dataset, in a new order each time it is iterated over if `shuffle`.

    batch_size     None gives the items one by one, by default through `default_convert`
    sampler        positions in the place of 0, 1, ...; batch_sampler: lists of them, one for each batch
    collate_fn     from a list of items to a batch, by default `default_collate`
    drop_last      leave out a last batch that is not full
    generator      that `shuffle` draws from

    `num_workers` and the arguments after it change nothing: there is one process. Raises ValueError for options that
    contradict each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        *,
        generator: Any = None,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
    ) -> None:
        if not isinstance(dataset, Iterable) and not hasattr(dataset, "__getitem__"):
            raise TypeError(f"DataLoader: takes a dataset, with __getitem__ and __len__, got {kind(dataset)}")
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(f"DataLoader: collate_fn is a function of a list of items, got {kind(collate_fn)}")
        if batch_size is not None and whole("DataLoader", "batch_size", batch_size) < 1:
            raise ValueError(f"DataLoader: batch_size must be 1 or more, or None, got {batch_size}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: give sampler or shuffle, not both: the sampler has the order")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("DataLoader: batch_sampler takes the place of batch_size, shuffle, sampler and drop_last")
        self._streams = isinstance(dataset, IterableDataset)
        if self._streams and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset has its own order: no shuffle, no sampler")
        if sampler is None and not self._streams:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.dataset = dataset
        self.batch_size = None if batch_sampler is not None else batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.generator = generator

    def __iter__(self) -> Iterator[Any]:
        if self.batch_sampler is not None:
            return (self._batch([self.dataset[i] for i in positions]) for positions in self.batch_sampler)
        items = iter(self.dataset) if self._streams else (self.dataset[i] for i in self.sampler)
        if self.batch_size is None:
            return (default_convert(item) if self.collate_fn is None else self.collate_fn(item) for item in items)
        return self._batches(items, self.batch_size)

    def _batches(self, items: Iterator[Any], size: int) -> Iterator[Any]:
        while batch := list(islice(items, size)):
            if len(batch) == size or not self.drop_last:
                yield self._batch(batch)

    def _batch(self, items: list[Any]) -> Any:
        return default_collate(items) if self.collate_fn is None else self.collate_fn(items)

    def __len__(self) -> int:
        """The number of batches."""
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        n = len(self.dataset if self._streams else self.sampler)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else ceil(n / self.batch_size)


if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
