// The step just taken, in words and numbers.

function now(run, moment) {
  const { step } = moment;
  if (!step) return opening(run);
  if (step.phase === "forward") return computing(run, step);
  if (step.phase === "update") return updating(run, moment);
  const parts = step.sender ? [...sending(run, step), ...arriving(run, step)] : [seeding(step)];
  if (step.number === run.decisive() && step.mode === "add") parts.push(...point(run, step));
  if (step.number === run.forward.length + run.pass(step.mode).length) parts.push(verdict(run, step.mode));
  return parts;
}

// -- before the first step: what will happen, and why it matters --------------------------------------------

function opening(run) {
  const count = run.forward.length === 1 ? "1 value is" : `${run.forward.length} values are`;
  const sent = contributions(run.pass("add").length);
  const forward = `First ${count} computed, from the leaves on. Then ${sent} will go backward from `;
  const rule = ", one at a time: a node sends to each operand the local derivative times its own gradient.";
  const agree = () => paragraph("verdict", "Here ", code("+="), " and ", code("="), " give the same gradients.");
  const keys = "Press Play, or go step by step with the arrow keys. ";
  const mode = [html("kbd", {}, "m"), " changes the engine: ", code("+="), ", ", code("="), ", or recursion."];
  return [
    paragraph("", forward, code(run.root.name), rule),
    ...(run.wrong("overwrite").length ? warning(run) : [agree()]),
    ...oddWords(run),
    paragraph("muted", keys, ...mode),
  ];
}

function warning(run) {
  const wrong = run.wrong("overwrite");
  const example = wrong.find((node) => run.leaves.includes(node)) ?? wrong[0];
  const wrongly = run.pass("overwrite").end(example.index);
  const ends = ["With ", code("+="), " it ends at ", amount(run.truth[example.index]), ", which is right. "];
  const fails = ["With ", code("="), " it ends at ", amount(wrongly), "."];
  const parts = [paragraph("verdict", ...uses(run, example), ...ends, ...fails)];
  if (wrong.length === 1) return parts;
  const all = ` gets ${wrong.length} of ${run.nodes.length} gradients wrong.`;
  return [...parts, paragraph("", "In all, ", code("="), all)];
}

