// Taking a drawing away: an SVG that opens alone, the same as PNG, and downloads. What does not work the page says.

// Properties of drawings that styles set, as attributes of the same names. The first are inherited.
const TAKEN_INHERITED = `fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap
  stroke-linejoin font-family font-size font-weight font-style text-anchor dominant-baseline letter-spacing paint-order
  marker-start marker-mid marker-end visibility`.split(/\s+/);
const TAKEN_OWN = {
  opacity: "1", "vector-effect": "none", "text-decoration-line": "none", "clip-path": "none", mask: "none",
  transform: "none", "stop-color": "rgb(0, 0, 0)", "stop-opacity": "1",
};
const TAKEN_NAMES = { "text-decoration-line": "text-decoration" };
const TAKEN_LEFT_OUT = "script, style, foreignObject, animate, animateTransform, animateMotion, set, a > title";
const TAKEN_RESOURCES = "defs, marker, pattern, clipPath, mask, symbol, linearGradient, radialGradient";
const TAKEN_REFERENCE = /url\(["']?[^"')]*#([^"')]+)["']?\)/g;
const TAKEN_MARGIN = 16; // around what is drawn, for lines and arrowheads that stand out
const TAKEN_WIDEST = 16000; // pixels of a canvas that browsers make
const TAKEN_MOST = 1e8; // pixels in all

let takenBefore = 0; // numbers what was taken: several drawings may end up in one document

// The text of an SVG file that shows what `element` shows now, with its colours, and needs nothing else.
//   title       what it is a picture of
//   background  a colour; by default the one that is behind the element
//   margin      around what is drawn
//   without     a class that is not taken along, neither on the element nor on what is in it and around it
function standaloneSvg(element, options = {}) {
  const { title = "", background = takenGround(element), margin = TAKEN_MARGIN, without = "" } = options;
  const name = CSS.escape(without);
  const classed = without ? [element.closest(`.${name}`), ...element.querySelectorAll(`.${name}`)].filter(Boolean) : [];
  for (const each of classed) each.classList.remove(without);
  try {
    return takenText(element, title, background, margin);
  } finally {
    for (const each of classed) each.classList.add(without);
  }
}

function takenText(element, title, background, margin) {
  const prefix = `taken${++takenBefore}-`;
  const box = element.getBBox();
  const place = [box.x - margin, box.y - margin, box.width + 2 * margin, box.height + 2 * margin].map(takenRound);
  const [x, y, width, height] = place;
  const picture = svg("svg", { viewBox: place.join(" "), width, height });
  if (title) picture.append(svg("title", {}, title));
  if (background !== "none") picture.append(svg("rect", { x, y, width, height, fill: background }));
  const drawn = svg("g", takenStyle(element, null, true));
  for (const child of element.children) takenCopy(child, drawn);
  picture.append(drawn);
  takenReferences(element, picture, prefix);
  return takenCharacters(new XMLSerializer().serializeToString(picture));
}

// Copies an element, with what is in it, into `parent`; nothing where it is not shown.
function takenCopy(element, parent) {
  if (element.matches(TAKEN_LEFT_OUT)) return;
  const style = getComputedStyle(element);
  const resource = element.closest(TAKEN_RESOURCES) !== null;
  if (!resource && style.display === "none") return;
  const copy = element.cloneNode(false);
  for (const { name } of [...copy.attributes]) {
    if (/^(class|style|tabindex|role|on.*|aria-.*|data-.*)$/i.test(name)) copy.removeAttribute(name);
  }
  furnish(copy, takenStyle(element, element.parentElement), []);
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.data);
    else if (child.nodeType === Node.ELEMENT_NODE) takenCopy(child, copy);
  }
  const hidden = style.visibility !== "visible" && copy.children.length === 0;
  if (!hidden || resource) parent.append(copy);
}

// What an element's looks are, as attributes: what it does not have from its parent. Where a `root` itself stands is no
// part of them.
function takenStyle(element, parent, root = false) {
  const style = getComputedStyle(element);
  const around = parent && getComputedStyle(parent);
  const found = {};
  for (const name of TAKEN_INHERITED) {
    const value = style.getPropertyValue(name);
    if (value && value !== around?.getPropertyValue(name)) found[name] = takenColour(value);
  }
  for (const [name, usual] of Object.entries(TAKEN_OWN)) {
    const value = style.getPropertyValue(name);
    const isPlace = root && name === "transform";
    if (value && value !== usual && !isPlace) found[TAKEN_NAMES[name] ?? name] = takenColour(value);
  }
  return found;
}

