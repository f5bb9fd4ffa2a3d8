"""Recurrent architectures through the same doors as the Transformer: train, save, load, translate, align, resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.errors import ConfigurationError, FileFormatError
from dragoman.networks import ARCHITECTURES, EncoderDecoder
from dragoman.tasks.configuration import configuration
from dragoman.tasks.training import train_model
from tests.tasks.models import merged, pairs_file, tiny, told_history

SMALL: dict[str, Any] = {"depth": 16, "units": 32}


def settings(architecture: str, *changes: dict[str, Any]) -> dict[str, Any]:
    given = tiny({"architecture": architecture}, *changes)
    given["network"] = merged(SMALL, *(change.get("network", {}) for change in changes))
    return given


@pytest.mark.parametrize("architecture", ["rnn", "lstm-context", "gru-attention"])
def test_it_learns_and_is_the_same_when_loaded(architecture: str, tmp_path: Path) -> None:
    longer = {"stopping": {"epochs": 6}, "optimizer": {"batch": 16}}
    translator, outcome = train_model(settings(architecture, longer), tmp_path / "m")
    assert outcome.records[-1].training.error < 0.8 * outcome.records[0].training.error
    loaded = Translator.load(tmp_path / "m")
    assert isinstance(loaded.network, EncoderDecoder)
    assert loaded.metadata.architecture == architecture
    texts = ["The man sees the house.", "My sister buys bread."]
    for choice in ({"beam": 1}, {"beam": 3}, {"sample": True, "seed": 3}):
        assert loaded.translate(texts, **choice) == translator.translate(texts, **choice)
    assert loaded.evaluate([(texts[0], "El hombre ve la casa.")]).sentences == 1


@pytest.mark.ledger("B-7.4-train", "B-7.2-supervised")
def test_attention_learns_to_translate(tmp_path: Path) -> None:
    """Most of 36 sentences it has never seen come out word for word."""
    given = settings("gru-attention", {"network": {"depth": 32, "units": 64}, "stopping": {"epochs": 14}})
    given["optimizer"] = {"batch": 16, "rate": 0.01, "averaging": 0.95}
    translator, _ = train_model(given, tmp_path / "m")
    from dragoman.tasks.translation.testing import load_testing

    pairs = load_testing(tmp_path / "m")
    written = translator.translate([source for source, _ in pairs])
    assert sum(a == b for a, (_, b) in zip(written, pairs, strict=True)) > 0.6 * len(pairs)
    alignment = translator.align("The man sees the house.")
    assert alignment.weights.sum(axis=1) == pytest.approx(1)


def test_a_training_that_was_interrupted_goes_on_to_the_same_end(tmp_path: Path) -> None:
    given = settings("lstm-attention", {"network": {"dropout": 0.1}, "optimizer": {"scheduled_sampling": 0.3}})
    first = merged(given, {"stopping": {"epochs": 1}, "optimizer": {"schedule_steps": 2 * 9, "warm_up": 1}})
    again = merged(given, {"optimizer": {"schedule_steps": 2 * 9, "warm_up": 1}})
    train_model(first, tmp_path / "parts")
    parts, _ = train_model(again, tmp_path / "parts")
    whole, _ = train_model(again, tmp_path / "whole")
    assert (parts.network.theta.values == whole.network.theta.values).all()
    assert told_history(tmp_path / "parts") == told_history(tmp_path / "whole")


def test_scheduled_sampling_changes_what_is_learnt(tmp_path: Path) -> None:
    plain, _ = train_model(settings("gru"), tmp_path / "plain")
    sampled, _ = train_model(settings("gru", {"optimizer": {"scheduled_sampling": 0.5}}), tmp_path / "sampled")
    assert (plain.network.theta.values != sampled.network.theta.values).any()


def test_the_name_says_what_the_network_is() -> None:
    for name in ARCHITECTURES:
        network: Any = configuration({"architecture": name, "preset": "medium"}).network
        if name != "transformer":
            cell, _, way = name.partition("-")
            assert (network.cell, network.units) == (cell, 256)
            assert network.context == {"": "initial", "context": "every_step", "attention": "attention"}[way]
            assert network.bidirectional == (way == "attention")
            assert network.dropout > 0  # of the recipe, which leaves positions to the Transformer
    chosen: Any = configuration({"architecture": "gru-attention", "network": {"score": "dot"}}).network
    assert chosen.score == "dot"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"architecture": "gru-atention"}, "unknown architecture 'gru-atention'; did you mean 'gru-attention'"),
        ({"architecture": "lstm", "network": {"heads": 4}}, "unknown setting 'network.heads'"),
        ({"network": {"units": 4}}, "unknown setting 'network.units'"),
        ({"architecture": "gru", "network": {"score": "cosine"}}, "network.score"),
        ({"architecture": "gru-attention", "network": {"units": 5}}, "needs an even number of units, got 5"),
    ],
)
def test_mistakes_are_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        configuration(given)


def test_a_model_keeps_its_architecture(tmp_path: Path) -> None:
    train_model(settings("gru", {"stopping": {"epochs": 1}}), tmp_path / "m")
    base = {"data": {"files": [pairs_file()]}, "start": {"model": str(tmp_path / "m")}, "stopping": {"epochs": 1}}
    with pytest.raises(ConfigurationError, match="is a gru; leave the architecture out"):
        train_model({**base, "architecture": "lstm"}, tmp_path / "n")
    tuned, _ = train_model({**base, "threads": 1}, tmp_path / "n")
    assert tuned.metadata.architecture == "gru"

    path = tmp_path / "m" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architecture": "mamba"}))
    with pytest.raises(FileFormatError, match="no architecture 'mamba'"):
        Translator.load(tmp_path / "m")
