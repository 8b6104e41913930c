"""A tagger with a linear chain on top: sums over all paths by logsumexp, and the best path."""

import numpy as np
import torch
import torch.nn as nn

from programs_torch.fixed import fix_weights


class Chain(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(n, n))
        self.start = nn.Parameter(torch.zeros(n))

    def forward(self, scores, tags, mask):
        return (self.of_all_paths(scores, mask) - self.of_path(scores, tags, mask)).mean()

    def of_path(self, scores, tags, mask):
        b, t = tags.shape
        rows = torch.arange(b)
        total = self.start[tags[:, 0]] + scores[rows, 0, tags[:, 0]]
        for i in range(1, t):
            step = self.transitions[tags[:, i - 1], tags[:, i]] + scores[rows, i, tags[:, i]]
            total = total + step * mask[:, i].float()
        return total

    def of_all_paths(self, scores, mask):
        a = self.start + scores[:, 0]
        for i in range(1, scores.size(1)):
            after = torch.logsumexp(a.unsqueeze(2) + self.transitions + scores[:, i].unsqueeze(1), dim=1)
            a = torch.where(mask[:, i].unsqueeze(1), after, a)
        return a.logsumexp(1)

    @torch.no_grad()
    def best_path(self, scores):
        a, back = self.start + scores[:, 0], []
        for i in range(1, scores.size(1)):
            best, place = (a.unsqueeze(2) + self.transitions).max(dim=1)
            a = best + scores[:, i]
            back.append(place)
        path = [a.argmax(1)]
        for place in reversed(back):
            path.insert(0, place.gather(1, path[0].unsqueeze(1)).squeeze(1))
        return torch.stack(path, 1)


def main(steps=15):
    rng = np.random.default_rng(0)
    chain, net = Chain(4), nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 4))
    fix_weights(net)
    fix_weights(chain, seed=1)
    words = torch.from_numpy(rng.integers(1, 9, (5, 7)))
    lengths = torch.tensor([7, 5, 6, 3, 7])
    mask = torch.arange(7)[None, :] < lengths[:, None]
    words = words * mask
    tags = words % 4
    optimizer = torch.optim.Adam([*net.parameters(), *chain.parameters()], lr=0.05)
    losses = []
    for _ in range(steps):
        loss = chain(net(words), tags, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    right = chain.best_path(net(words)).eq(tags) & mask
    return [*losses, right.sum().item() / mask.sum().item()]
