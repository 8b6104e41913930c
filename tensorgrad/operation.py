"""`grad_fn`: what made a tensor, for programs that print it or ask whether there is any."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorgrad.node import ArrayNode


class Operation:
    """The operation whose result `node` is. To look at a graph, `_prev` and `_op` of its tensors are at hand."""

    __slots__ = ("_node",)

    def __init__(self, node: ArrayNode) -> None:
        self._node = node

    def name(self) -> str:
        """The operation's name."""
        return self._node._op

    @property
    def next_functions(self) -> tuple[tuple[Operation | None, int], ...]:
        """(operation, 0) for each operand, (None, 0) for a leaf or a constant."""
        return tuple((made_by(parent), 0) for parent in self._node._prev)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self._node is other._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<operation {self._node._op!r}>"


def made_by(x: ArrayNode) -> Operation | None:
    """The operation whose result x is, None for a leaf and for a constant."""
    return Operation(x) if x._prev else None
