// What was measured along a stack, in plain sentences: those of words.py, word for word.

const ALIKE = 2;
const FAR = 100;
const FP16_TO_0 = 2 ** -25;
const FLOAT32_TO_0 = 2 ** -150;
const FP16_LARGEST = 65504;
const STILL = 1e-8;
const CHAOTIC = 1e10;
const HOPELESS = 1e14;
const CLOSED = { // what else may make a gradient 0
  tanh: ", or tanh is so near ±1 that its slope is 0 in float64",
  relu: ", or no relu lets them through",
  gelu: ", or no gelu lets them through",
  linear: "",
};

// stack, found   as in measuredStack
function depthSentences(stack, found) {
  if (!areFinite(found)) {
    return ["The numbers outgrow float64, which ends at 1.8e+308: there is no gradient to compare."];
  }
  if (found.states[stack.layers - 1] === 0) {
    return [`The gradient is 0 at the last layer already: ${why0(stack)}.`];
  }
  const said = [layersSentence(stack, found), weightsSentence(stack, found), ...heldSentences(stack, found)];
  const grown = sensitivityOf(stack, found);
  if (grown > CHAOTIC) {
    const which = grown > HOPELESS ? "even the first digits" : "the last digits";
    said.push(
      `Beside the signal, small changes of what goes in grow to about ${sizeText(grown)} times their size, so ` +
      `${which} depend on how sums are rounded.`,
    );
  }
  return said;
}

function areFinite({ loss, signal, states, weights }) {
  return [loss, ...signal, ...states, ...weights].every(Number.isFinite);
}

// A factor or a length: 7.7e-18, 0.512, 6,340.
function sizeText(x) {
  if (x >= 999.5 && x < 999500) return countText(Number(generalText(x, 3)));
  return shortText(x, x >= 1e-3 && x < 1e6 ? 3 : 2);
}

function layersSentence(stack, found) {
  const last = stack.layers;
  const ratio = found.atInputs;
  if (last === 1) return "One layer is the first and the last: there is nothing to compare yet.";
  const first = `The first of ${countText(last)} layers receives`;
  if (found.states[0] === 0) return `${first} nothing: ${why0(stack)}.`;
  const compared = `${first} ${timesText(ratio)} the gradient that the last one does`;
  return `${compared}${aLayerText(ratio, last - 1)}: ${verdictOn(ratio)}.`;
}

// A factor between two gradients that are not 0; their quotient may be none that float64 can hold.
function timesText(ratio) {
  if (ratio === 0) return "less than 5e-324 of";
  if (ratio === Infinity) return "more than 1.8e+308 times";
  return `${sizeText(ratio)} ${ratio < 1 / ALIKE ? "of" : "times"}`;
}

function aLayerText(ratio, steps) {
  if (steps === 1 || !(ratio > 0 && ratio < Infinity)) return "";
  const each = sizeText(ratio ** (1 / steps));
  return each === "1" ? "" : `, ${each} a layer on average`;
}

function verdictOn(ratio) {
  if (ratio < 1 / FAR) return "it vanishes on the way back";
  if (ratio < 1 / ALIKE) return "it shrinks on the way back";
  if (ratio <= ALIKE) return "about as much, it neither vanishes nor explodes";
  return ratio > FAR ? "it explodes on the way back" : "it does not vanish, it grows on the way back";
}

// The verdict in the few words that have room beside a number.
function shortVerdict(stack, found) {
  const ratio = found.atInputs;
  if (!areFinite(found)) return "outgrows float64";
  if (stack.layers === 1 || Number.isNaN(ratio)) return "no comparison";
  if (found.states[0] === 0) return "nothing arrives";
  if (ratio < 1 / FAR) return "it vanishes";
  if (ratio < 1 / ALIKE) return "it shrinks";
  if (ratio <= ALIKE) return "about as much";
  return ratio > FAR ? "it explodes" : "it grows";
}

function weightsSentence(stack, found) {
  const ratio = found.atWeights;
  const largest = Math.max(...found.weights);
  if (stack.layers === 1 || largest === 0) {
    return `The gradient of ${stack.layers === 1 ? "its" : "all"} weights has the length ${sizeText(largest)}.`;
  }
  const which = ["first", "last"].filter((_, i) => found.weights.at(-i) === 0);
  if (which.length) {
    const ends = `The gradient of the ${which.join(" and the ")} layer's weights is 0`;
    return `${ends}: a step of gradient descent leaves them as they are.`;
  }
  let said = `The gradient of the first layer's weights is ${timesText(ratio)} the last one's`;
  if (ratio >= 1 / ALIKE && ratio <= ALIKE) said += ", about as long";
  said += signalClause(stack, found);
  if (largest < STILL) {
    return `${said}; the longest of all is ${sizeText(largest)}, so gradient descent hardly moves a weight anywhere.`;
  }
  if (ratio < 1 / FAR) return `${said}: steps that suit the last layer hardly move the first.`;
  if (ratio > FAR) return `${said}: steps that suit the last layer are far too long for the first.`;
  return `${said}.`;
}

function signalClause(stack, found) {
  const carried = found.signal[stack.layers - 1] / found.signal[0];
  const vanished = found.atInputs < 1 / FAR && carried < 1 / FAR;
  const exploded = found.atInputs > FAR && carried > FAR;
  if (stack.norm || !(vanished || exploded)) return "";
  return (
    `, for it is a layer's input times what comes back, and the signal has ${vanished ? "shrunk" : "grown"} to ` +
    `${sizeText(carried)} ${vanished ? "of itself" : "times itself"} before the last layer`
  );
}

function heldSentences(stack, found) {
  const lengths = found.weights.filter((length) => length > 0);
  const typical = lengths.map((length) => Math.max(length / stack.width, Number.MIN_VALUE));
  if (typical.length === 0) return [];
  const [least, most] = [Math.min(...typical), Math.max(...typical)];
  if (most > FP16_LARGEST) {
    return [`A typical number in the longest of these gradients is ${sizeText(most)}: fp16 ends at 65,504.`];
  }
  if (least > FP16_TO_0) return [];
  return [`A typical number in these gradients is as small as ${sizeText(least)}: ${lostText(least, most)}.`];
}

// Which formats round numbers from `least` to `most` to 0, and in which layers.
function lostText(least, most) {
  const [fp16, float32] = [FP16_TO_0, FLOAT32_TO_0].map((limit) =>
    most <= limit ? "in every layer" : least <= limit ? "in some layers" : "");
  if (float32 === "" || float32 === fp16) return `${float32 ? "fp16 and float32 round" : "fp16 rounds"} it to 0, ${fp16}`;
  return `fp16 rounds it to 0 ${fp16}, float32 ${float32}`;
}

// About how much larger a relative change of h[0] is in h[layers].
function sensitivityOf(stack, found) {
  return ((found.states[0] / found.states[stack.layers]) * found.signal[0]) / found.signal[stack.layers];
}

function why0(stack) {
  return `the gradient's numbers are smaller than 5e-324, where float64 ends${CLOSED[stack.activation]}`;
}
