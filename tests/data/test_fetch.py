"""Fetching a corpus from a server that behaves, and from servers that do not."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import socket
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dragoman.data import fetch as fetching
from dragoman.data.fetch import CORPORA, Corpus, fetch
from dragoman.errors import ConfigurationError, DataError

REAL = Path(__file__).parents[3] / "shared" / "data" / "eng-spa.tsv.gz"
CONTENT = b"The plant is green.\tLa planta es verde.\n" + random.Random(0).randbytes(300_000)
FILE, PART = "eng-spa.tsv", "eng-spa.tsv.zip.part"


def zip_of(**members: bytes) -> bytes:
    """A zip of members in folder spa-eng."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"spa-eng/{name}.txt", content)
    return stream.getvalue()


ZIP = zip_of(_about=b"about", spa=CONTENT)
HALF = len(ZIP) // 2


@dataclass
class Site:
    """What a server has, how it misbehaves, and what it was asked and sent: (range, bytes)."""

    body: bytes = ZIP
    status: int = 200
    ranges: str = "kept"  # or ignored, refused, shifted
    tells_length: bool = True
    stops_after: int | None = None
    stalls: bool = False
    endless: bool = False
    location: str = ""
    address: str = ""
    sent: list[tuple[str, int]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


def handler_for(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            begin = int(asked.removeprefix("bytes=").split("-")[0]) if asked and site.ranges != "ignored" else 0
            if site.location and self.path != "/moved":
                self.send_response(302)
                self.send_header("Location", site.location)
            elif asked and site.ranges == "refused":
                self.send_response(416)
            elif site.status != 200:
                self.send_response(site.status)
            else:
                self.send_body(begin)
                return
            site.sent.append((asked, 0))
            self.end_headers()

        def send_body(self, begin: int) -> None:
            begin -= 10 if begin and site.ranges == "shifted" else 0
            body = site.body[begin:]
            site.sent.append((self.headers.get("Range", ""), len(body[: site.stops_after])))
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(site.body) - 1}/{len(site.body)}")
            if site.tells_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: site.stops_after])
            if site.stalls:
                site.closing.wait(3)
            while site.endless and not site.closing.is_set():
                self.wfile.write(bytes(1000))

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


class QuietServer(ThreadingHTTPServer):
    daemon_threads = False  # closing the server waits for its threads

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is expected here."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetching, "TIMEOUT", 5.0)
    site = Site()
    with QuietServer(("127.0.0.1", 0), handler_for(site)) as server:
        site.address = f"http://127.0.0.1:{server.server_port}/spa-eng.zip"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield site
        site.closing.set()
        server.shutdown()
        thread.join()


