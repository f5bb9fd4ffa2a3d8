"""The OpenAPI description of the whole application is true, and requests that it does not allow are refused."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.describing import INVALID, VALID, operations, send_some
from tests.server.v1.fake import FakeBackend

EXAMPLES = 12
APP = create_app(FakeBackend(), ServerSettings(timeout=10))
OPERATIONS = operations(APP.openapi(), APP)
WITH_BODY = [name for name, operation in OPERATIONS.items() if operation.body]
# What is served, and which fields go together, is not in the description: a valid request may be refused.
UNKNOWN = [schemathesis.checks.positive_data_acceptance]


def answered(case: Any) -> None:
    """The answer has a status, a content type and a body that are described; every error is one sentence."""
    response = case.call_and_validate(excluded_checks=UNKNOWN)
    if response.status_code >= 400 and case.method != "HEAD":
        error = response.json()
        assert list(error) == ["error"]
        assert isinstance(error["error"], str)


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_the_description_allows(name: str) -> None:
    send_some(OPERATIONS[name], VALID, EXAMPLES if "{" in name or name in WITH_BODY else 1, answered)


@pytest.mark.parametrize("name", WITH_BODY)
def test_what_it_does_not_allow(name: str) -> None:
    send_some(OPERATIONS[name], INVALID, EXAMPLES, answered)
