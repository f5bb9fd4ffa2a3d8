"""The description of the routes is true: requests made from it are answered as it says, without a 5xx."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis

from tests.server.describing import VALID, operations, send_some
from tests.server.libretranslate.serving import Client

MULTIPART, URLENCODED = ["multipart/form-data"], "application/x-www-form-urlencoded"
client = Client()
SWAGGER = operations(client("GET", "/spec").json(), client.app)
OPENAPI = operations(client("GET", "/openapi.json").json(), client.app, tag="LibreTranslate")


@pytest.mark.parametrize("name", SWAGGER)
def test_requests_from_the_swagger_description(name: str) -> None:
    def check(case: Any) -> None:
        # Which languages are served is not in the description: a valid request may have an unknown one.
        case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])

    send_some(SWAGGER[name], VALID, 10, check)


@pytest.mark.parametrize("name", OPENAPI)
def test_requests_from_the_openapi_description(name: str) -> None:
    def check(case: Any) -> None:
        assert case.call().status_code < 500

    send_some(OPENAPI[name], VALID, 10, check)


def test_both_descriptions_have_the_same_routes() -> None:
    described = set(client("GET", "/openapi.json").json()["paths"])
    assert set(client("GET", "/spec").json()["paths"]) <= described


@pytest.mark.parametrize(("path", "kinds"), [("/translate_file", MULTIPART), ("/translate", [*MULTIPART, URLENCODED])])
def test_files_are_sent_as_forms_in_parts(path: str, kinds: list[str]) -> None:
    assert client("GET", "/spec").json()["paths"][path]["post"]["consumes"] == kinds
