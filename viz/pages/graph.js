// The drawing: nodes, edges and the chips on them. Built once for a layout; a step changes only what differs.

const TITLE_ROW = 26;
const ROW = 23;
const INSET = 9;
const TRUTH_ROW = 20; // below a box, for what its gradient should be
const SHIFTS = [0, 0.06, -0.06, 0.12, -0.12, 0.18, -0.18, 0.24, -0.24, 0.3, -0.3]; // of a chip along its edge
const TAG = { width: 56, height: 16 }; // above a box, at its right end: "nan, inf"
const ABOVE = 16; // room for what is written above and below the boxes
const BELOW = 26;

class GraphView {
  // hover is called with the node that the pointer is on, or null; pin with a node that is clicked.
  constructor(run, stage, { hover, pin }) {
    this.run = run;
    this.hover = hover;
    this.pin = pin;
    this.layer = svg("g");
    this.picture = svg("svg", { "aria-hidden": "true" }, arrowheads(), this.layer);
    stage.append(this.picture);
    this.viewport = new Viewport(stage, this.picture, this.layer);
    this.marks = new Map(); // element -> the class list it has
    this.layoutName = null;
  }

  // Take the layout that fills the stage better. Returns whether it is another one than before.
  arrange() {
    this.viewport.measure();
    const { layouts } = this.run;
    const scale = (name) => this.viewport.fitScale(layouts[name]);
    const best = Object.keys(layouts).reduce((a, b) => (scale(a) >= scale(b) ? a : b));
    if (best === this.layoutName) return false;
    this.layoutName = best;
    this.build(this.run.layouts[best]);
    return true;
  }

  build(layout) {
    const { run } = this;
    this.marks.clear();
    this.boxes = run.nodes.map((node, i) => {
      const [x, y] = layout.nodes[i];
      const [width, height] = [node.width, run.nodeHeight];
      return { x: x - width / 2, y: y - height / 2 + ABOVE, width, height };
    });
    this.edges = layout.edges.map((points) => svg("path", { class: "edge", d: curve(points) }));
    this.nodes = run.nodes.map((node, i) => this.node(node, this.boxes[i]));
    this.chips = run.edges.map(() => chip(run.chip));
    this.seed = chip(run.chip);
    this.chipLayer = svg("g", {}, ...this.chips.map((c) => c.group), this.seed.group);
    const boxes = svg("g", {}, ...this.nodes.map((node) => node.group));
    this.layer.replaceChildren(svg("g", {}, ...this.edges), boxes, this.chipLayer);
    this.placeChips();
    const root = this.boxes[run.root.index];
    place(this.seed, { x: root.x + root.width / 2, y: root.y + root.height + run.chip.height / 2 + 3 });
    const content = { width: layout.width, height: layout.height + ABOVE + BELOW };
    this.viewport.begin(content, root);
  }

  // Put each chip at its edge's `fraction` of the way, or near to that where it covers least of nodes and other chips.
  placeChips() {
    const taken = this.boxes.map((box) => ({ ...box, height: box.height + TRUTH_ROW }));
    for (const { index } of this.run.odd) {
      const { x, y, width } = this.boxes[index];
      taken.push({ ...TAG, x: x + width - TAG.width, y: y - TAG.height });
    }
    const { height } = this.run.chip;
    this.run.edges.forEach((edge, i) => {
      const width = this.chipWidth(edge.longest);
      const path = this.edges[i];
      const length = path.getTotalLength();
      let best = { covered: Infinity };
      for (const shift of SHIFTS) {
        const point = path.getPointAtLength(length * (edge.fraction + shift));
        const box = { x: point.x - width / 2, y: point.y - height / 2, width, height };
        const covered = taken.reduce((sum, other) => sum + overlap(box, other), 0);
        if (covered < best.covered) best = { covered, point, box };
        if (!covered) break;
      }
      taken.push(best.box);
      place(this.chips[i], best.point);
    });
  }

  chipWidth(characters) {
    return characters * this.run.chip.character + this.run.chip.padding;
  }

