// The layout of what is visible of a graph: boxes, and open groups with boxes inside, from left to right or from top to
// bottom. Pure: no DOM. Everything is done in two coordinates: u, along the edges, and v, across them. A group's inside
// is laid out first; then the group is one box of its parent's level. A value's uses share a wire, as long as they go
// the same way: one port in a group's border, one lane through the ranks.

const TURN_BULGE = 26; // how far an edge that runs back bulges, where it turns

// The places of boxes and the curves of edges. One level of it is the work of layers.js, order.js and places.js.
function layOut(tree, edges, { direction = "LR", across = 30, between = 60, steepest = 130, atPorts = 16 } = {}) {
  const settings = { turned: direction === "TB", across, between, steepest, atPorts };
  const spots = new Map();
  const top = plantGroup(tree, null, spots, settings);
  settings.effort = effortFor(spots.size);
  const threads = threadEdges(edges, spots, settings);
  settleLevel(top, settings);
  let boxes = putAll(top, settings);
  if (threads.some((thread) => thread.length > 1)) {
    hintPorts(threads);
    settleLevel(top, settings); // once more: now a group knows from where its edges come
    boxes = putAll(top, settings);
  }
  const routes = threads.map((thread) => curvesThrough(thread, settings));
  return { ...turnedBox(0, 0, top.vertex.length, top.vertex.breadth, settings), boxes, routes };
}

// How often the order and the places of a level are improved. A reader sees few of thousands of boxes at once, and
// waits for all of them.
function effortFor(boxes) {
  return boxes > 1000 ? { starts: 1, sweeps: 3, rounds: 4 } : { starts: 2, sweeps: 8, rounds: 12 };
}

// -- the tree of levels -----------------------------------------------------------------------------------------------

function plantGroup(group, parent, spots, settings) {
  const spot = newSpot(group, parent, "group");
  const { title = parent ? 26 : 0, padding = parent ? 14 : 0 } = group;
  spot.level = {
    before: padding + (settings.turned ? title : 0), // along the edges; the title is on top in both directions
    after: padding,
    over: padding + (settings.turned ? 0 : title),
    under: padding,
    vertices: [],
    links: new Map(),
    ins: new Map(), // ports by the wire that goes through them
    outs: new Map(),
    u: 0,
    v: 0,
  };
  spot.children = group.children.map((child) =>
    child.children ? plantGroup(child, spot, spots, settings) : plantBox(child, spot, spots, settings),
  );
  return spot;
}

function plantBox(box, parent, spots, { turned }) {
  const spot = newSpot(box, parent, "box");
  [spot.vertex.length, spot.vertex.breadth] = turned ? [box.height, box.width] : [box.width, box.height];
  spot.number = spots.size;
  spots.set(box.id, spot);
  return spot;
}

function newSpot(source, parent, kind) {
  return {
    id: source.id,
    parent,
    depth: parent ? parent.depth + 1 : 0,
    children: [],
    level: null,
    vertex: newVertex(kind, source.order ?? 0),
  };
}

// All that the steps of the layout note is named here: vertices of one shape are fast.
function newVertex(kind, order) {
  return {
    kind,
    order,
    number: 0,
    rank: 0,
    height: 0,
    at: 0,
    first: 0,
    mean: 0,
    length: 0,
    breadth: 0,
    gap: 0,
    u: 0,
    v: 0,
    start: 0,
    end: 0,
    main: null,
    before: [],
    behind: [],
    ins: [], // segments between ranks
    outs: [],
    lefts: [], // segments seen at its sides
    rights: [],
    inPorts: null,
    outPorts: null,
    hint: null,
  };
}

// -- edges as links of the levels that they pass ----------------------------------------------------------------------

// For each edge its links: out of the groups around its start, through the level that both ends share, into the groups
// around its end.
function threadEdges(edges, spots, { turned }) {
  const repeats = new Map();
  return edges.map(({ from, to, label }) => {
    const [start, end] = [spots.get(from), spots.get(to)];
    if (start === end) return [];
    const pair = start.number * spots.size + end.number;
    const repeat = repeats.get(pair) ?? 0;
    repeats.set(pair, repeat + 1);
    const wire = start.number + repeat * spots.size; // a second edge between the same two is a wire of its own
    const orders = [start.vertex.order, end.vertex.order];
    const links = threadOf(start, end, wire, orders);
    const last = links[links.length - 1];
    if (label) last.room = Math.max(last.room, turned ? label.height : label.width);
    return links;
  });
}

function threadOf(start, end, wire, [startOrder, endOrder]) {
  let [from, to] = [start, end];
  const ups = [];
  const downs = [];
  while (from.parent !== to.parent) {
    if (from.depth >= to.depth) {
      const { level } = from.parent;
      ups.push(linkOf(level, from.vertex, portOf(level, "outs", wire, endOrder), wire));
      from = from.parent;
    } else {
      const { level } = to.parent;
      downs.push(linkOf(level, portOf(level, "ins", wire, startOrder), to.vertex, wire));
      to = to.parent;
    }
  }
  return [...ups, linkOf(from.parent.level, from.vertex, to.vertex, wire), ...downs.reverse()];
}

function portOf(level, side, wire, order) {
  if (!level[side].has(wire)) level[side].set(wire, newVertex(side === "ins" ? "in" : "out", order));
  return level[side].get(wire);
}

