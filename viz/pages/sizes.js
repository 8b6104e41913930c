// How large boxes and chips are, and the texts in them: known before anything is drawn, for the layout.

const TITLE_ROW = 26;
const SHAPE_ROW = 17; // of an array: its shape and kind of numbers
const ROW = 23;
const INSET = 9;
const CHARACTER = 7.4; // of a number, in pixels; names are a little wider
const NAME_CHARACTER = 8.1;
const ROW_LABEL = 36; // "data", "grad"
const FEWEST_DIGITS = 10; // characters that every number has room for
const WIDEST_BOX = 220;
const WIDEST_ARRAY = 260;
const THUMBNAIL = { width: 34, height: 17, cells: 8 };
const GROUP_HEIGHT = 78;
const COMPACT_FROM = 61; // nodes, arrays count twice: such a run has small boxes, so that more of it fits the stage
const LINE = 14; // of a small box; all its texts are of one size
const SMALL_CHARACTER = 7.25;
const SMALL_INSET = 4;
const SMALL_GROUP = { least: 86, height: 2 * LINE + 16 };
const WIDEST_SMALL = 170;
const CHIP_HEIGHT = 20;
const CHIP_CHARACTER = 7.4;
const CHIP_PADDING = 12;

// The size of a value's box: from the widest text that it ever shows, so that no number moves another box.
function nodeSize(run, node) {
  if (isCompact(run)) return smallNodeSize(run, node);
  const array = isArrayNode(node);
  const texts = [node.data.text, run.truth?.[node.index]?.text ?? ""].map((text) => text.length);
  const numbers = Math.max(FEWEST_DIGITS, ...texts) * CHARACTER + ROW_LABEL + 2 * INSET + (array ? THUMBNAIL.width : 0);
  const width = Math.max(numbers, shownName(node).length * NAME_CHARACTER + INSET + placeWidth(node) + 6);
  const height = TITLE_ROW + 2 * ROW + (array ? SHAPE_ROW : 0);
  return { width: Math.round(Math.min(width, array ? WIDEST_ARRAY : WIDEST_BOX)), height };
}

function isCompact(run) {
  if (run.nodes.length * 2 < COMPACT_FROM || run.nodes.length >= COMPACT_FROM) return run.nodes.length >= COMPACT_FROM;
  return run.nodes.length + run.nodes.filter(isArrayNode).length >= COMPACT_FROM;
}

// Name, data and gradient, a line each; of an array also its shape.
function smallNodeSize(run, node) {
  const array = isArrayNode(node);
  const quantities = [node.data, run.truth?.[node.index]].filter(Boolean);
  const numbers = Math.max(node.constant ? 8 : 7, ...quantities.map((quantity) => boxText(quantity).length)) + 0.8;
  const names = Math.max(Math.min(smallName(node).length, 14), array ? node.data.shape.length : 0);
  const width = Math.max(numbers * SMALL_CHARACTER + (array ? THUMBNAIL.width : 0), names * SMALL_CHARACTER);
  return { width: Math.round(Math.min(width + 2 * SMALL_INSET, WIDEST_SMALL)), height: LINE * (array ? 4 : 3) + 2 };
}

// "n7" of "n7 = a*b"; of a name with dots its end, which is what tells it from its neighbours.
function smallName(node) {
  const name = (node.name || shownName(node)).split(" = ")[0];
  return name.length > 14 ? name.split(".").pop() : name;
}

// The place in topological order, beside the name.
function placeWidth({ index }) {
  return String(index + 1).length * 5.6 + 4;
}

function groupSize(run, group) {
  if (isCompact(run)) {
    const width = Math.max(group.label.length * SMALL_CHARACTER + 8, SMALL_GROUP.least);
    return { width: Math.round(Math.min(width, WIDEST_SMALL)), height: SMALL_GROUP.height };
  }
  const count = `${group.size}/${group.size} computed`.length;
  const widths = [group.label.length * NAME_CHARACTER + 56, groupKind(group).length * 6.6 + 24, count * 6 + 84];
  const width = Math.max(...widths, 156);
  return { width: Math.round(Math.min(width, WIDEST_BOX)), height: GROUP_HEIGHT };
}

function chipSize(characters) {
  return { width: Math.round(characters * CHIP_CHARACTER + CHIP_PADDING), height: CHIP_HEIGHT };
}

function isArrayNode(node) {
  return Boolean(node.data.shape);
}

function shownName(node) {
  return node.short ?? node.title;
}

// "neuron, 32 values"; of a fold also how many copies it stands for, where its label does not say so.
function groupKind({ label, kind, size, copies }) {
  const named = kind && kind !== "fold" && kind !== "scope" ? `${kind}, ` : "";
  const many = copies > 1 && !label.includes("×") ? `× ${copies}, ` : named;
  return `${many}${size} ${size === 1 ? "value" : "values"}`;
}

// What a box says of a quantity: of an array not its shape, which is written above.
function boxText({ text, shape }) {
  return shape ? text.replace(/^\([\d, ]*\)\s+/, "") : text;
}

// What a node's grad row says.
function heldText(node, grad) {
  if (grad) return boxText(grad);
  return node.constant ? "constant" : "not yet";
}

function cutTo(text, width, character) {
  const most = Math.max(Math.floor(width / character), 2);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

// A name that is too long keeps its end.
function endOf(text, width, character) {
  const most = Math.max(Math.floor(width / character), 2);
  return text.length <= most ? text : `…${text.slice(1 - most)}`;
}

// "nan" and "inf", those of them that a node's data or gradient holds.
function oddities(data, grad) {
  return ["nan", "inf"].filter((name) => data?.odd?.includes(name) || grad?.odd?.includes(name));
}

const magnitudes = new WeakMap(); // of the arrays, which are many numbers

// The largest absolute value in a quantity; null where there is none or it is not finite.
function largestIn(quantity) {
  if (!quantity) return null;
  if (typeof quantity.value === "number") return Number.isFinite(quantity.value) ? Math.abs(quantity.value) : null;
  if (!quantity.grid) return quantity.sign === 0 ? 0 : null;
  if (!magnitudes.has(quantity)) {
    const finite = quantity.grid.values.filter((x) => Number.isFinite(x));
    magnitudes.set(quantity, finite.length ? finite.reduce((most, x) => Math.max(most, Math.abs(x)), 0) : null);
  }
  return magnitudes.get(quantity);
}