  node(node, box) {
    const { width, height } = box;
    const grad = svg("text", { class: "number", x: width - INSET });
    const data = svg("text", { class: "number", x: width - INSET }, node.data.text);
    const truth = svg("text", { class: "truth", x: width / 2, y: height + 15 });
    const tag = svg("text", { class: "tag", x: width - 1, y: -5 });
    const group = svg("g", { class: "node", transform: `translate(${box.x} ${box.y})` },
      svg("title", {}, node.title),
      svg("rect", { width, height, rx: 5 }),
      svg("text", { class: "name", x: width / 2, y: 17 }, node.short),
      ...fieldRow("data", data, TITLE_ROW, width),
      ...fieldRow("grad", grad, TITLE_ROW + ROW, width),
      truth,
      tag,
    );
    if (node.uses > 1) group.append(svg("text", { class: "uses", x: 1, y: -5 }, `used ${node.uses}×`));
    group.addEventListener("pointerenter", () => this.hover(node));
    group.addEventListener("pointerleave", () => this.hover(null));
    group.addEventListener("click", () => this.viewport.moved || this.pin(node));
    return { group, grad, truth, tag };
  }

  show(moment, selected) {
    const { run, nodes } = this;
    const { step } = moment;
    const wrong = new Set(moment.ended && moment.mode === "overwrite" ? run.wrong : []);
    for (const node of run.nodes) {
      const drawn = nodes[node.index];
      const grad = moment.gradients[node.index];
      const odd = oddities(node.data, grad);
      this.mark(drawn.group, "node", {
        leaf: node.parents.length === 0,
        reached: grad !== null,
        odd: odd.length,
        sender: step?.sender === node,
        receiver: step?.receiver === node,
        selected: selected === node,
        wrong: wrong.has(node),
      });
      write(drawn.grad, gradientText(node, grad));
      this.mark(drawn.grad, "number grad", { waits: !grad, [grad ? signClass(grad) : ""]: true });
      write(drawn.tag, odd.join(", "));
      write(drawn.truth, wrong.has(node) ? `should be ${gradientText(node, run.truth[node.index])}` : "");
    }
    run.edges.forEach((edge, i) => {
      const arrival = moment.arrivals[i];
      this.mark(this.edges[i], "edge", { done: arrival, now: arrival && arrival.step === step });
      this.showChip(this.chips[i], arrival, step);
    });
    this.showChip(this.seed, moment.seed, step, "seed ");
  }

  showChip(chip, arrival, step, prefix = "") {
    const sign = arrival ? signClass(arrival.step.contribution) : "";
    const now = arrival && arrival.step === step;
    this.mark(chip.group, "chip", { shown: arrival, now, lost: arrival?.lost, [sign]: true });
    if (!arrival) return;
    if (now) this.chipLayer.append(chip.group); // on top of the others
    const text = prefix + arrival.step.contribution.chip;
    if (!write(chip.text, text)) return;
    const half = this.chipWidth(text.length) / 2;
    furnish(chip.rect, { x: -half, width: 2 * half }, []);
    furnish(chip.strike, { x1: 3 - half, x2: half - 3 }, []);
  }

  mark(element, base, classes) {
    const names = [base, ...Object.keys(classes).filter((name) => name && classes[name])].join(" ");
    if (this.marks.get(element) === names) return;
    this.marks.set(element, names);
    element.setAttribute("class", names);
  }

  follow(nodes) {
    this.viewport.reveal(nodes.map((node) => this.boxes[node.index]));
  }
}

function fieldRow(label, number, top, width) {
  number.setAttribute("y", top + 16);
  const line = svg("line", { x1: 0, x2: width, y1: top, y2: top });
  return [line, svg("text", { class: "row", x: INSET, y: top + 16 }, label), number];
}

// "nan" and "inf", those of them that a node's data or gradient holds.
function oddities(data, grad) {
  return ["nan", "inf"].filter((name) => data.odd?.includes(name) || grad?.odd?.includes(name));
}

function chip({ height }) {
  const rect = svg("rect", { y: -height / 2, height, rx: 6 });
  const text = svg("text", { y: 4.5 });
  const strike = svg("line");
  return { group: svg("g", { class: "chip" }, rect, text, strike), rect, text, strike };
}

// The area that two boxes share.
function overlap(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}

function place(chip, { x, y }) {
  chip.group.setAttribute("transform", `translate(${x} ${y})`);
}

function curve(points) {
  const at = (i) => `${points[i]} ${points[i + 1] + ABOVE}`;
  let d = `M${at(0)}`;
  for (let i = 2; i < points.length; i += 6) d += `C${at(i)} ${at(i + 2)} ${at(i + 4)}`;
  return d;
}

function arrowheads() {
  const sizes = { "forward-arrow": 9, "backward-arrow": 11, "current-arrow": 20 };
  return svg("defs", {}, ...Object.entries(sizes).map(([id, size]) => arrowhead(id, size)));
}

function arrowhead(id, size) {
  const box = { viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: size, markerHeight: size };
  const shape = svg("path", { d: "M0 1 10 5 0 9z" });
  return svg("marker", { id, ...box, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, shape);
}
