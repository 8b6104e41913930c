// The graph of Values beside a graph of Tensors: what has arrived there at a moment of the tensor pass, and whether
// the two engines agree. No drawing.

const UNFOLDED_MOST_ELEMENTS = 64;
const UNFOLDED_MOST_VALUES = 300;
const UNFOLDED_FOUR_DIGITS = 1e-3; // the page holds arrays' numbers on their way in four digits, at the end in full

class Unfolded {
  constructor(data, run) {
    const constant = data.parents.map(() => false);
    for (const i of data.constant) constant[i] = true;
    this.data = data;
    this.run = run;
    this.constant = constant;
    this.graph = new ScalarGraph(data.graph, data.parents, constant);
    const op = typeof data.graph.op === "string" ? unpackInts(data.graph.op) : data.graph.op;
    this.ops = data.parents.map((_, i) => data.graph.ops[op[i]]);
    this.firstEdge = [0];
    for (const parents of data.parents) this.firstEdge.push(this.firstEdge.at(-1) + parents.length);
    this.place = data.parents.map(() => -1); // which element of its tensor a Value is; -1 on the way to one
    for (const elements of data.elements) elements?.forEach((i, element) => i >= 0 && (this.place[i] = element));
    this.blocks = data.elements.map(() => []);
    data.block.forEach((tensor, i) => tensor >= 0 && this.blocks[tensor].push(i));
    this.passes = new Map();
    this.ends = new Map();
    this.users = data.elements.map(() => []); // of each tensor, the edges to what uses it
    this.uses = data.elements.map(() => []); // and the edges to its operands
    for (const edge of run.edges) {
      this.users[edge.parent].push(edge);
      this.uses[edge.child].push(edge);
    }
  }

  // Why a tensor node is not shown as Values, in words; "" if it is.
  whyNot(tensor) {
    const elements = this.data.elements[tensor];
    if (!elements) return "a constant is an array of plain numbers: it takes no gradient and has no Values";
    if (elements.length > UNFOLDED_MOST_ELEMENTS) {
      return `${elements.length} elements are too many to show one by one (at most ${UNFOLDED_MOST_ELEMENTS})`;
    }
    const values = this.blocks[tensor].length;
    if (values > UNFOLDED_MOST_VALUES) {
      return `its operation takes ${values} Values, too many to show one by one (at most ${UNFOLDED_MOST_VALUES})`;
    }
    return values ? "" : "the result does not depend on any of its elements";
  }

  // What an operation is made of: its own Values, and before them its operands' that they use.
  members(tensor) {
    const own = this.blocks[tensor];
    const operands = new Set(own.flatMap((i) => this.data.parents[i]).filter((i) => this.data.block[i] !== tensor));
    return { operands: [...operands].sort((a, b) => a - b), own };
  }

  // The uses among such Values: {index, parent, child}.
  edgesInto(own) {
    return own.flatMap((child) =>
      this.data.parents[child].map((parent, slot) => ({ index: this.firstEdge[child] + slot, parent, child })),
    );
  }

  elementName(tensor, element) {
    const i = this.data.elements[tensor]?.[element] ?? -1;
    return i >= 0 ? this.data.names[i] : `element ${element}`;
  }

  // "d[0] = a[0]*b[0]"
  title(i) {
    const names = this.data.parents[i].map((parent) => this.data.names[parent]);
    const op = this.ops[i];
    if (!names.length) return this.data.names[i];
    const infix = names.length === 2 && !/^\w/.test(op);
    return `${this.data.names[i]} = ${infix ? names.join(` ${op} `) : `${op}(${names.join(", ")})`}`;
  }

  pass(mode) {
    if (!this.passes.has(mode)) this.passes.set(mode, this.graph.pass(mode));
    return this.passes.get(mode);
  }

  // -- in step with the tensor pass -----------------------------------------------------------------------

  // What the scalar pass sends to some Values, in its order, each with the tensor edges of which one must have been
  // passed first (null: the seed). A tensor operation sends at one go what its Values send one by one.
  arrivals(mode, receivers) {
    const wanted = new Set(receivers);
    const pass = this.pass(mode);
    const found = [];
    for (let i = 0; i < pass.length; i += 1) {
      if (!wanted.has(pass.receiver[i])) continue;
      const [edge, sender, receiver] = [pass.edge[i], pass.sender[i], pass.receiver[i]];
      found.push({ edge, sender, receiver, contribution: pass.contribution[i] });
    }
    const among = new Map(); // the contributions of one operation to one Value
    for (const one of found) {
      const block = one.sender < 0 ? -1 : this.data.block[one.sender];
      one.after = block < 0 ? null : this.uses[block];
      if (block < 0 || block === this.data.block[one.receiver]) continue;
      const key = `${block} ${one.receiver}`;
      if (!among.has(key)) among.set(key, []);
      among.get(key).push(one);
    }
    for (const alike of among.values()) {
      const to = this.data.block[alike[0].receiver];
      const edges = this.uses[this.data.block[alike[0].sender]].filter((edge) => edge.parent === to);
      if (!edges.length) continue;
      alike.forEach((one, i) => (one.after = [alike.length === edges.length ? edges[i] : edges.at(-1)]));
    }
    return found;
  }

