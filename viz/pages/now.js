// The step just taken, in words and numbers.

function now(run, moment) {
  const { step, mode } = moment;
  if (!step) return opening(run);
  const parts = step.sender ? [...sending(step), ...arriving(step, mode)] : [seeding(step)];
  if (moment.ended) parts.push(verdict(run, mode));
  return parts;
}

// -- before the first step: what will happen, and why it matters --------------------------------------------

function opening(run) {
  const count = `${contributions(run.length)} will go backward from `;
  const rule = ", one at a time: a node sends to each operand the local derivative times its own gradient.";
  const agree = () => paragraph("verdict", "Here ", code("+="), " and ", code("="), " give the same gradients.");
  const keys = "Press Play, or go step by step with the arrow keys. ";
  const mode = [html("kbd", {}, "m"), " switches between ", code("+="), " and ", code("="), "."];
  return [
    paragraph("", count, code(run.root.name), rule),
    ...(run.wrong.length ? warning(run) : [agree()]),
    paragraph("muted", keys, ...mode),
  ];
}

function warning(run) {
  const example = run.wrong.find((node) => run.leaves.includes(node)) ?? run.wrong[0];
  const wrongly = run.moment("overwrite", run.length).gradients[example.index];
  const ends = ["With ", code("+="), " it ends at ", amount(run.truth[example.index]), ", which is right. "];
  const fails = ["With ", code("="), " it ends at ", amount(wrongly), "."];
  const parts = [paragraph("verdict", ...uses(run, example), ...ends, ...fails)];
  if (run.wrong.length === 1) return parts;
  const all = ` gets ${run.wrong.length} of ${run.nodes.length} gradients wrong.`;
  return [...parts, paragraph("", "In all, ", code("="), all)];
}

function uses(run, node) {
  const sent = run.ledger("add", run.length, node).map(({ step }) => amount(step.contribution, "chip"));
  const grad = code(`${node.name}.grad`);
  if (sent.length === 1) return [grad, " comes from a gradient that ", code("="), " gets wrong. "];
  const which = sent.length > 4 ? [] : [": ", ...enumeration(sent)];
  const used = ` is used ${sent.length} times: ${sent.length} contributions meet in `;
  return [bold(node.name), used, grad, ...which, ". "];
}

// Two or more items: a, b and c.
function enumeration(items) {
  return [...between(items.slice(0, -1), ", "), " and ", items[items.length - 1]];
}

// -- a step -------------------------------------------------------------------------------------------------

function seeding({ receiver, contribution }) {
  const start = ["The pass starts at the end: ", code(`${receiver.name}.grad`), " = ", result(contribution)];
  if (contribution.short !== "1") return paragraph("", ...start, ", the seed that was given.");
  const name = () => html("i", {}, receiver.name);
  return paragraph("", ...start, ", because d", name(), "/d", name(), " is 1.");
}

function sending(step) {
  const { sender, receiver, contribution } = step;
  const sentence = paragraph("", bold(sender.name), " sends to ", bold(receiver.name), ":");
  if (step.ruleKind === "own") return [sentence, ...measured(step)];
  if (step.local === null) {
    const term = step.ruleKind === "code" ? code(step.rule) : `by ${step.rule}`;
    return [sentence, list([["contribution ", term], result(contribution)])];
  }
  return [sentence, isArray(contribution) ? elementwise(step) : product(step)];
}

// A rule of the user's own says nothing of how it comes to what it sends.
function measured({ sender, contribution }) {
  const term = ["contribution of ", code(sender.name), "’s own rule"];
  return [list([term, result(contribution)]), paragraph("muted", "Measured: the rule was run on emptied gradients.")];
}

function product({ sender, contribution, local, localText, upstream }) {
  const caption = (text = "") => html("small", {}, text);
  return html("div", { class: "equation" },
    code(localText), "×", code(`${sender.name}.grad`), caption(), caption(),
    amount(local), "×", amount(upstream), "=", result(contribution),
    caption("local"), caption(), caption("upstream"), caption(), caption("contribution"));
}

function elementwise({ sender, contribution, local, localText, upstream }) {
  return list(
    [["local ", code(localText)], amount(local)],
    [["× upstream ", code(`${sender.name}.grad`)], amount(upstream)],
    [["= contribution"], result(contribution)],
  );
}

function arriving(step, mode) {
  const { receiver, before, contribution } = step;
  const taken = isArray(contribution) ? "contribution" : amount(contribution);
  const line = paragraph("update", code(`${receiver.name}.grad ${OPERATORS[mode]} `), taken);
  if (!before) return [line, paragraph("muted", "The first to arrive.")];
  return mode === "add" ? [line, sum(step)] : [line, replacement(step), loss(before)];
}

function sum({ before, contribution, after }) {
  if (isArray(contribution)) {
    const added = contribution.rows ? [[["+ contribution"], amount(contribution)]] : []; // a summary says it once
    return list([["before"], amount(before)], ...added, [["= after"], result(after)]);
  }
  return paragraph("update", amount(before), " + ", inSum(contribution), " = ", result(after));
}

function replacement({ before, after }) {
  const lost = before.sign !== 0;
  if (isArray(after)) return list([["before"], amount(before, "short", lost ? "s" : "span")], [["after"], result(after)]);
  return paragraph("update", lost ? html("s", {}, amount(before)) : amount(before), " → ", result(after));
}

function inSum(quantity) {
  return quantity.sign < 0 ? html("span", {}, "(", amount(quantity), ")") : amount(quantity);
}

function loss(before) {
  if (before.sign === 0) return paragraph("muted", "Nothing is lost: it was 0.");
  return paragraph("wrong", bold(`${isArray(before) ? "What it held" : before.short} is lost.`));
}

function verdict(run, mode) {
  if (mode === "add") return paragraph("verdict", "The pass is over: every contribution was added up.");
  const { wrong, nodes } = run;
  if (!wrong.length) return paragraph("verdict", "The pass is over, and in this graph = did no harm.");
  const verb = wrong.length > 1 ? "are" : "is";
  const count = `The pass is over, and ${wrong.length} of ${nodes.length} gradients ${verb} wrong: `;
  const names = between(wrong.slice(0, 3).map((node) => bold(node.name)), ", ");
  return paragraph("verdict bad", count, ...names, wrong.length > 3 ? ", …" : ".", " No error was raised.");
}

function contributions(count) {
  return count === 1 ? "1 contribution" : `${count} contributions`;
}

function list(...entries) {
  const rows = entries.flatMap(([term, value]) => [html("dt", {}, ...term), html("dd", {}, value)]);
  return html("dl", { class: "lines" }, ...rows);
}

// -- the same in one sentence, for screen readers -----------------------------------------------------------

function narration(run, moment) {
  const { step, mode } = moment;
  if (!step) return `Start of the backward pass, ${contributions(run.length)} to come.`;
  const { sender, receiver, before, contribution, after } = step;
  const sent = sender ? `${sender.name} sends ${contribution.short} to ${receiver.name}; ` : "the seed; ";
  const lost = mode === "overwrite" && before && before.sign !== 0 ? ` ${before.short} is lost.` : "";
  const wrong = mode === "add" ? "" : `, wrong gradients: ${run.wrong.length}`;
  const end = moment.ended ? ` End of the pass${wrong}.` : "";
  return `Step ${step.number}: ${sent}${receiver.name}.grad is ${after.short}.${lost}${end}`;
}
