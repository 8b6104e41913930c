// What is drawn: a value's box, a closed group's box, the frame of an open group.
//
// Each class draws itself once for a size and then takes on states; it touches the page only where a state differs.

const LEAST_NAME = 0.76; // of the usual size: so small may a long name be written
const BAR = 5; // height of the share that a pass has finished

// -- what all drawn things share ----------------------------------------------------------------------------

class Drawn {
  constructor(base, size, ...children) {
    this.base = base;
    this.size = size;
    this.classes = base;
    this.group = svg("g", { class: base }, ...children);
  }

  // The classes that are on: { name: whether }.
  mark(classes) {
    const names = [this.base, ...Object.keys(classes).filter((name) => name && classes[name])].join(" ");
    if (this.classes === names) return;
    this.classes = names;
    this.group.setAttribute("class", names);
  }

  place({ x, y }) {
    this.group.style.transform = `translate(${x}px, ${y}px)`; // as a style, so that it can glide
  }

  // How strongly the box is filled, 0 to 1; null for its usual fill.
  heat(share) {
    const text = share === null ? "" : `${Math.round(share * 100)}%`;
    if (this.heated === text) return;
    this.heated = text;
    this.group.style.setProperty("--heat", text || "0%");
  }
}

// -- a value ------------------------------------------------------------------------------------------------

class NodeBox extends Drawn {
  constructor(node, size, compact = false) {
    super("node", size, svg("rect", { class: "body", width: size.width, height: size.height, rx: 5 }));
    this.node = node;
    this.compact = compact;
    this.detailed = false;
  }

  // The texts, which are left out as long as they could not be read.
  detail() {
    if (this.detailed) return;
    this.detailed = true;
    const { node } = this;
    const { width, height } = this.size;
    this.array = isArrayNode(node);
    this.truth = svg("text", { class: "truth", x: width / 2, y: height + 15 });
    this.tag = svg("text", { class: "tag", x: width - 1, y: this.compact ? LINE - 2 : -5 });
    if (this.compact) this.smallDetail();
    else this.fullDetail();
    this.group.append(...this.data.parts, ...this.grad.parts, this.truth, this.tag);
    if (node.uses > 1) this.group.append(svg("text", { class: "uses", x: 1, y: -5 }, `used ${node.uses}×`));
  }

  smallDetail() {
    const { node, array } = this;
    const { width } = this.size;
    const y = LINE - 2;
    const top = array ? 2 : 1;
    this.data = smallRow("", top, width, array);
    this.grad = smallRow("\u2202", top + 1, width, array);
    const name = endOf(smallName(node), width - 2 * SMALL_INSET, SMALL_CHARACTER);
    this.group.append(
      svg("title", {}, node.title),
      svg("text", { class: "place" }, String(node.index + 1)), // to be read by programs
      svg("text", { class: "name", x: width / 2, y }, name),
      ...(array ? [svg("text", { class: "shape", x: width / 2, y: y + LINE }, node.data.shape)] : []),
    );
  }

  fullDetail() {
    const { node } = this;
    const { width } = this.size;
    const top = TITLE_ROW + (this.array ? SHAPE_ROW : 0);
    this.data = valueRow("data", top, width, this.array);
    this.grad = valueRow("grad", top + ROW, width, this.array);
    const place = String(node.index + 1);
    const beside = placeWidth(node);
    const room = width - INSET - beside;
    this.group.append(
      svg("title", {}, node.title),
      svg("text", { class: "place", x: 5, y: 11 }, place),
      fittingName(shownName(node), room, { x: (width + beside - 6) / 2, y: 17 }),
      ...(this.array ? [svg("text", { class: "shape", x: width / 2, y: TITLE_ROW + 11 }, shapeText(node))] : []),
    );
  }

  show({ data, grad, computed, note, odd, wrong }) {
    if (!this.detailed) return;
    const { node } = this;
    showValue(this.data, computed ? data : null, computed ? boxText(data) : "·", "data");
    showValue(this.grad, grad, heldText(node, grad), grad ? "grad" : "grad waits");
    write(this.tag, this.compact && !this.array ? "" : odd.join(", ")); // a number is itself the word
    write(this.truth, note);
    if (this.compact) write(this.grad.sign, wrong ? "≠" : "∂");
  }
}

