// The drawing. Laid out anew when groups open or close; only what is in view is on the page, and a step touches only
// what it changes of that.

const ABOVE = 20; // room for what is written above and below the boxes
const BELOW = 30;
const RIM = 4; // the same where nothing is written outside of the boxes
const FEW = 1000; // so many boxes and edges are all looked at in each step
const BOTH_WAYS = 300; // more boxes than that are laid out one way only
const ALONG_READING = 1.2; // how much better from top to bottom must fit to be taken
const AROUND = 160; // pixels beyond the stage's rim in which things are drawn already
const GAPS = { across: 34, between: 56 }; // between boxes, across and along the edges
const SMALL_GAPS = { across: 8, between: 11, steepest: 8, atPorts: 8 }; // of a large run
const GLIDE = 300; // milliseconds

class GraphView {
  // hover is called with the node that the pointer is on, or null; pin with a node that is clicked; toggle with the
  // group whose box or caption is.
  constructor(run, stage, { hover, pin, toggle = () => {} }) {
    this.run = run;
    this.calls = { hover, pin, toggle };
    const names = ["frames", "edges", "present", "captions", "boxes", "blocked", "chips"];
    this.layers = Object.fromEntries(names.map((name) => [name, svg("g")]));
    this.layer = svg("g", { class: "layer" }, ...Object.values(this.layers));
    this.picture = svg("svg", { "aria-hidden": "true" }, arrowheads(), this.layer);
    this.overlay = new Overlay(run);
    stage.append(this.picture, this.overlay.legend);
    this.viewport = new Viewport(stage, this.picture, this.layer, () => this.cull());
    this.minimap = new Minimap(stage, this.viewport);
    this.open = new Set();
    this.direction = null;
    this.compact = isCompact(run);
    this.above = this.compact ? RIM : ABOVE;
    this.layer.classList.toggle("compact", this.compact);
    this.moment = null;
    this.selected = null;
    this.visible = null;
    this.drawables = [];
    this.lit = new Set();
  }

  // -- layout -----------------------------------------------------------------------------------------------

  // Take the direction that fills the stage better. Returns whether it is another one than before.
  arrange() {
    this.viewport.measure();
    const visible = this.visible ?? new Visible(this.run, this.open);
    const ways = visible.items.length > BOTH_WAYS ? ["LR"] : ["LR", "TB"];
    const layouts = ways.map((way) => ({ way, layout: this.layOut(visible, way) }));
    const scale = ({ way, layout }) => {
      const fitting = this.viewport.fitScale(this.contentOf(layout));
      return way === "LR" && fitting >= READABLE ? fitting * ALONG_READING : fitting;
    };
    const best = layouts.reduce((a, b) => (scale(a) >= scale(b) ? a : b));
    if (best.way === this.direction) return false;
    this.direction = best.way;
    this.build(visible, best.layout);
    this.viewport.begin(this.content, this.startBox());
    this.repaint();
    return true;
  }

  layOut(visible, direction) {
    if (!visible.layouts) visible.layouts = {};
    const gaps = this.compact ? SMALL_GAPS : GAPS;
    visible.layouts[direction] ??= layOut(visible.tree, visible.edges(), { direction, ...gaps });
    return visible.layouts[direction];
  }

  contentOf({ width, height }) {
    return { width, height: height + this.above + (this.compact ? RIM : BELOW) };
  }

  // Show these groups open, all others closed. What the reader looks at, `anchor` or the group that opened or closed,
  // stays where it is on the screen.
  setOpen(open, anchor = null) {
    const before = this.open;
    this.open = new Set(open);
    if (!this.direction) return void this.arrange();
    const changed = [...this.open].filter((g) => !before.has(g)).concat([...before].filter((g) => !this.open.has(g)));
    if (!changed.length) return;
    const at = this.holdPoint(anchor ?? changed.find((group) => this.visible.byGroup.has(group)) ?? changed[0]);
    const visible = new Visible(this.run, this.open);
    this.build(visible, this.layOut(visible, this.direction));
    this.viewport.content = this.content;
    this.viewport.start = this.startBox();
    const { kept } = this.viewport;
    if (kept !== "place" && this.viewport.fitScale() >= READABLE) {
      this.viewport.fit(true);
      this.viewport.kept = kept;
    } else this.viewport.hold(this.holdPoint(at.subject), at);
    this.repaint();
  }

  // Where a node or group is: the upper left corner of the box that shows it, in the drawing and on the screen.
  holdPoint(subject) {
    const box = this.visible.itemFor(subject)?.box ?? { x: 0, y: 0, width: 0, height: 0 };
    const { scale, x, y } = this.viewport;
    return { subject, x: box.x, y: box.y, left: box.x * scale + x, top: box.y * scale + y };
  }

  // The run was computed again, with other numbers in the same graph: boxes may have other widths.
  reset() {
    if (!this.direction) return;
    const visible = new Visible(this.run, this.open);
    this.forget();
    this.build(visible, this.layOut(visible, this.direction));
    this.viewport.content = this.content;
    this.viewport.start = this.startBox();
    this.cull();
    this.setOverlay(this.overlay.name);
  }