function uses(run, node) {
  const pass = run.pass("add");
  const sent = pass.to(node.index).map((i) => amount(pass.contribution(i), "chip"));
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

// Where nan or inf first came into the forward pass: usually the cause of what is odd later.
function oddWords(run) {
  const node = run.firstOdd();
  if (!node) return [];
  const from = node.parents.map((i) => run.nodes[i]);
  const operands = [...new Set(from)].map((parent) => html("span", {}, code(parent.name), " = ", amount(parent.data)));
  const rest = operands.length ? [", from ", ...between(operands, ", ")] : [", a leaf"];
  const first = [code(node.title), " = ", amount(node.data)];
  return [paragraph("verdict bad", "The first value that is not finite: ", ...first, ...rest, ".")];
}

// -- the forward pass ---------------------------------------------------------------------------------------

function computing(run, { node }) {
  const operands = [...new Set(node.parents)].map((i) => run.nodes[i]);
  const names = operands.map((parent) => bold(parent.name));
  const parts = [
    paragraph("", "Forward: ", bold(node.name), " is computed from ", ...between(names, ", "), ":"),
  ];
  if (isArray(node.data)) {
    const given = operands.map((parent) => [[code(parent.name)], amount(parent.data)]);
    parts.push(list(...given, [["= ", code(node.formula)], result(node.data)]));
  } else {
    const given = operands.map((parent) => html("span", {}, code(parent.name), " = ", amount(parent.data)));
    parts.push(paragraph("update", code(node.formula), " = ", result(node.data)));
    parts.push(paragraph("muted", ...between(given, ", ")));
  }
  if (node === run.firstOdd()) parts.push(...oddWords(run));
  if (node === run.root) parts.push(paragraph("muted", "This is the root. The backward pass starts here."));
  return parts;
}

// -- the update ---------------------------------------------------------------------------------------------

function updating(run, { step, at, mode }) {
  const { node, before, after, contribution, words } = step;
  const gradient = contribution ? amount(contribution) : html("i", { class: "muted" }, "no gradient");
  const lines = isArray(before)
    ? [list([["before"], amount(before)], [["gradient"], gradient], [["after"], result(after)])]
    : [paragraph("update", amount(before), " → ", result(after)), paragraph("muted", "Its gradient: ", gradient)];
  const by = code(words.replaceAll("{}", () => node.name));
  const parts = [paragraph("", "Update: ", bold(node.name), " by ", by), ...lines];
  return at === run.length(mode) ? [...parts, ...afterUpdate(run, mode)] : parts;
}

function afterUpdate(run, mode) {
  const moved = run.rootAfterUpdate(mode);
  if (!moved) return [];
  const before = run.root.data;
  const way = moved.value < before.value ? "lower" : moved.value > before.value ? "higher" : "the same";
  const would = [code(run.root.name), " would be ", result(moved)];
  return [paragraph("verdict", "With these values ", ...would, `: ${way}, from `, amount(before), ".")];
}

// -- a step of the backward pass ----------------------------------------------------------------------------

function seeding({ receiver, contribution }) {
  const start = ["The pass starts at the end: ", code(`${receiver.name}.grad`), " = ", result(contribution)];
  if (contribution.short !== "1") return paragraph("", ...start, ", the seed that was given.");
  const name = () => html("i", {}, receiver.name);
  return paragraph("", ...start, ", because d", name(), "/d", name(), " is 1.");
}

function sending(run, step) {
  const { sender, receiver, contribution, edge } = step;
  const sentence = paragraph("", bold(sender.name), " sends to ", bold(receiver.name), ":");
  const blocked = run.blocked[edge.index];
  const why = blocked ? [paragraph("blocked", "Blocked: ", bold(blocked), ".")] : [];
  if (step.ruleKind === "own") return [sentence, ...measured(step), ...why];
  if (step.local === null) {
    const term = step.ruleKind === "code" ? code(step.rule) : `by ${step.rule}`;
    return [sentence, list([["contribution ", term], result(contribution)]), ...thumbnails(step), ...why];
  }
  const body = isArray(contribution) ? elementwise(step) : product(step);
  const summed = step.summed ? [paragraph("muted", "Broadcasting is undone: summed over ", step.summed, ".")] : [];
  return [sentence, body, ...summed, ...thumbnails(step), ...why];
}

// What is sent and what it meets, as small heat maps, where these are too large to be written out.
function thumbnails({ upstream, contribution, after }) {
  if (!contribution.more) return [];
  const shown = [["upstream", upstream], ["contribution", contribution], ["grad after", after]];
  const drawn = shown.filter(([, quantity]) => quantity?.grid);
  const scale = heatScale(...drawn.map(([, { grid }]) => grid)); // one for all, so that they compare
  const figures = drawn.map(([name, { grid }]) => {
    return html("figure", {}, html("figcaption", {}, name), heatMap(grid, { small: true, label: name, scale }));
  });
  return [html("div", { class: "maps" }, ...figures)];
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

function arriving(run, step) {
  const { receiver, before, contribution, mode } = step;
  const taken = isArray(contribution) ? "contribution" : amount(contribution);
  const line = paragraph("update", code(`${receiver.name}.grad ${MODES[mode].operator} `), taken);
  const early = mode === "recursion" ? tooEarly(run, step) : [];
  if (!before) return [line, paragraph("muted", "The first to arrive."), ...early];
  return mode === "overwrite" ? [line, replacement(step), loss(before)] : [line, sum(step), ...early];
}

// What recursion does wrong at a step: the sender's gradient is not complete yet, or was sent before.
function tooEarly(run, { sender, place }) {
  const pass = run.pass("recursion");
  const again = pass.earlierOnEdge[place] >= 0;
  const later = pass.last[sender.index] > place;
  const twice = " has sent along this edge before, and sends all that it holds again.";
  if (again) return [paragraph("wrong", bold(sender.name), twice)];
  return later ? [paragraph("wrong", "Too early: more is still to come to ", code(`${sender.name}.grad`), ".")] : [];
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
  const struck = lost ? "s" : "span";
  if (isArray(after)) return list([["before"], amount(before, "short", struck)], [["after"], result(after)]);
  return paragraph("update", lost ? html("s", {}, amount(before)) : amount(before), " → ", result(after));
}

function inSum(quantity) {
  return quantity.sign < 0 ? html("span", {}, "(", amount(quantity), ")") : amount(quantity);
}

function loss(before) {
  if (before.sign === 0) return paragraph("muted", "Nothing is lost: it was 0.");
  return paragraph("wrong", bold(`${isArray(before) ? "What it held" : before.short} is lost.`));
}

// At the step that the page opens with: what one character would change.
function point(run, { receiver, before, contribution }) {
  if (!before) return [];
  const wrongly = run.pass("overwrite").end(receiver.index);
  if (wrongly === run.truth[receiver.index]) return [];
  const held = isArray(before) ? "what it held" : html("s", {}, amount(before));
  const ends = isArray(wrongly) ? ["."] : [", and ", ...wrongEnd(receiver, wrongly, run.truth[receiver.index])];
  const instead = ["Two contributions meet here. With ", code("="), " in the place of ", code("+="), ", "];
  return [
    paragraph("verdict", ...instead, held, " would be lost", ...ends, " Nothing would raise."),
    paragraph("muted", "Go back with ← , to the start with Home; ", html("kbd", {}, "m"), " changes the engine."),
  ];
}

function wrongEnd({ name }, wrong, right) {
  return [code(`${name}.grad`), " would end at ", html("b", { class: "wrong" }, amount(wrong)), " in place of ", amount(right), "."];
}

function verdict(run, mode) {
  if (mode === "add") return paragraph("verdict", "The pass is over: every contribution was added up.");
  const wrong = run.wrong(mode);
  const { nodes } = run;
  const { cut } = run.pass(mode);
  const all = cut < 1e12 ? countText(cut) : cut < 1e300 ? shortText(cut, 3) : "more than 10^300";
  const needed = run.pass("add").length;
  const long = `Stopped here: this recursion takes ${all} steps in all, where the right order takes ${needed}. `;
  const stopped = cut ? long : "";
  const harmless = mode === "overwrite"
    ? "in this graph = did no harm."
    : "in this graph no inner node is used twice, so the order did no harm.";
  if (!wrong.length) return paragraph("verdict", stopped, `The pass is over, and ${harmless}`);
  const verb = wrong.length > 1 ? "are" : "is";
  const over = cut ? "" : "The pass is over, and ";
  const names = between(wrong.slice(0, 3).map((node) => bold(node.name)), ", ");
  const count = `${over}${wrong.length} of ${nodes.length} gradients ${verb} wrong: `;
  return paragraph("verdict bad", stopped, count, ...names, wrong.length > 3 ? ", …" : ".", " No error was raised.");
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
  if (!step) return `Start: ${run.forward.length} values to compute, then ${contributions(run.pass("add").length)}.`;
  if (step.phase === "forward") return `Step ${step.number}, forward: ${step.node.title} is ${step.node.data.short}.`;
  if (step.phase === "update") {
    return `Step ${step.number}, update: ${step.node.name} from ${step.before.short} to ${step.after.short}.`;
  }
  const { sender, receiver, before, contribution, after } = step;
  const sent = sender ? `${sender.name} sends ${contribution.short} to ${receiver.name}; ` : "the seed; ";
  const lost = mode === "overwrite" && before && before.sign !== 0 ? ` ${before.short} is lost.` : "";
  const wrong = mode === "add" ? "" : `, wrong gradients: ${run.wrong(mode).length}`;
  const end = step.number === run.forward.length + run.pass(mode).length ? ` End of the pass${wrong}.` : "";
  return `Step ${step.number}: ${sent}${receiver.name}.grad is ${after.short}.${lost}${end}`;
}
