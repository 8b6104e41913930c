// The moment of a run that is shown: what every node and edge holds after some number of steps. Moving by one step
// changes only what that step touches.

const MANY_STEPS = 2000; // steps: after so many at once nobody asks what has changed, nearly all may have

class Moment {
  constructor(run) {
    this.run = run;
    this.mode = null;
    this.at = 0;
  }

  get step() {
    return this.at ? this.run.step(this.mode, this.at) : null;
  }

  // Whether the forward pass has come to a node. (A function that goes without the moment it belongs to.)
  get computed() {
    return (node) => node.leaf || this.run.forwardNumber[node.index] <= this.at;
  }

  // Whether the backward pass is over.
  get ended() {
    return this.at >= this.run.forward.length + this.pass.length;
  }

  get phase() {
    if (this.at <= this.run.forward.length) return "forward";
    return this.at > this.run.forward.length + this.pass.length ? "update" : "backward";
  }

  // What an updated leaf holds now; null where it was not updated yet.
  updated(node) {
    const { run } = this;
    const i = run.updated.indexOf(node);
    const first = run.forward.length + this.pass.length + 1;
    return i >= 0 && first + i <= this.at ? run.step(this.mode, first + i).after : null;
  }

  moveTo(mode, at) {
    if (mode !== this.mode) this.start(mode);
    else this.changed = { nodes: new Set(), edges: new Set() };
    const far = Math.abs(at - this.at) > MANY_STEPS;
    this.touch(this.at);
    while (this.at < at) this.apply((this.at += 1));
    while (this.at > at) this.undo(this.at--);
    this.touch(this.at);
    if (far) this.changed = null;
  }

  start(mode) {
    this.mode = mode;
    this.at = 0;
    this.pass = this.run.pass(mode);
    this.gradients = new Array(this.run.nodes.length).fill(null);
    this.arrivals = new Array(this.run.edges.length).fill(null);
    this.came = new Array(this.pass.length).fill(null);
    this.seed = null;
    this.changed = null;
  }

  // The step's nodes and edges look different while it is the current one.
  touch(number) {
    if (!this.changed || !number) return;
    const { node, sender, receiver, edge } = this.run.step(this.mode, number);
    for (const one of [node, sender, receiver]) if (one) this.changed.nodes.add(one.index);
    if (edge) this.changed.edges.add(edge.index);
    if (node && !node.leaf) node.parents.forEach((_, slot) => this.changed.edges.add(node.firstEdge + slot));
    if (this.ended !== this.wasEnded) this.changed = null; // wrong gradients are marked at the end
    this.wasEnded = this.ended;
  }

  apply(number) {
    const i = number - 1 - this.run.forward.length;
    if (i < 0 || i >= this.pass.length) return this.note(number);
    const arrival = new Arrival(this, number);
    this.came[i] = arrival;
    const replaced = this.pass.earlier[i];
    if (replaced >= 0) this.mark(replaced, this.pass.isLost(replaced));
    const receiver = this.pass.receiver[i];
    this.gradients[receiver] = i === this.pass.last[receiver] ? this.pass.end(receiver) : this.pass.after(i);
    if (this.pass.edge[i] < 0) this.seed = arrival;
    else this.arrivals[this.pass.edge[i]] = arrival;
    this.note(number);
  }

  undo(number) {
    this.note(number);
    const i = number - 1 - this.run.forward.length;
    if (i < 0 || i >= this.pass.length) return;
    this.came[i] = null;
    const replaced = this.pass.earlier[i];
    if (replaced >= 0) this.mark(replaced, false);
    this.gradients[this.pass.receiver[i]] = this.pass.before(i);
    const earlier = this.pass.earlierOnEdge[i];
    if (this.pass.edge[i] < 0) this.seed = null;
    else this.arrivals[this.pass.edge[i]] = earlier < 0 ? null : this.came[earlier];
  }

  mark(i, lost) {
    this.came[i].lost = lost;
    if (this.changed && this.pass.edge[i] >= 0) this.changed.edges.add(this.pass.edge[i]);
  }

  note(number) {
    if (!this.changed) return;
    const i = number - 1 - this.run.forward.length;
    if (i >= 0 && i < this.pass.length) {
      this.changed.nodes.add(this.pass.receiver[i]);
      if (this.pass.edge[i] >= 0) this.changed.edges.add(this.pass.edge[i]);
    } else this.touch(number);
  }
}

// What came along an edge. `lost`: a later `=` replaced it.
class Arrival {
  constructor(moment, number) {
    this.moment = moment;
    this.number = number;
    this.lost = false;
  }

  get step() {
    const { moment } = this;
    return moment.run.step(moment.mode, this.number);
  }
}
