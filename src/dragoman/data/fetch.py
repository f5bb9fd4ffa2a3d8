"""Download public corpora: interrupted downloads resume, and checksums are verified."""

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
    """A zip file at a public address and the member to extract, with sizes and checksums."""

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
    """Download the corpus `name` into `directory`, unless it is there with the right checksum.

    report(bytes so far, all bytes) is called during the download, say(sentence) with messages for the user.
    """
    if name not in corpora:
        raise ConfigurationError(
            f"unknown corpus '{name}'; available: {', '.join(corpora)} (built-in corpora need no download)"
        )
    corpus = corpora[name]
    path = directory / corpus.file_name
    try:
        if path.exists() and not path.is_file():
            raise DataError(f"{path} exists and is not a file; move it, or choose another directory")
        wrong = path.exists() and not _has_checksum(path, corpus.member_size, corpus.member_sha256)
        if path.exists() and not wrong:
            say(f"{path} exists already and its checksum is right; nothing was downloaded.")
            return path
        directory.mkdir(parents=True, exist_ok=True)
        _fetch(name, corpus, path, report)
    except OSError as error:  # network errors are handled in _receive
        raise DataError(f"{name} cannot be stored in {directory}: {error.strerror or error}") from None
    if wrong:
        say(f"{path} had a wrong checksum and was replaced.")
    say(f"{path} is complete and its checksum is right. {corpus.credit}")
    return path


def _fetch(name: str, corpus: Corpus, path: Path, report: Callable[[int, int], None]) -> None:
    part = path.with_name(f"{path.name}.zip.part")
    try:
        _download(corpus, part, report)
        _extract(corpus, part, path)
    except DataError as error:
        arrived = part.stat().st_size if part.exists() else 0
        kept = f"{arrived:,} of {corpus.size:,} bytes are kept: run the same command again to resume.\n"
        raise DataError(
            f"{name} could not be downloaded: {error}.\n"
            f"{kept if 0 < arrived < corpus.size else ''}"
            f"To do it by hand, download {corpus.address} (sha256 {corpus.sha256}),\n"
            f"extract {corpus.member} from it and save it as {path} (sha256 {corpus.member_sha256}).\n"
            "A TSV file of your own pairs works as well, and the built-in corpus 'phrases' needs no network."
        ) from None
    part.unlink(missing_ok=True)


def _download(corpus: Corpus, part: Path, report: Callable[[int, int], None]) -> None:
    """Download the zip to `part` and verify it. An earlier partial download is resumed; if that fails, start over."""
    start = part.stat().st_size if part.exists() else 0
    if start < corpus.size:
        start = _receive(corpus, part, start, report)
    if _has_checksum(part, corpus.size, corpus.sha256):
        return
    part.unlink()
    if start == 0:
        raise DataError("the file from the server has a wrong checksum")
    _download(corpus, part, report)


def _receive(corpus: Corpus, part: Path, start: int, report: Callable[[int, int], None]) -> int:
    """Append the bytes from `start` on, or all if the server cannot resume; return where they began."""
    response, start = _ask(corpus, start)
    with closing(response):
        if response.length not in (None, corpus.size - start):
            raise DataError(f"the server has {start + response.length:,} bytes, {corpus.size:,} were expected")
        done = start
        report(done, corpus.size)
        with part.open("ab" if start else "wb") as file:
            # read at most one byte more than expected, to notice a server that sends too much
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
    """Send the request; return the response and where it begins: at `start`, or at 0 if the server cannot resume."""
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
    """Return an opener for HTTP, HTTPS, proxies and redirections; the default one also opens file: and ftp: URLs."""
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
    """Extract the member, verify it, and rename it. Names and sizes in the zip are not trusted."""
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
        if not _has_checksum(temporary, corpus.member_size, corpus.member_sha256):
            raise DataError(f"{corpus.member} in the zip has a wrong size or checksum")
        temporary.replace(path)
    except KeyError:
        raise DataError(f"the zip has no {corpus.member}") from None
    except _ZIP_ERRORS as error:
        raise DataError(f"the zip cannot be read: {error}") from None
    finally:
        temporary.unlink(missing_ok=True)


# RuntimeError: encrypted, or an unknown compression; ValueError: an offset outside the file.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)


def _has_checksum(path: Path, size: int, sha256: str) -> bool:
    if path.stat().st_size != size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256
