// Images: their class or a caption, with what the model looked at laid over the image.

import { post } from "../api.js";
import { bars } from "../charts/bars.js";
import { announce, h, icon, setVars } from "../dom.js";
import { emptyState } from "../notice.js";
import { probability } from "../numbers.js";
import { acceptDrops } from "../translate/files.js";
import { Latest, ModelChoice, heading } from "./shared.js";

class ImageView {
  #data = null;

  constructor({ models, task }) {
    this.task = task;
    this.choice = new ModelChoice(models, () => this.#predict());
    this.result = h("div", { class: "result-place stack", "aria-live": "polite" });
    this.latest = new Latest(this.result);
    this.file = h("input", {
      type: "file",
      class: "unseen",
      tabindex: "-1",
      accept: "image/png,image/jpeg",
      "aria-label": "Image",
      onchange: () => this.#open(this.file.files),
    });
    this.picture = h("img", { alt: "The chosen image", hidden: true });
    this.overlay = h("div", { class: "overlay", "aria-hidden": "true" });
    this.hint = h(
      "div",
      { class: "image-hint" },
      icon("image"),
      h("span", null, "Drop or paste an image, or choose one"),
    );
    this.frame = h(
      "div",
      { class: "frame" },
      this.hint,
      h("div", { class: "picture" }, this.picture, this.overlay),
      h("div", { class: "drop-hint", "aria-hidden": "true" }, icon("image"), "Drop the image"),
    );
    acceptDrops(this.frame, (files) => this.#open(files));
    const input = h(
      "section",
      { class: "card pad stack", "aria-label": "Input" },
      this.frame,
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "button outline", onclick: () => this.file.click() },
          icon("image"),
          "Choose an image",
        ),
        this.file,
        h("span", { class: "soft tiny" }, this.#size()),
      ),
    );
    const [title, lead] =
      task === "captioning"
        ? ["Describe an image", "A caption, and where the model looked for each word."]
        : ["Recognize an image", "What is in an image, and where the model looked."];
    this.element = h(
      "div",
      { class: "view" },
      heading(title, lead, this.choice),
      h("div", { class: "split" }, input, h("section", { class: "card pad", "aria-label": "Result" }, this.result)),
    );
    document.addEventListener("paste", (event) => {
      if (this.element.isConnected && event.clipboardData.files.length) this.#open(event.clipboardData.files);
    });
    this.#empty();
  }

  #size() {
    const { image } = this.choice.details;
    return image ? `The model reads ${image.width} × ${image.height} pixels; other sizes are resized.` : "";
  }

  #empty() {
    this.result.replaceChildren(
      emptyState(
        "No image yet",
        this.task === "captioning" ? "Its caption will be here." : "Its classes will be here.",
      ),
    );
  }

  async #open(files) {
    const file = files[0];
    if (!file) return;
    this.#data = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    this.file.value = "";
    this.picture.src = this.#data;
    this.picture.hidden = false;
    this.hint.hidden = true;
    this.overlay.replaceChildren();
    this.#predict();
  }

  #predict() {
    if (this.#data) this.latest.run((signal) => this.#ask(signal));
  }

  async #ask(signal) {
    this.overlay.replaceChildren();
    const image = this.#data.slice(this.#data.indexOf(",") + 1);
    const body = {
      model: this.choice.name,
      images: [image],
      resize: true,
      attention: true,
      ...(this.task === "captioning" ? { best: 3 } : {}),
    };
    const {
      predictions: [found],
    } = await post("v1/predict", body, signal);
    return this.task === "captioning" ? this.#caption(found) : this.#classes(found);
  }

  #classes(found) {
    const chosen = found.labels ?? [found.label];
    announce(`Class: ${chosen.join(", ")}`);
    const maps = Object.entries(found.attention?.maps ?? {});
    if (maps.length) this.#lay(maps[0][1]);
    return [
      h(
        "p",
        { class: "answer" },
        h("strong", null, chosen.join(", ") || "none of the classes"),
        typeof found.probability === "number" && h("span", { class: "soft" }, `${probability(found.probability)} sure`),
      ),
      bars(found.probabilities, chosen),
      maps.length
        ? h(
            "section",
            { "aria-label": "Where it looked" },
            h("h2", { class: "small-title" }, "Where it looked"),
            h("div", { class: "chips" }, this.#buttons(maps, "chip", 0)),
          )
        : this.#nowhere(),
    ];
  }

  #caption(found) {
    announce(`Caption: ${found.caption}`);
    const { words = [], weights = [] } = found.attention ?? {};
    const others = found.captions.slice(1);
    const buttons = this.#buttons(
      words.map((word, i) => [word, weights[i]]),
      "look",
    );
    return [
      h("p", { class: "answer caption" }, words.length ? buttons : found.caption),
      words.length
        ? h("p", { class: "soft tiny" }, "Click a word to see where the model looked for it.")
        : this.#nowhere(),
      others.length
        ? h(
            "section",
            null,
            h("h2", { class: "small-title" }, "Alternatives"),
            h(
              "ul",
              { class: "plain" },
              others.map((each) => h("li", null, each.text)),
            ),
          )
        : null,
    ].filter(Boolean);
  }

  #nowhere() {
    return h("p", { class: "soft" }, "This kind of model does not show where it looked.");
  }

  /** Buttons, one for each map; the pressed one lies over the image. */
  #buttons(maps, kind, pressed = -1) {
    const buttons = [];
    const choose = (index) => {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
      if (index < 0) this.overlay.replaceChildren();
      else this.#lay(maps[index][1]);
    };
    maps.forEach(([name], i) =>
      buttons.push(
        h(
          "button",
          {
            type: "button",
            class: kind,
            "aria-pressed": String(i === pressed),
            onclick: () => choose(buttons[i].getAttribute("aria-pressed") === "true" ? -1 : i),
          },
          name,
        ),
      ),
    );
    return buttons;
  }

  /** Lay weights [rows][columns] over the image: what was not looked at is dimmed. */
  #lay(weights) {
    const most = Math.max(...weights.flat(), 1e-9);
    setVars(this.overlay, { "--rows": weights.length, "--columns": weights[0].length });
    this.overlay.replaceChildren(
      ...weights.flat().map((weight) => {
        const cell = h("span", null);
        setVars(cell, { "--w": (weight / most).toFixed(3) });
        return cell;
      }),
    );
  }
}

export const create = (context) => new ImageView(context);
