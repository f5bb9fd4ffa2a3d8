"""A corpus of shards, prepared in parallel: the same dataset as from one file, whatever the number of processes."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from dragoman.data import parallel_preparation as module
from dragoman.data.cache import file_digest
from dragoman.data.dataset import Dataset, prepare
from dragoman.data.pair_encoding import Encoding
from dragoman.data.splits import PARTS, Splitting
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.translation.prepared import prepare_corpus
from dragoman.tasks.translation.settings import PairData
from tests.data.shard_files import write_jsonl, write_parquet
from tests.tasks.models import PAIRS

MIXED = [
    *PAIRS,
    *((f"{source} See {i} at example.com/{i}!", f"{target} ¡Ve {i} en example.com/{i}!") for i, (source, target) in
      enumerate(PAIRS)),
]  # fmt: skip


def digests(directory: Path) -> dict[str, str]:
    """Of all files but the one that names the sources."""
    return {path.name: file_digest(path) for path in directory.iterdir() if path.name != module.NAME}


def prepared(files: str, out: Path, workers: int = 1, **settings: Any) -> Dataset:
    return prepare_corpus(PairData(files=(files,), **settings), out, workers=workers)[0]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several chunks and ranges of few pairs. (Other processes have the usual ones.)"""
    monkeypatch.setattr(module, "CHUNK", 64)
    monkeypatch.setattr(module, "RANGE", 128)


@pytest.mark.parametrize("maximum", [None, (12, 14)])
def test_shards_give_the_dataset_of_their_pairs(tmp_path: Path, maximum: tuple[int, int] | None) -> None:
    """Split, masked, augmented, tokenized, cut and encoded like the pairs of one file."""
    protected = Encoding(protect=True, maximum=maximum or (None, None))
    whole = prepare(MIXED, tmp_path / "whole", protected, Splitting((0.9, 0.05, 0.05)))
    prepared(write_parquet(tmp_path / "parquet", MIXED), tmp_path / "a", maximum=maximum)
    prepared(write_jsonl(tmp_path / "jsonl", MIXED, 5), tmp_path / "b", maximum=maximum)
    assert digests(tmp_path / "a") == digests(tmp_path / "b") == digests(tmp_path / "whole")
    assert maximum is None or min(whole.about["truncated"]) > 0


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    place = write_parquet(tmp_path / "parquet", MIXED)
    for workers in (1, 3):
        prepared(place, tmp_path / str(workers), workers)
    assert digests(tmp_path / "1") == digests(tmp_path / "3")
    one, three = (json.loads((tmp_path / name / module.NAME).read_text(encoding="utf-8")) for name in "13")
    assert one == three


def test_a_pair_in_two_files_is_in_one_part(tmp_path: Path) -> None:
    place = Path(write_jsonl(tmp_path / "jsonl", PAIRS, 1))
    (place / "again.jsonl").write_bytes((place / "0.jsonl").read_bytes())
    found = prepared(str(place), tmp_path / "out", shares=(0.5, 0.25, 0.25))
    np.testing.assert_array_equal(*np.split(found.parts, 2))
    assert {name: 2 * len(set(found.part(name).values())) for name in PARTS} == found.about["parts"]
    assert min(found.about["parts"].values()) > 0


