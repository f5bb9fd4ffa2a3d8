"""Bodies that routes for texts read: JSON, forms, and files in forms."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, quote_from_bytes

from hypothesis import strategies as st

from tests.server.fuzzing import Message
from tests.server.hostile.http import request
from tests.server.hostile.predictions import images, tables
from tests.server.hostile.words import NAMES, texts, values

PAIR = {"source": "en", "target": "es"}
VALID: list[tuple[str, dict[str, Any]]] = [
    ("/translate", {"q": "red house", **PAIR, "format": "html", "alternatives": 2}),
    ("/translate", {"q": ["red <b>house</b>"], "source": "auto", "target": "es"}),
    ("/detect", {"q": "red house"}),
    ("/suggest", {"q": "red", "s": "rojo", **PAIR}),
    ("/v1/translate", {"text": ["red house"], **PAIR, "best": 2, "attention": True}),
    ("/v1/translate", {"text": "red house", "sample": True, "temperature": 0.5, "top_k": 3, "top_p": 0.5, "seed": 1}),
    ("/v1/detect", {"text": "red"}),
    ("/v1/score", {"pairs": [{"source": "red house", "target": "casa roja"}]}),
    ("/v1/score", {"texts": ["the sun"]}),
    ("/v1/generate", {"prompt": "", "tokens": 5, "temperature": 0.5, "top_k": 3, "stop": ["x"], "stream": False}),
    ("/v1/generate", {"tokens": 5, "top_p": 0.5, "seed": 1}),
    ("/v1/features", {"texts": ["red house"], "model": "taught", "whole": True}),
    ("/v1/predict", {"texts": ["good"], "explain": True, "model": "moods"}),
    ("/v1/predict", {"series": {"columns": {"visitors": [1, 2] * 20, "sales": [1, None] * 20}}, "fill": "linear"}),
]
OTHERS = ["model", "api_key", "format", "csv", "images", "horizon", "level", "beam", "x", "", "__proto__"]
KINDS = [
    "application/json; charset=utf-16", "application/json;charset=\xff", "application/vnd.api+json", "text/plain", "",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "*/*", ";", "json", "a/b" * 900,
]  # fmt: skip
CODES = ["utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32-le", "utf-7", "latin-1"]
NESTS = [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ("[", ""), ("-", "")]
TAGS = ["<b>", "<div>", "<table>", "<!--", "<a href='", "<b><i>", "</b>", "&amp", "<![CDATA[", "<script>", "<p>red"]
ENDS = [b"&", b"&" * 200, b"=" * 50, b"%", b"%zz", b"%ff%fe", b";a=b", b"&q=a" * 150, b"\xff\x00"]
PARTS = [
    (b"", b"x"), (b'name=""', b""), (b"name=q", b"red"), (b'name="a', b"x"), (b'name="q"; filename=""', b""),
    (b'name="' + b"n" * 9000 + b'"', b"x"), (b"name*=utf-8''%ff", b"x"), (b'name="resize"', b"true"),
]  # fmt: skip
DISPOSITION = b"Content-Disposition: form-data; "


@st.composite
def json_messages(draw: st.DrawFn) -> Message:
    """A request with a field replaced, left out, or sent twice; sometimes no JSON at all."""
    path, valid = draw(st.sampled_from(VALID))
    fields = dict(valid)
    for _ in range(draw(st.integers(0, 2))):
        fields[draw(st.sampled_from([*valid, *valid, *OTHERS]))] = draw(values())
    if not draw(st.integers(0, 5)):
        fields.pop(draw(st.sampled_from(list(fields))))
    text = json.dumps(fields, ensure_ascii=draw(st.booleans()))
    broken = [text[:-1], text + text, f"[{text}]", text.replace("{", '{"q":1,"text":"a",', 1)]
    text = draw(st.sampled_from([text] * 12 + broken))
    kind = draw(st.sampled_from(["application/json"] * 40 + KINDS))
    return Message("JSON", request(path, _encoded(text, draw(st.sampled_from(CODES))), kind))


def _encoded(text: str, code: str) -> bytes:
    return text.encode(code, "surrogatepass" if code.startswith("utf") and code != "utf-7" else "replace")


@st.composite
def deep_messages(draw: st.DrawFn) -> Message:
    """Lists in lists, objects in objects, tags in tags."""
    depth = draw(st.sampled_from([20, 300, 900, 1100, 30_000]))
    if draw(st.booleans()):
        path, valid = draw(st.sampled_from(VALID))
        begin, end = draw(st.sampled_from(NESTS))
        fields = {**valid, draw(st.sampled_from([*valid, "model"])): "HERE"}
        body = json.dumps(fields).replace('"HERE"', begin * depth + "1" + end * depth)
        return Message("depth", request(path, body.encode()))
    tag, close = draw(st.sampled_from(TAGS)), draw(st.sampled_from(["", "</b>", "</div>"]))
    text = (tag * min(depth, 2000) + "red" + close * min(depth, 2000))[:99_000]
    body = json.dumps({"q": text, **PAIR, "format": "html"})
    return Message("depth", request("/translate", body.encode()))


@st.composite
def form_messages(draw: st.DrawFn) -> Message:
    """Fields of forms and of query strings."""
    path = draw(st.sampled_from(["/translate", "/translate", "/detect", "/suggest", "/v1/predict"]))
    fields = [("q", draw(texts())), ("s", "rojo"), ("source", "en"), ("target", "es")]
    fields = fields[draw(st.sampled_from([0, 0, 0, 1, 2])) :]
    names = st.sampled_from(["q", "source", "format", "alternatives", "api_key", "q[]", ""]) | texts()
    fields += draw(st.lists(st.tuples(names, texts()), max_size=3))
    raw = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in draw(st.permutations(fields))).encode()
    raw += draw(st.sampled_from([b""] * 9 + ENDS))
    if draw(st.booleans()):
        where = path.encode() + b"?" + quote_from_bytes(raw, safe="&=%+;").encode()
        kind = draw(st.sampled_from(["", "", "text/plain", "multipart/form-data"]))
        return Message("query", request(where[:40_000], b"", kind))
    return Message("form", request(path, raw, "application/x-www-form-urlencoded"))


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


@st.composite
def multipart_messages(draw: st.DrawFn) -> Message:
    """Parts with odd headers, odd boundaries, and files with odd names."""
    path = draw(st.sampled_from(["/translate_file", "/translate_file", "/translate", "/v1/predict"]))
    boundary = draw(st.sampled_from([b"b"] * 20 + [b"b" * 70, b"b" * 300, b"-", b" ", b"", b"=", b"(x)"]))
    named = draw(st.sampled_from([boundary] * 12 + [b"other", b'"' + boundary + b'"', boundary + b"; boundary=c"]))
    name = draw(st.sampled_from(NAMES)).encode("utf-8", "surrogatepass")
    parts = [(b'name="file"; filename="' + name + b'"', draw(contents()))]
    if path != "/v1/predict":
        parts += [(b'name="source"', b"en"), (b'name="target"', b"es")]
    parts += draw(st.sampled_from([[]] * 12 + [[part] for part in PARTS] + [parts * 20]))
    head = draw(st.sampled_from([DISPOSITION] * 12 + [b"X: ", b"", b"Content-Disposition:"]))
    line = b"--" + boundary
    whole = b"".join(line + b"\r\n" + head + name + b"\r\n\r\n" + data + b"\r\n" for name, data in parts)
    whole += draw(st.sampled_from([line + b"--\r\n"] * 12 + [line + b"--", b"", line, line + b"--" + b"\0" * 99]))
    return Message("multipart", request(path, whole, "multipart/form-data; boundary=" + named.decode()))


def contents() -> st.SearchStrategy[bytes]:
    """Contents of files: texts, pages, images and tables, and what only looks like them."""
    written = st.tuples(texts(), st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "cp1252"]))
    pages = [
        b"<meta charset=utf-7>+ADw-script+AD4-", b"<meta charset='x'>red", b"<b" * 99, b"\xff\xfe\xff",
        b"\xef\xbb\xbf<p>red<p>house", b"<p>red <b>house</b></p>",
    ]  # fmt: skip
    return written.map(lambda found: _encoded(*found)) | st.sampled_from(pages) | images() | tables() | st.binary()
