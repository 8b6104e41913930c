// A run: forward pass, seed, contributions and update as numbered steps, in each mode. No drawing, no page.

const MOST_SLOPE = 0.01; // of a tanh or sigmoid that counts as saturated
const ZERO_SLOPES = {
  ReLU: ["dead relu"],
  "*": ["zero factor", "zero factor"],
  "/": ["infinite divisor", "zero numerator"],
  abs: ["abs at 0"],
  exp: ["exp is 0"],
  sin: ["flat sin"],
  cos: ["flat cos"],
};

function powerWords(op, base) {
  if (!op.startsWith("**")) return "zero slope";
  return base === 0 ? "zero base" : op === "**0" || op === "**0.0" ? "exponent 0" : "zero slope";
}

class Run {
  constructor(data) {
    this.source = data;
    this.model = new Model(data);
    this.nodes = this.model.nodes;
    this.edges = this.model.edges;
    this.groups = this.model.groups;
    this.root = this.model.root;
    this.leaves = this.model.leaves;
    this.modes = Object.keys(MODES).filter((mode) => data.scalars || data.passes[mode]);
    this.forward = this.nodes.filter((node) => !node.leaf);
    this.forwardNumber = new Int32Array(this.nodes.length);
    this.forward.forEach((node, i) => (this.forwardNumber[node.index] = i + 1));
    this.rate = data.update ? data.update.rate ?? null : null;
    this.updated = data.update ? data.update.nodes.map((i) => this.nodes[i]) : [];
    this.edits = new Map(); // leaf -> the number that the reader gave it
    this.quantities = data.quantities ? new Map() : null;
    if (data.scalars) {
      const constant = this.nodes.map((node) => node.constant);
      this.original = new ScalarGraph(data.scalars, data.parents, constant);
    }
    this.compute();
  }

  // Everything that depends on the numbers.
  compute() {
    const { source } = this;
    this.scalars = this.edits.size ? this.original.recompute(this.edits) : this.original;
    this.model.quantityOf = this.scalars
      ? (i) => scalar(this.scalars.data[i])
      : (i) => this.quantity(source.data[i]);
    this.passes = {};
    this.steps = new Map();
    this.moment = new Moment(this);
    this.differences = new Map();
    this.blocked = this.edges.map((edge) => this.blockedWords(edge));
    const right = this.pass("add");
    this.truth = this.nodes.map((node) => right.end(node.index));
    this.wrongIn = {};
  }

  // Run again with another number in a leaf; null puts back what it had.
  edit(node, value) {
    if (value === null || Object.is(value, this.original.data[node.index])) this.edits.delete(node.index);
    else this.edits.set(node.index, value);
    this.compute();
  }

  get editable() {
    return Boolean(this.source.scalars?.computable);
  }

  quantity(i) {
    if (!this.quantities.has(i)) {
      const record = this.source.quantities[i];
      const number = { inf: Infinity, "-inf": -Infinity }[record] ?? record; // JSON has no infinities
      this.quantities.set(i, typeof record === "object" ? record : scalar(Number(number)));
    }
    return this.quantities.get(i);
  }

  pass(mode) {
    this.passes[mode] ??= this.scalars
      ? new ComputedPass(mode, this.model, this.scalars.pass(mode))
      : new RecordedPass(mode, this.model, this.source.passes[mode], (i) => this.quantity(i), this.source.hooked[mode]);
    return this.passes[mode];
  }

  // The phases that a mode has, with the numbers of their first and last steps.
  phases(mode) {
    const forward = this.forward.length;
    const backward = forward + this.pass(mode).length;
    const all = [
      { name: "forward", first: 1, last: forward },
      { name: "backward", first: forward + 1, last: backward },
      { name: "update", first: backward + 1, last: backward + this.updated.length },
    ];
    return all.filter(({ first, last }) => last >= first);
  }

  length(mode) {
    return this.forward.length + this.pass(mode).length + this.updated.length;
  }

  // Step number 1, 2, ..., the same object each time.
  step(mode, number) {
    const key = `${mode} ${number}`;
    if (!this.steps.has(key)) this.steps.set(key, this.findStep(mode, number));
    return this.steps.get(key);
  }

  findStep(mode, number) {
    const pass = this.pass(mode);
    const i = number - 1 - this.forward.length;
    if (i < 0) return { number, phase: "forward", mode, node: this.forward[number - 1] };
    if (i >= pass.length) return this.updateStep(mode, number, this.updated[i - pass.length]);
    const receiver = this.nodes[pass.receiver[i]];
    const values = { contribution: pass.contribution(i), before: pass.before(i), after: pass.after(i) };
    const common = { number, place: i, mode, receiver, ...values };
    if (pass.sender[i] < 0) {
      const rule = pass.remark(i) ?? "the seed";
      return { ...common, phase: "seed", sender: null, edge: null, upstream: null, local: null, rule };
    }
    const sender = this.nodes[pass.sender[i]];
    const edge = this.edges[pass.edge[i]];
    const words = sender.rule(edge.slot);
    return {
      ...common,
      phase: "backward",
      sender,
      edge,
      upstream: pass.upstream(i),
      local: words.local === null ? null : this.local(edge),
      localText: words.local,
      rule: pass.remark(i) ?? words.rule,
      ruleKind: words.kind,
      summed: words.summed,
    };
  }

