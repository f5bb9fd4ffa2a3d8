"""Who may call: names under which the server is reached, and sites whose pages may send requests.

A name check defends against DNS rebinding (a stranger's name that leads to this machine), and a check of the page's
origin against forms and scripts of other sites, which browsers send without asking (CSRF).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from dragoman.server.errors import Forbidden

SAFE = ("GET", "HEAD", "OPTIONS")  # change nothing, and other sites cannot read the answer
Headers = Mapping[bytes, bytes]


def check_host(headers: Headers, bound: str, allowed: Sequence[str]) -> None:
    """Refuse a request for a name that is not this server's."""
    host = headers.get(b"host")
    if host is not None and not _is_ours(_name(host.decode("latin-1")), bound, allowed):
        raise Forbidden("the server is not known by this name; `dragoman serve --allowed-hosts NAME` adds one")


def _is_ours(name: str, bound: str, allowed: Sequence[str]) -> bool:
    if "*" in allowed or any(_fits(name, each.lower()) for each in (bound, "localhost", ".localhost", *allowed)):
        return True
    address = _address(name)
    if _address(bound) is None or not _address(bound).is_unspecified:  # type: ignore[union-attr]
        return address is not None and address.is_loopback
    # The server is on every address: addresses and names without a dot are no names of a stranger's domain.
    own = socket.gethostname().lower()
    return address is not None or ("." not in name and name != "") or name in (own, f"{own}.local")


def _fits(name: str, pattern: str) -> bool:
    """Whether a name is the one allowed; `.example.org` allows all below example.org, and itself."""
    return name in (pattern, pattern.removeprefix(".")) or (pattern.startswith(".") and name.endswith(pattern))


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _name(host: str) -> str:
    """The name in a Host header: without its port, brackets and final dot."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.lower().removesuffix(".")


def check_origin(method: str, headers: Headers, cors: Sequence[str]) -> None:
    """Refuse a request that changes something and that a page of another site makes."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    if method in SAFE or "*" in cors or origin in cors:
        return
    site = headers.get(b"sec-fetch-site")
    if site is not None:  # what a browser says itself; older ones and plain http have the origin alone
        same = site in (b"same-origin", b"none")
    else:
        same = not origin or _host_of(origin) == headers.get(b"host", b"").decode("latin-1").lower()
    if not same:
        raise Forbidden("pages of other sites may not use this server; `dragoman serve --cors ORIGIN` allows a site")


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
