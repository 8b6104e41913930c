"""Blocks of a model, told from the names of its parameters alone."""

from __future__ import annotations


def block_of(name: str) -> str:
    """The block that a parameter belongs to: its name up to its first number, as "blocks.0" of "blocks.0.mlp.up.bias";
    where there is none, all but its last part, as "tokens" of "tokens.weight"; where there is one part, that."""
    parts = name.split(".")
    numbered = next((place for place, part in enumerate(parts) if part.isdecimal()), None)
    kept = parts[:-1] or parts if numbered is None else parts[: numbered + 1]
    return ".".join(kept)
