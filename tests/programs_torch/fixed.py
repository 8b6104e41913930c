"""Weights that do not depend on any library's random generator, so that two of them can be compared."""

import numpy as np
import torch


@torch.no_grad()
def fix_weights(module: torch.nn.Module, seed: int = 0) -> None:
    """Fill every parameter from a NumPy generator, about as large as torch would have them."""
    rng = np.random.default_rng(seed)
    for name, p in module.named_parameters():
        if p.dim() > 1:
            p.copy_(torch.tensor(rng.normal(0.0, p.shape[-1] ** -0.5, tuple(p.shape))))
        else:
            p.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.0)
