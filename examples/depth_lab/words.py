"""What was measured along a stack, in plain sentences; words.js says the same in the page, word for word.

Each sentence holds for every stack: which one is said depends on the numbers alone.
"""

from __future__ import annotations

import numpy as np

from depth_lab.stack import Measured, Stack
from viz.text import short

ALIKE, FAR = 2.0, 100.0
"""Up to this factor, two gradients are about as large; from this one on, the gradient vanishes or explodes."""

ROUNDED_TO_0 = {"fp16": 2.0**-25, "float32": 2.0**-150}
"""Up to this size a number is rounded to 0: half of the smallest that the format has."""

_CLOSED = {
    "tanh": ", or tanh is so near ±1 that its slope is 0 in float64",
    "relu": ", or no relu lets them through",
    "gelu": ", or no gelu lets them through",
    "linear": "",
}
"""What else may make a gradient 0."""

SMALLEST = 5e-324  # of float64
FP16_LARGEST = 65_504.0
STILL = 1e-8  # the length of a gradient that does not move weights whose lengths are about 16
CHAOTIC, HOPELESS = 1e10, 1e14  # times float64's rounding, 1e-16: seen in numbers of few digits, and in their first one


def sentences(stack: Stack, found: Measured) -> list[str]:
    """What the numbers say, in one to four sentences."""
    if not all(np.isfinite(each).all() for each in (found.loss, found.signal, found.states, found.weights)):
        return ["The numbers outgrow float64, which ends at 1.8e+308: there is no gradient to compare."]
    if found.states[-2] == 0:
        return [f"The gradient is 0 at the last layer already: {_why_0(stack)}."]
    said = [_layers(stack, found), _weights(stack, found), *_held(stack, found)]
    if (grown := _sensitivity(found)) > CHAOTIC:
        which = "even the first digits" if grown > HOPELESS else "the last digits"
        said.append(
            f"Beside the signal, small changes of what goes in grow to about {size(grown)} times their size, "
            f"so {which} depend on how sums are rounded."
        )
    return said


def size(x: float) -> str:
    """A factor or a length: 7.7e-18, 0.512, 6,340."""
    if 999.5 <= x < 999_500:
        return f"{float(f'{x:.3g}'):,.0f}"
    return short(x, 3 if 1e-3 <= x < 1e6 else 2)


def _layers(stack: Stack, found: Measured) -> str:
    """Of the gradient at the layers' inputs."""
    last, ratio = stack.layers, found.at_inputs
    if last == 1:
        return "One layer is the first and the last: there is nothing to compare yet."
    first = f"The first of {last:,} layers receives"
    if found.states[0] == 0:
        return f"{first} nothing: {_why_0(stack)}."
    compared = f"{first} {_times(ratio)} the gradient that the last one does"
    return f"{compared}{_a_layer(ratio, last - 1)}: {_verdict(ratio)}."


def _times(ratio: float) -> str:
    """A factor between two gradients that are not 0; their quotient may be none that float64 can hold."""
    if ratio == 0:
        return "less than 5e-324 of"
    if ratio == np.inf:
        return "more than 1.8e+308 times"
    return f"{size(ratio)} {'of' if ratio < 1 / ALIKE else 'times'}"


def _a_layer(ratio: float, steps: int) -> str:
    if steps == 1 or not 0 < ratio < np.inf or (each := size(ratio ** (1 / steps))) == "1":
        return ""
    return f", {each} a layer on average"


def _verdict(ratio: float) -> str:
    if ratio < 1 / FAR:
        return "it vanishes on the way back"
    if ratio < 1 / ALIKE:
        return "it shrinks on the way back"
    if ratio <= ALIKE:
        return "about as much, it neither vanishes nor explodes"
    return "it explodes on the way back" if ratio > FAR else "it does not vanish, it grows on the way back"


def _weights(stack: Stack, found: Measured) -> str:
    """Of the gradient of the weights."""
    ratio, largest = found.at_weights, max(found.weights)
    if stack.layers == 1 or largest == 0:
        return f"The gradient of {'its' if stack.layers == 1 else 'all'} weights has the length {size(largest)}."
    if which := [name for name, at in (("first", 0), ("last", -1)) if found.weights[at] == 0]:
        ends = f"The gradient of the {' and the '.join(which)} layer's weights is 0"
        return f"{ends}: a step of gradient descent leaves them as they are."
    said = f"The gradient of the first layer's weights is {_times(ratio)} the last one's"
    if 1 / ALIKE <= ratio <= ALIKE:
        said += ", about as long"
    said += _because(stack, found)
    if largest < STILL:
        return f"{said}; the longest of all is {size(largest)}, so gradient descent hardly moves a weight anywhere."
    if ratio < 1 / FAR:
        return f"{said}: steps that suit the last layer hardly move the first."
    if ratio > FAR:
        return f"{said}: steps that suit the last layer are far too long for the first."
    return f"{said}."


def _because(stack: Stack, found: Measured) -> str:
    """Why the weights' gradients differ less than those at the layers, where the signal is the reason."""
    carried = found.signal[-2] / found.signal[0]
    vanished = found.at_inputs < 1 / FAR and carried < 1 / FAR
    exploded = found.at_inputs > FAR and carried > FAR
    if stack.norm or not (vanished or exploded):
        return ""
    how = "shrunk" if vanished else "grown"
    return (
        f", for it is a layer's input times what comes back, and the signal has {how} to "
        f"{size(carried)} {'of itself' if vanished else 'times itself'} before the last layer"
    )


def _held(stack: Stack, found: Measured) -> list[str]:
    """What fp16 and float32 would make of the weights' gradients, where they would lose them."""
    lengths = found.weights[found.weights > 0]
    if not lengths.size:
        return []
    typical = np.maximum(lengths / stack.width, SMALLEST)  # root mean squares of (width, width) numbers
    least, most = min(typical), max(typical)
    if most > FP16_LARGEST:
        return [f"A typical number in the longest of these gradients is {size(most)}: fp16 ends at 65,504."]
    if least > ROUNDED_TO_0["fp16"]:
        return []
    return [f"A typical number in these gradients is as small as {size(least)}: {_lost(least, most)}."]


def _lost(least: float, most: float) -> str:
    """Which formats round numbers from `least` to `most` to 0, and in which layers."""
    fp16, float32 = (
        "in every layer" if most <= limit else "in some layers" if least <= limit else ""
        for limit in ROUNDED_TO_0.values()
    )
    if float32 in ("", fp16):
        return f"{'fp16 and float32 round' if float32 else 'fp16 rounds'} it to 0, {fp16}"
    return f"fp16 rounds it to 0 {fp16}, float32 {float32}"


def _sensitivity(found: Measured) -> float:
    """About how much larger a relative change of h[0] is in h[layers]."""
    with np.errstate(all="ignore"):
        return float(found.states[0] / found.states[-1] * found.signal[0] / found.signal[-1])


def _why_0(stack: Stack) -> str:
    return f"the gradient's numbers are smaller than 5e-324, where float64 ends{_CLOSED[stack.activation]}"
