// The whole drawing in a corner of the stage, while only a part of it is in view: boxes as dots, filled as far as the
// pass has come, and a frame around what the stage shows. A click or a drag goes there.

const MAP = { width: 190, height: 120, margin: 5 };
const MOST_OF_STAGE = 0.28;
const LEAST_STAGE = 500; // a narrower one is all needed
const SMALLEST_DOT = 1.6;

class Minimap {
  constructor(stage, viewport) {
    this.stage = stage;
    this.viewport = viewport;
    this.canvas = html("canvas", { class: "minimap", "aria-hidden": "true", hidden: "" });
    stage.append(this.canvas);
    this.items = [];
    this.shareOf = () => 0;
    this.lit = new Set();
    this.waiting = null;
    this.listen();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  // Another layout.
  begin({ items, frames }, content) {
    this.items = items;
    this.frames = frames;
    this.content = content;
    const { margin } = MAP;
    const width = Math.min(MAP.width, this.viewport.size.width * MOST_OF_STAGE);
    const height = Math.min(MAP.height, this.viewport.size.height * MOST_OF_STAGE);
    this.scale = Math.min((width - 2 * margin) / content.width, (height - 2 * margin) / content.height);
    this.size = {
      width: Math.max(Math.ceil(content.width * this.scale), 24) + 2 * margin,
      height: Math.max(Math.ceil(content.height * this.scale), 16) + 2 * margin,
    };
    this.draw();
  }

  // Another moment: how much of an item is finished, and which ones the step is about.
  show(shareOf, lit) {
    this.shareOf = shareOf;
    this.lit = lit;
    this.draw();
  }

  // Draw at the next frame, once however often it is asked for.
  draw() {
    if (!this.content) return;
    const hidden = this.viewport.size.width < LEAST_STAGE || this.viewport.seesAll();
    if (hidden !== this.canvas.hidden) this.canvas.hidden = hidden;
    if (hidden || this.waiting !== null) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.paint();
    });
  }

  paint() {
    const { canvas, size, scale, viewport } = this;
    const sharp = window.devicePixelRatio || 1;
    furnish(canvas, { width: size.width * sharp, height: size.height * sharp }, []);
    canvas.style.width = `${size.width}px`;
    canvas.style.height = `${size.height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const place = ({ x, y, width, height }) => [
      MAP.margin + x * scale,
      MAP.margin + y * scale,
      Math.max(width * scale, SMALLEST_DOT),
      Math.max(height * scale, SMALLEST_DOT),
    ];
    const [waits, done, now, frame] = ["--edge", "--plus", "--now", "--line"].map((name) => this.colour(name));
    pen.strokeStyle = frame;
    for (const { box } of this.frames) pen.strokeRect(...place(box));
    for (const item of this.items) {
      const [x, y, width, height] = place(item.box);
      const share = this.shareOf(item);
      pen.globalAlpha = 0.45;
      pen.fillStyle = waits;
      if (share < 1) pen.fillRect(x, y, width, height);
      pen.globalAlpha = 1;
      pen.fillStyle = done;
      if (share > 0) pen.fillRect(x + width * (1 - share), y, width * share, height);
    }
    pen.fillStyle = now;
    for (const { box, kind } of this.lit) {
      if (!box || kind === "frame") continue;
      const [x, y, width, height] = place(box);
      pen.fillRect(x - 1, y - 1, Math.max(width, 3) + 2, Math.max(height, 3) + 2);
    }
    const [x, y, width, height] = place(viewport.seen());
    pen.strokeStyle = this.colour("--text");
    pen.lineWidth = 1.5;
    const [left, top] = [Math.max(x, 1), Math.max(y, 1)];
    pen.strokeRect(left, top, Math.min(x + width, size.width - 1) - left, Math.min(y + height, size.height - 1) - top);
  }

  // A colour of the style as a canvas understands it.
  colour(name) {
    this.canvas.style.color = `var(${name})`;
    return getComputedStyle(this.canvas).color;
  }

  listen() {
    const { canvas } = this;
    const go = (event) => {
      const bounds = canvas.getBoundingClientRect();
      const along = (at, start) => (at - start - MAP.margin) / this.scale;
      this.viewport.goTo({ x: along(event.clientX, bounds.left), y: along(event.clientY, bounds.top) });
    };
    canvas.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      event.preventDefault();
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && go(event));
  }
}
