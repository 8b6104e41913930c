// The controls: buttons, keys, slider, search. The last script: it starts the page.

const SPEEDS = [0.5, 1, 2, 4, 16];

const BUTTONS = {
  first: () => take(0),
  back: () => take(next(-1)),
  play: () => (state.timer === null ? play() : pause()),
  forward: () => take(next(1)),
  last: () => take(run.length(state.mode)),
  fit: () => view.viewport.fit(),
  "zoom-in": () => view.viewport.zoom(1.3),
  "zoom-out": () => view.viewport.zoom(1 / 1.3),
  theme: () => setTheme(!isDark()),
  quiz: () => setQuiz(state.quiz === null),
  overlay: () => setOverlay(!state.overlay),
  collapse: () => foldAll(false),
  expand: () => foldAll(true),
  link: () => copyLink(),
  "save-svg": () => saveSvg(),
  "save-png": () => savePng(),
};

const KEYS = {
  ArrowRight: BUTTONS.forward,
  ArrowLeft: BUTTONS.back,
  Home: BUTTONS.first,
  End: BUTTONS.last,
  " ": BUTTONS.play,
  m: () => setMode(run.modes[(run.modes.indexOf(state.mode) + 1) % run.modes.length]),
  f: BUTTONS.fit,
  d: BUTTONS.theme,
  q: BUTTONS.quiz,
  o: BUTTONS.overlay,
  "/": () => byId("query").focus(),
  "+": BUTTONS["zoom-in"],
  "-": BUTTONS["zoom-out"],
  Escape: () => (byId("take").open ? closeMenu() : release()),
};

// From the graph, with the focus on it: along the edges, against them, and to the neighbours in the order.
const WALK = {
  ArrowLeft: (node) => run.nodes[node.parents[0]],
  ArrowRight: (node) => run.nodes[run.edges[node.out[0]]?.child],
  ArrowUp: (node) => run.nodes[node.index - 1],
  ArrowDown: (node) => run.nodes[node.index + 1],
};

