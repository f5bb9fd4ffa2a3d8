"""Our own HTTP routes: /v1 and the page /docs."""

from dragoman.server.v1.docs import docs_router
from dragoman.server.v1.routes import router

__all__ = ["docs_router", "router"]
