"""Settings of a server: where it listens, who may use it, and the limits of what a stranger can send."""

from __future__ import annotations

import hmac
import math
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import ConfigurationError
from dragoman.server.errors import BadRequest, WrongKey

MISSING_KEY = "Please contact the server operator to get an API key, and send it as api_key"


@dataclass(frozen=True)
class ServerSettings:
    """Everything that `dragoman serve` can be told.

    workers         processes that run models
    threads         of each worker; None: the cores, shared among the workers
    body_bytes      of a request
    buffered_bytes  of all requests that are being read
    characters      of all texts of a request
    texts           of a request
    sentences       of a request
    queue           requests that wait or run at a time
    timeout         seconds that a request may take, from its last byte to its answer
    slow            seconds in which the headers, and then the body, must arrive
    connections     at a time
    alternatives    of a translation
    tokens          that a language model may write
    image_bytes     of an image
    file_bytes      of a file to translate
    files           translated ones that are kept for download
    file_age        seconds that they are kept
    rate            POST requests a minute from one address; None: any number
    keys            that clients must have; None: nobody needs one
    allowed_hosts   names under which clients reach the server, besides localhost and `host`; "*" is any
    cors            origins whose pages may call the server; "*" is any
    suggestions     file to which suggested translations are appended; None: they are refused
    metrics         whether /metrics answers
    metrics_token   that it asks for
    log_text        whether texts may be written to the log
    """

    host: str = "127.0.0.1"
    port: int = 5000
    workers: int = 1
    threads: int | None = None
    body_bytes: int = 8 * 2**20
    buffered_bytes: int = 128 * 2**20
    characters: int = 100_000
    texts: int = 1_000
    sentences: int = 5_000
    queue: int = 1_000
    timeout: float = 60.0
    slow: float = 20.0
    connections: int = 1_000
    alternatives: int = 3
    tokens: int = 2_000
    image_bytes: int = 4 * 2**20
    file_bytes: int = 2 * 2**20
    files: int = 100
    file_age: float = 1_800.0
    rate: int | None = None
    keys: frozenset[str] | None = None
    allowed_hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    suggestions: Path | None = None
    metrics: bool = False
    metrics_token: str | None = None
    log_text: bool = False

    def __post_init__(self) -> None:
        for name in ("workers", "body_bytes", "characters", "texts", "sentences", "queue", "connections", "files"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        for seconds in (self.timeout, self.slow):
            if not 0 < seconds < math.inf:
                raise ConfigurationError(f"a time limit must be a number of seconds above 0, got {seconds:g}")
        if self.keys is not None and not all(self.keys):
            raise ConfigurationError("an API key has at least one character")

    def check_key(self, key: object) -> None:
        """Raise an error unless a key is needed and right. The comparison takes the same time for every wrong key."""
        if self.keys is None:
            return
        if not isinstance(key, str) or not key:
            raise BadRequest(MISSING_KEY)
        given = key.encode("utf-8", "replace")
        if not sum(hmac.compare_digest(given, known.encode()) for known in self.keys):
            raise WrongKey("Invalid API key")


def read_keys(path: Path | None, variable: str | None) -> frozenset[str] | None:
    """API keys: one a line of a file (# begins a comment), and those of an environment variable, after commas."""
    if path is None and not variable:
        return None
    try:
        lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the keys in {path} cannot be read: {error}") from None
    found = {line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")}
    found |= {key.strip() for key in (variable or "").split(",") if key.strip()}
    if not found:
        raise ConfigurationError(f"{path or 'the variable'} holds no API key; write one a line")
    return frozenset(found)
