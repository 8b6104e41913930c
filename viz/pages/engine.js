// A scalar graph that the page computes itself: the passes as steps, other leaves, and slopes by differences.
//
// The numbers come from Python (scalars.py), and a pass does to them what Python does, so that every bit is the same.
// Computing forward goes through Math.*, whose last bit may be another.

// -- the operations, as in micrograd/engine.py: arithmetic of IEEE 754 ---------------------------------------

// In JavaScript 1 to the power of nan, and 1 or -1 to that of an infinity, are nan; elsewhere they are 1.
const ieeePower = (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b));

const sigmoidOf = (x) => {
  const e = Math.exp(-Math.abs(x)); // at most 1, so that nothing overflows on either side
  return (x >= 0 ? 1 : e) / (1 + e);
};

const SCALAR_VALUES = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "**": ieeePower,
  neg: (a) => -a,
  abs: Math.abs,
  ReLU: (a) => (a <= 0 ? 0 : a),
  tanh: Math.tanh,
  sigmoid: sigmoidOf,
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
};

// A local derivative that lets nothing pass: 0 times any gradient is 0, nan and inf included.
const BLOCKED = null;

const powerSlope = (a, n) => (n === 0 ? BLOCKED : n * ieeePower(a, n - 1));

// From the operands and the result, the local derivative for each operand.
const SCALAR_SLOPES = {
  "+": () => [1, 1],
  "-": () => [1, -1],
  "*": (a, b) => [b, a],
  "/": (a, b, out) => [1 / b, -(out / b)],
  "**": (a, b, out) => [powerSlope(a, b), a === 0 && b >= 0 ? BLOCKED : out * Math.log(a)],
  neg: () => [-1],
  abs: (a) => [Number.isNaN(a) ? a : Math.sign(a) + 0],
  ReLU: (a) => [a <= 0 ? BLOCKED : 1],
  tanh: (a, _, out) => [1 - out * out],
  sigmoid: (a, _, out) => [out * (1 - out)],
  exp: (a, _, out) => [out],
  log: (a) => [1 / a],
  sqrt: (a, _, out) => [0.5 / out],
  sin: (a) => [Math.cos(a)],
  cos: (a) => [-Math.sin(a)],
};

const pythonFloat = (text) => {
  const words = { inf: Infinity, "-inf": -Infinity, nan: NaN };
  return Object.hasOwn(words, text) ? words[text] : Number(text);
};

// What an operation computes, and its slopes; `**n` has its exponent in its name. null for others and for leaves.
const scalarOperation = (op) => {
  if (Object.hasOwn(SCALAR_VALUES, op)) return { value: SCALAR_VALUES[op], slopes: SCALAR_SLOPES[op] };
  if (!op.startsWith("**")) return null;
  const n = pythonFloat(op.slice(2));
  return { value: (a) => ieeePower(a, n), slopes: (a) => [powerSlope(a, n)] };
};

// -- the graph ----------------------------------------------------------------------------------------------

// The recursion takes a step for each path, which may be very many; it is cut off, as in viz/recursion.py.
const mostRecursionSteps = (uses) => Math.max(400, 4 * (uses + 1));

// How far a value is moved for differences: times its size, or 1 where it is smaller. The first that is good enough is
// taken, or the best of them.
const MOVES = [1e-4, 1e-3, 1e-5, 1e-7];
const GOOD_ENOUGH = 1e-7;
const TINY = 1e-300; // numbers as small as that have few digits

class ScalarGraph {
  // packed: see scalars.py; parents: the indices of each node's operands; constant: which nodes take no gradient.
  // Nodes are in topological order, the root last; edges go node by node, operand by operand.
  constructor(packed, parents, constant = []) {
    this.parents = parents;
    this.constant = constant;
    this.data = unpackFloats(packed.data);
    this.local = unpackFloats(packed.local);
    this.blocked = new Uint8Array(this.local.length);
    for (const edge of packed.blocked) this.blocked[edge] = 1;
    this.firstEdge = new Int32Array(parents.length + 1);
    parents.forEach((operands, i) => (this.firstEdge[i + 1] = this.firstEdge[i] + operands.length));
    const operations = packed.ops.map(scalarOperation);
    this.operations = Array.from(unpackInts(packed.op), (i) => operations[i]);
    this.computable = packed.computable;
    this.root = parents.length - 1;
  }

  // -- passes -----------------------------------------------------------------------------------------------

