"""Names that are not here: what is said of them, and that nothing else notices. Names that are here are exported."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, missing, nn

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "tensorgrad", "tensorgrad.amp", "tensorgrad.autograd", "tensorgrad.cuda", "tensorgrad.linalg", "tensorgrad.nn",
    "tensorgrad.nn.functional", "tensorgrad.nn.init", "tensorgrad.nn.utils", "tensorgrad.optim",
    "tensorgrad.optim.lr_scheduler", "tensorgrad.utils", "tensorgrad.utils.data",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torch.sotfmax", r"module 'tensorgrad' has no attribute 'sotfmax': the nearest is 'softmax'"),
        ("torch.compile", r"nothing is compiled: leave it out"),
        ("torch.bfloat16", r"use float16 or float32"),
        ("torch.vmap", r"a Python loop and stack"),
        ("torch.fft", r"numpy\.fft computes it outside the graph"),
        ("torch.linalg.inv", r"numpy\.linalg computes it on \.data"),
        ("torch.relu6", r"module 'tensorgrad' has no attribute 'relu6': there is nn\.functional\.relu6$"),
        ("torch.Linear", r"there is nn\.Linear$"),
        ("torch.item", r"it is a method or property of Tensor, x\.item$"),
        ("torch.entirely_unknown", r"torch may have it, this package does not"),
        ("torch.nn.Conv2d", r"module 'tensorgrad\.nn' has no attribute 'Conv2d': there are no convolutions"),
        ("torch.nn.LSTM", r"there are no recurrent layers: write the step with nn\.Linear"),
        ("torch.nn.BatchNorm1d", r"use nn\.LayerNorm"),
        ("torch.nn.MultiheadAttention", r"nn\.functional\.scaled_dot_product_attention"),
        ("torch.nn.gelu", r"there is nn\.functional\.gelu$"),
        ("torch.nn.functional.conv2d", r"there are no convolutions"),
        ("torch.nn.functional.Linear", r"there is nn\.Linear$"),
        ("torch.optim.RMSprop", r"there are SGD, Adam and AdamW"),
        ("torch.cuda.Stream", r"module 'tensorgrad\.cuda' has no attribute 'Stream'"),
        ("torch.utils.DataLoader", r"there is utils\.data\.DataLoader$"),
        ("torch.autograd.hessian", r"gradients have no graph of their own"),
        ("torch.autograd.functional", r"gradients have no graph of their own"),
        ("torch.nn.GroupNorm", r"take layer_norm of the last axis of x\.reshape\(N, groups, -1\)"),
        ("torch.special", r"there are erf, .* without it"),
        ("torch.distributions", r"draw with randn, bernoulli or multinomial"),
        ("torch.optim.Adamax", r"there are SGD, Adam and AdamW"),
        ("x.reshpae", r"'Tensor' object has no attribute 'reshpae': the nearest is 'reshape'"),
        ("x.cuda", r"leave it out, or write \.to\('cpu'\)"),
        ("x.bfloat16", r"use float16 or float32"),
        ("x.stack", r"there is the function tensorgrad\.stack$"),
        ("x.sinh_", r"x\.sinh\(\.\.\.\) makes a new tensor; x\.copy_"),
        ("x.detach_", r"write x = x\.detach\(\)$"),
        ("x.unsqueeze_", r"no shape is changed in place"),
    ],
)
def test_a_name_that_is_missing_is_told_with_the_nearest(text: str, message: str):
    with pytest.raises(AttributeError, match=message):
        eval(text, {"torch": tensorgrad, "x": Tensor([1.0])})


def test_no_hint_is_given_for_a_name_that_exists():
    """A name that has come to exist needs no hint any more: the table would go on saying that it does not."""
    for package in ("tensorgrad", "tensorgrad.nn", "tensorgrad.nn.functional", "tensorgrad.optim"):
        found = set(vars(importlib.import_module(package))) & set(missing._NEAREST)
        assert not found, f"{package} has {found}: take them out of missing._NEAREST"
    found = {name for name in (*missing._NEAREST, *missing._TENSOR_NEAREST) if hasattr(Tensor, name)}
    assert not found, f"a Tensor has {found}: take them out of missing"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_so(package: str):
    module = importlib.import_module(package)
    assert not hasattr(module, "no_such_name")
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute 'no_such_name': "):
        _ = module.no_such_name
    with pytest.raises(AttributeError, match=rf"module '{package}' has no attribute '__no_such__'$"):
        _ = module.__no_such__


def test_hasattr_and_getattr_with_a_default_are_as_ever():
    x = Tensor([1.0])
    assert not hasattr(x, "cuda")
    assert not hasattr(tensorgrad, "compile")
    assert not hasattr(nn, "Conv2d")
    assert getattr(x, "cuda", None) is None
    assert not hasattr(x, "__array_interface__")
    assert not hasattr(x, "_no_such_thing")


def test_copies_pickles_and_inspection_are_as_ever():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.tolist() == x.tolist()
    assert "reshape" in dir(x)
    assert inspect.getdoc(tensorgrad.exp)
    assert {name for name, _ in inspect.getmembers(nn, inspect.isclass)} >= {"Linear", "Module"}
    assert np.asarray(x.detach()).shape == (1, 2)
    assert not callable(getattr(x, "_repr_html_", None))
    with pytest.raises(ImportError, match="cannot import name 'conv2d'"):
        exec("from tensorgrad.nn.functional import conv2d")


def test_an_error_inside_a_property_is_not_hidden():
    class Odd(Tensor):
        @property
        def broken(self) -> float:
            return self.data.no_such_attribute_of_arrays

    with pytest.raises(AttributeError, match=r"'numpy\.ndarray' object has no attribute 'no_such_attribute_of_arrays'"):
        _ = Odd([1.0]).broken
    with pytest.raises(AttributeError, match="'Odd' object has no attribute 'reshpae': the nearest is 'reshape'"):
        _ = Odd([1.0]).reshpae


def bound(path: Path) -> set[str]:
    """The names that a package's file makes, by assignment or from another module of the project, or later."""
    names = set()
    top = ast.parse(path.read_text(encoding="utf-8")).body
    later = [inner for statement in top if isinstance(statement, ast.If) for inner in statement.body]
    for statement in [*top, *later]:
        if isinstance(statement, ast.ImportFrom) and statement.module.startswith("tensorgrad"):
            names |= {alias.asname or alias.name for alias in statement.names}
        if isinstance(statement, ast.Assign):
            names |= {
                name.id for target in statement.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    return {name for name in names if not name.startswith("_")} - {"allocator", "missing", "later"}


def test_what_few_programs_need_is_imported_when_it_is_asked_for():
    program = """
import sys
import tensorgrad as tg
large = ("tensorgrad.models", "tensorgrad.monitoring", "tensorgrad.serialization", "numpy.random", "json", "zipfile")
assert not [name for name in large if name in sys.modules]
assert "save" in dir(tg) and callable(tg.save) and tg.models.GPT.__name__ == "GPT"
assert "save" in vars(tg) and tg.monitor is sys.modules["tensorgrad.monitoring"].monitor
from tensorgrad import *
assert load is tg.load
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "package", ["tensorgrad", "tensorgrad.nn", "tensorgrad.nn.functional", "tensorgrad.optim", "tensorgrad.autograd"]
)
def test_every_public_name_is_exported(package: str):
    """Type checkers take only the names in __all__ for those of a package."""
    module = importlib.import_module(package)
    wanted = bound(Path(module.__file__))
    assert wanted - set(module.__all__) == set(), "not in __all__"
    assert set(module.__all__) - wanted == set(), "in __all__ only"
