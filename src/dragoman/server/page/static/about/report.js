// The testing analysis that `dragoman evaluate` wrote: of a translator, or of any other task.

import { h, setVars } from "../dom.js";
import { emptyState } from "../notice.js";
import { counted, percent, plain, whole } from "../numbers.js";
import { differences } from "./differences.js";
import { dataTable } from "./table.js";

/** @returns {HTMLElement[]} */
export function reportSections(model, evaluation) {
  if (!evaluation) {
    return [
      h(
        "section",
        { class: "card pad", "aria-label": "Testing analysis" },
        h("h2", null, "Testing analysis"),
        emptyState(
          "Not evaluated yet",
          null,
          h("p", null, "Run ", h("code", null, `dragoman evaluate ${model.name}`), " and load this page again."),
        ),
      ),
    ];
  }
  return evaluation.bleu ? translator(evaluation) : anyTask(evaluation);
}

function translator(found) {
  const { verdict } = found;
  const overview = h(
    "section",
    { class: "card pad", "aria-label": "Scores" },
    h("h2", null, "Scores"),
    verdict &&
      h(
        "div",
        { class: `verdict ${verdict.level}` },
        h("strong", null, sentence(verdict.expect)),
        h("p", { class: "soft" }, verdict.caveat),
      ),
    h("div", { class: "scores" }, score("BLEU", found.bleu), score("chrF", found.chrf)),
    h(
      "dl",
      { class: "facts small" },
      small(percent(found.accuracy, 1), "of next words right"),
      small(percent(found.exact, 1), "sentences word for word"),
      small(plain(found.perplexity), "perplexity"),
      small(plain(found.error), "error"),
      small(whole(found.sentences), "sentences tested"),
    ),
    facts(found.facts),
  );
  const lengths = found.lengths?.length
    ? h(
        "section",
        { class: "card pad", "aria-label": "By length" },
        h("h2", null, "By length of the source"),
        lengthTable(found.lengths),
      )
    : null;
  const examples = [
    ["The worst translations", found.worst],
    ["The best translations", found.best],
  ]
    .filter(([, list]) => list?.length)
    .map(([title, list]) => sentences(title, list));
  return [overview, lengths, ...examples].filter(Boolean);
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}` : "");

const small = (value, label) => h("div", { class: "fact" }, h("dd", null, value), h("dt", null, label));

/** A score of 0 to 100 with its 95 % interval and its signature. */
function score(name, { value, low, high, signature }) {
  const bar = h(
    "div",
    { class: "score-bar", "aria-hidden": "true" },
    h("span", { class: "score-value" }),
    h("span", { class: "score-range" }),
  );
  setVars(bar, { "--value": `${value}%`, "--low": `${low}%`, "--width": `${Math.max(0.5, high - low)}%` });
  return h(
    "div",
    { class: "score" },
    h("p", { class: "score-name" }, name, h("strong", null, value.toFixed(1))),
    bar,
    h("p", { class: "soft tiny" }, `95 % confidence: ${low.toFixed(1)} to ${high.toFixed(1)}`),
    h("p", { class: "signature" }, signature),
  );
}

function facts(found) {
  const rows = Object.entries(found ?? {});
  return rows.length
    ? h(
        "dl",
        { class: "pairs" },
        rows.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, String(value)))),
      )
    : null;
}

function lengthTable(lengths) {
  return dataTable(
    ["words", "sentences", "accuracy", "BLEU", "chrF"],
    lengths.map((row) => [
      row.words,
      row.sentences,
      row.accuracy === null ? "–" : percent(row.accuracy, 1),
      { value: row.bleu, text: row.bleu.toFixed(1) },
      { value: row.chrf, text: row.chrf.toFixed(1), bar: row.chrf / 100 },
    ]),
  );
}

function sentences(title, list) {
  return h(
    "details",
    { class: "card pad examples-list" },
    h("summary", null, h("h2", null, title), h("span", { class: "soft" }, counted(list.length, "sentence"))),
    h(
      "p",
      { class: "soft" },
      "Marked: ",
      h("mark", { class: "missing" }, "what the reference has"),
      " and the translation lacks, and ",
      h("mark", { class: "extra" }, "what the translation has"),
      " and the reference lacks. A marked word is not always a mistake.",
    ),
    list.map(({ sentence: each, chrf }) => {
      const [reference, translation] = differences(each.reference, each.translation);
      return h(
        "dl",
        { class: "example" },
        line("source", each.source),
        line("reference", marked(reference, "missing")),
        line("translation", each.translation ? marked(translation, "extra") : "(nothing)"),
        line("chrF", chrf.toFixed(1)),
      );
    }),
  );
}

const line = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
const marked = (runs, kind) => runs.map(([text, differs]) => (differs ? h("mark", { class: kind }, text) : text));

const NAMES = {
  bleu: "BLEU",
  chrf: "chrF",
  macro_f1: "macro F1",
  micro_f1: "micro F1",
  f1: "F1",
  mae: "mean absolute error",
  rmse: "RMSE",
  mase: "MASE",
  r2: "R²",
  auc: "AUC",
  exact: "exact",
};

function anyTask(found) {
  const metrics = Object.entries(found.metrics ?? {});
  const overview = h(
    "section",
    { class: "card pad", "aria-label": "Scores" },
    h("h2", null, "Scores"),
    found.headline && h("div", { class: "verdict" }, h("strong", null, sentence(found.headline))),
    h(
      "dl",
      { class: "facts small" },
      metrics.slice(0, 12).map(([name, value]) => small(plain(value), NAMES[name] ?? name.replaceAll("_", " "))),
    ),
    facts(found.facts),
  );
  const tables = (found.tables ?? [])
    .filter((table) => table.rows?.length)
    .map((table) => {
      const columns = Object.keys(table.rows[0]);
      return h(
        "section",
        { class: "card pad", "aria-label": table.title },
        h("h2", null, table.title),
        table.note && h("p", { class: "soft" }, table.note),
        dataTable(
          columns,
          table.rows.map((row) => columns.map((name) => row[name])),
        ),
      );
    });
  return [overview, ...tables];
}
