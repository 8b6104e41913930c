"""Results that are costly to compute, remembered from one run of a block to the next.

An operation that can be remembered computes its arrays through `remembered`. As a rule that is a plain call. Inside a
selective checkpoint the one who runs the block, a `Session`, decides: in the first run which arrays are kept, in the
second that the kept ones are handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

REMEMBERED = ("linear", "matmul", "scaled_dot_product_attention")
"""What can be remembered. ("matmul" is every product of matrices and vectors: @, mm, bmm, mv and dot as well.)"""


class Session(Protocol):
    """Who runs a block, and decides about its results."""

    def result(self, op: str, compute: Callable[[], Any], operands: Sequence[Any]) -> Any:
        """What `compute` returns, computed now or kept from an earlier run."""


session: ContextVar[Session | None] = ContextVar("session", default=None)
"""The innermost block's in this thread; None outside of selective checkpoints."""


def remembered(op: str, compute: Callable[[], Any], operands: Sequence[Any]) -> Any:
    """What `compute` returns (an array, or a tuple of them), which depends on `operands` and settings alone.

    It may be skipped, so whatever draws random numbers comes before it; and its arrays may be handed out again, so
    nobody writes to them.
    """
    now = session.get()
    return compute() if now is None else now.result(op, compute, operands)
