// The quiz: before a step of the backward pass is shown, the reader says what the gradient will be.

class Quiz {
  constructor(run, state, { go, show }) {
    this.run = run;
    this.state = state;
    this.go = go;
    this.show = show;
    this.right = 0;
    this.tried = 0;
    this.asked = null;
  }

  // Ask for step `at`. Returns whether there is something to ask: a number that a gradient will hold.
  ask(at) {
    const step = at <= this.run.length(this.state.mode) ? this.run.step(this.state.mode, at) : null;
    if (step?.phase !== "backward" || this.answerTo(step) === null) return false;
    this.asked = step;
    return true;
  }

  cancel() {
    this.asked = null;
  }

  // The number asked for: of an array its first element, where the page has it.
  answerTo({ after }) {
    const x = after.value ?? (after.grid?.exact ? after.grid.values[0] : null);
    return typeof x === "number" && Number.isFinite(x) ? x : null;
  }

  question() {
    const { sender, receiver, before, local, localText, upstream, rule } = this.asked;
    const first = isArray(this.asked.after) && this.asked.after.value === undefined;
    const place = first ? `the first element of ${receiver.name}.grad` : `${receiver.name}.grad`;
    const terms = local && !isArray(local) ? ["With ", code(localText), " = ", amount(local), " and "] : ["By ", code(rule), ", and "];
    const held = before ? ["It holds ", amount(before), " now. "] : ["Nothing has arrived there yet. "];
    const field = html("input", { type: "text", inputmode: "decimal", size: 10, autocomplete: "off", "aria-label": `Your answer: ${place}` });
    const form = html("form", { class: "quiz" }, field, html("button", { type: "submit" }, "Check"), this.showButton());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.judge(field.value);
    });
    setTimeout(() => field.focus({ preventScroll: true }));
    return [
      paragraph("", bold(sender.name), " sends to ", bold(receiver.name), ". ", ...terms, code(`${sender.name}.grad`), " = ", amount(upstream), ":"),
      paragraph("", ...held, "What will ", bold(place), ` be, with ${MODES[this.state.mode].operator}?`),
      form,
      ...this.score(),
    ];
  }

  showButton() {
    const button = html("button", { type: "button" }, "Show me");
    button.addEventListener("click", () => this.reveal());
    return button;
  }

  judge(text) {
    const given = Number(text.trim().replace("−", "-"));
    if (!text.trim() || Number.isNaN(given)) return;
    const answer = this.answerTo(this.asked);
    const close = Math.abs(given - answer) <= Math.max(Math.abs(answer) * 0.005, 5e-5);
    this.tried += 1;
    if (close) this.right += 1;
    this.reveal(close ? "Right." : `Not ${shortText(given)}: it is ${shortText(answer)}.`, close);
  }

  reveal(verdict = "", close = true) {
    const { number } = this.asked;
    this.asked = null;
    this.go(number);
    if (!verdict) return;
    const line = paragraph(close ? "verdict" : "verdict bad", bold(verdict));
    byId("now").prepend(line, ...this.score());
    write(byId("narration"), `${verdict} ${byId("narration").textContent}`);
  }

  score() {
    return this.tried ? [paragraph("muted", `${this.right} of ${this.tried} right so far.`)] : [];
  }

  narration() {
    return `Quiz: ${this.asked.sender.name} sends to ${this.asked.receiver.name}. What will ${this.asked.receiver.name}.grad be?`;
  }
}
