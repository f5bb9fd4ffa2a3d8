"""Directories of shards for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Pair = tuple[str, str]


def cut(pairs: Sequence[Pair], count: int) -> list[Sequence[Pair]]:
    size = -(-len(pairs) // count)
    return [pairs[start : start + size] for start in range(0, len(pairs), size)]


def write_jsonl(place: Path, pairs: Sequence[Pair], count: int = 3) -> str:
    place.mkdir()
    for i, some in enumerate(cut(pairs, count)):
        lines = [json.dumps({"source": source, "target": target}) for source, target in some]
        (place / f"{i}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(place)


def write_parquet(place: Path, pairs: Sequence[Pair], count: int = 3, rows: int = 50) -> str:
    place.mkdir()
    for i, some in enumerate(cut(pairs, count)):
        table = pa.table(dict(zip(("source", "target"), zip(*some, strict=True), strict=True)))
        pq.write_table(table, place / f"{i}.parquet", row_group_size=rows)
    return str(place)