function linkOf(level, from, to, wire) {
  if (!level.links.has(wire)) level.links.set(wire, new Map());
  const ofWire = level.links.get(wire);
  if (!ofWire.has(to)) ofWire.set(to, { level, from, to, wire, reversed: false, room: 0, segments: [] });
  return ofWire.get(to);
}

// -- inside first -----------------------------------------------------------------------------------------------------

function settleLevel(spot, settings) {
  for (const child of spot.children) if (child.level) settleLevel(child, settings);
  const { level, vertex } = spot;
  level.vertices = [...spot.children.map((child) => child.vertex), ...level.ins.values(), ...level.outs.values()];
  level.vertices.forEach((inner, number) => {
    inner.number = number;
    [inner.ins, inner.outs, inner.lefts, inner.rights] = [[], [], [], []];
  });
  const links = [...level.links.values()].flatMap((ofWire) => [...ofWire.values()]);
  rankLevel(level, links);
  const layers = layersOf(level, links);
  orderLevel(layers, settings.effort);
  [vertex.length, vertex.breadth] = placeLevel(level, layers, links, settings);
  vertex.inPorts = new Map([...level.ins].map(([wire, port]) => [wire, port.v]));
  vertex.outPorts = new Map([...level.outs].map(([wire, port]) => [wire, port.v]));
}

// A port's hint: where, in its group, the lines outside come from or lead to.
function hintPorts(threads) {
  const hints = new Map(); // port -> places
  const hint = (port, level, v) => {
    if (!hints.has(port)) hints.set(port, []);
    hints.get(port).push(v - level.v);
  };
  for (const thread of threads) {
    for (let i = 1; i < thread.length; i++) {
      const [link, next] = [thread[i - 1], thread[i]];
      const first = next.segments[0];
      const last = link.segments[link.segments.length - 1];
      if (link.to.kind === "out") hint(link.to, link.level, next.level.v + first.to.v + first.toOff);
      if (next.from.kind === "in") hint(next.from, next.level, link.level.v + last.from.v + last.fromOff);
    }
  }
  for (const [port, places] of hints) port.hint = places.reduce((sum, v) => sum + v, 0) / places.length;
}

function putAll(top, settings) {
  const boxes = new Map();
  for (const spot of top.children) putBox(spot, 0, 0, boxes, settings);
  return boxes;
}

function putBox(spot, u, v, boxes, settings) {
  const { vertex, level } = spot;
  const [left, top] = [u + vertex.u, v + vertex.v - vertex.breadth / 2];
  boxes.set(spot.id, turnedBox(left, top, vertex.length, vertex.breadth, settings));
  if (!level) return;
  [level.u, level.v] = [left, top];
  for (const child of spot.children) putBox(child, left, top, boxes, settings);
}

function turnedBox(u, v, length, breadth, { turned }) {
  return turned ? { x: v, y: u, width: breadth, height: length } : { x: u, y: v, width: length, height: breadth };
}

// -- curves -----------------------------------------------------------------------------------------------------------

// The points of an edge, in all its levels, as one row of cubic curves that leave and arrive along u.
function curvesThrough(thread, { turned }) {
  const points = [];
  for (const link of thread) {
    for (const point of linkPoints(link))
      addRoutePoint(points, { ...point, u: point.u + link.level.u, v: point.v + link.level.v });
  }
  if (points.length === 0) return [];
  const route = [points[0].u, points[0].v];
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const bend = b.turn ? 0 : (b.u - a.u) / 2;
    route.push(a.u + bend + b.turn, a.v, b.u - bend + b.turn, b.v, b.u, b.v);
  }
  if (turned) for (let i = 0; i < route.length; i += 2) [route[i], route[i + 1]] = [route[i + 1], route[i]];
  return route;
}

// Points that only repeat or go straight on add nothing.
function addRoutePoint(points, point) {
  const [before, last] = points.slice(-2);
  if (points.length > 0) {
    const end = points[points.length - 1];
    if (Math.abs(end.u - point.u) < 0.01 && Math.abs(end.v - point.v) < 0.01) return;
    const straight =
      last && !last.turn && !point.turn && Math.abs(before.v - last.v) < 0.01 && Math.abs(last.v - point.v) < 0.01;
    if (straight && (last.u - before.u) * (point.u - last.u) > 0) points.pop();
  }
  points.push(point);
}

function linkPoints(link) {
  const points = [];
  const add = (u, v, turn = 0) => points.push({ u, v, turn });
  for (const segment of link.segments) {
    const { from, to, turn } = segment;
    if (turn === 0) {
      add(from.u + from.length, segment.fromV);
      if (from.end > from.u + from.length) add(from.end, segment.fromV);
      if (to.start < to.u) add(to.start, segment.toV);
      add(to.u, segment.toV);
    } else if (turn > 0) {
      add(from.u + from.length, segment.fromV);
      add(from.end, segment.fromV);
      add(to.end, segment.toV, TURN_BULGE);
    } else if (from.kind === "lane" && to.kind === "lane") {
      add(from.start, segment.fromV); // a lane that is run through backwards
      add(to.end, segment.toV);
    } else {
      add(from.start, segment.fromV);
      add(to.start, segment.toV, -TURN_BULGE);
      add(to.u, segment.toV);
    }
  }
  return points;
}
