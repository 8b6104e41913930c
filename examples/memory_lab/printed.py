"""What was found, as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from common.words import wrapped

from viz.text import aligned

_WIDE = 100


def megabytes(size: float) -> str:
    """10**6 bytes, in two digits or more: 1,130, 44.1, 0.68, 0.0010."""
    size /= 1e6
    if 0 < size < 0.0995:
        return f"{size:.{1 - floor(log10(size))}f}"
    return f"{size:,.0f}" if size >= 999.5 else f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"


def report(data: dict[str, Any]) -> str:
    """All of it."""
    blocks = [_head(data), _parts(data["estimate"])]
    if data["measured"] is not None:
        blocks.append(_run(data))
    blocks += [_side_by_side(data), *_notes(data)]
    return "\n\n".join(blocks)


def _head(data: dict[str, Any]) -> str:
    s = data["shape"]
    return (
        f"GPT of {s['blocks']:,} blocks, {s['heads']:,} heads, {s['width']:,} wide, {s['vocabulary']:,} tokens, "
        f"context {s['context']:,}; batch {s['batch']:,} of {s['tokens']:,} tokens\n"
        f"weights {megabytes(data['weights'])} MB (float32; MB are 10**6 bytes)"
    )


def _parts(found: dict[str, Any]) -> str:
    """What the rules hold, part by part: a reader can multiply the shapes."""
    rows = [("saved for the backward pass", "held first by", "shape", "MB", "times", "MB in all")]
    small = 0
    for part in found["parts"]:
        whole = part["bytes"] * part["times"]
        if whole < 0.002 * found["saved"]:
            small += whole
            continue
        shape = " x ".join(f"{n:,}" for n in part["shape"])
        rows.append(
            (part["what"], part["where"], shape, megabytes(part["bytes"]), f"{part['times']}", megabytes(whole))
        )
    rows.append(("smaller arrays", "", "", "", "", megabytes(small)))
    rows.append(("together", "", "", "", "", megabytes(found["saved"])))
    return "\n".join([f"{found['variant']}:", *aligned(rows, (0, 1, 2))])


def _run(data: dict[str, Any]) -> str:
    run, found = data["measured"], data["estimate"]
    resident = "unknown" if run["resident"] is None else megabytes(run["resident"])
    rows = [
        (f"{found['variant']}, run here", "estimate", "measured"),
        ("weights, MB", megabytes(data["weights"]), megabytes(run["weights"])),
        ("saved, MB", megabytes(found["saved"]), megabytes(run["saved"])),
        ("peak beside the weights, MB of arrays", megabytes(found["peak"]), megabytes(run["peak"])),
        ("  the same, MB that the process grew by", "", resident),
        ("seconds, forward and backward", f"{found['seconds']:.3g}", f"{run['seconds']:.3g}"),
    ]
    said = [
        "\n".join(aligned(rows)),
        f"loss {run['loss']:.6f}; gradient: norm {run['norm']:#.9g}, checksum {run['checksum']}",
    ]
    if run.get("distance") is not None:
        said.append(f"from the gradient of the whole batch at once it is {run['distance']:.1e} of its length away")
    return "\n".join(said)


def _side_by_side(data: dict[str, Any]) -> str:
    table = data["table"]
    is_measured = any("measured" in row for row in table)
    head = ["side by side", "saved MB", "peak MB", "time"]
    if is_measured:
        head += ["measured: saved", "peak", "process", "time", "gradient's norm", "checksum"]
    has_source = any(row["source"] for row in table)
    rows = [(*head, *["source"] * has_source)]
    for row in table:
        cells = [row["variant"], megabytes(row["saved"]), megabytes(row["peak"]), f"{row['time']:.2f}"]
        if is_measured:
            cells += _measured(row["measured"])
        rows.append((*cells, *[row["source"]] * has_source))
    words = (0, len(head)) if has_source else (0,)
    return "\n".join(aligned(rows, words))


def _measured(run: Any) -> list[str]:
    if isinstance(run, str):
        return ["", "", "", "", "", run]
    resident = "" if run["resident"] is None else megabytes(run["resident"])
    time = f"{run['time']:.2f}" if "time" in run else ""
    return [megabytes(run["saved"]), megabytes(run["peak"]), resident, time, f"{run['norm']:#.9g}", run["checksum"]]


def _notes(data: dict[str, Any]) -> Sequence[str]:
    found = data["estimate"]
    said = [
        "Saved: what the rules of the graph hold after the forward pass, weights and inputs aside. Peak: the most at "
        "one time in forward and backward pass beside the weights, with the gradients of the parameters "
        f"({megabytes(found['gradients'])} MB), in a lean graph that releases what it has used. "
        f"{found['variant'].capitalize()} has it at {found['peak_at']}. Time: times that of plain, an estimate"
        f" ({data['plain_seconds']:.3g} seconds for plain) from how fast products of matrices and exp "
        "are now, on a machine that does nothing else; Python's own time, most of it at small sizes, is not in it."
    ]
    if any(row["variant"].startswith("accumulation") for row in data["table"]):
        said.append("Accumulation: one sequence of the batch at a time, each loss divided by how many there are.")
    if data["measured"] is not None or any("measured" in row for row in data["table"]):
        said.append(
            "Measured: saved by viz.memory, peak by tracemalloc, which NumPy tells of each array. What the process "
            "grew by (VmHWM, from before the forward pass) also has what BLAS needs and what the allocator has not "
            "given back; zeros that nobody touched are not in it. Tokens are drawn evenly from a fixed seed."
        )
    return [wrapped(each, _WIDE) for each in said]
