"""The OpenAPI description says what the routes do, and the page that shows it loads nothing from elsewhere."""

from __future__ import annotations

import re

import pytest

from tests.server.v1.fake import Client


@pytest.fixture(scope="module")
def client() -> Client:
    return Client()


def test_every_route_documents_its_errors_as_they_are(client: Client) -> None:
    description = client.get("/openapi.json").json()
    routes = {path: route for path, route in description["paths"].items() if path.startswith("/v1/")}
    assert len(routes) == 8
    for path, methods in routes.items():
        for route in methods.values():
            assert route["summary"], path
            assert route["description"], path
            assert {"200", "400", "403", "404", "413", "429", "503"} <= route["responses"].keys(), path
            assert "422" not in route["responses"], "FastAPI's own, which is never sent"
            for status, answer in route["responses"].items():
                if status != "200":
                    schema = answer["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/ErrorResponse"}
    body = routes["/v1/predict"]["post"]["requestBody"]["content"]
    assert body["multipart/form-data"]["schema"]["properties"]["file"]["format"] == "binary"
    assert "$ref" not in str(body)
    assert "text/event-stream" in routes["/v1/generate"]["post"]["responses"]["200"]["content"]
    schemas = description["components"]["schemas"]
    for name in ("TranslateRequest", "ScoreRequest", "GenerateRequest", "FeaturesRequest", "DetectRequest"):
        assert schemas[name]["examples"], name
        assert schemas[name]["additionalProperties"] is False, name


def test_examples_of_the_description_are_answered(client: Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    for path, name in {
        "translate": "TranslateRequest",
        "generate": "GenerateRequest",
        "detect": "DetectRequest",
    }.items():
        assert client.post(f"/v1/{path}", schemas[name]["examples"][0]).status_code == 200, name


def test_the_page_has_all_its_files_here(client: Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert not re.search(r"script-src[^;]*unsafe", policy)
    files = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(files) == 6
    for file in files:
        assert client.get(f"/{file}").status_code == 200, file
    assert "SwaggerUIBundle" in client.get("/docs/swagger-ui-bundle.js").text
    assert "<script>" not in page.text, "a strict policy allows no script inside the page"
    assert "http" not in page.text, "nothing from elsewhere"
    missing = client.get("/docs/..%2f..%2fsettings.py")
    assert missing.status_code == 404
