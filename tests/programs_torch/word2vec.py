"""Skip-grams with negative sampling, from a Dataset of its own."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

from programs_torch.fixed import fix_weights

TEXT = "the quick brown fox jumps over the lazy dog the dog sleeps and the fox runs over the hill"


class Pairs(Dataset):
    def __init__(self, words, window=2):
        self.vocabulary = sorted(set(words))
        number = {word: i for i, word in enumerate(self.vocabulary)}
        self.ids = torch.tensor([number[word] for word in words])
        n = len(words)
        self.pairs = [(i, j) for i in range(n) for j in range(max(0, i - window), min(n, i + window + 1)) if i != j]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        center, other = self.pairs[i]
        return self.ids[center], self.ids[other].item()


class SkipGram(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.center = nn.Embedding(n, d)
        self.context = nn.Embedding(n, d)

    def forward(self, center, other, negative):
        v = self.center(center)
        positive = F.logsigmoid((v * self.context(other)).sum(-1))
        negatives = F.logsigmoid(-torch.bmm(self.context(negative), v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + negatives).mean()


def main(epochs=4):
    rng = np.random.default_rng(0)
    data = Pairs(TEXT.split())
    n = len(data.vocabulary)
    held, rest = random_split(data, [10, len(data) - 10], generator=torch.Generator().manual_seed(0))
    assert (len(held), len(rest)) == (10, len(data) - 10)
    counts = torch.bincount(data.ids, minlength=n).float()
    noise = counts**0.75 / (counts**0.75).sum()
    assert torch.multinomial(noise, 5, replacement=True).shape == (5,)
    model = SkipGram(n, 6)
    fix_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(epochs):
        for center, other in DataLoader(data, batch_size=8, drop_last=True):
            negative = torch.from_numpy(rng.choice(n, (8, 4), p=noise.double().numpy() / noise.double().sum().item()))
            loss = model(center, other, negative)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    w = F.normalize(model.center.weight.detach(), dim=1)
    similarity = (w @ w.t()).fill_diagonal_(-1)
    values, indices = similarity.topk(2, dim=1)
    return [*losses, *values.sum(0).tolist(), *indices.flatten().tolist()]
