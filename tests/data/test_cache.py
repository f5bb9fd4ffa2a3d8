"""Prepared datasets are found again, and prepared anew when anything that matters changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.data.cache import cache_directory, cached_dataset, file_digest
from dragoman.data.pair_encoding import Encoding
from dragoman.data.splits import Splitting
from dragoman.errors import DataError
from tests.data.test_doctor import SOUND


def exhausted() -> Iterator[tuple[str, str]]:
    raise AssertionError("the pairs must not be read again")
    yield ("", "")


def test_a_second_start_reads_nothing(tmp_path: Path) -> None:
    first = cached_dataset(SOUND, ["digest"], directory=tmp_path)
    again = cached_dataset(exhausted(), ["digest"], directory=tmp_path)
    assert again.directory == first.directory
    assert list(again.part("testing").texts("source")) == list(first.part("testing").texts("source"))


@pytest.mark.parametrize(
    "change",
    [
        {"contents": ["other"]},
        {"contents": ["digest", "digest"]},
        {"schema": Encoding(kind="bpe")},
        {"schema": Encoding(maximum=(9, None))},
        {"splitting": Splitting(seed=1)},
        {"held_out": [SOUND[0][0]]},
    ],
)
def test_another_content_or_setting_is_another_dataset(change: dict[str, object], tmp_path: Path) -> None:
    settings: dict[str, object] = {"contents": ["digest"]}
    first = cached_dataset(SOUND, directory=tmp_path, **settings)  # type: ignore[arg-type]
    other = cached_dataset(SOUND, directory=tmp_path, **(settings | change))  # type: ignore[arg-type]
    assert other.directory != first.directory


def test_pairs_by_part_are_another_dataset_and_are_found_again(tmp_path: Path) -> None:
    first = cached_dataset(SOUND, ["digest"], directory=tmp_path)
    by_part = cached_dataset({"training": SOUND[:200], "testing": SOUND[200:]}, ["digest"], directory=tmp_path)
    assert by_part.directory != first.directory
    again = cached_dataset({"training": exhausted()}, ["digest"], directory=tmp_path)
    assert again.directory == by_part.directory


def test_given_tokenizers_count_too(tmp_path: Path) -> None:
    first = cached_dataset(SOUND, ["digest"], directory=tmp_path)
    kept = cached_dataset(SOUND, ["digest"], encoders=first.encoders, directory=tmp_path)
    assert kept.directory != first.directory
    assert kept.tokenizers[0].to_json() == first.tokenizers[0].to_json()


def test_digest_of_a_file(tmp_path: Path) -> None:
    content = b"x" * 3_000_000
    (tmp_path / "f").write_bytes(content)
    assert file_digest(tmp_path / "f") == hashlib.sha256(content).hexdigest()
    with pytest.raises(DataError, match="cannot be read"):
        file_digest(tmp_path / "gone")


def test_the_cache_has_its_usual_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "dragoman"
    assert cached_dataset(SOUND, ["digest"]).directory.parent == tmp_path / "dragoman" / "datasets"
