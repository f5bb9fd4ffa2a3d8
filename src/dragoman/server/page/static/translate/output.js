// The translation as words that can be clicked. Each word is underlined the more, the less sure the model was of it.

import { h, setVars } from "../dom.js";
import { percent } from "../numbers.js";
import { locate } from "../sentences.js";
import { shownOf } from "./engine.js";

const SURE = 0.9; // words above this are not underlined

/** The words of a shown translation with their places in its text. */
export function wordsOf(shown) {
  const given = shown.words?.length ? shown.words : (shown.text.match(/\S+/g) ?? []).map((text) => ({ text }));
  const places = locate(
    given.map((word) => word.text),
    shown.text,
  );
  return given.map((word, i) => ({ ...word, range: places[i] })).filter((word) => word.range);
}

export class Output {
  #shown = [];

  /** @param {(part: number, word: {text: string, range: number[]}) => void} choose a word was clicked */
  constructor(choose) {
    this.choose = choose;
    this.parts = [];
    this.element = h("div", {
      class: "output text",
      id: "output",
      role: "group",
      tabindex: "-1",
      "aria-label": "Translation, word by word. Arrow keys move between words, Enter shows where the model looked.",
      onclick: (event) => this.#click(event.target),
      onkeydown: (event) => this.#key(event),
    });
  }

  /** Show parts; sentences that did not change keep their elements. */
  render(parts) {
    this.parts = parts;
    parts.forEach((part, i) => {
      const key = part.result ? shownOf(part) : part.text;
      const old = this.#shown[i];
      if (old?.key === key && old.before === part.before && old.after === part.after) return;
      const element = this.#sentence(part, i);
      if (old) old.element.replaceWith(element);
      else this.element.append(element);
      this.#shown[i] = { key, before: part.before, after: part.after, element };
    });
    for (const old of this.#shown.splice(parts.length)) old.element.remove();
    const words = this.words();
    if (words.length && !words.some((word) => word.tabIndex === 0)) words[0].tabIndex = 0;
  }

  #sentence(part, number) {
    const shown = shownOf(part);
    if (!shown) return h("span", { class: "sentence waiting" }, part.before, part.text, part.after);
    const pieces = [];
    let at = 0;
    for (const word of part.result.copied ? [] : wordsOf(shown)) {
      const [start, stop] = word.range;
      if (start > at) pieces.push(shown.text.slice(at, start));
      pieces.push(this.#word(word, number));
      at = stop;
    }
    pieces.push(shown.text.slice(at));
    return h("span", { class: "sentence" }, part.before, pieces, part.after);
  }

  #word(word, part) {
    const known = typeof word.confidence === "number";
    const doubt = known && word.confidence < SURE ? Math.min(1, (SURE - word.confidence) / 0.7) : 0;
    const element = h(
      "span",
      {
        class: doubt ? "word doubtful" : "word",
        role: "button",
        tabindex: "-1",
        "aria-pressed": "false",
        title: known ? `Confidence ${percent(word.confidence)}` : null,
      },
      word.text,
    );
    element.shown = { word, number: part };
    if (doubt) setVars(element, { "--doubt": `${Math.round(25 + 75 * doubt)}%` });
    return element;
  }

  /** All word elements, or those of one part. */
  words(part = null) {
    const found = [...this.element.querySelectorAll(".word")];
    return part === null ? found : found.filter((word) => word.shown.number === part);
  }

  #click(target) {
    const word = target.closest(".word");
    if (!word || String(getSelection()).length > 1) return;
    this.#focus(word);
    this.choose(word.shown.number, word.shown.word);
  }

  #focus(word) {
    for (const each of this.words()) each.tabIndex = -1;
    word.tabIndex = 0;
    word.focus({ preventScroll: true });
  }

  #key(event) {
    const word = event.target.closest(".word");
    if (!word) return;
    const words = this.words();
    const at = words.indexOf(word);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
    if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === " ")
      this.choose(word.shown.number, word.shown.word);
    else if (to !== undefined && words[to]) this.#focus(words[to]);
    else return;
    event.preventDefault();
  }
}
