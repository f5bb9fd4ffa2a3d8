// Tagging: the words of a sentence with their tags in colours.

import { post } from "../api.js";
import { announce, h, setVars } from "../dom.js";
import { emptyState } from "../notice.js";
import { counted, percent } from "../numbers.js";
import { Latest, ModelChoice, heading, textBox } from "./shared.js";

const TURN = 137.5; // degrees between the hues of two tags: neighbours in the list look different
const NEUTRAL = new Set(["O", "PUNCT", "SYM", "X", "."]);

class TagView {
  constructor({ models }) {
    this.choice = new ModelChoice(models, () => this.#changed());
    this.result = h("div", { class: "result-place", "aria-live": "polite" });
    this.latest = new Latest(this.result);
    this.text = textBox("Sentence", {
      placeholder: "Type or paste a sentence",
      rows: 3,
      id: "tag-text",
      oninput: () => this.#changed(),
    });
    this.element = h(
      "div",
      { class: "view" },
      heading("Tag words", "Every word of a sentence with its tag.", this.choice),
      h("section", { class: "card pad", "aria-label": "Input" }, this.text.box),
      h("section", { class: "card pad", "aria-label": "Result" }, this.result),
    );
    this.#empty();
  }

  #empty() {
    this.latest.stop();
    this.result.replaceChildren(emptyState("Tags appear here", "Type a sentence; its words are tagged as you type."));
  }

  #changed() {
    const text = this.text.area.value;
    if (text.trim()) this.latest.later((signal) => this.#predict(text, signal));
    else this.#empty();
  }

  async #predict(text, signal) {
    const lines = text
      .split(/\n+/)
      .map((line) => line.trim())
      .filter(Boolean);
    const { predictions } = await post("v1/predict", { model: this.choice.name, texts: lines }, signal);
    announce(
      `${counted(
        predictions.reduce((sum, each) => sum + each.words.length, 0),
        "word",
      )} tagged`,
    );
    const color = this.#colors(predictions);
    return [...predictions.map((found) => sentence(found, color)), legend(predictions, color)];
  }

  /** The hue of a tag. B-PER and I-PER have one, O and punctuation have none. */
  #colors(predictions) {
    const known = this.choice.details.classes ?? predictions.flatMap((found) => found.tags);
    const kinds = [...new Set(known.map(kind))].filter((each) => !NEUTRAL.has(each));
    return (tag) => (NEUTRAL.has(kind(tag)) ? null : ((kinds.indexOf(kind(tag)) + 1) * TURN + 100) % 360);
  }

  shown() {
    if (matchMedia("(pointer: fine)").matches) this.text.area.focus({ preventScroll: true });
  }
}

const kind = (tag) => tag.replace(/^[BIES]-/, "");

function colored(element, hue) {
  if (hue !== null) setVars(element, { "--hue": hue.toFixed(1) });
  return element;
}

function sentence(found, hueOf) {
  return h(
    "ol",
    { class: "tagged", "aria-label": "Tagged words" },
    found.words.map((word, i) => {
      const tag = found.tags[i];
      const sure = found.probabilities?.[i];
      const unsure = typeof sure === "number" && sure < 0.7;
      const title = typeof sure === "number" ? `${tag}: ${percent(sure, 1)} sure` : tag;
      return colored(
        h(
          "li",
          { class: hueOf(tag) === null ? "tag none" : "tag", title },
          h("span", { class: "tag-word" }, word),
          h(
            "span",
            { class: unsure ? "tag-name unsure" : "tag-name" },
            tag === "O" ? h("span", { class: "unseen" }, "no tag") : tag,
          ),
        ),
        hueOf(tag),
      );
    }),
  );
}

function legend(predictions, hueOf) {
  const counts = new Map();
  for (const tag of predictions.flatMap((found) => found.tags))
    if (hueOf(tag) !== null) counts.set(kind(tag), (counts.get(kind(tag)) ?? 0) + 1);
  return h(
    "p",
    { class: "chart-legend" },
    [...counts].map(([name, count]) => colored(h("span", { class: "key tag-key" }, `${name} ${count}`), hueOf(name))),
    h("span", { class: "soft" }, "dotted: less than 70 % sure"),
  );
}

export const create = (context) => new TagView(context);
