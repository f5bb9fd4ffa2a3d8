"""What every request goes through: sizes, times, rates, headers, and a log that holds no text."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.server.errors import BadRequest, Forbidden
from dragoman.server.limits import Limits, Rates
from dragoman.server.settings import ServerSettings, read_keys

Headers = Sequence[tuple[bytes, bytes]]
SETTINGS = ServerSettings(body_bytes=100, buffered_bytes=150)
IMPATIENT = replace(SETTINGS, slow=0.2)  # for tests of requests that never arrive


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-security-policy", b"own")]})
    await send({"type": "http.response.body", "body": body})


def parts(*bodies: bytes, pause: float = 0.0) -> Callable[[], Awaitable[dict[str, Any]]]:
    left = list(bodies)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not left:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return receive


def request(
    app: Limits,
    receive: Any,
    query: bytes = b"",
    address: str = "1.2.3.4",
    headers: Headers = (),
    method: str = "POST",
) -> tuple[int, dict[str, str], bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/x", "query_string": query, "headers": headers}
    scope["client"] = (address, 1)
    asyncio.run(app(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:])


def test_a_request_in_parts_arrives_whole() -> None:
    status, _, body = request(Limits(echo, SETTINGS), parts(b"one ", b"two ", b"three"))
    assert (status, body) == (200, b"one two three")


def test_security_headers_are_added_and_those_of_a_route_kept() -> None:
    _, headers, _ = request(Limits(echo, SETTINGS), parts(b""))
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"] == "own"


@pytest.mark.parametrize("bodies", [(101 * b"x",), (60 * b"x", 60 * b"x")])
def test_a_large_request_is_refused(bodies: tuple[bytes, ...]) -> None:
    status, headers, body = request(Limits(echo, SETTINGS), parts(*bodies))
    assert status == 413
    assert json.loads(body) == {"error": "the request has more than 100 bytes"}
    assert "connection" not in headers  # it is still sending: after a close it would not see the answer


@pytest.mark.parametrize(
    ("headers", "status", "closes"),
    [
        ([(b"content-length", b"101")], 413, False),
        ([(b"content-length", b"9" * 5000)], 413, False),
        ([(b"content-length", b"101"), (b"expect", b"100-continue")], 413, True),
        ([(b"content-length", b"5"), (b"transfer-encoding", b"chunked")], 400, True),
    ],
)
def test_some_requests_are_refused_by_their_headers(headers: Headers, status: int, closes: bool) -> None:
    async def receive() -> Any:
        raise AssertionError("the body is not read")

    found, answer, body = request(Limits(echo, SETTINGS), receive, headers=headers)
    assert (found, answer.get("connection") == "close") == (status, closes)
    assert list(json.loads(body)) == ["error"]


def test_a_request_that_trickles_in_is_given_up() -> None:
    status, _, body = request(Limits(echo, IMPATIENT), parts(*[b"x"] * 20, pause=0.05))
    assert status == 408
    assert "did not arrive within 0.2 s" in json.loads(body)["error"]


def test_all_requests_together_have_a_limit() -> None:
    """Memory is bounded though each request is small."""
    app, answers = Limits(echo, SETTINGS), list[int]()

    async def together() -> None:
        async def one() -> None:
            async def send(message: dict[str, Any]) -> None:
                if message["type"] == "http.response.start":
                    answers.append(message["status"])

            scope = {"type": "http", "method": "POST", "path": "/x", "query_string": b"", "headers": []}
            await app(scope, parts(60 * b"x", b"", b"", pause=0.02), send)

        await asyncio.gather(*(one() for _ in range(4)))

    asyncio.run(together())
    assert sorted(answers) == [200, 200, 503, 503]
    assert request(app, parts(b"later"))[0] == 200  # what they held is given back


def test_the_last_part_of_a_request_counts_too() -> None:
    app, held = Limits(echo, SETTINGS), list[int]()

    async def look(scope: Any, receive: Any, send: Any) -> None:
        held.append(app._buffered)
        await echo(scope, receive, send)

    app._app = look
    request(app, parts(60 * b"x", 20 * b"x"))
    assert held == [80]
    assert app._buffered == 0


def test_a_client_that_leaves_ends_its_request() -> None:
    ended: list[str] = []

    async def long(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("cancelled")

    async def leaving() -> dict[str, Any]:
        left.append(len(left))
        return {"type": "http.request", "body": b""} if len(left) == 1 else {"type": "http.disconnect"}

    left: list[int] = []
    with pytest.raises(IndexError):  # no answer was sent
        request(Limits(long, SETTINGS), leaving)
    assert ended == ["cancelled"]


def test_a_request_of_many_jobs_has_one_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def long(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr("dragoman.server.limits.GRACE", 0.0)
    status, headers, body = request(Limits(long, replace(SETTINGS, timeout=0.1)), parts(b""))
    assert (status, headers["retry-after"]) == (503, "5")
    assert "took too long" in json.loads(body)["error"]


def test_a_bug_is_logged_without_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError((await receive())["body"])

    status, _, body = request(Limits(broken, SETTINGS), parts(b"my diary"))
    assert (status, json.loads(body)) == (500, {"error": "internal error; the server's log has more"})
    assert "KeyError in a request" in caplog.text
    assert "diary" not in caplog.text


def test_one_address_may_send_so_many_requests_a_minute() -> None:
    app = Limits(echo, replace(SETTINGS, rate=3))
    assert [request(app, parts(b""))[0] for _ in range(4)] == [200, 200, 200, 429]
    assert request(app, parts(b""), address="5.6.7.8")[0] == 200
    _, headers, body = request(app, parts(b""))
    assert json.loads(body)["error"].startswith("Slowdown:")
    assert int(headers["retry-after"]) > 0


def test_addresses_are_forgotten_before_they_fill_the_memory() -> None:
    rates = Rates(1)
    for number in range(20_000):
        rates.count(str(number))
    assert len(rates._left) <= 10_000
    assert rates.wait("19999")


def test_the_log_holds_no_text_unless_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dragoman.access")
    request(Limits(echo, SETTINGS), parts(b"my diary"), b"q=my+diary")
    assert "POST other 200" in caplog.text
    assert "diary" not in caplog.text
    request(Limits(echo, replace(SETTINGS, log_text=True)), parts(b"my diary"))
    assert "my diary" in caplog.text


def test_keys(tmp_path: Any) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\n alpha \n\nbeta\n")
    keys = read_keys(file, "gamma,delta")
    assert keys == {"alpha", "beta", "gamma", "delta"}
    settings = ServerSettings(keys=keys)
    settings.check_key("gamma")
    ServerSettings().check_key(None)
    with pytest.raises(Forbidden, match="Invalid API key"):
        settings.check_key("wrong")
    for missing in (None, "", 5):
        with pytest.raises(BadRequest, match="api_key"):
            settings.check_key(missing)
    file.write_text("# nothing\n")
    with pytest.raises(ConfigurationError, match="holds no API key"):
        read_keys(file, None)


def test_probes_and_the_files_of_the_page_are_not_counted() -> None:
    """A page has more files than a strict limit has requests."""
    app = Limits(echo, replace(SETTINGS, rate=1))
    assert [request(app, parts(b""), method="GET")[0] for _ in range(5)] == [200] * 5
    assert [request(app, parts(b""))[0] for _ in range(2)] == [200, 429]


def test_a_client_that_does_not_read_its_error_is_left_alone() -> None:
    async def stuck(message: dict[str, Any]) -> None:
        await asyncio.sleep(3600)

    scope = {"type": "http", "method": "POST", "path": "/x", "query_string": b"", "headers": []}
    asyncio.run(Limits(echo, IMPATIENT)(scope, parts(101 * b"x"), stuck))
