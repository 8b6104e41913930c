"""A GPT of one block with a tied head, trained with AdamW: attention written out, weight decay groups, dropout off."""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

from programs_torch.fixed import fix_weights


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, context: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(0.0)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = self.drop(F.softmax(scores, dim=-1)) @ v
        return self.out(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, context: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, context)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(
            {"up": nn.Linear(width, 4 * width), "act": nn.GELU(), "down": nn.Linear(4 * width, width)}
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        h = self.mlp["down"](self.mlp["act"](self.mlp["up"](self.norm2(x))))
        return x + h


class GPT(nn.Module):
    def __init__(self, symbols: int, width: int = 16, heads: int = 2, context: int = 8):
        super().__init__()
        self.tokens = nn.Embedding(symbols, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, context)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, idx, targets=None):
        T = idx.size(1)
        x = self.tokens(idx) + self.positions(torch.arange(T))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


def main() -> list[float]:
    symbols, context = 11, 8
    model = GPT(symbols, context=context)
    fix_weights(model, seed=2)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=3e-3, betas=(0.9, 0.95)
    )
    numbers = (torch.arange(400) ** 2 + torch.arange(400) // 3) % symbols
    losses = []
    for step in range(25):
        starts = [(step * 7 + 31 * row) % 380 for row in range(4)]
        x = torch.stack([numbers[i : i + context] for i in starts])
        y = torch.stack([numbers[i + 1 : i + 1 + context] for i in starts])
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.inference_mode():
        idx = numbers[None, :context]
        for _ in range(5):
            logits, _ = model(idx[:, -context:])
            following = torch.topk(logits[:, -1, :], 1).indices
            idx = torch.cat((idx, following), dim=1)
    losses += [float(n) for n in idx[0].tolist()]
    losses.append(float(sum(p.numel() for p in model.parameters())))
    return losses
