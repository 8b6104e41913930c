// Which scales suit the numbers, as bars below the slider, one for each format: thick where nothing is lost and nothing
// overflows, thin where nothing overflows. The tables say the same in words.

function scaleBars(group, kinds, slider) {
  const clamped = (power) => Math.max(slider.least, Math.min(power, slider.most));
  const place = (power) => (100 * (clamped(power) - slider.least)) / (slider.most - slider.least);
  const piece = (name, from, to) => {
    if (from > slider.most || to < slider.least) return "";
    const style = `left:calc(${place(from)}% - 2px);width:calc(${place(to) - place(from)}% + 4px)`;
    return html("span", { class: name, style });
  };
  const rows = kinds.map((kind) => {
    const { from, to } = bestScales(group, kind);
    const pieces = [];
    if (to !== null) pieces.push(piece("safe", slider.least, to));
    if (from !== null && to !== null && from <= to) pieces.push(piece("best", from, to));
    return [html("span", { class: "name" }, kind.name), html("span", { class: "track" }, ...pieces)];
  });
  return rows.flat();
}

// The powers of two below the slider.
function scaleTicks(slider) {
  const span = slider.most - slider.least;
  const step = [4, 8, 16, 32].find((s) => span / s <= 8) ?? 64;
  const found = [];
  for (let power = Math.ceil(slider.least / step) * step; power <= slider.most; power += step) {
    found.push(html("span", { style: `left:${(100 * (power - slider.least)) / span}%` }, "2", html("sup", {}, String(power).replace("-", MINUS_SIGN))));
  }
  return found;
}

// Puts the words that say where GradScaler starts there, without standing out of the slider.
function placeStart(words, slider) {
  const place = (100 * (GRAD_SCALER.start - slider.least)) / (slider.most - slider.least);
  words.style.left = `${place}%`;
  words.style.transform = `translateX(${place < 25 ? 0 : place > 75 ? -100 : -50}%)`;
}