  // Every step of a pass, as arrays with an entry a step; the first is the seed, with edge and sender -1. `before` is
  // NaN and `hasBefore` 0 where nothing had arrived. `cut`: how many steps the recursion would take, if it was cut off.
  pass(mode) {
    const needed = mode === "recursion" ? this.recursionSteps() : this.sends();
    const most = mode === "recursion" ? mostRecursionSteps(this.local.length) : needed;
    const steps = new ScalarSteps(Math.min(needed, most), this.parents.length, mode !== "overwrite");
    steps.arrive(-1, -1, this.root, 1);
    if (mode === "recursion") this.recurse(steps);
    else for (let node = this.root; node >= 0; node--) this.send(node, steps);
    return steps.recorded(needed > most ? needed : 0);
  }

  // The steps of a pass in the right order: the seed, and each edge once.
  sends() {
    let count = 1;
    for (const operands of this.parents) for (const parent of operands) if (!this.constant[parent]) count += 1;
    return count;
  }

  // A node's turn: what it sends to each operand goes by the gradient that it has now.
  send(node, steps) {
    if (!steps.has[node]) return;
    const gradient = steps.gradient[node];
    const operands = this.parents[node];
    for (let slot = 0, edge = this.firstEdge[node]; slot < operands.length; slot++, edge++) {
      if (this.constant[operands[slot]]) continue;
      steps.arrive(edge, node, operands[slot], this.blocked[edge] ? 0 : this.local[edge] * gradient);
      if (steps.full) return;
    }
  }

  // What one writes without a topological order: send, then do the same for each different operand, first one first.
  recurse(steps) {
    const stack = [this.root];
    while (stack.length && !steps.full) {
      const node = stack.pop();
      this.send(node, steps);
      for (let slot = this.parents[node].length - 1; slot >= 0; slot--) {
        if (this.isFirstUse(node, slot)) stack.push(this.parents[node][slot]);
      }
    }
  }

  // Whether an operand takes gradients and has not stood further left among the node's operands.
  isFirstUse(node, slot) {
    const operands = this.parents[node];
    return !this.constant[operands[slot]] && operands.indexOf(operands[slot]) === slot;
  }

  // How many steps the recursion takes in all: each node sends once for each path to it. (Infinity for too many.)
  recursionSteps() {
    const paths = new Float64Array(this.parents.length);
    paths[this.root] = 1;
    let steps = 1;
    for (let node = this.root; node >= 0; node--) {
      this.parents[node].forEach((parent, slot) => {
        if (!this.constant[parent]) steps += paths[node];
        if (this.isFirstUse(node, slot)) paths[parent] += paths[node];
      });
    }
    return steps;
  }

  // -- other values -----------------------------------------------------------------------------------------

  // The graph with other leaves, a map from index to number. Nodes that depend on none of them keep every bit.
  recompute(leafValues) {
    const graph = Object.assign(Object.create(ScalarGraph.prototype), this);
    graph.data = this.data.slice();
    graph.local = this.local.slice();
    graph.blocked = this.blocked.slice();
    const moved = [...leafValues].filter(([index, x]) => !Object.is(x, this.data[index]));
    for (const [index, x] of moved) graph.data[index] = x;
    for (const node of this.dependents(moved.map(([index]) => index))) {
      graph.data[node] = graph.valueOf(node, graph.data);
      graph.takeSlopes(node);
    }
    return graph;
  }

  // The nodes that are computed from any of these, in order.
  dependents(indices) {
    const reached = new Uint8Array(this.parents.length);
    for (const index of indices) reached[index] = 1;
    const found = [];
    for (let node = 0; node <= this.root; node++) {
      if (reached[node] || !this.parents[node].some((parent) => reached[parent])) continue;
      reached[node] = 1;
      found.push(node);
    }
    return found;
  }

  valueOf(node, data) {
    const [a, b] = this.parents[node];
    return this.operations[node].value(data[a], b === undefined ? undefined : data[b]);
  }

  takeSlopes(node) {
    const [a, b] = this.parents[node];
    const { data } = this;
    const slopes = this.operations[node].slopes(data[a], b === undefined ? undefined : data[b], data[node]);
    slopes.forEach((slope, slot) => {
      this.local[this.firstEdge[node] + slot] = slope ?? 0;
      this.blocked[this.firstEdge[node] + slot] = slope === BLOCKED ? 1 : 0;
    });
  }

  // -- slopes by differences --------------------------------------------------------------------------------

