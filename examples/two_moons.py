"""A network with one hidden layer tells two half moons of points apart, on the tensor engine.

python examples/two_moons.py
plusequals draw examples/two_moons.py:loss -o moons.png
plusequals step examples/two_moons.py:loss -o moons.html
plusequals compare examples/two_moons.py:loss
plusequals compare examples/two_moons.py:loss_at "points=[[0, 1], [1, -0.5]]" "side=[[1], [-1]]"
"""

import numpy as np

from tensorgrad import Tensor, no_grad

rng = np.random.default_rng(7)


def two_moons(n):
    """n points on two half circles that reach into one another, and the side of each: 1 or -1, shape (n, 1)."""
    angle = np.pi * rng.random(n)
    side = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    points = np.stack([np.cos(angle) * side + (side < 0), np.sin(angle) * side + 0.5 * (side < 0)], axis=1)
    return points + 0.1 * rng.standard_normal((n, 2)), side[:, None]


w1 = Tensor(rng.standard_normal((2, 8)), requires_grad=True)
b1 = Tensor(np.zeros(8), requires_grad=True)
w2 = Tensor(rng.standard_normal((8, 1)) / 3, requires_grad=True)
b2 = Tensor(np.zeros(1), requires_grad=True)
parameters = [w1, b1, w2, b2]


def scores(points):
    """One number a point, (n, 2) -> (n, 1): positive for the upper moon."""
    return (points @ w1 + b1).tanh() @ w2 + b2


def loss_at(points, side):
    """The mean squared distance of the scores from 1 and -1."""
    return ((scores(points) - side) ** 2).mean()


points, side = two_moons(100)
for step in range(400):
    loss = loss_at(Tensor(points), side)
    for p in parameters:
        p.grad = None
    loss.backward()
    with no_grad():
        for p in parameters:
            p -= 0.1 * p.grad
    if step % 80 == 0:
        print(f"step {step:3}  loss {loss.item():.4f}")

x, y = Tensor(points[:4]), Tensor(side[:4])
loss = loss_at(x, y)  # a small graph of the trained network, for the commands above

if __name__ == "__main__":
    right = ((scores(Tensor(points)).data > 0) == (side > 0)).mean()
    print(f"{right:.0%} of the points are on the right side")
