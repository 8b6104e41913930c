// Where the numbers go on the edges of the pane of Values: beside the boxes and beside each other.

const SCALAR_CHIP = { width: 66, height: 18 };

function boxCentre({ x, y, width, height }) {
  return [x + width / 2, y + height / 2];
}

// A route as a path: its first point, then three points for each piece.
function routeCurve(route) {
  return `M${route.slice(0, 2).join(" ")}C${route.slice(2).join(" ")}`;
}

// Where the number of a route goes: the middle of a piece of it that is beside all boxes, the nearer to its own middle
// the better.
function chipPlace(route, boxes) {
  const pieces = Array.from({ length: (route.length - 2) / 6 }, (_, i) => route.slice(6 * i, 6 * i + 8));
  const middle = (piece) => [0, 1].map((k) => (piece[k] + 3 * (piece[k + 2] + piece[k + 4]) + piece[k + 6]) / 8);
  const middles = pieces.map(middle);
  const half = (middles.length - 1) / 2;
  const order = middles.map((point, i) => ({ point, off: Math.abs(i - half) })).sort((a, b) => a.off - b.off);
  return (order.find(({ point }) => !boxes.some((box) => chipCovers(box, point))) ?? order[0]).point;
}

// Whether a number at a point would lie on a box.
function chipCovers(box, [x, y]) {
  const across = Math.abs(x - box.x - box.width / 2) < (box.width + SCALAR_CHIP.width) / 2;
  return across && Math.abs(y - box.y - box.height / 2) < (box.height + SCALAR_CHIP.height) / 2;
}

// The same places, those that would cover each other moved apart, up and down.
function chipsApart(places, all) {
  const moved = places.map((place) => [...place]);
  const step = SCALAR_CHIP.height + 1;
  for (let round = 0; all && round < 40; round += 1) {
    let rests = true;
    for (let i = 0; i < moved.length; i += 1) {
      for (let k = i + 1; k < moved.length; k += 1) {
        const gap = moved[k][1] - moved[i][1];
        if (Math.abs(moved[k][0] - moved[i][0]) >= SCALAR_CHIP.width || Math.abs(gap) >= step - 0.01) continue;
        const by = (step - Math.abs(gap)) / 2;
        moved[i][1] += gap < 0 ? by : -by;
        moved[k][1] += gap < 0 ? -by : by;
        rests = false;
      }
    }
    if (rests) break;
  }
  return moved;
}
