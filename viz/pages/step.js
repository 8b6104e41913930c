// The page: what it shows now (mode, step, chosen node), every way to change that, and the address that says it.

const SPEEDS = [0.5, 1, 2, 4, 16];
const PAUSE = 1200; // milliseconds between steps at speed 1

const run = new Run(JSON.parse(byId("data").textContent));
const state = { mode: "add", at: 0, pinned: null, over: null, timer: null };
const stage = byId("stage");
const view = new GraphView(run, stage, choose);
const gradients = new GradientTable(run, byId("gradients"), choose);

// -- showing -----------------------------------------------------------------------------------------------------------

function show() {
  const moment = run.moment(state.mode, state.at);
  const selected = state.over ?? state.pinned;
  view.show(moment, selected);
  showPanel(moment, selected ?? moment.step?.receiver ?? null);
  showControls();
}

function showPanel(moment, node) {
  const rule = moment.step?.sender ? ruleLines(run, moment) : [];
  byId("now").replaceChildren(...now(run, moment));
  byId("code-part").hidden = !rule.length;
  byId("code").replaceChildren(...rule);
  byId("ledger-part").hidden = !node;
  if (node) {
    byId("ledger-title").replaceChildren(...ledgerTitle(node));
    byId("ledger").replaceChildren(ledgerTable(run, moment, node));
  }
  gradients.show(moment, node);
  write(byId("narration"), narration(run, moment));
}

function showControls() {
  const { at, mode } = state;
  byId("slider").value = at;
  byId("position").textContent = `step ${at} / ${run.length}`;
  byId("first").disabled = byId("back").disabled = at === 0;
  byId("last").disabled = byId("forward").disabled = at === run.length;
  document.querySelector(`[name=mode][value=${mode}]`).checked = true;
  document.body.classList.toggle("playing", state.timer !== null);
  byId("play").setAttribute("aria-label", state.timer === null ? "Play" : "Pause");
}

// -- changing ----------------------------------------------------------------------------------------------------------

function go(at) {
  state.at = Math.min(Math.max(at, 0), run.length);
  show();
  const { step } = run.moment(state.mode, state.at);
  view.follow(step ? [step.sender, step.receiver].filter(Boolean) : [run.root]);
  writeAddress();
}

function setMode(mode) {
  state.mode = mode;
  show();
  writeAddress();
}

function choose({ over, pin }) {
  if (over !== undefined) state.over = over;
  if (pin !== undefined) state.pinned = pin === state.pinned ? null : pin;
  show();
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

// -- the address: #mode=overwrite&step=7 -------------------------------------------------------------------------------

function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (fields.get("mode") in OPERATORS) state.mode = fields.get("mode");
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

// -- controls ----------------------------------------------------------------------------------------------------------

const BUTTONS = {
  first: () => take(0),
  back: () => take(state.at - 1),
  play: () => (state.timer === null ? play() : pause()),
  forward: () => take(state.at + 1),
  last: () => take(run.length),
  fit: () => view.viewport.fit(),
  "zoom-in": () => view.viewport.zoom(1.3),
  "zoom-out": () => view.viewport.zoom(1 / 1.3),
  theme: () => setTheme(!isDark()),
};

const KEYS = {
  ArrowRight: BUTTONS.forward,
  ArrowLeft: BUTTONS.back,
  Home: BUTTONS.first,
  End: BUTTONS.last,
  " ": BUTTONS.play,
  m: () => setMode(state.mode === "add" ? "overwrite" : "add"),
  f: BUTTONS.fit,
  d: BUTTONS.theme,
  "+": BUTTONS["zoom-in"],
  "-": BUTTONS["zoom-out"],
  Escape: () => choose({ over: null, pin: state.pinned }),
};

// From the graph, with the focus on it: along the edges, against them, and to the neighbours in the order.
const WALK = {
  ArrowLeft: (node) => run.nodes[node.parents[0]],
  ArrowRight: (node) => run.nodes[run.edges.find((edge) => edge.parent === node.index)?.child],
  ArrowUp: (node) => run.nodes[node.index - 1],
  ArrowDown: (node) => run.nodes[node.index + 1],
};

function walk(event) {
  if (!(event.key in WALK)) return;
  event.preventDefault();
  event.stopPropagation();
  const node = state.pinned ? WALK[event.key](state.pinned) : run.root;
  if (!node) return;
  state.pinned = node;
  show();
  view.follow([node]);
  const grad = run.moment(state.mode, state.at).gradients[node.index];
  write(byId("narration"), `${node.title}: data ${node.data.short}, grad ${grad ? grad.short : gradientText(node, grad)}`);
}

// What the focused control does with a key itself stays with it.
function isTaken(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  const { target, key } = event;
  if (target.matches("select, input")) return key !== "m" && key !== "d" && key !== "f";
  return key === " " && target.matches("button");
}

function onKey(event) {
  const act = KEYS[event.key];
  if (!act || isTaken(event)) return;
  event.preventDefault();
  act();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", dark);
}

function wire() {
  for (const [id, act] of Object.entries(BUTTONS)) byId(id).addEventListener("click", act);
  for (const radio of document.querySelectorAll("[name=mode]")) {
    radio.addEventListener("change", () => setMode(radio.value));
  }
  byId("speed").append(...SPEEDS.map((speed) => html("option", { value: speed }, `${speed}×`)));
  byId("speed").value = 1;
  byId("slider").max = run.length;
  byId("slider").addEventListener("input", (event) => take(Number(event.target.value)));
  byId("theme").setAttribute("aria-pressed", isDark());
  stage.addEventListener("keydown", walk);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", readAddress);
  new ResizeObserver(arrange).observe(stage);
}

function arrange() {
  if (view.arrange()) show();
  else if (view.viewport.fitted) view.viewport.fit();
}

wire();
view.arrange();
readAddress();
