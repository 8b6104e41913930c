// One backward pass as columns, a step each, with + = or as one of the wrong engines has it: computed in the page for
// a graph of Values, else as it was recorded.

const MODES = {
  add: { operator: "+=", name: "add" },
  overwrite: { operator: "=", name: "overwrite, the bug" },
  recursion: { operator: "+=", name: "recursion without an order" },
};

class Pass {
  // sender, receiver, edge: by step; -1 is the seed's sender and edge
  constructor(mode, model, { sender, receiver, edge, cut = 0 }) {
    this.mode = mode;
    this.length = receiver.length;
    this.sender = sender;
    this.receiver = receiver;
    this.edge = edge;
    this.cut = cut; // how many steps there would be if it had not been stopped; 0 if it was not
    this.link(model);
  }

  // For each step the one before it that came to the same receiver, along the same edge, and the last one that came
  // to its sender; -1 for none.
  link(model) {
    const toNode = new Int32Array(model.nodes.length).fill(-1);
    const onEdge = new Int32Array(model.edges.length).fill(-1);
    this.earlier = new Int32Array(this.length);
    this.earlierOnEdge = new Int32Array(this.length).fill(-1);
    this.toSender = new Int32Array(this.length).fill(-1);
    for (let i = 0; i < this.length; i += 1) {
      if (this.sender[i] >= 0) this.toSender[i] = toNode[this.sender[i]];
      this.earlier[i] = toNode[this.receiver[i]];
      toNode[this.receiver[i]] = i;
      if (this.edge[i] < 0) continue;
      this.earlierOnEdge[i] = onEdge[this.edge[i]];
      onEdge[this.edge[i]] = i;
    }
    this.last = toNode; // of each node, the last step that came to it
  }

  before(i) {
    return this.earlier[i] < 0 ? null : this.after(this.earlier[i]);
  }

  upstream(i) {
    return this.toSender[i] < 0 ? null : this.after(this.toSender[i]);
  }

  // What a node holds at the end, null where nothing arrived.
  end(node) {
    return this.last[node] < 0 ? null : this.after(this.last[node]);
  }

  // Whether what a step brought is gone as soon as another one comes to the same gradient: not if it was 0.
  isLost(i) {
    return this.mode === "overwrite" && !this.isZero(i);
  }

  // The steps to a node, in order.
  to(node) {
    const found = [];
    for (let i = this.last[node]; i >= 0; i = this.earlier[i]) found.push(i);
    return found.reverse();
  }
}

class ComputedPass extends Pass {
  constructor(mode, model, columns) {
    super(mode, model, columns);
    this.columns = columns;
  }

  contribution(i) {
    return scalar(this.columns.contribution[i]);
  }

  after(i) {
    return scalar(this.columns.after[i]);
  }

  isZero(i) {
    return this.columns.contribution[i] === 0;
  }

  remark() {
    return null;
  }
}

class RecordedPass extends Pass {
  constructor(mode, model, recorded, quantity, hooked) {
    const edgeOf = (sender, i) => (sender < 0 ? -1 : model.nodes[sender].firstEdge + recorded.slot[i]);
    const edge = recorded.sender.map(edgeOf);
    super(mode, model, { sender: recorded.sender, receiver: recorded.receiver, edge, cut: recorded.cut });
    this.recorded = recorded;
    this.quantity = quantity;
    this.hooked = hooked;
  }

  contribution(i) {
    return this.quantity(this.recorded.contribution[i]);
  }

  after(i) {
    return this.quantity(this.recorded.after[i]);
  }

  upstream(i) {
    const changed = this.recorded.upstreams[i];
    return changed === undefined ? super.upstream(i) : this.quantity(changed);
  }

  end(node) {
    return node in this.hooked ? this.quantity(this.hooked[node]) : super.end(node);
  }

  isZero(i) {
    return this.contribution(i).sign === 0;
  }

  // What stands in the place of the usual words for a rule: a hook's remark.
  remark(i) {
    return this.recorded.rules[i] ?? null;
  }
}
