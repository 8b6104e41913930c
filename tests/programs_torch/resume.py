"""A training that is saved, goes on from the file, and takes the best state it saw."""

import copy
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim.lr_scheduler import OneCycleLR

from programs_torch.fixed import fix_weights


def parts():
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    return model, optimizer, OneCycleLR(optimizer, max_lr=0.1, total_steps=20)


def run(model, optimizer, scheduler, x, y, steps):
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return [*losses, *scheduler.get_last_lr()]


def main():
    torch.manual_seed(1337)
    torch.set_num_threads(torch.get_num_threads())
    torch.backends.cudnn.benchmark = False
    rng = np.random.default_rng(0)
    x = torch.Tensor(rng.normal(size=(30, 3))).float()
    y = torch.LongTensor((x.sum(1) > 0).long().tolist())
    model, optimizer, scheduler = parts()
    fix_weights(model)
    found = run(model, optimizer, scheduler, x, y, 8)
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 8,
        "rng": torch.get_rng_state(),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        torch.save(checkpoint, path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    drawn = torch.rand(3)
    torch.set_rng_state(loaded["rng"])
    assert torch.equal(drawn, torch.rand(3))
    assert loaded["epoch"] == 8

    other = parts()
    for part, name in zip(other, ("model", "optimizer", "scheduler"), strict=True):
        part.load_state_dict(loaded[name])
    resumed, best = run(*other, x, y, 5), copy.deepcopy(other[0].state_dict())
    assert resumed == run(model, optimizer, scheduler, x, y, 5)
    run(*other, x, y, 3)
    other[0].load_state_dict(best)
    with torch.no_grad():
        predicted = other[0](x).argmax(dim=1)
    return [*found, *resumed, predicted.eq(y).float().mean().item()]
