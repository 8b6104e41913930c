// One level of a layout: the rank of each vertex along the edges, and lanes for edges that pass ranks.

const MOST_LANES = 4; // vertices of lanes for each box; an edge that is too long for that is one curve

// -- ranks ------------------------------------------------------------------------------------------------------------

// Ports in are rank 0, ports out the last one. Sets `rank` of the level's vertices, and `reversed` of links that close
// a cycle.
function rankLevel(level, links) {
  const { vertices } = level;
  let order = sortLinks(vertices, links);
  if (order.length < vertices.length) {
    const done = new Set(order);
    for (const link of links) {
      const { from, to } = link;
      if (!done.has(from) && !done.has(to)) link.reversed = (from.order - to.order || from.number - to.number) > 0;
    }
    order = sortLinks(vertices, links);
  }
  for (const vertex of order) {
    vertex.rank = vertex.kind === "in" ? 0 : 1;
    for (const other of vertex.before) vertex.rank = Math.max(vertex.rank, other.rank + 1);
    vertex.height = vertex.rank;
  }
  for (const vertex of order) vertex.main = mainBefore(vertex);
  spreadLone(vertices);
  const last = order.reduce((most, vertex) => (vertex.kind === "out" ? most : Math.max(most, vertex.rank)), 0) + 1;
  for (const vertex of order) if (vertex.kind === "out") vertex.rank = last;
  pullTogether(order, last);
  let first = last;
  for (const vertex of vertices) if (vertex.kind !== "in") first = Math.min(first, vertex.rank);
  for (const vertex of vertices) if (vertex.kind !== "in") vertex.rank -= first - 1;
}

// The vertices, each after those with a link to it; vertices of a cycle, and behind one, are left out. Sets `before`
// and `behind`.
function sortLinks(vertices, links) {
  for (const vertex of vertices) [vertex.before, vertex.behind] = [[], []];
  for (const { from, to, reversed } of links) {
    const [first, second] = reversed ? [to, from] : [from, to];
    first.behind.push(second);
    second.before.push(first);
  }
  const waiting = vertices.map((vertex) => vertex.before.length);
  const order = vertices.filter((vertex) => vertex.before.length === 0);
  for (let i = 0; i < order.length; i++) {
    for (const next of order[i].behind) if (--waiting[next.number] === 0) order.push(next);
  }
  return order;
}

// The one before that the longest way from a leaf leads through; null where several are as far.
function mainBefore({ before }) {
  const most = before.reduce((height, other) => Math.max(height, other.height), 0);
  const mains = before.filter((other) => other.height === most);
  return mains.length === 1 && mains[0].kind !== "in" ? mains[0] : null;
}

// Vertices that nothing is linked to, side by side rather than all in one rank.
function spreadLone(vertices) {
  const lone = vertices.filter((vertex) => vertex.before.length + vertex.behind.length === 0);
  const sum = (size) => lone.reduce((total, vertex) => total + vertex[size] + 40, 0);
  const ranks = Math.max(1, Math.round(Math.sqrt((1.6 * lone.length * sum("breadth")) / Math.max(sum("length"), 1))));
  const inEach = Math.ceil(lone.length / ranks);
  if (lone.length > 3) lone.forEach((vertex, i) => (vertex.rank = 1 + Math.floor(i / inEach)));
}

// Leaves, and what is made of nothing but leaves of its own, go next to their first use; other vertices to the side
// with more links.
function pullTogether(order, last) {
  const own = new Map(); // vertex -> whether it and all before it are used nowhere else
  for (const vertex of order)
    own.set(
      vertex,
      vertex.kind !== "in" && vertex.before.every((other) => own.get(other) && other.behind.length === 1),
    );
  for (let pass = 0; pass < 4; pass++) {
    for (let i = order.length - 1; i >= 0; i--) {
      const vertex = order[i];
      if (vertex.kind === "in" || vertex.kind === "out" || vertex.behind.length === 0) continue;
      const low = vertex.before.reduce((rank, other) => Math.max(rank, other.rank + 1), 1);
      const high = vertex.behind.reduce((rank, other) => Math.min(rank, other.rank - 1), last - 1);
      const pull =
        vertex.behind.filter((other) => other.kind !== "out").length -
        vertex.before.filter((other) => other.kind !== "in").length;
      if (pull > 0 || (own.get(vertex) && vertex.behind.some((other) => other.kind !== "out")))
        vertex.rank = Math.max(low, high);
      else if (pull < 0 && vertex.before.length > 0 && !own.get(vertex)) vertex.rank = low;
    }
  }
}

