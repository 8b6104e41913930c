// The panel below the step: the line that runs, where a gradient comes from, all gradients.

const MOST_ROWS = 60;
const MOST_ENTRIES = 100; // of a ledger

function ruleLines(run, { step, mode }) {
  return run.siblings(mode, step).map((line) => {
    const text = scriptLine(line, mode) ?? ruleLine(line, mode);
    return html("span", line === step ? { class: "runs", "aria-current": "step" } : {}, text);
  });
}

function ruleLine({ receiver, rule, ruleKind }, mode) {
  const sent = ruleKind === "code" ? rule : `...  # ${rule}`;
  return `${receiver.name}.grad ${MODES[mode].operator} ${sent}`;
}

// As micrograd.script writes it: where nothing else arrives there is nothing to add to.
function scriptLine({ sender, receiver, edge }, mode) {
  const line = sender.line(edge.slot);
  return line && (mode === "overwrite" || receiver.uses === 1 ? line.replace("+=", "=") : line);
}

// -- where a gradient comes from ----------------------------------------------------------------------------

function ledgerTitle(node) {
  const shape = isArray(node.data) ? `, of shape ${node.data.shape},` : "";
  return ["Where ", code(`${node.name}.grad`), `${shape} comes from`];
}

function ledgerTable(run, moment, node) {
  if (node.constant) return paragraph("muted", "A constant takes no gradient.");
  const entries = run.ledger(moment.mode, moment.at, node);
  if (!entries.length) return paragraph("muted", "Nothing is sent to it.");
  const rows = entries.slice(0, MOST_ENTRIES).map((entry) => ledgerRow(entry, moment));
  const found = table(["from", "contribution", moment.mode === "overwrite" ? "holds" : "total"], rows);
  const rest = entries.length - rows.length;
  return rest ? html("div", {}, found, paragraph("muted", `and ${rest} more`)) : found;
}

function ledgerRow({ step, arrived, lost }, moment) {
  const from = html("td", {}, step.sender ? step.sender.title : "the seed");
  if (!arrived) return html("tr", { class: "to-come" }, from, html("td", {}, "to come"), html("td"));
  const sent = html("td", {}, oneLine(step.contribution));
  if (lost) sent.replaceChildren(html("s", {}, ...sent.children), html("span", { class: "wrong" }, " lost"));
  const row = html("tr", {}, from, sent, html("td", {}, oneLine(step.after)));
  row.classList.toggle("current", step === moment.step);
  return row;
}

// -- all gradients: built once, so that the focus stays where it is -----------------------------------------

class GradientTable {
  constructor(run, place, pin) {
    this.run = run;
    const nodes = run.nodes.length <= MOST_ROWS ? run.nodes : run.leaves.slice(0, MOST_ROWS);
    this.rows = nodes.map((node) => this.row(node, pin));
    this.truthHead = html("th", { scope: "col" }, "right is");
    this.checkHead = html("th", { scope: "col", title: "by finite differences of the forward pass" }, "check");
    const element = table(["node", "data", "grad"], this.rows.map((row) => row.element));
    element.querySelector("thead tr").append(this.checkHead, this.truthHead);
    place.replaceChildren(element);
    for (const note of notes(run)) place.append(paragraph("muted", note));
    const rest = run.nodes.length - nodes.length;
    const more = `and ${rest} more ${rest === 1 ? "node" : "nodes"}: choose one in the graph`;
    if (rest) place.append(paragraph("muted", more));
  }

  row(node, pin) {
    const name = html("button", { type: "button", title: `Where ${node.name}.grad comes from` }, node.name);
    name.addEventListener("click", () => pin(node));
    const cells = { data: html("td"), grad: html("td"), check: html("td"), truth: html("td") };
    return { node, ...cells, element: html("tr", {}, html("td", {}, name), ...Object.values(cells)) };
  }

  show(moment, current) {
    const over = moment.ended;
    const compare = over && this.run.wrong(moment.mode).length > 0;
    const checked = this.rows.some(({ node }) => this.run.difference(node));
    this.truthHead.hidden = !compare;
    this.checkHead.hidden = !checked || compare;
    for (const { node, data, grad, check, truth, element } of this.rows) {
      const quantity = moment.gradients[node.index];
      const missing = html("i", { class: "muted" }, gradientText(node, quantity));
      const value = amount(moment.updated(node) ?? node.data, "text");
      value.className = "amount"; // colour is for gradients
      data.replaceChildren(moment.computed(node) ? value : html("i", { class: "muted" }, "·"));
      grad.replaceChildren(quantity ? oneLine(quantity) : missing);
      check.hidden = this.checkHead.hidden;
      if (!check.hidden) this.showCheck(isComplete(this.run, moment, node) ? this.run.difference(node) : null, check);
      truth.hidden = !compare;
      if (compare) this.showTruth(node, truth, moment.mode);
      element.classList.toggle("current", node === current);
    }
  }

  showCheck(found, cell) {
    cell.className = found?.agrees === false ? "wrong" : "muted";
    const verdicts = { true: "✓ agrees", false: `✗ ${found?.text}`, null: "cannot tell" };
    write(cell, found ? verdicts[found.agrees] : "");
    cell.title = found ? `by finite differences ${found.text}` : "";
  }

  showTruth(node, cell, mode) {
    const wrong = this.run.wrong(mode).includes(node);
    const truth = this.run.truth[node.index];
    cell.className = wrong ? "wrong" : "muted";
    cell.replaceChildren(wrong ? html("b", {}, truth ? oneLine(truth) : gradientText(node, null)) : "same");
  }
}

// What the page leaves out, and why.
function notes({ source }) {
  const sampled = source.sampled ? ["There are so many arrays that heat maps of the last ones are coarse."] : [];
  return [...(source.unchecked ? [source.unchecked] : []), ...sampled];
}

function oneLine(quantity) {
  return amount(quantity, isArray(quantity) ? "chip" : "text");
}

// What stands where a gradient would: a node that takes none, and one that nothing has reached, differ from zero.
function gradientText(node, grad) {
  if (grad) return grad.text;
  return node.constant ? "constant" : "not yet";
}

function table(heads, rows) {
  const head = html("tr", {}, ...heads.map((text) => html("th", { scope: "col" }, text)));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows));
}
