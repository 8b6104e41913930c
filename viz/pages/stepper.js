// The stepper: what the page shows now (mode, step, chosen node), how that changes, the address that says it.

const PAUSE = 1200; // milliseconds between steps at speed 1

const data = JSON.parse(byId("data").textContent);
const run = new Run(data);
const folding = new Folding(run);
const state = {
  mode: "add",
  at: 0,
  pinned: null,
  over: null,
  timer: null,
  stride: "contribution",
  overlay: false,
  quiz: null,
  element: null,
};
const stage = byId("stage");
const view = new GraphView(run, stage, { hover, pin, toggle });
const gradients = new GradientTable(run, byId("gradients"), pin);
const scalarPane = data.unfolded?.graph ? new ScalarPane(data.unfolded, run, byId("scalars"), pickElement) : null;

// -- showing ------------------------------------------------------------------------------------------------

// Show the present state. Returns the moment shown.
function show() {
  const moment = run.moveTo(state.mode, state.at);
  const selected = state.over ?? state.pinned;
  view.setOpen(folding.open(moment.step));
  view.show(moment, selected);
  showPanel(moment, selected);
  showControls(moment);
  scalarPane?.show(moment);
  return moment;
}

function showPanel(moment, selected) {
  const { step } = moment;
  const node = selected ?? step?.receiver ?? step?.node ?? null;
  const rule = step?.sender && !isAsking() ? ruleLines(run, moment) : [];
  showNow(moment);
  byId("code-part").hidden = !rule.length;
  byId("code").replaceChildren(...rule);
  byId("node-part").hidden = !node;
  byId("ledger-part").hidden = !node;
  if (node) {
    byId("node-title").replaceChildren(code(node.name));
    showNode(node, moment);
    byId("ledger-title").replaceChildren(...ledgerTitle(node));
    byId("ledger").replaceChildren(ledgerTable(run, moment, node));
  }
  gradients.show(moment, node);
  const quizzed = state.quiz?.narration(step) ?? "";
  write(byId("narration"), isAsking() ? quizzed : quizzed + narration(run, moment));
}

// A question that is open is left alone: the reader may be typing into it.
function showNow(moment) {
  const place = byId("now");
  if (!isAsking()) place.replaceChildren(...(state.quiz?.told(moment.step) ?? []), ...now(run, moment));
  else if (!place.contains(state.quiz.question()[0])) place.replaceChildren(...state.quiz.question());
}

// The node's own part is left alone while the reader types into it. Otherwise the focus stays on what it was on.
function showNode(node, moment) {
  const place = byId("node");
  const same = place.shown === node;
  const focus = place.contains(document.activeElement) ? document.activeElement : null;
  const field = focus?.matches("input");
  if (field && same && focus.value !== focus.defaultValue) return;
  place.shown = node;
  place.replaceChildren(...nodePart(run, moment, node, node === state.pinned));
  if (!focus || (field && !same)) return;
  const elements = [...place.querySelectorAll("button, input, [tabindex]")];
  const wanted = elements.find((element) => calls(element) === calls(focus));
  (wanted ?? place.querySelector("input"))?.focus({ preventScroll: true });
}

// What tells the controls of one part of the panel apart.
function calls(element) {
  return element.id || element.getAttribute("aria-label") || element.textContent;
}

function showControls(moment) {
  const { at, mode } = state;
  const length = run.length(mode);
  byId("slider").max = length;
  byId("slider").value = at;
  byId("slider").setAttribute("aria-valuetext", positionText(moment));
  byId("position").textContent = positionText(moment);
  for (const id of ["first", "back"]) byId(id).setAttribute("aria-disabled", at === 0);
  for (const id of ["forward", "last"]) byId(id).setAttribute("aria-disabled", at === length);
  document.querySelector(`[name=mode][value=${mode}]`).checked = true;
  document.body.classList.toggle("playing", state.timer !== null);
  byId("play").setAttribute("aria-label", state.timer === null ? "Play" : "Pause");
  byId("quiz").setAttribute("aria-pressed", state.quiz !== null);
  byId("overlay").setAttribute("aria-pressed", state.overlay);
  showPhases(moment);
}

function positionText({ at, mode }) {
  return `step ${at} / ${run.length(mode)}`;
}

// Where forward, backward and update lie on the slider.
function showPhases({ mode, at }) {
  const parts = run.phases(mode).map(({ name, first, last }) => {
    const steps = last - first + 1;
    const part = html("span", { style: `flex-grow:${steps}` }, steps < run.length(mode) / 12 ? "" : name);
    part.classList.toggle("current", at >= first && at <= last);
    return part;
  });
  byId("phases").replaceChildren(...parts);
}

// -- changing -----------------------------------------------------------------------------------------------

function go(at) {
  state.at = Math.min(Math.max(at, 0), run.length(state.mode));
  state.over = null; // a pointer that merely rests on a node does not hold the panel there
  follow(show());
  writeAddress();
}

// Bring what a moment is about into view.
function follow({ step }) {
  const nodes = step ? [step.sender, step.receiver ?? step.node].filter(Boolean) : [run.root];
  view.follow(nodes);
}

