// The pane that shows one tensor operation as the Values that it stands for, in step with the tensor pass, and a table
// of both engines' gradients.

const SCALAR_BOX = { width: 132, height: 58, name: 15 };
const SCALAR_MANY_EDGES = 24; // more, and numbers are written on the chosen Value's edges alone
const SCALAR_ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const SCALAR_EQUALS =
  "Under = the engines may differ, and neither is broken: what a tensor operation sends as one contribution, Values " +
  "may send as many, and = keeps the last of them only.";
const SCALAR_RECURSION =
  "Recursion is not shown on the Values: its steps have no counterpart there. Switch to += or =.";

class ScalarPane {
  // `data` is what viz/pages/unfolded.py gives, `place` an element to fill; `onPick(node, element)` hears of the Value
  // that the reader chooses: the tensor node, and which of its elements it is (null: one on the way to an element).
  constructor(data, run, place, onPick = () => {}) {
    this.unfolded = new Unfolded(data, run);
    this.run = run;
    this.place = place;
    this.onPick = onPick;
    this.node = null;
    this.chosen = -1;
    this.moment = null;
    place.classList.add("scalar-pane");
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", "as scalars");
    place.hidden = true;
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  // Why a node cannot be opened, in words; "" if it can.
  whyNot(node) {
    return this.unfolded.whyNot(node.index);
  }

  // Show a tensor node's operation. Returns whether it can be shown; if not, the pane says why.
  open(node) {
    this.node = node;
    this.arrivals = new Map();
    this.place.hidden = false;
    const why = this.whyNot(node);
    if (why) {
      this.boxes = this.lines = null;
      this.place.replaceChildren(this.heading(), paragraph("note", why));
      return false;
    }
    this.members = this.unfolded.members(node.index);
    this.shown = [...this.members.operands, ...this.members.own];
    if (!this.shown.includes(this.chosen)) this.chosen = -1;
    this.verdict = paragraph("verdict");
    this.verdict.setAttribute("role", "status");
    this.note = paragraph("note");
    const body = html("div", { class: "scalar-body" }, this.drawing(), this.table());
    this.place.replaceChildren(this.heading(), this.verdict, body, this.note, this.whole());
    if (this.moment) this.show(this.moment);
    return true;
  }

  close() {
    this.node = null;
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  heading() {
    const close = html("button", { type: "button", class: "close", "aria-label": "close the scalars" }, "×");
    close.addEventListener("click", () => this.close());
    return html("h2", {}, code(this.node.title), " as scalars", close);
  }

  // -- the drawing ----------------------------------------------------------------------------------------

  drawing() {
    const { unfolded } = this;
    const edges = unfolded.edgesInto(this.members.own);
    this.writesAll = edges.length <= SCALAR_MANY_EDGES;
    const children = this.shown.map((id) => ({ id, order: id, width: SCALAR_BOX.width, height: SCALAR_BOX.height }));
    const arrows = edges.map(({ parent, child }) => ({
      from: parent,
      to: child,
      ...(this.writesAll ? { label: { width: SCALAR_CHIP.width, height: SCALAR_CHIP.height } } : {}),
    }));
    const options = { direction: "LR", across: 14, between: this.writesAll ? 46 : 84 };
    const layout = layOut({ id: "whole", order: 0, children }, arrows, options);
    const taken = [...layout.boxes].filter(([id]) => id !== "whole").map(([, box]) => box);
    const places = chipsApart(layout.routes.map((route) => chipPlace(route, taken)), this.writesAll);
    this.lines = edges.map((edge, i) => this.line(edge, layout.routes[i], places[i]));
    this.boxes = new Map(this.shown.map((i) => [i, this.box(i, layout.boxes.get(i))]));
    this.centres = new Map(this.shown.map((i) => [i, boxCentre(layout.boxes.get(i))]));
    const [width, height] = [Math.ceil(layout.width) + 8, Math.ceil(layout.height) + 8];
    this.picture = svg(
      "svg",
      {
        width,
        height,
        viewBox: `-4 -4 ${width} ${height}`,
        role: "listbox",
        tabindex: 0,
        "aria-label": `the Values of ${this.node.title}: arrow keys choose one`,
      },
      svg("g", { "aria-hidden": true }, ...this.lines.map((line) => line.path)),
      ...[...this.boxes.values()].map((box) => box.element),
      svg("g", { "aria-hidden": true, class: "chips" }, ...this.lines.map((line) => line.chip)),
    );
    this.picture.addEventListener("keydown", (event) => this.key(event));
    return html("div", { class: "scalar-graph" }, this.picture);
  }

  line(edge, route, [x, y]) {
    const path = svg("path", { class: "scalar-edge", d: routeCurve(route) });
    const { width, height } = SCALAR_CHIP;
    const text = svg("text", { x, y: y + 4, "text-anchor": "middle" });
    const back = svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 4 });
    return { edge, path, text, chip: svg("g", { class: "scalar-chip" }, back, text) };
  }

