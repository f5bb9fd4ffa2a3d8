"""Requests to a server: good ones, bad ones, too large ones and wrong types, on all routes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHARACTERS, SENTENCES, BODY = 3000, 40, 64  # limits of the server that is asked (--body in KB)
KEY = "a-key-of-a-client"
PLANT = "The man sees the house."
FIELDS = {"q": PLANT, "source": "en", "target": "es"}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=b"}


@dataclass(frozen=True)
class Request:
    """A request; `follow` names a field of the answer that is a link to be fetched too."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    follow: str = ""


def get(path: str, **headers: str) -> Request:
    return Request("GET", path, headers)


def post(path: str, body: Any, **headers: str) -> Request:
    return Request("POST", path, {**JSON, **headers}, json.dumps(body).encode())


def raw(path: str, body: bytes | str, headers: dict[str, str], follow: str = "") -> Request:
    return Request("POST", path, headers, body if isinstance(body, bytes) else body.encode(), follow)


def parts(path: str, name: str, content: bytes, follow: str = "", **fields: str) -> Request:
    """A form with a file."""
    lines = [f'--b\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}' for key, value in fields.items()]
    lines.append(f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n')
    return raw(path, "\r\n".join(lines).encode() + content + b"\r\n--b--\r\n", MULTIPART, follow)


def translate(**change: Any) -> Request:
    return post("/translate", {**FIELDS, **change})


def explained(**change: Any) -> Request:
    return post("/v1/translate", {"text": PLANT, "source": "en", "target": "es", **change})


def predict(**body: Any) -> Request:
    return post("/v1/predict", body)


def generate(**body: Any) -> Request:
    return post("/v1/generate", {"tokens": 12, **body})


def image(place: str) -> str:
    return base64.b64encode(Path(place).read_bytes()).decode()


def columns(rows: int = 40) -> dict[str, list[float]]:
    return {"visitors": [100 + i % 7 for i in range(rows)], "sales": [3 + i % 7 / 10 for i in range(rows)]}


def described() -> dict[str, Request]:
    """What a server says of itself."""
    routes = (
        *("/livez", "/readyz", "/health", "/languages", "/frontend/settings", "/spec", "/openapi.json", "/v1/models"),
        *("/docs", "/docs/nothing", "/", "/nothing", "/metrics", "/favicon.ico", "/download_file/nothing"),
    )
    models = ("translation", "language-model", "classification", "regression", "tagging")
    more = ("image-classification", "captioning", "forecasting", "nothing")
    names = {f"/v1/models/{name}" for name in (*models, *more)}
    return {f"GET {path}": get(path) for path in (*routes, *sorted(names))} | {
        "HEAD /livez": Request("HEAD", "/livez"),
        "PUT /translate": Request("PUT", "/translate", JSON, b"{}"),
        "GET /translate": get("/translate"),
        "DELETE /v1/models": Request("DELETE", "/v1/models"),
        "OPTIONS /translate": Request(
            "OPTIONS", "/translate", {"Origin": "https://x.org", "Access-Control-Request-Method": "POST"}
        ),
        "POST /livez": post("/livez", {}),
        "another host": get("/livez", Host="evil.example"),
        "another origin": post("/translate", FIELDS, Origin="https://evil.example"),
        "an absolute path": get("http://127.0.0.1/livez"),
        "no such version": get("/v2/models"),
    }


def libretranslate() -> dict[str, Request]:
    query = "q=The+man+sees+the+house.&source=en&target=es"
    return {
        "a text": translate(),
        "texts": translate(q=[PLANT, "A friend buys bread.\n\n  The boy pays 12 euros.", ""]),
        "HTML": translate(q="<p>The man <b>sees</b> the <i>old book</i>.</p><br>{name}", format="html"),
        "alternatives": translate(alternatives=2),
        "too many alternatives": translate(alternatives=9),
        "source auto": translate(source="auto"),
        "a form": raw("/translate", query, FORM),
        "a query": raw(f"/translate?{query}", b"", {}),
        "a multipart form": raw(
            "/translate",
            "".join(f'--b\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in FIELDS.items())
            + "--b--\r\n",
            MULTIPART,
        ),
        "a broken form": raw("/translate", "--b\r\nContent-Disposition: form-data\r\n\r\nx", MULTIPART),
        "plain text": raw("/translate", query, {"Content-Type": "text/plain"}),
        "no q": translate(q=None),
        "an empty q": translate(q=""),
        "q is a number": translate(q=5),
        "q is nested": translate(q=[["x"]]),
        "half a surrogate pair": translate(q="\ud83d"),
        "no source": translate(source=""),
        "an unknown target": translate(target="zz"),
        "a target that is a list": translate(target=["es"]),
        "an unknown format": translate(format="md"),
        "the other direction": translate(source="es", target="en"),
        "too many characters": translate(q="a" * (CHARACTERS + 1)),
        "too many sentences": translate(q="A b. " * (SENTENCES + 5)),
        "too large": raw("/translate", b"x" * (BODY * 1024 + 1), JSON),
        "invalid JSON": raw("/translate", "{", JSON),
        "JSON that is a list": raw("/translate", "[]", JSON),
        "nested JSON": raw("/translate", "[" * 5000, JSON),
        "NaN": raw("/translate", '{"q": NaN}', JSON),
        "two lengths": raw("/translate", "{}", {**JSON, "Transfer-Encoding": "chunked"}),
        "detect": post("/detect", {"q": "La mujer quiere el libro viejo."}),
        "detect a list": post("/detect", {"q": ["The woman", "El niño"]}),
        "detect nothing": post("/detect", {}),
        "a text file": parts("/translate_file", "a.txt", PLANT.encode(), "translatedFileUrl", source="en", target="es"),
        "an HTML file": parts(
            "/translate_file",
            "a.html",
            b"<p>The boy <b>buys</b> bread.</p>",
            "translatedFileUrl",
            source="en",
            target="es",
        ),
        "a file of another kind": parts("/translate_file", "a.pdf", b"%PDF", source="en", target="es"),
        "a file that is no text": parts("/translate_file", "a.txt", b"\xff\xfe\xff", source="en", target="es"),
        "no file": raw("/translate_file", query, FORM),
        "suggest": post("/suggest", {**FIELDS, "s": "El hombre ve la casa."}),
        "suggest nothing": post("/suggest", FIELDS),
    }


def of_translators() -> dict[str, Request]:
    return {
        "explained": explained(),
        "best": explained(best=3, attention=True),
        "sampled": explained(sample=True, seed=4, temperature=0.7, top_k=5),
        "several": explained(text=[PLANT, "The boy pays 7 euros."]),
        "long": explained(text=PLANT * 90),
        "beam below best": explained(best=4, beam=2),
        "sampled best": explained(sample=True, best=2),
        "best 0": explained(best=0),
        "best is a text": explained(best="3"),
        "an unknown field": explained(bset=3),
        "an unknown model": explained(model="nothing"),
        "another task's model": explained(model="classification"),
        "an unknown language": explained(target="zz"),
        "no text": post("/v1/translate", {"source": "en", "target": "es"}),
        "a number": explained(text=7),
        "invalid JSON": raw("/v1/translate", "{", JSON),
        "a form": raw("/v1/translate", "text=x", FORM),
        "detect": post("/v1/detect", {"text": "El niño compra pan."}),
        "detect a list": post("/v1/detect", {"text": ["x"]}),
        "score pairs": post("/v1/score", {"pairs": [{"source": PLANT, "target": "El hombre ve la casa."}]}),
        "score texts": post("/v1/score", {"texts": ["the cat sat", "xyz"]}),
        "score both": post("/v1/score", {"texts": ["a"], "pairs": [{"source": "a", "target": "b"}]}),
        "score nothing": post("/v1/score", {}),
        "score no pairs": post("/v1/score", {"pairs": []}),
        "score too long": post("/v1/score", {"texts": ["a" * 25_000]}),
    }


def of_others() -> dict[str, Request]:
    shape, photo, caption = "data/shapes/disc/001.png", "data/photos/disc/001.png", "data/captioned/01.png"
    table = Path("data/recent.csv").read_text(encoding="utf-8")
    mood = ["the film is wonderful", "the plot is dull and awful"]
    return {
        "generate": generate(prompt="the ", stream=False),
        "generate events": generate(prompt="the ", seed=2),
        "generate greedily": generate(prompt="the c", temperature=0, stream=False),
        "generate with stops": generate(prompt="the ", stop=["t"], top_p=0.9, top_k=8, stream=False),
        "generate nothing": generate(tokens=0),
        "generate too much": generate(tokens=10**7),
        "generate with a wrong stop": generate(stop=[""]),
        "generate hot": generate(temperature=1000),
        "generate with a translator": generate(model="translation"),
        "classes": predict(texts=mood, model="classification"),
        "classes explained": predict(texts=mood, model="classification", explain=True),
        "numbers": predict(texts=mood, model="regression"),
        "numbers explained": predict(texts=mood, model="regression", explain=True),
        "tags": predict(texts=["Tom likes the house.", ""], model="tagging"),
        "texts for no model": predict(texts=mood),
        "texts that are a text": predict(texts="x", model="classification"),
        "no texts": predict(texts=[], model="classification"),
        "nothing": predict(),
        "two kinds": predict(texts=["a"], images=["b"]),
        "classes of images": predict(images=[image(shape)], model="image-classification", attention=True),
        "another size": predict(images=[image(photo)], model="image-classification"),
        "resized": predict(images=[image(photo)], model="image-classification", resize=True),
        "no image": predict(images=["!!!"], model="image-classification"),
        "not an image": predict(images=[base64.b64encode(b"hello").decode()], model="image-classification"),
        "too many images": predict(images=[image(shape)] * 17, model="image-classification"),
        "captions": predict(images=[image(caption)], model="captioning", best=2, attention=True),
        "an uploaded image": parts("/v1/predict", "a.png", Path(caption).read_bytes(), model="captioning"),
        "an uploaded image resized": parts(
            "/v1/predict", "a.png", Path(photo).read_bytes(), model="image-classification", resize="true"
        ),
        "an uploaded table": parts("/v1/predict", "a.csv", table.encode(), horizon="3", model="forecasting"),
        "an uploaded nothing": parts("/v1/predict", "a.bin", b"\xff\x00", model="forecasting"),
        "a form without a file": raw("/v1/predict", "--b--\r\n", MULTIPART),
        "a form with a wrong field": parts("/v1/predict", "a.csv", table.encode(), horizon="soon"),
        "a series": predict(series={"columns": columns()}, horizon=4, level=80),
        "a series with times": predict(
            series={"columns": columns(3), "times": ["2024-01-01", "2024-01-02", "2024-01-04"]}
        ),
        "a series too short": predict(series={"columns": columns(2)}),
        "a series of texts": predict(series={"columns": {"visitors": ["a"], "sales": ["b"]}}),
        "another column": predict(series={"columns": {"other": [1.0] * 40}}),
        "a gap": predict(series={"columns": {**columns(), "sales": [None, *columns()["sales"][1:]]}}),
        "a gap filled": predict(
            series={"columns": {**columns(), "sales": [3.0, None, *columns()["sales"][2:]]}}, fill="linear"
        ),
        "a table": predict(csv=table, horizon=2),
        "no table": predict(csv="a,b\n"),
        "a horizon too long": predict(csv=table, horizon=5000),
        "a wrong level": predict(csv=table, level=100),
        "another level": predict(csv=table, level=42),
        **{
            f"{what} for /v1/{route}": raw(f"/v1/{route}", body, headers)
            for route in ("predict", "generate", "features", "score", "detect")
            for what, body, headers in (
                ("invalid JSON", "{", JSON),
                ("a JSON list", "[]", JSON),
                ("nested JSON", "[" * 5000, JSON),
                ("plain text", "hello", {"Content-Type": "text/plain"}),
                ("too large a body", b"x" * (BODY * 1024 + 1), JSON),
            )
        },
        "features of words": post("/v1/features", {"texts": ["Tom likes the house."], "model": "tagging"}),
        "features of texts": post("/v1/features", {"texts": mood, "model": "translation", "whole": True}),
        "features of images": post("/v1/features", {"texts": mood, "model": "captioning"}),
        "features of no texts": post("/v1/features", {"texts": [], "model": "tagging"}),
        "features of too much": post("/v1/features", {"texts": ["a " * 1700], "model": "tagging"}),
    }


def with_keys() -> dict[str, Request]:
    """For a server with keys, metrics, suggestions and pages of another origin."""
    origin = "https://example.org"
    return {
        "no key": translate(),
        "a wrong key": translate(api_key="wrong"),
        "a key that is no text": translate(api_key=5),
        "the key": translate(api_key=KEY),
        "the key of a bearer": post("/translate", FIELDS, Authorization=f"Bearer {KEY}"),
        "no key for /v1": explained(),
        "the key for /v1": explained(api_key=KEY),
        "a model without a key": get("/v1/models/translation"),
        "a model with a key": get("/v1/models/translation", Authorization=f"Bearer {KEY}"),
        "models need none": get("/v1/models"),
        "settings": get("/frontend/settings"),
        "suggest": post("/suggest", {**FIELDS, "s": "El hombre ve la casa.", "api_key": KEY}),
        "suggest without a text": post("/suggest", {**FIELDS, "api_key": KEY}),
        "an allowed origin": post("/translate", {**FIELDS, "api_key": KEY}, Origin=origin),
        "a preflight": Request("OPTIONS", "/translate", {"Origin": origin, "Access-Control-Request-Method": "POST"}),
        "a refused preflight": Request(
            "OPTIONS", "/translate", {"Origin": "https://x.org", "Access-Control-Request-Method": "POST"}
        ),
        "metrics without a token": get("/metrics"),
        "openapi": get("/openapi.json"),
    }


BROKEN = {
    "not HTTP": b"hello\r\n\r\n",
    "no host": b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n",
    "an old version": b"GET /livez HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "a long header": b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
}
