"""Corpora by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.data.builtin import NAMES, built_in
from dragoman.data.dataset import prepare
from dragoman.data.pair_encoding import Encoding
from dragoman.data.splits import Splitting
from dragoman.errors import ConfigurationError


@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_distinct_pairs(name: str) -> None:
    corpus = built_in(name)
    assert len(corpus.pairs) >= 20_000
    assert len({source for source, _ in corpus.pairs}) == len(corpus.pairs)
    assert corpus.pairs == built_in(name).pairs


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("by", ["source", "sample"])
def test_the_plant_is_green_is_never_trained_on(by: str, seed: int, tmp_path: Path) -> None:
    corpus = built_in("phrases")
    pair = ("The plant is green.", "La planta es verde.")
    few = [p for i, p in enumerate(corpus.pairs) if i % 50 == 0 or p == pair]
    assert pair in few
    splitting = Splitting(by=by, seed=seed)  # type: ignore[arg-type]
    dataset = prepare(few, tmp_path / "d", Encoding("words"), splitting, corpus.held_out)
    testing = dataset.part("testing")
    found = dict(zip(testing.texts("source"), testing.texts("target"), strict=True))
    assert found[pair[0]] == pair[1]
    assert pair[0] not in set(dataset.part("training").texts("source"))


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(ConfigurationError, match="unknown built-in corpus 'phrase'; available: phrases, copy"):
        built_in("phrase")
