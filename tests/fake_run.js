// A run as the drawing is told of it, made from a small program: for the tests of the drawing alone.

// lines: [name, op ("" for a leaf), operands, value or null, group] with groups "" or "net/layer/neuron".
class FakeRun {
  constructor(lines) {
    const places = new Map(lines.map(([name], i) => [name, i]));
    const values = [];
    this.nodes = lines.map(([name, op, operands, value, group], index) => {
      const parents = operands.map((operand) => places.get(operand));
      const x = parents.map((i) => values[i]);
      const rule = { "*": () => x[0] * x[1], "+": () => x[0] + x[1], relu: () => Math.max(x[0], 0), tanh: () => Math.tanh(x[0]) };
      values.push(op ? rule[op]() : value);
      const formula = x.length === 2 ? operands.join(op) : `${op}(${operands[0]})`;
      const title = op ? `${name} = ${formula}` : name;
      return { index, name, title, short: title, op, parents, data: scalar(values[index]), leaf: !op, constant: false, uses: 0, path: group };
    });
    this.values = values;
    this.edges = [];
    for (const node of this.nodes) {
      node.firstEdge = this.edges.length;
      node.parents.forEach((parent, slot) => {
        this.edges.push({ index: this.edges.length, parent, child: node.index, slot });
        this.nodes[parent].uses += 1;
      });
    }
    this.root = this.nodes[this.nodes.length - 1];
    this.blocked = this.edges.map(({ child }) => (this.nodes[child].op === "relu" && values[child] === 0 ? "dead relu" : null));
    this.makeGroups();
    this.modes = ["add", "overwrite"];
    this.passes = { add: this.pass("add"), overwrite: this.pass("overwrite") };
    this.truth = this.ends("add");
  }

  makeGroups() {
    const make = (label, parent) => {
      const index = this.groups.length;
      const kind = label.replace(/\d.*/, "");
      const group = { index, label, kind, parent, depth: parent ? parent.depth + 1 : 0, groups: [], nodes: [], size: 0, copies: 1 };
      parent?.groups.push(group);
      this.groups.push(group);
      return group;
    };
    this.groups = [];
    const byPath = new Map([["", make("whole", null)]]);
    for (const node of this.nodes) {
      let path = "";
      for (const part of node.path ? node.path.split("/") : []) {
        const inner = path ? `${path}/${part}` : part;
        if (!byPath.has(inner)) byPath.set(inner, make(part, byPath.get(path)));
        path = inner;
      }
      node.group = byPath.get(path);
      node.group.nodes.push(node);
      for (let group = node.group; group; group = group.parent) group.size += 1;
    }
  }

  slope({ parent, child, slot }) {
    const { op, parents } = this.nodes[child];
    if (op === "*") return this.values[parents[1 - slot]];
    if (op === "relu") return this.values[parent] > 0 ? 1 : 0;
    return op === "tanh" ? 1 - this.values[child] ** 2 : 1;
  }

  pass(mode) {
    const steps = this.nodes.filter((node) => node.op).map((node) => ({ phase: "forward", node }));
    const held = new Array(this.nodes.length).fill(null);
    const take = (receiver, contribution, rest) => {
      const before = held[receiver.index];
      const after = before === null || mode === "overwrite" ? contribution : before + contribution;
      held[receiver.index] = after;
      const quantities = { contribution: scalar(contribution), before: before === null ? null : scalar(before), after: scalar(after) };
      steps.push({ receiver, ...quantities, ...rest });
    };
    take(this.root, 1, { phase: "seed", sender: null, edge: null });
    for (const sender of [...this.nodes].reverse()) {
      sender.parents.forEach((parent, slot) => {
        const edge = this.edges[sender.firstEdge + slot];
        take(this.nodes[parent], this.slope(edge) * held[sender.index], { phase: "backward", sender, edge });
      });
    }
    steps.forEach((step, i) => (step.number = i + 1));
    return steps;
  }

  ends(mode) {
    const ends = new Array(this.nodes.length).fill(null);
    for (const { receiver, after } of this.passes[mode]) if (receiver) ends[receiver.index] = after;
    return ends;
  }

  length(mode) {
    return this.passes[mode].length;
  }

  step(mode, number) {
    return this.passes[mode][number - 1];
  }

  wrong(mode) {
    const ends = this.ends(mode);
    return this.nodes.filter(({ index }) => ends[index] !== this.truth[index]);
  }

  // A moment worked out from nothing; what changed against the one before is told when it is the next or last step.
  moveTo(mode, at) {
    const last = this.moment;
    const gradients = new Array(this.nodes.length).fill(null);
    const arrivals = new Array(this.edges.length).fill(null);
    const latest = new Map();
    let [seed, done] = [null, 0];
    const steps = this.passes[mode];
    for (const step of steps.slice(0, at)) {
      if (step.phase === "forward") {
        done = step.node.index;
        continue;
      }
      const arrival = { step, lost: false };
      if (latest.has(step.receiver) && mode === "overwrite") latest.get(step.receiver).lost = true;
      latest.set(step.receiver, arrival);
      gradients[step.receiver.index] = step.after;
      if (step.edge) arrivals[step.edge.index] = arrival;
      else seed = arrival;
    }
    let changed = null;
    if (last && last.mode === mode && Math.abs(last.at - at) === 1) {
      changed = { nodes: new Set(), edges: new Set() };
      for (const step of [last.step, steps[at - 1]]) {
        for (const node of [step?.node, step?.sender, step?.receiver]) if (node) changed.nodes.add(node.index);
        if (step?.edge) changed.edges.add(step.edge.index);
      }
    }
    const computed = (node) => node.leaf || node.index <= done;
    const step = at ? steps[at - 1] : null;
    this.moment = { mode, at, step, gradients, arrivals, seed, computed, changed, ended: at === steps.length };
    return this.moment;
  }
}

const SEVEN = [
  ["a", "", [], 2, ""],
  ["b", "", [], -3, ""],
  ["d", "*", ["a", "b"], null, ""],
  ["c", "", [], 10, ""],
  ["e", "+", ["d", "c"], null, ""],
  ["f", "relu", ["e"], null, ""],
  ["L", "*", ["f", "a"], null, ""],
];

// A network of layers of neurons, each neuron a group of products, sums and a relu.
function network(sizes) {
  const lines = [];
  let inputs = Array.from({ length: sizes[0] }, (_, i) => `x${i}`);
  inputs.forEach((name, i) => lines.push([name, "", [], Math.sin(3 * i + 1), ""]));
  sizes.slice(1).forEach((size, layer) => {
    inputs = Array.from({ length: size }, (_, neuron) => {
      const group = `layer${layer}/neuron${neuron}`;
      const name = (part) => `${part}_${layer}_${neuron}`;
      let total = name("b");
      lines.push([total, "", [], 0.1 * neuron, group]);
      inputs.forEach((input, i) => {
        const weight = Math.cos(7 * layer + 3 * neuron + 5 * i);
        lines.push([name(`w${i}`), "", [], weight, group], [name(`p${i}`), "*", [name(`w${i}`), input], null, group]);
        lines.push([name(`s${i}`), "+", [total, name(`p${i}`)], null, group]);
        total = name(`s${i}`);
      });
      lines.push([name("o"), layer % 2 ? "relu" : "tanh", [total], null, group]);
      return name("o");
    });
  });
  let total = inputs[0];
  inputs.slice(1).forEach((name, i) => {
    lines.push([`t${i}`, "+", [total, name], null, ""]);
    total = `t${i}`;
  });
  return lines;
}
