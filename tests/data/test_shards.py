"""The files that a directory or an address stands for, and the pieces they are read in."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import fsspec
import pytest

from dragoman.data import shards
from dragoman.data.readers import Layout, read_records
from dragoman.data.readers.parquet import RowGroups, read_parquet, row_groups
from dragoman.data.records import ReadErrors
from dragoman.data.shards import cut_into_shards, find_files
from dragoman.data.source import Source
from dragoman.errors import DataError
from tests.data.shard_files import write_jsonl, write_parquet
from tests.tasks.models import PAIRS


def names(files: list[str]) -> list[str]:
    return [Path(file).name for file in files]


def test_a_directory_stands_for_its_files_in_order(tmp_path: Path) -> None:
    for name in ("b.tsv", "a.parquet", "c/d.jsonl.gz", "README.md", ".hidden.tsv", "_logs/x.tsv", "e.tsv.zst"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert names(find_files([str(tmp_path)])) == ["a.parquet", "b.tsv", "d.jsonl.gz", "e.tsv.zst"]
    assert names(find_files([str(tmp_path)], format="tsv")) == [
        *("README.md", "a.parquet", "b.tsv", "d.jsonl.gz", "e.tsv.zst")
    ]


def test_directories_without_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"it has no files; expected \.parquet"):
        find_files([str(tmp_path)])
    (tmp_path / "notes.md").touch()
    with pytest.raises(DataError, match=r"it has notes\.md; expected \.parquet"):
        find_files([str(tmp_path)])
    for name in ("training.tsv", "validation.tsv"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match="train on that folder as it is"):
        find_files([str(tmp_path)])


def test_a_file_is_named_once(tmp_path: Path) -> None:
    file = Path(write_jsonl(tmp_path / "shards", PAIRS)) / "0.jsonl"
    with pytest.raises(DataError, match=r"0.jsonl is named more than once"):
        find_files([str(file.parent), str(file)])
    with pytest.raises(DataError, match="standard input can be read only once"):
        find_files(["-"])


def test_parquet_is_cut_at_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_parquet(tmp_path / "shards", PAIRS, count=1, rows=50)
    monkeypatch.setattr(shards, "ROWS", 80)
    found = cut_into_shards(find_files([place]), Layout(), None, "utf-8")
    assert [(shard.groups, shard.before) for shard in found if isinstance(shard, RowGroups)] == [
        ((0, 1), 0),
        ((2, 3), 100),
        ((4, 5), 200),
        ((6, 7), 300),
    ]
    records = [record for shard in found for record in read_parquet(shard, Layout(), ReadErrors())]
    assert records == list(read_records([f"{place}/0.parquet"]))
    assert [record.line for record in records] == list(range(1, len(PAIRS) + 1))


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no", encoding="utf-8")
    with pytest.raises(DataError, match=r"a.parquet cannot be read as Parquet"):
        row_groups(Source(str(tmp_path / "a.parquet")), 10)


# Addresses


def test_files_at_an_address_are_those_of_its_directory(tmp_path: Path) -> None:
    place = write_jsonl(tmp_path / "shards", PAIRS)
    packed = tmp_path / "shards" / "3.tsv.gz"
    packed.write_bytes(gzip.compress(b"Go.\tVe.\n"))
    found = find_files([f"file://{place}"])
    assert found == [*(f"file://{place}/{i}.jsonl" for i in range(3)), f"file://{packed}"]
    assert find_files([f"file://{place}/*.jsonl"]) == found[:3]
    Path(f"{place}/0.jsonl").rename(f"{place}/a__0.jsonl")
    assert find_files([f"file://{place}/a*"]) == [f"file://{place}/a__0.jsonl"]
    Path(f"{place}/a__0.jsonl").rename(f"{place}/0.jsonl")
    assert [record.fields for record in read_records(found)] == [*PAIRS, ("Go.", "Ve.")]


def test_memory_is_a_file_system_too(tmp_path: Path) -> None:
    place = write_parquet(tmp_path / "shards", PAIRS)
    memory = fsspec.filesystem("memory")
    memory.put(place, "/shards", recursive=True)
    try:
        found = find_files(["memory://shards"])
        assert names(found) == ["0.parquet", "1.parquet", "2.parquet"]
        assert [record.fields for record in read_records(found)] == PAIRS
        with pytest.raises(DataError, match=r"memory://shards/4.parquet does not exist"):
            list(read_records(["memory://shards/4.parquet"]))
    finally:
        memory.rm("/shards", recursive=True)


def test_addresses_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="Protocol not known: nowhere; check the address"):
        find_files(["nowhere://a"])
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(DataError, match="cannot be opened: Install s3fs to access S3; install that package with pip"):
        find_files(["s3://bucket/a"])
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(DataError, match=r"need the package fsspec; pip install 'dragoman\[remote\]'"):
        find_files(["file:///tmp"])


class DriverError(Exception):
    """An error of a protocol's package."""


def test_errors_of_a_protocol_name_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DriverError("no credentials")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "_open", fail)
    with pytest.raises(DataError, match=r"memory://a.tsv cannot be read: DriverError: no credentials"):
        list(read_records(["memory://a.tsv"]))
