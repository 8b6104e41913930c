// The stepper: what the page shows now (mode, step, chosen node), how that changes, the address that says it.

const PAUSE = 1200; // milliseconds between steps at speed 1

const run = new Run(JSON.parse(byId("data").textContent));
const state = { mode: "add", at: 0, pinned: null, over: null, timer: null };
const stage = byId("stage");
const view = new GraphView(run, stage, { hover, pin });
const gradients = new GradientTable(run, byId("gradients"), pin);
byId("odd-key").hidden = !run.odd.size;

// -- showing ------------------------------------------------------------------------------------------------

// Show the present state. Returns the moment shown.
function show() {
  const moment = run.moment(state.mode, state.at);
  const selected = state.over ?? state.pinned;
  view.show(moment, selected);
  showPanel(moment, selected ?? moment.step?.receiver ?? null);
  showControls();
  return moment;
}

function showPanel(moment, node) {
  const rule = moment.step?.sender ? ruleLines(run, moment) : [];
  byId("now").replaceChildren(...now(run, moment));
  byId("code-part").hidden = !rule.length;
  byId("code").replaceChildren(...rule);
  byId("ledger-part").hidden = !node;
  if (node) {
    byId("ledger-title").replaceChildren(...ledgerTitle(node));
    byId("ledger").replaceChildren(ledgerTable(run, moment, node), ...(node === state.pinned ? [keptNote()] : []));
  }
  gradients.show(moment, node);
  write(byId("narration"), narration(run, moment));
}

function showControls() {
  const { at, mode } = state;
  byId("slider").value = at;
  byId("position").textContent = `step ${at} / ${run.length}`;
  for (const id of ["first", "back"]) byId(id).setAttribute("aria-disabled", at === 0);
  for (const id of ["forward", "last"]) byId(id).setAttribute("aria-disabled", at === run.length);
  document.querySelector(`[name=mode][value=${mode}]`).checked = true;
  document.body.classList.toggle("playing", state.timer !== null);
  byId("play").setAttribute("aria-label", state.timer === null ? "Play" : "Pause");
}

// -- changing -----------------------------------------------------------------------------------------------

function go(at) {
  state.at = Math.min(Math.max(at, 0), run.length);
  state.over = null; // a pointer that merely rests on a node does not hold the panel there
  follow(show());
  writeAddress();
}

// Bring what a moment is about into view.
function follow({ step }) {
  view.follow(step ? [step.sender, step.receiver].filter(Boolean) : [run.root]);
}

function setMode(mode) {
  state.mode = mode;
  show();
  writeAddress();
}

// The node under the pointer, or null.
function hover(node) {
  state.over = node;
  show();
}

// Keep a node in view; a second time lets it go.
function pin(node) {
  state.pinned = node === state.pinned ? null : node;
  show();
}

function hold(node) {
  state.pinned = node;
  state.over = null;
  return show();
}

function release() {
  return hold(null);
}

function play() {
  if (state.at === run.length) go(0);
  state.timer = setTimeout(tick, PAUSE / 4);
  showControls();
}

function pause() {
  clearTimeout(state.timer);
  state.timer = null;
  showControls();
}

function tick() {
  go(state.at + 1);
  if (state.at === run.length) pause();
  else state.timer = setTimeout(tick, PAUSE / Number(byId("speed").value));
}

// A step that the reader takes ends the playing.
function take(at) {
  pause();
  go(at);
}

// -- the address: #mode=overwrite&step=7 --------------------------------------------------------------------

function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (Object.hasOwn(OPERATORS, fields.get("mode"))) state.mode = fields.get("mode");
  const at = Number.parseInt(fields.get("step") ?? "0", 10);
  go(Number.isNaN(at) ? 0 : at);
}

function writeAddress() {
  try {
    history.replaceState(null, "", `#mode=${state.mode}&step=${state.at}`);
  } catch {
    // A page inside a notebook's frame has no address of its own.
  }
}
