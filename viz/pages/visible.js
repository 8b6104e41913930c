// What is to be seen when some groups are open: an item for each box, a link for each line between two of them.
//
// An item is { id, kind, subject, members, links, size, box }. Kinds: "node" (subject: the node), "group" (a closed
// group; members: the indices of all nodes inside) and "frame" (an open one). A link is { from, to, edges, blocked }:
// items, and the indices of the edges that it stands for: one between two nodes, else all that join the two.

const CHIP_CHARACTERS = { number: 8, array: 14 }; // to leave room for

class Visible {
  constructor(run, open) {
    this.run = run;
    this.compact = isCompact(run);
    this.items = []; // boxes, not frames
    this.frames = [];
    this.itemOf = new Array(run.nodes.length); // by the node's index: the box that shows it
    this.byGroup = new Map(); // Group -> its item, for those on show
    const whole = run.groups[0];
    this.tree = { id: "all", children: this.walk(whole, open), order: 0 };
    this.linkOf = new Array(run.edges.length).fill(null);
    this.links = [];
    this.join();
  }

  walk(group, open) {
    const children = [];
    for (const node of group.nodes) {
      const { index } = node;
      const item = this.add({ id: `n${index}`, kind: "node", subject: node, members: [index], order: index });
      item.size = nodeSize(this.run, node);
      children.push(leafOfTree(item));
    }
    for (const inner of group.groups) {
      const order = firstPlace(inner);
      if (open.has(inner)) {
        const groups = onlyInside(inner, open);
        const id = `f${groups.map(({ index }) => index).join("-")}`;
        const frame = { id, kind: "frame", subject: inner, groups, members: [], links: [], order };
        this.frames.push(frame);
        for (const one of groups) this.byGroup.set(one, frame);
        const room = this.compact ? { title: 18, padding: 5 } : { title: 26, padding: 16 };
        children.push({ id, order, ...room, children: this.walk(groups[groups.length - 1], open) });
      } else {
        const item = this.add({ id: `g${inner.index}`, kind: "group", subject: inner, members: inside(inner), order });
        item.size = groupSize(this.run, inner);
        children.push(leafOfTree(item));
      }
    }
    return children.sort((a, b) => a.order - b.order);
  }

  add(item) {
    item.links = [];
    this.items.push(item);
    for (const index of item.members) this.itemOf[index] = item;
    if (item.kind === "group") this.byGroup.set(item.subject, item);
    return item;
  }

  join() {
    const merged = new Map();
    for (const edge of this.run.edges) {
      const from = this.itemOf[placeOf(edge.parent)];
      const to = this.itemOf[placeOf(edge.child)];
      if (from === to) continue;
      const key = from.kind === "node" && to.kind === "node" ? null : `${from.id} ${to.id}`;
      let link = key && merged.get(key);
      if (!link) {
        link = { from, to, edges: [], index: this.links.length };
        this.links.push(link);
        from.links.push(link);
        to.links.push(link);
        if (key) merged.set(key, link);
      }
      link.edges.push(edge.index);
      this.linkOf[edge.index] = link;
    }
    const beside = new Map(); // the lines that join the same two boxes
    for (const link of this.links) {
      const key = `${link.from.id} ${link.to.id}`;
      if (!beside.has(key)) beside.set(key, []);
      link.parallel = beside.get(key);
      link.parallel.push(link);
      const why = link.edges.map((index) => this.run.blocked?.[index] ?? null);
      link.blocked = why.every(Boolean) ? why[0] : null;
    }
  }

  // For the layout: the lines with the room that is kept for what is written on them; where several join the same two
  // boxes, one behind the other.
  edges() {
    return this.links.map(({ from, to, edges, parallel }) => {
      const array = from.kind === "node" && isArrayNode(from.subject);
      const characters = edges.length > 1 ? `${edges.length} of ${edges.length}`.length : 0;
      const label = chipSize(Math.max(characters, array ? CHIP_CHARACTERS.array : CHIP_CHARACTERS.number));
      if (this.compact) return { from: from.id, to: to.id, label: null, chip: label }; // few are on show at a time
      const [many, extra] = [parallel.length, parallel.length > 1 ? 26 : 6]; // and for what is below the upper box
      const room = { width: label.width * many, height: label.height * many + extra };
      return { from: from.id, to: to.id, label: room, chip: label };
    });
  }

  // The item that shows a node or a group: where that is inside of a closed group, the closed group.
  itemFor(subject) {
    if (!subject) return null;
    if (!subject.groups) return this.itemOf[subject.index] ?? null;
    return this.byGroup.get(subject) ?? (subject.parent ? this.itemFor(subject.parent) : null);
  }
}

// A group and those inside it, as long as there is nothing but one open group in each: they share a frame.
function onlyInside(group, open) {
  const groups = [group];
  for (;;) {
    const { nodes, groups: inner } = groups[groups.length - 1];
    if (nodes.length || inner.length !== 1 || !open.has(inner[0])) return groups;
    groups.push(inner[0]);
  }
}

function leafOfTree({ id, size, order }) {
  return { id, order, ...size };
}

// The indices of all nodes of a group and of those inside it.
function inside(group) {
  const found = [];
  const waiting = [group];
  while (waiting.length) {
    const next = waiting.pop();
    for (const node of next.nodes) found.push(node.index);
    for (const inner of next.groups) waiting.push(inner);
  }
  return found;
}

function firstPlace(group) {
  const own = group.nodes.length ? group.nodes[0].index : Infinity;
  return group.groups.reduce((least, inner) => Math.min(least, firstPlace(inner)), own);
}

// Nodes and edges are named by their index or are at hand themselves.
function placeOf(subject) {
  return subject?.index ?? subject;
}
