// What the views of single tasks share: a heading, the choice of a model, a text box, a result that follows typing.

import { aborted } from "../api.js";
import { debounce, h, select } from "../dom.js";
import { errorNotice } from "../notice.js";
import { short } from "../numbers.js";

/** The model that is used, with a select where there are several. */
export class ModelChoice {
  constructor(models, changed) {
    this.models = models;
    this.model = models[0];
    if (models.length > 1) {
      this.box = select(
        "Model",
        models.map((model) => [model.name, model.name]),
        {
          onchange: (name) => {
            this.model = models.find((model) => model.name === name);
            changed?.();
          },
        },
      ).box;
    } else {
      this.box = h(
        "p",
        { class: "soft model-name" },
        h("a", { href: `#about/${encodeURIComponent(this.model.name)}` }, this.model.name),
        ` · ${short(this.model.parameters)} parameters`,
      );
    }
  }

  get name() {
    return this.model.name;
  }

  get details() {
    return this.model.details ?? {};
  }
}

export function heading(title, text, choice) {
  return h(
    "header",
    { class: "view-head" },
    h("div", null, h("h1", null, title), h("p", { class: "soft" }, text)),
    choice.box,
  );
}

/** A text area with a label. */
export function textBox(label, { placeholder = "", rows = 5, oninput, id } = {}) {
  const area = h("textarea", {
    class: "box",
    id,
    rows,
    placeholder,
    spellcheck: "true",
    oninput: () => oninput?.(area.value),
  });
  return { area, box: h("label", { class: "field wide" }, h("span", { class: "label" }, label), area) };
}

/** Runs a request for the newest input only; shows progress, results and errors in one place. */
export class Latest {
  #running = null;

  constructor(place, delay = 350) {
    this.place = place;
    this.later = debounce((job) => this.run(job), delay);
  }

  stop() {
    this.later.cancel();
    this.#running?.abort();
  }

  /** @param {(signal: AbortSignal) => Promise<Node[]>} job */
  async run(job) {
    this.stop();
    const running = new AbortController();
    this.#running = running;
    this.place.setAttribute("aria-busy", "true");
    try {
      const found = await job(running.signal);
      if (!running.signal.aborted) this.place.replaceChildren(...found);
    } catch (error) {
      if (aborted(error) || running.signal.aborted) return;
      this.place.replaceChildren(errorNotice(error, () => this.run(job)));
    } finally {
      if (this.#running === running) this.place.removeAttribute("aria-busy");
    }
  }
}
