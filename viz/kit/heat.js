// Heat maps of arrays: blue above zero, vermilion with a dash below, an empty cell for zero, hatched where a number is
// not finite. The cells of one strength are one path, so that a map is a few elements however many cells it has.
//
// A grid is what viz/pages/quantities.py makes of an array: {rows, columns, values, exact, note, shape, block}.

const HEAT_LEVELS = 8; // strengths of each colour
const HEAT_WRAP = 32; // cells in a line of a long vector
const HEAT_GAP = 6; // between the matrices of an array of more axes
const HEAT_WIDTH = 296; // of the cells of a map that fits the panel
const HEAT_SMALL = 64; // the same, of a thumbnail
const HEAT_LINED = 4; // pixels that a cell needs for a line around it
const HEAT_DASHED = 9; // pixels that a cell needs for the dash that says that it is below zero

function heatNumber(value) {
  return typeof value === "number" ? value : Number(value.replace("inf", "Infinity"));
}

// The largest finite magnitude of all these grids: a scale for maps that are to be compared.
function heatScale(...grids) {
  const sizes = grids.flatMap((grid) => grid.values.map((value) => Math.abs(heatNumber(value))));
  return sizes.filter(Number.isFinite).reduce((most, size) => Math.max(most, size), 0);
}

// A map of `grid`, with
//   small    true for a thumbnail, which shows and tells nothing but `label`
//   label    what it is a map of, for those who cannot see it
//   onHover  called with the cell under the pointer or the cursor, or null
//   onPick   called with a cell that is clicked, or chosen with Enter
//   scale    the magnitude of the strongest colour, by default the largest in the grid
// A cell is its place in grid.values. element.pick(cell or null) marks one as picked.
function heatMap(grid, { small = false, label = "heat map", onHover, onPick, scale } = {}) {
  const numbers = grid.values.map(heatNumber);
  const largest = scale ?? heatScale(grid);
  const shape = heatArrangement(grid, small);
  if (small) {
    const name = `${label}: ${heatRange(numbers)}${grid.note && `, ${grid.note}`}`;
    const cells = heatCells(numbers, largest, shape);
    return svg("svg", { class: "heat-small", role: "img", "aria-label": name, ...heatSize(shape) }, ...cells);
  }
  const picture = svg("svg", { "aria-hidden": "true", ...heatSize(shape) });
  picture.append(...heatCells(numbers, largest, shape), ...heatIndices(grid, shape));
  const name = `${label}: ${heatRange(numbers)}. The arrow keys go from cell to cell.`;
  const role = { role: "application", "aria-roledescription": "heat map", "aria-label": name };
  const map = html("div", { class: "heat-map", tabindex: 0, ...role }, picture);
  const line = html("p", { class: "heat-line", "aria-live": "polite" });
  const element = html("div", { class: "heat" }, map, line, heatLegend(numbers, largest));
  if (grid.note) element.append(html("p", { class: "heat-note" }, grid.note));
  const marks = { cursor: heatMark("heat-cursor", shape), picked: heatMark("heat-picked", shape) };
  picture.append(marks.picked, marks.cursor);

  let cursor = null;
  let picked = null;
  const tell = (cell) => {
    const quiet = cell === null && picked === null;
    line.textContent = quiet ? "Point at a cell, or go there with the arrow keys." : heatText(grid, cell ?? picked);
    line.classList.toggle("muted", quiet);
  };
  const go = (cell) => {
    if (cell === cursor) return;
    cursor = cell;
    heatMove(marks.cursor, shape, cell);
    tell(cell);
    onHover?.(cell);
  };
  element.pick = (cell) => {
    picked = cell;
    heatMove(marks.picked, shape, cell);
    tell(cursor);
  };
  const choose = (cell) => {
    element.pick(cell === picked ? null : cell);
    onPick?.(picked);
  };
  map.addEventListener("pointermove", (event) => go(heatCellAt(picture, shape, event)));
  map.addEventListener("pointerleave", () => go(null));
  map.addEventListener("blur", () => go(null));
  map.addEventListener("click", (event) => {
    const cell = heatCellAt(picture, shape, event);
    go(cell);
    if (cell !== null) choose(cell);
  });
  map.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape" && cursor === null) return;
    const next = heatKey(event.key, cursor ?? picked, shape);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the page has uses of its own for these keys
    if (next === "choose") return cursor === null || choose(cursor);
    go(next);
    if (next !== null) heatReveal(map, shape, next);
  });
  tell(null);
  return element;
}

// -- where the cells are ------------------------------------------------------------------------------------------

