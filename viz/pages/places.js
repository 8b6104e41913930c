// One level of a layout: where its vertices go, once their ranks and the order in each rank are known.

const LANE_GAP = 14; // between lanes, and between the ends of edges at one side of a box

// Sets u, v (the middle), start and end (of the rank) of each vertex, fromV and toV of the segments. Returns the
// level's [length, breadth].
function placeLevel(level, layers, links, settings) {
  for (const layer of layers) spaceOut(layer, settings); // and so that v is 0 in the middle
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  const rounds = size > 3000 ? 4 : settings.effort.rounds;
  const there = (draw) => layers.reduce((moved, layer) => draw(layer) || moved, false);
  const back = (draw) => layers.reduceRight((moved, layer) => draw(layer) || moved, false);
  const repeat = (most, round) => {
    for (let i = 0; i < most && round(); i++); // a round that moved nothing is the last
  };
  const [first, last] = [layers[0], layers[layers.length - 1]];
  repeat(rounds, () => {
    const moved = there((layer) => layer !== first && drawTo(layer, true, false));
    return back((layer) => layer !== last && drawTo(layer, false, true)) || moved;
  });
  repeat(rounds / 2, () => {
    const moved = there((layer) => drawTo(layer, true, true));
    return back((layer) => drawTo(layer, true, true)) || moved;
  });
  repeat(rounds / 2, () => {
    const moved = there((layer) => straighten(layer, "in"));
    return back((layer) => straighten(layer, "out")) || moved;
  });
  const breadth = shiftInto(level, layers, settings);
  for (const layer of layers)
    placePorts(
      layer.filter(({ kind }) => kind === "in" || kind === "out"),
      level.over,
      breadth - level.under,
    );
  for (let round = 0; round < 2; round++) for (const layer of layers) for (const vertex of layer) attachEnds(vertex);
  return [placeRanks(level, layers, settings), breadth];
}

// -- across -----------------------------------------------------------------------------------------------------------

// Sets `gap`, from the middle of the vertex before, and first places.
function spaceOut(layer, { across }) {
  let v = 0;
  layer.forEach((vertex, i) => {
    const before = layer[i - 1];
    const thin = before ? (vertex.breadth === 0) + (before.breadth === 0) : 0;
    vertex.gap = before
      ? (before.breadth + vertex.breadth) / 2 + (thin === 2 ? LANE_GAP : thin === 1 ? Math.min(across, 20) : across)
      : 0;
    v += vertex.gap;
    vertex.v = v;
  });
  for (const vertex of layer) vertex.v -= v / 2;
}

// The layer's places as near to the means of the neighbours as the order and the gaps allow. Returns whether any moved.
function drawTo(layer, byIns, byOuts) {
  const wanted = layer.map((vertex) => {
    let [sum, weight] = [0, 0];
    if (byIns) {
      for (const segment of vertex.ins) {
        sum += segment.weight * (segment.from.v + segment.fromOff - segment.toOff);
        weight += segment.weight;
      }
    }
    if (byOuts) {
      for (const segment of vertex.outs) {
        sum += segment.weight * (segment.to.v + segment.toOff - segment.fromOff);
        weight += segment.weight;
      }
    }
    return weight > 0 ? [sum / weight, weight] : [isLone(vertex) ? 0 : vertex.v, 0.05];
  });
  return fitIn(layer, wanted);
}

function isLone(vertex) {
  return vertex.ins.length + vertex.outs.length === 0;
}

// Each vertex at the median of its neighbours: most edges straight rather than all a little slanted. Where one edge in
// and one out pull the same, the one of the side that the sweep comes from; edges that pull much less than the
// strongest do not count. Returns whether any moved.
function straighten(layer, side) {
  const wanted = layer.map((vertex) => {
    let ends = [];
    for (const segment of vertex.ins)
      ends.push({ v: segment.from.v + segment.fromOff - segment.toOff, weight: segment.weight, side: "in" });
    for (const segment of vertex.outs)
      ends.push({ v: segment.to.v + segment.toOff - segment.fromOff, weight: segment.weight, side: "out" });
    if (ends.length === 0) return [0, 0.05];
    if (ends.length === 1) return [ends[0].v, ends[0].weight];
    const most = ends.reduce((weight, end) => Math.max(weight, end.weight), 0);
    ends = ends.filter(({ weight }) => weight > most / 2).sort((a, b) => a.v - b.v);
    const total = ends.reduce((sum, { weight }) => sum + weight, 0);
    let sum = 0;
    for (let i = 0; i < ends.length; i++) {
      sum += ends[i].weight;
      if (sum > total / 2) return [ends[i].v, total];
      if (sum < total / 2) continue;
      const [low, high] = [ends[i], ends[i + 1]];
      if (low.side === high.side) return [Math.min(Math.max(vertex.v, low.v), high.v), total];
      return [low.side === side ? low.v : high.v, total];
    }
    return [vertex.v, total];
  });
  return fitIn(layer, wanted, layer.length < 100);
}

