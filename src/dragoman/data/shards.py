"""Find the files of a large corpus, and cut them into pieces that are read in parallel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dragoman.data.addresses import files_at, is_address
from dragoman.data.readers import Layout, find_format
from dragoman.data.readers.aligned import is_two_files
from dragoman.data.readers.parquet import PARQUET, row_groups
from dragoman.data.source import COMPRESSIONS, STANDARD_INPUT, Source
from dragoman.errors import DataError

SHARD_FORMATS = ("parquet", "pq", "jsonl", "ndjson", "tsv", "tab", "csv")  # extensions looked for in a directory
ROWS = 50_000  # of a piece of a Parquet file, at least


def find_files(names: Sequence[str], format: str | None = None) -> list[str]:
    """The files that some names stand for: files, directories of shards, addresses, patterns of addresses.

    In directories, files with other extensions are ignored unless the format is given, and hidden ones always are;
    a pattern matches what it matches.
    """
    found: list[str] = []
    for name in names:
        if name == STANDARD_INPUT:
            raise DataError("standard input can be read only once, and pairs are prepared in two passes; name a file")
        found += _files_of(name, format)
    name, times = Counter(found).most_common(1)[0]
    if times > 1:
        raise DataError(f"{name} is named more than once; name each file or its directory once")
    return found


def _files_of(name: str, format: str | None) -> list[str]:
    if is_address(name):
        inside = files_at(name)
        if inside == [name]:
            return inside
    elif not Path(name).is_dir():
        return [name]
    else:
        inside = sorted(str(path) for path in Path(name).rglob("*") if path.is_file())
    shown = inside if "*" in name else [path for path in inside if not _is_hidden(path[len(name) :])]
    files = [path for path in shown if format is not None or Source(path).extension in SHARD_FORMATS]
    if not files:
        others = f"it has {', '.join(Path(path).name for path in shown[:3])}" if shown else "it has no files"
        raise DataError(
            f"{name} holds no pairs: {others}; expected .parquet, .jsonl, .tsv or .csv files, also compressed "
            f"({', '.join(COMPRESSIONS)}), or --format for other names"
        )
    if {"training.tsv", "validation.tsv"} <= {Path(path).name for path in files}:
        raise DataError(f"{name} holds parts that `dragoman data split` wrote; train on that folder as it is")
    return files


def _is_hidden(inside: str) -> bool:
    """Whether a file, or a directory that it is in, is hidden, or written by a cluster about its run (_SUCCESS)."""
    return any(part.startswith((".", "_")) for part in inside.split("/"))


def cut_into_shards(files: Sequence[str], layout: Layout, format: str | None, encoding: str) -> list[Source]:
    """Pieces to read independently, in order: row groups of Parquet files, other files whole."""
    shards: list[Source] = []
    for name in files:
        source = Source(name, encoding)
        if find_format(source, layout, format) is PARQUET:
            shards += row_groups(source, ROWS)
        elif is_address(name) or is_two_files(name) or Path(name).exists():
            shards.append(source)
        else:
            raise DataError(f"{name} does not exist; check the path")
    return shards
