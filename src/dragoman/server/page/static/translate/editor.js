// The source text. Behind the text area lies a copy of its text in spans: it makes the area grow with the text, and
// gives words a place and a shade, which a text area cannot.

import { h, setVars } from "../dom.js";

export class Editor {
  /**
   * @param {{input: (text: string) => void, point: (offset: number) => void, files: (files: FileList) => void}} on
   *   input: the text changed; point: a place in it was clicked; files: some were pasted
   */
  constructor(on) {
    this.mirror = h("div", { class: "mirror text", "aria-hidden": "true" });
    this.area = h("textarea", {
      id: "source-text",
      class: "text",
      rows: "1",
      spellcheck: "true",
      autocomplete: "off",
      autocapitalize: "sentences",
      placeholder: "Type or paste text",
      "aria-label": "Text to translate",
      "aria-describedby": "count",
      oninput: () => {
        this.#copy();
        on.input(this.text);
      },
      onclick: () => {
        const { selectionStart, selectionEnd } = this.area;
        if (selectionStart === selectionEnd && this.text) on.point(selectionStart);
      },
      onpaste: (event) => {
        if (event.clipboardData.files.length) {
          event.preventDefault();
          on.files(event.clipboardData.files);
        }
      },
    });
    this.element = h("div", { class: "editor" }, this.mirror, this.area);
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.#copy();
  }

  #copy() {
    this.mirror.replaceChildren(`${this.text}\u200b`);
  }

  /** Shade places of the text: [start, stop, weight from 0 to 1]. Returns their elements. */
  mark(places) {
    const pieces = [];
    const marks = [];
    let at = 0;
    for (const [start, stop, weight, chosen] of places.toSorted((a, b) => a[0] - b[0])) {
      if (start < at) continue;
      const mark = h("span", { class: chosen ? "mark chosen" : "mark" }, this.text.slice(start, stop));
      setVars(mark, { "--w": `${Math.round(100 * weight)}%` });
      pieces.push(this.text.slice(at, start), mark);
      marks.push({ start, stop, element: mark });
      at = stop;
    }
    this.mirror.replaceChildren(...pieces, `${this.text.slice(at)}\u200b`);
    return marks;
  }

  clear() {
    this.#copy();
  }
}
