"""The views of other tasks, and the models themselves, in a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.server.page import answers
from tests.server.page.conftest import Site

CSV = "day,temperature\n" + "\n".join(f"2024-01-{day:02},{day % 7}.5" for day in range(1, 29))
OTHERS = ("critic", "tagger", "weather")


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    from PIL import Image

    Image.fromarray(np.full((8, 8, 3), 200, np.uint8)).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


@pytest.mark.parametrize("site", [OTHERS], indirect=True)
def test_only_the_tasks_that_are_served_are_shown(site: Site) -> None:
    page = site.open()
    assert page.locator("#tabs a").all_inner_texts() == ["Classify", "Tag", "Forecast", "About the models"]
    assert page.inner_text("h1") == "Classify a text"


def test_a_language_model_writes_until_it_is_stopped(site: Site) -> None:
    page = site.open("#write")
    page.fill("#prompt", "Once <b>")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".written >> text=a small ship")
    assert page.inner_text(".written").startswith("Once <b> there was")
    page.click("text=Stop")
    page.wait_for_selector("text=You stopped it")
    length = len(page.inner_text(".written"))
    page.get_by_label("Length").fill("20")
    page.click(".view button:has-text('Write')")
    page.wait_for_selector("text=20 tokens; the length was reached")
    assert site.fake.posted[-1][1]["tokens"] == 20
    assert len(page.inner_text(".written")) != length


def test_a_text_is_classified_with_the_words_that_decided(site: Site) -> None:
    page = site.open("#classify")
    page.fill("#classify-text", "A wonderful film, <i>not</i> boring.")
    page.wait_for_selector(".bars")
    assert page.inner_text(".answer strong") in ("positive", "negative")
    assert page.locator(".bar-name").count() == 3
    assert page.inner_text(".reason-text") == "A wonderful film, <i>not</i> boring."
    assert page.locator(".reason >> text=wonderful").get_attribute("title")
    page.goto(f"{site.address}/#rate")
    page.fill("#classify-text", "A great film")
    page.wait_for_selector("text=Predicted number")


def test_words_are_tagged(site: Site) -> None:
    page = site.open("#tag")
    page.fill("#tag-text", "Ana reads a green book in Madrid.")
    page.wait_for_selector(".tagged")
    assert page.locator(".tag-word").all_inner_texts() == ["Ana", "reads", "a", "green", "book", "in", "Madrid", "."]
    assert page.locator(".tag-name").first.inner_text() == "B-PER"


def test_a_series_is_forecast_with_its_interval(site: Site) -> None:
    page = site.open("#forecast")
    page.fill("#series", CSV)
    page.wait_for_selector(".chart .band")
    page.locator(".chart svg").focus()
    page.keyboard.press("End")
    assert "+14" in page.inner_text(".tooltip")
    page.click("text=As a table")
    assert page.locator("table.data tbody tr").count() == 14
    with page.expect_download() as download:
        page.click("text=Download CSV")
    assert Path(download.value.path()).read_text().startswith("time,temperature,temperature low,temperature high\n+1,")


def test_images_are_recognized_and_described(site: Site, picture: Path) -> None:
    page = site.open("#recognize")
    page.set_input_files("input[type=file]", picture)
    page.wait_for_selector(".bars")
    assert page.locator(".overlay span").count() == 64
    page.click("text=head 2")
    page.goto(f"{site.address}/#describe")
    page.wait_for_selector("text=Describe an image")
    page.set_input_files("input[type=file]", picture)
    page.click(".look >> text=circle")
    assert page.locator(".look[aria-pressed=true]").inner_text() == "circle"
    assert page.locator(".overlay span").count() == 64


def test_a_failed_prediction_is_told(site: Site) -> None:
    page = site.open("#classify")
    site.fake.failing = [400]
    page.fill("#classify-text", "A film")
    assert page.inner_text("[role=alert]") == "no luck"


def test_about_shows_scores_curves_and_the_testing_analysis(site: Site) -> None:
    page = site.open("#about/en-es")
    page.wait_for_selector(".chart svg")
    shown = page.inner_text("main")
    for text in (
        "71.3",
        "nrefs:1|bs:1000|seed:0|case:mixed|eff:no|tok:13a",
        "357 k",
        "Expect light post-editing",
        "By length",
    ):
        assert text in shown
    assert page.locator(".chart").count() == 5
    page.click("text=The worst translations")
    assert "He ran <b>away</b>." in page.inner_text(".example")
    page.get_by_label("Model", exact=True).select_option("critic")
    page.wait_for_selector("text=The surest mistakes")
    page.click("th button >> text=recall")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("recall")
    page.get_by_label("Model", exact=True).select_option("stars")
    page.wait_for_selector("text=Not evaluated yet")


def test_names_of_models_are_never_markup(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<img src=x onerror=alert(1)>"
    monkeypatch.setitem(answers.MODELS, name, answers.MODELS["critic"] | {"name": name})
    site.fake.models = (name,)
    page = site.open()
    assert name in page.inner_text("main")
    page.click(f"text={name}")
    page.wait_for_selector("text=About the model")
    assert page.locator("main img").count() == 0
