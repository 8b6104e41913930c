// The numbers as tables: all formats at this scale, and the parts of the model in the chosen format.

function formatRows(group, kinds, state) {
  return kinds.map((kind) => {
    const { lost, short, overflowed } = countedAt(group, kind, state.power);
    const cells = [lost, short, overflowed].map((n) => shareCell(n, group.nonzero));
    return row(kind === state.kind, html("th", { scope: "row" }, kind.name), ...cells, html("td", {}, ...scalesText(group, kind)));
  });
}

function row(isCurrent, ...cells) {
  return html("tr", isCurrent ? { class: "current" } : {}, ...cells);
}

function shareCell(n, all) {
  return html("td", {}, countText(n), html("small", {}, n ? shareOf(n, all) : "\u00a0"));
}

// The scales that suit, short: "2^4 to 2^17".
function scalesText(group, kind) {
  if (!group.nonzero) return ["any", html("small", {}, "\u00a0")];
  const { from, to } = bestScales(group, kind);
  if (from === null || to === null || from > to) {
    return ["none", html("small", {}, ...(to === null ? ["all overflow"] : ["overflow above ", ...powerOf(to)]))];
  }
  return [...powerOf(from), ...(from < to ? [" to ", ...powerOf(to)] : []), html("small", {}, "\u00a0")];
}

function powerOf(power) {
  return ["2", html("sup", {}, String(power).replace("-", MINUS_SIGN))];
}

// Rows that choose their group.
function groupRows(groups, state, choose) {
  return groups.map((group) => {
    const { lost, overflowed } = countedAt(group, state.kind, state.power);
    const name = html("button", { type: "button", title: "Show it alone" }, group.name);
    name.addEventListener("click", () => choose(group));
    const cells = [shareCell(lost, group.nonzero), shareCell(overflowed, group.nonzero)];
    const all = html("td", {}, countText(group.nonzero));
    return row(group === state.group, html("td", {}, name), all, ...cells);
  });
}
