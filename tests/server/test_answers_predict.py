"""What a worker predicts: checked on small models that were really trained."""

from __future__ import annotations

import base64
import io
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dragoman import Captioner, Classifier, Forecaster, ImageClassifier, Regressor, Tagger
from dragoman.server.answers import ANSWERS, details
from dragoman.server.answers.values import as_json
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.server.loading import load_models
from dragoman.server.warming import warm_up
from tests.drawn_images import draw
from tests.server.asking import ask
from tests.tasks.captioning import captioned
from tests.tasks.classification import models as classified
from tests.tasks.forecasting import series
from tests.tasks.image_classification import models as images
from tests.tasks.tagging import tagged


@pytest.fixture(scope="module")
def classifier(own_cache: None) -> Classifier:
    return Classifier.load(classified.moods())


# Texts and images


def test_classes_and_the_words_that_decided(classifier: Classifier) -> None:
    found, other = ask("predict", classifier, texts=["the film is wonderful", ""], explain=True)["predictions"]
    assert found["label"] == "positive"
    effects = {each["word"]: each["effect"] for each in found["explanation"]["words"]}
    assert effects["wonderful"] == max(effects.values())
    assert other["explanation"]["words"] == []
    with pytest.raises(TooLarge, match="at most 300 are explained at a time"):
        ask("predict", classifier, texts=["good " * 301], explain=True)


def test_numbers_and_tags(own_cache: None) -> None:
    regressor, tagger = Regressor.load(classified.ratings()), Tagger.load(tagged.trained())
    [number] = ask("predict", regressor, texts=["perfect film and perfect plot"], explain=True)["predictions"]
    assert number["number"] > 3
    assert number["explanation"]["of"] == "the number"
    [tags] = ask("predict", tagger, texts=["Anna likes the walk."])["predictions"]
    assert tags["words"] == ["Anna", "likes", "the", "walk", "."]
    with pytest.raises(BadRequest, match="does not say which words decided"):
        ask("predict", tagger, texts=["a"], explain=True)
    assert details(regressor)["explains"] is True
    assert "NOUN" in details(tagger)["classes"]


def png(pixels: Any, form: str = "PNG") -> str:
    file = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(file, form)
    return base64.b64encode(file.getvalue()).decode()


def test_classes_of_images(own_cache: None) -> None:
    model = ImageClassifier.load(images.shapes())
    square = draw("square", np.random.default_rng(1))
    given = [png(square), "data:image/png;base64," + png(square)]
    found = ask("predict", model, images=given, attention=True)["predictions"]
    assert found[0] == found[1]
    assert found[0]["label"] == model.predict([square])[0].label
    assert np.shape(found[0]["attention"]["maps"]["all layers"]) == (4, 4)
    assert details(model)["image"] == {"height": 8, "width": 8, "channels": 1}
    large = np.kron(square, np.ones((3, 3)))
    with pytest.raises(BadRequest, match=r"image 1 has 24 x 24 pixels .* reads 8 x 8; with 'resize' true"):
        ask("predict", model, images=[png(large)])
    assert ask("predict", model, images=[png(large, "JPEG")], resize=True)["predictions"][0]["label"]


