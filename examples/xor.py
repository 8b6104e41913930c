"""A network of 17 numbers learns XOR on the scalar engine.

python examples/xor.py
plusequals draw examples/xor.py:loss -o xor.png
plusequals step examples/xor.py:loss -o xor.html
plusequals compare examples/xor.py:loss
"""

import random

from micrograd.nn import MLP

random.seed(3)

inputs = [(0, 0), (0, 1), (1, 0), (1, 1)]
targets = [0, 1, 1, 0]

net = MLP(2, [4, 1])


def mean_squared_error():
    """Over the four cases, for the network as it is now."""
    return sum((net(x) - target) ** 2 for x, target in zip(inputs, targets, strict=True)) / len(inputs)


def train(steps, rate):
    """Gradient descent on all four cases at once."""
    for step in range(steps):
        loss = mean_squared_error()
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p.data -= rate * p.grad
        if step % 20 == 0:
            print(f"step {step:2}  loss {loss.data:.4f}")


train(steps=60, rate=0.1)
net.zero_grad()
loss = mean_squared_error()  # a fresh graph of the trained network, for the commands above
loss.backward()

if __name__ == "__main__":
    for x, target in zip(inputs, targets, strict=True):
        print(f"{x[0]} xor {x[1]} = {target}, the network says {net(x).data:.3f}")
