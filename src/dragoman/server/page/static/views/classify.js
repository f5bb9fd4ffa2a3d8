// Classification and regression of texts: what the model says, and which words decided.

import { post } from "../api.js";
import { announce, h, setVars } from "../dom.js";
import { bars } from "../charts/bars.js";
import { emptyState } from "../notice.js";
import { plain, probability } from "../numbers.js";
import { locate } from "../sentences.js";
import { Latest, ModelChoice, heading, textBox } from "./shared.js";

const EXPLAINED = 300; // words; the server explains no longer texts

const EMPTY = {
  classification: ["Which class?", "Type a text and see its class, how sure the model is, and the words that decided."],
  regression: ["Which number?", "Type a text and see the number that the model gives it, and the words that decided."],
};

class ClassifyView {
  constructor({ models, task }) {
    this.task = task;
    this.choice = new ModelChoice(models, () => this.#changed());
    this.result = h("div", { class: "result-place", "aria-live": "polite" });
    this.latest = new Latest(this.result);
    this.text = textBox("Text", {
      placeholder: "Type or paste a text",
      rows: 7,
      id: "classify-text",
      oninput: () => this.#changed(),
    });
    const [title, lead] =
      task === "regression"
        ? ["Rate a text", "A number for a text."]
        : ["Classify a text", "The class of a text, and why."];
    this.element = h(
      "div",
      { class: "view" },
      heading(title, lead, this.choice),
      h(
        "div",
        { class: "split" },
        h("section", { class: "card pad", "aria-label": "Input" }, this.text.box),
        h("section", { class: "card pad", "aria-label": "Result" }, this.result),
      ),
    );
    this.#empty();
  }

  #empty() {
    this.latest.stop();
    this.result.replaceChildren(emptyState(...EMPTY[this.task]));
  }

  #changed() {
    const text = this.text.area.value;
    if (text.trim()) this.latest.later((signal) => this.#predict(text, signal));
    else this.#empty();
  }

  async #predict(text, signal) {
    const explain = (text.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu) ?? []).length <= EXPLAINED;
    const {
      predictions: [found],
    } = await post("v1/predict", { model: this.choice.name, texts: [text], explain }, signal);
    const reasons = found.explanation
      ? explained(text, found.explanation)
      : h("p", { class: "soft" }, `Which words decided is shown for texts of at most ${EXPLAINED} words.`);
    return this.task === "regression" ? [number(found), reasons] : [...classes(found), reasons];
  }

  shown() {
    if (matchMedia("(pointer: fine)").matches) this.text.area.focus({ preventScroll: true });
  }
}

function number(found) {
  announce(`Predicted number ${plain(found.number)}`);
  return h(
    "p",
    { class: "answer" },
    h("span", { class: "soft" }, "Predicted number"),
    h("strong", null, plain(found.number)),
  );
}

function classes(found) {
  const chosen = found.labels ?? [found.label];
  const said = chosen.length ? chosen.join(", ") : "none of the classes";
  announce(`Class: ${said}`);
  const sure =
    typeof found.probability === "number"
      ? h("span", { class: "soft" }, `${probability(found.probability)} sure`)
      : null;
  return [h("p", { class: "answer" }, h("strong", null, said), sure), bars(found.probabilities, chosen)];
}

/** The text with its words shaded: for the answer in one colour, against it in another. */
function explained(text, explanation) {
  const places = locate(
    explanation.words.map((each) => each.word),
    text,
  );
  const most = Math.max(1e-9, ...explanation.words.map((each) => Math.abs(each.effect)));
  const pieces = [];
  let at = 0;
  explanation.words.forEach(({ word, effect }, i) => {
    if (!places[i]) return;
    const [start, stop] = places[i];
    const mark = h(
      "span",
      {
        class: effect >= 0 ? "reason for" : "reason against",
        title: `${effect >= 0 ? "+" : "−"}${plain(Math.abs(effect))}`,
      },
      word,
    );
    setVars(mark, { "--w": `${Math.round((100 * Math.abs(effect)) / most)}%` });
    pieces.push(text.slice(at, start), mark);
    at = stop;
  });
  pieces.push(text.slice(at));
  const strongest = explanation.words
    .toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
    .slice(0, 5)
    .filter((each) => each.effect);
  return h(
    "section",
    { class: "reasons", "aria-label": "Words that decided" },
    h("h2", { class: "small-title" }, "Words that decided"),
    h("p", { class: "reason-text" }, pieces),
    h(
      "p",
      { class: "reason-legend soft" },
      h("span", { class: "reason for full" }, "speaks for"),
      h("span", { class: "reason against full" }, "speaks against"),
    ),
    h(
      "p",
      { class: "soft" },
      `Effect on ${explanation.of} when a word is left out: `,
      strongest.map((each, i) => [
        i ? ", " : "",
        h("b", null, each.word),
        ` ${each.effect > 0 ? "+" : "−"}${plain(Math.abs(Number(each.effect.toFixed(2))))}`,
      ]),
    ),
  );
}

export const create = (context) => new ClassifyView(context);