  forget() {
    for (const drawable of this.drawables) this.unmount(drawable);
    this.drawables = [];
  }

  build(visible, layout) {
    const kept = new Map(this.drawables.filter((d) => d.drawn && d.id).map((d) => [d.id, d]));
    for (const drawable of this.drawables) if (!drawable.id) this.unmount(drawable);
    this.visible = visible;
    this.content = this.contentOf(layout);
    for (const item of [...visible.items, ...visible.frames]) {
      const { x, y, width, height } = layout.boxes.get(item.id);
      const old = kept.get(item.id);
      const before = old?.box; // asked first: it may be this very item's, laid out the other way
      item.box = { x, y: y + this.above, width, height };
      item.reached = item.computed = 0;
      item.bounds = { x: x - 6, y: y + this.above - 18, width: width + 12, height: height + 40 };
      if (!old || old.subject !== item.subject) continue;
      if (before.width !== width || before.height !== height) continue;
      item.drawn = old.drawn;
      old.drawn.item = item;
      old.drawn.place(item.box);
      kept.delete(item.id);
    }
    for (const old of kept.values()) this.unmount(old);
    visible.links.forEach((link, i) => {
      link.route = layout.routes[i].map((value, j) => (j % 2 ? value + this.above : value));
      link.bounds = routeBounds(link.route);
    });
    placeChips(this.run, visible, this.direction);
    this.drawables = [...visible.frames, ...visible.links, ...visible.items];
    this.lit.clear();
    this.tally = null;
    this.seed?.group.remove();
    this.seed = null;
    this.minimap.begin(visible, this.content);
    this.layers.edges.classList.remove("fresh");
    requestAnimationFrame(() => this.layers.edges.classList.add("fresh")); // edges come in anew
  }

  startBox() {
    return this.boxOf(this.run.root) ?? { x: 0, y: 0, ...this.content };
  }

  // -- what is on the page ----------------------------------------------------------------------------------

  cull() {
    if (!this.visible) return;
    const far = this.viewport.isFar();
    if (far !== this.far) {
      this.far = far;
      for (const drawable of this.drawables) if (drawable.drawn && this.moment) paint(this, drawable);
    }
    const view = this.viewport.seen(AROUND);
    const gone = [];
    for (const drawable of this.drawables) {
      const inView = isWithin(drawable.bounds, view);
      if (inView && !drawable.drawn) this.mount(drawable);
      else if (!inView && drawable.drawn) gone.push(drawable);
    }
    clearTimeout(this.sweeping);
    if (this.viewport.gliding) this.sweeping = setTimeout(() => this.cull(), GLIDE);
    else gone.forEach((drawable) => this.unmount(drawable));
    this.minimap.draw();
  }

  mount(drawable) {
    if (drawable.edges) {
      const path = svg("path", { class: "edge", d: routePath(drawable.route) });
      drawable.drawn = { path, chip: null, blocked: null };
      this.layers.edges.append(path);
    } else {
      drawable.drawn = this.draw(drawable);
      drawable.drawn.item = drawable;
      drawable.drawn.place(drawable.box);
      this.layers[drawable.kind === "frame" ? "frames" : "boxes"].append(drawable.drawn.group);
      if (drawable.drawn.caption) this.layers.captions.append(drawable.drawn.caption);
    }
    if (this.moment) paint(this, drawable);
  }

  unmount(drawable) {
    if (!drawable.drawn) return;
    const { group, caption, path, chip, blocked } = drawable.drawn;
    for (const element of [group, caption, path, chip?.group, blocked]) element?.remove();
    drawable.drawn = null;
  }

  // All of the drawing on the page, what is out of view and texts too, until the function that this returns is called.
  complete() {
    const { far } = this;
    this.far = false;
    for (const drawable of this.drawables) if (!drawable.drawn) this.mount(drawable);
    this.repaint();
    return () => {
      this.far = far;
      this.repaint();
      this.cull();
    };
  }

  draw({ kind, subject, groups, size, box }) {
    const { hover, pin, toggle } = this.calls;
    const clicked = (call) => () => this.viewport.moved || call(subject);
    if (kind === "frame") return new GroupFrame(groups, box, clicked(toggle), this.compact);
    const Box = kind === "node" ? NodeBox : GroupBox;
    const drawn = new Box(subject, size, this.compact);
    drawn.group.addEventListener("click", clicked(kind === "node" ? pin : toggle));
    if (kind === "node") {
      drawn.group.addEventListener("pointerenter", () => hover(subject));
      drawn.group.addEventListener("pointerleave", () => hover(null));
    }
    return drawn;
  }

  // -- a moment of the run ----------------------------------------------------------------------------------

