// What is drawn on the edges: chips with numbers, bars where no gradient passes, arrowheads.

// What came along an edge: a signed number, struck through once a later `=` has replaced it.
class Chip extends Drawn {
  constructor() {
    super("chip", null);
    this.rect = svg("rect", { y: -CHIP_HEIGHT / 2, height: CHIP_HEIGHT, rx: 6 });
    this.text = svg("text", { y: 4.5 });
    this.strike = svg("line");
    this.group.append(this.rect, this.text, this.strike);
  }

  show(text, classes) {
    this.mark({ shown: text, ...classes });
    if (!text || !write(this.text, text)) return;
    const half = chipSize(text.length).width / 2;
    furnish(this.rect, { x: -half, width: 2 * half }, []);
    furnish(this.strike, { x1: 3 - half, x2: half - 3 }, []);
  }
}

// A bar across an edge along which no gradient passes, and why in few words.
function blockedMark({ x, y, angle }, words) {
  const turn = (angle * 180) / Math.PI;
  const flat = Math.abs(Math.cos(angle)) > 0.7; // the words go below the edge, else beside it
  const beside = flat ? { x: 8, y: 21, "text-anchor": "end" } : { x: 13, y: 4, "text-anchor": "start" };
  return svg("g", { class: "blocked", transform: `translate(${x} ${y})` },
    svg("title", {}, words),
    svg("path", { d: "M-2 -8V8M3 -8V8", transform: `rotate(${turn})` }),
    svg("text", beside, words),
  );
}

function arrowheads() {
  const sizes = { "forward-arrow": 9, "backward-arrow": 11, "current-arrow": 20 };
  return svg("defs", {}, ...Object.entries(sizes).map(([id, size]) => arrowhead(id, size)));
}

function arrowhead(id, size) {
  const box = { viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: size, markerHeight: size };
  const shape = svg("path", { d: "M0 1 10 5 0 9z" });
  return svg("marker", { id, ...box, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, shape);
}
