// A language model goes on from a prompt; the text is shown as it is written.

import { ApiError, aborted, stream } from "../api.js";
import { announce, h, icon, toast } from "../dom.js";
import { emptyState, errorNotice } from "../notice.js";
import { counted } from "../numbers.js";
import { ModelChoice, heading, textBox } from "./shared.js";

const REASONS = { stop: "a stop text came up", length: "the length was reached", end: "the text came to its end" };

class GenerateView {
  #running = null;

  constructor({ models }) {
    this.choice = new ModelChoice(models);
    this.prompt = textBox("Begin with", { placeholder: "Once upon a time", rows: 4, id: "prompt" });
    this.temperature = slider(
      "Temperature",
      { min: 0, max: 1.5, step: 0.05, value: 0.8 },
      "0 always takes the most probable; more is bolder",
    );
    this.length = slider("Length", { min: 20, max: 1000, step: 20, value: 200 }, "tokens at most");
    this.go = h("button", {
      type: "button",
      class: "button",
      "aria-keyshortcuts": "Control+Enter",
      title: "Ctrl+Enter",
      onclick: () => (this.#running ? this.#running.abort() : this.#write()),
    });
    this.written = h("div", { class: "written", role: "log", "aria-label": "Written text" });
    this.state = h("div", { class: "written-foot" });
    this.element = h(
      "div",
      {
        class: "view",
        onkeydown: (event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#write();
          else if (event.key === "Escape") this.#running?.abort();
        },
      },
      heading("Write on", "The model continues your text, a piece at a time.", this.choice),
      h(
        "div",
        { class: "split" },
        h(
          "section",
          { class: "card pad stack", "aria-label": "Prompt and settings" },
          this.prompt.box,
          this.temperature.box,
          this.length.box,
          h("div", null, this.go),
        ),
        h("section", { class: "card pad stack", "aria-label": "Written text" }, this.written, this.state),
      ),
    );
    this.written.replaceChildren(emptyState("Nothing written yet", "Give the model a beginning, then press Write."));
    this.#button();
  }

  #button() {
    const running = Boolean(this.#running);
    this.go.replaceChildren(icon(running ? "stop" : "play"), running ? "Stop" : "Write");
    this.go.classList.toggle("outline", running);
  }

  async #write() {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#button();
    const text = document.createTextNode("");
    const caret = h("span", { class: "caret", "aria-hidden": "true" });
    this.written.replaceChildren(h("span", { class: "prompt-part" }, this.prompt.area.value), text, caret);
    this.state.replaceChildren(h("span", { class: "working" }, "Writing…"));
    try {
      await this.#read(text, running.signal);
    } catch (error) {
      if (!aborted(error)) this.state.replaceChildren(errorNotice(error, () => this.#write()));
      else if (this.#running === running) this.#finish("you stopped it", text);
    }
    caret.remove();
    if (this.#running === running) this.#running = null;
    this.#button();
  }

  async #read(text, signal) {
    const body = {
      model: this.choice.name,
      prompt: this.prompt.area.value,
      tokens: this.length.value,
      temperature: this.temperature.value,
      seed: Math.floor(Math.random() * 2 ** 31),
      stream: true,
    };
    let ended = false;
    for await (const part of stream("v1/generate", body, signal)) {
      if (part.error) throw new ApiError(part.status ?? 400, part.error);
      if (part.text) text.appendData(part.text);
      if (part.done) {
        ended = true;
        this.#finish(`${counted(part.tokens, "token")}; ${REASONS[part.reason] ?? part.reason}`, text);
      }
    }
    if (!ended) throw new ApiError(0, "");
  }

  #finish(how, text) {
    announce(`Finished: ${how}`);
    const whole = this.prompt.area.value + text.data;
    this.state.replaceChildren(
      h("span", { class: "soft" }, how.charAt(0).toUpperCase() + how.slice(1)),
      h(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": "Copy the text",
          title: "Copy",
          onclick: () => navigator.clipboard?.writeText(whole).then(() => toast("Copied")),
        },
        icon("copy"),
      ),
    );
  }

  shown() {
    if (matchMedia("(pointer: fine)").matches) this.prompt.area.focus({ preventScroll: true });
  }
}

function slider(label, limits, note) {
  const id = `slider-${label.toLowerCase()}`;
  const value = h("output", { class: "number", for: id }, String(limits.value));
  const input = h("input", {
    type: "range",
    ...limits,
    id,
    value: null,
    "aria-describedby": `${id}-note`,
    oninput: () => {
      value.textContent = input.value;
    },
  });
  input.value = limits.value;
  const box = h(
    "div",
    { class: "field wide" },
    h("span", { class: "label slider-label" }, h("label", { for: id }, label), value),
    input,
    h("span", { class: "soft tiny", id: `${id}-note` }, note),
  ); // a label around it would name the output instead
  return {
    box,
    get value() {
      return Number(input.value);
    },
  };
}

export const create = (context) => new GenerateView(context);
