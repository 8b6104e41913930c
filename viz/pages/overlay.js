// Shades the boxes by the size of their gradients, on a scale that is the same at every step; and the legend of that.

const DECADES = 6; // of |gradient| that the overlay tells apart

class Overlay {
  constructor(run) {
    this.run = run;
    this.legend = html("p", { class: "overlay-legend", hidden: "" });
    this.set("none");
  }

  // "grad": fill the boxes by |gradient|. "none": not. The scale is that of the run's numbers as they are now.
  set(name) {
    this.name = name;
    this.scale = name === "grad" ? gradientScale(this.run) : null;
    this.legend.hidden = !this.scale;
    if (!this.scale) return;
    const { least, most } = this.scale;
    const range = least < most ? `from ${brief(least)} or less (pale) to ${brief(most)} (full)` : brief(most);
    write(this.legend, `fill: |gradient|, ${range}, log scale; 0 is empty`);
  }

  // How strongly a gradient of this size fills its box, 0 to 1; null for the box's usual fill.
  heatOf(size) {
    if (!this.scale || size === null) return null;
    if (size === 0) return 0;
    const { least, most } = this.scale;
    const share = most > least ? Math.log(size / least) / Math.log(most / least) : 1;
    return 0.08 + 0.92 * Math.min(Math.max(share, 0), 1);
  }
}

function gradientScale(run) {
  const sizes = run.nodes.map((node) => largestIn(run.truth[node.index])).filter((size) => size > 0);
  if (!sizes.length) return { least: 1, most: 1 };
  const [least, most] = sizes.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, 0]);
  return { least: Math.max(least, most / 10 ** DECADES), most };
}

// A magnitude in three digits.
function brief(x) {
  const text = x !== 0 && (x < 1e-3 || x >= 1e5) ? x.toExponential(1) : String(Number(x.toPrecision(3)));
  return text.replace("-", "−");
}
