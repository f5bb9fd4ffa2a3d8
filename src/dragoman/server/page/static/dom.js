// Building elements. Text always goes in as text: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") setVars(element, value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: h("button", {class: "x", onclick: f, vars: {"--w": 1}}, "text", child). */
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Set CSS variables; the policy forbids style attributes, not this. */
export function setVars(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(name, value);
}

const PATHS = {
  swap: "M7 4 3 8l4 4M3 8h14M17 20l4-4-4-4M21 16H7",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M4 12.5 9.5 18 20 6.5",
  close: "M6 6l12 12M18 6 6 18",
  file: "M14 3H6v18h12V7zM14 3v4h4M12 17v-6M9 13.5 12 11l3 2.5",
  down: "M12 4v12M6.5 11 12 16.5 17.5 11M5 20h14",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  key: "M14.5 9.5a4.5 4.5 0 1 1-4-4.5 4.5 4.5 0 0 1 4 4.5zM13 12.5l7 7M17 16.5l2-2",
  stop: "M7 7h10v10H7z",
  play: "M8 5.5v13l10.5-6.5z",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 2.5-2.5L20 17M15.5 9.5h.01",
  retry: "M20 11a8 8 0 1 0-.6 4M20 5v6h-6",
};

/** A line icon; the button around it carries the name. */
export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}

/** Say something to screen readers. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

let hideToast = 0;

/** A short message at the bottom of the window. */
export function toast(text) {
  const element = document.getElementById("toast");
  element.textContent = text;
  element.classList.add("shown");
  announce(text);
  clearTimeout(hideToast);
  hideToast = setTimeout(() => element.classList.remove("shown"), 2400);
}

/** Call f when nothing has happened for some milliseconds; .now() calls it at once, .cancel() forgets it. */
export function debounce(f, milliseconds) {
  let timer = 0;
  const later = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  later.now = (...args) => {
    clearTimeout(timer);
    return f(...args);
  };
  return later;
}

let selects = 0;

/** A select with a visible or hidden label; options are [value, text]. */
export function select(label, options, { id = `select-${(selects += 1)}`, value, onchange, hidden = false } = {}) {
  const element = h(
    "select",
    { id, onchange: () => onchange?.(element.value) },
    options.map(([each, text]) => h("option", { value: each }, text)),
  );
  if (value !== undefined) element.value = value;
  const box = h(
    "div",
    { class: "field" },
    h("label", { class: hidden ? "unseen" : "label", for: id }, label),
    h("span", { class: "select" }, element),
  );
  return { box, element };
}
