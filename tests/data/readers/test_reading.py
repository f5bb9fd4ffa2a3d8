"""What all formats share: how they are found, several files, several passes, the same pairs from each."""

from __future__ import annotations

import io
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from dragoman.data.readers import FORMATS, Layout, Record, find_format, read_records
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError, DataError
from tests.data.readers.files import (
    COMPRESS,
    PAIR_FILES,
    PAIRS,
    account,
    as_tsv,
    fields,
    lines,
    measured,
    reading,
    write,
)

ENG_SPA = Path(__file__).parents[4] / "shared" / "data" / "eng-spa.tsv.gz"


@pytest.mark.parametrize("name", PAIR_FILES)
def test_every_format_gives_the_pairs_back(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, PAIR_FILES[name](PAIRS))
    assert fields(path) == PAIRS
    assert {record.file for record in reading(path)} == {path}


@pytest.mark.parametrize("name", PAIR_FILES)
def test_every_format_composes_and_strips_and_reports_an_empty_side(tmp_path: Path, name: str) -> None:
    apart = [("  n\u0303o ", unicodedata.normalize("NFD", "¿Dónde está?")), ("left", "  "), ("end", "fin")]
    problems = (read := reading(write(tmp_path, name, PAIR_FILES[name](apart)), on_bad_line="skip")).problems
    records = list(read)
    assert [record.fields for record in records] == [("ño", "¿Dónde está?"), ("end", "fin")]
    assert len(problems) == 0
    assert read.problems.counts.keys() <= {"empty target"}
    assert len(read.problems) + read.problems.skipped.total() == 1
    for _, line in account(read.problems):
        assert records[0].line < line < records[1].line


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", [name for name in PAIR_FILES if name != "pairs.parquet"])
def test_every_format_but_parquet_may_be_compressed(tmp_path: Path, name: str, suffix: str) -> None:
    assert fields(write(tmp_path, name + suffix, COMPRESS[suffix](PAIR_FILES[name](PAIRS)))) == PAIRS


@pytest.mark.parametrize("name", PAIR_FILES)
@pytest.mark.parametrize("on_bad_line", ["error", "skip"])
def test_an_empty_file_is_an_error_in_every_format(tmp_path: Path, name: str, on_bad_line: str) -> None:
    with pytest.raises(DataError, match=f"{name} is empty; expected"):
        fields(write(tmp_path, name, b""), on_bad_line=on_bad_line)


@pytest.mark.parametrize("name", PAIR_FILES)
def test_missing_files_and_directories_in_every_format(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="does not exist"):
        fields(str(tmp_path / name))
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="is a directory"):
        fields(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "package", "what"),
    [
        ("pairs.parquet", "pyarrow", "Parquet"),
        ("pairs.tmx", "translate.storage.tmx", "TMX"),
        ("pairs.xlf", "translate.storage.xliff", "XLIFF"),
        ("pairs.po", "translate.storage.poparser", "PO"),
    ],
)
def test_missing_extras_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str, what: str
) -> None:
    path = write(tmp_path, name, PAIR_FILES[name](PAIRS))
    monkeypatch.setitem(sys.modules, package, None)
    top = package.partition(".")[0]
    with pytest.raises(DataError, match=rf"{what} files need the package {top}; pip install 'dragoman\[formats\]'"):
        fields(path)


def test_importing_the_readers_imports_no_extra() -> None:
    program = (
        "import sys, dragoman.data.readers; print({'lxml', 'translate', 'pyarrow', 'zstandard'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_several_files_at_once_in_order(tmp_path: Path) -> None:
    names = [write(tmp_path, name, PAIR_FILES[name](PAIRS)) for name in ("pairs.csv", "pairs.tmx", "pairs.tsv")]
    assert fields(names) == PAIRS * 3
    assert [record.file for record in reading(names)] == [name for name in names for _ in PAIRS]


def test_a_reading_can_be_repeated_with_a_fresh_account(tmp_path: Path) -> None:
    read = reading(write(tmp_path, "a.tsv", "a\tb\nbad\nc\td\n"), on_bad_line="skip")
    first = list(read)
    account_of_first = read.problems
    assert list(read) == first
    assert read.problems is not account_of_first
    assert read.problems == account_of_first
    assert read.problems.counts == {"wrong number of columns": 1}


class Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(as_tsv()))
    read = reading("-", format="tsv")
    assert [record.fields for record in read] == PAIRS
    with pytest.raises(DataError, match="standard input can be read only once; save it to a file"):
        iter(read)
    with pytest.raises(ConfigurationError, match="named more than once"):
        reading(["-", "-"], format="tsv")
    with pytest.raises(
        DataError, match=r"cannot determine the format of standard input: it has no extension. Give it with --format"
    ):
        reading("-")


