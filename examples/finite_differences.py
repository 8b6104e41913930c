"""How wrong finite differences are in float32 and in float64: why gradients are checked in float64.

One small net, its gradient by backpropagation in float64 as the truth, and central differences of several widths in
both dtypes. A wide step errs by its curvature, a narrow one by the rounding of the loss. In float32 the best width
still leaves one parameter of the 20 wrong by about 1e-3 of its gradient, in float64 by 1e-9.

    python examples/finite_differences.py [--json]
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from tensorgrad import Tensor
from tensorgrad.autograd import finite_difference, input_gradients

WIDTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def loss(w1: Tensor, b1: Tensor, w2: Tensor) -> Tensor:
    """The mean squared error of a net of 3 inputs, 4 tanh neurons and 1 output on four examples."""
    x = np.array([[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]], dtype=w1.dtype)
    y = np.array([1.0, -1.0, -1.0, 1.0], dtype=w1.dtype)
    hidden = (x @ w1 + b1).tanh()  # (4, 4)
    return ((hidden @ w2 - y) ** 2).mean()


def parameters(dtype: str) -> list[Tensor]:
    """The same weights in either dtype: they are rounded to float32 before anything is computed with them."""
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (4,), (4,)]
    return [Tensor(rng.uniform(-1, 1, s).astype(np.float32).astype(dtype), requires_grad=True) for s in shapes]


def relative_errors(dtype: str, width: float, truth: np.ndarray) -> np.ndarray:
    """|difference - gradient| / |gradient| for each parameter."""
    inputs = parameters(dtype)
    found = np.concatenate([finite_difference(loss, inputs, i, width).ravel() for i in range(len(inputs))])
    return np.abs(found - truth) / np.abs(truth)


def measure() -> list[dict]:
    """One row for each dtype and width: the errors of the middle and the worst parameter. `best` marks the width whose
    worst one is smallest."""
    truth = np.concatenate([g.ravel() for g in input_gradients(loss, parameters("float64"))])
    rows = []
    for dtype in ("float32", "float64"):
        errors = {width: relative_errors(dtype, width, truth) for width in WIDTHS}
        best = min(WIDTHS, key=lambda width: errors[width].max())
        for width, error in errors.items():
            middle, worst = float(np.median(error)), float(error.max())
            rows.append({"dtype": dtype, "width": width, "median": middle, "worst": worst, "best": width == best})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    rows = measure()
    if parser.parse_args().json:
        print(json.dumps(rows, indent=2))
        return
    print("relative error of finite differences, median and worst of 20 parameters")
    print(f"{'dtype':9}{'width':>9}{'median':>10}{'worst':>10}")
    for row in rows:
        mark = "  best" if row["best"] else ""
        print(f"{row['dtype']:9}{row['width']:9.0e}{row['median']:10.1e}{row['worst']:10.1e}{mark}")


if __name__ == "__main__":
    main()