function walk(event) {
  if (event.key === "Enter" && state.pinned) return toggleAround(state.pinned);
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

// Open the group that a node is hidden in, or close the one around it.
function toggleAround(node) {
  const open = folding.open(run.moment.step);
  const closed = around(node).reverse().find((group) => !open.has(group));
  if (closed) toggle(closed);
  else if (node.group.parent) toggle(node.group);
}

// What the focused control does with a key itself stays with it.
function isTaken(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  const { target, key } = event;
  if (target.matches("input:not([type=radio], [type=range], [type=checkbox])")) return key !== "Escape";
  if (target.matches("[type=checkbox]")) return key === " ";
  if (target.matches("select")) return key !== "Escape"; // letters choose in it
  if (target.matches(".matrix") && target.scrollWidth > target.clientWidth) return SCROLLS.includes(key);
  if (target.matches("input")) return !["m", "d", "f", "q", "o", "/"].includes(key);
  return key === " " && target.matches("button, summary");
}

const SCROLLS = ["ArrowLeft", "ArrowRight", "Home", "End", " "];

function onKey(event) {
  const act = KEYS[event.key];
  if (!act || isTaken(event)) return;
  event.preventDefault();
  act();
}

function foldAll(open) {
  if (open && run.nodes.length > MOST_EXPANDED) {
    return write(byId("found"), `${run.nodes.length} are too many: open groups one by one`);
  }
  folding.all(open);
  folding.following = open ? folding.following : false;
  byId("following").checked = folding.following;
  show();
  return writeAddress();
}

const MOST_EXPANDED = 6000; // nodes that a browser lays out and draws in a few seconds

// -- finding, and running until -----------------------------------------------------------------------------

let lastQuery = "";
let lastFound = -1;

function query(event) {
  event.preventDefault();
  const text = byId("query").value;
  const holds = condition(text);
  if (holds) return runUntil(text, holds);
  const found = search(run, text);
  lastFound = text === lastQuery && found.length ? (lastFound + 1) % found.length : 0;
  lastQuery = text;
  write(byId("found"), found.length ? `${lastFound + 1} of ${found.length}` : text.trim() ? "no such node" : "");
  if (found.length) reach(found[lastFound]);
  return undefined;
}

function runUntil(text, holds) {
  const number = firstWhere(run, state.mode, state.at, holds) || firstWhere(run, state.mode, 0, holds);
  write(byId("found"), number ? `at step ${number}` : `${text.trim()}: at no step`);
  if (number) take(number);
}

// -- taking it away -----------------------------------------------------------------------------------------

// The menu goes away with Escape, and with a press beside it.
function closeMenu() {
  const menu = byId("take");
  if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  menu.open = false;
}

async function copyLink() {
  const state = `#${fieldText(address())}`;
  if (location.protocol === "about:") {
    return offerText("In a frame the page has no address. Save it as a file, and add this:", state);
  }
  const link = `${location.href.split("#")[0]}${state}`;
  try {
    await navigator.clipboard.writeText(link);
    write(byId("taken"), "Copied.");
  } catch {
    offerText("Copy this:", link);
  }
  return undefined;
}

function offerText(words, text) {
  byId("taken").replaceChildren(words, html("input", { readonly: "", value: text, "aria-label": "Link to this step" }));
  byId("taken").lastChild.select();
}

// The whole graph as it is now, not just the part in view.
function picture() {
  const background = getComputedStyle(document.body).backgroundColor;
  const restore = view.complete();
  try {
    const title = `${run.root.title}, ${positionText(run.moment)}`;
    return standaloneSvg(view.picture, { title, background, without: "far" });
  } finally {
    restore();
  }
}

function fileName(suffix) {
  return `step-${String(state.at).padStart(3, "0")}.${suffix}`;
}

function saveSvg() {
  downloadText(fileName("svg"), picture(), "image/svg+xml");
}

async function savePng() {
  const blob = await svgToPng(picture());
  if (blob) downloadBlob(fileName("png"), blob);
}

// Paper gets all of the graph, however it lies on the screen.
function printing() {
  const restore = view.complete();
  const undo = fitToSheet(view.picture);
  window.addEventListener("afterprint", () => [undo, restore].forEach((act) => act()), { once: true });
}

// -- starting -----------------------------------------------------------------------------------------------

function wire() {
  for (const [id, act] of Object.entries(BUTTONS)) byId(id).addEventListener("click", act);
  for (const radio of document.querySelectorAll("[name=mode]")) {
    radio.addEventListener("change", () => setMode(radio.value));
    radio.closest("label").hidden = !run.modes.includes(radio.value);
  }
  byId("speed").append(...SPEEDS.map((speed) => html("option", { value: speed }, `${speed}×`)));
  byId("speed").value = 1;
  byId("stride").append(...strides(run).map((name) => html("option", { value: name }, name)));
  byId("stride").addEventListener("change", (event) => {
    state.stride = event.target.value;
    writeAddress();
  });
  byId("group-tools").hidden = run.groups.length === 1;
  byId("following").addEventListener("change", (event) => {
    folding.following = event.target.checked;
    show();
    writeAddress();
  });
  byId("slider").addEventListener("input", (event) => take(Number(event.target.value)));
  byId("query-form").addEventListener("submit", query);
  byId("theme").setAttribute("aria-pressed", isDark());
  byId("odd-key").hidden = !run.nodes.some((node, i) => node.data.odd || run.truth[i]?.odd);
  byId("small-key").hidden = !view.compact;
  byId("blocked-key").hidden = !run.blocked.some(Boolean);
  stage.addEventListener("keydown", walk);
  document.addEventListener("keydown", onKey);
  document.addEventListener("pointerdown", (event) => byId("take").contains(event.target) || closeMenu());
  window.addEventListener("hashchange", readAddress);
  window.addEventListener("beforeprint", printing);
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
