"""Random programs, partly in lean graphs, and every operation in one and in a checkpoint: the same bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from graphs import Two
from ops_table import Case, calls

import tensorgrad as tg
import tensorgrad.nn.functional as F
from tensorgrad.utils.checkpoint import checkpoint


def _step(kind: int, a: tg.Tensor, b: tg.Tensor, w: tg.Tensor) -> list[tg.Tensor]:
    """Some operations on two of shape (3, 3), with results of that shape."""
    match kind:
        case 0:
            return [a * b, F.gelu(a)]
        case 1:
            return [F.linear(a, w) @ b, F.dropout(a, 0.3)]
        case 2:
            return list(Two.apply(a * b))
        case 3:
            return [tg.where(a > 0, a.abs().sqrt(), b), a.sort()[0]]
        case 4:
            return [F.layer_norm(a, (3,), b[0]), a.reshape(9).reshape(3, 3).T]
        case 5:
            return [F.scaled_dot_product_attention(a, b, a, dropout_p=0.2), a.detach() * b]
        case 6:
            out = a.clone()
            out[0] = b[1]
            out[1] += 1
            return [out]
        case _:
            return list(checkpoint(lambda a, b: (F.softmax(a, -1) * b, a @ w), a, b))


def _program(seed: int, is_lean: Callable[[], bool]) -> list[np.ndarray | None]:
    rng = np.random.default_rng(seed)
    tg.manual_seed(seed)
    x, w = (tg.Tensor(rng.standard_normal((3, 3)), requires_grad=True) for _ in range(2))
    pool = [x, w, x * 1.5]
    for _ in range(rng.integers(2, 8)):
        kind, i, j = rng.integers([8, len(pool), len(pool)])
        with tg.lean_graph() if is_lean() else tg.enable_grad():
            pool += _step(kind, pool[i], pool[j], w)
        if rng.random() < 0.3:
            del pool[rng.integers(2, len(pool))]
    results = [y for y in pool if y._prev][-4:]
    loss = sum([(y * y).sum() for y in results], w.sum())
    seen: list[np.ndarray] = []
    for y in results:
        y.register_hook(lambda g: seen.append(g.numpy().copy()))
        y.retain_grad()
    found = [None if g is None else g.data for g in tg.autograd.grad(loss, [x, w, *results], allow_unused=True)]
    deepcopy(loss).backward()
    loss.backward(keep_grads=False, retain_graph=bool(seed % 2))
    return [*found, *seen, x._grad, w.grad, *[y.grad for y in results]]


@pytest.mark.parametrize("seed", range(0, 30, 10))
def test_programs_partly_in_lean_graphs_give_the_same_bits(seed: int) -> None:
    for program in range(seed, seed + 10):
        wanted = _program(program, lambda: False)
        coin = np.random.default_rng(program)
        for is_lean in (lambda: True, lambda coin=coin: bool(coin.integers(2))):
            for f, w in zip(_program(program, is_lean), wanted, strict=True):
                np.testing.assert_array_equal(f, w)


def _pass(case: Case, arrays: list[np.ndarray], lean: bool, checkpointed: bool) -> list[np.ndarray | None]:
    """The gradients of a case of the table, on operands that are results: these have stand-ins."""

    def program(*leaves: tg.Tensor) -> tuple[tg.Tensor, ...]:
        found = case.function(tg, *[x * 1.5 for x in leaves])
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    leaves = [tg.Tensor(a, requires_grad=True) for a in arrays]
    with tg.lean_graph() if lean else tg.enable_grad():
        results = checkpoint(program, *leaves) if checkpointed else program(*leaves)
        loss = sum([(y * y).sum() for y in results if y.requires_grad], leaves[0].sum())
    del results
    loss.backward(keep_grads=not lean, retain_graph=not lean)
    return [x._grad for x in leaves]


def test_every_operation_gives_the_same_bits_in_a_lean_graph_and_in_a_checkpoint() -> None:
    rng = np.random.default_rng(5)
    count = 0
    for name, case, shapes in {case.name: (name, case, shapes) for name, case, shapes in calls()}.values():
        arrays = [a.astype(np.float32) for a in case.sample(rng, shapes)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of degrees of freedom, say
            try:
                wanted = _pass(case, arrays, False, False)
            except ValueError:  # numbers that are to be probabilities
                continue
            for checkpointed in (False, True):
                for f, w in zip(_pass(case, arrays, True, checkpointed), wanted, strict=True):
                    np.testing.assert_array_equal(f, w, err_msg=name)
        count += 1
    assert count > 200
