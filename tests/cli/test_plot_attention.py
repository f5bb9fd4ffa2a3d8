"""dragoman plot MODEL attention: the overview, one layer, one head."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Translator
from dragoman.analysis import figures
from dragoman.tasks.training import train_model
from tests.cli.running import Run
from tests.tasks.models import tiny

TEXT = "The man sees the old book."
Drawn = Callable[..., Any]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path) -> Drawn:
    """What a command draws: weights, queries, keys and title of the figure."""

    def plot(model: Path, *arguments: str) -> Any:
        calls: list[Any] = []
        for name in ("attention_figure", "heads_figure"):
            real = getattr(figures, name)
            monkeypatch.setattr(figures, name, lambda *a, real=real: calls.append(a) or real(*a))
        done = run("plot", model, "attention", "--text", TEXT, *arguments, "--out", tmp_path / "a.png")
        monkeypatch.undo()
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
        return calls[0]

    return plot


def test_the_overview_is_the_mean_of_the_heads(undertrained: Path, drawn: Drawn) -> None:
    overview = drawn(undertrained)[0]
    heads, *_ = drawn(undertrained, "--layer", "1")
    assert overview.ndim == 2
    assert heads.ndim == 3
    np.testing.assert_allclose(heads.mean(axis=0), overview, atol=1e-6)


def test_one_head_of_a_layer(undertrained: Path, drawn: Drawn) -> None:
    heads = drawn(undertrained, "--layer", "decoder.0.cross_attention")[0]
    for number in (1, 2):
        weights, *_, title = drawn(undertrained, "--head", str(number))
        np.testing.assert_array_equal(weights, heads[number - 1])
        assert title == f"decoder.0.cross_attention, head {number}"


def test_self_attention_has_its_own_words_on_both_sides(undertrained: Path, drawn: Drawn) -> None:
    found = Translator.load(undertrained).align(TEXT)
    weights, queries, keys, title = drawn(undertrained, "--layer", "encoder.0.self_attention")
    assert title == "encoder.0.self_attention"
    assert queries == keys
    assert len(keys) == len(found.source)
    np.testing.assert_allclose(weights.sum(axis=2), 1, atol=1e-5)
    weights, queries, keys, _ = drawn(undertrained, "--layer", "decoder.0.self_attention", "--head", "1")
    assert len(queries) == len(found.reference)
    assert keys == ["[START]", *queries[:-1]]
    assert (np.triu(weights, 1) == 0).all(), "no piece looks at those after it"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["attention", "--text", TEXT, "--layer", "7"], "unknown layer '7'; use 1 to 1, or one of encoder.0.self"),
        (["attention", "--text", TEXT, "--layer", "middle"], "unknown layer 'middle'"),
        (["attention", "--text", TEXT, "--head", "3"], "--head 3: decoder.0.cross_attention has 2 heads"),
        (["attention", "--head", "1"], 'attention is that of a sentence: --text "The plant is green."'),
        (["history", "--head", "1"], "--layer and --head choose what `attention` shows; 'history' has no such choice"),
    ],
)
def test_what_there_is_not(arguments: list[str], expected: str, undertrained: Path, run: Run) -> None:
    done = run("plot", undertrained, *arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_recurrent_network_has_one_head_or_none(tmp_path: Path, run: Run, drawn: Drawn) -> None:
    for name in ("gru-attention", "gru"):
        settings = {"architecture": name, "network": {"depth": 8}, "stopping": {"epochs": None, "steps": 1}}
        train_model({**tiny({}), **settings, "network": {"depth": 8}}, tmp_path / name)
    assert drawn(tmp_path / "gru-attention", "--layer", "1")[3] == "decoder.attention, head 1"
    done = run("plot", tmp_path / "gru", "attention", "--text", TEXT, "--layer", "1")
    assert done.code == 2
    assert "has no attention" in done.err


def test_weights_among_many_words_are_still_seen() -> None:
    """By their roots: 1/25 of the light that is there is a fifth of white, not black."""
    few, many = (np.full((2, count), 1 / 25) for count in (10, 25))
    for weights, label, grey in ((few, "weight", 0.04), (many, "weight (√ scale)", 0.2)):
        figure = figures.attention_figure(weights, ["a", "b"], ["w"] * weights.shape[1])
        image = figure.axes[0].images[0]
        assert image.get_clim() == (0, 1)
        assert float(image.norm(1 / 25)) == pytest.approx(grey)
        assert figure.axes[1].get_ylabel() == label
