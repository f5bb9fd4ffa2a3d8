// Starts the page: asks what is served, shows a tab for each task, and follows the address.

import { ApiError, get } from "./api.js";
import { h } from "./dom.js";
import { setUpKey } from "./key.js";
import { emptyState, errorNotice } from "./notice.js";
import { counted } from "./numbers.js";
import { setUpTheme } from "./switch.js";

const WAIT = 2000; // milliseconds before asking a starting server again

const VIEWS = [
  { id: "translate", title: "Translate", tasks: ["translation"], load: () => import("./translate/view.js") },
  { id: "write", title: "Write", tasks: ["language-model"], load: () => import("./views/generate.js") },
  { id: "classify", title: "Classify", tasks: ["classification"], load: () => import("./views/classify.js") },
  { id: "rate", title: "Rate", tasks: ["regression"], load: () => import("./views/classify.js") },
  { id: "tag", title: "Tag", tasks: ["tagging"], load: () => import("./views/tag.js") },
  { id: "forecast", title: "Forecast", tasks: ["forecasting"], load: () => import("./views/forecast.js") },
  { id: "recognize", title: "Recognize", tasks: ["image-classification"], load: () => import("./views/image.js") },
  { id: "describe", title: "Describe", tasks: ["captioning"], load: () => import("./views/image.js") },
];
const ABOUT = { id: "about", title: "About the model", load: () => import("./about/view.js") };

const content = document.getElementById("content");
const opened = new Map();
let context = null;
let views = [];

async function start() {
  try {
    const [{ models }, settings] = await Promise.all([get("v1/models"), get("frontend/settings")]);
    const languages = models.some((model) => model.task === "translation") ? await get("languages") : [];
    context = { models, settings, languages };
  } catch (error) {
    content.replaceChildren(errorNotice(error, start));
    if (error instanceof ApiError && error.status === 503) setTimeout(start, WAIT);
    return;
  }
  setUpKey(context.settings);
  const { models } = context;
  views = VIEWS.filter((view) => models.some((model) => view.tasks.includes(model.task)));
  if (models.length) views.push({ ...ABOUT, title: models.length > 1 ? "About the models" : ABOUT.title });
  document
    .getElementById("tabs")
    .replaceChildren(...views.map((view) => h("a", { href: `#${view.id}`, data: { view: view.id } }, view.title)));
  document.getElementById("served").textContent =
    `${counted(models.length, "model")}. What you enter goes to this server and nowhere else.`;
  addEventListener("hashchange", show);
  await show();
}

/** Show the view that the address names: #translate, #about/model. */
async function show() {
  const [id, ...rest] = decodeURIComponent(location.hash.slice(1)).split("/");
  if (id === "content") return; // the link that skips the header
  const view = views.find((each) => each.id === id) ?? views[0];
  if (!view) {
    content.replaceChildren(emptyState("No model is served", "Start the server with one: dragoman serve MODEL"));
    return;
  }
  for (const link of document.querySelectorAll("#tabs a")) {
    const current = link.dataset.view === view.id;
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (current) link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  document.title = `${view.title} · Dragoman`;
  try {
    if (!opened.has(view.id)) {
      const models = context.models.filter((model) => !view.tasks || view.tasks.includes(model.task));
      opened.set(view.id, (await view.load()).create({ ...context, models, task: view.tasks?.[0] }));
    }
    const found = opened.get(view.id);
    content.replaceChildren(found.element);
    found.shown?.(rest.join("/"));
  } catch (error) {
    content.replaceChildren(errorNotice(error, show));
  }
}

setUpTheme();
start();
