"""A graph network: a convolution over a matrix of neighbours, and attention over a list of edges."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from programs_torch.fixed import fix_weights


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()  # noqa: UP008 (as such programs have it)
        self.weight = nn.Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = nn.Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.weight.size(1))
        for p in self.parameters():
            nn.init.uniform_(p, -bound, bound)

    def forward(self, x, neighbours):
        out = torch.mm(neighbours, torch.mm(x, self.weight))
        return out if self.bias is None else out + self.bias


class GraphAttention(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a, gain=1.414)

    def forward(self, x, edges):
        start, end = edges
        h = self.linear(x)
        e = F.leaky_relu(torch.cat([h[start], h[end]], dim=1) @ self.a, 0.2).squeeze(1)
        e = torch.exp(e - e.max())
        total = torch.zeros(x.size(0)).index_add(0, end, e)
        alpha = e / (total[end] + 1e-16)
        return torch.zeros_like(h).index_add(0, end, alpha.unsqueeze(1) * h[start])


def main(epochs=20):
    rng = np.random.default_rng(0)
    n = 10
    a = torch.tensor(rng.uniform(size=(n, n)) < 0.3).float()
    a = ((a + a.t()) > 0).float()
    a.fill_diagonal_(1)
    scale = torch.diag(a.sum(1).pow(-0.5))
    x = torch.tensor(rng.normal(size=(n, 5)), dtype=torch.float32)
    labels = torch.tensor(rng.integers(0, 3, n))
    train = torch.LongTensor(range(7))
    first, last, attention = GraphConvolution(5, 8), GraphConvolution(8, 3, bias=False), GraphAttention(5, 8)
    model = nn.ModuleList([first, last, attention])
    fix_weights(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
    neighbours, edges = scale @ a @ scale, a.nonzero().t()
    losses, accuracies = [], []
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        h = F.dropout(F.elu(first(x, neighbours) + attention(x, edges)), 0.0, training=model.training)
        log_p = F.log_softmax(last(h, neighbours), dim=1)
        loss = F.nll_loss(log_p[train], labels[train])
        loss.backward()
        optimizer.step()
        predicted = log_p.max(1)[1].type_as(labels)
        losses.append(loss.item())
        accuracies.append((predicted.eq(labels).double().sum() / len(labels)).item())
    return [*losses, *accuracies]
