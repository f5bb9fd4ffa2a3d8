"""The LibreTranslate API: its clients work with a Dragoman server unchanged."""

from dragoman.server.libretranslate.metrics import Metrics
from dragoman.server.libretranslate.routes import router

__all__ = ["Metrics", "router"]
