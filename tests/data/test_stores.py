"""Sequences on disk: what was appended comes back, one at a time or gathered, without loading the file."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.data.stores import LABEL, OFFSET, LabelStore, Store, StoreWriter, TextStore
from dragoman.errors import FileFormatError

sequences = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # every example writes it anew


def written(path: Path, items: list[list[int]]) -> LabelStore:
    with StoreWriter(path, LABEL.itemsize) as writer:
        for item in items:
            writer.append(np.array(item, LABEL).tobytes())
    return LabelStore(path)


@in_one_folder
@given(items=sequences)
def test_labels_come_back(items: list[list[int]], tmp_path: Path) -> None:
    store = written(tmp_path / "labels", items)
    assert len(store) == len(items)
    assert [store[i].tolist() for i in range(len(items))] == items
    assert store.lengths().tolist() == [len(item) for item in items]


@in_one_folder
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=6))
def test_texts_come_back(texts: list[str], tmp_path: Path) -> None:
    """Exactly: not normalised, with the white space and line ends they had."""
    with StoreWriter(tmp_path / "texts", 1) as writer:
        for text in texts:
            writer.append(text.encode())
    store = TextStore(tmp_path / "texts")
    assert list(store.texts(range(len(texts)))) == texts
    assert list(store.texts(range(len(texts))[::-1])) == texts[::-1]


@in_one_folder
@given(items=sequences.filter(bool), data=st.data())
def test_gathering_is_taking_one_after_the_other(items: list[list[int]], data: st.DataObject, tmp_path: Path) -> None:
    store = written(tmp_path / "labels", items)
    chosen = data.draw(st.lists(st.integers(0, len(items) - 1), max_size=10))  # repeated, in any order, or none
    rows, offsets = store.gather(np.array(chosen, np.int64))
    assert rows.dtype == np.int32
    assert [part.tolist() for part in np.split(rows, offsets[1:-1])][: len(chosen)] == [items[i] for i in chosen]
    assert offsets.tolist() == [0, *np.cumsum([len(items[i]) for i in chosen])]
    assert store.lengths(np.array(chosen, np.int64)).tolist() == [len(items[i]) for i in chosen]


def test_what_was_gathered_can_be_changed_and_the_file_cannot(tmp_path: Path) -> None:
    store = written(tmp_path / "labels", [[1, 2], [3]])
    rows, _ = store.gather(np.array([1, 0]))
    rows[:] = 9
    assert type(rows) is np.ndarray
    assert [store[i].tolist() for i in range(2)] == [[1, 2], [3]]
    with pytest.raises(ValueError, match="read-only"):
        store[0][0] = 9


@pytest.mark.parametrize("items", [[], [[]], [[], [], []], [[], [7], []]])
def test_empty_stores_and_empty_items(items: list[list[int]], tmp_path: Path) -> None:
    store = written(tmp_path / "labels", items)
    assert [store[i].tolist() for i in range(len(store))] == items


@pytest.mark.parametrize("suffix", [".data", ".offsets"])
@pytest.mark.parametrize("cut", [1, 4, 8, None])
def test_a_file_cut_short_is_refused(suffix: str, cut: int | None, tmp_path: Path) -> None:
    path = tmp_path / "labels"
    written(path, [[1, 2], [3], [4, 5, 6]])
    file = path.with_suffix(suffix)
    os.truncate(file, 0 if cut is None else file.stat().st_size - cut)
    with pytest.raises(FileFormatError, match="labels"):
        LabelStore(path)


@pytest.mark.parametrize("suffix", [".data", ".offsets"])
def test_a_missing_file_is_told(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / "labels"
    written(path, [[1]])
    path.with_suffix(suffix).unlink()
    with pytest.raises(FileFormatError, match=f"labels\\{suffix} cannot be read"):
        LabelStore(path)


def test_a_writer_that_failed_leaves_no_offsets(tmp_path: Path) -> None:
    with contextlib.suppress(ZeroDivisionError), StoreWriter(tmp_path / "labels", 4) as writer:
        writer.append(b"\0" * 8)
        raise ZeroDivisionError
    with pytest.raises(FileFormatError, match=r"labels\.offsets cannot be read"):
        LabelStore(tmp_path / "labels")


OPEN_AND_TELL = """
import json, resource, sys
from pathlib import Path
import numpy as np
from dragoman.data.stores import LabelStore
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store = LabelStore(Path(sys.argv[1]))
rows, _ = store.gather(np.array([2, 0]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"rows": rows.tolist(), "kilobytes": after - before}))
"""


def test_a_store_larger_than_memory_opens_without_being_loaded(tmp_path: Path) -> None:
    """64 GiB of labels, all but a few of them a hole in the file."""
    path, labels = tmp_path / "labels", 1 << 34
    with path.with_suffix(".data").open("wb") as file:
        file.write(np.array([5, 6], LABEL).tobytes())
        file.seek((labels - 1) * LABEL.itemsize)
        file.write(np.array([7], LABEL).tobytes())
    np.array([0, 2, labels - 1, labels], OFFSET).tofile(path.with_suffix(".offsets"))
    told = subprocess.run([sys.executable, "-c", OPEN_AND_TELL, path], capture_output=True, text=True, check=True)
    answer = json.loads(told.stdout)
    assert answer["rows"] == [7, 5, 6]
    assert answer["kilobytes"] < 10_000


@pytest.mark.parametrize("store", [LabelStore, TextStore])
def test_files_are_mapped(store: type[LabelStore] | type[TextStore], tmp_path: Path) -> None:
    written(tmp_path / "labels", [[1, 2]])
    if store is TextStore:
        np.array([0, 8], OFFSET).tofile(tmp_path / "labels.offsets")
    opened: Store = store(tmp_path / "labels")
    assert isinstance(opened.data, np.memmap)
    assert isinstance(opened.offsets, np.memmap)


def test_the_format_does_not_depend_on_the_machine(tmp_path: Path) -> None:
    written(tmp_path / "labels", [[1], [258]])
    assert (tmp_path / "labels.data").read_bytes() == bytes([1, 0, 0, 0, 2, 1, 0, 0])
    assert (tmp_path / "labels.offsets").read_bytes() == bytes([0] * 8 + [1] + [0] * 7 + [2] + [0] * 7)