// The same phase of another mode: as far into it as now, and its end where it has fewer steps.
function setMode(mode) {
  if (!run.modes.includes(mode)) return;
  const wasUpdate = run.moment.phase === "update";
  const left = run.length(state.mode) - state.at;
  const ends = run.length(mode) - run.updated.length;
  state.quiz?.cancel();
  state.mode = mode;
  state.at = wasUpdate ? run.length(mode) - left : Math.min(state.at, ends);
  follow(show());
  writeAddress();
}

// The node under the pointer, or null.
function hover(node) {
  if (state.over === node) return;
  state.over = node;
  const moment = run.moment;
  view.show(moment, state.over ?? state.pinned);
  showPanel(moment, state.over ?? state.pinned);
}

// Keep a node in view; a second time lets it go.
function pin(node) {
  hold(node === state.pinned ? null : node);
}

function hold(node) {
  state.pinned = node;
  state.over = null;
  const moment = show();
  writeAddress();
  return moment;
}

function release() {
  hold(null);
}

function toggle(group) {
  folding.toggle(group, view.open.has(group));
  show();
  writeAddress();
}

// Choose a node and bring it into view, opening what it is in.
function reach(node) {
  folding.reveal(node);
  hold(node);
  view.follow([node]);
}

function play() {
  state.quiz?.cancel();
  if (state.at === run.length(state.mode)) go(0);
  state.timer = setTimeout(tick, PAUSE / 4);
  showControls(run.moment);
}

function pause() {
  clearTimeout(state.timer);
  state.timer = null;
  showControls(run.moment);
}

function tick() {
  go(next(1));
  if (state.at === run.length(state.mode)) pause();
  else state.timer = setTimeout(tick, PAUSE / Number(byId("speed").value));
}

function next(direction) {
  const asking = state.quiz && direction > 0 && state.timer === null; // for each
  const stride = asking ? "contribution" : state.stride;
  return strideFrom(run, state.mode, state.at, stride, direction);
}

// A step that the reader takes ends the playing. In a quiz, a step forward is asked for before it is shown.
function take(at) {
  pause();
  state.quiz?.cancel();
  if (state.quiz && at === state.at + 1 && state.quiz.ask(at)) show();
  else go(at);
}

function isAsking() {
  return Boolean(state.quiz?.asked);
}

function setQuiz(on) {
  state.quiz = on ? new Quiz(run, state, { go, show }) : null;
  show();
}

function setOverlay(on) {
  state.overlay = on;
  view.setOverlay(on ? "grad" : "none");
  show();
  writeAddress();
}

// The reader chose a Value in the pane of scalars: its tensor and its element are chosen here too.
function pickElement(node, element) {
  state.element = element;
  if (state.pinned !== node) hold(node);
  else show();
}

// Another number in a leaf: both passes are run again.
function edit(leaf, value) {
  state.quiz?.cancel();
  run.edit(leaf, value);
  view.reset();
  state.at = Math.min(state.at, run.length(state.mode));
  show();
  writeAddress();
}

// -- the address --------------------------------------------------------------------------------------------

function address() {
  const { mode, at, pinned, stride, overlay } = state;
  return {
    mode,
    step: at,
    node: pinned ? pinned.index : "",
    by: stride === "contribution" ? "" : stride,
    overlay: overlay ? "grad" : "",
    groups: folding.text,
    following: folding.following ? "" : "no",
    leaf: [...run.edits].map(([index, value]) => `${index}:${typedText(value)}`).join("~"),
  };
}

function writeAddress() {
  writeFields(address());
}

function readAddress() {
  const fields = readFields();
  const at = Number.parseInt(fields.step, 10);
  state.quiz?.cancel();
  state.mode = run.modes.includes(fields.mode) ? fields.mode : "add";
  state.pinned = run.nodes[Number.parseInt(fields.node, 10)] ?? null;
  state.stride = byId("stride").value = strides(run).includes(fields.by) ? fields.by : "contribution";
  state.overlay = fields.overlay === "grad";
  folding.following = fields.following !== "no";
  byId("following").checked = folding.following;
  folding.text = fields.groups ?? "";
  readEdits(fields.leaf ?? "");
  view.setOverlay(state.overlay ? "grad" : "none"); // on the scale of these values
  state.at = Math.min(Math.max(Number.isNaN(at) ? run.decisive() : at, 0), run.length(state.mode));
  show();
  if (folding.raw && run.groups.length > 1 && view.viewport.fitScale() < READABLE) folding.doNotFit();
  go(state.at);
}

function readEdits(text) {
  if (!run.editable || (!text && !run.edits.size)) return;
  for (const index of [...run.edits.keys()]) run.edit(run.nodes[index], null);
  for (const part of text.split("~")) {
    const [, index, number] = /^(\d+):(.+)$/.exec(part) ?? [];
    const value = number ? typedNumber(number) : null;
    if (run.nodes[index]?.leaf && value !== null) run.edit(run.nodes[index], value);
  }
  view.reset();
}
