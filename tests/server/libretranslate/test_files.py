"""`/translate_file` and `/download_file`: text and HTML files, whatever they are called."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from dragoman.server.errors import NotFound
from dragoman.server.libretranslate.arguments import File
from dragoman.server.libretranslate.files import FileStore, read_text_file
from dragoman.server.settings import ServerSettings
from tests.server.libretranslate.serving import Client, error_of

LANGUAGES = {"source": "en", "target": "es"}


def _upload(client: Client, name: str, content: bytes, **fields: str) -> httpx.Response:
    return client("POST", "/translate_file", data={**LANGUAGES, **fields}, files={"file": (name, content)})


def _download(client: Client, answer: httpx.Response) -> httpx.Response:
    assert answer.status_code == 200, answer.json()
    address = answer.json()["translatedFileUrl"]
    assert address.startswith("/download_file/")  # nothing of the request's Host, which a stranger may choose
    assert address.isascii()
    return client("GET", address)


def test_a_text_file_comes_back_translated(client: Client) -> None:
    answer = _upload(client, "My notes.txt", "Hello\r\n\r\n«ñ»".encode())
    assert answer.json()["translatedFileUrl"].endswith(".My_notes_es.txt")
    file = _download(client, answer)
    assert file.content == "Hello\r\n\r\n«ñ»>es".encode()
    assert file.headers["content-disposition"].startswith('attachment; filename="My_notes_es.txt"')
    assert file.headers["content-type"] == "text/plain; charset=utf-8"


def test_an_html_file_is_translated_as_html_and_cannot_run(client: Client) -> None:
    file = _download(client, _upload(client, "page.HTM", b"<p>Hello</p><script>alert(1)</script>", source="auto"))
    assert [job[2].get("format") for job in client.backend.jobs] == [None, "html"]
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-security-policy"].startswith("sandbox")
    assert file.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_file_keeps_its_encoding(encoding: str, client: Client) -> None:
    file = _download(client, _upload(client, "a.txt", "señal".encode(encoding)))
    assert file.content == "señal>es".encode(encoding)
    assert client.backend.jobs[0][2]["texts"] == ["señal"]  # without a byte order mark


def test_html_keeps_the_encoding_that_it_declares(client: Client) -> None:
    page = '<meta charset="iso-8859-1"><p>señal €'
    file = _download(client, _upload(client, "a.html", page.encode("cp1252")))
    assert file.content == f"{page}>es".encode("cp1252")
    missing = read_text_file(File("a.html", page.encode("cp1252")), ServerSettings()).with_text("日本")
    assert missing == b"&#26085;&#26412;"


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("../../etc/passwd.txt", ".passwd_es.txt"),
        ("..\\..\\boot.txt", ".boot_es.txt"),
        ("/tmp/x.txt", ".x_es.txt"),
        ('a"; filename="evil.exe.txt', "evil.exe_es.txt"),
        ("a\r\nSet-Cookie: x=1.txt", "x_1_es.txt"),
        ("..txt", ".file_es.txt"),
        ("señales 日本.txt", ".señales_日本_es.txt"),
        ("x" * 300 + ".txt", "." + "x" * 100 + "_es.txt"),
    ],
)
def test_any_name_is_safe(name: str, ending: str, client: Client) -> None:
    answer = _upload(client, name, b"Hello")
    assert unquote(answer.json()["translatedFileUrl"]).endswith(ending)
    file = _download(client, answer)
    assert file.content == b"Hello>es"
    disposition = file.headers["content-disposition"]
    assert disposition.count('"') == 2
    assert disposition.startswith("attachment; filename=")
    assert "set-cookie" not in file.headers


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.docx", b"Hello", "Invalid request: file format not supported"),
        ("txt", b"Hello", "Invalid request: file format not supported"),
        ("a.txt", b"\xf1", "Invalid request: file is not UTF-8 text (byte 1); save it as UTF-8"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, message: str, client: Client) -> None:
    assert error_of(_upload(client, name, content), 400) == message


def test_a_file_must_be_there_and_not_too_large() -> None:
    client = Client(file_bytes=10)
    assert "missing file" in error_of(client("POST", "/translate_file", data=LANGUAGES), 400)
    assert "10 bytes" in error_of(_upload(client, "a.txt", b"12345678901"), 413)
    assert "missing target" in error_of(_upload(client, "a.txt", b"Hello", target=""), 400)
    assert error_of(_upload(client, "a.txt", b"Hello", target="zz"), 400) == "zz is not supported"
    unnamed = b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--b--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = client("POST", "/translate_file", params=LANGUAGES, content=unnamed, headers=headers)
    assert error_of(answer, 400) == "Invalid request: empty file"


@pytest.mark.parametrize("name", ["x.txt", "..%2f..%2fetc%2fpasswd", "%00", "%2e%2e%2f", "a" * 5000])
def test_other_names_are_not_found(name: str, client: Client) -> None:
    assert client("GET", f"/download_file/{name}").status_code == 404


def _store(**settings: float) -> tuple[FileStore, list[float]]:
    now = [0.0]
    return FileStore(ServerSettings(**settings), clock=lambda: now[0]), now  # type: ignore[arg-type]


def test_the_oldest_files_make_room() -> None:
    store, _ = _store(files=2)
    file = read_text_file(File("a.txt", b"Hello"), ServerSettings())

    async def fill() -> None:
        names = [await store.put(file, "es", text) for text in "abc"]
        assert len(store) == 2
        assert [(await store.get(name)).content for name in names[1:]] == [b"b", b"c"]
        with pytest.raises(NotFound):
            await store.get(names[0])

    asyncio.run(fill())


def test_files_are_bounded_in_bytes() -> None:
    store, _ = _store(files=3, file_bytes=10)
    file = read_text_file(File("a.txt", b"Hello"), ServerSettings())

    async def fill() -> None:
        for _ in range(3):
            await store.put(file, "es", "x" * 16)

    asyncio.run(fill())
    assert len(store) == 1


def test_files_expire_and_leave_nothing_on_disk() -> None:
    store, now = _store(file_age=60)
    file = read_text_file(File("a.txt", b"Hello"), ServerSettings())

    async def expire() -> None:
        name = await store.put(file, "es", "Hola")
        folder = store.folder
        assert folder is not None
        assert folder.stat().st_mode & 0o077 == 0
        now[0] = 61
        with pytest.raises(NotFound):
            await store.get(name)
        assert list(Path(folder).iterdir()) == []

    asyncio.run(expire())


def test_the_folder_goes_with_the_store() -> None:
    store, _ = _store()
    file = read_text_file(File("a.txt", b"Hello"), ServerSettings())
    asyncio.run(store.put(file, "es", "Hola"))
    folder = store.folder
    assert folder is not None
    del store
    assert not folder.exists()


def test_a_client_that_leaves_while_its_file_is_stored_leaves_none_behind() -> None:
    store, now = _store(file_age=60)
    file = read_text_file(File("a.txt", b"Hello"), ServerSettings())

    async def leave() -> None:
        storing = asyncio.create_task(store.put(file, "es", "Hola"))
        while not len(store):
            await asyncio.sleep(0)
        storing.cancel()
        await asyncio.wait({storing})
        await asyncio.get_running_loop().shutdown_default_executor()  # it is written all the same
        now[0] = 61
        with pytest.raises(NotFound):
            await store.get("x")
        assert store.folder is not None
        assert list(store.folder.iterdir()) == []

    asyncio.run(leave())


def test_a_file_may_not_have_more_characters_than_a_text() -> None:
    fields = {"source": "en", "target": "es"}
    client = Client(characters=100)
    answer = client("POST", "/translate_file", data=fields, files={"file": ("a.txt", b"x" * 101)})
    assert error_of(answer, 400) == "Invalid request: request (101) exceeds text limit (100)"
    assert client("POST", "/translate_file", data=fields, files={"file": ("a.txt", b"x" * 100)}).status_code == 200
