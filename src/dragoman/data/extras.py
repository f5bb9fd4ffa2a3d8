"""Optional dependencies of readers."""

from __future__ import annotations

import importlib
from typing import Any

from dragoman.errors import DataError


def require_extra(module: str, file: str, what: str, extra: str = "formats") -> Any:
    """Import an optional dependency; the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        missing = module.partition(".")[0]
        raise DataError(f"{file}: {what} files need the package {missing}; pip install 'dragoman[{extra}]'") from None
