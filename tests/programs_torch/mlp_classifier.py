"""Two interleaved spirals, a multilayer perceptron, cross entropy, SGD with momentum, a scheduler and clipping."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from programs_torch.fixed import fix_weights


class MLP(nn.Module):
    def __init__(self, hidden: int = 32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(2, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x):
        return self.layers(x)


def spirals(n: int = 100):
    t = torch.linspace(0.25, 1.0, n)
    angle = 2 * math.pi * t
    one = torch.stack([t * torch.cos(angle), t * torch.sin(angle)], dim=1)
    x = torch.cat([one, -one], dim=0)
    y = torch.cat([torch.zeros(n), torch.ones(n)]).long()
    return x, y


def main() -> list[float]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = (part.to(device) for part in spirals())
    model = MLP().to(device)
    fix_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
    warmup = LinearLR(optimizer, start_factor=0.1, total_iters=10)
    scheduler = SequentialLR(optimizer, [warmup, CosineAnnealingLR(optimizer, T_max=50)], milestones=[10])
    losses = []
    for _ in range(60):
        model.train()
        logits = model(x)
        loss = F.cross_entropy(logits, y, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses += [loss.item(), norm.item()]
    model.eval()
    with torch.no_grad():
        accuracy = model(x).argmax(dim=1).eq(y).float().mean()
    losses += [accuracy.item(), scheduler.get_last_lr()[0]]
    return losses
