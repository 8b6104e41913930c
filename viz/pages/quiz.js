// The quiz: before a step of the backward pass is shown, the reader says what the gradient will be.

class Quiz {
  constructor(run, state, { go, show }) {
    this.run = run;
    this.state = state;
    this.go = go;
    this.show = show;
    this.right = 0;
    this.tried = 0;
    this.asked = null; // the step
    this.parts = null; // the question, as long as it is open: what is typed stays
    this.verdict = null; // on the last answer: { step, text, close }
  }

  // Ask for step `at`. Returns whether there is something to ask: a number that a gradient will hold.
  ask(at) {
    const step = at <= this.run.length(this.state.mode) ? this.run.step(this.state.mode, at) : null;
    if (step?.phase !== "backward" || this.answerTo(step) === null) return false;
    this.cancel();
    this.asked = step;
    return true;
  }

  // Take back the question, and what was said of the one before.
  cancel() {
    this.asked = this.parts = this.verdict = null;
  }

  // The number asked for: of an array its first element, where the page has it.
  answerTo({ after }) {
    const x = after.value ?? (after.grid?.exact ? after.grid.values[0] : null);
    return typeof x === "number" && Number.isFinite(x) ? x : null;
  }

  question() {
    this.parts ??= this.newQuestion();
    return this.parts;
  }

  newQuestion() {
    const { sender, receiver, before, local, localText, upstream, rule } = this.asked;
    const first = isArray(this.asked.after) && this.asked.after.value === undefined;
    const place = first ? `the first element of ${receiver.name}.grad` : `${receiver.name}.grad`;
    const slope = localText === local?.short ? ["The local derivative is "] : ["With ", code(localText), " = "];
    const terms = local && !isArray(local) ? [...slope, amount(local), ", and "] : ["By ", code(rule), ", and "];
    const held = before ? ["It holds ", amount(before), " now. "] : ["Nothing has arrived there yet. "];
    const typed = { type: "text", inputmode: "decimal", size: 10, autocomplete: "off" };
    const field = html("input", { ...typed, "aria-label": `Your answer: ${place}` });
    const told = html("span", { class: "muted", role: "status" });
    const check = html("button", { type: "submit" }, "Check");
    const form = html("form", { class: "quiz" }, field, check, this.showButton(), told);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.judge(field.value)) write(told, "A number, please: 0.5, -2, 1e-3.");
    });
    setTimeout(() => field.focus({ preventScroll: true }));
    const own = [code(`${sender.name}.grad`), " = ", amount(upstream)];
    return [
      paragraph("", bold(sender.name), " sends to ", bold(receiver.name), ". ", ...terms, ...own, ":"),
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

  // Returns whether `text` is an answer at all.
  judge(text) {
    const given = typedNumber(text);
    if (given === null) return false;
    const answer = this.answerTo(this.asked);
    const close = Math.abs(given - answer) <= Math.max(Math.abs(answer) * 0.005, 5e-5);
    this.tried += 1;
    if (close) this.right += 1;
    this.reveal(close ? "Right." : `Not ${shortText(given)}: it is ${shortText(answer)}.`, close);
    return true;
  }

  reveal(text = "", close = true) {
    const step = this.asked;
    this.cancel();
    if (text) this.verdict = { step, text, close };
    this.go(step.number);
    byId("forward").focus({ preventScroll: true }); // the field is gone; Enter goes on
  }

  // What was said of the answer that led to `step`.
  told(step) {
    if (!step || this.verdict?.step !== step) return [];
    return [paragraph(this.verdict.close ? "verdict" : "verdict bad", bold(this.verdict.text)), ...this.score()];
  }

  score() {
    return this.tried ? [paragraph("muted", `${this.right} of ${this.tried} right so far.`)] : [];
  }

  narration(step) {
    if (!this.asked) return step && this.verdict?.step === step ? `${this.verdict.text} ` : "";
    const { sender, receiver } = this.asked;
    return `Quiz: ${sender.name} sends to ${receiver.name}. What will ${receiver.name}.grad be?`;
  }
}
