// What the model looked at for one word: shades and curves in the panes, and the panel below them.

import { aborted } from "../api.js";
import { announce, h, icon, setVars } from "../dom.js";
import { errorNotice, loadingState } from "../notice.js";
import { percent } from "../numbers.js";
import { partners, placed, wordAt } from "./alignment.js";
import { shownOf } from "./engine.js";
import { HeatMap } from "./heatmap.js";

const CALM = 350; // milliseconds before a placeholder is shown

export class Explanation {
  #running = null;
  #map = null;
  #mapOf = null;

  constructor(engine, editor, output, links) {
    Object.assign(this, { engine, editor, output, links });
    this.body = h("div", { class: "explain-body" });
    this.element = h(
      "section",
      { class: "card explain", "aria-label": "Where the model looked", hidden: true },
      h(
        "header",
        { class: "card-head" },
        h("h2", null, "Where the model looked"),
        h(
          "button",
          {
            type: "button",
            class: "icon-button",
            "aria-label": "Close",
            title: "Close (Esc)",
            onclick: () => this.close(),
          },
          icon("close"),
        ),
      ),
      this.body,
    );
  }

  get open() {
    return !this.element.hidden;
  }

  close() {
    this.#running?.abort();
    this.element.hidden = true;
    this.#unmark();
  }

  #unmark() {
    this.editor.clear();
    this.links.clear();
    for (const word of this.output.element.querySelectorAll(".linked, .chosen")) {
      word.classList.remove("linked", "chosen");
      word.setAttribute("aria-pressed", "false");
    }
  }

  /** Explain the word at a range of a part's source or target text. */
  async show(part, number, side, range, pair) {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#unmark();
    this.element.hidden = false;
    const placeholder = setTimeout(() => this.body.replaceChildren(loadingState("Asking the model", 4)), CALM);
    try {
      const found = await this.engine.explain(part.text, pair.from, pair.to, running.signal);
      if (!running.signal.aborted) this.#present(found, part, number, side, range);
    } catch (error) {
      if (aborted(error)) return;
      this.body.replaceChildren(errorNotice(error, () => this.show(part, number, side, range, pair)));
    } finally {
      clearTimeout(placeholder);
    }
  }

  #present(found, part, number, side, range) {
    const shown = shownOf(part);
    if (!found.alignment)
      return this.#say(
        "This sentence was translated in several pieces, so there is no single picture of it. Try a shorter one.",
      );
    if (shown.text !== found.translations[0]?.text)
      return this.#say("Links are shown for the first translation only. Choose it under Alternatives to see them.");
    const where = placed(found.alignment, part.text, shown.text);
    const index = wordAt(where[side], range);
    if (index < 0) return this.#say("The model has no word of its own here.");
    const { linked, rest } = partners(where, side, index);
    this.#mark(where, part, number, side, index, linked);
    this.#describe(found, where, side, index, linked, rest);
    return undefined;
  }

  #say(text) {
    this.body.replaceChildren(h("p", { class: "soft" }, text));
    announce(text);
  }

  #mark(where, part, number, side, index, linked) {
    const sources = side === "source" ? [{ index, weight: 1, chosen: true }] : linked;
    const targets = side === "target" ? [{ index, weight: 1, chosen: true }] : linked;
    const marks = this.editor.mark(
      sources
        .filter((each) => where.source.places[each.index])
        .map((each) => {
          const [start, stop] = where.source.places[each.index];
          return [part.start + start, part.start + stop, each.weight, each.chosen];
        }),
    );
    const words = this.output.words(number);
    const ends = targets.map((each) => {
      const element = words.find(
        (word) => wordAt({ places: [where.target.places[each.index]] }, word.shown.word.range) === 0,
      );
      if (!element) return null;
      element.classList.add(each.chosen ? "chosen" : "linked");
      if (each.chosen) element.setAttribute("aria-pressed", "true");
      setVars(element, { "--w": `${Math.round(100 * each.weight)}%` });
      return element;
    });
    const starts = sources.map(
      (each) => marks.find((mark) => mark.start === part.start + (where.source.places[each.index]?.[0] ?? -1))?.element,
    );
    const pairs =
      side === "target"
        ? starts.map((from, i) => ({ from, to: ends[0], weight: linked[i].weight }))
        : ends.map((to, i) => ({ from: starts[0], to, weight: linked[i].weight }));
    this.links.show(pairs.filter(({ from, to }) => from && to));
  }

  #describe(found, where, side, index, linked, rest) {
    const other = side === "source" ? "target" : "source";
    const word = where[side].words[index];
    const lead = side === "target" ? " was written looking at" : " was looked at when writing";
    const list = h(
      "ol",
      { class: "partners" },
      linked.map((each) => partner(where[other].words[each.index], each.weight)),
      rest >= 0.06 && partner("no word: the marks at the ends", rest, "soft"),
    );
    const summary = h(
      "div",
      { class: "explain-words" },
      h("p", { class: "explain-lead" }, h("b", { class: "quoted" }, word), lead),
      linked.length ? list : h("p", { class: "soft" }, "nothing in particular"),
    );
    announce(
      `${word}${lead} ${linked
        .slice(0, 3)
        .map((each) => `${where[other].words[each.index]}, ${percent(each.weight)}`)
        .join("; ")}`,
    );
    if (this.#mapOf !== found) {
      this.#mapOf = found;
      this.#map = found.attention?.layers?.length ? new HeatMap(found.attention.layers) : null;
    }
    this.#map?.choose(side, where[side].words, index);
    this.body.replaceChildren(
      summary,
      this.#map?.element ?? h("p", { class: "soft" }, "This kind of model has no attention to show."),
    );
  }
}

function partner(name, weight, kind = "") {
  const bar = h("span", { class: "partner-bar", "aria-hidden": "true" }, h("span", null));
  setVars(bar, { "--value": `${(100 * weight).toFixed(1)}%` });
  return h(
    "li",
    { class: kind },
    h("span", { class: "partner-word" }, name),
    bar,
    h("span", { class: "number" }, percent(weight)),
  );
}
