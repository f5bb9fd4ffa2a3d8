"""Mistaken settings are refused when they are given, in words a user can act on."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.networks import PRESETS, ClassTokenConfiguration, Transformer, TransformerConfiguration, preset
from tests.networks.small_networks import configuration


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 3}, "3 heads do not divide the depth 4"),
        ({"depth": 0}, r"depth: Input should be greater than or equal to 1 \(got 0\)"),
        ({"depth": "wide"}, r"depth: Input should be a valid integer.*\(got 'wide'\)"),
        ({"layers": 0}, r"layers: .*\(got 0\)"),
        ({"dropout": 1.0}, r"dropout: Input should be less than 1 \(got 1\.0\)"),
        ({"epsilon": float("nan")}, r"epsilon: .*\(got nan\)"),
        ({"block": "middle"}, r"block: Input should be 'post' or 'pre' \(got 'middle'\)"),
        ({"activation": "swish"}, r"activation: .*'gelu'.*\(got 'swish'\)"),
        ({"positions": "guessed"}, r"positions: .*'half_sinusoid'.*\(got 'guessed'\)"),
        ({"positions": "learned", "maximum_length": None}, "positions 'learned' need a maximum_length"),
        ({"positions": "one_hot", "tied": "output"}, "they cannot be tied"),
        ({"source_vocabulary": 7, "tied": "all"}, "have 7 and 5 labels; use tied='output' or one joint vocabulary"),
        ({"dept": 4}, r"dept: Extra inputs are not permitted \(got 4\)"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_mistake_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        configuration(**settings)
    assert str(caught.value).startswith("TransformerConfiguration: ")
    assert "\n" not in str(caught.value)


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        TransformerConfiguration(source_vocabulary=0, depth=-1, droput=0.1)  # type: ignore[call-arg]
    for name in ("source_vocabulary", "target_vocabulary: Field required", "depth", "droput"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 5, "heads": 1}, "sinusoids need an even depth, got 5"),
        ({"positions": "one_hot", "maximum_length": 8}, "positions take 8 of 8 columns"),
    ],
)
def test_widths_that_do_not_fit_are_refused_at_the_latest_when_building(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Transformer(configuration(**settings))


def test_a_configuration_read_back_from_text_is_checked_and_equal() -> None:
    original = configuration(block="pre", positions="relative", dropout=0.1)
    assert TransformerConfiguration.model_validate_json(original.model_dump_json()) == original
    with pytest.raises(ConfigurationError, match="3 heads do not divide the depth 4"):
        TransformerConfiguration.model_validate(original.model_dump() | {"heads": 3})


def test_a_network_follows_its_configuration_and_seed_alone() -> None:
    one, same, other = (Transformer(configuration(), seed) for seed in (4, 4, 5))
    assert (one.theta.values == same.theta.values).all()
    assert (one.theta.values != other.theta.values).any()


@pytest.mark.ledger("L-30-H", "L-44-M", "L-37-mlpsize")
def test_presets_can_be_changed_by_name() -> None:
    for name, sizes in PRESETS.items():
        assert preset(name, 7, 9).perceptron_depth >= sizes["depth"]
        changed = preset(name, 7, 9, heads=16, layers=3, perceptron_depth=sizes["depth"])
        assert (changed.heads, changed.layers, changed.depth) == (16, 3, sizes["depth"])
        assert (changed.source_vocabulary, changed.target_vocabulary) == (7, 9)
    with pytest.raises(ConfigurationError, match="unknown preset 'huge'; available: small, medium, large"):
        preset("huge", 7, 9)


def test_the_class_tokens_residual_needs_equal_depths() -> None:
    with pytest.raises(ConfigurationError, match="depth 4 to rows of attention_depth 5"):
        ClassTokenConfiguration(inputs=3, depth=4, attention_depth=5, classes=2)
