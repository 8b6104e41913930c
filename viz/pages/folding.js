// Which groups are open, and how far one goes at a time: by contribution, node, or kind of group.

const MOST_RAW = 60; // nodes that are shown one by one without being asked
const MOST_OPENED = 150; // boxes; a group that would bring more is not opened by the pass

class Folding {
  constructor(run) {
    this.run = run;
    this.following = true; // whether the group that the pass is in opens
    this.chosen = new Map(); // group -> whether the reader opened or closed it
    this.raw = run.nodes.length <= MOST_RAW; // whether all groups are open at first
    this.whole = null; // whether the reader opened or closed all
  }

  // There are few nodes, but they do not fit the stage at a size that can be read: groups begin closed, too.
  doNotFit() {
    this.raw = false;
  }

  // The groups that are open at a step.
  open(step) {
    const open = new Set([this.run.groups[0]]);
    const wanted = this.following && step ? this.pathOf(step) : new Set();
    let boxes = count(this.run.groups[0]);
    const visit = (group) => {
      for (const inner of group.groups) {
        const own = this.chosen.get(inner);
        const opens = own ?? ((this.whole ?? this.raw) || (wanted.has(inner) && boxes + count(inner) <= MOST_OPENED));
        if (!opens) continue;
        boxes += count(inner);
        open.add(inner);
        visit(inner);
      }
    };
    visit(this.run.groups[0]);
    return open;
  }

  pathOf(step) {
    return new Set(around(active(step)));
  }

  toggle(group, open) {
    this.chosen.set(group, !open);
  }

  // Open what a node is in, so that it can be seen.
  reveal(node) {
    for (const group of around(node)) if (group.parent) this.chosen.set(group, true);
  }

  all(open) {
    this.chosen.clear();
    this.whole = open;
  }

  // For the address: "all" or "none", and the groups that the reader opened (5) and closed (-5) one by one.
  get text() {
    const whole = this.whole === null ? [] : [this.whole ? "all" : "none"];
    return [...whole, ...[...this.chosen].map(([group, open]) => `${open ? "" : "-"}${group.index}`)].join(".");
  }

  set text(text) {
    const parts = text.split(".");
    this.whole = parts[0] === "all" ? true : parts[0] === "none" ? false : null;
    this.chosen.clear();
    for (const part of parts) {
      const group = this.run.groups[Math.abs(Number.parseInt(part, 10))];
      if (group?.parent) this.chosen.set(group, !part.startsWith("-"));
    }
  }
}

function count(group) {
  return group.groups.length + group.nodes.length;
}

// The node that a step is about: the one that sends, or is computed, or gets the seed.
function active(step) {
  return step.node ?? step.sender ?? step.receiver;
}

// -- strides ------------------------------------------------------------------------------------------------

// What one can step by: contributions, nodes, and the kinds of groups that there are, from the inside out.
function strides(run) {
  const kinds = new Map();
  for (const { kind, depth } of run.groups.slice(1)) {
    if (kind !== "fold") kinds.set(kind, Math.max(kinds.get(kind) ?? 0, depth));
  }
  const found = [...kinds].sort((a, b) => b[1] - a[1]).map(([kind]) => kind);
  return ["contribution", "node", ...found.slice(0, 5)];
}

// The step to go to from `at`, forward (+1) or back (-1).
function strideFrom(run, mode, at, stride, direction) {
  const end = direction > 0 ? run.length(mode) : 0;
  let next = at + direction;
  if (stride === "contribution" || at === end) return next;
  const unit = (number) => {
    const step = run.step(mode, number);
    const node = active(step);
    const group = stride === "node" ? null : around(node).find(({ kind }) => kind === stride);
    return [step.phase === "seed" ? "backward" : step.phase, group ?? node];
  };
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];
  if (direction > 0) {
    const here = unit(next);
    while (next < end && same(unit(next + 1), here)) next += 1;
    return next;
  }
  while (next > 0 && same(unit(next), unit(next + 1))) next -= 1; // to where a step forward would have ended
  return next;
}
