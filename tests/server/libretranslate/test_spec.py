"""The description of the routes is true: requests made from it are answered as it says, without a 5xx."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings

from tests.server.libretranslate.serving import Client

client = Client()
swagger = schemathesis.openapi.from_dict(client("GET", "/spec").json())
swagger.app = client.app
openapi = schemathesis.openapi.from_dict(client("GET", "/openapi.json").json()).include(tag="LibreTranslate")
openapi.app = client.app
few = settings(max_examples=10, suppress_health_check=list(HealthCheck))


@few
@swagger.parametrize()
def test_requests_from_the_swagger_description(case: Any) -> None:
    # Which languages are served is not in the description: a valid request may have an unknown one.
    case.call_and_validate(excluded_checks=[schemathesis.checks.positive_data_acceptance])


@few
@openapi.parametrize()
def test_requests_from_the_openapi_description(case: Any) -> None:
    assert case.call().status_code < 500


def test_both_descriptions_have_the_same_routes() -> None:
    described = set(client("GET", "/openapi.json").json()["paths"])
    assert set(client("GET", "/spec").json()["paths"]) <= described
