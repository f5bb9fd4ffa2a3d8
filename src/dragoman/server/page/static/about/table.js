// A table whose headings sort it.

import { h, setVars } from "../dom.js";
import { plain } from "../numbers.js";

const valueOf = (cell) => (cell !== null && typeof cell === "object" ? cell.value : cell);

/**
 * @param {string[]} columns
 * @param {any[][]} rows cells are texts, numbers, or {value, text, bar}: what sorts it, what is shown, a bar up to 1
 */
export function dataTable(columns, rows, { most = 30 } = {}) {
  const numeric = columns.map((_, i) =>
    rows.every(
      (row) => row[i] === null || typeof valueOf(row[i]) === "number" || /^[\d.]+ %$|^–$/.test(valueOf(row[i])),
    ),
  );
  const body = h("tbody", null);
  const fill = (sorted) =>
    body.replaceChildren(
      ...sorted.slice(0, most).map((row) =>
        h(
          "tr",
          null,
          row.map((cell, i) => cellOf(cell, numeric[i])),
        ),
      ),
    );
  const heads = columns.map((name, i) => {
    const head = h(
      "th",
      { scope: "col", class: numeric[i] ? "number" : "" },
      rows.length > 1 ? h("button", { type: "button", onclick: () => sort(i) }, name) : name,
    );
    return head;
  });
  const sort = (column) => {
    const up = heads[column].getAttribute("aria-sort") !== "ascending";
    heads.forEach((head, i) =>
      i === column
        ? head.setAttribute("aria-sort", up ? "ascending" : "descending")
        : head.removeAttribute("aria-sort"),
    );
    const order = (a, b) =>
      typeof a === "number" && typeof b === "number"
        ? a - b
        : String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
    fill(rows.toSorted((a, b) => (up ? 1 : -1) * order(valueOf(a[column]), valueOf(b[column]))));
  };
  fill(rows);
  return h(
    "div",
    null,
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" },
      h("table", { class: "data" }, h("thead", null, h("tr", null, heads)), body),
    ),
    rows.length > most && h("p", { class: "soft tiny" }, `${most} of ${rows.length} rows are shown.`),
  );
}

function cellOf(cell, numeric) {
  if (cell !== null && typeof cell === "object") {
    if (cell.bar === undefined) return h("td", { class: "number" }, cell.text);
    const bar = h("span", { class: "cell-bar", "aria-hidden": "true" }, h("span", null));
    setVars(bar, { "--value": `${(100 * cell.bar).toFixed(1)}%` });
    return h("td", { class: "number with-bar" }, bar, cell.text);
  }
  return h("td", { class: numeric ? "number" : "" }, plain(cell));
}
