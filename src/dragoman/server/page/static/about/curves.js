// Training curves from the evaluations of a training.

import { lineChart } from "../charts/line.js";
import { h } from "../dom.js";
import { emptyState } from "../notice.js";
import { percent, plain } from "../numbers.js";

const KNOWN = new Set([
  "step",
  "epoch",
  "training_error",
  "validation_error",
  "training_accuracy",
  "validation_accuracy",
  "rate",
  "gradient_norm",
  "seconds",
  "tokens_per_second",
  "planned_steps",
  "new_plans",
  "best",
]);

export function curves(history) {
  const box = (...inside) =>
    h("section", { class: "card pad", "aria-label": "Training curves" }, h("h2", null, "Training"), inside);
  if (!history.length)
    return box(emptyState("No training curves", "This model came without the record of its training."));
  const x = history.every((line) => Number.isFinite(line.epoch)) ? "epoch" : "step";
  const points = (name) => history.filter((line) => Number.isFinite(line[name])).map((line) => [line[x], line[name]]);
  const series = (...names) =>
    names
      .map(([field, name], i) => ({ name, color: i + 1, points: points(field) }))
      .filter((each) => each.points.length);
  const best = history.findLast((line) => line.best)?.[x];
  const charts = [
    { title: "Error", series: series(["training_error", "training"], ["validation_error", "validation"]) },
    {
      title: "Accuracy",
      series: series(["training_accuracy", "training"], ["validation_accuracy", "validation"]),
      format: (value) => percent(value, value < 0.1 ? 1 : 0),
    },
    ...scores(history).map((name) => ({ title: title(name), series: series([name, title(name)]) })),
    { title: "Learning rate", series: series(["rate", "rate"]), zero: true },
    { title: "Norm of the gradient", series: series(["gradient_norm", "norm"]), zero: true },
  ].filter((chart) => chart.series.length);
  return box(
    best !== undefined &&
      h("p", { class: "soft" }, `The kept weights are those of ${x} ${plain(best)}, where the vertical line is.`),
    h(
      "div",
      { class: "chart-grid" },
      charts.map((chart) => lineChart({ xLabel: x, mark: history.length > 1 ? best : undefined, ...chart })),
    ),
  );
}

const scores = (history) =>
  [...new Set(history.flatMap(Object.keys))].filter(
    (name) => !KNOWN.has(name) && history.some((line) => Number.isFinite(line[name])),
  );

const title = (name) =>
  ({ bleu: "BLEU", chrf: "chrF" })[name] ?? name.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