// Pool adjacent violators: the best fit to the wanted places, [place, weight], that keeps all gaps: of least squares,
// or of least distances. Returns whether any moved.
function fitIn(layer, wanted, byMedian = false) {
  const pools = [];
  let offset = 0;
  for (let i = 0; i < layer.length; i++) {
    offset += layer[i].gap;
    const [place, weight] = [wanted[i][0] - offset, wanted[i][1]];
    const pool = { place, sum: place * weight, weight, count: 1, all: byMedian ? [[place, weight]] : null };
    while (pools.length > 0 && pools[pools.length - 1].place >= pool.place) {
      const before = pools.pop();
      pool.sum += before.sum;
      pool.weight += before.weight;
      pool.count += before.count;
      if (byMedian) pool.all = before.all.concat(pool.all);
      pool.place = byMedian ? medianOf(pool) : pool.sum / pool.weight;
    }
    pools.push(pool);
  }
  let [i, moved] = [0, false];
  offset = 0;
  for (const { place, count } of pools) {
    for (const end = i + count; i < end; i++) {
      offset += layer[i].gap;
      moved ||= layer[i].v !== place + offset;
      layer[i].v = place + offset;
    }
  }
  return moved;
}

function medianOf({ all, weight }) {
  all.sort((a, b) => a[0] - b[0]);
  let sum = 0;
  for (let i = 0; i < all.length; i++) {
    sum += all[i][1];
    if (sum > weight / 2) return all[i][0];
    if (sum === weight / 2) return (all[i][0] + all[i + 1][0]) / 2;
  }
  return all[all.length - 1][0];
}

// Close strips that nothing is in, and shift all to the level's own coordinates. Returns its breadth.
function shiftInto(level, layers, { across }) {
  const vertices = layers.flat();
  const spans = vertices.map(({ v, breadth }) => [v - breadth / 2, v + breadth / 2]);
  for (const vertex of vertices) {
    for (const { to, fromOff, toOff } of vertex.outs) {
      const [from, end] = [vertex.v + fromOff, to.v + toOff];
      if (Math.abs(from - end) > across) spans.push([Math.min(from, end), Math.max(from, end)]);
    }
  }
  spans.sort((a, b) => a[0] - b[0]);
  const shifts = []; // [from this v on, by so much]
  let reach = spans.length > 0 ? spans[0][0] : 0;
  let by = level.over - reach;
  for (const [low, high] of spans) {
    if (low > reach + across) by -= low - reach - across;
    if (low > reach || shifts.length === 0) shifts.push([low, by]);
    reach = Math.max(reach, high);
  }
  vertices.sort((a, b) => a.v - a.breadth / 2 - (b.v - b.breadth / 2));
  let next = 0;
  for (const vertex of vertices) {
    while (next < shifts.length && shifts[next][0] <= vertex.v - vertex.breadth / 2 + 1e-6) next++;
    vertex.v += shifts[next - 1][1];
  }
  return reach + by + level.under;
}

// Ports with several lines inside are as far apart as where they lead to outside: the group itself then moves there.
function placePorts(ports, low, high) {
  const last = ports.length - 1;
  const gap = Math.min(LANE_GAP, (high - low) / Math.max(last, 1));
  const fans = ports.filter(({ ins, outs, hint }) => hint !== null && ins.length + outs.length > 1);
  const shift = fans.reduce((sum, { v, hint }) => sum + v - hint, 0) / fans.length;
  const wanted = ports.map((port, i) => {
    const v = fans.includes(port) ? port.hint + shift : port.v;
    return [Math.min(Math.max(v, low + i * gap), high - (last - i) * gap), 1];
  });
  ports.forEach((port, i) => (port.gap = i > 0 ? gap : 0));
  fitIn(ports, wanted);
}

