// Attention weights as a table of shades: one row for each piece that looked, one column for each that was looked at.

import { h, s, select, setVars } from "../dom.js";
import { percent } from "../numbers.js";

const CELLS = 3600; // more are not drawn
const ROOMY = 12; // columns at most for cells with numbers in them

/** decoder.0.cross_attention -> Decoder 1: cross-attention */
export function layerTitle(name) {
  const words = name
    .split(".")
    .map((part) => (/^\d+$/.test(part) ? String(Number(part) + 1) : part.replaceAll("_", "-")));
  const [first = "", ...rest] = words;
  const number = /^\d+$/.test(rest[0] ?? "") ? ` ${rest.shift()}` : "";
  return `${first.charAt(0).toUpperCase()}${first.slice(1)}${number}${rest.length ? `: ${rest.join(" ")}` : ""}`;
}

/** The mean of some matrices. */
export function meanOf(heads) {
  return heads[0].map((row, i) => row.map((_, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
}

const piece = (text) => text.replaceAll("▁", "").replaceAll("Ġ", "") || "␣";

const length = (text) => (/^\[[A-Z]+\]$|^␣$/.test(text) ? 0 : text.length);

/** Where each text of a list begins and ends, all written without spaces. */
function spans(texts) {
  let at = 0;
  return texts.map((text) => [at, (at += length(text))]);
}

export class HeatMap {
  #chosen = null;
  #layer;
  #head = "mean";

  constructor(layers) {
    this.layers = layers;
    const cross = layers.findLastIndex((layer) => layer.name.includes("cross"));
    this.#layer = cross < 0 ? layers.length - 1 : cross;
    this.readout = h("p", { class: "readout", "aria-live": "off" });
    this.place = h("div", { class: "heat-place" });
    this.thumbs = h("div", { class: "thumbs", role: "group", "aria-label": "Heads" });
    const choice = select(
      "Layer",
      layers.map((layer, i) => [i, layerTitle(layer.name)]),
      {
        value: this.#layer,
        onchange: (value) => {
          this.#layer = Number(value);
          this.#head = "mean";
          this.#draw();
        },
      },
    );
    this.element = h(
      "section",
      { class: "heat", "aria-label": "Attention of each layer and head" },
      h(
        "div",
        { class: "heat-controls" },
        choice.box,
        h("div", { class: "field" }, h("span", { class: "label" }, "Head"), this.thumbs),
      ),
      this.place,
      this.readout,
    );
    this.#draw();
  }

  /** Mark the pieces of a word; side is source or target. */
  choose(side, words, index) {
    this.#chosen = { side, span: spans(words)[index] };
    this.#draw();
  }

  /** Whether each piece of a side belongs to the marked word. */
  #marked(side, pieces) {
    if (this.#chosen?.side !== side) return pieces.map(() => false);
    const [start, stop] = this.#chosen.span;
    return spans(pieces.map(piece)).map(([from, to]) => to > from && from < stop && start < to);
  }

  #draw() {
    const layer = this.layers[this.#layer];
    const options = [
      ["mean", "All", meanOf(layer.heads)],
      ...layer.heads.map((head, i) => [String(i), String(i + 1), head]),
    ];
    this.thumbs.replaceChildren(...options.map(([value, name, weights]) => this.#thumb(value, name, weights)));
    const weights = options.find(([value]) => value === this.#head)[2];
    const rows = layer.target ?? layer.source;
    this.place.replaceChildren(this.#table(layer, rows, weights));
    this.readout.textContent = "Point at a cell to read its weight.";
  }

  #thumb(value, name, weights) {
    const chosen = value === this.#head;
    const label = value === "mean" ? "Mean of all heads" : `Head ${name}`;
    return h(
      "button",
      {
        type: "button",
        class: chosen ? "thumb chosen" : "thumb",
        "aria-pressed": String(chosen),
        "aria-label": label,
        title: label,
        onclick: () => {
          this.#head = value;
          this.#draw();
          this.thumbs.querySelector(".chosen")?.focus();
        },
      },
      thumbnail(weights),
      h("span", { "aria-hidden": "true" }, name),
    );
  }

  #table(layer, rows, weights) {
    const columns = layer.source;
    if (rows.length * columns.length > CELLS)
      return h("p", { class: "soft" }, "This sentence is too long for a readable heat map.");
    const [rowSide, columnSide] = layer.name.startsWith("encoder")
      ? ["source", "source"]
      : ["target", layer.name.includes("cross") ? "source" : "target"];
    const [markedRows, markedColumns] = [this.#marked(rowSide, rows), this.#marked(columnSide, columns)];
    const head = h(
      "tr",
      null,
      h("td", null),
      columns.map((text, j) =>
        h("th", { scope: "col", class: markedColumns[j] ? "here" : null }, h("span", null, piece(text))),
      ),
    );
    const body = rows.map((text, i) =>
      h(
        "tr",
        null,
        h("th", { scope: "row", class: markedRows[i] ? "here" : null }, piece(text)),
        columns.map((other, j) => cell(weights[i]?.[j] ?? 0, piece(text), piece(other), columns.length <= ROOMY)),
      ),
    );
    const table = h(
      "table",
      {
        class: columns.length <= ROOMY ? "heat-table roomy" : "heat-table",
        onpointerover: (event) => this.#read(event.target.closest("td[data-w]")),
      },
      h("caption", { class: "unseen" }, `${layerTitle(layer.name)}: rows look at columns, weights in percent`),
      h("thead", null, head),
      h("tbody", null, body),
    );
    return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Heat map" }, table);
  }

  #read(cell) {
    if (!cell) return;
    const { row, column, w } = cell.dataset;
    this.readout.replaceChildren(
      h("b", null, row),
      " looked at ",
      h("b", null, column),
      ` with ${percent(Number(w), 1)} of its attention.`,
    );
  }
}

function cell(weight, row, column, roomy) {
  const shade = 100 * weight ** 0.7; // weak weights stay visible
  const element = h(
    "td",
    { data: { w: weight, row, column } },
    h("span", { class: roomy && weight >= 0.01 ? null : "unseen" }, String(Math.round(100 * weight))),
  );
  setVars(element, { "--w": `${shade.toFixed(1)}%` });
  return element;
}

/** A matrix as a picture of at most 24 by 24 dots. */
function thumbnail(weights) {
  const [rows, columns] = [Math.min(24, weights.length), Math.min(24, weights[0]?.length ?? 0)];
  const dots = [];
  for (let i = 0; i < rows; i += 1) {
    for (let j = 0; j < columns; j += 1) {
      if (weights[i][j] > 0.04)
        dots.push(s("rect", { x: j, y: i, width: 1, height: 1, "fill-opacity": weights[i][j].toFixed(2) }));
    }
  }
  return s("svg", { viewBox: `0 0 ${columns} ${rows}`, preserveAspectRatio: "none", "aria-hidden": "true" }, dots);
}
