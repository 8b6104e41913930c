// Making elements. Text goes in as text only: names are the user's and never become markup.

const SVG = "http://www.w3.org/2000/svg";

function html(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function byId(id) {
  return document.getElementById(id);
}

// Set an element's text. Returns whether it was another one.
function write(element, text) {
  if (element.textContent === text) return false;
  element.textContent = text;
  return true;
}

function code(text) {
  return html("code", {}, text);
}

function bold(text) {
  return html("b", {}, text);
}

function paragraph(name, ...children) {
  return html("p", { class: name }, ...children);
}

function between(items, separator) {
  return items.flatMap((item, i) => (i ? [separator, item] : [item]));
}

// -- quantities ---------------------------------------------------------------------------------------------

const WIDE = 30; // characters in a row of an array that may need scrolling

function signClass(quantity) {
  return quantity.sign > 0 ? "plus" : quantity.sign < 0 ? "minus" : "";
}

function isArray(quantity) {
  return Boolean(quantity.rows || quantity.more);
}

// A quantity in one of its forms: "short" (small arrays in full), "text" or "chip" (always one line).
function amount(quantity, form = "short", tag = "span") {
  if (form !== "short" || !isArray(quantity)) {
    const single = isArray(quantity) ? "" : "single ";
    return html(tag, { class: `amount ${single}${signClass(quantity)}` }, quantity[form]);
  }
  if (quantity.more) return html(tag, { class: "amount" }, `${quantity.shape}: ${quantity.more}`);
  const matrix = html(tag, { class: "amount matrix" }, quantity.rows.join("\n"));
  if (quantity.rows[0].length <= WIDE) return matrix;
  return furnish(matrix, { tabindex: 0, role: "group", "aria-label": `array of shape ${quantity.shape}` }, []);
}

function result(quantity) {
  return amount(quantity, "short", "strong");
}