  // `moment.changed` says what differs from the moment shown before; null: everything may.
  show(moment, selected = null, anew = false) {
    if (!this.visible) return;
    const ended = moment.ended && moment.mode !== "add" ? moment.mode : null;
    const phase = moment.step ? moment.step.phase === "forward" : null; // closed groups count something else in each
    const everything = anew || !moment.changed || !this.tally || ended !== this.ended || phase !== this.phase;
    this.phase = phase;
    this.moment = moment;
    this.selected = selected;
    if (everything) {
      this.ended = ended;
      this.wrong = new Set(ended ? [...this.run.wrong(ended)].map(placeOf) : []);
    }
    this.updates = updatesSoFar(this.run, moment);
    const forward = !moment.step ? !moment.computed(this.run.root) || moment.at === 0 : moment.step.phase === "forward";
    this.layer.classList.toggle("forward", forward);
    this.count(moment, everything ? null : moment.changed.nodes);
    const lit = this.lights(moment, selected);
    const dirty = everything ? null : new Set([...this.lit, ...lit, ...this.touched(moment.changed)]);
    this.lit = lit;
    const few = this.drawables.length <= FEW; // a closed group can be much to look at
    const all = dirty && few ? this.drawables.filter((one) => one.kind !== "group" || dirty.has(one)) : this.drawables;
    for (const drawable of few || !dirty ? all : dirty) if (drawable.drawn) paint(this, drawable);
    this.showSeed(moment);
    this.minimap.show((item) => this.share(item), lit);
  }

  repaint() {
    if (this.moment) this.show(this.moment, this.selected, true);
  }

  // What the present step and selection single out.
  lights({ step }, selected) {
    const lit = new Set();
    const addNode = (node) => {
      const item = this.visible.itemFor(node);
      if (!item) return;
      lit.add(item);
      for (let group = node.group; group; group = group.parent) {
        const frame = this.visible.byGroup.get(group);
        if (frame?.kind === "frame") lit.add(frame);
      }
    };
    for (const node of [step?.sender, step?.receiver, step?.node]) if (node) addNode(node);
    if (selected) {
      lit.add(this.visible.itemFor(selected));
      if (this.compact) this.visible.itemFor(selected)?.links.forEach((link) => lit.add(link));
    }
    const edge = step?.edge ?? null;
    if (edge !== null) lit.add(this.visible.linkOf[placeOf(edge)]);
    if (step?.phase === "forward") this.visible.itemFor(step.node).links.forEach((link) => lit.add(link));
    lit.delete(null);
    return lit;
  }

  touched({ nodes, edges }) {
    const found = [...edges].map((index) => this.visible.linkOf[placeOf(index)]).filter(Boolean);
    return found.concat([...nodes].map((index) => this.visible.itemOf[placeOf(index)]));
  }

  // How many nodes of each item the passes have been to. `changed`: the nodes to look at, null for all.
  count({ gradients, computed }, changed) {
    const { nodes } = this.run;
    const { itemOf } = this.visible;
    if (!this.tally || !changed) {
      this.tally = { reached: new Uint8Array(nodes.length), computed: new Uint8Array(nodes.length) };
      for (const item of this.visible.items) item.reached = item.computed = 0;
      changed = null;
    }
    const look = (index) => {
      const item = itemOf[index];
      const now = { reached: gradients[index] !== null ? 1 : 0, computed: computed(nodes[index]) ? 1 : 0 };
      for (const name of ["reached", "computed"]) {
        item[name] += now[name] - this.tally[name][index];
        this.tally[name][index] = now[name];
      }
    };
    if (changed) for (const index of changed) look(placeOf(index));
    else for (let index = 0; index < nodes.length; index++) look(index);
  }

  // The part of an item that the pass has finished.
  share({ reached, members }) {
    return members.length ? reached / members.length : 0;
  }

  showSeed({ seed, step }) {
    const item = this.visible.itemFor(this.run.root);
    if (!seed || item.kind !== "node") return void this.seed?.show("", {});
    if (!this.seed) {
      this.seed = new Chip();
      const { x, y, width, height } = item.box;
      const below = this.wrong.has(this.run.root.index) ? TRUTH_ROW : 0;
      this.seed.place({ x: x + width / 2, y: y + height + CHIP_HEIGHT / 2 + 4 + below });
      this.layers.chips.append(this.seed.group);
    }
    const now = step && seed.step.number === step.number;
    const sign = signClass(seed.step.contribution);
    this.seed.show(`seed ${seed.step.contribution.chip}`, { now, lost: seed.lost, [sign]: true });
  }

  // -- for the controls -------------------------------------------------------------------------------------

  // Bring nodes or groups into view.
  follow(subjects) {
    const boxes = subjects.map((subject) => this.boxOf(subject)).filter(Boolean);
    if (boxes.length) this.viewport.reveal(boxes);
  }

  // The box that shows a node or a group.
  boxOf(subject) {
    return this.visible?.itemFor(subject)?.box ?? null;
  }

  // "grad" or "none": what the boxes are filled by.
  setOverlay(name) {
    this.overlay.set(name);
    this.repaint();
  }
}

function isWithin(box, view) {
  const across = box.x < view.x + view.width && box.x + box.width > view.x;
  return across && box.y < view.y + view.height && box.y + box.height > view.y;
}
