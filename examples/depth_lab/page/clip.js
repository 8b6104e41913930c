// What clip_grad_norm_ does to the weights' gradients of a stack.

const CLIP_EPSILON = 1e-6; // torch's
const FEW_DIGITS = 1e-305; // numbers of float64 that are as small have fewer digits

// weights  lengths of the gradients, layer by layer
// Returns the length of all together before and after, the factor, and the lengths after.
function clipped(weights, limit) {
  const before = lengthOf(weights);
  const factor = Math.min(1, limit / (before + CLIP_EPSILON));
  return { before, factor, after: before * factor, weights: weights.map((length) => length * factor) };
}

function clipSentences({ before, factor, after }, limit, found) {
  if (!Number.isFinite(before)) return "There is no length to clip: the numbers outgrow float64.";
  if (before === 0) return "A gradient of length 0 stays what it is.";
  if (after < FEW_DIGITS) {
    return "The limit is so far below the length that what is left of the gradient has lost digits in float64, or is 0.";
  }
  const ratio = Number.isFinite(found.atWeights)
    ? ` The first layer's gradient over the last one's, at the weights, is ${sizeText(found.atWeights)} before and` +
      " after: clipping keeps a step from being too long, and mends nothing that vanishes."
    : "";
  if (factor === 1) return `The gradient is no longer than ${sizeText(limit)}, so it stays as it is.${ratio}`;
  const shorter = "all layers shrink by one factor: the arrow becomes shorter, and never turns (cosine 1)";
  const added = before > limit ? "" : " It was no longer than the limit: the 1e-06 that torch adds to lengths shortens it.";
  return `Down to ${sizeText(after)}, ${shorter}.${added}${ratio}`;
}
