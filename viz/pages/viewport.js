// Which part of the drawing the stage shows: pan, zoom, fit, follow.
//
// Whether a change of the stage's size moves it depends on how that part came about: `kept` is "start" as long as the
// page chose it, "all" after a fit, "place" once the reader has dragged or zoomed.

const LARGEST = 3;
const SMALLEST = 0.03; // or what shows all of a larger drawing
const SMALLEST_FIT = 0.002;
const READABLE = 0.74; // below this the whole graph is not worth showing first: the text of boxes has 9 pixels there
const LARGEST_FIT = 1.4;
const FAR = 0.3; // below this text cannot be read and is not drawn
const MARGIN = 10;

class Viewport {
  // changed is called after every change of what can be seen.
  constructor(stage, picture, layer, changed = () => {}) {
    this.changed = changed;
    this.stage = stage;
    this.picture = picture;
    this.layer = layer;
    this.content = { width: 1, height: 1 };
    this.scale = 1;
    this.x = this.y = 0;
    this.kept = "start";
    this.size = { width: 0, height: 0 };
    this.moved = false; // whether the last press was a drag and not a click
    this.gliding = false;
    this.measure();
    this.listen();
  }

  // Take over the stage's size. The picture gets it in pixels: in per cent, each step would lay it out anew, all of
  // it (70 ms for 400 nodes). A stage that is hidden, as in a notebook's frame that is not laid out yet, has none.
  measure() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    this.size = { width, height };
    furnish(this.picture, this.size, []);
  }

  fitScale(content = this.content) {
    const { width, height } = this.size;
    return Math.min((width - 2 * MARGIN) / content.width, (height - 2 * MARGIN) / content.height, LARGEST_FIT);
  }

  fit(glide = false) {
    this.kept = "all";
    this.scale = Math.max(this.fitScale(), SMALLEST_FIT);
    this.centre({ x: 0, y: 0, ...this.content }, glide);
  }

  // The whole graph where it can be read, else the part around `box` at a readable size.
  begin(content, box) {
    this.content = content;
    this.start = box;
    if (this.fitScale() >= READABLE) this.fit();
    else {
      this.scale = 0.9;
      this.centre(box);
    }
    this.kept = "start";
  }

  // Move the drawing so that the point x, y of it is at `left`, `top` of the stage.
  hold({ x, y }, { left, top }) {
    this.x = left - x * this.scale;
    this.y = top - y * this.scale;
    this.apply(true);
  }

  // The part of the drawing that is in view, with `margin` pixels around it.
  seen(margin = 0) {
    const { width, height } = this.size;
    const { scale } = this;
    return {
      x: (-this.x - margin) / scale,
      y: (-this.y - margin) / scale,
      width: (width + 2 * margin) / scale,
      height: (height + 2 * margin) / scale,
    };
  }

  seesAll() {
    return this.sees({ x: 0, y: 0, ...this.content });
  }

  isFar() {
    return this.scale < FAR;
  }

  // Bring a point of the drawing to the middle.
  goTo({ x, y }) {
    this.kept = "place";
    this.x = this.size.width / 2 - x * this.scale;
    this.y = this.size.height / 2 - y * this.scale;
    this.apply();
  }

  // After a change of the stage's size.
  refit() {
    if (this.kept === "start") this.begin(this.content, this.start);
    else if (this.kept === "all") this.fit();
  }

  // Move so that all boxes are in view if they can be, else at least the last one. Stay where nothing is hidden. As
  // long as the page chooses what is shown, it also steps back as far as can be read.
  reveal(boxes) {
    if (boxes.every((box) => this.sees(box))) return;
    const around = enclosing(boxes);
    const { width, height } = this.size;
    if (this.kept === "start") {
      const fitting = Math.min((width - 3 * MARGIN) / around.width, (height - 3 * MARGIN) / around.height);
      if (fitting >= READABLE) this.scale = Math.min(this.scale, fitting);
    }
    const roomy = around.width * this.scale < width - MARGIN && around.height * this.scale < height - MARGIN;
    this.centre(roomy ? around : boxes[boxes.length - 1], true);
  }

  sees(box) {
    const { width, height } = this.size;
    const left = box.x * this.scale + this.x;
    const top = box.y * this.scale + this.y;
    const right = left + box.width * this.scale;
    const bottom = top + box.height * this.scale;
    return left >= 0 && top >= 0 && right <= width && bottom <= height;
  }

  // Bring `box` to the middle, but do not show emptiness beyond the drawing's ends where there is more to see.
  centre(box, glide = false) {
    const { width, height } = this.size;
    const along = (start, length, stage, whole) => {
      const offset = stage / 2 - (start + length / 2) * this.scale;
      const least = stage - whole * this.scale - MARGIN;
      return least > MARGIN ? offset : Math.min(Math.max(offset, least), MARGIN);
    };
    this.x = along(box.x, box.width, width, this.content.width);
    this.y = along(box.y, box.height, height, this.content.height);
    this.apply(glide);
  }

  // Zoom by a factor about a point of the stage, by default its middle.
  zoom(factor, point = { x: this.size.width / 2, y: this.size.height / 2 }) {
    const least = Math.min(SMALLEST, Math.max(this.fitScale(), SMALLEST_FIT));
    const scale = Math.min(Math.max(this.scale * factor, least), LARGEST);
    this.x = point.x - ((point.x - this.x) * scale) / this.scale;
    this.y = point.y - ((point.y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.kept = "place";
    this.apply();
  }

  apply(glide = false) {
    this.gliding = glide;
    this.layer.classList.toggle("gliding", glide);
    this.layer.classList.toggle("far", this.isFar());
    this.layer.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.changed();
  }

  listen() {
    const { stage } = this;
    const fingers = new Map(); // pointer -> where it is: one drags, two pinch
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault(); // a click must not take the focus, or the arrow keys would no longer step
      document.activeElement?.blur();
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 1) this.moved = false;
    });
    window.addEventListener("pointermove", (event) => {
      const from = fingers.get(event.pointerId);
      if (!from) return;
      const to = { x: event.clientX, y: event.clientY };
      if (!this.moved && Math.hypot(to.x - from.x, to.y - from.y) < 4) return;
      this.moved = true;
      this.kept = "place";
      stage.classList.add("dragging");
      fingers.set(event.pointerId, to);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        this.pinch(other, from, to);
        return;
      }
      this.x += to.x - from.x;
      this.y += to.y - from.y;
      this.apply();
    });
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, (event) => {
        fingers.delete(event.pointerId);
        if (!fingers.size) stage.classList.remove("dragging");
      });
    }
    stage.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * 0.0015), this.onStage({ x: event.clientX, y: event.clientY }));
      },
      { passive: false },
    );
  }

  // One of two fingers has moved.
  pinch(other, from, to) {
    const before = Math.hypot(from.x - other.x, from.y - other.y);
    const after = Math.hypot(to.x - other.x, to.y - other.y);
    if (before > 10) this.zoom(after / before, this.onStage({ x: (to.x + other.x) / 2, y: (to.y + other.y) / 2 }));
  }

  onStage({ x, y }) {
    const bounds = this.stage.getBoundingClientRect();
    return { x: x - bounds.left, y: y - bounds.top };
  }
}

function enclosing(boxes) {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}
