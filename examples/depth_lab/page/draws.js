// Random numbers and weights, bit for bit those of draws.py and initialisation.py but for the last digit of a logarithm
// or a cosine.

const STREAM_STEP = 0x9e3779b9;

function mixedBits(bits) {
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return bits ^ (bits >>> 16);
}

// `count` numbers between 0 and 1, both excluded, of a stream of a seed.
function uniformDraws(seed, stream, count) {
  const key = mixedBits((Math.imul(seed, STREAM_STEP) + 1) | 0);
  const first = mixedBits((key + Math.imul(2 * stream, STREAM_STEP)) | 0);
  const second = mixedBits((key + Math.imul(2 * stream + 1, STREAM_STEP)) | 0);
  const drawn = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const bits = mixedBits((mixedBits(Math.imul(i, STREAM_STEP) ^ first) + second) | 0);
    drawn[i] = ((bits >>> 0) + 0.5) / 2 ** 32;
  }
  return drawn;
}

// Standard normal numbers, an even count.
function normalDraws(seed, stream, count) {
  const drawn = uniformDraws(seed, stream, count);
  const half = count / 2;
  for (let i = 0; i < half; i++) {
    const radius = Math.sqrt(-2 * Math.log(drawn[i]));
    const turn = 2 * Math.PI * drawn[half + i];
    drawn[i] = radius * Math.cos(turn);
    drawn[half + i] = radius * Math.sin(turn);
  }
  return drawn;
}

// Three Hadamard matrices with random signs between; the integers are exact, so they are the engine's.
function orthogonalDraws(seed, stream, width) {
  const signs = uniformDraws(seed, stream, 3 * width).map((x) => (x < 0.5 ? 1 : -1));
  const drawn = new Float64Array(width * width);
  for (let i = 0; i < width; i++) {
    const row = drawn.subarray(i * width, (i + 1) * width);
    row[i] = signs[i];
    for (let turn = 1; turn <= 3; turn++) {
      throughHadamard(row);
      if (turn < 3) for (let j = 0; j < width; j++) row[j] *= signs[turn * width + j];
    }
  }
  return drawn;
}

// A row times Sylvester's matrix of 1 and -1, in place.
function throughHadamard(row) {
  for (let half = 1; half < row.length; half *= 2) {
    for (let start = 0; start < row.length; start += 2 * half) {
      for (let i = start; i < start + half; i++) {
        const a = row[i];
        const b = row[i + half];
        row[i] = a + b;
        row[i + half] = a - b;
      }
    }
  }
}

// What is drawn for each initialisation, and by how much it is multiplied.
//   shrink  1/√layers in residual stacks, which "gpt2" multiplies by
const INITIALISATIONS = {
  normal: { draws: "normal", gain: (width) => 1 / Math.sqrt(width) },
  he: { draws: "normal", gain: (width) => Math.SQRT2 / Math.sqrt(width) },
  gpt2: { draws: "normal", gain: (width, shrink) => 0.02 * shrink },
  torch: { draws: "uniform", gain: (width) => 1 / Math.sqrt(width) },
  orthogonal: { draws: "orthogonal", gain: (width) => width ** -1.5 },
};

const DRAWS = {
  normal: (seed, layer, width) => normalDraws(seed, layer, width * width),
  uniform: (seed, layer, width) => uniformDraws(seed, layer, width * width).map((x) => 2 * x - 1),
  orthogonal: orthogonalDraws,
};

const DRAWN_KINDS = 2; // of which the matrices are kept, at 50 MB for 100 layers of 256
const drawnKept = new Map();

// The matrices of the layers 1, 2, ..., each (width, width), row after row; they are to be multiplied by the gain.
// Those asked for last are kept: a slider asks for them again and again.
function drawnWeights({ layers, initialisation, seed, width }) {
  const kind = INITIALISATIONS[initialisation].draws;
  const wanted = `${kind} ${seed} ${width}`;
  const drawn = drawnKept.get(wanted) ?? [];
  drawnKept.delete(wanted);
  drawnKept.set(wanted, drawn);
  if (drawnKept.size > DRAWN_KINDS) drawnKept.delete(drawnKept.keys().next().value);
  while (drawn.length < layers) drawn.push(DRAWS[kind](seed, drawn.length + 1, width));
  return drawn;
}
