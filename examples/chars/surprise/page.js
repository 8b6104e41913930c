// The page: fills the report from the data, and says what is known of the character that is pointed at or picked.

const data = JSON.parse(byId("data").textContent);
const characters = Array.from(data.text);
const letters = Array.from(data.vocabulary);
const nats = new Float32Array(unpackBytes(data.nats)); // of the character at place i, at i - 1
const guesses = unpackInts(data.guesses);
const chances = new Uint16Array(unpackBytes(data.chances)); // 65535 is 1

const levelOf = (cost) => data.levels.filter((least) => cost >= least).length;
const worst = Math.fround(data.worst);
const isWorst = (at) => at > 0 && nats[at - 1] >= worst;

function classOf(at) {
  if (at === 0) return "read";
  return `level${levelOf(nats[at - 1])}${isWorst(at) ? " worst" : ""}`;
}

// -- words --------------------------------------------------------------------------------------------------

const ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\" };

// A character between quotes, as Python writes it in the tables.
function named(character) {
  if (character === "'") return '"\'"';
  const code = character.codePointAt(0).toString(16);
  if (Object.hasOwn(ESCAPES, character)) return `'${ESCAPES[character]}'`;
  if (character === " " || !/[\p{C}\p{Z}]/u.test(character)) return `'${character}'`;
  if (code.length <= 2) return `'\\x${code.padStart(2, "0")}'`;
  return code.length <= 4 ? `'\\u${code.padStart(4, "0")}'` : `'\\U${code.padStart(8, "0")}'`;
}

function natsText(cost) {
  return cost === 0 || cost >= 0.005 ? fixedText(cost, 2) : shortText(cost, 2);
}

function percentText(probability) {
  let digits = 3;
  while (probability < 1 && digits < 9 && Number(generalText(100 * probability, digits)) === 100) digits++;
  return `${generalText(100 * probability, digits)} %`;
}

// -- the report ---------------------------------------------------------------------------------------------

function fillReport() {
  write(byId("model"), data.model);
  byId("said").append(...data.said.map((sentence) => paragraph("", sentence)));
  const rows = data.figures.map((cells) => html("tr", {}, ...cells.map((cell) => html("td", {}, cell))));
  byId("figures").tBodies[0].append(...rows);
  byId("histogram").append(
    histogram(data.bars, [["median", data.median], ["mean", data.mean]], levelOf),
    paragraph("", html("span", {}, "filled: share of the characters"), html("span", {}, "outlined: share of the loss")),
  );
  const alike = `Of places with the same ${data.alike} characters, up to and with the one that is scored, one is listed.`;
  for (const which of ["most", "least"]) byId(which).append(placeTable(data[which]), paragraph("muted small", alike));
  byId("legend").append("nats", ...legend());
}

function placeTable(places) {
  const head = ["nats", "probability", "where"].map((name) => html("th", {}, name));
  const rows = places.map((each) =>
    html("tr", {},
      html("td", { class: "nowrap" }, each.nats),
      html("td", { class: "nowrap" }, each.probability),
      html("td", {}, jump(each),
        html("small", {}, `line ${each.where.replace(":", ", column ")}; likeliest was `, code(each.guess)))),
  );
  return html("table", { class: "places" }, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
}

// The place in its context; a button where the text of the page has it.
function jump(each) {
  const context = html("code", {}, each.before, html("mark", {}, each.character), each.after);
  if (each.place === null) return context;
  const button = html("button", { type: "button", title: "Show it in the text" }, context);
  button.addEventListener("click", () => {
    pick(each.place, "center");
    byId("text").focus({ preventScroll: true });
  });
  return button;
}

function legend() {
  const limits = [0, ...data.levels].map((least) => shortText(least));
  const keys = limits.map((least, i) => {
    const next = limits[i + 1];
    return html("span", { class: `level${i}` }, next ? `${least} to ${next}` : `${least} or more`);
  });
  return [...keys, html("span", { class: "worst" }, `worst tenth: ${natsText(data.worst)} or more`)];
}

// -- the character that is shown ----------------------------------------------------------------------------

let picked = null;
let pointed = null;

const text = colouredText(byId("text"), characters, classOf, point, (at) => pick(at, "nearest"));

function point(at) {
  if (at === pointed) return;
  pointed = at;
  text.mark("pointed", at);
  tell();
}

// Picks a place; `block` says where it is to be on the screen.
function pick(at, block) {
  picked = Math.max(0, Math.min(at, characters.length - 1));
  text.mark("picked", picked).scrollIntoView({ block, inline: "nearest" });
  point(null);
  tell();
  writeFields({ at: picked });
}

function tell() {
  const at = pointed ?? picked;
  byId("readout").replaceChildren(...(at === null ? [help()] : known(at)));
}

function help() {
  return paragraph("muted", "Point at a character, or go to it with the arrow keys, to see what it cost; n and p go from one surprise to the next.");
}

function known(at) {
  const [line, column] = text.lineOf(at);
  const where = `, line ${line}, column ${column}: `;
  if (at === 0) return [paragraph("", bold(named(characters[0])), where, "only read, since nothing stands before it.")];
  const cost = nats[at - 1];
  const each = data.guessesEach;
  const likeliest = Array.from({ length: each }, (_, i) => {
    const k = (at - 1) * each + i;
    return html("span", { class: "single" }, bold(named(letters[guesses[k]])), ` ${percentText(chances[k] / 65535)}`);
  });
  return [
    paragraph("",
      bold(named(characters[at])), where, html("strong", {}, `${natsText(cost)} nats`),
      `, probability ${percentText(Math.exp(-cost))}`, isWorst(at) ? ", among the worst tenth" : ""),
    paragraph("muted", "likeliest here: ", ...between(likeliest, ", ")),
  ];
}

// The next place of the worst tenth in a direction; the place itself where there is none.
function surprising(from, direction) {
  for (let at = from + direction; at > 0 && at < characters.length; at += direction) if (isWorst(at)) return at;
  return from;
}

// -- controls -----------------------------------------------------------------------------------------------

const goOn = (direction) => pick(surprising(picked ?? 0, direction), "center");

const KEYS = {
  ArrowLeft: () => pick(picked - 1, "nearest"),
  ArrowRight: () => pick(picked + 1, "nearest"),
  ArrowUp: () => pick(text.below(picked, -1), "nearest"),
  ArrowDown: () => pick(text.below(picked, 1), "nearest"),
};

byId("text").addEventListener("keydown", (event) => {
  const action = KEYS[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (picked === null) pick(0, "nearest");
  else action();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n") goOn(1);
  if (event.key === "p") goOn(-1);
  if (event.key === "d") setTheme(!isDark());
});

byId("before").addEventListener("click", () => goOn(-1));
byId("after").addEventListener("click", () => goOn(1));
byId("up").addEventListener("click", () => {
  scrollTo({ top: 0 });
  byId("panel").focus({ preventScroll: true });
});
byId("theme").addEventListener("click", () => setTheme(!isDark()));
byId("theme").setAttribute("aria-pressed", isDark());
new ResizeObserver(() => {
  if (picked !== null) text.mark("picked", picked);
}).observe(byId("text"));

fillReport();
tell();
const asked = Number(readFields().at);
if (Number.isInteger(asked) && asked > 0) pick(asked, "center");
