"""Sizes that no computer can hold are refused before anything is allocated, and counts are known before building."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError
from dragoman.networks import (
    ARCHITECTURES,
    ENCODERS,
    LANGUAGE_MODELS,
    EncoderConfiguration,
    RecurrentConfiguration,
    Transformer,
    TransformerConfiguration,
    sizes,
)
from dragoman.networks.encoder_decoder import EncoderDecoder

VOCABULARIES = {"source_vocabulary": 7, "target_vocabulary": 7}


@given(
    depth=st.sampled_from([4, 8]),
    perceptron_depth=st.integers(1, 9),
    layers=st.integers(1, 3),
    block=st.sampled_from(["post", "pre"]),
    positions=st.sampled_from(
        ["half_sinusoid", "concatenated_sinusoid", "one_hot", "learned", "joint", "relative", "none"]
    ),
    tied=st.sampled_from(["none", "output", "all"]),
    biases=st.booleans(),
    reach=st.integers(1, 5),
    reference=st.integers(5, 9),
    hidden_layers=st.sampled_from([1, 2]),
)
def test_the_count_of_a_transformer(
    depth: int,
    perceptron_depth: int,
    layers: int,
    block: Any,
    positions: Any,
    tied: Any,
    biases: bool,
    reach: int,
    reference: int,
    hidden_layers: Any,
) -> None:
    if positions in ("concatenated_sinusoid", "one_hot"):
        tied = "none"
    configuration = TransformerConfiguration(
        depth=depth,
        perceptron_depth=perceptron_depth,
        heads=2,
        layers=layers,
        block=block,
        positions=positions,
        maximum_length=3,
        tied=tied,
        attention_biases=biases,
        relative_reach=reach,
        hidden_layers=hidden_layers,
        source_vocabulary=reference if tied == "all" else 7,
        target_vocabulary=reference,
    )
    assert configuration.count() == Transformer(configuration).count()


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "general", "concatenation", "additive"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if name != "transformer"])
def test_the_count_of_a_recurrent_network(name: str, layers: int, score: str) -> None:
    architecture = ARCHITECTURES[name]
    settings = {**architecture.named, "depth": 3, "units": 4, "layers": layers, "score": score}
    configuration = architecture.configured(settings, {"source_vocabulary": 7, "target_vocabulary": 9})
    assert configuration.count() == architecture.build(configuration).count()


SIZES: dict[str, list[dict[str, int]]] = {
    "encoders": [{"vocabulary": 7, "outputs": 3}, {"inputs": 4, "outputs": 3}],
    "language models": [{"vocabulary": 7}],
}


@pytest.mark.parametrize("size", ["small", "medium", "large"])
@pytest.mark.parametrize("name", ["transformer", "rnn", "lstm", "gru"])
@pytest.mark.parametrize("family", SIZES)
def test_every_preset_of_encoders_and_language_models(family: str, name: str, size: str) -> None:
    architecture: Any = {"encoders": ENCODERS, "language models": LANGUAGE_MODELS}[family][name]
    settings = architecture.settings(**{**architecture.presets[size], **architecture.named}).model_dump()
    for sizes_of_data in SIZES[family]:
        configuration = architecture.configured(settings, sizes_of_data)
        network = architecture.build(configuration, seed=3)
        assert configuration.count() == network.count()
        assert type(network) is architecture.network
        assert configuration.summary()


@pytest.mark.parametrize("change", ["layers", "depth", "labels", "all at the limit"])
@pytest.mark.parametrize("name", ["transformer", "gru"])
@pytest.mark.parametrize("family", SIZES)
def test_an_encoder_or_language_model_that_no_computer_can_hold_is_refused(family: str, name: str, change: str) -> None:
    architecture: Any = {"encoders": ENCODERS, "language models": LANGUAGE_MODELS}[family][name]
    wanted = {"vocabulary": 7} | ({"outputs": 3} if family == "encoders" else {})
    wanted |= {key.replace("source_", "").replace("target_", ""): value for key, value in HUGE[change].items()}
    if name == "transformer":
        wanted.pop("units", None)
    with pytest.raises(ConfigurationError, match=r"less than or equal to|GB of memory, this computer has .* GB"):
        architecture.build(architecture.configured(architecture.named, wanted))


@pytest.mark.parametrize("settings", [{"inputs": 10**9}, {"inputs": 3, "outputs": 10**9}, {"hidden_layers": 10**9}])
def test_every_size_of_an_encoder_has_a_limit(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        EncoderConfiguration(**({"outputs": 3} | settings))


HUGE: dict[str, dict[str, Any]] = {
    "layers": {"layers": 10**7},
    "labels": {"source_vocabulary": 10**9},
    "depth": {"depth": 10**7, "units": 10**7},
    "all at the limit": {"depth": 65_536, "units": 65_536, "layers": 1_000, "target_vocabulary": 10**7},
}


@pytest.mark.parametrize("change", HUGE)
@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_a_size_that_no_computer_can_hold_is_refused(kind: str, change: str) -> None:
    wanted = VOCABULARIES | HUGE[change]
    if kind == "transformer":
        wanted.pop("units", None)

    def build() -> Any:
        if kind == "transformer":
            return Transformer(TransformerConfiguration(**wanted))
        return EncoderDecoder(RecurrentConfiguration(**wanted))

    with pytest.raises(ConfigurationError, match=r"less than or equal to|GB of memory, this computer has .* GB"):
        build()


@pytest.mark.parametrize(
    "settings",
    [
        {"perceptron_depth": 10**9},
        {"heads": 10**9},
        {"maximum_length": 10**9},
        {"relative_reach": 10**9, "positions": "relative"},
        {"maximum_length": 60_000, "depth": 60_004, "positions": "one_hot"},
        {"epsilon": float("inf")},
        {"epsilon": float("nan")},
    ],
)
def test_every_size_of_a_transformer_has_a_limit(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "physical_memory", lambda: 8_000_000_000)
    with pytest.raises(ConfigurationError):
        Transformer(TransformerConfiguration(**VOCABULARIES, **settings))


def test_what_a_computer_cannot_hold_is_told_with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "physical_memory", lambda: 1_000_000)
    configuration = TransformerConfiguration(**VOCABULARIES, depth=128)
    with pytest.raises(
        ConfigurationError, match=rf"a network of {configuration.count():,} parameters needs .* GB .* smaller"
    ):
        Transformer(configuration)
    monkeypatch.setattr(sizes, "physical_memory", lambda: None)
    assert Transformer(configuration).count() == configuration.count()