  box(i, { x, y, width, height }) {
    const { unfolded } = this;
    const own = unfolded.data.block[i] === this.node.index;
    const kind = !own ? "operand" : unfolded.place[i] >= 0 ? "element" : "inner";
    const text = (name, x, y, anchor, content) => svg("text", { class: name, x, y, "text-anchor": anchor }, content);
    const data = text("data", width - 8, 35, "end", "");
    const grad = text("grad", width - 8, 51, "end", "");
    const element = svg(
      "g",
      {
        id: `scalar-${i}`,
        class: `scalar-value ${kind}`,
        role: "option",
        "aria-selected": false,
        transform: `translate(${x} ${y})`,
      },
      svg("title", {}, unfolded.title(i)),
      svg("rect", { width, height, rx: unfolded.data.parents[i].length ? 6 : 16 }),
      text("name", 8, 17, "start", tailCut(unfolded.data.names[i], SCALAR_BOX.name)),
      text("op", width - 8, 17, "end", tailCut(unfolded.ops[i], 6)),
      text("row", 8, 35, "start", "data"),
      text("row", 8, 51, "start", "grad"),
      data,
      grad,
    );
    element.addEventListener("click", () => this.pick(i));
    return { element, data, grad };
  }

  // -- the table ------------------------------------------------------------------------------------------

  table() {
    const { unfolded, node } = this;
    this.rows = unfolded.data.elements[node.index].map((i, element) => {
      const name = html("button", { type: "button", tabindex: -1 }, unfolded.elementName(node.index, element));
      name.addEventListener("click", () => this.pickElement(node, element));
      const cells = ["amount", "amount", "words"].map((kind) => html("td", { class: kind }));
      return { element, i, cells, row: html("tr", {}, html("th", { scope: "row" }, name), ...cells) };
    });
    const titles = ["element", "tensor grad", "scalar grad", "the two"];
    const head = html("tr", {}, ...titles.map((title) => html("th", { scope: "col" }, title)));
    const body = html("tbody", {}, ...this.rows.map(({ row }) => row));
    const caption = html("caption", {}, `The gradient of ${node.name} by both engines`);
    const attributes = { class: "scalar-table", role: "group", tabindex: 0, "aria-label": "gradients by both engines" };
    return html("div", attributes, html("table", {}, caption, html("thead", {}, head), body));
  }

  // What `viz.compare` says of the whole graph, with the places where it finds a difference.
  whole() {
    const { data } = this.unfolded;
    const places = data.differs.slice(0, 6).map((one) => {
      const name = this.unfolded.elementName(one.tensor, one.element);
      const button = html("button", { type: "button" }, `${name}: ${one.words}`);
      button.addEventListener("click", () => this.pickElement(this.run.nodes[one.tensor], one.element));
      return html("li", {}, button);
    });
    const more = data.differs.length - places.length;
    if (more > 0) places.push(html("li", {}, `and ${more} more`));
    const list = places.length ? [html("ul", { class: "differences" }, ...places)] : [];
    return html("div", { class: "whole" }, paragraph("", "Of the whole graph: ", data.summary), ...list);
  }

