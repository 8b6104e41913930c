"""Adam written by hand, with operations in place under no_grad; then a search for a learning rate."""

import numpy as np
import torch
import torch.nn.functional as F


class MyAdam:
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), eps=1e-8):
        self.params = list(params)
        self.lr, self.betas, self.eps, self.t = lr, betas, eps, 0
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for p, m, v in zip(self.params, self.m, self.v, strict=True):
            if p.grad is None:
                continue
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            m_hat, v_hat = m / (1 - b1**self.t), v / (1 - b2**self.t)
            p.addcdiv_(m_hat, v_hat.sqrt().add_(self.eps), value=-self.lr)

    def zero_grad(self):
        for p in self.params:
            p.grad = None


def main(steps=40):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(64, 5)).astype(np.float32))
    y = torch.sin(x.sum(1))
    w1 = torch.tensor(rng.normal(0, 0.4, (5, 16)), dtype=torch.float32, requires_grad=True)
    b1 = torch.zeros(16, requires_grad=True)
    w2 = torch.tensor(rng.normal(0, 0.2, (16, 1)), dtype=torch.float32, requires_grad=True)
    b2 = torch.zeros(1, requires_grad=True)

    def net():
        return (torch.tanh(x @ w1 + b1) @ w2 + b2).squeeze(-1)

    params = [w1, b1, w2, b2]
    optimizer = MyAdam(params)
    losses = []
    for _ in range(steps):
        loss = ((net() - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for lr in 10 ** torch.linspace(-4, -1, 20):
        loss = F.mse_loss(net(), y)
        optimizer.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in params:
                p.sub_(lr * p.grad).clamp_(-3, 3)
        losses.append(loss.item())
    return losses
