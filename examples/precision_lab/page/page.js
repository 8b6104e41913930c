// The page: what is shown, the controls that change it, and its place in the address.

const data = JSON.parse(byId("data").textContent);
const groups = data.groups.map(prepare);
const kinds = data.formats;
const [whole] = groups;
const { slider } = data;
const span = chartSpan(whole, slider);
const parts = data.parts.map((i) => groups[i]);
const WAY = "GradScaler chooses the scale while a model is trained: it starts at 65,536, and halves it at each step at which something overflows.";
const MOST_ROWS = 60; // of the table of parts

const state = {}; // group, kind, power (of two, the scale), linear

const keyOf = (group) => (group.kind === "all" ? "" : `${group.kind}:${group.name}`);

// -- what is shown ------------------------------------------------------------------------------------------

function show() {
  const { group, kind, power } = state;
  const scale = byId("scale");
  scale.value = power;
  scale.setAttribute("aria-valuetext", `${scaleText(power)}, 2 to the power of ${power}`);
  byId("scale-is").replaceChildren(scaleText(power), " = ", ...powerOf(power));
  byId("bars").replaceChildren(...scaleBars(group, kinds, slider));
  draw();
  write(byId("outcome"), outcomeText(group, kind, power));
  write(byId("best"), bestText(group, kind));
  write(byId("digits"), digitsText(kind));
  write(byId("step"), stepText(whole, kind, power));
  byId("formats").tBodies[0].replaceChildren(...formatRows(group, kinds, state));
  showParts();
  byId("group").value = groups.indexOf(group);
  for (const input of document.querySelectorAll("#kinds input")) input.checked = kinds[input.value] === kind;
  for (const input of document.querySelectorAll("#axis input")) input.checked = (input.value === "linear") === state.linear;
}

function draw() {
  const place = byId("chart");
  const width = Math.max(260, Math.floor(place.clientWidth));
  place.replaceChildren(histogram(width, state, kinds, span));
}

function showParts() {
  write(byId("parts-of"), `Where ${state.kind.name} loses at this scale`);
  const body = byId("parts").tBodies[0];
  const focused = [...body.querySelectorAll("button")].indexOf(document.activeElement);
  body.replaceChildren(...groupRows(parts.slice(0, MOST_ROWS), state, (group) => change({ group: group === state.group ? whole : group })));
  if (focused >= 0) body.querySelectorAll("button")[focused].focus({ preventScroll: true });
}

// -- changing it --------------------------------------------------------------------------------------------

let telling = 0;

function change(what) {
  Object.assign(state, what);
  if (what.kind) write(byId("way"), WAY);
  show();
  clearTimeout(telling); // one sentence at the end of a movement, not one for each of its steps
  telling = setTimeout(() => write(byId("told"), `${byId("outcome").textContent} ${byId("step").textContent}`), 400);
  writeFields({
    scale: state.power === slider.start ? "" : typedText(2 ** state.power),
    format: state.kind === kinds[0] ? "" : state.kind.name,
    group: keyOf(state.group),
    count: state.linear ? "linear" : "",
  });
}

// What an address asks for, or what the page opens with.
function asked() {
  const fields = readFields();
  const power = Math.log2(typedNumber(fields.scale ?? "") ?? NaN);
  const fits = Number.isInteger(power) && power >= slider.least && power <= slider.most;
  return {
    power: fits ? power : slider.start,
    kind: kinds.find((one) => one.name === fields.format) ?? kinds[0],
    group: groups.find((one) => keyOf(one) === (fields.group ?? "")) ?? whole,
    linear: fields.count === "linear",
  };
}

function runGradScaler() {
  const way = halvings(whole, state.kind, GRAD_SCALER.start);
  const [power] = whole.odd ? [GRAD_SCALER.start] : way.at(-1);
  change({ power: Math.max(slider.least, Math.min(power, slider.most)) });
  write(byId("way"), wayText(whole, state.kind));
}

// -- controls -----------------------------------------------------------------------------------------------

function radios(place, name, items, selected, chosen) {
  for (const [value, text] of items) {
    const input = html("input", { type: "radio", name, value });
    input.checked = value === selected;
    input.addEventListener("change", () => chosen(value));
    place.append(html("label", {}, input, html("span", { "data-text": text }, text)));
  }
}

function fillChoice() {
  const choice = byId("group");
  const option = (group) => html("option", { value: groups.indexOf(group) }, group.name);
  choice.append(html("option", { value: 0 }, "all parts"));
  for (const [kind, name] of [["block", "Blocks"], ["array", "Arrays"]]) {
    const found = groups.filter((group) => group.kind === kind);
    if (found.length) choice.append(furnish(html("optgroup", { label: name }), {}, found.map(option)));
  }
  choice.addEventListener("change", () => change({ group: groups[choice.value] }));
}

function fillPage() {
  fillChoice();
  radios(byId("kinds"), "kind", kinds.map((kind, i) => [i, kind.name]), 0, (i) => change({ kind: kinds[i] }));
  radios(byId("axis"), "axis", [["log", "log counts"], ["linear", "linear"]], "log", (value) => change({ linear: value === "linear" }));
  furnish(byId("scale"), { min: slider.least, max: slider.most, step: 1 }, []);
  byId("ticks").append(...scaleTicks(slider));
  placeStart(byId("starts"), slider);
  byId("key").append(...chartKey());
  byId("said").append(...data.said.map((sentence) => paragraph("", sentence)));
  byId("ranges").append(...kinds.map((kind) => html("li", {}, rangeText(kind))));
  write(byId("way"), WAY);
  byId("parts-of").hidden = byId("parts").hidden = parts.length < 2;
  write(byId("parts-more"), parts.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${countText(parts.length)}; all can be chosen above.` : "");
}

byId("scale").addEventListener("input", (event) => change({ power: Number(event.target.value) }));
byId("scaler").addEventListener("click", runGradScaler);
byId("theme").addEventListener("click", () => setTheme(!isDark()));
byId("theme").setAttribute("aria-pressed", isDark());
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  if (event.key === "d") setTheme(!isDark());
  if (event.key === "g") runGradScaler();
});
addEventListener("hashchange", () => change(asked()));

fillPage();
Object.assign(state, asked());
show();
new ResizeObserver(draw).observe(byId("chart"));
