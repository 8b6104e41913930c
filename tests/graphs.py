"""Graphs that several tests look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd import Value
from micrograd.backprop import Node


def seven_nodes(leaf: Callable[..., Any] = Value) -> tuple[Node, dict[str, Node]]:
    """relu(a*b + c)*a at 2, -3 and 10, and its leaves by name: `a` receives 4 and then -6, which makes -2."""
    a, b, c = leaf(2.0), leaf(-3.0), leaf(10.0)
    return (a * b + c).relu() * a, {"a": a, "b": b, "c": c}
