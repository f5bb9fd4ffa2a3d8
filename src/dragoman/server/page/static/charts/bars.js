// Probabilities as bars, largest first.

import { h, setVars } from "../dom.js";
import { probability } from "../numbers.js";

const SHOWN = 8;

/** @param {Record<string, number>} probabilities @param {string[]} chosen names that are the answer */
export function bars(probabilities, chosen = [], shown = SHOWN) {
  const all = Object.entries(probabilities).sort((a, b) => b[1] - a[1]);
  const rows = all.slice(0, shown).map(([name, value]) => {
    const bar = h("span", { class: "bar-track", "aria-hidden": "true" }, h("span", null));
    setVars(bar, { "--value": `${(100 * value).toFixed(2)}%` });
    return h(
      "li",
      { class: chosen.includes(name) ? "chosen" : "" },
      h("span", { class: "bar-name" }, name),
      bar,
      h("span", { class: "number" }, probability(value)),
    );
  });
  const more = all.length - rows.length;
  return h(
    "div",
    null,
    h("ol", { class: "bars", "aria-label": "Probabilities" }, rows),
    more > 0 && h("p", { class: "soft more" }, `and ${more} more, all less probable`),
  );
}
