"""What an interactive session asks of the classes: completion, and numbers where a number is wanted."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tensorgrad as torch
from micrograd import Value
from tensorgrad import Tensor, nn


@pytest.mark.parametrize("cls", [Tensor, nn.Parameter, nn.Module, nn.Linear, Value])
def test_no_property_is_annotated_with_literals_which_end_completion(cls: type):
    """IPython completes a variable through jedi (seen with 0.20), which looks at what each property returns; at a
    Literal it raises, and `x.<tab>` offers nothing."""
    getters = {name: x.fget for name, x in inspect.getmembers(cls) if isinstance(x, property)}
    returned = {name: getattr(get, "__annotations__", {}).get("return") for name, get in getters.items()}
    assert not [name for name, type_ in returned.items() if "Literal" in str(type_)]


@pytest.mark.parametrize(
    ("ask", "remedy"),
    [
        (bool, r"bool\(\) of a tensor of shape \(2,\).*: it has 2 elements.*with \.all\(\) or \.any\(\)$"),
        (float, r"float\(\) of a tensor of shape \(2,\).*with \.sum\(\), \.mean\(\) or an index$"),
        (int, r"int\(\) of a tensor of shape \(2,\).*with \.sum\(\), \.mean\(\) or an index$"),
    ],
)
def test_one_number_from_several_is_refused_with_what_reduces_them(ask: type, remedy: str):
    with pytest.raises(ValueError, match=remedy):
        ask(Tensor([1.0, 2.0]))


@pytest.mark.parametrize("name", ["Half", "Float", "Double", "Byte", "Int", "Long", "Bool"])
def test_type_takes_the_old_names_as_words_and_as_functions(name: str):
    x = Tensor([0.0, 1.5])
    by_function, by_word = x.type(getattr(torch, f"{name}Tensor")), x.type(f"torch.{name}Tensor")
    assert by_function.dtype == by_word.dtype == getattr(torch, f"{name}Tensor")(0).dtype
    np.testing.assert_array_equal(by_function.data, x.data.astype(by_function.dtype))


@pytest.mark.parametrize("package", [torch, torch.nn, torch.optim, torch.autograd, torch.utils])
def test_completion_of_a_package_offers_what_is_for_users(package):
    assert dir(package) == sorted(package.__all__)
    assert not {"np", "TYPE_CHECKING", "missing"} & set(dir(package))
