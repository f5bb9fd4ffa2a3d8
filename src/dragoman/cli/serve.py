"""dragoman serve: an HTTP API and a page for trained models."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.options import console
from dragoman.errors import ConfigurationError

KEYS, METRICS_TOKEN = "DRAGOMAN_API_KEYS", "DRAGOMAN_METRICS_TOKEN"
LIMITS = "Limits"


def serve(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Directories that `dragoman train` wrote.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 is every one of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 5000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run models.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of each worker; default: the cores.")] = None,
    languages: Annotated[
        list[str] | None,
        typer.Option(help="Languages of a translator that does not know its own: en,es or MODEL=en,es."),
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(help=f"File of API keys, one a line; also from ${KEYS}, separated by commas.")
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may call the server: https://example.org, or *.")
    ] = None,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option(help="Another name of this server: example.org, .example.org (all below it), or *."),
    ] = None,
    suggestions: Annotated[
        Path | None, typer.Option(help="Accept suggested translations and append them to this file.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help=f"Answer /metrics for Prometheus; ${METRICS_TOKEN} is its token.")
    ] = False,
    log_text: Annotated[bool, typer.Option("--log-text", help="Also log what requests say.")] = False,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Requests a minute from one address (POST only).", rich_help_panel=LIMITS)
    ] = None,
    characters: Annotated[int, typer.Option(min=1, help="Characters of a request.", rich_help_panel=LIMITS)] = 100_000,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences of a request.", rich_help_panel=LIMITS)] = 5_000,
    body: Annotated[int, typer.Option(min=1, help="Kilobytes of a request.", rich_help_panel=LIMITS)] = 8_192,
    queue: Annotated[
        int, typer.Option(min=1, help="Requests that wait or run at a time.", rich_help_panel=LIMITS)
    ] = 1_000,
    connections: Annotated[int, typer.Option(min=1, help="Connections at a time.", rich_help_panel=LIMITS)] = 1_000,
    timeout: Annotated[float, typer.Option(help="Seconds that a request may take.", rich_help_panel=LIMITS)] = 60.0,
) -> None:
    """Serve trained models over HTTP: LibreTranslate's API, an API for every task, and a page.

    SIGTERM or Ctrl-C finishes running requests; SIGHUP loads the models again from disk.
    """
    try:
        from dragoman.server.run import run_server
        from dragoman.server.settings import ServerSettings, read_keys
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"serving needs {error.name}; install it with: pip install 'dragoman[serve]'"
        ) from None

    named = name_models(models)
    settings = ServerSettings(
        host=host, port=port, workers=workers, threads=threads, rate=rate, characters=characters, sentences=sentences,
        body_bytes=1024 * body, queue=queue, connections=connections, timeout=timeout,
        keys=read_keys(keys, os.environ.get(KEYS)), cors=tuple(cors or ()),
        allowed_hosts=tuple(allowed_hosts or ()), suggestions=suggestions, metrics=metrics,
        metrics_token=os.environ.get(METRICS_TOKEN), log_text=log_text,
    )  # fmt: skip
    _log_to_standard_error()
    shown = console(stderr=True)
    run_server(
        named,
        settings,
        _languages(languages or [], list(named)),
        lambda place: shown.print(
            f"serving {', '.join(named)} at [bold]{place}[/bold] (Ctrl-C stops)", highlight=False
        ),
    )


def name_models(directories: Sequence[Path]) -> dict[str, Path]:
    """Directories by the names that clients use: the last part of the path, numbered where it occurs again."""
    from dragoman.tasks.model import load_metadata

    named: dict[str, Path] = {}
    for directory in directories:
        if not directory.is_dir():
            load_metadata(directory)  # its error says how to unpack a packed model
        if not (directory / "model.json").is_file():
            raise ConfigurationError(
                f"{directory} is not a model directory: it has no model.json; `dragoman train` makes one"
            )
        base = directory.resolve().name or "model"
        name = next(name for name in (base, *(f"{base}-{i}" for i in range(2, 1000))) if name not in named)
        named[name] = directory.resolve()
    return named


def _languages(given: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """By model: `en,es` is for the only one, `MODEL=en,es` for one of several."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, codes = text.rpartition("=")
        name = name if equals else names[0]
        pair = [code.strip() for code in codes.split(",")]
        if name not in names or (not equals and len(names) > 1) or len(pair) != 2 or not all(pair):
            raise ConfigurationError(f"--languages takes MODEL=en,es with one of {', '.join(names)}; got '{text}'")
        found[name] = pair
    return found


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for name in ("dragoman.server", "dragoman.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
