"""What was measured, as plain data: the report prints it, and --json writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from depth_lab.clipping import Clipped, clip
from depth_lab.seeds import PLACES, spread
from depth_lab.source import Setting
from depth_lab.stack import Measured, Stack, passed
from depth_lab.words import sentences

LIMIT = 1.0  # nanoGPT's, train.py


def of_settings(
    settings: Sequence[Setting], found: Sequence[Sequence[Measured]], seeds: Sequence[int], limit: float | None
) -> dict[str, Any]:
    """The source's settings beside ours, and what clipping does to the plain stacks of most layers among them."""
    deepest = max(setting.stack.layers for setting in settings)
    stacks = [s.stack for s in settings if s.stack.layers == deepest and not s.stack.residual]
    return {
        "seeds": list(seeds),
        "settings": [
            {
                "stack": _described(setting.stack),
                "first_over_last": _ratios(runs),
                "longest_weights": max(float(run.weights.max()) for run in runs),
                "source": setting.found,
                "source_says": setting.in_words,
            }
            for setting, runs in zip(settings, found, strict=True)
        ],
        "clipping": [clipping(stack, seeds[0], LIMIT if limit is None else limit) for stack in stacks],
    }


def of_stack(stack: Stack, runs: Sequence[Measured], seeds: Sequence[int], limit: float | None) -> dict[str, Any]:
    """One stack: along its layers with the first seed, and first over last with all."""
    first = runs[0]
    return {
        "seeds": list(seeds),
        "stack": _described(stack),
        "first_over_last": _ratios(runs),
        "first_seed": {
            "loss": first.loss,
            "signal": first.signal.tolist(),
            "states": first.states.tolist(),
            "weights": first.weights.tolist(),
            "words": sentences(stack, first),
        },
        "clipping": [] if limit is None else [clipping(stack, seeds[0], limit)],
    }


def clipping(stack: Stack, seed: int, limit: float) -> dict[str, Any]:
    """What clipping does to the gradient of a stack's weights."""
    given = {**asdict(stack), "seed": seed}
    weights, _, _ = passed(Stack(**given))
    return {"stack": given, **_clipped(clip(weights, limit))}


def _clipped(found: Clipped) -> dict[str, Any]:
    factors = found.factors
    return {
        "limit": found.limit,
        "norm_before": found.returned,
        "norm_after": found.length,
        "cosine": found.cosine,
        "changed": found.changed,
        "least_factor": float(factors.min()) if factors.size else None,
        "most_factor": float(factors.max()) if factors.size else None,
        "before": found.before.tolist(),
        "after": found.after.tolist(),
    }


def _described(stack: Stack) -> dict[str, Any]:
    """What the stack is made of, without its seed."""
    return {name: value for name, value in asdict(stack).items() if name != "seed"}


def _ratios(runs: Sequence[Measured]) -> dict[str, Any]:
    return {
        place: {**asdict(spread(runs, place)), "each": [getattr(run, f"at_{place}") for run in runs]}
        for place in PLACES
    }
