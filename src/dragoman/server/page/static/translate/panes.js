// The two panes with what stands around the texts: counter, buttons, confidence, messages.

import { h, icon } from "../dom.js";
import { whole } from "../numbers.js";
import { gauge } from "./alternatives.js";
import { jointConfidence } from "./engine.js";

const WARNINGS = 3; // that are shown at a time

export class Panes {
  /** @param {{editor: Element, output: Element, files: Element | null, clear: () => void, copy: () => void}} given */
  constructor({ editor, output, files, clear, copy }) {
    this.count = h("span", { class: "soft number", id: "count" });
    this.clear = button("close", { "aria-label": "Clear the text", title: "Clear", onclick: clear });
    this.copy = button("copy", {
      "aria-label": "Copy the translation",
      title: "Copy (Alt+Shift+C)",
      "aria-keyshortcuts": "Alt+Shift+C",
      onclick: copy,
    });
    this.warnings = h("div", { class: "warnings", role: "status" });
    this.sure = h("div", { class: "sure" });
    this.state = h("div", { class: "pane-state" });
    const source = h("div", { class: "pane-foot" }, files ?? h("span", null), this.count);
    const result = h("div", { class: "pane-foot" }, this.sure, this.copy);
    this.element = h(
      "div",
      { class: "panes card" },
      h("section", { class: "pane", "aria-label": "Source" }, editor, this.clear, source),
      h("section", { class: "pane result", "aria-label": "Translation" }, this.state, output, this.warnings, result),
      h("div", { class: "drop-hint", "aria-hidden": "true" }, icon("file"), "Drop the file to translate it"),
    );
  }

  set busy(busy) {
    if (busy) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
  }

  /** A message in place of a translation, or over it. */
  say(...elements) {
    this.state.replaceChildren(...elements);
  }

  /** Show what is known of a text and the parts that were translated. */
  show(text, limit, parts) {
    const over = text.length - limit;
    this.count.textContent = whole(text.length) + (Number.isFinite(limit) ? ` / ${whole(limit)}` : "");
    this.count.classList.toggle("over", over > 0);
    this.clear.hidden = !text;
    this.element.dataset.size = text.length > 1200 ? "small" : text.length > 280 ? "medium" : "large";
    this.element.classList.toggle("blank", !text.trim());
    this.#showResult(parts);
    if (over > 0) this.say(tooLong(over));
    else if (!text.trim()) this.say(h("p", { class: "hint" }, "The translation appears here as you type."));
    else this.say();
  }

  #showResult(parts) {
    const done = parts.some((part) => part.result);
    const confidence = done ? jointConfidence(parts) : null;
    const warnings = [...new Set(parts.flatMap((part) => part.result?.warnings ?? []))].slice(0, WARNINGS);
    this.copy.hidden = !done;
    this.warnings.replaceChildren(...warnings.map((text) => h("p", null, text)));
    this.sure.replaceChildren(...(confidence === null ? [] : [gauge(confidence, { shown: true }), legend()]));
  }
}

const button = (name, properties) => h("button", { type: "button", class: "icon-button", ...properties }, icon(name));

const legend = () => h("span", { class: "legend" }, h("span", { class: "sample" }, "underlined"), "less sure");

function tooLong(over) {
  const text = `The text is ${whole(over)} characters too long. Shorten it, or drop it as a file.`;
  return h("p", { class: "notice bad", role: "alert" }, text);
}

/** What can be done here, for those who look below. */
export function tips() {
  const keys = [
    ["Ctrl+Enter", "translate at once"],
    ["Alt+Shift+S", "swap languages"],
    ["Alt+Shift+C", "copy"],
  ];
  return h(
    "div",
    { class: "tips" },
    h("p", null, "Click a word to see where the model looked."),
    h(
      "p",
      null,
      keys.map(([key, what]) => h("span", null, h("kbd", null, key), ` ${what} `)),
    ),
  );
}