// -- lanes ------------------------------------------------------------------------------------------------------------

// The ranks as arrays of vertices, with a vertex of a lane in each rank that a wire passes. Sets `segments` of the
// links.
function layersOf(level, links) {
  const layers = [];
  const place = (vertex) => {
    while (layers.length <= vertex.rank) layers.push([]);
    layers[vertex.rank].push(vertex);
  };
  level.vertices.forEach(place);
  const longest = longestLane(level.vertices.length, links);
  const lanes = new Map(); // wire -> its vertices by rank
  const drawn = new Map(); // vertex -> segment from it into a lane, by wire: uses of a value share them
  const laneAt = (lane, rank, order) => {
    if (!lane.has(rank)) {
      const vertex = newVertex("lane", order);
      vertex.rank = rank;
      lane.set(rank, vertex);
      place(vertex);
    }
    return lane.get(rank);
  };
  for (const link of links) {
    const { from, to, wire } = link;
    const span = to.rank - from.rank;
    if (link.reversed) {
      const lane = new Map();
      const stops = [];
      for (let rank = from.rank; rank >= to.rank; rank--) stops.push(laneAt(lane, rank, to.order));
      link.segments = [
        turnAt(from, stops[0], wire, 1),
        ...stops.slice(1).map((stop, i) => laneBackwards(stops[i], stop)),
        turnAt(stops[stops.length - 1], to, wire, -1),
      ];
      continue;
    }
    if (span - 1 > longest) {
      link.segments = [joinSegment(newSegment(from, to, wire))];
      continue;
    }
    if (!lanes.has(wire)) lanes.set(wire, new Map());
    const stops = [from];
    for (let rank = from.rank + 1; rank < to.rank; rank++) stops.push(laneAt(lanes.get(wire), rank, from.order));
    stops.push(to);
    link.segments = stops.slice(1).map((stop, i) => segmentBetween(stops[i], stop, wire, drawn));
    link.segments[link.segments.length - 1].room = Math.max(link.segments[link.segments.length - 1].room, link.room);
  }
  return layers;
}

// The length of lane that keeps all lanes that are not longer within the limit.
function longestLane(size, links) {
  const lengths = new Map(); // wire -> its lane's length
  for (const { from, to, wire, reversed } of links)
    if (!reversed) lengths.set(wire, Math.max(lengths.get(wire) ?? 0, to.rank - from.rank - 1));
  let left = Math.max(2000, MOST_LANES * size);
  for (const length of [...lengths.values()].sort((a, b) => a - b)) {
    left -= length;
    if (left < 0) return length - 1;
  }
  return Infinity;
}

function newSegment(from, to, wire) {
  return {
    from,
    to,
    wire,
    turn: 0,
    room: 0,
    weight: 1,
    fromOff: portOff(from, "outPorts", wire),
    toOff: portOff(to, "inPorts", wire),
    fromV: 0,
    toV: 0,
  };
}

// How far from a group's middle its port is.
function portOff(vertex, side, wire) {
  return vertex.kind === "group" ? (vertex[side].get(wire) ?? vertex.breadth / 2) - vertex.breadth / 2 : 0;
}

function joinSegment(segment) {
  segment.from.rights.push(segment);
  segment.to.lefts.push(segment);
  return segment;
}

function segmentBetween(from, to, wire, drawn) {
  if (!drawn.has(from)) drawn.set(from, new Map());
  const known = drawn.get(from).get(wire);
  if (known && to.kind === "lane") return known;
  const segment = joinSegment(newSegment(from, to, wire));
  segment.weight =
    from.kind === "lane" ? (to.kind === "lane" ? 8 : 2) : to.kind === "lane" ? 2 : to.main === from ? 6 : 1;
  from.outs.push(segment);
  to.ins.push(segment);
  if (to.kind === "lane") drawn.get(from).set(wire, segment);
  return segment;
}

// A part of an edge that runs back: its order and place follow the part before it, as for any lane.
function laneBackwards(from, to) {
  const segment = newSegment(to, from, null);
  segment.weight = 8;
  segment.from.outs.push(segment);
  segment.to.ins.push(segment);
  return {
    from,
    to,
    turn: -1,
    get fromV() {
      return from.v;
    },
    get toV() {
      return to.v;
    },
  };
}

function turnAt(from, to, wire, turn) {
  const segment = newSegment(from, to, wire);
  segment.turn = turn;
  if (turn > 0) from.rights.push(segment);
  else to.lefts.push(segment);
  return segment;
}
