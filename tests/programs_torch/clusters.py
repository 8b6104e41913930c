"""k-means by index_add_, and a factorisation of a matrix of which a part is known."""

import numpy as np
import torch


def kmeans(x, k, steps=10):
    centers, losses = x[:k].clone(), []
    for _ in range(steps):
        nearest = torch.cdist(x, centers).argmin(1)
        losses.append((x - centers[nearest]).pow(2).sum(1).mean().item())
        sums = torch.zeros_like(centers).index_add_(0, nearest, x)
        counts = torch.zeros(k).scatter_add_(0, nearest, torch.ones(len(x)))
        centers = sums / counts.clamp_min(1).unsqueeze(1)
    return centers, nearest, losses


def main(steps=30):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(np.concatenate([rng.normal(m, 0.5, (20, 2)) for m in (-2, 0, 3)])).float()
    centers, nearest, losses = kmeans(x, 3)
    labels, counts = torch.unique(nearest, return_counts=True)
    one_hot = torch.zeros(len(nearest), len(labels)).scatter_(1, nearest.unsqueeze(1), 1.0)
    found = [*counts.tolist(), centers.sum().item(), (one_hot.T @ x).norm().item()]
    found += [x.median().item(), *x.median(dim=0).values.tolist()]

    ratings = torch.from_numpy(rng.normal(size=(6, 5))).float()
    known = torch.from_numpy(rng.uniform(size=(6, 5)) < 0.8)
    u = torch.tensor(rng.normal(0, 0.3, (6, 2)), dtype=torch.float32, requires_grad=True)
    v = torch.tensor(rng.normal(0, 0.3, (5, 2)), dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.SGD([u, v], lr=0.05)
    for _ in range(steps):
        loss = ((ratings - torch.mm(u, v.t()))[known] ** 2).sum() + 0.01 * (u.norm() ** 2 + v.norm() ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [*found, *losses]
