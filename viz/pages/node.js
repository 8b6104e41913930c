// The panel's part on one node: what it holds, its heat maps, what can be done with it.

function nodePart(run, moment, node, pinned) {
  const parts = [paragraph("", ...valueWords(run, moment, node))];
  if (node.data.grid) parts.push(...maps(moment, node));
  if (node.data.shape !== undefined) parts.push(...asScalars(node));
  if (node.data.stats) parts.push(...statistics(moment, node));
  const kept = run.source.kept?.words[run.source.kept.of[node.index]];
  if (kept) parts.push(paragraph("muted", kept));
  const cut = run.source.cuts?.[node.index];
  if (cut) parts.push(paragraph("muted", cut));
  const check = run.difference(node);
  if (check && isComplete(run, moment, node)) parts.push(checkLine(check, isRight(run, moment, node)));
  if (run.editable && node.leaf && !node.constant) parts.push(editor(run, node));
  parts.push(jumps(run, moment, node));
  if (pinned) parts.push(paragraph("muted", "Kept in view. Choose the node again, or press Escape, to let it go."));
  return parts;
}

// Least, greatest, mean and norm of data and gradient.
function statistics(moment, node) {
  const grad = moment.gradients[node.index];
  const lines = [["data", node.data], ["grad", grad]].filter(([, quantity]) => quantity?.stats);
  return lines.map(([name, { stats }]) => paragraph("muted", `${name}: ${stats}`));
}

function valueWords(run, moment, node) {
  const shape = isArray(node.data) ? ` of shape ${node.data.shape}` : "";
  const type = node.data.dtype ? `, ${node.data.dtype}` : "";
  const words = node.leaf ? "a leaf" : node.formula;
  if (isArray(node.data)) return [`${words}${shape}${type}`];
  const updated = moment.updated(node);
  const waiting = html("i", { class: "muted" }, "not computed yet");
  const value = moment.computed(node) ? amount(updated ?? node.data) : waiting;
  return [`${words} = `, value];
}

// Data and gradient as heat maps; a cell that is picked is picked in both, and in the pane of scalars.
function maps(moment, node) {
  const grad = moment.gradients[node.index];
  const shown = [["data", node.data], ["grad", grad]].filter(([, quantity]) => quantity?.grid);
  const figures = shown.map(([name, { grid }]) => {
    const pickable = grid.exact && scalarPane?.node === node;
    const onPick = pickable ? (cell) => pickCell(node, cell) : undefined;
    const map = heatMap(grid, { label: `${node.name}, ${name}`, onPick });
    if (pickable && state.element !== null) map.pick(state.element);
    return html("figure", {}, html("figcaption", {}, name), map);
  });
  return [html("div", { class: "maps" }, ...figures)];
}

// The way to the same operation on Values, or why there is none.
function asScalars(node) {
  const why = scalarPane ? scalarPane.whyNot(node) : data.unfolded?.reason;
  if (why) return node.data.grid?.exact ? [paragraph("muted", `As scalars: ${why}.`)] : [];
  const button = html("button", { type: "button" }, "Open as scalars");
  button.addEventListener("click", () => {
    scalarPane.open(node);
    scalarPane.show(run.moment);
    hold(node);
  });
  return [button];
}

function pickCell(node, cell) {
  scalarPane.select(node, cell);
  pickElement(node, cell);
}

// Whether a gradient is all there; before that, what it should be would give the quiz away.
function isComplete(run, moment, node) {
  return moment.ended || isRight(run, moment, node);
}

function isRight(run, moment, node) {
  return moment.gradients[node.index] === run.truth[node.index];
}

// Differences were taken once, beside the right gradient; a wrong one they do not agree with.
function checkLine({ text, agrees, words }, right) {
  if (words) return paragraph(agrees ? "check" : "check wrong", right ? "" : "The right gradient: ", `${words}.`);
  const verdict = agrees === null ? "cannot tell" : agrees && right ? "agrees" : "does not agree";
  const looks = verdict === "does not agree" ? "check wrong" : "check";
  return paragraph(looks, "By finite differences: ", html("span", { class: "amount" }, text), `, ${verdict}.`);
}

// A field for another value of a leaf: both passes are run again in the page.
function editor(run, node) {
  const id = "leaf-value";
  const value = typedText(run.scalars.data[node.index]);
  const field = html("input", { id, type: "text", inputmode: "decimal", value, size: 10, autocomplete: "off" });
  const told = html("span", { class: "muted", role: "status" });
  const take = () => {
    const value = typedNumber(field.value);
    if (value === null) return write(told, "A number, please: 0.5, -2, 1e-3, inf.");
    write(told, "");
    field.defaultValue = field.value; // so it is no longer being typed
    if (document.activeElement === field) return edit(node, value);
    return setTimeout(() => edit(node, value)); // the focus is on its way to another control
  };
  field.addEventListener("change", take);
  const parts = [html("label", { for: id }, "value "), field, told];
  if (run.edits.has(node.index)) {
    const back = html("button", { type: "button" }, `back to ${scalar(run.original.data[node.index]).short}`);
    back.addEventListener("click", () => edit(node, null));
    parts.push(back);
  }
  return html("p", { class: "editor" }, ...parts);
}

// To the next and the previous write to this gradient, and on until all of it is there.
function jumps(run, moment, node) {
  const writes = run.writes(moment.mode, node);
  const button = (text, to) => {
    const element = html("button", { type: "button", "aria-disabled": to === undefined }, text);
    element.addEventListener("click", () => to !== undefined && take(to));
    return element;
  };
  const before = writes.filter((number) => number < moment.at).at(-1);
  const after = writes.find((number) => number > moment.at);
  return html("div", { class: "buttons jumps" },
    button("‹ write", before),
    button("write ›", after),
    button("run to here", writes.at(-1) === moment.at ? undefined : writes.at(-1)),
  );
}