// -- the ends of edges at a box ---------------------------------------------------------------------------------------

// Ends are where their edges are straight, if that is on the box's side, and apart.
function attachEnds(vertex) {
  attachSide(
    vertex,
    vertex.lefts,
    "toV",
    (segment) => (segment.from.kind === "box" && segment.fromV ? segment.fromV : segment.from.v + segment.fromOff),
    "toOff",
  );
  attachSide(
    vertex,
    vertex.rights,
    "fromV",
    (segment) => (segment.to.kind === "box" && segment.toV ? segment.toV : segment.to.v + segment.toOff),
    "fromOff",
  );
}

function attachSide(vertex, segments, end, other, off) {
  for (const segment of segments) {
    if (segment.turn !== 0) segment[end === "toV" ? "fromV" : "toV"] = segment[end === "toV" ? "from" : "to"].v;
  }
  if (vertex.kind !== "box") {
    for (const segment of segments) segment[end] = vertex.v + segment[off];
    return;
  }
  const half = vertex.breadth * 0.36;
  const gap = segments.length > 1 ? Math.min(LANE_GAP, (2 * half) / (segments.length - 1)) : 0;
  const ends = segments
    .map((segment, i) => ({ segment, i, at: other(segment), gap, v: 0 }))
    .sort((a, b) => a.at - b.at || a.segment.wire - b.segment.wire || a.i - b.i);
  if (ends.length > 0) ends[0].gap = 0;
  fitIn(
    ends,
    ends.map(({ at }, i) => [
      Math.min(Math.max(at, vertex.v - half + i * gap), vertex.v + half - (ends.length - 1 - i) * gap),
      1,
    ]),
  );
  for (const { segment, v } of ends) segment[end] = v;
}

// -- along ------------------------------------------------------------------------------------------------------------

function placeRanks(level, layers, settings) {
  let u = 0;
  layers.forEach((layer, rank) => {
    const length = layer.reduce((most, vertex) => Math.max(most, vertex.length), 0);
    const ports = rank === 0 || layer.some((vertex) => vertex.kind === "out");
    if (rank > 0) u += gapBefore(level, layer, rank, ports, settings);
    if (layer.some((vertex) => vertex.lefts.some((segment) => segment.turn < 0))) u += TURN_BULGE;
    for (const vertex of layer) {
      if (vertex.kind === "lane") vertex.length = length;
      vertex.u = u + (length - vertex.length) * shareBefore(vertex, length);
      [vertex.start, vertex.end] = [u, u + length];
    }
    u += length;
    if (layer.some((vertex) => vertex.rights.some((segment) => segment.turn > 0))) u += TURN_BULGE;
  });
  const last = layers[layers.length - 1];
  return u + (last && last.some((vertex) => vertex.kind === "out") ? 0 : level.after);
}

// How much of the room that a vertex leaves in its rank is before it: beside a wide group it is where more edges join.
function shareBefore({ kind, lefts, rights, length }, ofRank) {
  if (lefts.length === 0 && kind !== "lane") return rights.length > 0 ? 1 : 0;
  if (rights.length === 0) return 0;
  return ofRank < 2 * length || lefts.length === rights.length ? 0.5 : lefts.length > rights.length ? 0 : 1;
}

// Room for the widest label, and more of it where edges go far up or down.
function gapBefore(level, layer, rank, ports, { between, steepest, atPorts }) {
  let [room, steep] = [0, 0];
  for (const vertex of layer) {
    for (const segment of vertex.ins) {
      if (segment.room > 0) room = Math.max(room, segment.room + 20);
      steep = Math.max(steep, Math.abs(segment.fromV - segment.toV));
    }
  }
  const slope = Math.min(steepest, steep / 5);
  if (rank === 1)
    return steep + room > 0 || layer.some((vertex) => vertex.ins.length > 0)
      ? Math.max(level.before, atPorts + slope, room)
      : level.before;
  if (ports) return Math.max(level.after, atPorts + slope);
  return Math.max(between, between * 0.6 + slope, room);
}
