// Curves along a stack over powers of ten, as SVG.

const CHART = { left: 46, top: 26, bottom: 36, labels: 128, narrowLabels: 96, narrow: 560 };
const LABEL_HEIGHT = 15;
const AXIS = "layers passed on the way forward; the gradient comes back from right to left";
const NARROW_AXIS = "layers passed; back: right to left";
// Where the axis may end: few places, so that it seldom moves.
const POWERS = [2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 250, 300, 400];
const POWER_STEPS = [1, 2, 5, 10, 20, 50, 100];
const LAYER_STEPS = [1, 2, 5, 10, 20, 50];
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// place   the element that takes the chart, as wide and high as it is
// chart   { label, unit, layers, curves: [{ kind, name, points: [[x, y], ...], marks: [[x, y], ...] }] };
//         a y of 0 or nan is a gap; unit says what is drawn upwards
// Returns the place along the stack that is at so many pixels from the left.
function drawChart(place, chart) {
  const [width, height] = [place.clientWidth, place.clientHeight];
  const { left, top, bottom } = CHART;
  const isNarrow = width < CHART.narrow;
  const right = isNarrow ? CHART.narrowLabels : CHART.labels;
  const [lowest, highest] = powersAround(chart.curves);
  const across = (x) => left + (x / chart.layers) * (width - left - right);
  const down = (power) => top + ((highest - power) / (highest - lowest)) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.label });
  picture.append(
    ...powerTicks(lowest, highest, height).map((power) => powerTick(power, down(power), width - right)),
    ...layerTicks(chart.layers, width).map((x) => chartText(across(x), height - bottom + 15, "middle", String(x))),
    chartText(across(chart.layers / 2), height - 4, "middle", isNarrow ? NARROW_AXIS : AXIS),
    chartText(4, 12, "start", chart.unit),
    ...chart.curves.flatMap((curve) => drawnCurve(curve, across, down)),
    ...curveLabels(chart.curves, across, down, width - right, height - bottom),
  );
  picture.append(svg("line", { class: "pointer", y1: top, y2: height - bottom, visibility: "hidden" }));
  place.replaceChildren(picture);
  acrossOf.set(place, across);
  return (pixels) => ((pixels - left) / (width - left - right)) * chart.layers;
}

const acrossOf = new WeakMap(); // of each chart, where its places lie

// A line across a chart at a place along the stack; none where that is null.
function pointAtLayer(place, at) {
  const line = place.querySelector(".pointer");
  const x = at === null ? 0 : acrossOf.get(place)(at);
  furnish(line, { x1: x, x2: x, visibility: at === null ? "hidden" : "visible" }, []);
}

function logged(y) {
  return y > 0 && Number.isFinite(y) ? Math.log10(y) : null;
}

// The powers of ten where the axis ends: 0 lies between, and they are the same for a whole range of curves.
function powersAround(curves) {
  const powers = curves.flatMap(({ points }) => points.map(([, y]) => logged(y))).filter((power) => power !== null);
  const outside = (power) => POWERS.find((each) => each >= power) ?? POWERS.at(-1);
  return [-outside(-Math.min(0, ...powers)), outside(Math.max(0, ...powers))];
}

function powerTicks(lowest, highest, height) {
  const most = Math.max(3, Math.floor(height / 34));
  const step = POWER_STEPS.find((each) => (highest - lowest) / each <= most) ?? 100;
  const ticks = [];
  for (let power = Math.ceil(lowest / step) * step; power <= highest; power += step) ticks.push(power);
  return ticks;
}

function powerTick(power, y, end) {
  const text = `10${Array.from(String(power), (digit) => SUPERSCRIPTS[digit]).join("")}`;
  const line = svg("line", { class: power === 0 ? "one" : "grid", x1: CHART.left, x2: end, y1: y, y2: y });
  return svg("g", {}, line, chartText(CHART.left - 6, y + 4, "end", text));
}

function layerTicks(layers, width) {
  const most = width < CHART.narrow ? 5 : 10;
  const step = LAYER_STEPS.find((each) => layers / each <= most) ?? 50;
  return Array.from({ length: Math.floor(layers / step) + 1 }, (_, i) => i * step);
}

function chartText(x, y, anchor, text) {
  return svg("text", { x: chartRound(x), y: chartRound(y), "text-anchor": anchor }, text);
}

function chartRound(x) {
  return Math.round(x * 10) / 10;
}

function drawnCurve({ kind, points, marks = [] }, across, down) {
  let path = "";
  let joined = false;
  for (const [x, y] of points) {
    const power = logged(y);
    if (power !== null) path += `${joined ? "L" : "M"}${chartRound(across(x))} ${chartRound(down(power))}`;
    joined = power !== null;
  }
  const dots = (points.length === 1 ? points : marks).filter(([, y]) => logged(y) !== null);
  return [
    svg("path", { class: `curve ${kind}`, d: path }),
    ...dots.map(([x, y]) => svg("circle", { class: `dot ${kind}`, cx: across(x), cy: down(logged(y)), r: 4 })),
  ];
}

// Each curve's name beside its end, with a piece of its line; names that would lie on each other move apart.
function curveLabels(curves, across, down, from, lowest) {
  const ends = curves.flatMap(({ kind, name, points }) => {
    const end = points.findLast(([, y]) => logged(y) !== null);
    return end ? [{ kind, name, x: across(end[0]), y: down(logged(end[1])) }] : [];
  });
  ends.sort((a, b) => a.y - b.y);
  let free = CHART.top + 4;
  for (const end of ends) {
    end.at = Math.max(end.y, free);
    free = end.at + LABEL_HEIGHT;
  }
  free = lowest;
  for (const end of ends.toReversed()) {
    end.at = Math.min(end.at, free);
    free = end.at - LABEL_HEIGHT;
  }
  return ends.flatMap(({ kind, name, x, y, at }) => {
    const start = `${from + 8} ${chartRound(at)}`;
    return [
      svg("path", { class: "lead", d: `M${chartRound(Math.max(x, from - 8) + 2)} ${chartRound(y)}L${start}` }),
      svg("path", { class: `curve ${kind}`, d: `M${start}h22` }),
      chartText(from + 34, at + 4, "start", name),
    ];
  });
}
