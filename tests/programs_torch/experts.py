"""A mixture of experts behind rotary positions: routing by where, and weights under other names."""

import copy
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from programs_torch.fixed import fix_weights


class SwiGLU(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.w1 = nn.Linear(d, hidden, bias=False)
        self.w2 = nn.Linear(hidden, d, bias=False)
        self.w3 = nn.Linear(d, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Norm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Experts(nn.Module):
    def __init__(self, d=8, n=4, k=2):
        super().__init__()
        self.k = k
        self.norm = Norm(d)
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList([SwiGLU(d, 12) for _ in range(n)])

    def forward(self, x):
        shape = x.shape
        x = self.norm(x).view(-1, shape[-1])
        logits = self.gate(x)
        weights, selected = torch.topk(logits, self.k)
        weights = F.softmax(weights, dim=1, dtype=torch.float).to(x.dtype)
        results = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, place = torch.where(selected == i)
            if token.numel():
                results[token] += weights[token, place, None] * expert(x[token])
        share = F.one_hot(selected, logits.size(-1)).sum(1).float().mean(0)
        balance = (share * logits.softmax(-1).mean(0)).sum() * logits.size(-1)
        return results.view(*shape), balance


def rotary(x, theta=10000.0):
    *_, t, d = x.shape
    angles = torch.outer(torch.arange(t).float(), 1.0 / theta ** (torch.arange(0, d, 2)[: d // 2].float() / d))
    c, s = angles.cos(), angles.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * c - odd * s, even * s + odd * c], dim=-1).flatten(-2)


def main(steps=12):
    rng = np.random.default_rng(0)
    model = Experts()
    fix_weights(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    found = []
    for _ in range(steps):
        x = torch.from_numpy(rng.normal(size=(2, 6, 8))).float()
        y, balance = model(rotary(x))
        loss = F.mse_loss(x + y, x.cumsum(1)) + 0.01 * balance
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        found += [loss.item(), norm.item()]
    state = OrderedDict((k.replace("experts.", "mlp."), v.clone()) for k, v in model.state_dict().items())
    twin = Experts()
    missing, unexpected = twin.load_state_dict({k.replace("mlp.", "experts."): v for k, v in state.items()}, False)
    assert not missing
    assert not unexpected
    average = copy.deepcopy(model)
    with torch.no_grad():
        for p, q in zip(average.parameters(), twin.parameters(), strict=True):
            p.lerp_(q * 0.5, 0.5)
        found += [twin(x)[0].std().item(), average(x)[0].abs().mean().item()]
    vector = nn.utils.parameters_to_vector(average.parameters())
    return [*found, vector.norm().item()]
