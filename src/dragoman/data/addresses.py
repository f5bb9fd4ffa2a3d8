"""Files at addresses such as s3://bucket/pairs.parquet, read with fsspec."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from dragoman.data.extras import require_extra
from dragoman.errors import DataError

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)")


def is_address(name: str) -> bool:
    """Whether a name is an address, and not a path: file://, s3://, https://, hf:// ..."""
    return _ADDRESS.match(name) is not None


@contextmanager
def open_address(address: str) -> Iterator[BinaryIO]:
    """Open the bytes of a file. Errors of the protocol's own package become an OSError."""
    filesystem, path = _located(address)
    try:
        with filesystem.open(path, "rb") as stream:
            yield cast(BinaryIO, stream)
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("builtins", "dragoman"):  # a missing file, or a reader's error
            raise
        raise OSError(f"{type(error).__name__}: {error}") from None


def files_at(address: str) -> list[str]:
    """The addresses of the files in a directory, or of those that a pattern with * matches; else the address itself."""
    base = address[: address.index("*")].rpartition("/")[0] if "*" in address else address
    filesystem, root = _located(base)
    root = root.rstrip("/")
    try:
        if base != address:
            found = filesystem.glob(root + address[len(base) :])
        elif filesystem.isdir(root):
            found = filesystem.find(root)
        else:
            return [address]
    except Exception as error:  # of the network, or of permissions; every protocol has its own
        raise DataError(f"{address} cannot be listed: {error}; check the address and its credentials") from None
    return [base.rstrip("/") + path[len(root) :] for path in sorted(found)]


def _located(address: str) -> tuple[Any, str]:
    core = require_extra("fsspec.core", address, "remote", "remote")
    try:
        filesystem, path = core.url_to_fs(address)
    except ImportError as error:  # of a protocol whose package is missing
        raise DataError(f"{address} cannot be opened: {error}; install that package with pip") from None
    except Exception as error:  # an unknown protocol, or an address that its package does not understand
        raise DataError(f"{address} cannot be opened: {error}; check the address") from None
    return filesystem, str(path)
