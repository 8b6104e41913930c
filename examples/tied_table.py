"""Where the gradient of a tied table comes from: GPT-2 uses its token table twice, to read tokens and to score them.

The second seed measured a gradient of norm 9.76 on GPT-2 small, nearly all of it in that table, and 0.14 of it from the
input side (figures row 16). Here a small GPT reads the documentation of Python by words, ten steps into its training.
"""

from __future__ import annotations

import re
from collections import Counter
from pydoc_data.topics import topics

import numpy as np

import tensorgrad
import viz
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.nn.functional import cross_entropy
from tensorgrad.nn.utils import clip_grad_norm_

WORDS, CONTEXT, BATCH, STEPS = 4_000, 64, 12, 10


def numbered(text: str) -> np.ndarray:
    """Its words, and what stands between them, as numbers: the commonest is 1, all that are rare together 0."""
    found = re.findall(r"\w+|[^\w]", text)
    number = {word: i for i, (word, _) in enumerate(Counter(found).most_common(WORDS - 1), start=1)}
    return np.array([number.get(word, 0) for word in found])


def loss_of(model: GPT, data: np.ndarray, rng: np.random.Generator) -> tensorgrad.Tensor:
    """The mean loss of a batch of random places in `data`."""
    starts = rng.integers(0, len(data) - CONTEXT, BATCH)
    rows = np.stack([data[start : start + CONTEXT + 1] for start in starts])
    tokens, targets = tensorgrad.tensor(rows[:, :-1]), tensorgrad.tensor(rows[:, 1:])
    return cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def main() -> None:
    tensorgrad.manual_seed(0)
    rng = np.random.default_rng(0)
    data = numbered("\n".join(topics[name] for name in sorted(topics)))
    model = GPT(GPTConfig(WORDS, CONTEXT, blocks=4, heads=4, width=128))
    optimizer = tensorgrad.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        loss_of(model, data, rng).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    uses = viz.uses(loss_of(model, data, rng), parameters=model)
    print(uses)


if __name__ == "__main__":
    main()