  // d(child)/d(parent) of an edge, null where it is not known or is no product.
  local(edge) {
    if (this.scalars) return scalar(this.scalars.local[edge.index]);
    const i = this.source.locals[edge.index];
    return i === undefined ? null : this.quantity(i);
  }

  updateStep(mode, number, node) {
    const grad = this.pass(mode).end(node.index);
    const { update } = this.source;
    const after = this.scalars
      ? scalar(this.scalars.data[node.index] - this.rate * (grad?.value ?? 0))
      : this.quantity(update.after[mode][update.nodes.indexOf(node.index)]);
    return { number, phase: "update", mode, node, before: node.data, after, contribution: grad, words: update.words };
  }

  // What the root would be with the updated leaves; null where the page cannot work it out.
  rootAfterUpdate(mode) {
    if (!this.editable || !this.updated.length) return null;
    const values = new Map(this.edits);
    const first = this.length(mode) - this.updated.length + 1;
    this.updated.forEach((node, i) => values.set(node.index, this.step(mode, first + i).after.value));
    return scalar(this.original.recompute(values).data[this.root.index]);
  }

  // The nodes whose gradient a mode gets wrong.
  wrong(mode) {
    const isWrong = ({ index }) => this.pass(mode).end(index) !== this.truth[index];
    this.wrongIn[mode] ??= mode === "add" ? [] : this.nodes.filter(isWrong);
    return this.wrongIn[mode];
  }

  moveTo(mode, at) {
    this.moment.moveTo(mode, Math.min(Math.max(at, 0), this.length(mode)));
    return this.moment;
  }

  // Every contribution to a node's gradient in the order of arrival, also those still to come.
  ledger(mode, at, node) {
    const pass = this.pass(mode);
    const offset = this.forward.length + 1;
    const places = pass.to(node.index);
    const arrived = places.filter((i) => i + offset <= at).length;
    return places.map((i, k) => ({
      step: this.step(mode, i + offset),
      arrived: k < arrived,
      lost: k < arrived - 1 && pass.isLost(i),
    }));
  }

  // The numbers of the steps that write to a node's gradient.
  writes(mode, node) {
    return this.pass(mode).to(node.index).map((i) => i + this.forward.length + 1);
  }

  // What the sender of a step sends in one go, in order: the lines of its rule.
  siblings(mode, step) {
    const pass = this.pass(mode);
    let first = step.place;
    let last = step.place;
    const same = (i) => i >= 0 && i < pass.length && pass.sender[i] === step.sender.index;
    while (same(first - 1) && pass.edge[first - 1] < pass.edge[first]) first -= 1;
    while (same(last + 1) && pass.edge[last + 1] > pass.edge[last]) last += 1;
    return Array.from({ length: last - first + 1 }, (_, i) => this.step(mode, first + i + this.forward.length + 1));
  }

  // Why nothing, or next to nothing, passes along an edge, in words; null where it does. The words are those of
  // viz/pages/blocked.py.
  blockedWords(edge) {
    if (!this.edits.size) return this.source.blocked[edge.index] ?? null;
    const { op, parents } = this.nodes[edge.child];
    const slope = this.scalars.local[edge.index];
    if (op === "tanh" || op === "sigmoid") return Math.abs(slope) < MOST_SLOPE ? `saturated ${op}` : null;
    if (slope !== 0) return null;
    return ZERO_SLOPES[op]?.[edge.slot] ?? powerWords(op, this.scalars.data[parents[0]]);
  }

  // d(root)/d(node) by finite differences: { text, agrees } or null where there is none.
  difference(node) {
    if (!this.differences.has(node.index)) this.differences.set(node.index, this.findDifference(node));
    return this.differences.get(node.index);
  }

  findDifference(node) {
    if (node.constant || !this.truth[node.index]) return null;
    if (this.editable) {
      const found = this.scalars.slopeByDifferences(node.index);
      if (!found || !Number.isFinite(found.value)) return null; // a difference of infinities says nothing
      const between = () => `between ${shortText(found.left)} and ${shortText(found.right)}`;
      const text = found.kink ? between() : numberText(found.value);
      return { text, agrees: found.agrees(this.truth[node.index].value) };
    }
    const found = this.source.checks?.[node.index];
    return found ? { text: found.words, ...found } : null;
  }

  // The first value of the forward pass that is nan or inf although no operand is odd in the same way; null if there
  // is none. An infinity in a constant is meant, as in the mask of an attention.
  firstOdd() {
    const kinds = (node) => node.data.odd ?? [];
    const isNew = (node) => (kind) => {
      if (node.leaf && node.constant && kind === "inf") return false;
      return !node.parents.some((i) => kinds(this.nodes[i]).includes(kind));
    };
    return this.nodes.find((node) => kinds(node).some(isNew(node))) ?? null;
  }

  // The step that makes the point: where the contribution arrives beside one that `=` would lose; else the last one.
  decisive() {
    const wrong = this.wrong("overwrite");
    const pass = this.pass("add");
    const meets = (node) => pass.to(node.index).length > 1;
    const example = wrong.find((node) => meets(node) && this.leaves.includes(node)) ?? wrong.find(meets);
    const offset = this.forward.length + 1;
    return example ? pass.to(example.index)[1] + offset : this.forward.length + pass.length;
  }
}
