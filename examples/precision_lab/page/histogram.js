// The histogram: how many numbers have each binary exponent after the scale, and each format's range below it. The
// ranges stand still, the numbers move.

const CHART = { tall: 340, low: 240, left: 74, right: 12, top: 40, row: 17, axis: 38 };
const PARTS = [["lost", "rounded to zero"], ["short", "fewer digits"], ["full", "all digits"], ["overflowed", "overflow"]];

// The exponents that the chart shows, for all scales of the slider.
function chartSpan(whole, slider) {
  const first = whole.rows.length ? whole.first : -28;
  const last = whole.rows.length ? whole.first + whole.rows.length - 1 : 10;
  return { least: Math.min(first, -28) - 1, most: Math.min(Math.max(last + slider.most, 19), 129) };
}

// width   pixels
// state   { group, kind, power, linear }
// kinds   all formats, span what chartSpan gives
function histogram(width, state, kinds, span) {
  const { group, kind, power } = state;
  const { left, right, top } = CHART;
  const height = width > 600 ? CHART.tall : CHART.low; // of the bars
  const each = (width - left - right) / (span.most - span.least);
  const bottom = height + kinds.length * CHART.row + CHART.axis;
  const across = (exponent) => left + (Math.max(span.least, Math.min(exponent, span.most)) - span.least) * each;
  const most = Math.max(1, ...group.rows.map((row) => row[0]));
  const part = state.linear ? (n) => n / most : (n) => (Math.log10(n) + 0.25) / (Math.log10(most) + 0.25);
  const down = (n) => height - part(n) * (height - top);

  const label = `Histogram of ${groupText(group)} by size, times ${scaleText(power)}. ${outcomeText(group, kind, power)}`;
  const picture = svg("svg", { width, height: bottom, viewBox: `0 0 ${width} ${bottom}`, role: "img", "aria-label": label });
  picture.append(patterns());
  for (const n of countTicks(most, state.linear)) {
    const y = down(n);
    picture.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y }),
      svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, n >= 1e6 ? shortText(n) : countText(n)),
    );
  }
  picture.append(...regions(kind, across, { left, right: width - right, height }));
  group.rows.forEach((row, i) => row[0] && picture.append(bar(state, i, across, down, height)));
  picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height, y2: height }));
  kinds.forEach((one, i) => picture.append(rangeBar(one, one === kind, height + 5 + i * CHART.row, across, span)));
  picture.append(...sizeTicks(each, span, across, height, height + kinds.length * CHART.row + 8));
  const middle = (left + width - right) / 2;
  picture.append(svg("text", { x: middle, y: bottom - 4, "text-anchor": "middle" }, "size of a gradient value times the scale"));
  return picture;
}

// One binade; where the format does different things to its numbers, it is divided by their shares.
function bar(state, i, across, down, height) {
  const { group, kind, power } = state;
  const exponent = group.first + i + power;
  const counts = countedIn(group, i, kind, power);
  const all = group.rows[i][0];
  const [x, end] = [across(exponent), across(exponent + 1)];
  const present = PARTS.filter(([name]) => counts[name]);
  const told = present.map(([name, words]) => `${countText(counts[name])} ${words}`).join(", ");
  const made = svg("g", {}, svg("title", {}, `${countText(all)} from 2^${exponent} to 2^${exponent + 1}: ${told}`));
  if (end === x) return made; // beyond the chart
  const gap = end - x > 6 ? 1 : 0;
  const widths = present.map(([name]) => Math.max(counts[name] / all, 0.2));
  const unit = (end - x - gap) / widths.reduce((sum, one) => sum + one, 0);
  let at = x;
  present.forEach(([name], k) => {
    made.append(svg("rect", { class: name, x: at, y: down(all), width: widths[k] * unit, height: height - down(all) }));
    at += widths[k] * unit;
  });
  return made;
}

