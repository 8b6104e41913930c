// The controls: buttons, keys, slider, theme. The last script: it starts the page.

const SPEEDS = [0.5, 1, 2, 4, 16];

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
  Escape: release,
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
  const grad = hold(node).gradients[node.index];
  view.follow([node]);
  const held = grad ? grad.short : gradientText(node, grad);
  write(byId("narration"), `${node.title}: data ${node.data.short}, grad ${held}`);
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

// The stage has another size.
function arrange() {
  if (!view.arrange()) view.viewport.refit();
  if (view.viewport.kept === "start") follow(show());
}

wire();
view.arrange();
readAddress();
