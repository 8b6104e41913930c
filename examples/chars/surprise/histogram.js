// The histogram: for each span of nats, how many characters cost that much, and how much of the loss they make up.

const PLOT = { width: 440, height: 190, left: 38, right: 6, top: 22, bottom: 34 };

// bars     { from, to, share, loss_share, characters, limits } in order, of equal width; the last `to` may be null
// marks    [[name, nats], ...] lines across it
// levelOf  the level of a surprise, which colours the bar
function histogram(bars, marks, levelOf) {
  const { width, height, left, right, top, bottom } = PLOT;
  const each = (width - left - right) / bars.length;
  const most = Math.max(...bars.flatMap((bar) => [bar.share, bar.loss_share]));
  const across = (nats) => left + Math.min(nats / bars[0].to, bars.length) * each;
  const down = (share) => top + (1 - share / most) * (height - top - bottom);
  const label = `Histogram of surprise: ${bars.map(barText).join("; ")}.`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const share of shareTicks(most)) {
    const y = down(share);
    picture.append(
      svg("line", { class: "axis", x1: left - 4, x2: left, y1: y, y2: y }),
      svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, `${shortText(100 * share)} %`),
    );
  }
  const every = Math.ceil(bars.length / 9);
  bars.forEach((bar, i) => {
    const x = left + i * each;
    const middle = bar.to === null ? bar.from : (bar.from + bar.to) / 2;
    const rect = (name, share, shift) =>
      svg("rect", { class: name, x: x + shift * each, y: down(share), width: 0.38 * each, height: down(0) - down(share) });
    picture.append(
      svg("g", {}, svg("title", {}, barText(bar)),
        rect(`characters level${levelOf(middle)}`, bar.share, 0.1), rect("loss", bar.loss_share, 0.54)),
    );
    if (i % every === 0) {
      const end = bar.to === null ? `${shortText(bar.from)}+` : shortText(bar.from);
      picture.append(svg("text", { x, y: height - bottom + 14, "text-anchor": "middle" }, end));
    }
  });
  picture.append(
    svg("line", { class: "axis", x1: left, x2: width - right, y1: down(0), y2: down(0) }),
    svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "nats a character"),
  );
  marks.forEach(([name, nats], i) => {
    const x = across(nats);
    const attributes = { x: x + 4, y: 9 + 12 * i, "text-anchor": "start" };
    if (x > 0.75 * width) Object.assign(attributes, { x: x - 4, "text-anchor": "end" });
    picture.append(
      svg("line", { class: "middle", x1: x, x2: x, y1: 2 + 12 * i, y2: down(0) }),
      svg("text", attributes, `${name} ${numberText(nats, 2)}`),
    );
  });
  return picture;
}

function barText(bar) {
  return `${bar.limits} nats: ${shareText(bar.share)} of the characters, ${shareText(bar.loss_share)} of the loss`;
}

function shareText(share) {
  return `${fixedText(100 * share, 1)} %`;
}

// About four round shares from 0 to `most`.
function shareTicks(most) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5].find((s) => most / s <= 4.5) ?? 0.5;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}
