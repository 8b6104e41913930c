"""Every line of tensorgrad/CONVENTIONS.md, on Tensors, on Values and on torch."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorgrad
from micrograd import Value

TABLES = Path(__file__).parent.parent / "tensorgrad" / "CONVENTIONS.md"

NAMES = ("relu", "abs", "max", "sqrt", "log", "sin", "cos", "tanh", "sigmoid", "exp", "sum", "mean")
NAMES += ("min", "amax", "amin", "prod", "cumprod", "cumsum", "norm", "std", "var")
NAMES += ("softmax", "log_softmax", "logsumexp")
NAMES += tuple(
    """
    sign clamp floor round remainder nan_to_num maximum minimum where rsqrt reciprocal log2 log1p asin acos tan atan
    square exp2 expm1 sinh cosh erf relu6 hardtanh leaky_relu elu gelu silu softplus logsigmoid
    """.split()
)
NAMES += ("median", "fmod", "asinh", "acosh", "atanh", "atan2", "logaddexp")
NAMES += ("tensor", "gather", "scatter", "scatter_add", "sort", "topk", "tril", "squeeze", "cat", "chunk")
LITERALS = {"nan": math.nan, "inf": math.inf}


@dataclass(frozen=True)
class Line:
    expression: str
    x: Any
    value: Any
    gradient: Any
    torch_gradient: Any

    def run(self, module: Any, x: Any) -> Any:
        functional = getattr(getattr(module, "nn", None), "functional", None)
        names = {name: getattr(module, name, None) or getattr(functional, name, None) for name in NAMES}
        return eval(self.expression, names | LITERALS | {"x": x, "F": functional, "assigned": assigned})


def assigned(y: Any, key: Any, value: Any) -> Any:
    """y after y[key] = value."""
    y[key] = value
    return y


def read() -> list[Line]:
    lines = []
    for row in TABLES.read_text(encoding="utf-8").splitlines():
        if row.startswith("| `"):
            expression, *numbers = (cell.strip() for cell in row.strip("|").split("|"))
            x, value, gradient = (literal(text) for text in numbers[:3])
            theirs = gradient if numbers[3] == "same" else literal(numbers[3].partition(";")[0])
            lines.append(Line(expression.strip("`"), x, value, gradient, theirs))
    return lines


def literal(text: str) -> Any:
    return eval(text.strip("`"), dict(LITERALS))


LINES = read()
every_line = pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.expression} at {line.x}")


def same(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want, dtype=np.float64), rtol=1e-12, atol=0)


def test_the_tables_were_found():
    assert len(LINES) > 40


@every_line
def test_tensors(line: Line):
    x = tensorgrad.tensor(line.x, dtype=np.float64, requires_grad=True)
    out = line.run(tensorgrad, x)
    same(out.data, line.value)
    out.sum().backward()
    same(x.grad, line.gradient)


SCALAR = SimpleNamespace(abs=abs, **{n: getattr(Value, n) for n in NAMES if hasattr(Value, n) and n != "abs"})


def has_scalar_meaning(line: Line) -> bool:
    names = set(re.findall(r"[a-z]\w*", line.expression)) & set(NAMES)
    return not isinstance(line.x, list) and all(hasattr(SCALAR, name) for name in names)


@pytest.mark.parametrize(
    "line",
    [line for line in LINES if has_scalar_meaning(line)],
    ids=lambda line: f"{line.expression} at {line.x}",
)
def test_values(line: Line):
    x = Value(line.x)
    out = line.run(SCALAR, x)
    same(out.data, line.value)
    out.backward()
    same(x.grad, line.gradient)


@every_line
@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")  # torch's, of a variance of too few
def test_torch(line: Line, torch: ModuleType):
    x = torch.tensor(line.x, dtype=torch.float64, requires_grad=True)
    out = line.run(torch, x)
    same(out.detach(), line.value)
    out.sum().backward()
    same(x.grad, line.torch_gradient)
