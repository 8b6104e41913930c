// Where to stop: conditions that a step fulfils, as text: nan, inf, |grad| > 10, or a node's name.

const LIMIT = /^\|\s*grad\s*\|\s*(>=|<=|>|<)\s*([-+.\deE]+|inf)$/;
const COMPARE = {
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
};

// A function of a step that says whether the condition holds; null for text that is none.
function condition(text) {
  const plain = text.trim().toLowerCase();
  if (plain === "nan" || plain === "inf") {
    const quantities = (step) => [step.after, step.contribution, step.node?.data];
    return (step) => quantities(step).some((quantity) => quantity?.odd?.includes(plain));
  }
  const found = LIMIT.exec(plain.replace("−", "-"));
  if (!found) return null;
  const limit = found[2] === "inf" ? Infinity : Number(found[2]);
  if (Number.isNaN(limit)) return null;
  return (step) => step.receiver !== undefined && COMPARE[found[1]](magnitude(step.after), limit);
}

// The largest absolute value of what is finite or infinite in a quantity.
function magnitude(quantity) {
  if (quantity.value === "inf" || quantity.value === "-inf") return Infinity;
  if (quantity.value !== undefined) return Math.abs(Number(quantity.value));
  if (!quantity.grid) return 0;
  const sizeOf = (x) => (typeof x === "number" ? Math.abs(x) : x === "nan" ? 0 : Infinity);
  return quantity.grid.values.reduce((most, x) => Math.max(most, sizeOf(x)), 0);
}

// The first step after `at` for which a condition holds, 0 if there is none.
function firstWhere(run, mode, at, holds) {
  for (let number = at + 1; number <= run.length(mode); number += 1) if (holds(run.step(mode, number))) return number;
  return 0;
}

// The nodes whose name or title has `text` in it, those whose name is just that first.
function search(run, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const exact = run.nodes.filter(({ name }) => name.toLowerCase() === wanted);
  const within = run.nodes.filter((node) => !exact.includes(node) && node.title.toLowerCase().includes(wanted));
  return [...exact, ...within];
}
