"""The files of the page: what is sent, and what is in them."""

from __future__ import annotations

import re
from posixpath import join, normpath

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from dragoman.server.page import CONTENT_SECURITY_POLICY, router, static_files
from tests.server.page.fake import Fake

FILES = static_files()
SCRIPTS = sorted(name for name in FILES if name.endswith(".js"))


def text_of(name: str) -> str:
    return FILES[name].content.decode()


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Fake().app)


def test_the_page_comes_with_a_strict_policy(client: TestClient) -> None:
    found = client.get("/")
    assert found.status_code == 200
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    assert found.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY


def test_every_file_is_sent_with_its_type_and_only_once(client: TestClient) -> None:
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
    for name in FILES.keys() - {"index.html"}:
        found = client.get(f"/static/{name}")
        assert (found.status_code, found.content) == (200, FILES[name].content)
        assert found.headers["content-type"] == kinds[name.rpartition(".")[2]]
        again = client.get(f"/static/{name}", headers={"If-None-Match": found.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "name", ["index.html", "../__init__.py", "%2e%2e/__init__.py", "nothing.js", "", "..%2findex.html"]
)
def test_nothing_else_is_sent(client: TestClient, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_the_router_leaves_the_api_description_alone() -> None:
    app = FastAPI()
    app.include_router(router())
    assert app.openapi()["paths"] == {}


def test_what_the_page_loads_exists() -> None:
    page = text_of("index.html")
    for name in re.findall(r'(?:href|src)="static/([^"]+)"', page):
        assert name in FILES
    for name in SCRIPTS:
        for loaded in re.findall(r'(?:from |import\()"([^"]+)"', text_of(name)):
            assert normpath(join(name, "..", loaded)) in FILES, f"{name} imports {loaded}"


def test_no_text_of_a_user_can_become_markup_or_code() -> None:
    page = text_of("index.html")
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]* src=)", page)
    for name in SCRIPTS:
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|Function\(", text_of(name)
        )
        assert found is None, f"{name}: {found}"


def test_no_file_names_an_address_elsewhere() -> None:
    for name, file in FILES.items():
        found = set(re.findall(r"https?://[^\s\"'`]+|url\([^)]*\)", file.content.decode()))
        assert found <= {"http://www.w3.org/2000/svg"}, name


def test_modules_stay_small() -> None:
    assert max(text_of(name).count("\n") for name in SCRIPTS) < 250
