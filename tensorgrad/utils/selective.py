"""Selective checkpoints: which results of a block are kept between its two runs, and handed back in the second."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from contextvars import Token
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgrad.remembering import REMEMBERED, session
from tensorgrad.settings import kind
from tensorgrad.utils.same import CheckpointError
from tensorgrad.versions import changed_since, clock, held_arrays


class CheckpointPolicy(enum.Enum):
    """What a policy says about a result. MUST and PREFER come to the same here."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


@dataclass(frozen=True)
class SelectiveCheckpointContext:
    """What a policy is told beside the operation. It is asked in the first run alone: the second does as that did."""

    is_recompute: bool


Policy = Callable[..., CheckpointPolicy | bool]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | Iterable[str], allow_cache_entry_mutation: bool = False
) -> tuple[Keeping, HandingBack]:
    """The contexts of the first and the second run of a block that keeps some of its results, for
    `checkpoint(..., context_fn=partial(create_selective_checkpoint_contexts, ["linear"]))`.

    policy_fn_or_list           names of operations whose results are kept; or a function of (context, operation's
                                name, operands) that returns a CheckpointPolicy
    allow_cache_entry_mutation  whether a kept array that was changed in place since is handed back as it is now

    The operations that can be kept are `tensorgrad.remembering.REMEMBERED`; all others are computed again. A block in
    the block decides for itself. Raises ValueError for other names in a list, TypeError for what is neither.
    """
    kept: list[Result] = []
    return Keeping(_policy(policy_fn_or_list), kept), HandingBack(kept, bool(allow_cache_entry_mutation))


@dataclass
class Result:
    """One operation of the first run: its name, the shapes of its operands, and its arrays if they were kept."""

    op: str
    shapes: list[tuple[int, ...]]
    found: Any
    is_kept: bool
    time: int


class _Run:
    """A `with` in which operations ask this object for their results."""

    _tokens: tuple[Token[Any], ...] = ()

    def result(self, op: str, compute: Callable[[], Any], operands: Sequence[Any]) -> Any:
        """See `remembering.Session`."""
        raise NotImplementedError

    def __enter__(self) -> None:
        self._tokens = (*self._tokens, session.set(self))

    def __exit__(self, *error: Any) -> None:
        *rest, token = self._tokens
        self._tokens = tuple(rest)
        session.reset(token)


class Keeping(_Run):
    """The first run: results are computed, and kept in a list where the policy says so."""

    def __init__(self, policy: Policy, kept: list[Result]) -> None:
        self._policy = policy
        self._kept = kept

    def result(self, op: str, compute: Callable[[], Any], operands: Sequence[Any]) -> Any:
        answer = self._policy(SelectiveCheckpointContext(False), op, *operands)
        if not isinstance(answer, (CheckpointPolicy, bool)):
            raise TypeError(f"checkpoint: the policy must return a CheckpointPolicy, got {answer!r} for {op!r}")
        is_kept = answer in (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
        found = compute()
        self._kept.append(Result(op, _shapes(operands), found if is_kept else None, is_kept, clock.now))
        return found


class HandingBack(_Run):
    """The second run: the operations come in the same order, and get what was kept."""

    def __init__(self, kept: list[Result], is_mutable: bool) -> None:
        self._kept = kept
        self._is_mutable = is_mutable
        self._place = 0

    def __enter__(self) -> None:
        self._place = 0
        super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if error[0] is None and self._place < len(self._kept):
            raise _other(self._place, self._kept[self._place], "no other operation that can be kept")

    def result(self, op: str, compute: Callable[[], Any], operands: Sequence[Any]) -> Any:
        shapes = _shapes(operands)
        now = f"{op!r} of operands of shapes {shapes}"
        if self._place == len(self._kept):
            raise CheckpointError(
                f"checkpoint: the first run had {self._place} operations that can be kept, and the second goes on with "
                f"{now}: the block must do the same each time"
            )
        kept = self._kept[self._place]
        if (op, shapes) != (kept.op, kept.shapes):
            raise _other(self._place, kept, now)
        self._place += 1
        if not kept.is_kept:
            return compute()
        if not self._is_mutable and any(changed_since(a, kept.time) for a in held_arrays(kept.found)):
            raise CheckpointError(
                f"checkpoint: the kept result of {op!r}, operation {self._place} of those that can be, was changed "
                "in place since: change a clone(), or pass allow_cache_entry_mutation=True"
            )
        return kept.found


def _other(place: int, kept: Result, now: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint: operation {place + 1} of those that can be kept was {kept.op!r} of operands of shapes "
        f"{kept.shapes} in the first run; the second has {now}: the block must do the same each time"
    )


def _shapes(operands: Sequence[Any]) -> list[tuple[int, ...]]:
    return [np.shape(x._data) for x in operands]


def _policy(given: Policy | Iterable[str]) -> Policy:
    if callable(given):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(
            f"create_selective_checkpoint_contexts: takes a list of operations' names or a function, got {kind(given)}"
        )
    names = list(given)
    for name in names:
        if name not in REMEMBERED:
            raise ValueError(
                f"create_selective_checkpoint_contexts: results of {name!r} cannot be kept, those of "
                f"{', '.join(map(repr, REMEMBERED))} can"
            )
    return lambda context, op, *operands: op in names
