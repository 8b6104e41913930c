"""A character-level recurrent network on one sentence, unrolled by hand, trained with Adam."""

import torch
import torch.nn as nn

from programs_torch.fixed import fix_weights

TEXT = "the single plus-equals is where a gradient that is used twice keeps both of its parts. "


class CharRNN(nn.Module):
    def __init__(self, symbols: int, width: int = 24):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.input = nn.Linear(width, width)
        self.state = nn.Linear(width, width, bias=False)
        self.head = nn.Linear(width, symbols)
        self.width = width

    def forward(self, idx, hidden=None):
        batch, time = idx.shape
        if hidden is None:
            hidden = torch.zeros(batch, self.width)
        x = self.embed(idx)
        states = []
        for t in range(time):
            hidden = torch.tanh(self.input(x[:, t]) + self.state(hidden))
            states.append(hidden)
        return self.head(torch.stack(states, dim=1)), hidden


def main() -> list[float]:
    symbols = sorted(set(TEXT))
    place = {c: i for i, c in enumerate(symbols)}
    data = torch.tensor([place[c] for c in TEXT * 3], dtype=torch.long)
    model = CharRNN(len(symbols))
    fix_weights(model, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    losses = []
    hidden = None
    time = 12
    for step in range(30):
        at = (step * time) % (len(data) // 2 - time - 1)
        rows = [data[at : at + time + 1], data[at + 60 : at + time + 61]]
        batch = torch.stack(rows)
        logits, hidden = model(batch[:, :-1], hidden)
        hidden = hidden.detach()
        loss = criterion(logits.reshape(-1, len(symbols)), batch[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.05)
        optimizer.step()
        losses.append(loss.item())
    return losses
