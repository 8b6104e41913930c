// The page: takes the stack from the controls and the address, measures it, and shows what came out.

const SETTLED = 500; // milliseconds without a change, after which it is said aloud and the address is written
const KEEP_IT = "A curve that is kept stays while the stack changes.";
const SHORT_NAMES = { gradient: "gradient", weights: "at weights", signal: "signal", kept: "kept" };

let stack = data.stack;
let kept = null; // { stack, found } of the curve that stays
let limit = 1; // nanoGPT's
let found = null;
let placeAt = () => NaN;
let waiting = 0;
let settling = 0;

// -- the controls -------------------------------------------------------------------------------------------

function fillControls() {
  for (const [name, step] of [["layers", 1], ["scale", 0.05]]) {
    const [min, max] = data[name];
    furnish(byId(name), { min, max }, []);
    furnish(byId(`${name}-slider`), { min, max, step }, []);
  }
  for (const name of data.activations) {
    const input = html("input", { type: "radio", name: "activation", value: name });
    byId("activation").append(html("label", {}, input, html("span", {}, name)));
  }
  for (const name of Object.keys(data.initialisations)) {
    byId("initialisation").append(html("option", { value: name }, name));
  }
  byId("source").tBodies[0].append(...data.source.map(sourceRow));
  if (data.remark) byId("remark").append(data.remark);
}

function sourceRow(each) {
  const { layers, scale, residual, source, seeds } = each;
  const text = `${layers} layers, ${scale}, ${residual ? "residual" : "plain"}`;
  const button = html("button", { type: "button", "aria-pressed": "false" }, text);
  button.addEventListener("click", () => change(sourceSettings(each)));
  const range = html("small", {}, ` ten draws: ${seeds}`);
  return html("tr", {}, html("td", {}, button, range), html("td", {}, source), html("td", { class: "here" }, "…"));
}

function sourceSettings({ layers, scale, residual }) {
  return { ...stack, layers, scale, residual, activation: "tanh", norm: false, initialisation: "normal" };
}

// Sets what a control does not show already; the one that is typed into is left alone.
function showControls() {
  const set = (element, value) => {
    if (element !== document.activeElement || element.type !== "number") element.value = value;
  };
  for (const name of ["layers", "scale"]) {
    set(byId(name), stack[name]);
    byId(`${name}-slider`).value = stack[name];
    byId(`${name}-slider`).setAttribute("aria-valuetext", shortText(stack[name]));
  }
  set(byId("seed"), stack.seed);
  set(byId("limit"), limit);
  byId("limit-slider").value = Math.log10(limit);
  byId("limit-slider").setAttribute("aria-valuetext", shortText(limit));
  byId("initialisation").value = stack.initialisation;
  byId("norm").checked = stack.norm;
  document.querySelector(`[name="residual"][value="${stack.residual ? 1 : ""}"]`).checked = true;
  document.querySelector(`[name="activation"][value="${stack.activation}"]`).checked = true;
  byId("formula").replaceChildren("each layer: ", code(formulaText(stack)));
  write(byId("drawn"), data.initialisations[stack.initialisation]);
  data.source.forEach((each, i) => {
    const isShown = packedSettings(sourceSettings(each)) === packedSettings(stack);
    byId("source").tBodies[0].rows[i].querySelector("button").setAttribute("aria-pressed", isShown);
  });
  byId("keep").setAttribute("aria-pressed", kept !== null);
  write(byId("keep"), kept ? "Drop kept curve" : "Keep this curve");
}

function change(settings) {
  stack = settings;
  soon();
}

// A number of a control: the stack follows while it is typed, as far as it can be.
function typed(name, text) {
  change(settingsFrom({ [name]: text }, stack));
}

function chooseLimit(text) {
  const given = typedNumber(text);
  if (given !== null && given > 0 && Number.isFinite(given)) limit = given;
  soon();
}

