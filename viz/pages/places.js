// One level of a layout: where its vertices go, once their ranks and the order in each rank are known.

const LANE_GAP = 14; // between lanes, and between the ends of edges at one side of a box
const ROUNDS = 12;

// Sets u, v (the middle), start and end (of the rank) of each vertex, fromV and toV of the segments. Returns the level's [length, breadth].
function placeLevel(level, layers, links, settings) {
  for (const layer of layers) spaceOut(layer, settings);
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  for (let round = 0; round < (size > 3000 ? 4 : ROUNDS); round++) {
    for (let rank = 1; rank < layers.length; rank++) drawTo(layers[rank], ["ins"]);
    for (let rank = layers.length - 2; rank >= 0; rank--) drawTo(layers[rank], ["outs"]);
  }
  for (let round = 0; round < 6; round++) {
    for (let rank = 0; rank < layers.length; rank++) drawTo(layers[rank], ["ins", "outs"]);
    for (let rank = layers.length - 1; rank >= 0; rank--) drawTo(layers[rank], ["ins", "outs"]);
  }
  for (let round = 0; round < 6; round++) {
    for (let rank = 0; rank < layers.length; rank++) straighten(layers[rank]);
    for (let rank = layers.length - 1; rank >= 0; rank--) straighten(layers[rank]);
  }
  const breadth = shiftInto(level, layers);
  for (let round = 0; round < 2; round++) for (const layer of layers) for (const vertex of layer) attach(vertex);
  return [placeRanks(level, layers, settings), breadth];
}

// -- across ------------------------------------------------------------------------------------------------------------

// Sets `gap`, from the middle of the vertex before, and first places.
function spaceOut(layer, { across }) {
  let v = 0;
  layer.forEach((vertex, i) => {
    const before = layer[i - 1];
    const thin = before ? (vertex.breadth === 0) + (before.breadth === 0) : 0;
    vertex.gap = before ? (before.breadth + vertex.breadth) / 2 + (thin === 2 ? LANE_GAP : thin === 1 ? Math.min(across, 20) : across) : 0;
    v += vertex.gap;
    vertex.v = v;
  });
  for (const vertex of layer) vertex.v -= v / 2;
}

// The layer's places as near to the means of the neighbours as the order and the gaps allow.
function drawTo(layer, sides) {
  const wanted = layer.map((vertex) => {
    let [sum, weight] = [0, 0];
    if (sides.includes("ins")) {
      for (const segment of vertex.ins) {
        sum += segment.weight * (segment.from.v + segment.fromOff - segment.toOff);
        weight += segment.weight;
      }
    }
    if (sides.includes("outs")) {
      for (const segment of vertex.outs) {
        sum += segment.weight * (segment.to.v + segment.toOff - segment.fromOff);
        weight += segment.weight;
      }
    }
    return weight > 0 ? [sum / weight, weight] : [vertex.v, 0.05];
  });
  fitIn(layer, wanted);
}

// Each vertex at the median of its neighbours: most edges straight rather than all a little slanted.
function straighten(layer) {
  const wanted = layer.map((vertex) => {
    const ends = [];
    let total = 0;
    for (const segment of vertex.ins) ends.push([segment.from.v + segment.fromOff - segment.toOff, segment.weight]);
    for (const segment of vertex.outs) ends.push([segment.to.v + segment.toOff - segment.fromOff, segment.weight]);
    if (ends.length === 0) return [vertex.v, 0.05];
    ends.sort((a, b) => a[0] - b[0]);
    for (const [, weight] of ends) total += weight;
    let sum = 0;
    for (let i = 0; i < ends.length; i++) {
      sum += ends[i][1];
      if (sum > total / 2) return [ends[i][0], total];
      if (sum === total / 2) return [Math.min(Math.max(vertex.v, ends[i][0]), ends[i + 1][0]), total];
    }
    return [vertex.v, total];
  });
  fitIn(layer, wanted);
}

