// Where an edge runs: points x0, y0, x1, y1, ... of cubic Bezier curves, each of which begins where the last one ends.

// As the path of an SVG element.
function routePath(points) {
  const at = (i) => `${round1(points[i])} ${round1(points[i + 1])}`;
  let d = `M${at(0)}`;
  for (let i = 2; i + 5 < points.length; i += 6) d += `C${at(i)} ${at(i + 2)} ${at(i + 4)}`;
  return d;
}

function round1(x) {
  return Math.round(x * 10) / 10;
}

// The box around it; the curve lies within that of its control points.
function routeBounds(points) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    left = Math.min(left, points[i]);
    right = Math.max(right, points[i]);
    top = Math.min(top, points[i + 1]);
    bottom = Math.max(bottom, points[i + 1]);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

// The point at a fraction of the way, and the direction there.
function pointOnRoute(points, fraction) {
  const pieces = Math.max((points.length - 2) / 6, 1);
  const lengths = [];
  for (let i = 0; i < pieces; i++) {
    lengths.push(Math.hypot(points[6 * i + 6] - points[6 * i], points[6 * i + 7] - points[6 * i + 1]));
  }
  let rest = Math.min(Math.max(fraction, 0), 1) * lengths.reduce((a, b) => a + b, 0);
  let piece = 0;
  while (piece < pieces - 1 && rest > lengths[piece]) rest -= lengths[piece++];
  const t = lengths[piece] ? rest / lengths[piece] : 0;
  const along = (axis) => bezier(points, 6 * piece + axis, t);
  const [x, dx] = along(0);
  const [y, dy] = along(1);
  return { x, y, angle: Math.atan2(dy, dx) };
}

// A coordinate of the curve that begins at `i`, and its slope.
function bezier(points, i, t) {
  const [a, b, c, d] = [points[i], points[i + 2], points[i + 4], points[i + 6]];
  const s = 1 - t;
  const value = s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
  return [value, 3 * (s * s * (b - a) + 2 * s * t * (c - b) + t * t * (d - c))];
}
