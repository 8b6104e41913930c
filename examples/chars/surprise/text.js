// The text coloured by surprise: one element for each run of characters that look the same, in blocks of some lines, so
// that the browser finds a character fast; and a frame over the character that is pointed at or picked.

const BLOCK = 2000; // characters, about: a block ends with a line

// Puts the text into `place`.
//   characters  the text, an array of characters
//   classOf     the class of the character at a place
//   onPoint     called with the place under the pointer, or null
//   onPick      called with a place that was clicked
// Returns { mark, lineOf, below }: mark(name, at) puts the frame "pointed" or "picked" over a place, or takes it away for
// null, and returns it; lineOf(at) is [line, column], both from 1; below(at, by) is the place so many lines further down.
function colouredText(place, characters, classOf, onPoint, onPick) {
  const starts = []; // of the runs
  const nodes = []; // their texts
  const runs = new Map(); // from the text to the number of the run
  const lines = [0]; // where each starts
  const blocks = [html("div", { class: "block" })];
  for (let start = 0; start < characters.length; ) {
    const look = classOf(start);
    let end = start + 1;
    while (end < characters.length && characters[end] !== "\n" && characters[start] !== "\n" && classOf(end) === look) end++;
    const text = document.createTextNode(characters.slice(start, end).join(""));
    const isNewline = characters[start] === "\n";
    blocks.at(-1).append(html("span", { class: isNewline ? `${look} newline` : look }, text));
    if (isNewline) {
      lines.push(end);
      if (end >= blocks.length * BLOCK && end < characters.length) blocks.push(html("div", { class: "block" }));
    }
    runs.set(text, starts.length);
    starts.push(start);
    nodes.push(text);
    start = end;
  }
  const frames = {};
  for (const name of ["pointed", "picked"]) {
    frames[name] = html("div", { class: `at ${name}`, hidden: "" });
  }
  const layer = html("div", { class: "layer", "aria-hidden": "true" }, ...Object.values(frames));
  place.append(html("div", { class: "sheet" }, ...blocks, layer)); // in a layer, so that they disturb no text

  // The number of the last of the sorted `numbers` that is not above x.
  function lastNotAbove(numbers, x) {
    let low = 0;
    let high = numbers.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (numbers[middle] <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Where a character is on the screen.
  function rectangle(at) {
    const run = lastNotAbove(starts, at);
    const node = nodes[run];
    if (characters[at] === "\n") return node.parentElement.getClientRects()[0];
    const range = document.createRange();
    const from = characters.slice(starts[run], at).join("").length; // a character may be two units of a string
    range.setStart(node, from);
    range.setEnd(node, from + characters[at].length);
    const found = [...range.getClientRects()];
    return found.findLast((each) => each.width > 0) ?? found[0];
  }

  // The place that is drawn at a point, or null.
  function placeAt(x, y) {
    const under = document.elementFromPoint(x, y);
    const run = runs.get(under?.firstChild);
    if (run === undefined) return null;
    if (under.classList.contains("newline")) return starts[run];
    const caret = document.caretPositionFromPoint?.(x, y);
    const range = caret ? null : document.caretRangeFromPoint?.(x, y);
    const units = caret?.offset ?? range?.startOffset ?? 0;
    const count = Array.from(nodes[run].data.slice(0, units)).length;
    const end = run + 1 < starts.length ? starts[run + 1] : characters.length;
    const near = [starts[run] + count, starts[run] + count - 1].filter((at) => at >= starts[run] && at < end);
    return near.find((at) => holds(rectangle(at), x, y)) ?? null;
  }

  function mark(name, at) {
    const frame = frames[name];
    const box = at === null ? null : rectangle(at);
    frame.hidden = !box;
    if (!box) return frame;
    const origin = layer.getBoundingClientRect();
    Object.assign(frame.style, {
      left: `${box.left - origin.left}px`,
      top: `${box.top - origin.top}px`,
      width: `${box.width}px`,
      height: `${box.height}px`,
    });
    return frame;
  }

  place.addEventListener("pointermove", (event) => onPoint(placeAt(event.clientX, event.clientY)));
  place.addEventListener("pointerleave", () => onPoint(null));
  place.addEventListener("click", (event) => {
    const at = placeAt(event.clientX, event.clientY);
    if (at !== null) onPick(at);
  });

  function lineOf(at) {
    const line = lastNotAbove(lines, at);
    return [line + 1, at - lines[line] + 1];
  }

  // The place in another line, in the same column or the last that it has.
  function below(at, by) {
    const [line, column] = lineOf(at);
    const other = line - 1 + by;
    if (other < 0 || other >= lines.length) return at;
    const end = (lines[other + 1] ?? characters.length) - 1;
    return Math.max(Math.min(lines[other] + column - 1, end), lines[other]);
  }

  return { mark, lineOf, below };
}

function holds(box, x, y) {
  return box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
}
