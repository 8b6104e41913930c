// Where the chips go on the edges of a drawing that is laid out.

const SHIFTS = [0, 0.07, -0.07, 0.14, -0.14, 0.21, -0.21, 0.28, -0.28, 0.34, -0.34]; // of a chip along its edge
const ALONG = SHIFTS.map((shift) => [shift, 0]);
const AWAY = [0, 17, -17, 30, -30, 38, -38, 45, -45, 53, -53, 62, -62, 80, -80]; // from its edge, where boxes are close
const ASIDE = AWAY.flatMap((aside) => SHIFTS.map((shift) => [shift, aside]));
const MOST_ASIDE = 1000; // edges: where there are more, no places beside them are tried
const CAPTION_ROW = 20;
const TRUTH_ROW = 20; // below a box, for what its gradient should be
const TAG_ROW = 18; // above a box, for "nan, inf" and how often it is used

// Put each chip half way along its edge, or near to that where it covers least of boxes and other chips.
function placeChips(run, visible, direction) {
  const { compact } = visible;
  const taken = new TakenPlaces();
  for (const { box } of visible.items) {
    const written = { ...box, y: box.y - TAG_ROW, height: box.height + TAG_ROW + TRUTH_ROW };
    taken.add(compact ? box : written);
  }
  if (compact) for (const { box } of visible.frames) taken.add({ ...box, height: CAPTION_ROW });
  const root = visible.itemFor(run.root)?.box;
  if (compact && root) taken.add({ ...root, y: root.y + root.height, height: CHIP_HEIGHT + 8 }); // the seed
  const edges = visible.edges();
  const places = compact && edges.length <= MOST_ASIDE ? ASIDE : ALONG;
  visible.links.forEach((link, i) => {
    const { width, height } = edges[i].chip;
    const { parallel } = link;
    const middle = (parallel.indexOf(link) + 0.5) / parallel.length;
    let best = { covered: Infinity };
    for (const [shift, aside] of places) {
      const on = pointOnRoute(link.route, middle + shift);
      const point = direction === "TB" ? { x: on.x + 2 * aside, y: on.y } : { x: on.x, y: on.y + aside };
      const box = { x: point.x - width / 2, y: point.y - height / 2, width, height };
      const covered = taken.covered(box);
      if (covered < best.covered) best = { covered, point, box };
      if (!covered) break;
    }
    if (!compact) taken.add(best.box); // else few of them are on show at a time
    link.chipAt = best.point;
  });
}

// Boxes, found by where they are: how much of a new box they cover.
class TakenPlaces {
  constructor(cell = 200) {
    this.cell = cell;
    this.cells = new Map();
  }

  each(box, visit) {
    const { cell } = this;
    for (let i = Math.floor(box.x / cell); i <= Math.floor((box.x + box.width) / cell); i++) {
      for (let j = Math.floor(box.y / cell); j <= Math.floor((box.y + box.height) / cell); j++) visit(`${i},${j}`);
    }
  }

  add(box) {
    this.each(box, (key) => (this.cells.has(key) ? this.cells.get(key).push(box) : this.cells.set(key, [box])));
  }

  covered(box) {
    const near = new Set();
    this.each(box, (key) => this.cells.get(key)?.forEach((other) => near.add(other)));
    let sum = 0;
    for (const other of near) sum += sharedArea(box, other);
    return sum;
  }
}

// The area that two boxes share.
function sharedArea(a, b) {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return width > 0 && height > 0 ? width * height : 0;
}
