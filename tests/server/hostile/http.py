"""Requests as bytes: methods, paths, headers, and what is hardly HTTP."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.server.fuzzing import Message

METHODS = ["GET", "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "get", "A" * 300]
PATHS = [
    "/translate", "/v1/translate", "/v1/predict", "/v1/generate", "/", "/docs", "/docs/docs.js", "/openapi.json",
    "/languages", "/frontend/settings", "/spec", "/health", "/v1/models", "/v1/models/taught", "/static/base.css",
    "/download_file/x", "/translate_file", "/metrics", "*",
]  # fmt: skip
ENDS = [
    "%00", "/..", "/%2e%2e/%2e%2e/etc/passwd", "%ff%fe", "//", "/;a=b", "?%00=%ff", "?" + "a" * 9000, "#x", "%",
    "\\..\\", "?a[b]=c&&", "?api_key=x", "/a" * 2000,
]  # fmt: skip
HEADERS = [
    b"Host: [\r\n", b"X-Forwarded-For: 127.0.0.1\r\n", b"Authorization: Bearer \xff\r\n", b"Authorization: Basic x\r\n",
    b"Cookie: " + b"a=b; " * 500 + b"\r\n", b"Accept: " + b"*/*," * 900 + b"\r\n", b"X: " + b"y" * 30_000 + b"\r\n",
    b"Origin: null\r\n", b"Range: bytes=0-,0-,9999999999-\r\n", b"If-None-Match: " + b'"a",' * 2000 + b"\r\n",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n",
    b"Access-Control-Request-Method: POST\r\nOrigin: http://evil.example\r\n", b"Expect: 200-ok\r\n",
    b"Content-Encoding: gzip\r\n", b"Transfer-Encoding: identity\r\n", b"Connection: close, close\r\n",
    b"Connection: " + b"x," * 800 + b"\r\n", b"Accept-Language: \x80\r\n", b"Expect: 100-continue\r\n",
]  # fmt: skip
POST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
RAW = [
    POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", POST + b"Content-Length: 0, 4\r\n\r\nabcd",
    POST + b"Content-Length: -1\r\n\r\n", POST + b"Content-Length: +4\r\n\r\nabcd",
    POST + b"Content-Length: 0x4\r\n\r\nabcd", POST + b"Content-Length: 99999999999999999999\r\n\r\nabc",
    POST + b"Content-Length: 1000\r\n\r\nabc", POST + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    CHUNKED + b"ffffffffffffffff\r\nabc", CHUNKED + b"-1\r\nabc", CHUNKED + b"1\r\na\r\n" * 20_000,
    CHUNKED + b"1;" + b"x" * 70_000, CHUNKED + b"0\r\nX: y\r\nContent-Length: 5\r\n\r\n", CHUNKED + b"zz\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50, b"GET /health HTTP/1.1\nHost: localhost\n\n",
    b"GET /health HTTP/1.1\r\n Host: localhost\r\n\r\n", b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n", b"GET /health\r\n", b"\r\n" * 50, b"\0" * 500,
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nX\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"SSH-2.0-x\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200, b"EHLO x\r\n", b"A" * 100_000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
]  # fmt: skip


def request(
    target: str | bytes, body: bytes = b"", kind: str = "application/json", method: str = "POST", head: bytes = b""
) -> bytes:
    """A request of HTTP around a body."""
    where = target if isinstance(target, bytes) else target.encode("utf-8", "replace")
    lines = [method.encode() + b" " + where + b" HTTP/1.1", b"Host: localhost", b"Content-Length: %d" % len(body)]
    lines += [b"Content-Type: " + kind.encode("latin-1", "replace")] if kind else []
    return b"\r\n".join(lines) + b"\r\n" + head + b"\r\n" + body


@st.composite
def path_messages(draw: st.DrawFn) -> Message:
    """Methods, paths and headers."""
    begin = draw(st.sampled_from(["", "", "", "http://evil.example", "//evil.example"]))
    target = begin + draw(st.sampled_from(PATHS)) + draw(st.sampled_from(["", "", "", *ENDS]))
    head = b"".join(draw(st.lists(st.sampled_from(HEADERS), max_size=2)))
    return Message("path", request(target, b"", "", draw(st.sampled_from(METHODS)), head))


@st.composite
def raw_messages(draw: st.DrawFn) -> Message:
    """Lengths that contradict each other, half requests, bytes of other protocols; sent in pieces, left half-way."""
    good = request("/translate", b'{"q":"red house","source":"en","target":"es"}')
    data = draw(st.sampled_from([good, *RAW]) | st.binary(max_size=200))
    if draw(st.booleans()):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        data = data[:at] + draw(st.binary(max_size=6)) + data[at + draw(st.integers(0, 9)) :]
    pieces, leave = draw(st.sampled_from([1, 1, 1, 4])), draw(st.sampled_from(["", "half", "early"]))
    return Message("raw", data, complete=False, pieces=pieces, leave=leave)