// Other programs know rgb(), not color(srgb ...), which mixed colours are computed as.
function takenColour(value) {
  return value.replace(/color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)/g, (_, r, g, b, alpha) => {
    const parts = [r, g, b].map((part) => Math.round(255 * part)).join(", ");
    return alpha === undefined ? `rgb(${parts})` : `rgba(${parts}, ${alpha})`;
  });
}

// Gives what is referred to a name of its own, also in what refers to it. Arrowheads and the like that stand in another
// part of the page are copied too; names that nothing refers to go.
function takenReferences(element, picture, prefix) {
  const wanted = new Set();
  const waiting = [picture];
  while (waiting.length) {
    for (const id of takenRefer(waiting.pop(), prefix)) {
      if (wanted.has(id)) continue;
      wanted.add(id);
      const original = picture.querySelector(`#${CSS.escape(id)}`) ? null : document.getElementById(id);
      if (!original) continue;
      const place = svg("defs");
      takenCopy(original, place);
      if (!place.firstChild) continue;
      furnish(place.firstChild, takenStyle(original, null), []);
      picture.prepend(place);
      waiting.push(place);
    }
  }
  for (const named of picture.querySelectorAll("[id]")) {
    if (wanted.has(named.id)) named.id = prefix + named.id;
    else named.removeAttribute("id");
  }
}

// Rewrites the references within `part`; returns the ids they are to.
function takenRefer(part, prefix) {
  const found = [];
  for (const element of [part, ...part.querySelectorAll("*")]) {
    for (const attribute of [...element.attributes]) {
      if (attribute.value.startsWith("#") && /^(xlink:)?href$/.test(attribute.name)) {
        found.push(attribute.value.slice(1));
        attribute.value = `#${prefix}${attribute.value.slice(1)}`;
      } else if (attribute.value.includes("url(")) {
        attribute.value = attribute.value.replace(TAKEN_REFERENCE, (_, id) => (found.push(id), `url(#${prefix}${id})`));
      }
    }
  }
  return found;
}

// The colour behind an element.
function takenGround(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (!/^(transparent|rgba\(.*, 0\))$/.test(colour)) return takenColour(colour);
  }
  return "rgb(255, 255, 255)";
}

// Characters that no XML file may have, which names may.
function takenCharacters(text) {
  return text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
}

function takenRound(number) {
  return Math.round(number * 100) / 100;
}

// Lets the drawing fill a sheet of paper that it is printed on, however it lies on the screen. Returns what undoes it.
function fitToSheet(element) {
  const kept = ["viewBox", "width", "height"].map((name) => [name, element.getAttribute(name)]);
  const { x, y, width, height } = element.getBBox();
  element.setAttribute("viewBox", [x, y, width, height].map(takenRound).join(" "));
  for (const name of ["width", "height"]) element.setAttribute(name, "100%");
  return () => {
    for (const [name, value] of kept) {
      if (value === null) element.removeAttribute(name);
      else element.setAttribute(name, value);
    }
  };
}

// -- files ------------------------------------------------------------------------------------------------------------

// A PNG of the text of an SVG, `scale` pixels for each of its units, fewer where that would be too many for a canvas. A
// Promise of a Blob, or of null where the browser makes none; the page says so then.
async function svgToPng(svgText, scale = 2) {
  try {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
    await image.decode();
    const { naturalWidth: width, naturalHeight: height } = image;
    const by = Math.min(scale, TAKEN_WIDEST / width, TAKEN_WIDEST / height, Math.sqrt(TAKEN_MOST / (width * height)));
    const canvas = html("canvas", { width: Math.round(width * by), height: Math.round(height * by) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("the canvas is too large");
    return blob;
  } catch (error) {
    takenNote(`The browser makes no PNG of this (${error.message}): take the SVG.`);
    return null;
  }
}

function downloadText(name, text, type = "text/plain") {
  return downloadBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

// Hands a file to the browser, and says whether that worked, as far as a page can know. Without a blob it does nothing.
function downloadBlob(name, blob) {
  if (!blob) return false;
  try {
    const address = URL.createObjectURL(blob);
    const link = html("a", { href: address, download: name, hidden: "" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60_000); // some browsers read it after a question to the user
  } catch (error) {
    takenNote(`The browser did not take ${name} (${error.message}).`);
    return false;
  }
  const blocked = `If ${name} does not arrive: downloads may be blocked here. Open the page in a tab of its own.`;
  takenNote(takenInSandbox() ? blocked : `${name} is among your downloads.`);
  return true;
}

// Whether the page stands in a frame that may not do everything: then a blocked download raises nothing.
function takenInSandbox() {
  return window !== window.top && window.origin === "null";
}

// Says something where the page has a place for it (#taken), else below everything else.
function takenNote(text) {
  let place = byId("taken");
  if (!place) {
    place = html("p", { id: "taken", role: "status" });
    document.body.append(place);
  }
  place.textContent = text;
}
