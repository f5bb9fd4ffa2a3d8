// The button for light and dark. Without a choice the page follows the system.

import { icon } from "./dom.js";

const SAVED = "dragoman-theme";

export function setUpTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => {
    const name = dark() ? "Use the light theme" : "Use the dark theme";
    button.replaceChildren(icon(dark() ? "sun" : "moon"));
    button.setAttribute("aria-label", name);
    button.title = name;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem(SAVED, root.dataset.theme);
    } catch {
      // storage may be switched off: the choice lasts as long as the page
    }
    show();
  });
  system.addEventListener("change", show);
  show();
}