@dataclass
class Attempt:
    """fetch, with what it reported and said."""

    corpus: Corpus
    directory: Path
    reports: list[tuple[int, int]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def run(self) -> Path:
        return fetch(
            "eng-spa",
            self.directory,
            lambda done, size: self.reports.append((done, size)),
            self.said.append,
            {"eng-spa": self.corpus},
        )


def expecting(address: str, zipped: bytes = ZIP, content: bytes = CONTENT) -> Corpus:
    return Corpus(
        address=address,
        size=len(zipped),
        sha256=hashlib.sha256(zipped).hexdigest(),
        member="spa-eng/spa.txt",
        member_size=len(content),
        member_sha256=hashlib.sha256(content).hexdigest(),
        file_name=FILE,
        credit="Thanks to Tatoeba.",
    )


@pytest.fixture
def attempt(site: Site, tmp_path: Path) -> Attempt:
    return Attempt(expecting(site.address), tmp_path / "new" / "data")


def left_in(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def leave(attempt: Attempt, name: str, content: bytes) -> None:
    attempt.directory.mkdir(parents=True)
    (attempt.directory / name).write_bytes(content)


# ---- a server that behaves ----


def test_a_corpus_is_fetched(site: Site, attempt: Attempt) -> None:
    path = attempt.run()
    assert path == attempt.directory / FILE
    assert left_in(attempt.directory) == {FILE: CONTENT}
    assert site.sent == [("", len(ZIP))]
    assert attempt.said == [f"{path} is complete and its checksum is right. Thanks to Tatoeba."]


def test_progress_is_reported(attempt: Attempt) -> None:
    attempt.run()
    done = [done for done, _ in attempt.reports]
    assert {size for _, size in attempt.reports} == {len(ZIP)}
    assert done == sorted(set(done))
    assert (done[0], done[-1]) == (0, len(ZIP))
    assert len(done) > 3


def test_a_redirection_is_followed(site: Site, attempt: Attempt) -> None:
    site.location = "/moved"
    attempt.run()
    assert left_in(attempt.directory) == {FILE: CONTENT}


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/eng-spa.tsv.gz")
def test_the_real_corpus(site: Site, tmp_path: Path) -> None:
    """The published size and checksum of the member; only the zip is our own."""
    site.body = zip_of(_about=b"about", spa=gzip.decompress(REAL.read_bytes()))
    ours = expecting(site.address, site.body)
    attempt = Attempt(replace(CORPORA["eng-spa"], address=ours.address, size=ours.size, sha256=ours.sha256), tmp_path)
    lines = attempt.run().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 118_964
    assert lines[0] == "Go.\tVe."
    assert "tatoeba.org" in attempt.said[0]
    assert "CC BY 2.0 FR" in attempt.said[0]


# ---- continuing ----


def test_an_interrupted_download_is_continued(site: Site, attempt: Attempt) -> None:
    site.stops_after = HALF
    with pytest.raises(DataError, match=rf"ended early.\n{HALF:,} of {len(ZIP):,} bytes are kept"):
        attempt.run()
    assert left_in(attempt.directory) == {PART: ZIP[:HALF]}

    site.stops_after = None
    attempt.reports.clear()
    attempt.run()
    assert len(site.sent) == 2
    assert site.sent[1] == (f"bytes={HALF}-{len(ZIP) - 1}", len(ZIP) - HALF)
    assert attempt.reports[0] == (HALF, len(ZIP))
    assert left_in(attempt.directory) == {FILE: CONTENT}


def test_a_silent_server_is_given_up_and_what_came_is_kept(
    site: Site, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    site.stops_after, site.stalls = HALF, True
    with pytest.raises(DataError, match="lost: timed out"):
        attempt.run()
    assert left_in(attempt.directory) == {PART: ZIP[:HALF]}


def test_ctrl_c_keeps_what_came(site: Site, attempt: Attempt) -> None:
    def stop(done: int, size: int) -> None:
        if done > HALF:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("eng-spa", attempt.directory, stop, attempt.said.append, {"eng-spa": attempt.corpus})
    kept = left_in(attempt.directory)
    assert list(kept) == [PART]
    assert HALF < len(kept[PART]) <= len(ZIP)
    assert ZIP.startswith(kept[PART])


@pytest.mark.parametrize(("ranges", "requests"), [("ignored", 1), ("refused", 2), ("shifted", 2)])
def test_a_server_that_cannot_continue_begins_again(site: Site, attempt: Attempt, ranges: str, requests: int) -> None:
    leave(attempt, PART, ZIP[:HALF])
    site.ranges = ranges
    attempt.run()
    assert left_in(attempt.directory) == {FILE: CONTENT}
    assert site.sent[0][0].startswith(f"bytes={HALF}-")
    assert len(site.sent) == requests
    assert site.sent[-1][1] == len(ZIP)


@pytest.mark.parametrize(
    ("part", "asked"),
    [
        (b"<html>" * 1000, [f"bytes=6000-{len(ZIP) - 1}", ""]),
        (b"?" * len(ZIP), [""]),
        (ZIP + b"?", [""]),
        (ZIP, []),
    ],
    ids=["other bytes", "all bytes wrong", "too many bytes", "complete"],
)
def test_what_an_earlier_try_left(site: Site, attempt: Attempt, part: bytes, asked: list[str]) -> None:
    leave(attempt, PART, part)
    attempt.run()
    assert left_in(attempt.directory) == {FILE: CONTENT}
    assert [request for request, _ in site.sent] == asked


# ---- servers that do not behave ----


def test_another_checksum_is_refused(site: Site, attempt: Attempt) -> None:
    site.body = ZIP[:HALF] + b"?" + ZIP[HALF + 1 :]
    with pytest.raises(DataError, match="wrong checksum"):
        attempt.run()
    assert left_in(attempt.directory) == {}
    assert len(site.sent) == 1


@pytest.mark.parametrize(("body", "found"), [(ZIP[:-1], len(ZIP) - 1), (ZIP + b"?", len(ZIP) + 1)])
def test_another_length_is_refused_before_a_byte_is_stored(
    site: Site, attempt: Attempt, body: bytes, found: int
) -> None:
    site.body = body
    with pytest.raises(DataError, match=f"the server has {found:,} bytes, {len(ZIP):,} were expected"):
        attempt.run()
    assert left_in(attempt.directory) == {}


def test_truncated_without_a_length(site: Site, attempt: Attempt) -> None:
    site.body, site.tells_length = ZIP[:-1], False
    with pytest.raises(DataError, match="ended early"):
        attempt.run()
    assert FILE not in left_in(attempt.directory)


def test_a_server_that_never_stops_is_refused(site: Site, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    read, counts = fetching._read, []

    def counted(*arguments: object) -> bytes:
        chunk = read(*arguments)  # type: ignore[arg-type]
        counts.append(len(chunk))
        return chunk

    monkeypatch.setattr(fetching, "_read", counted)
    site.tells_length, site.endless = False, True
    with pytest.raises(DataError, match=f"more than the {len(ZIP):,} bytes"):
        attempt.run()
    assert sum(counts) == len(ZIP) + 1
    assert left_in(attempt.directory) == {}


@pytest.mark.parametrize("status", [204, 403, 404, 416, 500])
def test_a_status_without_the_file(site: Site, attempt: Attempt, status: int) -> None:
    site.status = status
    with pytest.raises(DataError, match=f"status {status}"):
        attempt.run()
    assert left_in(attempt.directory) == {}


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/spa-eng.zip"])
def test_only_http(site: Site, attempt: Attempt, location: str) -> None:
    site.location = location
    with pytest.raises(DataError, match=r"status 302|unknown url type"):
        attempt.run()
    attempt.corpus = replace(attempt.corpus, address=location)
    with pytest.raises(DataError, match="unknown url type"):
        attempt.run()


def test_no_network_says_what_to_do(site: Site, attempt: Attempt) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        attempt.corpus = replace(attempt.corpus, address=f"http://127.0.0.1:{unused.getsockname()[1]}/x.zip")
        with pytest.raises(DataError, match="refused") as caught:
            attempt.run()
    corpus, message = attempt.corpus, str(caught.value)
    target = str(attempt.directory / FILE)
    for needed in (corpus.address, corpus.sha256, corpus.member, target, corpus.member_sha256, "own", "'phrases'"):
        assert needed in message
    assert "are kept" not in message


# ---- zips ----


@pytest.mark.parametrize(
    ("zipped", "message"),
    [
        (b"not a zip at all", "zip cannot be read"),
        (ZIP[:HALF], "zip cannot be read"),
        (ZIP[:HALF] + b"?" + ZIP[HALF + 1 :], "zip cannot be read"),
        (zip_of(_about=b"about"), "the zip has no spa-eng/spa.txt"),
        (zip_of(spa=CONTENT[:-1]), "wrong size or checksum"),
        (zip_of(spa=CONTENT[:-1] + b"?"), "wrong size or checksum"),
    ],
    ids=["no zip", "half a zip", "damaged", "missing", "short", "other content"],
)
def test_a_zip_that_is_not_as_expected(site: Site, attempt: Attempt, zipped: bytes, message: str) -> None:
    """Even if its own checksum were right."""
    site.body = zipped
    attempt.corpus = expecting(site.address, zipped)
    with pytest.raises(DataError, match=message) as caught:
        attempt.run()
    assert "are kept" not in str(caught.value)
    assert left_in(attempt.directory).keys() <= {PART}


def test_a_zip_bomb_is_not_unpacked(site: Site, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    read, counts = zipfile.ZipExtFile.read, []

    def counted(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        chunk = read(self, n)
        counts.append(len(chunk))
        return chunk

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    site.body = zip_of(spa=bytes(5_000_000))
    attempt.corpus = expecting(site.address, site.body, b"x" * 100)
    with pytest.raises(DataError, match="wrong size"):
        attempt.run()
    assert sum(counts) == 101


def test_other_members_stay_in_the_zip(site: Site, attempt: Attempt, tmp_path: Path) -> None:
    stream = io.BytesIO(ZIP)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("../evil.txt", b"evil")
    site.body = stream.getvalue()
    attempt.corpus = expecting(site.address, site.body)
    attempt.run()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [FILE]


# ---- what is there already ----


def test_nothing_is_fetched_twice(site: Site, attempt: Attempt) -> None:
    leave(attempt, FILE, CONTENT)
    assert attempt.run() == attempt.directory / FILE
    assert site.sent == attempt.reports == []
    assert len(attempt.said) == 1
    assert "nothing was downloaded" in attempt.said[0]


@pytest.mark.parametrize("found", [b"", b"?" * len(CONTENT)])
def test_a_wrong_file_is_replaced_and_told(attempt: Attempt, found: bytes) -> None:
    leave(attempt, FILE, found)
    attempt.run()
    assert left_in(attempt.directory) == {FILE: CONTENT}
    assert "replaced" in attempt.said[0]
    assert "Thanks to Tatoeba" in attempt.said[1]


def test_a_wrong_file_stays_until_the_right_one_has_come(site: Site, attempt: Attempt) -> None:
    leave(attempt, FILE, b"my own")
    site.status = 404
    with pytest.raises(DataError, match="404"):
        attempt.run()
    assert left_in(attempt.directory) == {FILE: b"my own"}
    assert attempt.said == []


def test_a_directory_in_the_way(site: Site, attempt: Attempt) -> None:
    (attempt.directory / FILE).mkdir(parents=True)
    with pytest.raises(DataError, match="is not a file"):
        attempt.run()
    assert site.sent == []


def test_a_place_that_cannot_be_written(attempt: Attempt) -> None:
    attempt.directory.parent.write_bytes(b"a file where a directory should be")
    with pytest.raises(DataError, match=r"cannot be stored in .*: Not a directory"):
        attempt.run()


def test_an_unknown_corpus(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown corpus 'eng-fra'; available: eng-spa"):
        fetch("eng-fra", tmp_path, lambda done, size: None, lambda sentence: None)