  // d(root)/d(node) without any rule: the node's value is moved a little either way, and all that depends on it is
  // computed again. null where the page cannot compute. See `Slope`.
  slopeByDifferences(index, h = null) {
    if (!this.computable) return null;
    const x = this.data[index];
    const dependents = this.dependents([index]);
    const noise = this.noise(index, dependents);
    const data = this.data.slice();
    const rootAt = (value) => {
      data[index] = value;
      for (const node of dependents) data[node] = this.valueOf(node, data);
      return data[this.root];
    };
    const size = Math.abs(x);
    const moves = h === null ? MOVES.map((move) => move * Math.max(1, size)) : [h];
    if (h === null && size > 0 && size < 0.01) moves.push(size * 1e-3, size * 1e-5);
    let best = null;
    for (const move of moves) {
      const slope = slopeAround(rootAt, x, move, noise);
      if (!best || slope.error < best.error || Number.isNaN(best.error)) best = slope;
      if (best.error <= GOOD_ENOUGH * Math.max(1, Math.abs(best.value))) break;
    }
    return best;
  }

  // A bound for what rounding on the way from a node to the root adds to the root.
  noise(index, dependents) {
    const noise = new Float64Array(this.parents.length);
    for (const node of dependents) {
      let sum = Number.EPSILON * Math.abs(this.data[node]);
      this.parents[node].forEach((parent, slot) => {
        if (noise[parent]) sum += noise[parent] * Math.abs(this.local[this.firstEdge[node] + slot]);
      });
      noise[node] = sum;
    }
    return noise[this.root];
  }
}

// The steps of a pass while it runs, and each node's gradient.
class ScalarSteps {
  constructor(length, nodes, isAdding) {
    this.isAdding = isAdding;
    this.gradient = new Float64Array(nodes);
    this.has = new Uint8Array(nodes);
    this.at = 0;
    this.length = length;
    for (const name of ["edge", "sender", "receiver"]) this[name] = new Int32Array(length);
    for (const name of ["contribution", "before", "after"]) this[name] = new Float64Array(length);
    this.hasBefore = new Uint8Array(length);
  }

  get full() {
    return this.at === this.length;
  }

  arrive(edge, sender, receiver, contribution) {
    const { at, gradient, has } = this;
    this.edge[at] = edge;
    this.sender[at] = sender;
    this.receiver[at] = receiver;
    this.contribution[at] = contribution;
    this.hasBefore[at] = has[receiver];
    this.before[at] = has[receiver] ? gradient[receiver] : NaN;
    gradient[receiver] = this.isAdding ? gradient[receiver] + contribution : contribution;
    has[receiver] = 1;
    this.after[at] = gradient[receiver];
    this.at += 1;
  }

  recorded(cut) {
    const { length, edge, sender, receiver, contribution, before, hasBefore, after } = this;
    return { length, edge, sender, receiver, contribution, before, hasBefore, after, cut };
  }
}

// What differences say about a slope.
class Slope {
  // value: the slope; error: how far it may be off; kink: whether the slopes on the two sides, `left` and `right`,
  // differ however near one looks, as those of relu at 0.
  constructor(value, error, kink, left, right) {
    Object.assign(this, { value, error, kink, left, right });
    Object.freeze(this);
  }

  // Whether a gradient is that slope; at a kink, whether it lies between those of the two sides. null where differences
  // cannot tell: they are not finite, or drown in rounding.
  agrees(gradient) {
    const size = Math.max(Math.abs(this.value), Math.abs(gradient));
    if (!Number.isFinite(this.value) || !Number.isFinite(this.error)) return null;
    if (!Number.isFinite(gradient)) return false;
    const [least, most] = this.kink ? [Math.min(this.left, this.right), Math.max(this.left, this.right)] : [];
    const tolerance = 4 * (this.kink ? this.error - (most - least) : this.error) + 1e-7 * size + TINY;
    const off = this.kink ? Math.max(least - gradient, gradient - most) : Math.abs(gradient - this.value);
    if (off > tolerance) return false;
    return tolerance > 1e-2 * Math.max(1, size) ? null : true;
  }
}

// The slope of f at x from moves by h and by half of it: the two together cancel the error that grows with h squared.
const slopeAround = (f, x, h, noise) => {
  const middle = f(x);
  const around = (move) => {
    const [below, above] = [x - move, x + move];
    const [low, high] = [f(below), f(above)];
    const left = (middle - low) / (x - below);
    const right = (high - middle) / (above - x);
    return { both: (high - low) / (above - below), left, right, gap: Math.abs(right - left) };
  };
  const [wide, near] = [around(h), around(h / 2)];
  const rounding = (2 * noise) / h;
  const size = Math.max(Math.abs(near.left), Math.abs(near.right));
  const kink = near.gap > 0.75 * wide.gap && near.gap > 10 * rounding + 1e-5 * size;
  const error = Math.abs(near.both - wide.both) + rounding + (kink ? near.gap : 0);
  return new Slope(kink ? near.both : (4 * near.both - wide.both) / 3, error, kink, near.left, near.right);
};