  // -- each step ------------------------------------------------------------------------------------------

  show(moment) {
    this.moment = moment;
    if (!this.node || !this.boxes) return;
    const comparable = moment.mode === "add" || moment.mode === "overwrite";
    const state = comparable ? this.unfolded.state(moment, this.arrivalsOf(moment.mode)) : nothingArrived();
    this.present = state;
    for (const [i, box] of this.boxes) this.showBox(i, box, moment, state);
    this.showLines();
    this.showTable(moment, state, comparable);
  }

  arrivalsOf(mode) {
    if (!this.arrivals.has(mode)) this.arrivals.set(mode, this.unfolded.arrivals(mode, this.shown));
    return this.arrivals.get(mode);
  }

  showBox(i, { element, data, grad }, moment, { gradients }) {
    const { unfolded } = this;
    const tensor = unfolded.data.block[i];
    const done = tensor < 0 || moment.computed(this.run.nodes[tensor]);
    const value = scalar(unfolded.graph.data[i]);
    const sent = gradients.has(i) ? scalar(gradients.get(i)) : null;
    const none = unfolded.constant[i] ? "constant" : "not yet";
    write(data, done ? value.text : "·");
    write(grad, sent ? sent.text : none);
    grad.setAttribute("class", `grad ${sent ? signClass(sent) : "none"}`);
    element.classList.toggle("pale", !done);
    const numbers = `data ${done ? value.text : "not computed yet"}, gradient ${sent ? sent.text : none}`;
    element.setAttribute("aria-label", `${unfolded.title(i)}, ${numbers}`);
  }

  showLines() {
    const { sent, now } = this.present;
    for (const { edge, path, chip, text } of this.lines) {
      const touches = edge.parent === this.chosen || edge.child === this.chosen;
      const arrived = sent.has(edge.index);
      const kinds = [arrived && "sent", now.has(edge.index) && "now", touches && "chosen"].filter(Boolean);
      path.setAttribute("class", ["scalar-edge", ...kinds].join(" "));
      const shows = arrived && (touches || this.writesAll);
      const amountSent = arrived ? scalar(sent.get(edge.index)) : null;
      if (shows) write(text, signedText(amountSent.value, 4));
      const look = shows ? [signClass(amountSent), now.has(edge.index) && "now", "shown"].filter(Boolean) : [];
      chip.setAttribute("class", ["scalar-chip", ...look].join(" "));
    }
  }

  showTable(moment, { gradients }, comparable) {
    const { unfolded, node } = this;
    let [differing, arrived] = [0, 0];
    for (const { element, i, cells, row } of this.rows) {
      const dataWords = unfolded.dataDiffers(node.index, element);
      const both = comparable
        ? unfolded.judge(moment, node.index, element, gradients)
        : { tensor: elementOf(moment.gradients[node.index], element), scalar: null, differs: false, words: "" };
      const differs = both.differs || Boolean(dataWords);
      if (both.tensor !== null) arrived += 1;
      if (differs) differing += 1;
      const mark = differs ? (moment.mode === "add" ? "≠ " : "(≠) ") : both.words.startsWith("equal") ? "= " : "";
      fillAmount(cells[0], both.tensor);
      fillAmount(cells[1], both.scalar);
      write(cells[2], `${mark}${[dataWords, both.words].filter(Boolean).join("; ")}`);
      const isChosen = i >= 0 && i === this.chosen;
      const looks = [differs && moment.mode === "add" && "differs", isChosen && "chosen"].filter(Boolean);
      row.setAttribute("class", looks.join(" "));
      row.setAttribute("aria-current", isChosen);
    }
    write(this.verdict, comparable ? this.verdictWords(moment, arrived, differing) : "");
    write(this.note, moment.mode === "overwrite" ? SCALAR_EQUALS : comparable ? "" : SCALAR_RECURSION);
    this.verdict.classList.toggle("differs", differing > 0 && moment.mode === "add");
  }