function listen() {
  for (const name of ["layers", "scale", "seed"]) {
    byId(name).addEventListener("input", (event) => typed(name, event.target.value));
    byId(name).addEventListener("change", (event) => (event.target.value = stack[name]));
  }
  for (const name of ["layers", "scale"]) {
    byId(`${name}-slider`).addEventListener("input", (event) => typed(name, event.target.value));
  }
  byId("initialisation").addEventListener("change", (event) => typed("initialisation", event.target.value));
  byId("activation").addEventListener("change", (event) => typed("activation", event.target.value));
  byId("residual").addEventListener("change", (event) => change({ ...stack, residual: event.target.value === "1" }));
  byId("norm").addEventListener("change", (event) => change({ ...stack, norm: event.target.checked }));
  byId("another").addEventListener("click", () => change({ ...stack, seed: (stack.seed + 1) % 2 ** 32 }));
  byId("keep").addEventListener("click", keepOrLetGo);
  byId("explode").addEventListener("click", () => change(sourceSettings({ layers: 60, scale: 2, residual: false })));
  byId("measure").addEventListener("change", soon);
  byId("limit").addEventListener("input", (event) => chooseLimit(event.target.value));
  byId("limit").addEventListener("change", (event) => (event.target.value = limit));
  byId("limit-slider").addEventListener("input", (event) => chooseLimit(shortText(10 ** event.target.value, 3)));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("numbers").addEventListener("toggle", showNumbers);
  byId("chart").addEventListener("pointermove", (event) => point(event.clientX));
  byId("chart").addEventListener("pointerleave", () => point(NaN));
  byId("theme").addEventListener("click", () => setTheme(!isDark()));
  byId("theme").setAttribute("aria-pressed", isDark());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input[type=number], select")) return;
    if (event.key === "d") setTheme(!isDark());
    if (event.key === "k") keepOrLetGo();
    if (event.key === "r") change({ ...stack, residual: !stack.residual });
  });
  addEventListener("hashchange", () => {
    fromAddress();
    soon();
  });
  new ResizeObserver(soon).observe(byId("chart"));
}

function keepOrLetGo() {
  measure(); // two keys may come between two pictures
  kept = kept ? null : { stack, found };
  soon();
}

// -- the address --------------------------------------------------------------------------------------------

function fromAddress() {
  const fields = readFields();
  stack = settingsFrom(fields, data.stack);
  const asked = unpackedSettings(fields.keep);
  kept = asked && { stack: asked, found: measuredStack(asked) };
  const given = typedNumber(fields.limit ?? "");
  limit = given > 0 && Number.isFinite(given) ? given : 1;
  const measure = fields.measure === "absolute" ? "absolute" : "relative";
  document.querySelector(`[name="measure"][value="${measure}"]`).checked = true;
}

function toAddress() {
  writeFields({
    ...settingsText(stack),
    measure: isRelative() ? "" : "absolute",
    limit: limit === 1 ? "" : limit,
    keep: kept ? packedSettings(kept.stack) : "",
  });
}

function isRelative() {
  return document.querySelector('[name="measure"]:checked').value === "relative";
}

// -- what came out ------------------------------------------------------------------------------------------

// However many changes come before the next picture, it is drawn once.
function soon() {
  if (!waiting) waiting = requestAnimationFrame(show);
}

let foundOf = null;

// After it, `found` is of `stack`.
function measure() {
  if (stack !== foundOf) found = measuredStack(stack);
  foundOf = stack;
}

function show() {
  waiting = 0;
  measure();
  showControls();
  write(byId("setting"), stackName(stack));
  write(byId("verdict"), shortVerdict(stack, found));
  write(byId("at-inputs"), ratioText(found.atInputs));
  write(byId("at-outputs"), ratioText(found.atOutputs));
  write(byId("at-weights"), ratioText(found.atWeights));
  showChart();
  byId("words").replaceChildren(...depthSentences(stack, found).map((sentence) => paragraph("", sentence)));
  showClip();
  showNumbers();
  clearSource();
  clearTimeout(settling);
  settling = setTimeout(settle, SETTLED);
}

function ratioText(ratio) {
  return Number.isNaN(ratio) ? "none" : sizeText(ratio); // the last is 0
}

function settle() {
  measure();
  write(byId("heard"), `${stackName(stack)}. ${depthSentences(stack, found).join(" ")}`);
  toAddress();
  showSource();
}

