"""The stacks that the source measured, and what it found."""

from __future__ import annotations

from dataclasses import dataclass

from depth_lab.stack import Stack


@dataclass(frozen=True)
class Setting:
    """One stack of the source.

    found     the gradient of the first layer over that of the last, or None where there is no figure
    in_words  the same, as the source says it
    """

    stack: Stack
    found: float | None
    in_words: str


SETTINGS = (
    Setting(Stack(30, 0.5), 7e-9, "7e-09"),
    Setting(Stack(60, 0.5), 1e-17, "1e-17"),
    Setting(Stack(60, 2.0), 7_700, "7,700"),
    Setting(Stack(30, 0.5, residual=True), None, "never below 1"),
    Setting(Stack(60, 0.5, residual=True), None, "never below 1"),
    Setting(Stack(60, 2.0, residual=True), 992, "992"),
)
