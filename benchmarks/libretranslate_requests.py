"""The requests that benchmarks/libretranslate.py sends to both servers, and where their answers may differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEY, TOKEN = "a-key-of-the-comparison", "a-token-of-the-comparison"
CHARACTERS = 500  # of a text; both servers are started with this limit
RATE = 3  # requests a minute of the slow servers
SENTENCE = "The plant is green."
PAIR = {"source": "en", "target": "es"}
FILE = {"file": ("My notes.txt", b"The plant is green.\n\nThe car is red.\n")}


@dataclass(frozen=True)
class Asked:
    """One request.

    options  of httpx.Client.request
    server   open; locked: it asks for a key, takes suggestions and shows metrics; slow: it takes RATE requests a minute
    times    that it is sent; the last answer counts
    why      the answers differ: the reason; a difference without one is a mistake of ours
    """

    title: str
    method: str
    path: str
    options: dict[str, Any] = field(default_factory=dict)
    server: str = "open"
    why: str = ""
    times: int = 1


def _json(title: str, why: str = "", path: str = "/translate", server: str = "open", **fields: Any) -> Asked:
    given = {"q": SENTENCE, **PAIR, **fields} if path == "/translate" else fields
    kept = {name: value for name, value in given.items() if value is not ...}
    return Asked(title, "POST", path, {"json": kept}, server, why)


def _raw(title: str, body: str, why: str = "") -> Asked:
    return Asked(
        title, "POST", "/translate", {"content": body, "headers": {"Content-Type": "application/json"}}, why=why
    )


TRANSLATE = (
    _json("a text as JSON"),
    _json("a list", q=[SENTENCE, "The car is red."]),
    Asked("urlencoded", "POST", "/translate", {"data": {"q": SENTENCE, **PAIR}}),
    Asked("multipart", "POST", "/translate", {"files": {k: (None, v) for k, v in {"q": SENTENCE, **PAIR}.items()}}),
    Asked("query string", "POST", "/translate", {"params": {"q": SENTENCE, **PAIR}}),
    Asked("query string and form", "POST", "/translate", {"params": {"q": SENTENCE}, "data": {"q": "No", **PAIR}}),
    _json("source auto", q=SENTENCE, source="auto"),
    _json("source auto, a list", q=[SENTENCE, "The car is red."], source="auto"),
    _json("3 alternatives", alternatives=3),
    _json("2 alternatives of a list", q=[SENTENCE, "The car is red."], alternatives=2),
    _json("HTML", q="<p>The plant is <b>green</b>.</p>", format="html"),
    _json("HTML with alternatives", q="<p>The plant is green.</p>", format="html", alternatives=2),
    _json("the same language", source="en", target="en"),
    _json("codes in capitals", source="EN", target="ES"),
    _json("emoji alone", q="😀🎉"),
    _json("emoji alone, auto", q="😀🎉", source="auto"),
    _json("two paragraphs", q="The plant is green.\n\nThe car is red."),
    _json("a null key", api_key=None),
    _json("an unknown field", apiKey=""),
    _json('alternatives "2"', alternatives="2"),
    _json("alternatives true", alternatives=True),
    _json("alternatives -1", alternatives=-1),
    _json("format empty", format=""),
)
ERRORS = (
    _json("without q", q=...),
    _json("q empty", q=""),
    _json("q an empty list", q=[]),
    _json("without source", source=...),
    _json("without target", target=...),
    _json("unknown source", source="zz"),
    _json("unknown target", target="ZZ"),
    _json("unknown format", format="md"),
    _json("4 alternatives", alternatives=4),
    Asked("alternatives a word, form", "POST", "/translate", {"data": {"q": SENTENCE, **PAIR, "alternatives": "x"}}),
    _json("a text that is too long", q="a" * (CHARACTERS + 1)),
    _json(
        "texts that are too long together",
        "LibreTranslate limits each text; we limit all texts of a request together",
        q=["a" * 300, "b" * 300],
    ),
    _json("alternatives null", "LibreTranslate fails with 500", alternatives=None),
    _json("alternatives a word, JSON", "LibreTranslate fails with 500", alternatives="x"),
    _json("q a number", "LibreTranslate fails with 500", q=5),
    _json("q a nested list", "LibreTranslate fails with 500", q=[["The plant is green."]]),
    _json("target a list", target=["es"]),
    _raw("a JSON list", "[]"),
    _raw("broken JSON", "{", "LibreTranslate has the words of Flask; ours are those for other JSON"),
    _raw("half of a surrogate pair", '{"q": "a\\ud83d", "source": "en", "target": "es"}',
         "LibreTranslate does not look; the 500 is from the translator behind it, here Dragoman, which refuses it"),
    Asked("GET /translate", "GET", "/translate", why="LibreTranslate answers with an HTML page"),
    Asked("no such route", "GET", "/nowhere", why="LibreTranslate answers with an HTML page"),
)  # fmt: skip
OTHERS = (
    _json("detect English", path="/detect", q="The plant is green and the car is red."),
    _json("detect Spanish", path="/detect", q="La planta es verde y el coche es rojo."),
    _json("detect a list", path="/detect", q=["The plant is green.", "The car is red."]),
    _json("detect emoji", path="/detect", q="😀"),
    _json("detect without q", path="/detect"),
    Asked("languages", "GET", "/languages"),
    Asked("languages with a body", "GET", "/languages", {"data": {"api_key": ""}}),
    Asked("settings of a page", "GET", "/frontend/settings"),
    Asked("translate a file", "POST", "/translate_file", {"data": PAIR, "files": FILE}, why="no Host in our link"),
    Asked("a file of another format", "POST", "/translate_file", {"data": PAIR, "files": {"file": ("a.xyz", b"a")}}),
    Asked("a file without a target", "POST", "/translate_file", {"data": {"source": "en"}, "files": FILE}),
    Asked("no file", "POST", "/translate_file", {"data": PAIR}, why="LibreTranslate has the words of Flask"),
    Asked("a download that is not there", "GET", "/download_file/none.txt", why="LibreTranslate fails with 500"),
    _json("a suggestion, disabled", path="/suggest", q=SENTENCE, s="La planta es verde.", **PAIR),
    Asked("specification", "GET", "/spec"),
    Asked("health", "GET", "/health", why="ours also says what is served, by how many workers"),
    Asked("metrics, off", "GET", "/metrics", why="LibreTranslate answers with an HTML page"),
)  # fmt: skip
LOCKED = (
    _json("the right key", server="locked", api_key=KEY),
    _json("a wrong key", server="locked", api_key="wrong"),
    _json("no key", "other words", server="locked"),
    Asked("the key in a query", "POST", "/translate", {"params": {"q": SENTENCE, **PAIR, "api_key": KEY}}, "locked"),
    _json("the right key called apiKey", "LibreTranslate does not know this name; we do", server="locked", apiKey=KEY),
    _json("detect with a wrong key", path="/detect", server="locked", q=SENTENCE, api_key="wrong"),
    _json("a suggestion", path="/suggest", server="locked", q=SENTENCE, s="Es verde.", **PAIR, api_key=KEY),
    _json("a suggestion without s", path="/suggest", server="locked", q=SENTENCE, **PAIR, api_key=KEY),
    Asked("metrics without the token", "GET", "/metrics", {}, "locked", "LibreTranslate answers with an HTML page"),
    Asked("metrics", "GET", "/metrics", {"headers": {"Authorization": f"Bearer {TOKEN}"}}, "locked"),
    Asked("settings of a page, keys needed", "GET", "/frontend/settings", {}, "locked"),
)  # fmt: skip
SLOW = (Asked("too many requests", "POST", "/translate", {"json": {"q": SENTENCE, **PAIR}}, "slow", times=RATE + 1),)
REQUESTS = (*TRANSLATE, *ERRORS, *OTHERS, *LOCKED, *SLOW)