@pytest.mark.parametrize("name", ["a.doc", "a.en", "a", "a.gz"])
def test_an_unknown_extension_lists_the_formats(name: str) -> None:
    with pytest.raises(
        DataError, match=r"cannot determine the format of .* --format; available: plain, tsv, csv, aligned, jsonl"
    ) as error:
        reading(name)
    assert all(format in str(error.value) for format in FORMATS)


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "a.doc", as_tsv())
    assert fields(path, format="tsv") == PAIRS
    with pytest.raises(ConfigurationError, match="unknown format 'word'; available: plain, tsv"):
        fields(path, format="word")


def test_the_kind_of_record_decides_between_formats_of_one_extension() -> None:
    assert find_format(Source("a.txt"), Layout("text")).name == "plain"
    assert find_format(Source("a.txt"), Layout("pairs")).name == "tsv"
    assert find_format(Source("a.TXT.GZ"), Layout("labelled")).name == "tsv"
    with pytest.raises(DataError, match=r"a.tmx: tmx files hold pairs, not text; use another --format"):
        find_format(Source("a.tmx"), Layout("text"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "sentences"}, "unknown kind of record 'sentences'; available: pairs, text, labelled"),
        ({"columns": (1,)}, "1 columns given; pairs need 2: source, target"),
        ({"columns": (0, -1)}, "there is no column -1"),
        ({"columns": (0, True)}, "a column is a number from 0 or a name, not True"),
        ({"columns": (0, "")}, "a column is a number from 0 or a name, not ''"),
        ({"languages": ("en", "")}, "give two languages"),
    ],
)
def test_layouts_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Layout(**options)  # type: ignore[arg-type]


def test_no_files_or_one_by_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no files given"):
        read_records([])
    path = tmp_path / "a.tsv"
    path.write_bytes(as_tsv())
    assert len(list(read_records(path))) == len(list(read_records(str(path)))) == len(PAIRS)  # type: ignore[arg-type]


@pytest.mark.ledger("T-6.1-data")
def test_the_english_spanish_file_has_118_964_pairs() -> None:
    if not ENG_SPA.exists():
        pytest.skip(f"NOT CHECKED against the public corpus: {ENG_SPA} is not there")
    start = time.process_time()
    read = list(read_records([str(ENG_SPA)]))
    seconds = time.process_time() - start
    assert len(read) == 118_964
    assert read[0] == Record(("Go.", "Ve."), str(ENG_SPA), 1)
    assert read[-1].line == 118_964
    assert read[-1].fields[0].startswith("If you want to sound like a native speaker, you must be willing to practice")
    assert read[-1].fields[1].endswith("hasta que lo puedan tocar correctamente y en el tiempo esperado.")
    assert seconds < 5  # about 0.7 alone


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv", "pairs.jsonl", "pairs.parquet", "pairs.tmx", "pairs.xliff"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, name: str) -> None:
    def megabytes(count: int) -> int:
        pairs = [(f"source {i} {'x' * 200}", f"reference ñ {i} {'x' * 200}") for i in range(count)]
        path = write(tmp_path, name, PAIR_FILES[name](pairs))
        records, problems, peak, _ = measured(path, find_format(Source(path), Layout()).name)
        assert (records, problems) == (count, 0)
        return peak

    some = 20_000 if name == "pairs.parquet" else 2_000  # pyarrow's buffers are full only then
    assert megabytes(some + 20_000) - megabytes(some) < 8  # the texts alone are 8, and objects more


@pytest.mark.ledger("B-7.1-collection")
def test_sequences_of_a_collection_have_lengths_of_their_own(tmp_path: Path) -> None:
    ragged = [" ".join("abcdefgh"[: 1 + i % 8]) for i in range(20)]
    read = fields(write(tmp_path, "a.txt", "\n".join(ragged)), Layout("text"))
    assert [len(text.split()) for (text,) in read] == [1 + i % 8 for i in range(20)]
    assert lines(str(tmp_path / "a.txt"), Layout("text"))[0] == list(range(1, 21))
