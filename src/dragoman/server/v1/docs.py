"""/docs: Swagger UI for the OpenAPI description, from files that come with the package `fastapi-swagger`.

Nothing is loaded from elsewhere, and no script stands in the page, so that a strict content security policy holds.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import Response

from dragoman.server.errors import NotFound

FILES = {  # by name: where it is, its media type
    "swagger-ui-bundle.js": ("fastapi_swagger", "resources/swagger-ui-bundle.js", "text/javascript"),
    "swagger-ui.css": ("fastapi_swagger", "resources/swagger-ui.css", "text/css"),
    "favicon.png": ("fastapi_swagger", "resources/favicon-32x32.png", "image/png"),
    "docs.js": ("dragoman.server.v1", "docs_page/docs.js", "text/javascript"),
    "docs.css": ("dragoman.server.v1", "docs_page/docs.css", "text/css"),
}
POLICY = (  # Swagger UI sets styles of elements, and has icons inside its style sheet
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KEPT = {"Cache-Control": "public, max-age=3600"}


def docs_router() -> APIRouter:
    """The page, and its files under /docs/."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/docs")
    async def page() -> Response:
        text = _read("dragoman.server.v1", "docs_page/index.html")
        return Response(text, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY})

    @routes.get("/docs/{name}")
    async def file(name: str) -> Response:
        if name not in FILES:
            raise NotFound("there is no such file")
        package, path, kind = FILES[name]
        return Response(_read(package, path), media_type=kind, headers=KEPT)

    return routes


@cache
def _read(package: str, path: str) -> bytes:
    return resources.files(package).joinpath(*path.split("/")).read_bytes()
