// The panel below the step: the line that runs, where a gradient comes from, all gradients.

const MOST_ROWS = 60;

function ruleLines(run, { step, mode }) {
  return run.siblings(mode, step).map((line) => {
    const sent = line.ruleKind === "code" ? line.rule : `...  # ${line.rule}`;
    const text = `${line.receiver.name}.grad ${OPERATORS[mode]} ${sent}`;
    return html("span", line === step ? { class: "runs", "aria-current": "step" } : {}, text);
  });
}

// -- where a gradient comes from ----------------------------------------------------------------------------

function ledgerTitle(node) {
  const shape = isArray(node.data) ? `, of shape ${node.data.shape},` : "";
  return ["Where ", code(`${node.name}.grad`), `${shape} comes from`];
}

function ledgerTable(run, moment, node) {
  const entries = run.ledger(moment.mode, moment.at, node);
  if (node.constant) return paragraph("muted", "A constant takes no gradient.");
  if (!entries.length) return paragraph("muted", "Nothing is sent to it.");
  const rows = entries.map((entry) => ledgerRow(entry, moment));
  return table(["from", "contribution", moment.mode === "add" ? "total" : "holds"], rows);
}

function keptNote() {
  return paragraph("muted", "Kept in view. Choose the node again, or press Escape, to let it go.");
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
    const element = table(["node", "data", "grad"], this.rows.map((row) => row.element));
    element.querySelector("thead tr").append(this.truthHead);
    place.replaceChildren(element);
    const rest = run.nodes.length - nodes.length;
    if (rest) place.append(paragraph("muted", `and ${rest} more ${rest === 1 ? "node" : "nodes"}: choose one in the graph`));
  }

  row(node, pin) {
    const name = html("button", { type: "button", title: `Where ${node.name}.grad comes from` }, node.name);
    name.addEventListener("click", () => pin(node));
    const grad = html("td");
    const truth = html("td");
    const data = html("td", {}, amount(node.data, "text"));
    data.firstChild.className = "amount"; // colour is for gradients
    return { node, grad, truth, element: html("tr", {}, html("td", {}, name), data, grad, truth) };
  }

  show(moment, current) {
    const compare = moment.ended && moment.mode === "overwrite";
    this.truthHead.hidden = !compare;
    for (const { node, grad, truth, element } of this.rows) {
      const quantity = moment.gradients[node.index];
      const missing = html("i", { class: "muted" }, gradientText(node, quantity));
      grad.replaceChildren(quantity ? oneLine(quantity) : missing);
      truth.hidden = !compare;
      if (compare) this.showTruth(node, truth);
      element.classList.toggle("current", node === current);
    }
  }

  showTruth(node, cell) {
    const wrong = this.run.wrong.includes(node);
    cell.className = wrong ? "wrong" : "muted";
    cell.replaceChildren(wrong ? html("b", {}, oneLine(this.run.truth[node.index])) : "same");
  }
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
