// Whole files: dropped, chosen or pasted, translated by the server, handed back as a download.

import { aborted, download, upload } from "../api.js";
import { h, icon } from "../dom.js";
import { errorNotice } from "../notice.js";

/** notes.txt -> notes_es.txt, as the server names it. */
function translatedName(url, fallback) {
  const last = decodeURIComponent(new URL(url, document.baseURI).pathname.split("/").pop());
  return last.replace(/^[0-9a-f-]{32,36}\./i, "") || fallback;
}

export class Files {
  /** @param {string[]} formats such as .txt @param {() => {from: string, to: string}} pair */
  constructor(formats, pair) {
    this.formats = formats;
    this.pair = pair;
    this.list = h("ul", { class: "files", "aria-label": "Translated files", "aria-live": "polite" });
    this.input = h("input", {
      type: "file",
      class: "unseen",
      id: "file",
      tabindex: "-1",
      accept: formats.join(","),
      multiple: true,
      "aria-label": "File to translate",
      onchange: () => {
        this.add(this.input.files);
        this.input.value = "";
      },
    });
    this.button = h(
      "button",
      { type: "button", class: "button quiet", onclick: () => this.input.click() },
      icon("file"),
      "Translate a file",
    );
  }

  add(files) {
    for (const file of files) this.#start(file);
  }

  #start(file) {
    const state = h("div", { class: "file-state" });
    const running = new AbortController();
    const item = h(
      "li",
      { class: "file" },
      h("span", { class: "file-icon" }, icon("file")),
      h("span", { class: "file-name" }, file.name),
      state,
      h(
        "button",
        {
          type: "button",
          class: "icon-button",
          "aria-label": `Remove ${file.name}`,
          title: "Remove",
          onclick: () => {
            running.abort();
            item.remove();
          },
        },
        icon("close"),
      ),
    );
    this.list.append(item);
    this.#translate(file, state, running.signal);
  }

  async #translate(file, state, signal) {
    const { from, to } = this.pair();
    const ending = file.name.includes(".") ? file.name.slice(file.name.lastIndexOf(".")).toLowerCase() : "";
    if (!this.formats.includes(ending)) {
      state.replaceChildren(h("p", { class: "soft" }, `Only ${this.formats.join(", ")} files can be translated here.`));
      return;
    }
    state.replaceChildren(h("span", { class: "working", role: "status" }, "Translating…"));
    try {
      const answer = await upload("translate_file", { file, source: from ?? "auto", target: to }, signal);
      const blob = await download(answer.translatedFileUrl, signal);
      const name = translatedName(answer.translatedFileUrl, file.name);
      state.replaceChildren(
        h(
          "a",
          { class: "button small", href: URL.createObjectURL(blob), download: name },
          icon("down"),
          `Download ${name}`,
        ),
      );
    } catch (error) {
      if (!aborted(error)) state.replaceChildren(errorNotice(error, () => this.#translate(file, state, signal)));
    }
  }
}

/** Let files be dropped on an element. */
export function acceptDrops(element, accept) {
  let depth = 0;
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  const show = (change) => {
    depth = Math.max(0, depth + change);
    element.classList.toggle("dropping", depth > 0);
  };
  element.addEventListener("dragenter", (event) => withFiles(event) && show(1));
  element.addEventListener("dragleave", (event) => withFiles(event) && show(-1));
  element.addEventListener("dragover", (event) => withFiles(event) && event.preventDefault());
  element.addEventListener("drop", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(0);
    accept(event.dataTransfer.files);
  });
}
