// One level of a layout: the order within each rank, so that few edges cross.

// Sort each layer so that few segments cross: sweeps that sort by the mean place of the neighbours, and swaps; the best
// of all is kept.
function orderLevel(layers, effort) {
  const size = layers.reduce((sum, layer) => sum + layer.length, 0);
  const starts = size > 3000 || effort.starts === 1 ? [seekDeep] : [inGivenOrder, seekDeep];
  const isFixed = (layer) => layer.length > 0 && layer.every((vertex) => vertex.kind === "in" && vertex.hint !== null);
  const free = layers.filter((layer) => !isFixed(layer)); // what comes from outside is in the order that it has there
  let best = null;
  for (const start of starts) {
    start(layers).forEach((vertex, i) => (vertex.first = i));
    for (const layer of layers) {
      layer.sort((a, b) => (a.hint ?? 0) - (b.hint ?? 0) || a.first - b.first);
      number(layer);
    }
    for (let sweep = 0; sweep <= (size > 3000 ? 3 : effort.sweeps); sweep++) {
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
      let sortedYet = true;
      for (let i = 0; i < moving.length; i++) {
        moving[i].mean = meanPlace(moving[i], side);
        if (i > 0 && moving[i].mean < moving[i - 1].mean) sortedYet = false;
      }
      if (sortedYet) continue;
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
  const segments = side === "ins" ? vertex.ins : vertex.outs;
  let sum = 0;
  for (const { from, to, fromOff, toOff } of segments)
    sum += side === "ins" ? endPlace(from, fromOff) - toOff / 1e4 : endPlace(to, toOff) - fromOff / 1e4;
  return sum / segments.length;
}

function crossingsBehind(layer) {
  const places = [];
  for (const vertex of layer) {
    const { outs } = vertex;
    if (outs.length === 1) places.push(endPlace(outs[0].to, outs[0].toOff));
    else if (outs.length > 1) {
      const ends = outs.map(({ fromOff, to, toOff }) => [fromOff, endPlace(to, toOff)]);
      ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      for (const end of ends) places.push(end[1]);
    }
  }
  return inversions(places);
}

// The pairs of which the greater number comes first, by merging.
function inversions(numbers) {
  if (isSorted(numbers)) return 0;
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

function isSorted(numbers) {
  for (let i = 1; i < numbers.length; i++) if (numbers[i - 1] > numbers[i]) return false;
  return true;
}

function swapNeighbours(layers) {
  let open = layers.map(() => true); // layers that can have changed pairs: they, or one beside them, changed
  for (let round = 0; open.includes(true) && round < 4; round++) {
    const next = layers.map(() => false);
    for (let rank = 0; rank < layers.length; rank++) {
      if (!open[rank] || !swapLayer(layers[rank])) continue;
      if (rank + 1 < layers.length) open[rank + 1] = true;
      for (let near = Math.max(rank - 1, 0); near <= Math.min(rank + 1, layers.length - 1); near++) next[near] = true;
    }
    open = next;
  }
}

function swapLayer(layer) {
  let changed = false;
  for (let at = 0; at + 1 < layer.length; at++) {
    const [a, b] = [layer[at], layer[at + 1]];
    if (gainOfSwap(a, b) <= 0) continue;
    [layer[at], layer[at + 1]] = [b, a];
    [b.at, a.at] = [at, at + 1];
    changed = true;
  }
  return changed;
}

// How many crossings fewer there are between the segments of two neighbours if they change places.
function gainOfSwap(first, second) {
  let gain = 0;
  for (const { from, fromOff } of first.ins) {
    const place = endPlace(from, fromOff);
    for (const two of second.ins) {
      const other = endPlace(two.from, two.fromOff);
      gain += (place > other) - (place < other);
    }
  }
  for (const { to, toOff } of first.outs) {
    const place = endPlace(to, toOff);
    for (const two of second.outs) {
      const other = endPlace(two.to, two.toOff);
      gain += (place > other) - (place < other);
    }
  }
  return gain;
}
