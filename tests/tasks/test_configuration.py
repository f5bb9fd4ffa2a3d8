"""What is given wins over the recipe, the recipe over the defaults; mistakes are told where they were made."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.data.pair_encoding import pad_to, padded_batch
from dragoman.errors import ConfigurationError
from dragoman.loss import CrossEntropy
from dragoman.networks import PRESETS, Transformer, TransformerConfiguration
from dragoman.tasks import components
from dragoman.tasks.configuration import (
    configuration,
    merged,
    read_assignments,
    read_toml,
    seconds,
    setting_names,
)
from dragoman.tasks.model import save_configuration
from dragoman.tasks.recipes import TRANSLATION, TRANSLATION_BY_PRESET
from dragoman.tasks.task import find_task
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.corpus import open_corpus
from tests.tasks.models import write_pairs

# What wins over what


def test_the_recipe_stands_on_the_defaults_and_the_given_on_the_recipe() -> None:
    settings = configuration({"optimizer": {"rate": 0.002}})
    assert settings.recipe == "modern"
    assert settings.optimizer.rate == 0.002  # 0.003 in the recipe
    assert settings.optimizer.clip == 1.0  # of the recipe; None by default
    assert settings.optimizer.beta1 == 0.9  # of neither


def test_a_preset_gives_the_sizes_and_single_ones_may_differ() -> None:
    network = configuration({"recipe": "thesis", "preset": "large", "network": {"layers": 3}}).network
    assert (network.depth, network.perceptron_depth, network.heads, network.layers) == (256, 512, 8, 3)
    assert (network.block, network.normalization) == ("post", "outside")  # of the recipe, still


@pytest.mark.parametrize("recipe", TRANSLATION)
@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_every_recipe_holds_with_every_preset(recipe: str, preset: str | None) -> None:
    settings = configuration({"recipe": recipe} | ({"preset": preset} if preset else {}))
    differs = TRANSLATION_BY_PRESET.get(recipe, {}).get(preset or "", {})
    for section, values in TRANSLATION[recipe].items():
        for name, value in {**values, **differs.get(section, {})}.items():
            assert getattr(getattr(settings, section), name) == value
    components.optimizer(settings.optimizer)
    components.schedule(settings.optimizer)
    components.stopping(settings.stopping)
    components.loss_index(settings.loss, CrossEntropy())


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers() | st.just({"x": 1}) | st.just({"y": 2}))))
def test_the_last_layer_wins_and_sections_are_joined(layers: list[dict[str, Any]]) -> None:
    result = merged(*layers)
    assert set(result) == {name for layer in layers for name in layer}
    for name, value in result.items():
        told = [layer[name] for layer in layers if name in layer]
        if isinstance(told[-1], int):
            assert value == told[-1]
        else:
            assert value.items() >= told[-1].items()
            since = next((i for i, v in enumerate(reversed(told)) if isinstance(v, int)), len(told))
            assert value == {k: v for part in told[len(told) - since :] for k, v in part.items()}


# Assignments


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("optimizer.rate=0.002", {"optimizer": {"rate": 0.002}}),
        ("optimizer.rate = 2e-3", {"optimizer": {"rate": 0.002}}),
        ("recipe=thesis", {"recipe": "thesis"}),
        ('recipe="thesis"', {"recipe": "thesis"}),
        ("stopping.budget=1h30m", {"stopping": {"budget": "1h30m"}}),
        ("data.protect=false", {"data": {"protect": False}}),
        ('data.files=["a.tsv", "b.tsv"]', {"data": {"files": ["a.tsv", "b.tsv"]}}),
        ("out=a=b", {"out": "a=b"}),
        ("out=", {"out": ""}),
    ],
)
def test_an_assignment_is_a_toml_value_or_text(assignment: str, expected: dict[str, Any]) -> None:
    assert read_assignments([assignment]) == expected


def test_later_assignments_win_and_keep_their_neighbours() -> None:
    found = read_assignments(["optimizer.rate=1", "optimizer.clip=2", "seed=3", "optimizer.rate=4"])
    assert found == {"optimizer": {"rate": 4, "clip": 2}, "seed": 3}


@pytest.mark.parametrize("assignment", ["rate", "=3", " = 3", ""])
def test_what_is_no_assignment_is_told(assignment: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--set takes section.name=value"):
        read_assignments([assignment])


# Mistakes


@pytest.mark.parametrize(
    ("given", "place", "hint"),
    [
        ({"optimizer": {"rat": 1}}, "'optimizer.rat'", "did you mean 'optimizer.rate'?"),
        ({"network": {"headz": 4}}, "'network.headz'", "did you mean 'network.heads'?"),
        ({"optimiser": {"rate": 1}}, "'optimiser'", "did you mean 'optimizer'?"),
        ({"rate": 1}, "'rate'", "did you mean 'optimizer.rate'?"),
        ({"data": {"dropout": 1}}, "'data.dropout'", "did you mean 'network.dropout'?"),
        ({"stopping": {"xyzzy": 1}}, "'stopping.xyzzy'", "available: stopping.epochs, stopping.steps, stopping.budget"),
        ({"xyzzy": 1}, "'xyzzy'", "available: task, architecture, preset, recipe, seed, out, "),
    ],
)
def test_a_setting_that_does_not_exist_is_told_with_one_that_does(given: Any, place: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        configuration(given, "config.toml")
    assert str(told.value).startswith(f"config.toml: unknown setting {place}; {hint}")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"optimizer": {"rate": "fast"}}, "config.toml: optimizer.rate: "),
        ({"optimizer": {"rate": -1}}, "config.toml: optimizer.rate: "),
        ({"network": {"heads": 3}}, "config.toml: network: 3 heads do not divide the depth 64"),
        ({"seed": "x"}, "config.toml: seed: "),
        ({"seed": -1}, "config.toml: seed: "),
        ({"stopping": {"budget": "soon"}}, "config.toml: stopping.budget: a time is written as 90s, 30m, 2h or 1h30m"),
        ({"progress": {"scores": ["rouge"]}}, "config.toml: progress.scores: "),
        ({"data": {"tokenizer": "sentencepiece"}}, "config.toml: data.tokenizer: "),
        ({"optimizer": 3}, "config.toml: 'optimizer' is a section"),
    ],
)
def test_a_wrong_value_is_told_with_the_place_it_was_written_at(given: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        configuration(given, "config.toml")
    assert str(told.value).startswith(expected)
    assert "Settings" not in str(told.value), "names of classes mean nothing to a user"


def test_each_of_several_mistakes_is_told_with_its_section() -> None:
    with pytest.raises(ConfigurationError) as told:
        configuration({"optimizer": {"rate": -1, "clip": -2}}, "config.toml")
    assert "optimizer.rate: " in str(told.value)
    assert "optimizer.clip: " in str(told.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"recipe": "modren"}, "unknown recipe 'modren'; did you mean 'modern'?"),
        ({"recipe": 3}, "unknown recipe '3'; choose one of thesis, modern"),
        ({"preset": "smal"}, "unknown preset 'smal'; did you mean 'small'?"),
        ({"preset": "tiny"}, "unknown preset 'tiny'; choose one of small, medium, large"),
        ({"preset": ["small"]}, "unknown preset '['small']'"),
        ({"recipe": {"name": "modern"}}, "unknown recipe "),
    ],
)
def test_recipes_and_presets_that_do_not_exist(given: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        configuration(given)
    assert expected in str(told.value)


def test_a_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('seed = 1\nrecipe = "modern\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"config.toml cannot be read as TOML: .*line 2"):
        read_toml(path)
    path.write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"config.toml cannot be read as TOML"):
        read_toml(path)
    with pytest.raises(ConfigurationError, match=r"gone.toml does not exist; check the path"):
        read_toml(tmp_path / "gone.toml")


# Times


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("30min", 1800),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (" 1 h 30 m ", 5400),
        ("2H", 7200),
        ("1d", 86400),
        (45, 45),
        (0.5, 0.5),
    ],
)
def test_times(told: object, expected: float) -> None:
    assert seconds(told) == expected
    assert configuration({"stopping": {"budget": told}}).stopping.budget == expected


@pytest.mark.parametrize(
    "told",
    ["", "soon", "5", "1h30", "m30", "-5m", "1x", "1h-30m", "1,5h", "0s", 0, -3, math.nan, math.inf],
)
def test_what_is_no_time(told: object) -> None:
    with pytest.raises(ConfigurationError, match=r"stopping\.budget"):
        configuration({"stopping": {"budget": told}})


# On disk

FULL: dict[str, Any] = {
    "preset": "medium",
    "seed": 2**62,
    "out": 'a "quoted" plače\\dir',
    "data": {
        "files": ["a b.tsv", "ñ.csv"],
        "columns": ["en", 2],
        "languages": ["en", "es"],
        "vocabulary": [400, 500],
        "maximum": [56, 54],
        "header": True,
    },
    "network": {"dropout": 0.0, "block": "post"},  # the defaults, but not what a recipe says
    "loss": {"smoothing": 0.0},
    "optimizer": {"rate": 1e-7, "schedule_steps": 12345, "warm_up": 0, "tokens": 4096, "averaging": 0.0},
    "stopping": {"budget": "1h30m", "accuracy": 0.9, "patience": 3},
    "progress": {"every": 10, "scores": ["chrf", "bleu"]},
    "start": {"model": "other", "train": "decoder"},
}


@pytest.mark.parametrize("recipe", TRANSLATION)
@pytest.mark.parametrize("given", [{}, FULL], ids=["nothing given", "much given"])
def test_the_saved_configuration_gives_the_same_one_again(recipe: str, given: dict[str, Any], tmp_path: Path) -> None:
    settings = configuration({**given, "recipe": recipe})
    save_configuration(settings, tmp_path)
    assert configuration(read_toml(tmp_path / "configuration.toml")) == settings


def test_the_configuration_of_a_trained_model_gives_the_same_one_again(undertrained: Path) -> None:
    settings = configuration(read_toml(undertrained / "configuration.toml"))
    assert settings.preset == "small"
    assert settings.stopping.epochs == 2
    assert settings.optimizer.schedule_steps == 2 * math.ceil(settings_training_pairs(undertrained) / 32)
    assert settings.network.depth == 16


def settings_training_pairs(model: Path) -> int:
    from dragoman.tasks.model import load_metadata

    return load_metadata(model).data.parts["training"]


def leaves(settings: dict[str, Any]) -> list[str]:
    inside = {name: leaves(value) if isinstance(value, dict) else None for name, value in settings.items()}
    return [path for name, inner in inside.items() for path in ([f"{name}.{i}" for i in inner] if inner else [name])]


def test_every_setting_has_one_dotted_name() -> None:
    names = setting_names()
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(leaves(configuration({}).model_dump()))


# What the thesis writes


@pytest.mark.ledger("T-6.1-adamcfg")
def test_the_thesis_recipe_has_the_values_of_the_thesis() -> None:
    settings = configuration({"recipe": "thesis", "preset": "small"})
    network, optimizer, data = settings.network, settings.optimizer, settings.data
    assert (network.block, network.normalization, network.activation) == ("post", "outside", "relu")
    assert (network.positions, network.tied, network.dropout) == ("half_sinusoid", "none", 0.0)
    assert (optimizer.algorithm, optimizer.batch, optimizer.beta1, optimizer.beta2) == ("adam", 64, 0.9, 0.999)
    assert (optimizer.rate, optimizer.schedule, optimizer.warm_up) == (0.001, "thesis", None)
    assert (optimizer.clip, optimizer.averaging, optimizer.grouped, optimizer.accumulate) == (None, 0.0, False, 1)
    assert (data.tokenizer, data.split, data.shares, data.protect) == ("wordpiece", "sample", (0.6, 0.2, 0.2), False)
    assert data.vocabulary == (4562, 6134)
    assert settings.stopping.accuracy == 0.90


@pytest.mark.ledger("T-6.1-adamcfg")
@pytest.mark.parametrize(("schedule", "peak"), [("thesis", 0.001), ("thesis_as_printed", 0.001 / math.sqrt(4000))])
def test_the_rate_of_the_thesis_rises_to_its_peak_in_4000_steps(schedule: str, peak: float) -> None:
    optimizer = configuration({"recipe": "thesis", "optimizer": {"schedule": schedule, "warm_up": 4000}}).optimizer
    rate = components.schedule(optimizer)
    assert rate(4000) == pytest.approx(peak)
    assert rate(3999) < rate(4000) > rate(4001)
    assert [rate(2000), rate(16_000)] == pytest.approx([peak / 2, peak / 2])


@pytest.mark.ledger("T-6.1-CE")
def test_the_thesis_recipe_trains_on_cross_entropy_alone_and_skips_pads() -> None:
    settings = configuration({"recipe": "thesis"})
    index = components.loss_index(settings.loss, find_task().error(settings, None))  # type: ignore[arg-type]
    assert index.regularization is None
    network = Transformer(
        TransformerConfiguration(
            source_vocabulary=9, target_vocabulary=7, **configuration({"recipe": "thesis"}).network.model_dump()
        ),
        3,
    )
    references = [np.array([2, 4, 5, 3]), np.array([2, 6, 3])]
    batch = Batch.pairs([pad_to(np.array([2, 5, 8, 3]), 6)] * 2, [pad_to(reference, 6) for reference in references])
    logits = np.asarray(network.plain(batch), np.float64).reshape(2, 5, 7)
    log_softmax = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    told = [log_softmax[i, t, label] for i, row in enumerate(references) for t, label in enumerate(row[1:])]
    loss = index.evaluate(network, batch)
    assert loss.positions == len(told) == 5
    assert loss.error == pytest.approx(-np.mean(told), abs=1e-5)
    assert loss.index == loss.error


@pytest.mark.ledger("T-6.1-hyper")
def test_four_sizes_come_from_the_data_and_four_from_the_user(tmp_path: Path) -> None:
    pairs = [("a b c d", "x y"), ("b c", "y z z"), ("e", "z")] * 10
    chosen = {"depth": 12, "perceptron_depth": 20, "heads": 3, "layers": 2}
    data = {"tokenizer": "words", "protect": False, "shares": [1.0, 0.0, 0.0]}
    given = {
        "data": {"files": [write_pairs(tmp_path / "p.tsv", pairs)], **data},
        "network": chosen,
        "stopping": {"steps": 1},
    }
    metadata = train_model(given)[0].metadata
    network = metadata.network
    assert (network.depth, network.perceptron_depth, network.heads, network.layers) == (12, 20, 3, 2)  # d, d_p, h, tau
    assert (network.source_vocabulary, network.target_vocabulary) == (4 + 5, 4 + 3)  # v_S, v_R: with special labels
    assert metadata.longest == (4 + 2, 3 + 2)  # m_S; m_R + 1, for a reference is read shifted by one
    with pytest.raises(ConfigurationError, match=r"unknown setting 'network\.source_vocabulary'"):
        configuration({"network": {"source_vocabulary": 9}})


@pytest.mark.ledger("T-6.1-values", "T-6.2-params")
def test_the_sizes_of_the_thesis_give_its_small_network(tmp_path: Path) -> None:
    """m_S = 56 and m_R = 53 labels of 4562 and 6134 kinds, asked of a corpus that has more of everything."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 5)) for _ in range(7000)]
    texts = [" ".join(rng.choice(words, 60)) for _ in range(600)]
    pairs = list(zip(texts[:300], texts[300:], strict=True))
    given = {
        "recipe": "thesis",
        "preset": "small",
        "data": {
            "files": [write_pairs(tmp_path / "p.tsv", pairs)],
            "vocabulary": [4562, 6134],
            "maximum": [56, 53 + 1],
            "shares": [1.0, 0.0, 0.0],
        },
        "optimizer": {"batch": 2},
        "stopping": {"steps": 1},
    }
    metadata = train_model(given)[0].metadata
    assert (metadata.network.source_vocabulary, metadata.network.target_vocabulary) == (4562, 6134)
    assert metadata.longest == (56, 54)
    assert metadata.parameters == 1_166_966
    part = open_corpus(configuration(given).data).dataset(0).part("training")
    batch = padded_batch(part, np.arange(3), 56, 54)
    assert batch.source is not None
    assert batch.source.lengths.tolist() == [56] * 3
    assert batch.lengths.tolist() == [53] * 3
