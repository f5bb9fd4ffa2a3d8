// The view Translate: two panes, languages above, what the model thought below.

import { ApiError, aborted, post } from "../api.js";
import { announce, debounce, h, toast } from "../dom.js";
import { errorNotice } from "../notice.js";
import { counted } from "../numbers.js";
import { alternativesList } from "./alternatives.js";
import { Editor } from "./editor.js";
import { TranslationEngine, joined } from "./engine.js";
import { Explanation } from "./explain.js";
import { Files, acceptDrops } from "./files.js";
import { Languages } from "./languages.js";
import { Links } from "./links.js";
import { Output } from "./output.js";
import { Panes, tips } from "./panes.js";

const TYPING = 250; // milliseconds of rest before a text is translated
const DETECTED = 1000; // characters that are enough to tell the language

class TranslateView {
  #parts = [];
  #current = 0;
  #detecting = null;
  #failed = false;
  #turn = 0;

  constructor({ models, languages, settings }) {
    this.limit = settings.charLimit > 0 ? settings.charLimit : Infinity;
    const direct = new Set(models.map((model) => `${model.source} ${model.target}`));
    this.engine = new TranslationEngine((source, target) => direct.has(`${source} ${target}`));
    this.later = debounce(() => this.translate(), TYPING);
    this.languages = new Languages(languages, settings.language ?? {}, (swapped) => this.#languagesChanged(swapped));
    this.files = new Files(settings.supportedFilesFormat ?? [], () => this.languages);
    this.editor = new Editor({
      input: () => this.#typed(),
      point: (offset) => this.#pointed(offset),
      files: (files) => this.files.add(files),
    });
    this.output = new Output((part, word) => this.#explain(part, "target", word.range));
    this.panes = new Panes({
      editor: this.editor.element,
      output: this.output.element,
      files: settings.filesTranslation !== false && this.files.formats.length ? this.files.button : null,
      clear: () => this.#clear(),
      copy: () => this.#copy(),
    });
    this.alternatives = h("div", { class: "alternatives-place" });
    const links = new Links(this.panes.element);
    this.explanation = new Explanation(this.engine, this.editor, this.output, links);
    this.element = h(
      "div",
      { class: "translate" },
      h("h1", { class: "unseen" }, "Translate"),
      this.languages.element,
      this.panes.element,
      this.files.input,
      this.files.list,
      h("div", { class: "below" }, tips(), this.alternatives, this.explanation.element),
    );
    document.addEventListener("keydown", (event) => this.element.isConnected && this.#shortcut(event));
    addEventListener("online", () => this.#failed && this.translate());
    if (settings.filesTranslation !== false) acceptDrops(this.element, (files) => this.files.add(files));
    this.#showState();
    this.#fromAddress();
  }

  /** Links may bring a text: ?q=hello&source=en&target=es, as LibreTranslate's page reads them. */
  #fromAddress() {
    const given = new URLSearchParams(location.search);
    this.languages.choose(given.get("source"), given.get("target"));
    if (!given.get("q")) return;
    this.editor.text = given.get("q");
    this.#typed();
  }

  get tooLong() {
    return this.editor.text.length > this.limit;
  }

  #typed() {
    this.explanation.close();
    this.#showState();
    if (this.editor.text.trim() && !this.tooLong) this.later();
    else this.#empty();
  }

  #empty() {
    this.later.cancel();
    this.engine.stop();
    this.#detecting?.abort();
    this.#turn += 1;
    this.panes.busy = false;
    this.#parts = [];
    this.output.render([]);
    this.#showState();
    if (!this.editor.text.trim()) this.languages.setDetected(null);
  }

  #showState() {
    this.panes.show(this.editor.text, this.limit, this.#parts);
    const part = this.#parts[this.#current];
    const several = this.#parts.filter((each) => each.text).length > 1;
    this.alternatives.replaceChildren(alternativesList(part, (index) => this.#choose(part, index), several) ?? "");
  }

  async #detect(text) {
    this.#detecting?.abort();
    this.#detecting = new AbortController();
    const { detections } = await post("v1/detect", { text: text.slice(0, DETECTED) }, this.#detecting.signal);
    this.languages.setDetected(detections?.[0] ?? null);
  }

  async translate() {
    this.later.cancel();
    const { text } = this.editor;
    if (!text.trim() || this.tooLong) return;
    this.panes.busy = true;
    this.#failed = false;
    const turn = (this.#turn += 1);
    try {
      if (this.languages.automatic) await this.#detect(text);
      if (turn !== this.#turn) return; // a newer text or language came in between
      if (!this.languages.from)
        throw new ApiError(400, "The language of this text was not recognized. Choose it above.");
      await this.engine.run(text, this.languages.from, this.languages.to, (parts, done) => this.#update(parts, done));
    } catch (error) {
      if (!aborted(error) && turn === this.#turn) this.#fail(error);
    }
  }

  #update(parts, done) {
    this.#parts = parts;
    this.output.element.classList.remove("stale");
    this.#current = Math.min(this.#current, parts.length - 1);
    if (parts.filter((part) => part.text).length === 1) this.#current = parts.findIndex((part) => part.text);
    this.output.element.lang = this.languages.to;
    this.output.render(parts);
    this.#showState();
    if (!done) {
      const ready = parts.filter((part) => part.result).length;
      if (parts.length > 12)
        this.panes.say(h("p", { class: "working" }, `${ready} of ${counted(parts.length, "sentence")}`));
      return;
    }
    this.panes.busy = false;
    announce(`Translation: ${joined(parts).slice(0, 300)}`);
  }

  #fail(error) {
    this.#failed = true;
    this.panes.busy = false;
    this.output.element.classList.add("stale");
    this.panes.say(errorNotice(error, () => this.translate()));
  }

  #choose(part, index) {
    part.result.chosen = index;
    this.explanation.close();
    this.output.render(this.#parts);
    this.#showState();
  }

  #explain(number, side, range) {
    const part = this.#parts[number];
    if (!part?.result || part.result.copied) return;
    this.#current = number;
    this.#showState();
    if (!this.engine.explains(this.languages.from, this.languages.to)) return;
    this.explanation.show(part, number, side, range, { from: this.languages.from, to: this.languages.to });
  }

  #pointed(offset) {
    const number = this.#parts.findIndex((part) => offset >= part.start && offset <= part.start + part.text.length);
    const at = offset - (this.#parts[number]?.start ?? 0);
    if (number >= 0) this.#explain(number, "source", [Math.max(0, at - 0.5), at + 0.5]);
  }

  #languagesChanged(swapped) {
    this.explanation.close();
    if (swapped && this.#parts.length) this.editor.text = joined(this.#parts).trimEnd();
    this.#typed();
    if (this.editor.text.trim()) this.later.now();
  }

  #clear() {
    this.editor.text = "";
    this.#typed();
    this.editor.area.focus();
  }

  async #copy() {
    const text = joined(this.#parts);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // no clipboard without a secure connection: select and copy as of old
      getSelection().selectAllChildren(this.output.element);
      document.execCommand("copy");
      getSelection().removeAllRanges();
    }
    toast("Copied");
  }

  #shortcut(event) {
    const pressed = event.altKey && event.shiftKey && !event.ctrlKey ? event.code : "";
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.later.now();
    else if (event.key === "Escape" && this.explanation.open) this.explanation.close();
    else if (pressed === "KeyS") this.languages.swap();
    else if (pressed === "KeyC" && this.#parts.length) this.#copy();
    else return;
    event.preventDefault();
  }

  shown() {
    if (matchMedia("(pointer: fine)").matches) this.editor.area.focus({ preventScroll: true });
  }
}

export const create = (context) => new TranslateView(context);