// {count, wide, lines, width, height (of a cell), left, top (of the first), matrix (lines of each, 0 for one alone)}
function heatArrangement(grid, small) {
  const count = grid.values.length;
  const wraps = Math.min(grid.rows, grid.columns) === 1 && count > HEAT_WRAP;
  const wide = wraps ? HEAT_WRAP : grid.columns;
  const lines = wraps ? Math.ceil(count / wide) : grid.rows;
  const matrix = grid.exact && grid.shape.length > 2 ? grid.shape[grid.shape.length - 2] : 0;
  if (small) {
    const side = (cells) => Math.min(HEAT_SMALL / cells, 12);
    const both = side(Math.max(wide, lines)) < 3 ? [side(wide), side(lines)] : [side(Math.max(wide, lines))];
    return { count, wide, lines, width: both[0], height: both[both.length - 1], left: 1, top: 1, matrix };
  }
  const size = Math.min(Math.max(Math.floor(HEAT_WIDTH / wide), 8), 26);
  const left = 8 + 6.5 * String(wraps ? count : grid.rows * grid.block[0]).length;
  return { count, wide, lines, width: size, height: size, left, top: 16, matrix };
}

function heatSize(shape) {
  const gaps = shape.matrix ? Math.floor((shape.lines - 1) / shape.matrix) * HEAT_GAP : 0;
  const width = Math.ceil(shape.left + shape.wide * shape.width + 2);
  const height = Math.ceil(shape.top + shape.lines * shape.height + gaps + 2);
  return { width, height, viewBox: `0 0 ${width} ${height}` };
}

function heatCorner(shape, cell) {
  const line = Math.floor(cell / shape.wide);
  const gap = shape.matrix ? Math.floor(line / shape.matrix) * HEAT_GAP : 0;
  return [shape.left + (cell % shape.wide) * shape.width, shape.top + line * shape.height + gap];
}

function heatCellAt(picture, shape, { clientX, clientY }) {
  const box = picture.getBoundingClientRect();
  const column = Math.floor((clientX - box.x - shape.left) / shape.width);
  const down = clientY - box.y - shape.top;
  let line = Math.floor(down / shape.height);
  if (shape.matrix) {
    const block = shape.matrix * shape.height + HEAT_GAP;
    const inside = Math.floor((down % block) / shape.height);
    if (inside >= shape.matrix) return null; // between two matrices
    line = Math.floor(down / block) * shape.matrix + inside;
  }
  const cell = line * shape.wide + column;
  return down < 0 || column < 0 || column >= shape.wide || cell >= shape.count ? null : cell;
}

// Where a key leads from a cell: another cell, null for none, "choose", undefined for a key without a meaning here.
function heatKey(key, cell, shape) {
  const ways = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -shape.wide, ArrowDown: shape.wide };
  if (key === "Escape") return null;
  if (key === "Enter" || key === " ") return "choose";
  if (key === "Home" || key === "End") {
    const first = Math.floor((cell ?? 0) / shape.wide) * shape.wide;
    return key === "Home" ? first : Math.min(first + shape.wide, shape.count) - 1;
  }
  if (!(key in ways)) return undefined;
  if (cell === null) return 0;
  const next = cell + ways[key];
  return next < 0 || next >= shape.count ? cell : next;
}

function heatReveal(map, shape, cell) {
  const [x, y] = heatCorner(shape, cell);
  map.scrollLeft = Math.min(Math.max(map.scrollLeft, x + shape.width + 4 - map.clientWidth), x - shape.left);
  map.scrollTop = Math.min(Math.max(map.scrollTop, y + shape.height + 4 - map.clientHeight), y - shape.top);
}

// -- what is drawn ------------------------------------------------------------------------------------------------

function heatCells(numbers, largest, shape) {
  const paths = new Map();
  const add = (name, piece) => paths.set(name, (paths.get(name) ?? "") + piece);
  const { width, height } = shape;
  numbers.forEach((x, cell) => {
    const [left, top] = heatCorner(shape, cell);
    const whole = `M${left} ${top}h${width}v${height}h${-width}z`;
    if (Math.min(width, height) >= HEAT_LINED) add("heat-cell", whole);
    if (x === 0) return;
    const level = heatLevel(x, largest);
    const name = Number.isNaN(x) ? "heat-nan" : x > 0 ? "heat-plus" : "heat-minus";
    add(`${name} ${level}`, whole);
    const ink = name === "heat-nan" || level <= HEAT_LEVELS / 2 ? "heat-off" : "heat-on";
    if (!Number.isFinite(x)) add(ink, heatHatch(left, top, width, height));
    if (x < 0 && Math.min(width, height) >= HEAT_DASHED) add(ink, `M${left + width / 2 - 2.5} ${top + height / 2}h5`);
  });
  const order = ["heat-cell", "heat-nan", "heat-plus", "heat-minus", "heat-on", "heat-off"];
  const sorted = [...paths].sort(([a], [b]) => order.indexOf(a.split(" ")[0]) - order.indexOf(b.split(" ")[0]));
  return sorted.map(([name, path]) => heatPath(...name.split(" "), path));
}

function heatHatch(x, y, width, height) {
  const [across, down] = [width / 2, height / 2];
  const short = `l${across} ${-down}`;
  return `M${x} ${y + height}l${width} ${-height}M${x} ${y + down}${short}M${x + across} ${y + height}${short}`;
}

function heatPath(name, ...rest) {
  const path = rest.pop();
  const strength = rest.length ? { "fill-opacity": heatStrength(Number(rest[0])) } : {};
  return svg("path", { class: name, d: path, ...strength });
}

