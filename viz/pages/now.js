// The step just taken, in words and numbers.

function now(run, moment) {
  const { step, mode } = moment;
  if (!step) return opening(run);
  const parts = step.sender ? [...sending(step), ...arriving(step, mode)] : [seeding(step)];
  if (moment.ended) parts.push(verdict(run, mode));
  return parts;
}

// -- before the first step: what will happen, and why it matters -------------------------------------------------------

function opening(run) {
  const root = code(run.root.name);
  const parts = [
    paragraph("", `${contributions(run.length)} will go backward from `, root, ", one at a time. A node sends to each ",
      "operand the local derivative times its own gradient."),
  ];
  if (run.wrong.length) parts.push(...warning(run));
  else parts.push(paragraph("verdict", "Each gradient here gets one contribution, so ", code("+="), " and ", code("="), " agree."));
  parts.push(paragraph("muted", "Press the right arrow key, or play."));
  return parts;
}

function warning(run) {
  const example = run.wrong.find((node) => run.isNamedLeaf(node)) ?? run.wrong[0];
  const wrongly = run.moment("overwrite", run.length).gradients[example.index];
  const parts = [
    paragraph("verdict", ...uses(run, example), "With ", code("+="), " it ends at ", amount(run.truth[example.index]),
      ", which is right. With ", code("="), " it ends at ", amount(wrongly), "."),
  ];
  if (run.wrong.length > 1) {
    parts.push(paragraph("", "In all, ", code("="), ` gets ${run.wrong.length} of ${run.nodes.length} gradients wrong.`));
  }
  return parts;
}

function uses(run, node) {
  const sent = run.ledger("add", run.length, node).map(({ step }) => amount(step.contribution, "chip"));
  if (sent.length === 1) return [code(`${node.name}.grad`), " depends on a gradient that = spoils. "];
  const which = sent.length > 4 ? [] : [": ", ...between(sent, " and ")];
  return [bold(node.name), ` is used ${sent.length} times, so ${sent.length} contributions meet in `, code(`${node.name}.grad`), ...which, ". "];
}

// -- a step ------------------------------------------------------------------------------------------------------------

function seeding({ receiver, contribution }) {
  const grad = code(`${receiver.name}.grad`);
  if (contribution.short !== "1") return paragraph("", "The pass starts with ", grad, " = ", result(contribution), ", the seed that was given.");
  const name = () => html("i", {}, receiver.name);
  return paragraph("", "The pass starts at the end: ", grad, " = ", result(contribution), ", because d", name(), "/d", name(), " is 1.");
}

function sending(step) {
  const { sender, receiver, contribution } = step;
  const sentence = paragraph("", bold(sender.name), " sends to ", bold(receiver.name), ":");
  if (step.local === null) {
    return [sentence, list(["rule", code(step.rule)], ["contribution", result(contribution)])];
  }
  return [sentence, isArray(contribution) ? elementwise(step) : product(step)];
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
    ["local", code(localText), " = ", amount(local)],
    ["× upstream", code(`${sender.name}.grad`), " = ", amount(upstream)],
    ["= contribution", result(contribution)],
  );
}

function arriving({ receiver, before, contribution, after }, mode) {
  const grad = code(`${receiver.name}.grad`);
  const parts = [paragraph("update", grad, ` ${OPERATORS[mode]} `, isArray(contribution) ? "contribution" : amount(contribution))];
  if (!before) parts.push(paragraph("update", "The first to arrive: ", code(`${receiver.name}.grad`), " is ", result(after)));
  else if (isArray(contribution)) parts.push(list(["was", amount(before)], ["is now", result(after)]));
  else if (mode === "add") parts.push(paragraph("update", amount(before), " + ", inSum(contribution), " = ", result(after)));
  else parts.push(paragraph("update", html("s", {}, amount(before)), " → ", result(after)));
  if (before && mode === "overwrite") parts.push(loss(before));
  return parts;
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
  if (!run.wrong.length) return paragraph("verdict", "The pass is over, and in this graph = did no harm.");
  const names = run.wrong.slice(0, 3).map((node) => bold(node.name));
  const are = run.wrong.length === 1 ? "gradient is" : "gradients are";
  return paragraph("verdict bad", `The pass is over, and ${run.wrong.length} of ${run.nodes.length} ${are} wrong: `,
    ...between(names, ", "), run.wrong.length > names.length ? ", …" : "", ". No error was raised.");
}

function contributions(count) {
  return count === 1 ? "1 contribution" : `${count} contributions`;
}

function list(...entries) {
  const rows = entries.flatMap(([term, ...what]) => [html("dt", {}, term), html("dd", {}, ...what)]);
  return html("dl", { class: "lines" }, ...rows);
}

// -- the same in one sentence, for screen readers ----------------------------------------------------------------------

function narration(run, moment) {
  const { step, mode } = moment;
  if (!step) return `Start of the backward pass, ${contributions(run.length)} to come.`;
  const { sender, receiver, before, contribution, after } = step;
  const sent = sender ? `${sender.name} sends ${contribution.short} to ${receiver.name}; ` : "the seed; ";
  const lost = mode === "overwrite" && before && before.sign !== 0 ? ` ${before.short} is lost.` : "";
  const end = !moment.ended ? "" : mode === "add" ? " End of the pass." : ` End of the pass, wrong gradients: ${run.wrong.length}.`;
  return `Step ${step.number}: ${sent}${receiver.name}.grad is ${after.short}.${lost}${end}`;
}
