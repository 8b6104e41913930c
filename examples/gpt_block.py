"""A GPT of one block learns to spell one line, written as for torch.

`plusequals compare examples/gpt_block.py:loss` checks the gradient of every element of every tensor in it, attention,
layer norms and the tied embedding included, against the same computation on single numbers.
"""

import tensorgrad as torch
from tensorgrad import nn
from tensorgrad.nn import functional as F

TEXT = "+= adds, = loses. "


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        B, T, C = x.shape
        parts = self.qkv(self.norm1(x)).view(B, T, 3, self.heads, C // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, heads, T, C / heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, symbols: int, width: int = 8, heads: int = 2, context: int = 6):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(symbols, width), nn.Embedding(context, width)
        self.block, self.norm = Block(width, heads), nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)
        self.head.weight = self.tokens.weight  # tied: one tensor, used twice, and its gradient is a sum

    def forward(self, idx):
        x = self.tokens(idx) + self.positions(torch.arange(idx.shape[1]))  # (B, T, C)
        return self.head(self.norm(self.block(x)))  # (B, T, symbols)


torch.manual_seed(0)
symbols = sorted(set(TEXT))
data = torch.tensor([symbols.index(c) for c in TEXT * 2])
model = GPT(len(symbols))


def loss_at(start: int):
    """The mean surprise, in nats, of the six characters that follow those at `start`."""
    inputs, targets = data[start : start + 6], data[start + 1 : start + 7]
    return F.cross_entropy(model(inputs[None])[0], targets)


def train(steps: int = 400) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_at(step % len(TEXT))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step:3}  loss {loss.item():.3f}")


if __name__ == "__main__":
    train()

loss = loss_at(0)
