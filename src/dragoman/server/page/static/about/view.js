// About the models: what each is, how its training went, how well it does.

import { aborted, get } from "../api.js";
import { h, select } from "../dom.js";
import { errorNotice, loadingState } from "../notice.js";
import { duration, plain, short, whole } from "../numbers.js";
import { curves } from "./curves.js";
import { reportSections } from "./report.js";

const TASKS = {
  translation: "Translation",
  "language-model": "Language model",
  classification: "Classification",
  regression: "Regression",
  tagging: "Tagging",
  forecasting: "Forecasting",
  "image-classification": "Image classification",
  captioning: "Captioning",
};

class AboutView {
  #running = null;
  #loaded = null;

  constructor({ models, languages }) {
    this.models = models;
    this.languageName = (code) => languages.find((each) => each.code === code)?.name ?? code;
    this.choice = select(
      "Model",
      models.map((model) => [model.name, this.#title(model)]),
      {
        onchange: (name) => {
          location.hash = `#about/${encodeURIComponent(name)}`;
        },
      },
    );
    this.place = h("div", { class: "stack" });
    this.element = h(
      "div",
      { class: "view about" },
      h(
        "header",
        { class: "view-head" },
        h(
          "div",
          null,
          h("h1", null, "About the model"),
          h("p", { class: "soft" }, "What it is, how it was trained, and how well it does on text it has not seen."),
        ),
        models.length > 1 && this.choice.box,
      ),
      this.place,
    );
  }

  #title(model) {
    return model.source
      ? `${model.name} (${this.languageName(model.source)} to ${this.languageName(model.target)})`
      : model.name;
  }

  shown(name) {
    const model =
      this.models.find((each) => each.name === name) ??
      this.models.find((each) => each.name === this.#loaded) ??
      this.models[0];
    this.choice.element.value = model.name;
    if (model.name !== this.#loaded) this.#load(model);
  }

  async #load(model) {
    this.#running?.abort();
    this.#running = new AbortController();
    this.#loaded = model.name;
    this.place.replaceChildren(loadingState("Loading", 5));
    try {
      const about = await get(`v1/models/${encodeURIComponent(model.name)}`, this.#running.signal);
      this.place.replaceChildren(...this.#sections(model, about));
    } catch (error) {
      if (aborted(error)) return;
      this.#loaded = null;
      this.place.replaceChildren(errorNotice(error, () => this.#load(model)));
    }
  }

  #sections(model, { metadata = {}, history = [], evaluation = null }) {
    return [
      identity(model, metadata, this.languageName),
      ...reportSections(model, evaluation),
      curves(history),
      network(metadata),
    ].filter(Boolean);
  }
}

function fact(value, label) {
  return h("div", { class: "fact" }, h("dd", null, value), h("dt", null, label));
}

function identity(model, metadata, languageName) {
  const { data = {}, training = {} } = metadata;
  const total = Object.values(data.parts ?? {}).reduce((sum, count) => sum + count, 0);
  const what = model.source
    ? `${languageName(model.source)} → ${languageName(model.target)}`
    : (TASKS[model.task] ?? model.task);
  return h(
    "section",
    { class: "card pad", "aria-label": "Identity" },
    h(
      "div",
      { class: "identity" },
      h("h2", { class: "model-title" }, model.name),
      h("p", { class: "soft" }, [what, metadata.architecture, metadata.preset].filter(Boolean).join(" · ")),
    ),
    h(
      "dl",
      { class: "facts" },
      fact(h("span", { title: `${whole(model.parameters)} parameters` }, short(model.parameters)), "parameters"),
      total > 0 && fact(short(total), `samples${data.corpora?.length ? ` of ${data.corpora.join(", ")}` : ""}`),
      training.epochs > 0 && fact(plain(Number(training.epochs.toFixed(1))), "epochs"),
      training.seconds > 0 && fact(duration(training.seconds), "training time"),
    ),
  );
}

const LABELS = {
  architecture: "architecture",
  preset: "preset",
  recipe: "recipe",
  layers: "layers",
  depth: "depth",
  heads: "heads",
  perceptron_depth: "perceptron depth",
  source_vocabulary: "source vocabulary",
  target_vocabulary: "target vocabulary",
  vocabulary: "vocabulary",
  dropout: "dropout",
  positions: "positions",
  block: "block",
  activation: "activation",
};

function network(metadata) {
  const { data = {}, training = {}, network: settings = {} } = metadata;
  const rows = Object.entries(LABELS)
    .map(([key, label]) => [label, settings[key] ?? metadata[key]])
    .filter(([, value]) => value !== undefined && value !== null && value !== "");
  const parts = Object.entries(data.parts ?? {})
    .map(([name, count]) => `${name} ${whole(count)}`)
    .join(", ");
  rows.push(
    ["parameters", metadata.parameters],
    ["samples", parts],
    ["split", data.split && (data.split === "given" ? "as given" : `by ${data.split}`)],
    ["steps", training.steps],
    ["training ended because", training.ended],
    ["seed", metadata.seed],
    ["trained with", metadata.dragoman && `Dragoman ${metadata.dragoman}`],
  );
  const known = rows.filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  if (!known.length) return null;
  return h(
    "section",
    { class: "card pad", "aria-label": "Network and data" },
    h("h2", null, "Network and data"),
    h(
      "dl",
      { class: "pairs" },
      known.map(([label, value]) =>
        h(
          "div",
          null,
          h("dt", null, label),
          h("dd", null, typeof value === "object" ? JSON.stringify(value) : plain(value)),
        ),
      ),
    ),
  );
}

export const create = (context) => new AboutView(context);