def bomb() -> str:
    """A small file that says it is 60,000 x 60,000 pixels."""
    data = bytearray(base64.b64decode(png(np.zeros((8, 8)))))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return base64.b64encode(bytes(data)).decode()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "'images' must be a list of 1 to 16 images"),
        (["AAAA"] * 17, "'images' must be a list of 1 to 16 images"),
        ([5], "image 1 must be a PNG or JPEG file in base64"),
        (["not base64!"], "image 1 is not valid base64"),
        (["AA AA"], "image 1 is not valid base64"),
        ([base64.b64encode(b"GIF89a").decode()], "image 1 is not a PNG or JPEG image"),
        ([png(np.zeros((32, 32, 3)))[:80]], "image 1 is damaged"),
        ([bomb()], "image 1 has .* pixels, more than"),
    ],
)
def test_images_that_are_none(captioner: Captioner, given: list[Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        ask("predict", captioner, images=given)


def test_captions_and_where_their_words_looked(captioner: Captioner) -> None:
    path = captioned.photos() / "1.png"
    image = base64.b64encode(path.read_bytes()).decode()
    [found] = ask("predict", captioner, images=[image], best=2, attention=True)["predictions"]
    assert found["caption"] == captioner.caption([path])[0]
    assert len(found["captions"]) == 2
    looked = found["attention"]
    assert "".join(looked["words"]) == found["caption"].replace(" ", "")
    assert np.shape(looked["weights"]) == (len(looked["words"]), 4, 4)
    np.testing.assert_allclose(np.sum(looked["weights"], axis=(1, 2)), 1, atol=1e-3)


# Forecasts


def test_a_forecast_from_a_table_is_that_from_its_columns(forecaster: Forecaster) -> None:
    rows = series.rows_of()
    expected = forecaster.forecast(series.series_file(), 5, 0.8).as_dict()
    [found] = ask("predict", forecaster, csv=series.as_csv(rows), horizon=5, level=80)["predictions"]
    assert found["forecast"] == as_json(expected["forecast"], 10)
    columns = {name: [float(row[i]) for row in rows[1:]] for i, name in ((2, "sales"), (1, "visitors"))}
    given = {"columns": {**columns, "other": [1]}, "times": [row[0] for row in rows[1:]]}
    [again] = ask("predict", forecaster, series=given, horizon=5, level=80)["predictions"]
    assert again["forecast"] == found["forecast"]
    assert again["known"] == found["known"]
    assert found["known"]["times"][-1] == rows[-1][0]
    assert found["known"]["columns"]["sales"][-1] == float(rows[-1][2])
    [untimed] = ask("predict", forecaster, series={"columns": columns}, horizon=5)["predictions"]
    assert untimed["forecast"][0]["sales"]["value"] == found["forecast"][0]["sales"]["value"]
    [longer] = ask("predict", forecaster, csv=series.as_csv(rows), horizon=50)["predictions"]
    assert longer["forecast"][-1]["sales"]["low"] is None
    assert "later ones are made from its own forecasts" in longer["notes"][0]
    assert details(forecaster)["columns"] == ["visitors", "sales"]


def gap(rows: list[list[str]]) -> str:
    rows[20][1] = ""
    return series.as_csv(rows)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"csv": "date,visitors,sales\n2024-01-01,1,2\n"}, "the series has 1 rows, the model reads"),
        ({"csv": gap(series.rows_of())}, "the series, line 21 .* has no value; fill missing values with 'fill' linear"),
        ({"csv": "date,visitors\n2024-01-01,1\n"}, "the series has no column 'sales'"),
        ({"csv": "date,visitors,sales\n2024-01-01,a,2\n"}, "the series, line 2.*not a number"),
        ({"csv": ""}, "'csv' must be a table"),
        ({"csv": "a\0b\n"}, "the series"),
        ({"csv": "x", "horizon": 0}, "'horizon' must be a whole number from 1 to 2,000"),
        ({"csv": "x", "level": 100}, "'level' must be per cent"),
        ({"csv": "x", "fill": "guess"}, "'fill' must be one of linear"),
        ({"csv": series.as_csv(series.rows_of()), "level": 33}, "the model knows intervals of the levels"),
        ({"series": {"columns": {"sales": [1]}}}, "'series' has no column 'visitors'"),
        ({"series": {"columns": {"sales": [1], "visitors": [1, 2]}}}, "have different lengths: 1, 2"),
        ({"series": {"columns": {"sales": ["1"], "visitors": [1]}}}, "column 'sales' must have numbers"),
        ({"series": [1]}, "'series' must have 'columns'"),
        ({"texts": ["a"]}, "a model for forecasting predicts from 'series' or 'csv', and nothing else"),
    ],
)
def test_mistakes_in_a_series(forecaster: Forecaster, payload: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message) as error:
        ask("predict", forecaster, **payload)
    assert "--" not in str(error.value), "options of the command line"
    assert "tmp" not in str(error.value), "no name of a file that the client did not send"


def test_a_gap_is_filled_on_request(forecaster: Forecaster) -> None:
    [found] = ask("predict", forecaster, csv=gap(series.rows_of()), fill="linear")["predictions"]
    assert "1 missing value" in found["notes"][0]


# Before a model is served


def test_every_model_is_warmed_up_and_those_without_golden_answers_are_named(own_cache: None) -> None:
    """All that a request may ask is done once: kernels that were not compiled then would be while somebody waits."""
    places = {
        "captions": captioned.trained(),
        "moods": classified.moods(),
        "ratings": classified.ratings(),
        "series": series.trained(),
        "tags": tagged.trained(),
    }
    loaded, about = load_models(places, {"threads": 1, "languages": {}})
    assert about["problems"] == []
    assert set(about["unchecked"]) == {name for name, place in places.items() if not (place / "golden.jsonl").exists()}
    assert {"series", "captions"} <= set(about["unchecked"])
    asked = dict[str, set[str]]()

    def remember(kind: str) -> Any:
        return lambda model, payload: asked.setdefault(model.task, set()).add(kind)

    assert warm_up(loaded, {kind: remember(kind) for kind in ANSWERS}) == []
    assert asked == {
        "captioning": {"predict"},
        "classification": {"predict", "features"},
        "regression": {"predict", "features"},
        "forecasting": {"predict"},
        "tagging": {"predict", "features"},
    }


def test_what_a_model_cannot_do_is_told_before_it_is_served(classifier: Classifier) -> None:
    def broken(model: Any, payload: Any) -> Any:
        raise RuntimeError

    def refused(model: Any, payload: Any) -> Any:
        raise BadRequest("no")

    assert warm_up({"moods": classifier}, {"predict": broken, "features": refused}) == [
        "moods: predict fails: internal error; the server's log has more"
    ]