  verdictWords(moment, arrived, differing) {
    const all = this.rows.length;
    const { complete, partly } = this.unfolded.progress(moment, this.node.index);
    if (differing) {
      const what = `${differing} of ${all} ${differing === 1 ? "differs" : "differ"}`;
      return moment.mode === "add" ? `≠ ${what}` : `${what}, as = may`;
    }
    if (!arrived) return `no gradient has arrived at ${this.node.name} yet`;
    if (partly) return "an operation has sent a part of its contributions";
    return `= ${all === 1 ? "the one gradient is equal" : `all ${all} equal`}${complete ? "" : " so far"}`;
  }

  // -- one selection --------------------------------------------------------------------------------------

  // Highlight the Value of a tensor node's element (null: none). Returns whether it is in the pane.
  select(node, element) {
    const i = node && element !== null ? (this.unfolded.data.elements[node.index]?.[element] ?? -1) : -1;
    this.mark(i);
    return i >= 0 && Boolean(this.boxes?.has(i));
  }

  mark(i) {
    const before = this.boxes?.get(this.chosen)?.element;
    before?.setAttribute("aria-selected", false);
    this.chosen = i;
    const box = this.node && this.boxes?.get(i)?.element;
    if (box) {
      box.setAttribute("aria-selected", true);
      this.picture.setAttribute("aria-activedescendant", box.id);
      revealPoint(this.picture.parentNode, this.centres.get(i));
    } else this.picture?.removeAttribute("aria-activedescendant");
    if (this.moment) this.show(this.moment);
  }

  pick(i) {
    this.mark(i);
    const tensor = this.unfolded.data.block[i];
    const place = this.unfolded.place[i];
    if (tensor >= 0) this.onPick(this.run.nodes[tensor], place < 0 ? null : place);
  }

  pickElement(node, element) {
    this.select(node, element);
    this.onPick(node, element);
  }

  key(event) {
    const way = SCALAR_ARROWS[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own arrow keys go through the steps
    const next = this.centres.has(this.chosen) ? this.nearest(this.chosen, way) : this.members.own.at(-1);
    if (next !== null) this.pick(next);
  }

  // The nearest Value in a direction, one beside counting as far as it is off the way; null if there is none.
  nearest(from, [right, down]) {
    const [x, y] = this.centres.get(from);
    let [best, least] = [null, Infinity];
    for (const [i, centre] of this.centres) {
      const along = (centre[0] - x) * right + (centre[1] - y) * down;
      const off = Math.abs((centre[0] - x) * down) + Math.abs((centre[1] - y) * right);
      if (along > 1 && along + 2 * off < least) [best, least] = [i, along + 2 * off];
    }
    return best;
  }
}

function nothingArrived() {
  return { gradients: new Map(), sent: new Map(), now: new Set() };
}

function fillAmount(cell, x) {
  const quantity = x === null ? null : scalar(x);
  write(cell, quantity ? quantity.text : "–");
  cell.setAttribute("class", quantity ? `amount ${signClass(quantity)}` : "amount");
}

// The end of a name tells elements apart: "…ers[0].w[0, 1]".
function tailCut(text, most) {
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

// Scroll a box so that a point of what is in it can be seen.
function revealPoint(box, [x, y]) {
  const inside = (at, start, size) => at > start + 40 && at < start + size - 40;
  if (!inside(x, box.scrollLeft, box.clientWidth)) box.scrollLeft = x - box.clientWidth / 2;
  if (!inside(y, box.scrollTop, box.clientHeight)) box.scrollTop = y - box.clientHeight / 2;
}
