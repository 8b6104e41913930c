// One level of a layout: the order within each rank, so that few edges cross.

const ORDER_SWEEPS = 8;

// Sort each layer so that few segments cross: sweeps that sort by the mean place of the neighbours, and swaps; the best
// of all is kept.
function orderLevel(layers) {
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  const starts = size > 3000 ? [seekDeep] : [inGivenOrder, seekDeep];
  const isFixed = (layer) => layer.length > 0 && layer.every((vertex) => vertex.kind === "in" && vertex.hint !== null);
  const free = layers.filter((layer) => !isFixed(layer)); // what comes from outside is in the order that it has there
  let best = null;
  for (const start of starts) {
    start(layers).forEach((vertex, i) => (vertex.first = i));
    for (const layer of layers) {
      layer.sort((a, b) => (a.hint ?? 0) - (b.hint ?? 0) || a.first - b.first);
      number(layer);
    }
    for (let sweep = 0; sweep <= (size > 3000 ? 3 : ORDER_SWEEPS); sweep++) {
      if (sweep > 0) sweepLayers(free, sweep % 2 === 1 ? "ins" : "outs");
      if (size < 1500) swapNeighbours(free);
      const crossings = layers.reduce((sum, layer) => sum + crossingsBehind(layer), 0);
      if (!best || crossings < best.crossings) best = { crossings, layers: layers.map((layer) => [...layer]) };
      if (crossings === 0) break;
    }
    if (best.crossings === 0) break;
  }
  best?.layers.forEach((layer, rank) => {
    layers[rank] = layer;
    number(layer);
  });

  function number(layer) {
    layer.forEach((vertex, at) => (vertex.at = at));
  }

  function sweepLayers(all, side) {
    for (const layer of side === "ins" ? all : [...all].reverse()) {
      const moving = layer.filter((vertex) => vertex[side].length > 0);
      for (const vertex of moving) vertex.mean = meanPlace(vertex, side);
      const sorted = [...moving].sort((a, b) => a.mean - b.mean);
      let next = 0;
      for (let at = 0; at < layer.length; at++) if (layer[at][side].length > 0) layer[at] = sorted[next++];
      number(layer);
    }
  }
}

function inGivenOrder(layers) {
  return layers.flat().sort((a, b) => a.order - b.order);
}

// All vertices as a search from the results back to the leaves meets them: the operands of a result stay together.
function seekDeep(layers) {
  const seen = new Set();
  const found = [];
  const ends = layers
    .flat()
    .filter((vertex) => vertex.outs.length === 0)
    .sort((a, b) => b.rank - a.rank || a.order - b.order);
  for (const end of ends) {
    const stack = [end];
    while (stack.length > 0) {
      const vertex = stack.pop();
      if (seen.has(vertex)) continue;
      seen.add(vertex);
      found.push(vertex);
      for (let i = vertex.ins.length - 1; i >= 0; i--) stack.push(vertex.ins[i].from);
    }
  }
  return found;
}

// Where a segment's end is, in places of its layer; ports of one group are apart by less than one place.
function endPlace(vertex, off) {
  return vertex.at + (vertex.kind === "group" ? off / (vertex.breadth + 1) : 0);
}

function meanPlace(vertex, side) {
  let sum = 0;
  for (const segment of vertex[side])
    sum +=
      side === "ins"
        ? endPlace(segment.from, segment.fromOff) - segment.toOff / 1e4
        : endPlace(segment.to, segment.toOff) - segment.fromOff / 1e4;
  return sum / vertex[side].length;
}

function crossingsBehind(layer) {
  const ends = [];
  for (const vertex of layer)
    for (const segment of vertex.outs)
      ends.push([endPlace(vertex, segment.fromOff), endPlace(segment.to, segment.toOff)]);
  ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return inversions(ends.map((pair) => pair[1]));
}

// The pairs of which the greater number comes first, by merging.
function inversions(numbers) {
  let [from, into] = [Float64Array.from(numbers), new Float64Array(numbers.length)];
  let count = 0;
  for (let width = 1; width < from.length; width *= 2) {
    for (let low = 0; low < from.length; low += 2 * width) {
      const middle = Math.min(low + width, from.length);
      const high = Math.min(low + 2 * width, from.length);
      for (let i = low, j = middle, k = low; k < high; k++) {
        if (j >= high || (i < middle && from[i] <= from[j])) into[k] = from[i++];
        else {
          count += middle - i;
          into[k] = from[j++];
        }
      }
    }
    [from, into] = [into, from];
  }
  return count;
}

function swapNeighbours(layers) {
  for (let round = 0, changed = true; changed && round < 4; round++) {
    changed = false;
    for (const layer of layers) {
      for (let at = 0; at + 1 < layer.length; at++) {
        const [a, b] = [layer[at], layer[at + 1]];
        if (crossedPair(a, b) <= crossedPair(b, a)) continue;
        [layer[at], layer[at + 1]] = [b, a];
        [b.at, a.at] = [at, at + 1];
        changed = true;
      }
    }
  }
}

// The crossings between the segments of two vertices if the first is before the second.
function crossedPair(first, second) {
  let count = 0;
  for (const one of first.ins)
    for (const two of second.ins) if (endPlace(one.from, one.fromOff) > endPlace(two.from, two.fromOff)) count++;
  for (const one of first.outs)
    for (const two of second.outs) if (endPlace(one.to, one.toOff) > endPlace(two.to, two.toOff)) count++;
  return count;
}
