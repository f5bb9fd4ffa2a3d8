// Curves between words of the two panes, thicker where the weight is larger.

import { s } from "../dom.js";

export class Links {
  #drawn = [];

  /** @param {HTMLElement} container that holds both panes */
  constructor(container) {
    this.container = container;
    this.element = s("svg", { class: "links", "aria-hidden": "true" });
    container.append(this.element);
    new ResizeObserver(() => this.#draw()).observe(container);
  }

  /** Draw links: {from: element, to: element, weight}. */
  show(links) {
    this.#drawn = links;
    this.#draw();
  }

  clear() {
    this.show([]);
  }

  #draw() {
    const frame = this.container.getBoundingClientRect();
    this.element.replaceChildren(
      ...this.#drawn.map(({ from, to, weight }) => {
        const path = curve(rectangle(from, frame), rectangle(to, frame));
        return s("path", {
          class: "link",
          d: path,
          "stroke-width": (1.25 + 3.25 * weight).toFixed(2),
          opacity: (0.25 + 0.75 * weight).toFixed(2),
        });
      }),
    );
  }
}

function rectangle(element, frame) {
  const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
  return {
    left: box.left - frame.left,
    right: box.right - frame.left,
    top: box.top - frame.top,
    bottom: box.bottom - frame.top,
  };
}

/** Side by side: a bow below both words. One above the other: an S from the bottom of one to the top of the other. */
function curve(a, b) {
  const [x, y] = [(a.left + a.right) / 2, a.bottom + 1];
  const u = (b.left + b.right) / 2;
  if (b.top - a.bottom > 60 && Math.abs(u - x) < 420) {
    const bend = (b.top - a.bottom) * 0.5;
    return `M${x} ${y}C${x} ${y + bend} ${u} ${b.top - 1 - bend} ${u} ${b.top - 1}`;
  }
  const v = b.bottom + 1;
  const depth = Math.max(y, v) + Math.min(70, 22 + Math.abs(u - x) * 0.06);
  return `M${x} ${y}C${x} ${depth} ${u} ${depth} ${u} ${v}`;
}
