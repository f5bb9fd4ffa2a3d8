"""What everyone must be able to see and use: themes, narrow screens, contrast, names for screen readers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.page.conftest import Site
from tests.server.page.test_tasks import CSV

VIEWS = ("translate", "write", "classify", "tag", "forecast", "recognize", "about", "about/critic")

# The lowest contrast of all texts that are seen, and whose it is; the colour behind a text is that of its ancestors,
# laid over each other.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) known.set(color, read(color));
    return known.get(color);
  };
  const read = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (color) => {
    const [r, g, b] = color.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    return over(rgba(getComputedStyle(element).backgroundColor), behind(element.parentElement));
  };
  let worst = [21, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    if (element.closest(".unseen, .mirror, .toast, .skip, option, [aria-hidden=true], :disabled")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const text = over(rgba(element.closest("svg") ? style.fill : style.color), ground);
    const [a, b] = [light(text), light(ground)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < worst[0]) worst = [ratio, `${element.className} ${element.textContent.slice(0, 40)}`];
  }
  return worst;
}"""

UNNAMED = """() => {
  const all = document.querySelectorAll("button, a, input, select, textarea, summary, [role=button], [tabindex='0']");
  const named = (e) => e.ariaLabel || e.labels?.[0]?.textContent.trim() || e.textContent.trim();
  return [...all].filter((e) => e.checkVisibility() && !named(e)).map((e) => e.outerHTML);
}"""

# What has the focus, and whether that is seen: an outline, or of the text the frame of its panes.
FOCUS = """() => {
  const found = document.activeElement;
  const shown = getComputedStyle(found.closest(".panes") ?? found);
  const seen = shown.outlineStyle !== "none" || shown.boxShadow.includes("0px 0px 0px 1px");
  return [found.id || found.ariaLabel || found.textContent.trim(), seen];
}"""


def fill(page: Any, view: str) -> None:
    """Give a view something to show."""
    page.evaluate("view => { location.hash = view }", view)
    inputs = {
        "translate": ("#source-text", "The plant is green and unbelievable.", ".word"),
        "classify": ("#classify-text", "A wonderful film, not boring", ".reasons"),
        "tag": ("#tag-text", "Ana reads a green book in Madrid with a verylongwordwithoutanyspaces.", ".tagged"),
        "forecast": ("#series", CSV, ".chart svg"),
    }
    if view in inputs:
        place, text, result = inputs[view]
        page.fill(place, text)
        page.wait_for_selector(result)
    if view == "translate":
        page.click(".word >> text=verde")
        page.wait_for_selector(".heat-table")
    if view.startswith("about"):
        page.wait_for_selector(".chart svg")
    page.wait_for_selector("h1", state="attached")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read_and_has_a_name_and_fits_a_phone(site: Site, theme: str) -> None:
    page = site.open(color_scheme=theme, reduced_motion="reduce", width=1280 if theme == "dark" else 390)
    for view in VIEWS:
        fill(page, view)
        ratio, whose = page.evaluate(CONTRAST)
        assert ratio >= 4.5, f"{view}, {theme}: {ratio:.2f} {whose}"
        assert page.evaluate(UNNAMED) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, view


def test_the_theme_follows_the_system_until_one_is_chosen(site: Site) -> None:
    page = site.open(color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.click("button[aria-label='Use the light theme']")
    light = page.evaluate(ground)
    assert dark != light
    page.reload()
    page.wait_for_selector("#tabs a")
    assert page.evaluate(ground) == light
    page.click("button[aria-label='Use the dark theme']")
    assert page.evaluate(ground) == dark


def test_focus_is_seen_on_the_way_to_the_text(site: Site) -> None:
    page = site.open(has_touch=True, is_mobile=True, width=800)  # nothing has the focus at first
    seen = []
    while "source-text" not in seen:
        page.keyboard.press("Tab")
        name, shown = page.evaluate(FOCUS)
        assert shown, name
        seen.append(name)
    assert seen[0] == "Skip to content"
    assert seen[-4:] == ["source-language", "Swap languages", "target-language", "source-text"]
