"""A variational autoencoder, with reparametrisation and a DataLoader."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

from programs_torch.fixed import fix_weights


class VAE(nn.Module):
    def __init__(self, d=12, hidden=16, z=2):
        super().__init__()
        self.d = d
        self.fc = nn.Linear(d, hidden)
        self.mu = nn.Linear(hidden, z)
        self.logvar = nn.Linear(hidden, z)
        self.decoder = nn.Sequential(nn.Linear(z, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, d))
        self.rng = np.random.default_rng(1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.from_numpy(self.rng.normal(size=tuple(std.shape))).to(std)
        return mu + eps * std

    def forward(self, x):
        h = F.relu(self.fc(x.view(-1, self.d)))
        mu, logvar = self.mu(h), self.logvar(h)
        return torch.sigmoid(self.decoder(self.reparameterize(mu, logvar))), mu, logvar


def main(epochs=10):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(0)
    data = torch.tensor((rng.uniform(size=(50, 12)) < 0.3).astype(np.float32))
    loader = DataLoader(TensorDataset(data), batch_size=16, shuffle=False)
    model = VAE().to(device)
    fix_weights(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(epochs):
        model.train()
        total = 0.0
        for (x,) in loader:
            x = x.to(device, non_blocking=True)
            reconstruction, mu, logvar = model(x)
            bce = F.binary_cross_entropy(reconstruction, x, reduction="sum")
            kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
            loss = bce + kl
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * x.size(0) / len(loader.dataset)
        losses.append(total)
    return losses
