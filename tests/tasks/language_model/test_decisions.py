"""What a text decides: preset, dropout, tied tables, epochs."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.tasks.language_model.recipes import decided, epochs_for


def about(tokens: int, kind: str = "characters") -> dict[str, Any]:
    return {"bounds": [0, tokens, tokens, tokens], "encoding": {"kind": kind}}


@pytest.mark.parametrize(
    ("tokens", "preset", "dropout"), [(100_000, "small", 0.1), (3_000_000, "medium", 0.0), (50_000_000, "large", 0.0)]
)
def test_a_longer_text_gets_a_larger_network_and_less_dropout(tokens: int, preset: str, dropout: float) -> None:
    assert decided({}, about(tokens)) == {"preset": preset, "network": {"dropout": dropout}}
    assert decided({"preset": "large"}, about(tokens))["preset"] == "large"


def test_pieces_share_the_table_of_the_output() -> None:
    assert decided({}, about(3_000_000, "bpe"))["network"]["tied"] == "output"
    assert "tied" not in decided({"architecture": "lstm"}, about(3_000_000, "bpe"))["network"]
    assert "network" not in decided({"recipe": "thesis"}, about(3_000_000, "bpe"))


def test_a_short_text_is_read_more_often() -> None:
    assert [epochs_for(about(tokens)) for tokens in (10_000, 3_000_000, 10**9)] == [50, 7, 1]
