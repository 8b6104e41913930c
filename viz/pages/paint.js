// How a moment of the run looks on what is drawn: boxes, frames, edges, chips. Each function takes the drawing (a
// GraphView), for the moment and what is selected and wrong in it, and touches one thing.

function paint(view, drawable) {
  if (drawable.edges) paintLink(view, drawable);
  else if (drawable.kind === "frame") paintFrame(view, drawable);
  else if (drawable.kind === "node") paintNode(view, drawable);
  else paintGroup(view, drawable);
}

function paintNode(view, item) {
  const { moment } = view;
  const { step } = moment;
  const { subject: node, drawn } = item;
  const grad = moment.gradients[node.index];
  const update = view.updates.get(node.index);
  const computed = moment.computed(node);
  const data = update?.after ?? node.data;
  const odd = oddities(computed ? data : null, grad);
  const wrong = view.wrong.has(node.index);
  if (!view.far) drawn.detail();
  const heat = view.overlay.heatOf(largestIn(grad));
  drawn.mark({
    leaf: node.leaf ?? node.parents.length === 0,
    pale: !computed,
    reached: grad !== null,
    odd: odd.length,
    sender: step?.sender === node,
    receiver: step?.receiver === node,
    computing: step?.phase === "forward" && step.node === node,
    updated: update,
    selected: view.selected === node,
    heated: heat !== null,
    wrong,
  });
  drawn.heat(heat);
  const note = update ? `${update.before.text} → ${update.after.text}` : "";
  const truth = wrong ? `should be ${heldText(node, view.run.truth[node.index])}` : note;
  drawn.show({ data, grad, computed, odd, note: truth, wrong });
}

function paintGroup(view, item) {
  const { moment } = view;
  const { step } = moment;
  const { drawn, members } = item;
  const isHere = (node) => Boolean(node) && view.visible.itemOf[node.index] === item;
  const forward = step ? step.phase === "forward" : item.computed < members.length;
  let most = null;
  let [wrong, changed] = [0, 0];
  const odd = new Set(item.computed ? oddData(view, item) : []);
  for (const index of members) {
    const grad = moment.gradients[index];
    const size = largestIn(grad);
    if (size !== null && (most === null || size > most)) most = size;
    if (view.wrong.has(index)) wrong += 1;
    if (view.updates.has(index)) changed += 1;
    if (grad?.odd) for (const name of oddities(null, grad)) odd.add(name);
  }
  const heat = view.overlay.heatOf(most);
  if (!view.far) drawn.detail();
  drawn.mark({
    pale: item.computed === 0,
    reached: item.reached > 0,
    odd: odd.size,
    sender: isHere(step?.sender),
    receiver: isHere(step?.receiver),
    computing: step?.phase === "forward" && isHere(step.node),
    updated: changed,
    selected: isHere(view.selected),
    heated: heat !== null,
    wrong,
  });
  drawn.heat(heat);
  drawn.show({
    done: forward ? item.computed : item.reached,
    size: members.length,
    verb: forward ? "computed" : "reached",
    here: step?.after && isHere(step.receiver) ? `${lastPart(step.receiver.name)} ${step.after.chip}` : "",
    most: most === null || forward ? "" : `|g| ≤ ${brief(most)}`,
    note: wrong ? `${wrong} wrong${view.compact ? "" : " inside"}` : changed ? `${changed} updated` : "",
    odd: [...odd],
  });
}

// "nan" and "inf", those that the data in a closed group hold.
function oddData(view, item) {
  item.odd ??= [...new Set(item.members.flatMap((index) => oddities(view.run.nodes[index].data, null)))];
  return item.odd;
}

function paintFrame(view, item) {
  item.drawn.mark({ current: view.lit.has(item) });
}

function paintLink(view, link) {
  const { moment } = view;
  const { step } = moment;
  const { drawn, edges } = link;
  let [arrived, lost, present, latest, operand] = [0, 0, null, null, false];
  for (const index of edges) {
    const arrival = moment.arrivals[index];
    if (step?.phase === "forward" && placeOf(view.run.edges[index].child) === step.node.index) operand = true;
    if (!arrival) continue;
    arrived += 1;
    latest = arrival;
    if (arrival.lost) lost += 1;
    if (step && arrival.step.number === step.number) present = arrival;
  }
  const computed = moment.computed(view.run.nodes[placeOf(view.run.edges[edges[0]].child)]);
  const many = edges.length > 1;
  const gone = lost > 0 && lost === arrived;
  const classes = { done: arrived, now: present, operand, blocked: link.blocked, many, pale: !computed, lost: gone };
  const names = ["edge", ...Object.keys(classes).filter((name) => classes[name])].join(" ");
  if (drawn.names !== names) drawn.path.setAttribute("class", (drawn.names = names));
  const layer = view.layers[present || operand ? "present" : "edges"]; // above the others
  if (drawn.path.parentNode !== layer) layer.append(drawn.path);
  paintChip(view, link, { arrived, lost, present, latest });
  if (link.blocked && !view.far && !drawn.blocked) {
    drawn.blocked = blockedMark(pointOnRoute(link.route, 0.8), link.blocked);
    view.layers.blocked.append(drawn.blocked);
  }
  const worded = !view.compact || present || operand || isSelected(view, link);
  drawn.blocked?.classList.toggle("unworded", !worded);
}

function paintChip(view, link, { arrived, lost, present, latest }) {
  const { drawn, edges } = link;
  // Of a large run only what is lost, and what the step or the selected box is about, has a number: the boxes are close
  // together.
  const wanted = !view.compact || present || lost || isSelected(view, link);
  if (!arrived || view.far || !wanted) return void drawn.chip?.show("", {});
  if (!drawn.chip) {
    drawn.chip = new Chip();
    drawn.chip.place(link.chipAt);
    view.layers.chips.append(drawn.chip.group);
  }
  const single = present ?? (edges.length === 1 ? latest : null);
  const soFar = arrived === edges.length ? `× ${arrived}` : `${arrived} of ${edges.length}`;
  const some = lost && lost < arrived ? `${lost} of ${arrived} lost` : soFar;
  const text = single ? single.step.contribution.chip : some;
  const sign = single ? signClass(single.step.contribution) : "";
  const all = single ? single.lost : lost === arrived;
  drawn.chip.show(text, { now: present, lost: all, count: !single, [sign]: true });
  if (present) view.layers.chips.append(drawn.chip.group); // on top of the others
}

function isSelected(view, { from, to }) {
  const item = view.selected && view.visible.itemFor(view.selected);
  return item && (item === from || item === to);
}

// "b" of net.layers[2].neurons[0].b.
function lastPart(name) {
  return name.slice(name.lastIndexOf(".") + 1);
}

// Leaves that an update has changed by now: the index -> the step.
function updatesSoFar(run, { mode, at, step }) {
  const updates = new Map();
  if (step?.phase !== "update") return updates;
  for (let number = at; number > 0; number--) {
    const earlier = number === at ? step : run.step(mode, number);
    if (earlier.phase !== "update") break;
    updates.set(earlier.node.index, earlier);
  }
  return updates;
}
