"""A forward and a backward pass that really run: what the graph keeps, the peak, the time, and the gradient."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import math
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

import viz
from memory_lab.variants import Shape, Variant
from tensorgrad import lean_graph, manual_seed, randint
from tensorgrad.models import GPT, GPTConfig
from tensorgrad.tensor import Tensor

_SEED = 0
_LONG = 3.0  # seconds: what takes less is run again for its time alone


@dataclass(frozen=True)
class Run:
    """weights, saved  bytes by `viz.memory`, after a forward pass (of one sequence, with accumulation)
    peak            the most bytes of arrays at one time beside the weights, by `tracemalloc`, which NumPy tells of
                    each array
    resident        how much the process's memory grew from before the forward pass to its peak: with what BLAS and
                    Python's allocator take, in whole pages; None where the system does not say, or had a higher peak
                    before
    seconds         of both passes, the fastest of a few if they are short
    loss, norm      the loss, and the length of the gradient of all parameters
    checksum        of the bits of that gradient
    """

    weights: int
    saved: int
    peak: int
    resident: int | None
    seconds: float
    loss: float
    norm: float
    checksum: str


def new_model(shape: Shape) -> GPT:
    """With weights from a fixed seed."""
    manual_seed(_SEED)
    return GPT(GPTConfig(shape.vocabulary, shape.context, shape.blocks, shape.heads, shape.width))


def batch(shape: Shape) -> tuple[Tensor, Tensor]:
    """Tokens and targets (B, T), drawn evenly from a fixed seed: there is no text here. An untrained model's loss is
    about ln V."""
    manual_seed(_SEED + 1)
    return tuple(randint(0, shape.vocabulary, (shape.batch, shape.tokens)) for _ in range(2))  # type: ignore[return-value]


def run(model: GPT, shape: Shape, variant: Variant, tell: Callable[[str], None]) -> Run:
    """Both passes in a lean graph that releases what it has used; the model's gradients are this run's afterwards."""
    model.checkpoint = variant.checkpoint
    tokens, targets = batch(shape)
    step = 1 if variant.accumulate else shape.batch
    tell("forward pass, for what it saves")
    found = _loss(model, tokens[:step], targets[:step], variant, step / shape.batch)
    kept = viz.memory(found, model=model)
    weights, saved = kept.weights, kept.saved
    del found, kept
    model.zero_grad()
    tell("forward and backward pass")
    _give_back()
    before, highest = _resident(), _forget_peak()
    was_tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        begun = time.perf_counter()
        loss = _passes(model, tokens, targets, variant, step)
        seconds = time.perf_counter() - begun
        peak = tracemalloc.get_traced_memory()[1] - start
    finally:
        if not was_tracing:
            tracemalloc.stop()
    resident = after - before if before and (after := _resident_peak()) > highest else None
    norm, checksum = of_gradient(model)
    if seconds < _LONG:
        seconds = _fastest(model, tokens, targets, variant, step)
    return Run(weights, saved, peak, resident, seconds, loss, norm, checksum)


def _passes(model: GPT, tokens: Tensor, targets: Tensor, variant: Variant, step: int) -> float:
    """Forward and backward pass of the batch, `step` sequences at a time. Returns the loss."""
    loss = 0.0
    for i in range(0, len(tokens), step):
        found = _loss(model, tokens[i : i + step], targets[i : i + step], variant, step / len(tokens))
        loss += found.item()
        found.backward(keep_grads=False, retain_graph=False)
        del found
    return loss


def _loss(model: GPT, tokens: Tensor, targets: Tensor, variant: Variant, share: float) -> Tensor:
    with lean_graph():
        loss = model.loss(tokens, targets, chunked=variant.chunked)
        return loss * share if variant.accumulate else loss


def _fastest(model: GPT, tokens: Tensor, targets: Tensor, variant: Variant, step: int) -> float:
    """Seconds of both passes, where nobody counts."""
    found, begun = [], time.perf_counter()
    while not found or (len(found) < 20 and time.perf_counter() - begun < _LONG):
        model.zero_grad()
        start = time.perf_counter()
        _passes(model, tokens, targets, variant, step)
        found.append(time.perf_counter() - start)
    return min(found)


def of_gradient(model: GPT) -> tuple[float, str]:
    """The length of the gradient of all parameters, and a checksum of its bits."""
    squares, digest = 0.0, hashlib.sha256()
    for parameter in model.parameters():
        grad = np.ascontiguousarray(parameter.grad)
        digest.update(memoryview(grad).cast("B"))
        for rows in np.array_split(grad.reshape(-1), max(1, grad.size >> 20)):
            wide = rows.astype(np.float64)
            squares += float(wide @ wide)
    return math.sqrt(squares), digest.hexdigest()[:16]


def distance(model: GPT, shape: Shape, variant: Variant) -> float:
    """How far the gradient that the model holds is from that of the whole batch at once, as a share of its length. The
    model then holds the latter."""
    own = [np.array(p.grad) for p in model.parameters()]
    model.zero_grad()
    tokens, targets = batch(shape)
    _loss(model, tokens, targets, Variant(variant.checkpoint, variant.chunked), 1.0).backward(retain_graph=False)
    apart = sum(float(np.square(a - np.asarray(p.grad, np.float64)).sum()) for a, p in zip(own, model.parameters()))
    return math.sqrt(apart) / (of_gradient(model)[0] or 1.0)  # of one token, which is certain, the gradient is 0


# -- what the system says of this process ------------------------------------------------------------------------------


def _give_back() -> None:
    """Let the allocator return what is free (glibc): what it keeps of earlier work would be taken again unnoticed, and
    the process would seem to need less than its arrays."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # no such function, or on Windows no such library
        ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    """Bytes in memory now; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError, ImportError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * import_module("resource").getpagesize()
    return 0


def _forget_peak() -> int:
    """Let the system count the peak anew (Linux). Returns the peak so far where it does not, and otherwise 0."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
        return 0
    return _resident_peak() if _resident() else 0


def _resident_peak() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    resource = import_module("resource")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
