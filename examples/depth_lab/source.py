"""The stacks that the source measured, and what it found."""

from __future__ import annotations

from dataclasses import dataclass

from depth_lab.stack import Stack


@dataclass(frozen=True)
class Setting:
    """One stack of the source.

    found     the gradient of the first layer over that of the last, or None where there is no figure
    in_words  the same, as the source says it
    ours      the least and the most of seeds 0 to 9, at the layers' inputs
    """

    stack: Stack
    found: float | None
    in_words: str
    ours: tuple[float, float]


SETTINGS = (
    Setting(Stack(30, 0.5), 7e-9, "7e-09", (4.9e-9, 7.9e-9)),
    Setting(Stack(60, 0.5), 1e-17, "1e-17", (5.7e-18, 1.1e-17)),
    Setting(Stack(60, 2.0), 7_700, "7,700", (5_170, 8_760)),
    Setting(Stack(30, 0.5, residual=True), None, "1 or more", (5.14, 5.81)),
    Setting(Stack(60, 0.5, residual=True), None, "1 or more", (10.5, 11.8)),
    Setting(Stack(60, 2.0, residual=True), 992, "992", (731, 1_210)),
)
