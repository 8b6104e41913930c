// The stack that is shown, between controls, address and page: reading each, and never taking what no stack is made of.

const data = JSON.parse(byId("data").textContent);

const FIELDS = ["layers", "scale", "residual", "activation", "norm", "initialisation", "seed"];

// `fields`, texts from an address or from controls, over the settings `before`: what is missing or no value stays.
function settingsFrom(fields, before) {
  const number = (name, [least, most], whole) => {
    const given = typedNumber(fields[name] ?? "");
    if (given === null || !Number.isFinite(given)) return before[name];
    return Math.min(Math.max(whole ? Math.round(given) : given, least), most);
  };
  const flag = (name) => (name in fields ? fields[name] === "1" : before[name]);
  const oneOf = (name, known) => (known.includes(fields[name]) ? fields[name] : before[name]);
  return {
    ...before,
    layers: number("layers", data.layers, true),
    scale: number("scale", data.scale, false),
    residual: flag("residual"),
    activation: oneOf("activation", data.activations),
    norm: flag("norm"),
    initialisation: oneOf("initialisation", Object.keys(data.initialisations)),
    seed: number("seed", [0, 2 ** 32 - 1], true),
  };
}

function settingsText(stack) {
  const text = (value) => (typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  return Object.fromEntries(FIELDS.map((name) => [name, text(stack[name])]));
}

// A stack in one word for an address, "60,0.5,0,tanh,0,normal,0", and back; null where it is none.
function packedSettings(stack) {
  return Object.values(settingsText(stack)).join(",");
}

function unpackedSettings(packed) {
  const parts = (packed ?? "").split(",");
  if (parts.length !== FIELDS.length) return null;
  return settingsFrom(Object.fromEntries(FIELDS.map((name, i) => [name, parts[i]])), data.stack);
}

// What a layer does to what it reads.
function formulaText({ scale, residual, activation, norm }) {
  const sum = `${shortText(scale)} * (${norm ? "layer_norm(h)" : "h"} @ W)`;
  const made = activation === "linear" ? sum : `${activation}(${sum})`;
  return `h = ${residual ? "h + " : ""}${made}`;
}

function stackName(stack, short = false) {
  const parts = [
    `${stack.layers} ${stack.activation} ${stack.layers === 1 ? "layer" : "layers"}`,
    `scale ${shortText(stack.scale)}`,
    stack.residual ? "residual" : "plain",
  ];
  if (stack.norm) parts.push("pre-norm");
  if (!short || stack.initialisation !== "normal") parts.push(`${stack.initialisation} weights`);
  if (!short) parts.push(`seed ${stack.seed}`);
  return parts.join(", ");
}
