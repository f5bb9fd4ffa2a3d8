// The API key, where the server asks for one.

import { apiKey } from "./api.js";
import { h, icon, toast } from "./dom.js";

export function setUpKey(settings) {
  if (!settings.apiKeys && !settings.keyRequired) return;
  const button = document.getElementById("key");
  const banner = document.getElementById("banner");
  const input = h("input", {
    type: "password",
    id: "api-key",
    autocomplete: "off",
    spellcheck: "false",
    value: apiKey.value,
  });
  const save = () => {
    apiKey.value = input.value.trim();
    banner.hidden = Boolean(apiKey.value);
    toast(apiKey.value ? "The key is kept until this tab is closed" : "The key was removed");
  };
  banner.replaceChildren(
    h(
      "div",
      { class: "key" },
      h("label", { for: "api-key" }, settings.keyRequired ? "This server needs an API key" : "API key"),
      input,
      h("button", { type: "button", class: "button small", onclick: save }, "Use this key"),
    ),
  );
  input.addEventListener("keydown", (event) => event.key === "Enter" && save());
  button.replaceChildren(icon("key"));
  button.setAttribute("aria-label", "API key");
  button.title = "API key";
  button.hidden = false;
  button.addEventListener("click", () => {
    banner.hidden = !banner.hidden;
    if (!banner.hidden) input.focus();
  });
  banner.hidden = !settings.keyRequired || Boolean(apiKey.value);
}
