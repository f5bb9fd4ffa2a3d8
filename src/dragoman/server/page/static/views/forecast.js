// Forecasting: a table in, the rows that come next as a plot with its interval, and as a table.

import { post } from "../api.js";
import { lineChart } from "../charts/line.js";
import { announce, h, icon, select } from "../dom.js";
import { emptyState } from "../notice.js";
import { counted, plain } from "../numbers.js";
import { acceptDrops } from "../translate/files.js";
import { Latest, ModelChoice, heading, textBox } from "./shared.js";

const LEVELS = [50, 80, 90, 95];

class ForecastView {
  constructor({ models }) {
    this.choice = new ModelChoice(models, () => this.#modelChanged());
    this.result = h("div", { class: "result-place stack", "aria-live": "polite" });
    this.latest = new Latest(this.result, 500);
    this.text = textBox("Table (CSV)", { rows: 9, id: "series", oninput: () => this.#changed() });
    this.text.area.spellcheck = false;
    this.text.area.classList.add("code");
    this.file = h("input", {
      type: "file",
      class: "unseen",
      tabindex: "-1",
      accept: ".csv,.tsv,.txt",
      "aria-label": "Table to forecast",
      onchange: () => this.#open(this.file.files),
    });
    this.horizon = h("input", { type: "number", min: 1, max: 2000, id: "horizon", oninput: () => this.#changed() });
    this.levelPlace = h("span", null);
    this.note = h("p", { class: "soft tiny" });
    const input = h(
      "section",
      { class: "card pad stack", "aria-label": "Input" },
      this.text.box,
      h(
        "div",
        { class: "row" },
        h(
          "button",
          { type: "button", class: "button quiet", onclick: () => this.file.click() },
          icon("file"),
          "Open a file",
        ),
        this.file,
      ),
      h(
        "div",
        { class: "row" },
        h("label", { class: "field" }, h("span", { class: "label" }, "Steps ahead"), this.horizon),
        this.levelPlace,
      ),
      this.note,
      h("div", { class: "drop-hint", "aria-hidden": "true" }, icon("file"), "Drop the table"),
    );
    acceptDrops(input, (files) => this.#open(files));
    this.element = h(
      "div",
      { class: "view" },
      heading("Forecast a series", "What comes next, and how far off it may be.", this.choice),
      h(
        "div",
        { class: "split narrow-left" },
        input,
        h("section", { class: "card pad", "aria-label": "Forecast" }, this.result),
      ),
    );
    this.#modelChanged();
  }

  #modelChanged() {
    const { columns = [], time, horizon, context, spacing, levels = [] } = this.choice.details;
    this.horizon.value = horizon ?? 24;
    const head = [...(time ? [time] : []), ...columns].join(",") || "time,value";
    this.text.area.placeholder = `${head}\n…`;
    const known = levels.length ? levels : LEVELS;
    this.level = select(
      "Interval",
      known.map((each) => [each, `${plain(each)} %`]),
      { value: known.includes(90) ? 90 : known[0], onchange: () => this.#changed() },
    );
    this.levelPlace.replaceChildren(this.level.box);
    this.note.textContent = [
      columns.length && `Forecasts ${columns.join(", ")}`,
      spacing && `one row ${spacing}`,
      context && `reads the last ${counted(context, "row")}`,
    ]
      .filter(Boolean)
      .join("; ");
    this.#changed();
  }

  async #open(files) {
    if (!files[0]) return;
    this.text.area.value = await files[0].text();
    this.file.value = "";
    this.#changed();
  }

  #changed() {
    if (this.text.area.value.trim()) this.latest.later((signal) => this.#predict(signal));
    else {
      this.latest.stop();
      this.result.replaceChildren(emptyState("No series yet", "Paste a table with a header line, or drop a CSV file."));
    }
  }

  async #predict(signal) {
    const body = {
      model: this.choice.name,
      csv: this.text.area.value,
      horizon: Number(this.horizon.value) || undefined,
      level: Number(this.level.element.value),
    };
    const {
      predictions: [found],
    } = await post("v1/predict", body, signal);
    announce(`Forecast of ${counted(found.forecast.length, "step")}`);
    const notes = found.notes?.length
      ? h(
          "ul",
          { class: "notes soft" },
          found.notes.map((note) => h("li", null, note)),
        )
      : null;
    return [...found.columns.map((name, i) => plot(name, (i % 6) + 1, found)), notes, table(found)].filter(Boolean);
  }
}

function plot(name, color, found) {
  const known = found.known?.columns?.[name] ?? [];
  const times = [
    ...(found.known?.times ?? known.map((_, i) => String(i + 1))),
    ...found.forecast.map((row) => row.time),
  ];
  const start = known.length;
  const last = known.findLast((value) => Number.isFinite(value));
  const join = start && Number.isFinite(known[start - 1]);
  const ahead = found.forecast.map((row, i) => [start + i, row[name].value]);
  const band = found.forecast.map((row, i) => [start + i, row[name].low, row[name].high]);
  const missing = (value) => (value === null ? NaN : value);
  return lineChart({
    title: name,
    xLabel: "",
    height: 280,
    labelOf: (i) => String(times[i] ?? ""),
    mark: start - 0.5,
    series: [
      { name: "known", color: 1, points: known.map((value, i) => [i, missing(value)]) },
      {
        name: `forecast, ${Math.round(found.level > 1 ? found.level : 100 * found.level)} % interval`,
        color: 2,
        points: [...(join ? [[start - 1, last]] : []), ...ahead.map(([x, y]) => [x, missing(y)])],
        band: [
          ...(join ? [[start - 1, last, last]] : []),
          ...band.map(([x, low, high]) => [x, missing(low), missing(high)]),
        ],
      },
    ],
  });
}

function table(found) {
  const head = h(
    "tr",
    null,
    h("th", { scope: "col" }, "time"),
    found.columns.map((name) => [
      h("th", { scope: "col", class: "number" }, name),
      h("th", { scope: "col", class: "number" }, "low"),
      h("th", { scope: "col", class: "number" }, "high"),
    ]),
  );
  const rows = found.forecast.map((row) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, String(row.time)),
      found.columns.map((name) =>
        [row[name].value, row[name].low, row[name].high].map((value) => h("td", { class: "number" }, plain(value))),
      ),
    ),
  );
  const lines = [
    ["time", ...found.columns.flatMap((name) => [name, `${name} low`, `${name} high`])],
    ...found.forecast.map((row) => [
      row.time,
      ...found.columns.flatMap((name) => [row[name].value, row[name].low, row[name].high]),
    ]),
  ];
  const csv = lines.map((line) => line.map(quoted).join(",")).join("\n");
  const url = URL.createObjectURL(new Blob([`${csv}\n`], { type: "text/csv" }));
  return h(
    "details",
    { class: "table-details", open: rows.length <= 12 },
    h("summary", null, "As a table"),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Forecast as a table" },
      h("table", { class: "data" }, h("thead", null, head), h("tbody", null, rows)),
    ),
    h("a", { class: "button small outline", href: url, download: "forecast.csv" }, icon("down"), "Download CSV"),
  );
}

const quoted = (value) =>
  /[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

export const create = (context) => new ForecastView(context);
