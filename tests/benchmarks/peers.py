"""An MLP's forward and backward in other libraries. Each function returns one that does a step and gives the gradients,
weights first, as that library has them; or a text that says why it cannot run here.

All compute the same: layers tanh(h @ w + b), and the mean of the squares of the last one's results.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import racing

Step = Callable[[], Sequence[Any]]
Arrays = Sequence[np.ndarray]


def guarded(make: Callable[[Arrays, Arrays, np.ndarray], Step]) -> Callable[[Arrays, Arrays, np.ndarray], Step | str]:
    """Does one step at once, and says in words what stops a library that is missing or cannot run."""

    @functools.wraps(make)
    def made(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step | str:
        try:
            step = make(weights, biases, x)
            step()
        except ImportError as error:
            return f"{error.name} is not installed"
        except Exception as error:  # of a library that is only looked at
            return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        return step

    return made


@guarded
def torch_operators(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """torch, layers written out."""
    return operators_step(*_torch(weights, biases, x))


@guarded
def torch_modules(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """torch, nn.Sequential of Linear and Tanh."""
    torch = importlib.import_module("torch")

    ws, bs, x = _torch([w.T for w in weights], biases, x)
    layers = []
    for w, b in zip(ws, bs):
        layer = torch.nn.Linear(w.shape[1], w.shape[0])
        layer.weight, layer.bias = torch.nn.Parameter(w.detach()), torch.nn.Parameter(b.detach())
        layers += [layer, torch.nn.Tanh()]
    return sequential_step(torch.nn.Sequential(*layers), x)


# -- the same lines for torch and for tensorgrad, which has its names --------------------------------------------------


def operators_step(ws: list[Any], bs: list[Any], x: Any) -> Step:
    """A step of layers written out."""

    def step() -> list[Any]:
        for p in ws + bs:
            p.grad = None
        h = x
        for w, b in zip(ws, bs):
            h = (h @ w + b).tanh()
        (h * h).mean().backward()
        return [p.grad for p in ws + bs]

    return step


def rows_step(table: Any, read: Callable[[Any], Any], sent: Any) -> Step:
    """Rows of a table, by `read`, and the gradient `sent` back to it."""

    def step() -> list[Any]:
        table.grad = None
        read(table).backward(sent)
        return [table.grad]

    return step


def sequential_step(net: Any, x: Any) -> Step:
    """A step of an nn.Sequential of Linear and Tanh."""

    def step() -> list[Any]:
        net.zero_grad()
        h = net(x)
        (h * h).mean().backward()
        return [layer.weight.grad.T for layer in net[::2]] + [layer.bias.grad for layer in net[::2]]

    return step


# -- one library each --------------------------------------------------------------------------------------------------


def _torch(weights: Arrays, biases: Arrays, x: np.ndarray) -> tuple[list[Any], list[Any], Any]:
    torch = importlib.import_module("torch")

    torch.set_num_threads(racing.THREADS)
    ws, bs = ([torch.tensor(a, requires_grad=True) for a in arrays] for arrays in (weights, biases))
    return ws, bs, torch.tensor(x)


@guarded
def mygrad(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """MyGrad, which clears gradients by itself where a tensor is used again."""
    mg = importlib.import_module("mygrad")

    ws, bs = ([mg.tensor(a) for a in arrays] for arrays in (weights, biases))
    x = mg.tensor(x, constant=True)

    def step() -> list[Any]:
        h = x
        for w, b in zip(ws, bs):
            h = mg.tanh(h @ w + b)
        (h * h).mean().backward()
        return [p.grad for p in ws + bs]

    return step


@guarded
def autograd(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """HIPS autograd."""
    anp = importlib.import_module("autograd.numpy")
    grad = importlib.import_module("autograd").grad

    def loss(ws: list[Any], bs: list[Any]) -> Any:
        h = x
        for w, b in zip(ws, bs):
            h = anp.tanh(h @ w + b)
        return anp.mean(h * h)

    gradients, ws, bs = grad(loss, (0, 1)), list(weights), list(biases)

    def step() -> list[Any]:
        of_ws, of_bs = gradients(ws, bs)
        return of_ws + of_bs

    return step


@guarded
def tinygrad(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """tinygrad, which schedules the kernels of each step anew."""
    return _tinygrad(weights, biases, x, jit=False)


@guarded
def tinygrad_jit(weights: Arrays, biases: Arrays, x: np.ndarray) -> Step:
    """tinygrad, with the kernels of a step recorded once by TinyJit, and replayed."""
    return _tinygrad(weights, biases, x, jit=True)


def _tinygrad(weights: Arrays, biases: Arrays, x: np.ndarray, jit: bool) -> Step:
    tiny = importlib.import_module("tinygrad")
    ws, bs = ([tiny.Tensor(a).realize() for a in arrays] for arrays in (weights, biases))
    x = tiny.Tensor(x).realize()

    def gradients(x: Any) -> list[Any]:
        h = x
        for w, b in zip(ws, bs):
            h = (h @ w + b).tanh()
        found = (h * h).mean().gradient(*ws, *bs)
        found[0].realize(*found[1:])
        return found

    run = tiny.TinyJit(gradients) if jit else gradients

    def step() -> list[Any]:
        found = run(x)
        tiny.Device.default.synchronize()  # kernels run behind the program's back
        return found

    for _ in range(3 if jit else 1):  # TinyJit records in the second call
        step()
    return step
