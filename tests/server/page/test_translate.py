"""The view Translate in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.text.sentences import split_sentences
from tests.server.page.conftest import Site

SOURCE, OUTPUT = "#source-text", "#output"
DROP = """() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["hello"], "notes.txt", {type: "text/plain"}));
  dataTransfer.items.add(new File(["x"], "<b>photo</b>.jpg"));
  for (const type of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true});
    document.querySelector(".panes").dispatchEvent(event);
  }
}"""
ATTACK = "<img src=x onerror=alert(1)> <b>bold</b>"


def translated(page: Any, text: str) -> None:
    page.wait_for_function("text => document.querySelector('#output').textContent.trim() === text", arg=text)


def test_a_text_is_translated_while_it_is_typed(site: Site) -> None:
    page = site.open()
    page.locator(SOURCE).press_sequentially("The plant is green.", delay=5)
    translated(page, "La planta es verde.")
    assert page.inner_text("#count") == "19 / 2,000"
    assert "Confidence" in page.inner_text(".sure")
    asked = [body for path, body in site.fake.posted if path == "/v1/translate"]
    assert len(asked) < 5  # typing does not ask for every letter
    page.locator(SOURCE).press_sequentially(" My sister has a car.", delay=5)
    translated(page, "La planta es verde. Mi hermana tiene un coche.")
    asked = [body for path, body in site.fake.posted if path == "/v1/translate"]
    assert asked[-1]["text"] == ["My sister has a car."]  # what is known is not asked for again


def test_white_space_and_long_texts_come_back_whole(site: Site) -> None:
    page = site.open()
    lines = [f"The house {i} is big." for i in range(60)]
    page.fill(SOURCE, "  Hello\n\n" + " ".join(lines))
    wanted = "  Hola\n\n" + " ".join(f"La casa {i} es grande." for i in range(60))
    page.wait_for_function("text => document.querySelector('#output').textContent === text", arg=wanted)
    page.fill(SOURCE, "a" * 2001)
    assert "1 characters too long" in page.inner_text(".result")


def test_languages_swap_and_are_detected(site: Site) -> None:
    page = site.open()
    page.fill(SOURCE, "The house")
    translated(page, "La casa")
    page.click("button[aria-label='Swap languages']")
    assert page.input_value("#source-language") == "es"
    assert page.input_value(SOURCE) == "La casa"
    translated(page, "The house")
    page.select_option("#source-language", "auto")
    page.fill(SOURCE, "¿Dónde está la casa?")
    translated(page, "¿Where está the house?")
    assert page.inner_text(".detected") == "Spanish · 93 %"
    assert page.input_value("#target-language") == "en"  # nothing is translated into its own language


@pytest.mark.parametrize("site", [("en-es",)], indirect=True)
def test_a_direction_that_is_not_served_cannot_be_chosen(site: Site) -> None:
    page = site.open()
    assert page.locator("#source-language option").all_inner_texts() == ["English"]
    assert page.is_disabled("button[aria-label='Swap languages']")
    assert page.locator("#tabs a").all_inner_texts() == ["Translate", "About the model"]


def test_a_clicked_word_shows_where_the_model_looked(site: Site) -> None:
    page = site.open()
    page.fill(SOURCE, "Hello. The plant is green.")
    page.click(".word >> text=planta")
    page.wait_for_selector(".heat-table")
    assert page.inner_text(".explain-lead") == "planta was written looking at"
    assert page.locator(".partner-word").first.inner_text() == "plant"
    assert page.locator(".link").count() == page.locator(".mark").count() == 4
    assert page.locator(".word.chosen").inner_text() == "planta"
    rows = page.locator(".heat-table tbody th").all_inner_texts()
    assert rows == ["La", "planta", "es", "verde", ".", "[END]"]
    assert page.locator(".heat-table th.here").all_inner_texts() == ["planta"]
    before = page.locator(".heat-table td[data-w]").first.get_attribute("data-w")
    page.click("button[aria-label='Head 3']")
    assert page.locator(".heat-table td[data-w]").first.get_attribute("data-w") != before
    page.get_by_label("Layer", exact=True).select_option(label="Encoder 1: self-attention")
    assert page.locator(".heat-table tbody th").first.inner_text() == "The"
    page.keyboard.press("Escape")
    assert page.locator(".link").count() == 0


def test_a_place_in_the_source_shows_which_words_looked_at_it(site: Site) -> None:
    page = site.open()
    page.fill(SOURCE, "The plant is green.")
    translated(page, "La planta es verde.")
    page.click(SOURCE, position={"x": 100, "y": 36})
    page.wait_for_selector(".heat-table")
    assert page.inner_text(".explain-lead") == "plant was looked at when writing"
    assert "planta" in page.locator(".word.linked").all_inner_texts()


def test_words_are_reached_with_the_keyboard(site: Site) -> None:
    page = site.open()
    page.locator(SOURCE).press_sequentially("Hello green house", delay=0)
    page.keyboard.press("Control+Enter")
    translated(page, "Hola verde casa")
    while page.evaluate("document.activeElement.className") != "word":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".heat-table")
    assert page.locator(".word[aria-pressed=true]").inner_text() == "verde"
    page.keyboard.press("Alt+Shift+S")
    assert page.input_value("#source-language") == "es"


def test_an_alternative_takes_the_place_of_the_best_translation_and_is_copied(site: Site) -> None:
    page = site.open(permissions=["clipboard-read", "clipboard-write"])
    page.fill(SOURCE, "The house.")
    page.locator(".alternative").nth(2).click()
    translated(page, "La casa!")
    page.click("button[aria-label='Copy the translation']")
    page.wait_for_selector(".toast.shown")
    assert page.evaluate("navigator.clipboard.readText()") == "La casa!"


def test_a_dropped_file_is_handed_back(site: Site, tmp_path: Path) -> None:
    page = site.open()
    page.evaluate(DROP)
    with page.expect_download() as download:
        page.click("text=Download notes_es.txt")
    download.value.save_as(tmp_path / "found.txt")
    assert (tmp_path / "found.txt").read_text() == "HELLO"
    assert "Only .txt, .html files" in page.locator(".file").nth(1).inner_text()


@pytest.mark.parametrize(("status", "words"), [(503, "busy or just starting"), (429, "Too many requests")])
def test_failures_are_told_in_plain_words_and_can_be_tried_again(site: Site, status: int, words: str) -> None:
    page = site.open()
    site.fake.failing = [status]
    page.fill(SOURCE, "Hello")
    assert words in page.inner_text("[role=alert]")
    assert "3 seconds" in page.inner_text("[role=alert]")
    page.click("button:has-text('Try again')")
    translated(page, "Hola")
    assert page.locator("[role=alert]").count() == 0


def test_a_server_that_is_gone_is_told(site: Site) -> None:
    page = site.open()
    page.route("**/v1/translate", lambda route: route.abort())
    page.fill(SOURCE, "Hello")
    assert "cannot be reached" in page.inner_text("[role=alert]")


def test_text_is_never_markup(site: Site) -> None:
    page = site.open()
    page.fill(SOURCE, ATTACK)
    translated(page, ATTACK)
    page.locator(".word >> text=img").click()
    page.wait_for_selector(".heat-table")
    assert page.locator("main img, main b:not(.quoted):not(.readout b)").count() == 0


def test_a_language_chosen_while_another_is_detected_wins(site: Site) -> None:
    page = site.open()
    page.select_option("#source-language", "auto")
    site.fake.pause = 0.4
    page.fill(SOURCE, "La casa")
    with page.expect_request("**/v1/detect"):
        pass
    page.select_option("#source-language", "es")
    translated(page, "The house")
    assert [path for path, _ in site.fake.posted].count("/v1/translate") == 1


def test_a_link_brings_its_text_and_what_the_model_warns_of_is_told(site: Site) -> None:
    page = site.open("?source=es&target=en&q=La%20casa%20Щ")
    translated(page, "The house Щ")
    assert page.inner_text(".warnings") == "it has letters that the model never saw"


def test_an_api_key_is_asked_for_and_sent(site: Site) -> None:
    site.fake.settings = {"keyRequired": True, "apiKeys": True}
    page = site.open()
    page.get_by_label("This server needs an API key").fill("secret")
    page.click("text=Use this key")
    page.fill(SOURCE, "Hello")
    translated(page, "Hola")
    assert site.fake.posted[-1][1]["api_key"] == "secret"


TEXTS = [
    "Dr. Smith came at 5 p.m. He was late! Was he? Yes... no",
    "¿Qué? ¡No! «Sí.» Los EE.UU. son grandes. El Sr. Pérez vive en la av. Mayor. 3. Tres",
    "  Begins with space. J. R. R. Tolkien wrote it. See fig. 3 or no. 7. etc. and so on.",
    "日本語。テスト！ はい。 Über alles. ñandú. Ñandú — “Quoted.” Next",
]


def test_sentences_are_those_of_the_server(site: Site) -> None:
    page = site.open()
    split = "async texts => texts.map((await import('./static/sentences.js')).splitSentences)"
    assert page.evaluate(split, TEXTS) == [split_sentences(text) for text in TEXTS]