// A name in the size that fits the room; a longer one is cut.
function fittingName(name, room, place) {
  const text = svg("text", { class: "name", ...place }, cutTo(name, room, NAME_CHARACTER * LEAST_NAME));
  const share = room / (text.textContent.length * NAME_CHARACTER);
  if (share < 1) text.style.fontSize = `${(13 * share).toFixed(1)}px`;
  return text;
}

function shapeText({ data, dtype }) {
  return dtype ? `${data.shape} ${dtype}` : data.shape;
}

function valueRow(label, top, width, array) {
  const number = svg("text", { class: "number", x: width - INSET, y: top + 16 });
  const line = svg("line", { x1: 0, x2: width, y1: top, y2: top });
  const room = width - ROW_LABEL - 2 * INSET - (array ? THUMBNAIL.width : 0) + 8;
  const row = { number, room, classes: "number", quantity: undefined, map: null, top };
  row.parts = [line, svg("text", { class: "row", x: INSET, y: top + 16 }, label), number];
  if (array) row.parts.push((row.map = svg("g", { transform: `translate(${ROW_LABEL + 6} ${top + 3})` })));
  return row;
}

function smallRow(label, line, width, array) {
  const top = line * LINE + 2;
  const number = svg("text", { class: "number", x: width - SMALL_INSET, y: top + LINE - 3 });
  const room = width - 2 * SMALL_INSET - (array ? THUMBNAIL.width - 8 : 0) + 4;
  const row = { number, room, classes: "number", quantity: undefined, map: null };
  row.parts = [svg("line", { x1: 0, x2: width, y1: top, y2: top }), number];
  if (array) row.parts.push((row.map = svg("g", { transform: `translate(${SMALL_INSET} ${top + 1}) scale(.8)` })));
  if (label) {
    row.sign = svg("text", { class: "row", x: SMALL_INSET - 2 + (array ? 29 : 0), y: top + LINE - 3 }, label);
    row.parts.push(row.sign);
  }
  return row;
}

function showValue(row, quantity, text, classes) {
  write(row.number, cutTo(text, row.room, CHARACTER));
  const names = `number ${classes} ${quantity ? signClass(quantity) : ""}`;
  if (row.classes !== names) row.number.setAttribute("class", (row.classes = names));
  if (!row.map || row.quantity === quantity) return;
  row.quantity = quantity;
  row.map.replaceChildren(...(quantity?.grid ? thumbnail(quantity) : []));
}

// A heat map of few cells: of a larger array, each cell the largest of its block.
function thumbnail(quantity) {
  const { rows, columns, values } = quantity.grid;
  const [down, across] = [Math.min(rows, THUMBNAIL.cells), Math.min(columns, THUMBNAIL.cells * 2)];
  const side = Math.min(THUMBNAIL.width / across, THUMBNAIL.height / down, 9);
  const most = largestIn(quantity) || 1;
  const cells = new Array(down * across).fill(0);
  values.forEach((x, i) => {
    const row = Math.floor((Math.floor(i / columns) * down) / rows);
    const at = row * across + Math.floor(((i % columns) * across) / columns);
    const odd = !Number.isFinite(x);
    if (odd || (Number.isFinite(cells[at]) && Math.abs(x) > Math.abs(cells[at]))) cells[at] = x;
  });
  const frame = svg("rect", { class: "map", width: side * across, height: side * down });
  return [frame, ...cells.flatMap((x, i) => {
    if (x === 0) return [];
    const name = Number.isFinite(x) ? (x > 0 ? "plus" : "minus") : "odd";
    const strength = Number.isFinite(x) ? (0.15 + (0.85 * Math.abs(x)) / most).toFixed(2) : 1;
    const place = { x: (i % across) * side, y: Math.floor(i / across) * side, width: side, height: side };
    return [svg("rect", { class: `cell ${name}`, ...place, "fill-opacity": strength })];
  })];
}

// -- groups -------------------------------------------------------------------------------------------------

