"""Newton's method by autograd.grad, operations of one's own, hooks, and the gradient of a loss by hand."""

import numpy as np
import torch
import torch.nn.functional as F


class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


def newton(x):
    found = []
    for _ in range(6):
        y = x**3 - 2 * x - 5
        (slope,) = torch.autograd.grad(y, x)
        with torch.no_grad():
            x -= y / slope
        found.append(x.item())
    return found


def main(steps=50):
    found = newton(torch.tensor(3.0, requires_grad=True))
    norms = []
    w = torch.tensor([[1.0, -2.0], [3.0, 0.5]], requires_grad=True)
    handle = w.register_hook(lambda grad: norms.append(grad.norm().item()))
    with torch.autograd.set_detect_anomaly(True):
        (MyReLU.apply(w) * 2).sum().backward()
    handle.remove()
    found += norms

    logits = torch.linspace(-1, 1, 12, requires_grad=True).view(4, 3) * 1.0
    logits.retain_grad()
    target = torch.tensor([0, 2, 1, 1])
    loss = F.cross_entropy(logits, target)
    loss.backward()
    by_hand = F.softmax(logits, 1)
    by_hand[range(4), target] -= 1
    by_hand /= 4
    found.append((by_hand.detach() - torch.as_tensor(logits.grad)).abs().max().item())

    x = torch.linspace(-np.pi, np.pi, 200)
    y = torch.sin(x)
    a, b, c, d = (torch.full((), n, requires_grad=True) for n in (0.0, -1.0, 0.0, 0.3))
    for _ in range(steps):
        predicted = a + b * LegendrePolynomial3.apply(c + d * x)
        loss = (predicted - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for p in (a, b, c, d):
                p -= 5e-6 * p.grad
                p.grad = None
        found.append(loss.item())
    return found
