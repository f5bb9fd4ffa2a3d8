// Messages in the page: errors with a way out, empty states, what is being loaded.

import { h, icon } from "./dom.js";
import { ApiError } from "./api.js";

/** An error in plain words. What may pass has a button to try again. */
export function errorNotice(error, retry) {
  const text = error instanceof ApiError ? error.message : `Something went wrong on this page: ${error.message}`;
  const again =
    retry && (!(error instanceof ApiError) || error.passing || error.status === 403 || error.status === 401);
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("p", null, text),
    again && h("button", { type: "button", class: "button small", onclick: retry }, icon("retry"), "Try again"),
  );
}

/** What to do where there is nothing yet. */
export function emptyState(title, text, ...more) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), text && h("p", null, text), more);
}

/** Grey lines in place of what is coming. */
export function loadingState(label, lines = 3) {
  return h(
    "div",
    { class: "placeholder", role: "status" },
    Array.from({ length: lines }, (_, i) => h("div", { class: i === lines - 1 ? "skeleton" : "skeleton wide" })),
    h("span", { class: "unseen" }, label),
  );
}
