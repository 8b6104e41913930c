"""Reinforcement learning from fixed rollouts: advantages in a backward loop, a clipped objective, minibatches."""

import numpy as np
import torch
import torch.nn as nn

from programs_torch.fixed import fix_weights

STEPS, PLACES, GAMMA, LAMBDA, CLIP = 8, 3, 0.99, 0.95, 0.2


class Agent(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(observations, 16), nn.Tanh(), nn.Linear(16, 1))
        self.actor = nn.Sequential(nn.Linear(observations, 16), nn.Tanh(), nn.Linear(16, actions))
        nn.init.orthogonal_(self.actor[-1].weight, 0.01)
        nn.init.constant_(self.actor[-1].bias, 0.0)

    def forward(self, x, action):
        logits = self.actor(x)
        logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        entropy = -(logits.exp() * logits).sum(-1)
        return logits.gather(-1, action.long().unsqueeze(-1)).squeeze(-1), entropy, self.critic(x).flatten()


def rollout(agent, rng):
    """(observations, actions, log probabilities, advantages, returns, values), each flat."""
    seen = torch.zeros((STEPS, PLACES, 4))
    actions, log_p, rewards, done, values = (torch.zeros((STEPS, PLACES)) for _ in range(5))
    with torch.no_grad():
        for step in range(STEPS):
            seen[step] = torch.from_numpy(rng.normal(size=(PLACES, 4)))
            actions[step] = torch.from_numpy(rng.integers(0, 3, PLACES))
            log_p[step], _, values[step] = agent(seen[step], actions[step])
            rewards[step] = (actions[step] == 1).float() + 0.1 * torch.from_numpy(rng.normal(size=PLACES)).float()
            done[step] = torch.from_numpy(rng.integers(0, 2, PLACES))
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(STEPS - 1)):
            delta = rewards[t] + GAMMA * values[t + 1] * (1 - done[t + 1]) - values[t]
            advantages[t] = last = delta + GAMMA * LAMBDA * (1 - done[t + 1]) * last
    flat = [part.reshape(-1) for part in (actions, log_p, advantages, advantages + values, values)]
    return seen.reshape(-1, 4), *flat


def main(updates=4):
    rng = np.random.default_rng(0)
    agent = Agent(4, 3)
    fix_weights(agent)
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
    found = []
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = (1.0 - update / updates) * 2.5e-3
        seen, actions, old, advantages, returns, values = rollout(agent, rng)
        order = rng.permutation(STEPS * PLACES)
        for start in range(0, len(order), 12):
            part = order[start : start + 12]
            log_p, entropy, value = agent(seen[part], actions.long()[part])
            log_ratio = log_p - old[part]
            ratio = log_ratio.exp()
            with torch.no_grad():
                divergence = ((ratio - 1) - log_ratio).mean()
                clipped = ((ratio - 1.0).abs() > CLIP).float().mean().item()
            advantage = (advantages[part] - advantages[part].mean()) / (advantages[part].std() + 1e-8)
            policy = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()
            near = values[part] + torch.clamp(value - values[part], -CLIP, CLIP)
            critic = 0.5 * torch.max((value - returns[part]) ** 2, (near - returns[part]) ** 2).mean()
            loss = policy - 0.01 * entropy.mean() + 0.5 * critic
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            found += [loss.item(), divergence.item(), clipped]
    return found