class GroupBox extends Drawn {
  constructor(group, size, compact = false) {
    const { width, height } = size;
    const pile = group.copies > 1 ? [svg("rect", { class: "pile", x: 5, y: -5, width, height, rx: 9 })] : [];
    super("group", size, ...pile, svg("rect", { class: "body", width, height, rx: 9 }));
    this.subject = group;
    this.compact = compact;
    this.bar = svg("rect", { class: "share", x: INSET, y: height - BAR - 6, width: 0, height: BAR, rx: 2 });
    const track = svg("rect", { class: "track", x: INSET, y: height - BAR - 6, height: BAR, rx: 2 });
    this.room = width - 2 * INSET - (compact ? 16 : 0); // the sign is beside it
    furnish(track, { width: this.room }, []);
    this.group.append(track, this.bar);
    this.detailed = false;
  }

  detail() {
    if (this.detailed) return;
    this.detailed = true;
    const { subject } = this;
    const { width, height } = this.size;
    const middle = width / 2;
    const { compact } = this;
    const place = compact
      ? { inset: SMALL_INSET + 2, sign: height - BAR - 4, name: 13, counts: 27 }
      : { inset: INSET, sign: 14, name: 19, counts: 60 };
    const name = cutTo(subject.label, width - (compact ? 8 : 44), compact ? SMALL_CHARACTER : NAME_CHARACTER);
    const kind = cutTo(groupKind(subject), width - 16, 6.4);
    this.reached = svg("text", { class: "small", x: place.inset, y: place.counts });
    this.most = svg("text", { class: "small number", x: width - place.inset, y: place.counts });
    this.truth = svg("text", { class: "truth", x: middle, y: height + 15 });
    this.tag = svg("text", { class: "tag", x: width - 1, y: compact ? LINE - 2 : -5 });
    this.group.append(
      svg("title", {}, `${subject.label}: ${groupKind(subject)}. Click to open it.`),
      svg("path", { class: "sign", d: `M${width - 19} ${place.sign}h10M${width - 14} ${place.sign - 5}v10` }),
      svg("text", { class: "name", x: compact ? middle : middle - 6, y: place.name }, name),
      ...(compact ? [] : [svg("text", { class: "small kind", x: middle, y: 37 }, kind)]),
      this.reached,
      this.most,
      this.truth,
      this.tag,
    );
  }

  // here: what a node inside has just received, if one has
  show({ done, size, verb, most, note, odd, here = "" }) {
    const length = (this.room * (size ? done / size : 0)).toFixed(1);
    if (this.length !== length) this.bar.setAttribute("width", (this.length = length));
    if (!this.detailed) return;
    const count = done === size ? `all ${verb}` : `${done}/${size} ${verb}`;
    const fits = (text) => text.length * 6.8 < this.size.width - 2 * INSET;
    const news = here && fits(here) ? here : "";
    const short = news || note || (fits(count) ? count : `${done}/${size}`);
    write(this.reached, this.compact ? short : news || count);
    write(this.most, !this.compact || fits(`${short} ${most}`) ? most : "");
    write(this.truth, note);
    write(this.tag, odd.join(", "));
  }
}

// The frame of an open group; its caption, which lies above the edges, closes it.
class GroupFrame extends Drawn {
  // `groups`: the group, or several of which each is all that the one before holds.
  constructor(groups, size, toggle, compact = false) {
    const { width, height } = size;
    super("frame", size, svg("rect", { class: "body", width, height, rx: 12 }));
    const group = groups[groups.length - 1];
    const text = cutTo(groups.map(({ label }) => label).join(" › "), width - 50, NAME_CHARACTER);
    const kind = `  ${groupKind(group)}`;
    const up = compact ? 3 : 0;
    const room = width - 44 - text.length * NAME_CHARACTER;
    const beside = kind.length * 6.6 < room ? kind.length * 6.6 : 0;
    const caption = svg("text", { x: 27, y: 19 - up }, svg("tspan", { class: "name" }, text));
    if (beside) caption.append(svg("tspan", { class: "small", dx: 8 }, kind.trim()));
    const wide = Math.min(width, 40 + text.length * NAME_CHARACTER + beside);
    this.caption = svg("g", { class: "caption" },
      svg("title", {}, `${groups[0].label}: click to close it.`),
      svg("rect", { class: "button", x: 4, y: 3 - up / 2, width: Math.max(wide - 8, 24), height: 21 - up, rx: 6 }),
      svg("path", { class: "sign", d: `M11 ${13.5 - up}h10` }),
      caption,
    );
    this.caption.addEventListener("click", toggle);
  }

  place(box) {
    super.place(box);
    this.caption.style.transform = this.group.style.transform;
  }
}
