// The recorded pass: what every node and edge holds after any number of steps. No drawing, no page.
//
// A *quantity* is a number or array as text, made in Python. Equal quantities are the same object.

const OPERATORS = { add: "+=", overwrite: "=" };

class Run {
  constructor(data) {
    const quantity = (i) => (i === null ? null : data.quantities[i]);
    this.nodeHeight = data.nodeHeight;
    this.chip = data.chip;
    this.layouts = data.layouts;
    this.nodes = data.nodes.map((node, index) => ({ ...node, index, data: quantity(node.data), uses: 0 }));
    this.edges = data.edges.map(([parent, child, slot], index) => ({ parent, child, slot, index, longest: 0 }));
    this.leaves = data.leaves.map((i) => this.nodes[i]); // those worth listing, in a graph too large to list all
    this.root = this.nodes[this.nodes.length - 1];
    this.edgeAt = new Map(this.edges.map((edge) => [`${edge.child}:${edge.slot}`, edge]));
    for (const edge of this.edges) this.nodes[edge.parent].uses += 1;
    this.spread();
    this.passes = {};
    for (const mode of Object.keys(OPERATORS)) {
      this.passes[mode] = data.passes[mode].map((row, i) => this.step(row, i + 1, data, quantity));
    }
    for (const { edge, contribution } of Object.values(this.passes).flat()) {
      if (edge) edge.longest = Math.max(edge.longest, contribution.chip.length);
    }
    this.length = this.passes.add.length;
    this.truth = this.moment("add", this.length).gradients;
    const spoilt = this.moment("overwrite", this.length).gradients;
    this.wrong = this.nodes.filter((node) => spoilt[node.index] !== this.truth[node.index]);
    this.odd = this.everOdd();
  }

  // The nodes that hold nan or inf at some step, with += or with =.
  everOdd() {
    const odd = new Set(this.nodes.filter((node) => node.data.odd));
    for (const { receiver, after } of Object.values(this.passes).flat()) if (after.odd) odd.add(receiver);
    return odd;
  }

  // How far along each edge, from the receiver on, its chip sits: half way; where several edges join the same two
  // nodes, one behind the other and away from what is written under the receiver.
  spread() {
    const parallel = new Map();
    for (const edge of this.edges) {
      const key = `${edge.parent}:${edge.child}`;
      parallel.set(key, [...(parallel.get(key) ?? []), edge]);
    }
    for (const edges of parallel.values()) {
      edges.forEach((edge, i) => {
        edge.fraction = edges.length === 1 ? 0.5 : 0.42 + (0.36 * i) / (edges.length - 1);
      });
    }
  }

  step(row, number, data, quantity) {
    const field = Object.fromEntries(data.stepFields.map((name, i) => [name, row[i]]));
    const word = (i) => (i === null ? null : data.words[i]);
    return {
      number,
      sender: field.sender === null ? null : this.nodes[field.sender],
      receiver: this.nodes[field.receiver],
      edge: field.sender === null ? null : this.edgeAt.get(`${field.sender}:${field.slot}`),
      contribution: quantity(field.contribution),
      before: quantity(field.before),
      after: quantity(field.after),
      upstream: quantity(field.upstream),
      local: quantity(field.local),
      localText: word(field.localText),
      rule: word(field.rule),
      ruleKind: field.ruleKind,
    };
  }

  // After the first `at` steps: the step just taken (null at the start), each node's gradient (null if nothing has
  // arrived), and for each edge what came along it: { step, lost }, lost meaning that a later `=` replaced it.
  moment(mode, at) {
    const steps = this.passes[mode];
    const gradients = new Array(this.nodes.length).fill(null);
    const arrivals = new Array(this.edges.length).fill(null);
    const latest = new Map();
    let seed = null;
    for (const step of steps.slice(0, at)) {
      const arrival = { step, lost: false };
      const replaced = latest.get(step.receiver);
      if (replaced) replaced.lost = this.isLost(mode, replaced.step);
      latest.set(step.receiver, arrival);
      gradients[step.receiver.index] = step.after;
      if (step.edge) arrivals[step.edge.index] = arrival;
      else seed = arrival;
    }
    return { mode, at, step: at ? steps[at - 1] : null, gradients, arrivals, seed, ended: at === this.length };
  }

  // Every contribution to a node's gradient in the order of arrival, also those still to come.
  ledger(mode, at, node) {
    const steps = this.passes[mode].filter((step) => step.receiver === node);
    const arrived = steps.filter((step) => step.number <= at).length;
    return steps.map((step, i) => ({
      step,
      arrived: i < arrived,
      lost: i < arrived - 1 && this.isLost(mode, step),
    }));
  }

  // Whether what a step brought is gone when another one comes to the same gradient: not if it was 0.
  isLost(mode, step) {
    return mode === "overwrite" && step.contribution.sign !== 0;
  }

  // What the sender of a step sends, in order: the lines of its rule.
  siblings(mode, step) {
    return this.passes[mode].filter((other) => other.sender === step.sender);
  }
}
