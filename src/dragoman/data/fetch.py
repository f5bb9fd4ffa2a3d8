"""Public corpora from their usual address: continued where a download stopped, checked before they get their name."""

from __future__ import annotations

import hashlib
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from dragoman.errors import ConfigurationError, DataError

TIMEOUT = 30.0  # seconds without a byte
CHUNK = 1 << 16


@dataclass(frozen=True)
class Corpus:
    """A zip at a public address and the one member of it that is wanted, both known to the byte."""

    address: str
    size: int
    sha256: str
    member: str
    member_size: int
    member_sha256: str
    file_name: str
    credit: str


CORPORA = {
    "eng-spa": Corpus(
        address="http://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip",
        size=2_638_744,
        sha256="0c4fd7825d3d872488d38c157f784e035edab4f2ff0df25a2a208790ecb5b58f",
        member="spa-eng/spa.txt",
        member_size=8_042_772,
        member_sha256="6ec60e212f812ee3430f7568ea6f33b6fb080e32193c5952e8da0ee8ba45574c",
        file_name="eng-spa.tsv",
        credit="The sentences are from tatoeba.org by way of www.manythings.org/anki, licence CC BY 2.0 FR "
        "(https://creativecommons.org/licenses/by/2.0/fr/): name both when you pass them on.",
    )
}


def fetch(
    name: str,
    directory: Path,
    report: Callable[[int, int], None],
    say: Callable[[str], None],
    corpora: Mapping[str, Corpus] = CORPORA,
) -> Path:
    """The file of corpus `name` in `directory`, fetched unless it is there and right.

    report(bytes so far, all bytes) follows the download; say(sentence) tells what the user should know.
    """
    if name not in corpora:
        raise ConfigurationError(
            f"unknown corpus '{name}'; available: {', '.join(corpora)} (built-in corpora need no download)"
        )
    corpus = corpora[name]
    path = directory / corpus.file_name
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path} is in the way: it is not a file; move it, or choose another directory")
        wrong = path.exists() and not _is(path, corpus.member_size, corpus.member_sha256)
        if path.exists() and not wrong:
            say(f"{path} is there already, with the right checksum; nothing was fetched.")
            return path
        directory.mkdir(parents=True, exist_ok=True)
        _fetch(name, corpus, path, report)
    except OSError as error:  # those of the network are told by _receive
        raise DataError(f"{name} cannot be stored in {directory}: {error.strerror or error}") from None
    if wrong:
        say(f"{path} was there, but its content was not that of {name}; it has been replaced.")
    say(f"{path} is complete, with the right checksum. {corpus.credit}")
    return path


def _fetch(name: str, corpus: Corpus, path: Path, report: Callable[[int, int], None]) -> None:
    part = path.with_name(f"{path.name}.zip.part")
    try:
        _download(corpus, part, report)
        _extract(corpus, part, path)
    except DataError as error:
        arrived = part.stat().st_size if part.exists() else 0
        kept = f"{arrived:,} of {corpus.size:,} bytes are kept: the same command again fetches the rest.\n"
        raise DataError(
            f"{name} could not be fetched: {error}.\n"
            f"{kept if 0 < arrived < corpus.size else ''}"
            f"By hand: download {corpus.address} (sha256 {corpus.sha256}),\n"
            f"take {corpus.member} out of it and save it as {path} (sha256 {corpus.member_sha256}).\n"
            "A TSV file of your own pairs works as well, and the built-in corpus 'phrases' needs no network."
        ) from None
    part.unlink(missing_ok=True)


def _download(corpus: Corpus, part: Path, report: Callable[[int, int], None]) -> None:
    """The zip, whole and right, in `part`. What an earlier try left there is continued, once, and else begun again."""
    start = part.stat().st_size if part.exists() else 0
    if start < corpus.size:
        start = _receive(corpus, part, start, report)
    if _is(part, corpus.size, corpus.sha256):
        return
    part.unlink()
    if start == 0:
        raise DataError("what the server sent has another checksum")
    _download(corpus, part, report)


def _receive(corpus: Corpus, part: Path, start: int, report: Callable[[int, int], None]) -> int:
    """Bytes from `start` on, appended to `part`; or all of them, if the server cannot continue. Where they began."""
    response, start = _ask(corpus, start)
    with closing(response):
        if response.length not in (None, corpus.size - start):
            raise DataError(f"the server has {start + response.length:,} bytes, {corpus.size:,} were expected")
        done = start
        report(done, corpus.size)
        with part.open("ab" if start else "wb") as file:
            # one byte more than expected is asked for, to know a server that sends too much, and never another
            while chunk := _read(response, min(CHUNK, corpus.size + 1 - done)):
                file.write(chunk)
                done += len(chunk)
                report(min(done, corpus.size), corpus.size)
    if done > corpus.size:
        part.unlink()
        raise DataError(f"the server sent more than the {corpus.size:,} bytes expected")
    if done < corpus.size:
        raise DataError("the connection ended early")
    return start


def _ask(corpus: Corpus, start: int) -> tuple[HTTPResponse, int]:
    """The server's answer, and where it begins: at `start`, or at 0 if the server cannot continue from there."""
    headers = {"User-Agent": "dragoman"} | ({"Range": f"bytes={start}-{corpus.size - 1}"} if start else {})
    try:
        response = cast(HTTPResponse, _opener().open(Request(corpus.address, headers=headers), timeout=TIMEOUT))
    except HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            return _ask(corpus, 0)
        raise DataError(f"the server answered with status {error.code}") from None
    except (OSError, HTTPException) as error:
        raise DataError(f"the server cannot be reached: {getattr(error, 'reason', error)}") from None
    if response.status == HTTPStatus.OK:
        return response, 0
    span = response.headers.get("Content-Range", "")
    if response.status == HTTPStatus.PARTIAL_CONTENT and span.startswith(f"bytes {start}-"):
        return response, start
    response.close()
    if start:
        return _ask(corpus, 0)
    raise DataError(f"the server answered with status {response.status}")


def _opener() -> OpenerDirector:
    """HTTP, HTTPS, proxies and redirections. urllib's own opener also reads file: and ftp: addresses."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPRedirectHandler,
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _read(response: HTTPResponse, count: int) -> bytes:
    try:
        return response.read1(count)
    except (OSError, HTTPException) as error:
        raise DataError(f"the connection was lost: {error}") from None


def _extract(corpus: Corpus, zipped: Path, path: Path) -> None:
    """The member under its final name, once it is right. No name or size in the zip is trusted."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with (
            zipfile.ZipFile(zipped) as archive,
            archive.open(corpus.member) as member,
            temporary.open("wb") as file,
        ):
            left = corpus.member_size + 1
            while chunk := member.read(min(CHUNK, left)):
                file.write(chunk)
                left -= len(chunk)
        if not _is(temporary, corpus.member_size, corpus.member_sha256):
            raise DataError(f"{corpus.member} in the zip has another size or checksum")
        temporary.replace(path)
    except KeyError:
        raise DataError(f"the zip has no {corpus.member}") from None
    except _ZIP_ERRORS as error:
        raise DataError(f"the zip cannot be read: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)


# RuntimeError: encrypted, or a compression Python does not know; ValueError: an offset outside the file.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)


def _is(path: Path, size: int, sha256: str) -> bool:
    if path.stat().st_size != size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256