// Pool adjacent violators: the least squares fit to the wanted places, [place, weight], that keeps all gaps.
function fitIn(layer, wanted) {
  const pools = [];
  let offset = 0;
  layer.forEach((vertex, i) => {
    offset += vertex.gap;
    let pool = { sum: (wanted[i][0] - offset) * wanted[i][1], weight: wanted[i][1], count: 1 };
    while (pools.length > 0 && pools[pools.length - 1].sum / pools[pools.length - 1].weight >= pool.sum / pool.weight) {
      const before = pools.pop();
      pool = { sum: pool.sum + before.sum, weight: pool.weight + before.weight, count: pool.count + before.count };
    }
    pools.push(pool);
  });
  let i = 0;
  offset = 0;
  for (const { sum, weight, count } of pools) {
    for (let end = i + count; i < end; i++) {
      offset += layer[i].gap;
      layer[i].v = sum / weight + offset;
    }
  }
}

function shiftInto(level, layers) {
  let [low, high] = [Infinity, -Infinity];
  for (const layer of layers) {
    for (const { v, breadth } of layer) [low, high] = [Math.min(low, v - breadth / 2), Math.max(high, v + breadth / 2)];
  }
  if (low > high) [low, high] = [0, 0];
  for (const layer of layers) for (const vertex of layer) vertex.v += level.over - low;
  return level.over + high - low + level.under;
}

// -- the ends of edges at a box ----------------------------------------------------------------------------------------

// Ends are where their edges are straight, if that is on the box's side, and apart.
function attach(vertex) {
  attachSide(vertex, vertex.lefts, "toV", (segment) => (segment.from.kind === "box" && segment.fromV ? segment.fromV : segment.from.v + segment.fromOff), "toOff");
  attachSide(vertex, vertex.rights, "fromV", (segment) => (segment.to.kind === "box" && segment.toV ? segment.toV : segment.to.v + segment.toOff), "fromOff");
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
  const ends = segments.map((segment, i) => ({ segment, i, at: other(segment), gap, v: 0 })).sort((a, b) => a.at - b.at || a.segment.wire - b.segment.wire || a.i - b.i);
  if (ends.length > 0) ends[0].gap = 0;
  fitIn(ends, ends.map(({ at }, i) => [Math.min(Math.max(at, vertex.v - half + i * gap), vertex.v + half - (ends.length - 1 - i) * gap), 1]));
  for (const { segment, v } of ends) segment[end] = v;
}

// -- along -------------------------------------------------------------------------------------------------------------

function placeRanks(level, layers, { between }) {
  let u = 0;
  layers.forEach((layer, rank) => {
    const length = layer.reduce((most, vertex) => Math.max(most, vertex.length), 0);
    const ports = rank === 0 || layer.some((vertex) => vertex.kind === "out");
    if (rank > 0) u += gapBefore(level, layer, rank, ports, between);
    for (const vertex of layer) {
      if (vertex.kind === "lane") vertex.length = length;
      const slack = length - vertex.length;
      vertex.u = u + (vertex.lefts.length === 0 ? slack : vertex.rights.length === 0 ? 0 : slack / 2);
      [vertex.start, vertex.end] = [u, u + length];
    }
    u += length;
  });
  const last = layers[layers.length - 1];
  return u + (last && last.some((vertex) => vertex.kind === "out") ? 0 : level.after);
}

// Room for the widest label, and more of it where edges go far up or down.
function gapBefore(level, layer, rank, ports, between) {
  let [room, steep] = [0, 0];
  for (const vertex of layer) {
    for (const segment of vertex.ins) {
      if (segment.room > 0) room = Math.max(room, segment.room + 20);
      steep = Math.max(steep, Math.abs(segment.fromV - segment.toV));
    }
  }
  const slope = Math.min(90, steep / 7);
  if (rank === 1) return steep + room > 0 || layer.some((vertex) => vertex.ins.length > 0) ? Math.max(level.before, 16 + slope, room) : level.before;
  if (ports) return Math.max(level.after, 16 + slope);
  return Math.max(between, between * 0.6 + slope, room);
}