// 1 to HEAT_LEVELS: also the smallest number is seen to be none.
function heatLevel(x, largest) {
  if (!Number.isFinite(x)) return HEAT_LEVELS;
  return Math.min(Math.max(Math.ceil(HEAT_LEVELS * (Math.abs(x) / largest)), 1), HEAT_LEVELS);
}

function heatStrength(level) {
  return (0.08 + (0.92 * level) / HEAT_LEVELS).toFixed(3);
}

// The numbers of rows and columns, as many as there is room for.
function heatIndices(grid, shape) {
  const vector = shape.wide * shape.lines !== grid.rows * grid.columns || shape.wide !== grid.columns;
  const [high, across] = vector ? [shape.wide * Math.max(...grid.block), Math.max(...grid.block)] : grid.block;
  const digits = String(shape.wide * across).length * 6.5 + 5;
  const every = (room, size) => [1, 2, 4, 8, 16, 32, 64].find((step) => step * size >= room) ?? 128;
  const labels = [];
  const put = (x, y, anchor, index) => {
    labels.push(svg("text", { class: "heat-index", x, y, "text-anchor": anchor }, String(index)));
  };
  for (let column = 0; column < shape.wide; column += every(digits, shape.width)) {
    put(shape.left + (column + 0.5) * shape.width, shape.top - 4, "middle", column * across);
  }
  for (let line = 0; line < shape.lines; line += every(11, shape.height)) {
    const [, y] = heatCorner(shape, line * shape.wide);
    put(shape.left - 4, y + shape.height / 2 + 3.5, "end", shape.matrix ? line % shape.matrix : line * high);
  }
  return labels;
}

function heatMark(name, shape) {
  return svg("rect", { class: name, width: shape.width, height: shape.height, visibility: "hidden" });
}

function heatMove(mark, shape, cell) {
  mark.setAttribute("visibility", cell === null ? "hidden" : "visible");
  if (cell === null) return;
  const [x, y] = heatCorner(shape, cell);
  furnish(mark, { x, y }, []);
}

function heatLegend(numbers, largest) {
  const legend = html("p", { class: "heat-legend" });
  if (numbers.every((x) => x === 0)) legend.append("all zero");
  else if (largest) {
    const shades = Array.from({ length: 2 * HEAT_LEVELS + 1 }, (_, i) => (i / HEAT_LEVELS - 1) * largest);
    const shape = { wide: shades.length, width: 8, height: 12, left: 1, top: 1, matrix: 0, lines: 1 };
    const bar = svg("svg", { "aria-hidden": "true", ...heatSize(shape) }, ...heatCells(shades, largest, shape));
    legend.append(shortText(-largest, 3), bar, `+${shortText(largest, 3)}`);
    if (numbers.includes(0)) legend.append(html("span", {}, "empty: 0"));
  }
  if (numbers.some((x) => !Number.isFinite(x))) legend.append(html("span", {}, `hatched: ${heatOdd(numbers)}`));
  return legend;
}

// -- in words -----------------------------------------------------------------------------------------------------

// "[1, 2] = −0.25"; of a block, "[8–15, 0–3]: the largest is −0.25"
function heatText(grid, cell) {
  const value = shortText(heatNumber(grid.values[cell]), 4);
  if (!grid.exact) return `${heatBlock(grid, cell)}: the largest is ${value}`;
  return `[${heatIndex(grid.shape, cell).join(", ")}] = ${value}`;
}

// The index of an element by its place in C order.
function heatIndex(shape, place) {
  const index = [];
  for (const size of [...shape].reverse()) {
    index.unshift(place % size);
    place = Math.floor(place / size);
  }
  return index;
}

function heatBlock(grid, cell) {
  const across = grid.shape[grid.shape.length - 1];
  const down = grid.shape.slice(0, -1).reduce((all, size) => all * size, 1);
  const range = (at, block, size) => {
    const last = Math.min((at + 1) * block, size) - 1;
    return last === at * block ? `${last}` : `${at * block}–${last}`;
  };
  const rows = range(Math.floor(cell / grid.columns), grid.block[0], down);
  const columns = range(cell % grid.columns, grid.block[1], across);
  if (grid.shape.length === 1) return `[${columns}]`;
  return grid.shape.length === 2 ? `[${rows}, ${columns}]` : `rows ${rows}, columns ${columns}`;
}

function heatRange(numbers) {
  const finite = numbers.filter(Number.isFinite);
  const odd = heatOdd(numbers);
  const [least, most] = [Math.min(...finite), Math.max(...finite)].map((x) => shortText(x, 4));
  const range = finite.length ? `from ${least} to ${most}` : "";
  return [range, odd].filter(Boolean).join(", ");
}

function heatOdd(numbers) {
  const infinite = numbers.some((x) => !Number.isFinite(x) && !Number.isNaN(x));
  return [...(numbers.some(Number.isNaN) ? ["nan"] : []), ...(infinite ? ["inf"] : [])].join(", ");
}