def test_memory_addresses_are_read(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(write_jsonl(tmp_path / "jsonl", PAIRS), "/pairs", recursive=True)
    try:
        prepared("memory://pairs", tmp_path / "a")
    finally:
        memory.rm("/pairs", recursive=True)
    prepared(str(tmp_path / "jsonl"), tmp_path / "b")
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_tokenizers_are_learnt_from_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write_jsonl(tmp_path / "jsonl", [(f"word{i}", f"palabra{i}") for i in range(400)])
    monkeypatch.setattr(module, "SAMPLE", 100)
    found = [prepare_corpus(PairData(files=(place,), tokenizer="words", protect=False), tmp_path / str(i), seed)[0]
             for i, seed in enumerate((0, 0, 1))]  # fmt: skip
    learnt = [set(dataset.encoders["source"].learned_pieces()) for dataset in found]
    assert [len(words) for words in learnt] == [100, 100, 100]
    assert learnt[0] == learnt[1] != learnt[2]
    training = {f"▁{text}" for text in found[0].part("training").texts("source")}
    assert learnt[0] < training, "nothing is learnt from the other parts"


def test_bad_lines_are_counted_and_named(tmp_path: Path) -> None:
    place = Path(write_jsonl(tmp_path / "jsonl", PAIRS, 3))
    for i in (0, 2):
        with (place / f"{i}.jsonl").open("a", encoding="utf-8") as file:
            file.write("not JSON\n" * 4)
    settings = PairData(files=(str(place),))
    with pytest.raises(DataError, match=r"0.jsonl, line 121: not JSON"):
        prepare_corpus(settings, tmp_path / "out")
    found, problems = prepare_corpus(settings.model_copy(update={"on_bad_line": "skip"}), tmp_path / "out")
    assert len(found) == len(PAIRS)
    told = problems.lines()
    assert told[0] == "8 lines skipped: not JSON"
    assert [line.rpartition("/")[2].partition(":")[0] for line in told[1:]] == [
        *(f"0.jsonl, line {line}" for line in (121, 122, 123, 124)),
        "2.jsonl, line 121",
    ]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    place = Path(write_parquet(tmp_path / "parquet", PAIRS))
    content = (place / "2.parquet").read_bytes()
    broken = bytearray(content)
    broken[60:400] = bytes(340)  # in the first pages; the footer stays
    (place / "2.parquet").write_bytes(broken)
    with pytest.raises(DataError, match=r"2.parquet"):
        prepared(str(place), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["parquet"]
    (place / "2.parquet").write_bytes(content)
    assert len(prepared(str(place), tmp_path / "out")) == len(PAIRS)
    with pytest.raises(DataError, match=r"out exists already; choose another --out"):
        prepared(str(place), tmp_path / "out")


def test_pairs_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    long = ("a b " * 2500 + ".", "No.")
    place = write_jsonl(tmp_path / "jsonl", [*PAIRS, long])
    found = prepared(place, tmp_path / "out", tokenizer="words", protect=False)
    assert (found.about["left_out"], len(found)) == (1, len(PAIRS) + 1)
    assert f"pair {len(PAIRS) + 1}, of 5,003 and 4 labels (a b a b" in found.about["left_out_example"]
    assert max(found.about["longest"]) < 20
    with pytest.raises(DataError, match="all training pairs are too long"):
        prepared(write_jsonl(tmp_path / "long", [long]), tmp_path / "none", tokenizer="words", shares=(1, 0, 0))


def test_splits_that_need_all_samples_are_refused(tmp_path: Path) -> None:
    place = write_jsonl(tmp_path / "jsonl", PAIRS)
    for split in ("sample", "given"):
        with pytest.raises(ConfigurationError, match="is split by source"):
            prepared(place, tmp_path / "out", split=split)


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4.5 MB of text take at most 1 MB more than 1.2 MB."""
    monkeypatch.setattr(module, "SAMPLE", 500)
    words = [f"{i:02}{'letters' * 8}" for i in range(100)]
    pairs = [(" ".join(words[i % 90 : i % 90 + 10]), " ".join(words[i % 80 : i % 80 + 10])) for i in range(4_000)]
    peaks = []
    for count in (1_000, 4_000):
        place = write_jsonl(tmp_path / str(count), pairs[:count], 1)
        tracemalloc.start()
        prepared(place, tmp_path / f"{count}-out", tokenizer="words", protect=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (tmp_path / "4000" / "0.jsonl").stat().st_size > 4.5e6
    assert peaks[1] - peaks[0] < 1e6
