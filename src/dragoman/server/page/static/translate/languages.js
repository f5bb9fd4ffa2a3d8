// The two language selects and the button that swaps them.

import { h, icon, select } from "../dom.js";

const SAVED = "dragoman-languages";

function recall() {
  try {
    return JSON.parse(localStorage.getItem(SAVED)) ?? {};
  } catch {
    return {};
  }
}

export class Languages {
  /**
   * @param {{code: string, name: string, targets: string[]}[]} languages served
   * @param {{source?: {code: string}, target?: {code: string}}} preferred by the server
   * @param {(swapped: boolean) => void} changed
   */
  constructor(languages, preferred, changed) {
    this.languages = languages;
    this.changed = changed;
    this.detected = null;
    const saved = recall();
    const source = select(
      "From",
      [
        ...(this.#sources().length > 1 ? [["auto", "Detect language"]] : []),
        ...this.#sources().map((each) => [each.code, each.name]),
      ],
      {
        id: "source-language",
        hidden: true,
        onchange: () => this.#sourceChanged(),
      },
    );
    const target = select("To", [], {
      id: "target-language",
      hidden: true,
      onchange: () => this.#save() || this.changed(false),
    });
    [this.source, this.target] = [source.element, target.element];
    this.note = h("span", { class: "soft detected", role: "status" });
    this.button = h(
      "button",
      {
        type: "button",
        class: "icon-button swap",
        "aria-label": "Swap languages",
        title: "Swap languages (Alt+Shift+S)",
        "aria-keyshortcuts": "Alt+Shift+S",
        onclick: () => this.swap(),
      },
      icon("swap"),
    );
    this.element = h(
      "div",
      { class: "languages" },
      h("div", { class: "side" }, source.box, this.note),
      this.button,
      h("div", { class: "side" }, target.box),
    );
    this.#start(
      [saved.source, preferred.source?.code, this.#sources()[0]?.code],
      [saved.target, preferred.target?.code],
    );
  }

  #sources() {
    return this.languages.filter((each) => this.#targets(each.code).length);
  }

  #targets(code) {
    const found = this.languages.find((each) => each.code === code);
    return found ? found.targets.filter((target) => target !== code) : [];
  }

  name(code) {
    return this.languages.find((each) => each.code === code)?.name ?? code;
  }

  #start(sources, targets) {
    const known = [...this.source.options].map((option) => option.value);
    this.source.value = sources.find((code) => known.includes(code)) ?? known[0] ?? "";
    this.#fillTargets(targets);
  }

  /** Choose languages by their codes; unknown ones change nothing. */
  choose(source, target) {
    if ([...this.source.options].some((option) => option.value === source)) this.source.value = source;
    this.#fillTargets([target, this.to]);
  }

  /** What the text is in: chosen, or detected. */
  get from() {
    return this.source.value === "auto" ? (this.detected?.language ?? null) : this.source.value;
  }

  get to() {
    return this.target.value;
  }

  get automatic() {
    return this.source.value === "auto";
  }

  #fillTargets(preferred = [this.target.value]) {
    const all = this.from
      ? this.#targets(this.from)
      : [...new Set(this.#sources().flatMap((each) => this.#targets(each.code)))];
    this.target.replaceChildren(...all.map((code) => h("option", { value: code }, this.name(code))));
    this.target.value = preferred.find((code) => all.includes(code)) ?? all[0] ?? "";
    this.#enableSwap();
  }

  #enableSwap() {
    const served = this.from && this.#targets(this.to).includes(this.from);
    this.button.disabled = !served;
    const here = served
      ? "Swap languages (Alt+Shift+S)"
      : this.from
        ? "The other direction is not served"
        : "Type some text first";
    this.button.title = here;
  }

  #sourceChanged() {
    const old = this.to;
    this.detected = null;
    this.note.textContent = "";
    this.#fillTargets([old]);
    this.#save();
    this.changed(false);
  }

  /** What the server found out about the language of the text. A text in the target language is translated back. */
  setDetected(found) {
    this.detected = found && this.#targets(found.language).length ? found : null;
    const sure = found ? (found.confidence > 1 ? found.confidence : 100 * found.confidence) : 0;
    if (!found) this.note.textContent = "";
    else if (!this.detected) this.note.textContent = `${this.name(found.language)}: not served as a source`;
    else this.note.textContent = `${this.name(found.language)} · ${Math.round(sure)} %`;
    this.#fillTargets([this.to]);
  }

  swap() {
    if (this.button.disabled) return;
    const [from, to] = [this.from, this.to];
    this.source.value = to;
    this.detected = null;
    this.note.textContent = "";
    this.#fillTargets([from]);
    this.#save();
    this.changed(true);
  }

  #save() {
    this.#enableSwap();
    try {
      localStorage.setItem(SAVED, JSON.stringify({ source: this.source.value, target: this.to }));
    } catch {
      // storage may be switched off
    }
  }
}
