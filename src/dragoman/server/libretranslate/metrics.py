"""Counts and times of requests, in the text format that Prometheus reads."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from dragoman.server.errors import WrongKey

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DURATION = "libretranslate_http_request_duration_seconds"
GONE = 499
IN_FLIGHT = "libretranslate_http_requests_in_flight"


class Metrics:
    """Names and labels are LibreTranslate's; addresses and keys of clients are left out."""

    def __init__(self) -> None:
        self._times = {("/translate", 200): [0.0, 0.0]}  # requests and seconds of (endpoint, status)
        self._in_flight = {"/translate": 0}
        self._texts = 0
        self._characters = 0

    def count_texts(self, texts: list[str]) -> None:
        self._texts += len(texts)
        self._characters += sum(len(text) for text in texts)

    def observe(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """Count an answer; a client that did not wait for it has status 499."""
        entry = self._times.setdefault((endpoint, status or GONE), [0.0, 0.0])
        entry[0] += 1
        entry[1] += seconds

    @contextmanager
    def in_flight(self, endpoint: str) -> Iterator[None]:
        self._in_flight[endpoint] = self._in_flight.get(endpoint, 0) + 1
        try:
            yield
        finally:
            self._in_flight[endpoint] -= 1

    def as_text(self, status: Mapping[str, Any]) -> str:
        """Everything counted here, and the numbers of the backend's status."""
        lines = [f"# HELP {DURATION} Time spent on request", f"# TYPE {DURATION} summary"]
        for (endpoint, code), (count, seconds) in sorted(self._times.items()):
            labels = f'{{endpoint="{endpoint}",status="{code}"}}'
            lines += [f"{DURATION}_count{labels} {count}", f"{DURATION}_sum{labels} {seconds}"]
        lines += [f"# HELP {IN_FLIGHT} Active requests", f"# TYPE {IN_FLIGHT} gauge"]
        lines += [f'{IN_FLIGHT}{{endpoint="{endpoint}"}} {count}' for endpoint, count in self._in_flight.items()]
        lines += _metric("dragoman_texts_total", "Texts to translate", "counter", self._texts)
        lines += _metric("dragoman_characters_total", "Characters of these texts", "counter", self._characters)
        lines += _metric("dragoman_ready", "Whether every model can be used", "gauge", status.get("status") == "ok")
        for name, value in status.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                lines += _metric(f"dragoman_{name}", f"{name} of the server", "gauge", value)
        return "\n".join(lines) + "\n"


def _metric(name: str, meaning: str, kind: str, value: float) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name} {float(value)}"]


def check_token(request: Request, token: str | None) -> None:
    """Whoever reads the metrics has to know the token, where there is one."""
    given = request.headers.get("authorization", "").encode("utf-8", "replace")
    if token is not None and not hmac.compare_digest(given, f"Bearer {token}".encode()):
        raise WrongKey("Unauthorized", status=401)


def counted_route(metrics: Metrics) -> type[APIRoute]:
    """A class of routes whose requests in flight are counted.

    Those that take the request alone, and answer with a response, are called without FastAPI's search for arguments.
    """

    class CountedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            alone = list(signature(self.endpoint).parameters) == ["request"] and not self.dependencies
            handler = self.endpoint if alone else super().get_route_handler()

            async def counted(request: Request) -> Response:
                with metrics.in_flight(self.path):
                    return await handler(request)

            return counted

    return CountedRoute
