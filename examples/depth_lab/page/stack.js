// A stack of layers, forward and backward, in float64: what stack.py measures with the engine.
//
// A signal or a gradient of 8 rows lies with its rows together: number j of row b is at 8 j + b. Each weight is so read
// once for several of them. Stacks always have 8 rows here.

const ROWS = 8;
const NORM_EPSILON = 1e-5;
const GELU_SLOPE = Math.sqrt(2 / Math.PI);
const GELU_CUBE = 0.044715;

const geluTanh = (x) => Math.tanh(GELU_SLOPE * (x + GELU_CUBE * x * x * x));

const LAYER_ACTIVATIONS = {
  tanh: { of: Math.tanh, slope: (x) => 1 - Math.tanh(x) ** 2 },
  relu: { of: (x) => (x <= 0 ? 0 : x), slope: (x) => (x > 0 ? 1 : 0) },
  gelu: {
    of: (x) => 0.5 * x * (1 + geluTanh(x)),
    slope: (x) => {
      const t = geluTanh(x);
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU_SLOPE * (1 + 3 * GELU_CUBE * x * x);
    },
  },
  linear: { of: (x) => x, slope: () => 1 },
};

// stack   { layers, scale, residual, activation, norm, initialisation, seed, width }
// Returns { loss, signal, states, weights, atInputs, atOutputs, atWeights } as Measured in stack.py has them.
function measuredStack(stack) {
  const { layers, width, residual, norm } = stack;
  const { of, slope } = LAYER_ACTIVATIONS[stack.activation];
  const drawn = drawnWeights(stack);
  const shrink = residual ? 1 / Math.sqrt(layers) : 1;
  const factor = stack.scale * INITIALISATIONS[stack.initialisation].gain(width, shrink);

  let h = firstSignal(stack);
  const signal = [rootMeanSquare(h)];
  const kept = []; // of each layer what its way back needs
  for (let layer = 0; layer < layers; layer++) {
    const normal = norm ? normalised(h, width) : null;
    const read = normal ? normal.out : h;
    const before = through(read, drawn[layer], width, factor);
    kept.push({ read, before, inverse: normal?.inverse });
    const made = before.map(of);
    if (residual) for (let i = 0; i < made.length; i++) made[i] += h[i];
    h = made;
    signal.push(rootMeanSquare(h));
  }

  let loss = 0;
  for (const x of h) loss += x * x;
  loss /= h.length;
  let gradient = h.map((x) => (2 * x) / h.length);
  const states = [lengthOf(gradient)];
  const weights = [];
  for (let layer = layers - 1; layer >= 0; layer--) {
    const { read, before, inverse } = kept[layer];
    const back = before.map((x, i) => gradient[i] * slope(x));
    weights.push(outerLength(read, back) * stack.scale);
    let sent = backThrough(back, drawn[layer], width, factor);
    if (norm) sent = backThroughNorm(sent, read, inverse, width);
    if (residual) for (let i = 0; i < sent.length; i++) sent[i] += gradient[i];
    gradient = sent;
    states.push(lengthOf(gradient));
  }
  states.reverse();
  weights.reverse();
  return {
    loss, signal, states, weights,
    atInputs: overLast(states[0], states[layers - 1]),
    atOutputs: overLast(states[1], states[layers]),
    atWeights: overLast(weights[0], weights[layers - 1]),
  };
}

function overLast(first, last) {
  return last ? first / last : NaN;
}

function firstSignal({ seed, width }) {
  const drawn = normalDraws(seed, 0, ROWS * width);
  return drawn.map((_, i) => drawn[(i % ROWS) * width + Math.floor(i / ROWS)]);
}

// -- matrices -----------------------------------------------------------------------------------------------

// x @ weights * factor, two rows of the weights at a time, which takes two thirds of the time; the width is even.
function through(x, weights, width, factor) {
  const out = new Float64Array(ROWS * width);
  for (let i = 0; i < width; i += 2) {
    const at = i * ROWS;
    const x0 = x[at], x1 = x[at + 1], x2 = x[at + 2], x3 = x[at + 3];
    const x4 = x[at + 4], x5 = x[at + 5], x6 = x[at + 6], x7 = x[at + 7];
    const y0 = x[at + 8], y1 = x[at + 9], y2 = x[at + 10], y3 = x[at + 11];
    const y4 = x[at + 12], y5 = x[at + 13], y6 = x[at + 14], y7 = x[at + 15];
    const row = i * width;
    const next = row + width;
    for (let j = 0, o = 0; j < width; j++, o += ROWS) {
      const w = weights[row + j];
      const v = weights[next + j];
      out[o] = out[o] + x0 * w + y0 * v;
      out[o + 1] = out[o + 1] + x1 * w + y1 * v;
      out[o + 2] = out[o + 2] + x2 * w + y2 * v;
      out[o + 3] = out[o + 3] + x3 * w + y3 * v;
      out[o + 4] = out[o + 4] + x4 * w + y4 * v;
      out[o + 5] = out[o + 5] + x5 * w + y5 * v;
      out[o + 6] = out[o + 6] + x6 * w + y6 * v;
      out[o + 7] = out[o + 7] + x7 * w + y7 * v;
    }
  }
  for (let i = 0; i < out.length; i++) out[i] *= factor;
  return out;
}

