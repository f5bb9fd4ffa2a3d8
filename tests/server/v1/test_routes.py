"""What the routes under /v1 ask of the models, and what they answer."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dragoman.server.backend import ModelInfo
from dragoman.server.bounds import EXPLAINED
from dragoman.server.settings import ServerSettings
from dragoman.server.v1 import responses
from tests.server.v1.fake import Client, FakeBackend

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"


@pytest.fixture
def client() -> Client:
    return Client()


# Models


def test_models_are_listed_and_described(client: Client) -> None:
    listed = client.get("/v1/models").json()
    assert [model["name"] for model in listed["models"]] == [
        "en-es", "es-en", "writer", "moods", "shapes", "visitors",
    ]  # fmt: skip
    responses.ModelsResponse.model_validate(listed)
    about = client.get("/v1/models/moods").json()
    assert about == {"name": "moods", "task": "classification", "metadata": {}, "history": [], "evaluation": None}
    missing = client.get("/v1/models/nobody")
    assert missing.status_code == 404
    assert missing.json() == {"error": "there is no such model; /v1/models lists those that are served"}


# Translation


def test_a_text_is_explained_by_the_model_of_its_languages(client: Client) -> None:
    found = client.post("/v1/translate", {"text": "hello", "source": "EN", "target": "es", "best": 3, "beam": 5})
    responses.ExplainedResponse.model_validate(found.json())
    assert found.json()["model"] == "en-es"
    assert (found.json()["source"], found.json()["target"]) == ("en", "es")
    assert "detected" not in found.json()
    [(kind, model, payload)] = client.backend.asked
    assert (kind, model) == ("explain", "en-es")
    assert (payload["text"], payload["best"], payload["beam"], payload["attention"]) == ("hello", 3, 5, False)


def test_a_list_of_texts_gives_a_list_of_results(client: Client) -> None:
    found = client.post("/v1/translate", {"text": ["a", "b", "c"], "model": "en-es"}).json()
    assert [result["model"] for result in found["results"]] == ["en-es"] * 3
    assert sorted(payload["text"] for _, _, payload in client.backend.asked) == ["a", "b", "c"]


def test_auto_asks_for_the_language_first(client: Client) -> None:
    found = client.post("/v1/translate", {"text": "hola", "source": "auto", "target": "en"}).json()
    assert found["model"] == "es-en"
    assert found["detected"] == {"language": "es", "confidence": 93.0}
    to_itself = client.post("/v1/translate", {"text": "hola", "source": "auto", "target": "es"}).json()
    assert to_itself["detected"]["language"] == "en", "the best of those that can be translated"


@pytest.mark.parametrize("more", [{"format": "html"}, {"text": "a" * (EXPLAINED + 1)}])
def test_html_and_long_texts_are_translated_sentence_by_sentence(client: Client, more: dict[str, Any]) -> None:
    given = {"text": "<b>hello</b>", "model": "en-es", "best": 2, **more}
    found = client.post("/v1/translate", given).json()
    responses.ExplainedResponse.model_validate(found)
    assert [each["text"] for each in found["translations"]] == ["hola", "buenas"]
    assert found["alignment"] is None
    assert [kind for kind, *_ in client.backend.asked] == ["translate"]
    assert "'sample' and 'beam'" in client.error("/v1/translate", {**given, "beam": 3})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": "hello"}, "several models are served; name 'source' and 'target': en to es, es to en"),
        ({"text": "hello", "source": "en", "target": "fr"}, "these languages are not served; there is en to es,"),
        ({"text": "hello", "model": "nobody"}, "'model' is not served; choose one of en-es, es-en"),
        ({"text": "hello", "source": "auto", "target": "fr"}, "the language of the text could not be told"),
        ({"text": []}, "there is no text in the request"),
    ],
)
def test_languages_that_are_not_served(client: Client, given: dict[str, Any], message: str) -> None:
    assert client.error("/v1/translate", given).startswith(message)


def test_without_a_translator() -> None:
    client = Client(FakeBackend([ModelInfo("writer", "language-model")]))
    assert client.error("/v1/translate", {"text": "a"}) == "no model for translation is served"


def test_detection(client: Client) -> None:
    found = client.post("/v1/detect", {"text": "hola"}).json()
    assert found["detections"][0] == {"language": "es", "confidence": 93.0}


# Other tasks


def test_scores_come_in_small_jobs(client: Client) -> None:
    pairs = [{"source": "a", "target": str(i)} for i in range(70)]
    found = client.post("/v1/score", {"pairs": pairs, "model": "en-es"}).json()
    assert len(found["scores"]) == 70
    assert [len(payload["pairs"]) for _, _, payload in client.backend.asked] == [32, 32, 6]
    assert client.backend.asked[1][2]["pairs"][0] == ["a", "32"]
    assert client.post("/v1/score", {"texts": ["a"]}).json()["model"] == "writer"


def test_vectors(client: Client) -> None:
    found = client.post("/v1/features", {"texts": ["a", "b"], "model": "moods", "whole": True}).json()
    responses.FeaturesResponse.model_validate(found)
    assert client.backend.asked == [("features", "moods", {"texts": ["a", "b"], "whole": True})]


def test_predictions_of_texts_images_and_series(client: Client) -> None:
    texts = client.post("/v1/predict", {"texts": ["good"], "explain": True}).json()
    assert (texts["model"], texts["task"], len(texts["predictions"])) == ("moods", "classification", 1)
    image = base64.b64encode(PNG).decode()
    assert client.post("/v1/predict", {"images": [image] * 5}).json()["model"] == "shapes"
    series = {"columns": {"x": [1.0, None, 3]}, "times": ["2024-01-01", "2024-01-02", "2024-01-03"]}
    assert client.post("/v1/predict", {"series": series, "horizon": 3}).json()["model"] == "visitors"
    asked = [payload for _, _, payload in client.backend.asked]
    assert asked[0]["texts"] == ["good"]
    assert asked[0]["explain"] is True
    assert [len(payload["images"]) for payload in asked[1:3]] == [4, 1], "few images at a time"
    assert asked[3]["series"] == series
    assert asked[3]["horizon"] == 3


@pytest.mark.parametrize(
    ("data", "kind", "model"), [(PNG, "images", "shapes"), (b"\xef\xbb\xbfa\n1\n", "csv", "visitors")]
)
def test_an_uploaded_file(client: Client, data: bytes, kind: str, model: str) -> None:
    options = {"resize": "true", "horizon": "5", "level": "80"}
    found = client.request("POST", "/v1/predict", files={"file": ("../../x.png", data)}, data=options)
    assert found.status_code == 200, found.text
    assert found.json()["model"] == model
    payload = client.backend.asked[0][2]
    assert (payload["resize"], payload["horizon"], payload["level"]) == (True, 5, 80.0)
    assert payload[kind] == ([base64.b64encode(PNG).decode()] if kind == "images" else "a\n1\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"files": {"other": b"x"}}, "'file' is missing: send an image or a table as a file of the form"),
        ({"files": {"file": b"\xff\xfe\x00"}}, "the file is neither a PNG or JPEG image nor a table in UTF-8"),
        ({"files": {"file": PNG}, "data": {"horizon": "many"}}, "'horizon' must be a whole number"),
        ({"files": {"file": PNG}, "data": {"color": "1"}}, "'color' is not a field of this request"),
        ({"content": b"{", "headers": {"content-type": "application/json"}}, "the body is not valid JSON"),
        ({"content": b"[" * 100_000, "headers": {"content-type": "application/json"}}, "the body is not valid JSON"),
        ({"content": b"text"}, "send a JSON object with Content-Type: application/json, or a form with a file"),
        ({"json": {"texts": ["a"], "csv": "a"}}, "give one of 'texts', 'images', 'series' and 'csv'"),
        ({"json": {"series": {"columns": {"x": ["1"]}}}}, "'series.columns.x' must have numbers, and null"),
    ],
)
def test_mistakes_in_uploads(client: Client, given: dict[str, Any], message: str) -> None:
    answer = client.request("POST", "/v1/predict", **given)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"].startswith(message)
    assert client.backend.asked == []


# Limits and keys

SMALL = ServerSettings(characters=20, texts=2, tokens=10, image_bytes=10, file_bytes=10)


@pytest.mark.parametrize(
    ("path", "given", "status", "message"),
    [
        ("translate", {"text": "a" * 21, "model": "en-es"}, 413, "the request has 21 characters, more than 20"),
        ("translate", {"text": ["a"] * 3, "model": "en-es"}, 413, "the request has 3 texts, more than 2"),
        ("detect", {"text": "a" * 21}, 413, "the request has 21 characters"),
        ("score", {"pairs": [{"source": "a" * 20, "target": "b"}]}, 413, "the request has 21 characters"),
        ("features", {"texts": ["a"] * 3, "model": "moods"}, 413, "the request has 3 texts"),
        ("predict", {"texts": ["a"] * 3}, 413, "the request has 3 texts"),
        ("predict", {"images": ["A" * 20]}, 413, "image 1 has 15 bytes, more than 10"),
        ("predict", {"csv": "1\n" * 20}, 413, "the table has 40 bytes, more than 10"),
        ("generate", {"tokens": 11}, 400, "'tokens' must be at most 10 on this server, got 11"),
    ],
)
def test_limits_of_the_server(path: str, given: dict[str, Any], status: int, message: str) -> None:
    client = Client(settings=SMALL)
    assert client.error(f"/v1/{path}", given, status).startswith(message)
    assert client.backend.asked == []


@pytest.mark.parametrize("data", [PNG, b"1\n" * 20])
def test_limits_of_uploads(data: bytes) -> None:
    answer = Client(settings=SMALL).request("POST", "/v1/predict", files={"file": data})
    assert answer.status_code == 413


BODIES: dict[str, dict[str, Any]] = {
    "translate": {"text": "a", "model": "en-es"},
    "detect": {"text": "a"},
    "score": {"texts": ["a"]},
    "generate": {"tokens": 1},
    "predict": {"texts": ["a"]},
    "features": {"texts": ["a"], "model": "moods"},
}


@pytest.mark.parametrize("path", BODIES)
def test_keys(path: str) -> None:
    client, body = Client(settings=ServerSettings(keys=frozenset({"right"}))), BODIES[path]
    assert "api_key" in client.error(f"/v1/{path}", body)
    assert client.error(f"/v1/{path}", {**body, "api_key": "wrong"}, 403) == "Invalid API key"
    assert client.backend.asked == []
    assert client.post(f"/v1/{path}", {**body, "api_key": "right"}).status_code == 200
    assert client.post(f"/v1/{path}", body, headers={"Authorization": "Bearer right"}).status_code == 200
    assert "api_key" not in client.backend.asked[-1][2], "the key goes no further"


def test_training_curves_need_a_key_and_the_list_does_not() -> None:
    client = Client(settings=ServerSettings(keys=frozenset({"right"})))
    assert client.get("/v1/models").status_code == 200
    assert client.get("/v1/models/moods").status_code == 400
    assert client.get("/v1/models/moods", headers={"Authorization": "Bearer right"}).status_code == 200
