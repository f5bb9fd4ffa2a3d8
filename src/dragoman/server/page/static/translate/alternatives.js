// Other translations of a sentence; one that is chosen takes the place of the best one.

import { h, setVars } from "../dom.js";
import { percent } from "../numbers.js";

/** @param {import("./engine.js").Part} part @param {(index: number) => void} choose */
export function alternativesList(part, choose, several = false) {
  const all = part?.result?.translations ?? [];
  if (all.length < 2) return null;
  const chosen = part.result.chosen ?? 0;
  const items = all.map((each, i) =>
    h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: i === chosen ? "alternative chosen" : "alternative",
          "aria-pressed": String(i === chosen),
          onclick: () => choose(i),
        },
        h("span", { class: "alternative-text" }, each.text),
        typeof each.confidence === "number" && gauge(each.confidence),
      ),
    ),
  );
  return h(
    "section",
    { class: "alternatives" },
    h(
      "h2",
      { class: "small-title" },
      several ? ["Alternatives for ", h("q", null, clipped(part.text))] : "Alternatives",
    ),
    h("ol", null, items),
  );
}

const clipped = (text) => (text.length > 48 ? `${text.slice(0, 46).trimEnd()}…` : text);

/** A confidence as a small bar with its number. */
export function gauge(confidence, { label = "Confidence", shown = false } = {}) {
  const bar = h("span", { class: "gauge-bar", "aria-hidden": "true" }, h("span", null));
  setVars(bar, { "--value": percent(confidence).replace(" ", "") });
  return h(
    "span",
    {
      class: "gauge",
      title: "The probability that the model gave to its own words. It ranks its translations; it is no promise.",
    },
    h("span", { class: shown ? null : "unseen" }, `${label} `),
    bar,
    percent(confidence),
  );
}
