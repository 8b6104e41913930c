"""Methods that fill a tensor in place, the constructors of one dtype, and small properties that programs ask for."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, manual_seed, no_grad, tensor

INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "clip_": lambda m, x: x.clip_(-0.5, 0.5),
    "clamp_min_": lambda m, x: x.clamp_min_(0.5),
    "clamp_max_": lambda m, x: x.clamp_max_(0.5),
    "nan_to_num_": lambda m, x: x.nan_to_num_(),
    "square_": lambda m, x: x.square_(),
    "reciprocal_": lambda m, x: x.reciprocal_(),
    "rsqrt_": lambda m, x: x.square_().rsqrt_(),
    "log_": lambda m, x: x.square_().log_(),
    "sin_": lambda m, x: x.sin_(),
    "cos_": lambda m, x: x.cos_(),
    "floor_": lambda m, x: x.floor_(),
    "ceil_": lambda m, x: x.ceil_(),
    "trunc_": lambda m, x: x.trunc_(),
    "round_": lambda m, x: x.round_(),
    "sign_": lambda m, x: x.sign_(),
    "remainder_": lambda m, x: x.remainder_(2),
    "addcmul_": lambda m, x: x.addcmul_(m.ones(3), m.full((2, 1), 3.0), value=-2),
    "addcdiv_": lambda m, x: x.addcdiv_(m.ones(3), m.full((2, 1), 3.0), value=-2),
    "tril_": lambda m, x: x.tril_(),
    "triu_": lambda m, x: x.triu_(1),
    "scatter_": lambda m, x: x.scatter_(1, m.tensor([[0], [2]]), 7.0),
    "scatter_add_": lambda m, x: x.scatter_add_(0, m.tensor([[0, 1, 1]]), m.ones(1, 3)),
    "index_add_": lambda m, x: x.index_add_(1, m.tensor([0, 0]), m.ones(2, 2), alpha=2),
    "index_fill_": lambda m, x: x.index_fill_(0, m.tensor([1]), 4.0),
    "fill_diagonal_": lambda m, x: x.fill_diagonal_(9),
}


@pytest.mark.parametrize("name", INPLACE)
@pytest.mark.parametrize("recorded", [False, True])
def test_changes_in_place_as_torch_makes_them(name: str, recorded: bool, torch: ModuleType) -> None:
    found = []
    for m in (tensorgrad, torch):
        leaf = m.tensor([[0.25, -1.5, 2.5], [-3.0, 0.75, 1.25]], requires_grad=recorded)
        x = leaf * 1.0
        assert INPLACE[name](m, x) is x
        if recorded:
            (x * m.tensor([1.0, 2.0, 3.0])).sum().backward()
        found.append((x.detach().numpy(), np.asarray(leaf.grad) if recorded else None))
    (ours, gradient), (theirs, wanted) = found
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    if recorded:
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in dir(Tensor) if name.endswith("_") and not name.endswith("__")])
def test_a_leaf_is_refused_outside_no_grad(name: str) -> None:
    if name == "requires_grad_":
        return
    x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    arguments: dict[str, tuple[Any, ...]] = {
        "scatter_": (0, tensor([[0]]), 1.0), "scatter_add_": (0, tensor([[0]]), tensor([[1.0]])),
        "index_add_": (0, tensor([0]), tensor([[1.0, 1.0]])), "index_fill_": (0, tensor([0]), 1.0),
        "masked_fill_": (tensor([True, False]), 0.0), "addcmul_": (x, x), "addcdiv_": (x, x), "lerp_": (x, 0.5),
        "clamp_": (0, 1), "clip_": (0, 1),
    }  # fmt: skip
    unary = "abs_ neg_ exp_ log_ sin_ cos_ sqrt_ rsqrt_ square_ reciprocal_ relu_ tanh_ sigmoid_ floor_ ceil_ trunc_"
    unary += " round_ sign_ zero_ tril_ triu_ nan_to_num_ logical_not_ uniform_ normal_ exponential_ bernoulli_"
    given = arguments.get(name, () if name in unary.split() else (2.0,))
    with pytest.raises(RuntimeError, match=f"^{name} on .*a leaf that requires a gradient"):
        getattr(x, name)(*given)
    with no_grad():
        assert getattr(x, name)(*given) is x


def test_fill_diagonal_of_cubes_and_what_it_refuses(torch: ModuleType) -> None:
    for shape in ((3, 3), (2, 4), (4, 2), (2, 2, 2), (0, 3)):
        ours, theirs = tensorgrad.zeros(shape).fill_diagonal_(2), torch.zeros(shape).fill_diagonal_(2)
        np.testing.assert_array_equal(ours.data, theirs.numpy())
    with pytest.raises(ValueError, match=r"fill_diagonal_: takes a matrix, or axes of one length, got shape \(3,\)"):
        tensorgrad.zeros(3).fill_diagonal_(1)
    with pytest.raises(ValueError, match=r"got shape \(2, 2, 3\)"):
        tensorgrad.zeros(2, 2, 3).fill_diagonal_(1)
    with pytest.raises(NotImplementedError, match="wrap=True"):
        tensorgrad.zeros(4, 2).fill_diagonal_(1, wrap=True)


def test_random_fills_have_their_distribution_and_repeat_with_a_seed() -> None:
    x = tensorgrad.empty(20000, dtype=np.float64)
    moments = {
        "uniform_": ((2.0, 4.0), 3.0, 2 / 12**0.5),
        "normal_": ((-1.0, 0.5), -1.0, 0.5),
        "exponential_": ((0.5,), 2.0, 2.0),
        "bernoulli_": ((0.25,), 0.25, 0.1875**0.5),
    }
    for name, (arguments, mean, deviation) in moments.items():
        manual_seed(0)
        first = getattr(x, name)(*arguments).clone()
        assert first.mean().item() == pytest.approx(mean, abs=0.06)
        assert first.std().item() == pytest.approx(deviation, rel=0.05)
        manual_seed(0)
        assert getattr(x, name)(*arguments).equal(first)
        generator = tensorgrad.Generator().manual_seed(0)
        assert getattr(x, name)(*arguments, generator=generator).equal(first)
    assert 2 <= x.uniform_(2, 4).min().item() <= x.max().item() < 4
    assert tensorgrad.zeros(3, dtype=np.int64).bernoulli_(1.0).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.uniform_(2, 1), "uniform_: from 2 to 1: low must not be above high"),
        (lambda x: x.normal_(0, -1), "normal_: a standard deviation is at least 0, got -1"),
        (lambda x: x.exponential_(0), "exponential_: the rate must be above 0, got 0"),
        (lambda x: x.bernoulli_(2), "bernoulli_: the probability must be from 0 to 1, got 2"),
    ],
)
def test_parameters_that_no_distribution_has(call: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(tensorgrad.zeros(2))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"), ("LongTensor", "int64"),
        ("IntTensor", "int32"), ("ByteTensor", "uint8"), ("BoolTensor", "bool"),
    ],
)  # fmt: skip
def test_constructors_of_one_dtype(name: str, dtype: str) -> None:
    made = getattr(tensorgrad, name)
    assert made([[1, 0]]).tolist() == [[1, 0]]
    assert {str(t.dtype) for t in (made([1]), made(2, 3), made(), made(np.ones(2)), made(tensor([1.5])))} == {dtype}
    assert [made(2, 3).shape, made(4).shape, made().shape] == [(2, 3), (4,), (0,)]


def test_what_a_tensor_says_about_itself() -> None:
    x = tensor([[1.0, 2.0]], requires_grad=True)
    assert (x.is_cpu, x.is_cuda, x.itemsize, x.nbytes) == (True, False, 4, 8)
    out = (x.exp() * 2).sum()
    assert x.grad_fn is None
    assert x.detach().grad_fn is None
    assert repr(out.grad_fn) == "<operation 'sum'>"
    assert out.grad_fn.name() == "sum"
    assert len({out.grad_fn, out.grad_fn}) == 1
    ((product, _),) = out.grad_fn.next_functions
    assert [(f and f.name(), i) for f, i in product.next_functions] == [("exp", 0), (None, 0)]


def test_whether_an_element_is_in_it() -> None:
    x = tensor([[1.0, 2.0], [3.0, float("nan")]])
    assert 2 in x
    assert tensor(3.0) in x
    assert 4.0 not in x
    assert float("nan") not in x
    assert 1 not in tensorgrad.zeros(0)


def test_switches_that_change_nothing() -> None:
    tensorgrad.set_num_threads(4)
    assert tensorgrad.get_num_threads() == 1
    tensorgrad.set_float32_matmul_precision("high")
    tensorgrad.use_deterministic_algorithms(True)


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert tensorgrad.__version__ == project["project"]["version"]