// d @ weights.T * factor, two rows of the weights and four of d at a time.
function backThrough(d, weights, width, factor) {
  const out = new Float64Array(ROWS * width);
  for (let i = 0; i < width; i += 2) {
    const row = i * width;
    const next = row + width;
    for (let first = 0; first < ROWS; first += 4) {
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
      for (let j = 0, o = first; j < width; j++, o += ROWS) {
        const w = weights[row + j];
        const v = weights[next + j];
        const d0 = d[o], d1 = d[o + 1], d2 = d[o + 2], d3 = d[o + 3];
        s0 += d0 * w;
        s1 += d1 * w;
        s2 += d2 * w;
        s3 += d3 * w;
        t0 += d0 * v;
        t1 += d1 * v;
        t2 += d2 * v;
        t3 += d3 * v;
      }
      out.set([s0, s1, s2, s3], i * ROWS + first);
      out.set([t0, t1, t2, t3], (i + 1) * ROWS + first);
    }
  }
  for (let i = 0; i < out.length; i++) out[i] *= factor;
  return out;
}

// The length of x.T @ d without that matrix: its square is the sum of (x_b . x_c) (d_b . d_c) over all pairs of rows.
function outerLength(x, d) {
  const [longX, longD] = [largestOf(x), largestOf(d)];
  if (longX === 0 || longD === 0) return 0;
  let sum = 0;
  for (let b = 0; b < ROWS; b++) {
    for (let c = b; c < ROWS; c++) sum += (b === c ? 1 : 2) * rowsDot(x, longX, b, c) * rowsDot(d, longD, b, c);
  }
  return Math.sqrt(Math.max(sum, 0)) * longX * longD;
}

function rowsDot(x, unit, b, c) {
  let sum = 0;
  for (let i = 0; i < x.length; i += ROWS) sum += (x[i + b] / unit) * (x[i + c] / unit);
  return sum;
}

// -- layer norm ---------------------------------------------------------------------------------------------

function normalised(x, width) {
  const [out, inverse] = [new Float64Array(x.length), new Float64Array(ROWS)];
  for (let b = 0; b < ROWS; b++) {
    let mean = 0;
    for (let i = b; i < x.length; i += ROWS) mean += x[i];
    mean /= width;
    let variance = 0;
    for (let i = b; i < x.length; i += ROWS) variance += (x[i] - mean) ** 2;
    inverse[b] = 1 / Math.sqrt(variance / width + NORM_EPSILON);
    for (let i = b; i < x.length; i += ROWS) out[i] = (x[i] - mean) * inverse[b];
  }
  return { out, inverse };
}

function backThroughNorm(d, out, inverse, width) {
  const sent = new Float64Array(d.length);
  for (let b = 0; b < ROWS; b++) {
    let [mean, along] = [0, 0];
    for (let i = b; i < d.length; i += ROWS) {
      mean += d[i];
      along += d[i] * out[i];
    }
    for (let i = b; i < d.length; i += ROWS) sent[i] = (d[i] - mean / width - (out[i] * along) / width) * inverse[b];
  }
  return sent;
}

// -- sizes --------------------------------------------------------------------------------------------------

function largestOf(x) {
  let largest = 0;
  for (const each of x) {
    if (Number.isNaN(each)) return NaN;
    if (Math.abs(each) > largest) largest = Math.abs(each);
  }
  return largest;
}

// The length, without underflow: squares of 1e-200 are 0.
function lengthOf(x) {
  const largest = largestOf(x);
  if (!(largest > 0 && largest < Infinity)) return largest;
  let sum = 0;
  for (const each of x) sum += (each / largest) ** 2;
  return largest * Math.sqrt(sum);
}

function rootMeanSquare(x) {
  return lengthOf(x) / Math.sqrt(x.length);
}
