// The drawing: nodes, edges and the chips on them. Built once for a layout; a step changes only what differs.

const TITLE_ROW = 26;
const ROW = 23;
const INSET = 9;
const CHIP_HEIGHT = 20;
const CHIP_CHARACTER = 7.4;
const ABOVE = 16; // room for what is written above and below the boxes
const BELOW = 26;

class GraphView {
  constructor(run, stage, choose) {
    this.run = run;
    this.choose = choose; // called with a node or null: { over } while the pointer is on it, { pin } on a click
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
    const scale = (name) => this.viewport.fitScale(this.run.layouts[name]);
    const best = scale("LR") >= scale("TB") ? "LR" : "TB";
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
    this.chips = run.edges.map(() => chip());
    this.seed = chip();
    this.layer.replaceChildren(
      svg("g", {}, ...this.edges),
      svg("g", {}, ...this.nodes.map((node) => node.group)),
      svg("g", {}, ...this.chips.map((c) => c.group), this.seed.group),
    );
    run.edges.forEach((edge, i) => place(this.chips[i], pointAlong(this.edges[i], edge.fraction)));
    const root = this.boxes[run.root.index];
    place(this.seed, { x: root.x + root.width / 2, y: root.y + root.height + CHIP_HEIGHT / 2 + 3 });
    const content = { width: layout.width, height: layout.height + ABOVE + BELOW };
    this.viewport.begin(content, root);
  }

  node(node, box) {
    const { width, height } = box;
    const grad = svg("text", { class: "number", x: width - INSET });
    const data = svg("text", { class: "number", x: width - INSET }, node.data.text);
    const truth = svg("text", { class: "truth", x: width / 2, y: height + 15 });
    const group = svg("g", { class: "node", transform: `translate(${box.x} ${box.y})` },
      svg("title", {}, node.title),
      svg("rect", { width, height, rx: 5 }),
      svg("text", { class: "name", x: width / 2, y: 17 }, node.short),
      ...fieldRow("data", data, TITLE_ROW, width),
      ...fieldRow("grad", grad, TITLE_ROW + ROW, width),
      truth,
    );
    if (node.uses > 1) group.append(svg("text", { class: "uses", x: 1, y: -5 }, `used ${node.uses}×`));
    group.addEventListener("pointerenter", () => this.choose({ over: node }));
    group.addEventListener("pointerleave", () => this.choose({ over: null }));
    group.addEventListener("click", () => this.viewport.moved || this.choose({ pin: node }));
    return { group, grad, truth };
  }

  show(moment, selected) {
    const { run, nodes } = this;
    const { step } = moment;
    const wrong = new Set(moment.ended && moment.mode === "overwrite" ? run.wrong : []);
    for (const node of run.nodes) {
      const drawn = nodes[node.index];
      const grad = moment.gradients[node.index];
      this.mark(drawn.group, "node", {
        leaf: node.parents.length === 0,
        reached: grad !== null,
        sender: step?.sender === node,
        receiver: step?.receiver === node,
        selected: selected === node,
        wrong: wrong.has(node),
      });
      write(drawn.grad, gradientText(node, grad, moment.ended));
      this.mark(drawn.grad, "number grad", { waits: !grad, [grad ? signClass(grad) : ""]: true });
      write(drawn.truth, wrong.has(node) ? `should be ${run.truth[node.index]?.text ?? "none"}` : "");
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
    const text = prefix + arrival.step.contribution.chip;
    if (!write(chip.text, text)) return;
    const half = (text.length * CHIP_CHARACTER) / 2 + 6;
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

function chip() {
  const rect = svg("rect", { y: -CHIP_HEIGHT / 2, height: CHIP_HEIGHT, rx: 6 });
  const text = svg("text", { y: 4.5 });
  const strike = svg("line");
  return { group: svg("g", { class: "chip" }, rect, text, strike), rect, text, strike };
}

function pointAlong(path, fraction) {
  return path.getPointAtLength(path.getTotalLength() * fraction);
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