  // Those of them that have arrived, the gradients that they make, and the edges that the present step has passed.
  state(moment, arrivals) {
    const gradients = new Map();
    const sent = new Map();
    const now = new Set();
    const present = moment.step?.edge ?? null;
    for (const { edge, receiver, contribution, after } of arrivals) {
      if (after ? !after.some((one) => moment.arrivals[one.index]) : !moment.seed) continue;
      const before = gradients.get(receiver);
      const adds = before !== undefined && moment.mode === "add";
      gradients.set(receiver, adds ? before + contribution : contribution);
      sent.set(edge, contribution);
      const first = after?.find((one) => moment.arrivals[one.index]);
      if (after ? present && first.index === present.index : moment.step?.phase === "seed") now.add(edge);
    }
    return { gradients, sent, now };
  }

  // -- the two engines ----------------------------------------------------------------------------------------

  // The gradients that the tensor engine ends with, in full.
  end(tensor, mode) {
    const key = `${mode} ${tensor}`;
    if (!this.ends.has(key)) this.ends.set(key, unpackFloats(this.data.grads[tensor][mode]));
    return this.ends.get(key);
  }

  // Whether everything that goes to a tensor has arrived; whether what an operation sends to it has in part only.
  progress(moment, tensor) {
    const users = this.users[tensor];
    if (!users.length) return { arrived: Boolean(moment.seed), complete: Boolean(moment.seed), partly: false };
    const came = (edge) => Boolean(moment.arrivals[edge.index]);
    const waiting = users.filter((edge) => !came(edge));
    const partly = waiting.some((edge) => users.some((other) => other.child === edge.child && came(other)));
    return { arrived: users.some(came), complete: !waiting.length, partly };
  }

  // An element's gradient by both engines: {tensor, scalar, differs, words}; numbers are null before they arrive.
  judge(moment, tensor, element, gradients) {
    const { arrived, complete, partly } = this.progress(moment, tensor);
    const i = this.data.elements[tensor][element];
    const byScalars = i < 0 ? 0 : gradients.get(i) ?? (complete ? 0 : null);
    if (!arrived) return { tensor: null, scalar: null, differs: false, words: "not yet" };
    const byTensors = complete ? this.end(tensor, moment.mode)[element] : elementOf(moment.gradients[tensor], element);
    const both = { tensor: byTensors, scalar: byScalars };
    if (partly) return { ...both, differs: false, words: "on its way" };
    if (byTensors === null) return { ...both, differs: false, words: "" };
    const allowed = complete
      ? this.end(tensor, "allowed")[element]
      : UNFOLDED_FOUR_DIGITS * Math.max(Math.abs(byTensors), Math.abs(byScalars));
    if (nearlySame(byTensors, byScalars ?? 0, allowed)) {
      return { ...both, differs: false, words: complete ? "equal" : "equal so far" };
    }
    if (this.data.excused.some(([t, k]) => t === tensor && k === element)) {
      return { ...both, differs: false, words: "nan by 0 × inf: no Value sends that" };
    }
    const by = byTensors - (byScalars ?? 0);
    return { ...both, differs: true, words: Number.isFinite(by) ? `differs by ${signedText(by, 3)}` : "differs" };
  }

  // What `viz.compare` says of an element's value; "" for nothing.
  dataDiffers(tensor, element) {
    const found = this.data.differs.find((one) => one.tensor === tensor && one.element === element);
    return found && found.words.startsWith("value") ? found.words : "";
  }
}

function nearlySame(a, b, allowed) {
  return Object.is(a, b) || a === b || Math.abs(a - b) <= allowed;
}

// One element of a quantity, null where the page does not hold it.
function elementOf(quantity, element) {
  if (!quantity) return null;
  if (quantity.grid) return quantity.grid.exact ? Number(numberNamed(quantity.grid.values[element])) : null;
  return quantity.value === undefined ? null : Number(numberNamed(quantity.value));
}

function numberNamed(x) {
  return x === "inf" ? Infinity : x === "-inf" ? -Infinity : x === "nan" || x === null ? NaN : x;
}
