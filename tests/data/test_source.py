"""Files as they lie there: compressed, in some encoding, broken, too large, not there."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import threading
import zlib
from pathlib import Path

import pytest
import zstandard

from dragoman.data.records import ReadErrors
from dragoman.data.source import LONGEST_LINE, Line, Source
from dragoman.errors import ConfigurationError, DataError
from tests.data.readers.files import COMPRESS, measured, write

TEXT = "Go.\tVe.\nñandú\t¿Qué?\n" * 500


def read(name: str, encoding: str = "utf-8") -> list[Line]:
    return list(Source(name, encoding).physical_lines())


@pytest.mark.parametrize("suffix", [*COMPRESS, ".GZ", ""])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str) -> None:
    compress = COMPRESS.get(suffix.lower(), bytes)
    name = write(tmp_path, f"a.tsv{suffix}", compress(TEXT.encode()))
    assert [line.text for line in read(name)] == TEXT.splitlines()
    assert Source(name).extension == "tsv"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_cut_short_is_an_error(tmp_path: Path, suffix: str) -> None:
    data = COMPRESS[suffix](TEXT.encode())
    for cut in (len(data) - 1, len(data) // 2, 5):
        with pytest.raises(DataError, match=rf"a\.tsv\{suffix} cannot be read as \{suffix}; it may be damaged"):
            read(write(tmp_path, f"a.tsv{suffix}", data[:cut]))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_that_is_not_compressed_at_all(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DataError, match="cannot be read as"):
        read(write(tmp_path, f"a.tsv{suffix}", TEXT))


def test_damage_in_the_middle_of_deflated_data_is_an_error(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(os.urandom(4000).hex().encode()))
    data[1000:1100] = bytes(100)
    with pytest.raises(DataError, match=r"cannot be read as .gz"):
        read(write(tmp_path, "a.tsv.gz", bytes(data)))
    with pytest.raises((zlib.error, OSError)):
        gzip.decompress(bytes(data))


def test_zstandard_frames_one_after_the_other_are_all_read(tmp_path: Path) -> None:
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    data = zstandard.compress(b"a\n") + skippable + zstandard.compress(b"b\n" * 999) + zstandard.compress(b"c\n")
    assert [line.text for line in read(write(tmp_path, "a.zst", data))] == ["a", *["b"] * 999, "c"]


def test_without_zstandard_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"zstandard; pip install 'dragoman\[formats\]'"):
        read(write(tmp_path, "a.tsv.zst", b"x"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_unicode_with_and_without_byte_order_mark(tmp_path: Path, encoding: str, mark: str, end: str) -> None:
    if mark and encoding in ("utf-8-sig", "utf-16", "utf-32"):
        mark = ""  # the codec writes its own
    text = f"{mark}Go.{end}\u0a0a ñ 𝄞{end}{end}last"  # U+0A0A: both bytes look like a line end
    expected = [Line(1, "Go."), Line(2, "\u0a0a ñ 𝄞"), Line(3, ""), Line(4, "last")]
    assert read(write(tmp_path, "a.txt", text.encode(encoding)), encoding) == expected


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso-8859-15", "cp037", "mac-roman"])
def test_other_encodings_when_named(tmp_path: Path, encoding: str) -> None:
    text = "¿Dónde está el ñandú?\n¡Sí!\n"
    name = write(tmp_path, "a.txt", text.encode(encoding))
    assert [line.text for line in read(name, encoding)] == text.splitlines()


@pytest.mark.parametrize("encoding", ["nonsense", "zlib", "rot13", "idna", "unicode_escape", "utf\0-8", ""])
def test_what_is_no_text_encoding(encoding: str) -> None:
    with pytest.raises(ConfigurationError, match="unknown encoding"):
        Source("a", encoding)


def test_undecodable_bytes_are_a_fault_of_their_line_alone(tmp_path: Path) -> None:
    name = write(tmp_path, "a.txt", b"good\ncaf\xe9 \xff\nn\xc3\xb1\n\xc3\n")
    assert read(name) == [
        Line(1, "good"),
        Line(2, "caf\ufffd \ufffd", "not utf-8"),
        Line(3, "nñ"),
        Line(4, "\ufffd", "not utf-8"),
    ]


def test_undecodable_utf_16_is_a_fault_of_its_line_alone(tmp_path: Path) -> None:
    data = "ab\n".encode("utf-16-le") + b"\x00\xd8" + "x\ny\n".encode("utf-16-le") + b"z"
    assert [(line.number, line.fault) for line in read(write(tmp_path, "a.txt", data), "utf-16-le")] == [
        (1, ""),
        (2, "not utf-16-le"),
        (3, ""),
        (4, "not utf-16-le"),
    ]


def test_nul_is_a_fault(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.txt", "a\nb\0c\nd\n")) == [
        Line(1, "a"),
        Line(2, "b\0c", "a NUL character"),
        Line(3, "d"),
    ]


@pytest.mark.parametrize("extra", [0, 1, LONGEST_LINE, LONGEST_LINE + 1, 5 * LONGEST_LINE])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_that_is_too_long_is_left_out_and_the_next_ones_are_read(tmp_path: Path, extra: int, end: str) -> None:
    long = "x" * (LONGEST_LINE + extra - 1) + "\n"
    found = read(write(tmp_path, "a.txt", "first\n" + long + "last" + end))
    fault = f"longer than {LONGEST_LINE:,} characters" if extra else ""
    assert [(line.number, line.fault) for line in found] == [(1, ""), (2, fault), (3, "")]
    assert found[-1].text == "last"


def test_problems_carry_the_file_and_the_line(tmp_path: Path) -> None:
    name, problems = write(tmp_path, "a.txt", b"a\n\xff\nb\n"), ReadErrors("skip")
    assert list(Source(name).lines(problems)) == [(1, "a"), (3, "b")]
    told = f"{name}, line 2: not utf-8 (name its encoding, for example --encoding latin-1): '\ufffd'"
    assert [str(p) for p in problems.examples["not utf-8"]] == [told]
    with pytest.raises(DataError, match=r"a\.txt, line 2: not utf-8"):
        list(Source(name).lines(ReadErrors()))


@pytest.mark.parametrize(
    ("name", "data"), [("a", b""), ("a", b"\xef\xbb\xbf"), ("a.gz", gzip.compress(b"", mtime=0)), ("a.gz", b"")]
)
def test_an_empty_file_is_an_error(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(DataError, match=rf"{name} is empty; expected at least one line"):
        read(write(tmp_path, name, data))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.tsv does not exist"):
        read(str(tmp_path / "gone.tsv"))
    with pytest.raises(DataError, match=r"cannot be read: .*too long"):
        read(str(tmp_path / ("x" * 300)))
    with pytest.raises(DataError, match=r"cannot be read: .*ot a directory"):
        read(write(tmp_path, "file", b"x") + "/below")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"{tmp_path} is a directory; name the files in it"):
        read(str(tmp_path))


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a file name"):
        Source(name)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write(tmp_path, "a.tsv", b"x\n")
    Path(name).chmod(0)
    if os.access(name, os.R_OK):  # the superuser may read everything

        def refuse(*args: object, **options: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"a\.tsv cannot be read: permission denied"):
        read(name)


class Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Input("ñ\nb\n".encode())
    monkeypatch.setattr(sys, "stdin", stream)
    assert read("-") == [Line(1, "ñ"), Line(2, "b")]
    assert not stream.buffer.closed
    with pytest.raises(DataError, match="standard input is empty"):
        read("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="no standard input"):
        read("-")


def test_what_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert Source("-").is_single_pass
    assert Source(str(tmp_path / "pipe")).is_single_pass
    assert not Source(write(tmp_path, "file", b"x")).is_single_pass
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"a\n",))
    writer.start()
    assert read(str(tmp_path / "pipe")) == [Line(1, "a")]
    writer.join()


def test_closing_early_closes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = write(tmp_path, "a.txt.gz", gzip.compress(b"a\nb\n"))
    opened, really_open = [], Path.open

    def remember(path: Path, mode: str) -> object:
        opened.append(really_open(path, mode))
        return opened[-1]

    monkeypatch.setattr(Path, "open", remember)
    lines = Source(name).physical_lines()
    assert next(lines) == Line(1, "a")
    assert not opened[0].closed
    lines.close()  # type: ignore[attr-defined]
    assert opened[0].closed


@pytest.mark.parametrize(
    ("suffix", "encoding", "format"),
    [
        ("", "utf-8", "plain"),
        ("", "utf-16-le", "plain"),
        ("", "utf-8", "csv"),
        (".gz", "utf-8", "csv"),
        (".xz", "utf-8", "plain"),
        (".zst", "utf-8", "plain"),
    ],
)
def test_a_line_of_100_megabytes_and_a_bomb_take_little_memory(
    tmp_path: Path, suffix: str, encoding: str, format: str
) -> None:
    data = "a,b\n".encode(encoding) + b"xx" * (50 << 20) + "\nc,d\n".encode(encoding)
    if suffix:
        data = _quickly_compressed(data, suffix)
        assert len(data) < 1 << 20
    small = measured(write(tmp_path, "small.txt", "a,b\nc,d\n".encode(encoding)), format, encoding)
    large = measured(write(tmp_path, f"a.txt{suffix}", data), format, encoding)
    assert (large[0], large[1]) == (2, 1)
    assert large[2] - small[2] < 40


def _quickly_compressed(data: bytes, suffix: str) -> bytes:
    if suffix == ".xz":
        return lzma.compress(data, preset=0)
    return gzip.compress(data, 1) if suffix == ".gz" else zstandard.compress(data)