function showChart() {
  const relative = isRelative();
  const over = (values, unit) => values.map((value) => (relative ? value / unit : value));
  const statesOf = ({ states }) => over(states, states.at(-2));
  const states = statesOf(found);
  const along = (values) => values.map((y, x) => [x, y]);
  const ends = [[0, states[0]], [stack.layers - 1, states[stack.layers - 1]]];
  // The thick one first: those that lie on it are seen, too.
  const curves = [
    { kind: "gradient", name: SHORT_NAMES.gradient, points: along(states), marks: ends },
    { kind: "signal", name: SHORT_NAMES.signal, points: along(over(found.signal, found.signal[0])) },
    { kind: "weights", name: SHORT_NAMES.weights, points: alongLayers(over(found.weights, found.weights.at(-1))) },
  ];
  if (kept) curves.unshift({ kind: "kept", name: SHORT_NAMES.kept, points: along(statesOf(kept.found)) });
  const layers = Math.max(stack.layers, kept ? kept.stack.layers : 0);
  const label = `Curves along ${stackName(stack)}: first over last ${sizeText(found.atInputs)} at the layers' inputs, ` +
    `${sizeText(found.atOutputs)} at their outputs, ${sizeText(found.atWeights)} at their weights.`;
  const unit = relative
    ? "relative to the last layer (signal: to the input)"
    : "lengths of gradients; signal: root mean square";
  placeAt = drawChart(byId("chart"), { label, unit, layers, curves });
  byId("kept-name").classList.toggle("hint", !kept);
  write(byId("kept-name"), kept ? `kept: ${stackName(kept.stack)}: ${ratioText(kept.found.atInputs)}` : KEEP_IT);
  point(NaN);
}

// What belongs to a layer lies between what it reads and what it makes.
function alongLayers(values) {
  return values.map((y, i) => [i + 0.5, y]);
}

function point(pixels) {
  measure();
  const at = Math.round(placeAt(pixels - byId("chart").getBoundingClientRect().left));
  const isOn = at >= 0 && at <= stack.layers;
  pointAtLayer(byId("chart"), isOn ? at : null);
  if (!isOn) {
    write(byId("pointed"), "Point at the chart to read it off.");
    return;
  }
  const place = at > 0 ? `after layer ${at}` : "before layer 1";
  const weights = at > 0 ? `, at its weights ${sizeText(found.weights[at - 1])}` : "";
  const [gradient, signal] = [sizeText(found.states[at]), sizeText(found.signal[at])];
  write(byId("pointed"), `${place}: gradient ${gradient}${weights}, signal ${signal}`);
}

function showClip() {
  const result = clipped(found.weights, limit);
  write(byId("length-before"), sizeText(result.before));
  write(byId("factor"), sizeText(result.factor));
  write(byId("length-after"), sizeText(result.after));
  write(byId("clip-words"), clipSentences(result, limit, found));
  drawChart(byId("clip-chart"), {
    label: `Lengths of the weights' gradients along the stack, before and after: all times ${sizeText(result.factor)}.`,
    unit: "length of each layer's gradient, at its weights",
    layers: stack.layers,
    curves: [
      { kind: "after", name: "after", points: alongLayers(result.weights) },
      { kind: "weights", name: "before", points: alongLayers(found.weights) },
    ],
  });
}

function showNumbers() {
  const place = byId("numbers").lastElementChild;
  if (!byId("numbers").open) return place.replaceChildren();
  const scope = (tag) => (tag === "th" ? { scope: "col" } : {});
  const cells = (tag, texts) => html("tr", {}, ...texts.map((text) => html(tag, scope(tag), text)));
  const rows = found.states.map((length, at) =>
    cells("td", [String(at), sizeText(length), at ? sizeText(found.weights[at - 1]) : "", sizeText(found.signal[at])]));
  const head = cells("th", ["after layer", "gradient", "of its weights", "signal"]);
  place.replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
}

let sourceSeed = null; // of what the table shows, or will once it is measured

function clearSource() {
  if (sourceSeed === stack.seed) return;
  sourceSeed = null;
  for (const cell of document.querySelectorAll("#source .here")) write(cell, "…");
}

// The source's stacks with the seed that is chosen, one after the other, so that the page does not stand still.
function showSource() {
  if (sourceSeed === stack.seed) return;
  const seed = (sourceSeed = stack.seed);
  const measureRow = (at) => {
    if (at === data.source.length || seed !== sourceSeed) return;
    const { atInputs } = measuredStack(sourceSettings(data.source[at]));
    write(byId("source").tBodies[0].rows[at].querySelector(".here"), sizeText(atInputs));
    setTimeout(measureRow, 0, at + 1);
  };
  measureRow(0);
}

fillControls();
fromAddress();
listen();
soon();
