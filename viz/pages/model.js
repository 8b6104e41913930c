// The graph: nodes, edges, groups, and how each operation is written. No passes, no drawing.

const MOST_IN_BOX = 30; // characters of a title in a box
const NAME_MARK = /\x01(\w+)\x02/g; // where a recipe has a name: an operand's, by its place, or "o", the result's

class PageNode {
  constructor(index, data, recipe) {
    this.index = index;
    this.name = data.names[index] || `n${index}`;
    this.variable = data.variables && (data.variables[index] || this.name); // in the script, if there is one
    this.parents = data.parents[index];
    this.recipe = recipe;
    this.op = recipe ? recipe.op : "";
    this.leaf = this.parents.length === 0;
    this.constant = false;
    this.uses = 0;
    this.out = []; // indices of the edges to those that use it
    this.firstEdge = 0;
    this.group = null;
    this.model = null;
  }

  get dtype() {
    return this.data.dtype;
  }

  get data() {
    return this.model.quantityOf(this.index);
  }

  get formula() {
    return this.recipe ? this.write(this.recipe.formula) : "";
  }

  get title() {
    return this.recipe ? `${this.name} = ${this.formula}` : this.name;
  }

  // The title as it fits into a box: long operand names keep their last part, as in `h = …w[2]*x`.
  get short() {
    const { title } = this;
    if (title.length <= MOST_IN_BOX) return title;
    if (!this.recipe) return clipped(title);
    return clipped(`${tail(this.name)} = ${this.write(this.recipe.formula, tail)}`);
  }

  // A text of the recipe with the names in it.
  write(template, form = (name) => name) {
    return template.replace(NAME_MARK, (_, place) => form(this.marked(place).name));
  }

  // The node that a mark in a recipe stands for.
  marked(place) {
    return place === "o" ? this : this.model.nodes[this.parents[Number(place)]];
  }

  // The line of the contribution to operand number `slot` in the graph's script; null for a graph without one.
  line(slot) {
    if (!this.variable) return null;
    const template = this.recipe.lines[slot] ?? `# ${this.marked(slot).variable} is a number: a script sends it nothing`;
    return template.replace(NAME_MARK, (_, place) => this.marked(place).variable);
  }

  // How the contribution to operand number `slot` is written: { local, rule, kind, summed }.
  rule(slot) {
    const [local, rule, kind, summed] = this.recipe.slots[slot];
    return { local: local === null ? null : this.write(local), rule: this.write(rule), kind, summed };
  }
}

class Model {
  constructor(data) {
    const recipeOf = (i) => (data.recipe[i] < 0 ? null : data.recipes[data.recipe[i]]);
    this.nodes = data.names.map((_, i) => new PageNode(i, data, recipeOf(i)));
    this.root = this.nodes[this.nodes.length - 1];
    this.edges = [];
    for (const node of this.nodes) {
      node.model = this;
      node.firstEdge = this.edges.length;
      node.parents.forEach((parent, slot) => {
        this.nodes[parent].out.push(this.edges.length);
        this.nodes[parent].uses += 1;
        this.edges.push({ index: this.edges.length, parent, child: node.index, slot });
      });
    }
    for (const i of data.constants) this.nodes[i].constant = true;
    this.leaves = data.leaves.map((i) => this.nodes[i]);
    this.quantityOf = () => null; // the run puts in what knows the numbers
    this.groups = groupsFrom(data, this.nodes);
  }
}

// Groups in a tree, the first one the whole; each with the nodes directly in it and how many there are inside in all.
function groupsFrom(data, nodes) {
  const groups = data.groups.map(({ label, kind, copies }, index) => {
    return { index, label, kind, copies: copies ?? 1, parent: null, depth: 0, groups: [], nodes: [], size: 0 };
  });
  data.groups.forEach(({ parent }, i) => {
    if (parent < 0) return;
    groups[i].parent = groups[parent];
    groups[i].depth = groups[parent].depth + 1;
    groups[parent].groups.push(groups[i]);
  });
  nodes.forEach((node, i) => {
    node.group = groups[data.groupOf[i]];
    node.group.nodes.push(node);
    for (let group = node.group; group; group = group.parent) group.size += 1;
  });
  return groups;
}

// The group of a node and those around it, the innermost first.
function around(node) {
  const found = [];
  for (let group = node.group; group; group = group.parent) found.push(group);
  return found;
}

function tail(name) {
  const last = name.slice(name.lastIndexOf(".") + 1);
  return last.length < name.length ? `…${last}` : name;
}

function clipped(text) {
  return text.length <= MOST_IN_BOX ? text : `${text.slice(0, MOST_IN_BOX - 1)}…`;
}