// Where the chosen format rounds to zero, has fewer digits, has all and overflows: lines across the bars, with words.
function regions(kind, across, { left, right, height }) {
  const limits = [kind.zeroTo, kind.normal, kind.overflowsFrom].map((x) => across(Math.log2(x)));
  const rims = [left, ...limits, right];
  const found = limits
    .filter((x) => x > left && x < right)
    .map((x) => svg("line", { class: "limit", x1: x, x2: x, y1: 16, y2: height }));
  const words = [["to zero", "to 0"], ["fewer digits", "fewer"], ["all digits", "all"], ["overflow", "over"]];
  words.forEach((texts, i) => {
    const [from, to] = [rims[i], rims[i + 1]];
    const text = texts.find((each) => to - from > textWidth(each) + 8);
    if (text) {
      found.push(svg("text", { class: "region", x: (from + to) / 2, y: 12, "text-anchor": "middle" }, text));
    }
  });
  for (const [name, size, x, room] of [
    ["smallest", kind.smallest, limits[0], limits[1] - limits[0]],
    ["largest", kind.largest, limits[2], limits[1] - limits[2]],
  ]) {
    if (x <= left || x >= right) continue;
    const fits = (text) => Math.abs(room) > textWidth(text) + 6;
    const text = [`${name} ${limitText(size)}`, limitText(size)].find(fits) ?? limitText(size);
    const inwards = fits(text) ? Math.sign(room) : -Math.sign(room);
    found.push(svg("text", { x: x + 4 * inwards, y: 28, "text-anchor": inwards > 0 ? "start" : "end" }, text));
  }
  return found;
}

// A format's range: the part with fewer digits hatched. An arrow where it goes on beyond the chart.
function rangeBar(kind, chosen, y, across, span) {
  const [from, normal, to] = [kind.smallest, kind.normal, kind.overflowsFrom].map(Math.log2);
  const made = svg("g", { class: chosen ? "range chosen" : "range" });
  made.append(
    svg("title", {}, rangeText(kind)),
    svg("text", { x: CHART.left - 11, y: y + 10, "text-anchor": "end" }, kind.name),
  );
  const piece = (name, a, b) => svg("rect", { class: name, x: across(a), y, width: across(b) - across(a), height: 12 });
  if (across(normal) > across(from)) made.append(piece("some", from, normal));
  made.append(piece("whole", normal, to));
  if (from < span.least) made.append(arrow(across(from), y, -1));
  if (to > span.most) made.append(arrow(across(to), y, 1));
  return made;
}

// About how wide a text is, in pixels.
function textWidth(text) {
  return 6.3 * text.length;
}

function arrow(x, y, direction) {
  return svg("path", { class: "beyond", d: `M${x - direction} ${y}l${direction * 8} 6l${-direction * 8} 6z` });
}

function sizeTicks(each, span, across, axis, y) {
  const step = [4, 8, 16, 32, 64].find((s) => s * each >= 42) ?? 64;
  const found = [];
  for (let e = Math.ceil(span.least / step) * step; e <= span.most; e += step) {
    found.push(
      svg("line", { class: "axis", x1: across(e), x2: across(e), y1: axis, y2: axis + 4 }),
      svg("text", { x: across(e), y: y + 8, "text-anchor": "middle" }, "2", svg("tspan", { dy: -4, "font-size": 9 }, String(e).replace("-", MINUS_SIGN))),
    );
  }
  return found;
}

function countTicks(most, linear) {
  if (linear) {
    const step = [1, 2, 5].flatMap((d) => Array.from({ length: 15 }, (_, i) => d * 10 ** i)).sort((a, b) => a - b).find((s) => most / s <= 5);
    return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
  }
  const powers = Math.floor(Math.log10(most));
  const every = Math.ceil((powers + 1) / 7);
  return Array.from({ length: Math.floor(powers / every) + 1 }, (_, i) => 10 ** (i * every));
}

function patterns() {
  const box = (id, size, ...parts) =>
    svg("pattern", { id, width: size, height: size, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: size, height: size, class: `${id}-ground` }), ...parts);
  const stroke = (id, d) => svg("path", { class: `${id}-stroke`, d });
  return svg("defs", {},
    box("hatched", 6, stroke("hatched", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5")),
    box("dotted", 5, svg("circle", { class: "dotted-dot", cx: 2.5, cy: 2.5, r: 1.1 })),
    box("crossed", 6, stroke("crossed", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5M-1 -1L7 7M-1 5L1 7M5 -1L7 1")));
}

// What the fillings mean.
function chartKey() {
  return PARTS.map(([name, words]) =>
    html("span", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("rect", { class: name, x: 0.5, y: 0.5, width: 21, height: 13 })), words));
}
