// What was measured along a stack, in plain sentences: those of words.py, word for word.

const ALIKE = 2;
const FAR = 100;
const FP16_TO_0 = 2 ** -25;
const FLOAT32_TO_0 = 2 ** -150;
const FP16_LARGEST = 65504;
const STILL = 1e-8;
const CHAOTIC = 1e10;
const HOPELESS = 1e14;

// stack, found   as in measuredStack
function depthSentences(stack, found) {
  const all = [found.loss, ...found.signal, ...found.states, ...found.weights];
  if (!all.every(Number.isFinite)) {
    return ["The numbers outgrow float64, which ends at 1.8e+308: there is no gradient to compare."];
  }
  if (found.states[stack.layers - 1] === 0) {
    return [`The gradient is 0 at the last layer already: ${why0(stack)}.`];
  }
  const said = [layersSentence(stack, found), weightsSentence(stack, found), ...heldSentences(stack, found)];
  const grown = sensitivityOf(stack, found);
  if (grown > CHAOTIC) {
    const which = grown > HOPELESS ? "even the first digits" : "the last digits";
    said.push(`Small changes grow as much on the way forward, so ${which} depend on how sums are rounded.`);
  }
  return said;
}

function withCommas(whole) {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
}

// A factor or a length: 7.7e-18, 0.512, 6,340.
function sizeText(x) {
  if (x >= 1000 && x < 999500) return withCommas(Number(generalText(x, 3)));
  return shortText(x, x >= 1e-3 && x < 1e6 ? 3 : 2);
}

function layersSentence(stack, found) {
  const last = stack.layers;
  const ratio = found.atInputs;
  if (last === 1) return "One layer is the first and the last: there is nothing to compare yet.";
  const first = `The first of ${withCommas(last)} layers receives`;
  if (ratio === 0) return `${first} nothing: ${why0(stack)}.`;
  const compared = `${first} ${sizeText(ratio)} ${ratio > 1 / ALIKE ? "times" : "of"} the gradient that the last one does`;
  const aLayer = last > 2 ? `, ${sizeText(ratio ** (1 / (last - 1)))} a layer on average` : "";
  return `${compared}${aLayer}: ${verdictOn(ratio)}.`;
}

function verdictOn(ratio) {
  if (ratio < 1 / FAR) return "it vanishes on the way back";
  if (ratio < 1 / ALIKE) return "it shrinks on the way back";
  if (ratio <= ALIKE) return "about as much, it neither vanishes nor explodes";
  return ratio > FAR ? "it explodes on the way back" : "it does not vanish, it grows on the way back";
}

function weightsSentence(stack, found) {
  const ratio = found.atWeights;
  const largest = Math.max(...found.weights);
  if (stack.layers === 1 || largest === 0) {
    return `The gradient of ${stack.layers === 1 ? "its" : "all"} weights has the length ${sizeText(largest)}.`;
  }
  if (!(ratio > 0 && ratio < Infinity)) {
    const which = found.weights[0] === 0 ? "first" : "last";
    return `The gradient of the ${which} layer's weights is 0: a step of gradient descent leaves them as they are.`;
  }
  let said = `The gradient of the first layer's weights is ${sizeText(ratio)}`;
  if (ratio < 1 / ALIKE) said += " of the last one's";
  else said += ` times the last one's${ratio <= ALIKE ? ", about as long" : ""}`;
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
  const typical = found.weights.filter((length) => length > 0).map((length) => length / stack.width);
  if (typical.length === 0) return [];
  const [least, most] = [Math.min(...typical), Math.max(...typical)];
  if (most > FP16_LARGEST) {
    return [`A typical number in the longest of these gradients is ${sizeText(most)}: fp16 ends at 65,504.`];
  }
  if (least > FP16_TO_0) return [];
  const lost = least <= FLOAT32_TO_0 ? "fp16 and float32 round" : "fp16 rounds";
  const where = most <= FP16_TO_0 ? "in every layer" : "in some layers";
  return [`A typical number in these gradients is as small as ${sizeText(least)}: ${lost} it to 0, ${where}.`];
}

// About how much larger a relative change of h[0] is in h[layers].
function sensitivityOf(stack, found) {
  return ((found.states[0] / found.states[stack.layers]) * found.signal[0]) / found.signal[stack.layers];
}

function why0(stack) {
  const small = "the gradient's numbers are smaller than 5e-324, where float64 ends";
  return stack.activation === "relu" ? `${small}, or no relu lets them through` : small;
}
