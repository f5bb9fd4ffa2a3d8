"""train_model: what is written, what is kept, what is refused."""

from __future__ import annotations

import gzip
import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from safetensors.numpy import load_file

import dragoman.tasks.model
from dragoman import Translator
from dragoman.data import builtin
from dragoman.errors import ConfigurationError, DataError, DragomanWarning
from dragoman.loss import LossIndex
from dragoman.networks import Transformer
from dragoman.tasks.components import fixed_batches
from dragoman.tasks.configuration import configuration
from dragoman.tasks.model import load_metadata
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.corpus import open_corpus
from dragoman.tasks.translation.testing import load_testing
from dragoman.text.protection import STANDINS
from dragoman.training import Callback
from dragoman.training.checkpoints import Checkpoints, replace_file
from dragoman.training.validation import LossMean
from tests.tasks.models import PAIRS, pairs_file, tiny, told_history, write_pairs

STEPS = {"stopping": {"epochs": None, "steps": 3}}


class Listener(Callback):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)


def weights(directory: Path) -> dict[str, np.ndarray[Any, Any]]:
    return load_file(directory / "weights.safetensors")


def validation_error(network: Transformer, settings: dict[str, Any]) -> float:
    part = open_corpus(configuration(settings).data).dataset(0).part("validation")
    loss_mean = LossMean()
    for batch in fixed_batches(part):
        loss_mean.add(LossIndex().evaluate(network, batch))
    return loss_mean.total().error


# What is written


def test_a_model_directory_holds_what_it_promises(undertrained: Path) -> None:
    names = {path.name for path in undertrained.iterdir()} - {".lock"}
    assert names == {
        "model.json",
        "weights.safetensors",
        "source-tokenizer.json",
        "target-tokenizer.json",
        "configuration.toml",
        "history.jsonl",
        "testing.tsv.gz",
        "golden.jsonl",
        "checkpoints",
    }
    metadata = load_metadata(undertrained)
    assert metadata.training["ended"] == "finished 2 epochs"
    assert (metadata.training["steps"], metadata.training["epochs"]) == (20, 2.0)
    assert metadata.parameters == sum(array.size for array in weights(undertrained).values())
    assert sum(metadata.data.parts.values()) == len(PAIRS)
    assert metadata.protect
    history = told_history(undertrained)
    assert [line["step"] for line in history] == [10, 20]
    assert [line["epoch"] for line in history] == [1.0, 2.0]
    for line in history:
        assert {"training_error", "training_accuracy", "validation_error", "validation_accuracy"} <= line.keys()


def test_the_testing_part_is_kept_whole_and_apart(undertrained: Path) -> None:
    dataset = open_corpus(configuration(tiny()).data).dataset(0)
    parts = {
        name: list(zip(dataset.part(name).texts("source"), dataset.part(name).texts("target"), strict=True))
        for name in ("training", "validation", "testing")
    }
    assert load_testing(undertrained) == parts["testing"]
    assert Counter(pair for part in parts.values() for pair in part) == Counter(PAIRS)
    trained = {source for source, _ in parts["training"]}
    assert not trained & {source for source, _ in parts["testing"] + parts["validation"]}
    with gzip.open(undertrained / "testing.tsv.gz", "rt", encoding="utf-8") as lines:
        assert [line.rstrip("\n").split("\t") for line in lines] == [list(pair) for pair in parts["testing"]]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("recipe", ["modern", "thesis"])
def test_the_sentence_of_the_demonstration_is_never_trained_on(
    seed: int, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translation of a sentence that was learnt by heart would show nothing."""
    sentence = "The plant is green."
    assert sentence in builtin.HELD_OUT
    some = [*PAIRS, (sentence, "La planta es verde.")]
    monkeypatch.setattr(builtin, "phrases", lambda: some)
    settings = configuration({"recipe": recipe, "seed": seed, "data": {"files": ["phrases"]}})
    dataset = open_corpus(settings.data).dataset(settings.seed)
    found = {name: list(dataset.part(name).texts("source")) for name in ("training", "validation", "testing")}
    assert found["testing"].count(sentence) == 1
    assert sentence not in found["training"] + found["validation"]


def test_the_sentence_of_the_demonstration_is_in_the_corpus() -> None:
    assert dict(builtin.phrases())["The plant is green."] == "La planta es verde."


def test_without_a_directory_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    translator, outcome = train_model(tiny(STEPS))
    assert list(tmp_path.iterdir()) == []
    assert outcome.reason == "finished 3 steps"
    assert translator.directory is None
    assert translator.translate(["The man sees bread."])


def test_it_may_be_called_from_python(tmp_path: Path) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", PAIRS)
    settings = tiny(STEPS)
    settings["data"] = {"shares": [0.8, 0.1, 0.1]}
    translator = Translator.train(file, tmp_path / "model", **settings)
    assert Translator.load(tmp_path / "model").translate(["A friend sees bread."]) == translator.translate(
        ["A friend sees bread."]
    )
    assert load_metadata(tmp_path / "model").data.files == (file,)
    alone = Translator.train([Path(file)], **settings)
    np.testing.assert_array_equal(alone.network.theta.values, translator.network.theta.values)


# The best is kept


def overfitting(directory: Path) -> dict[str, Any]:
    """Pairs that have nothing to do with each other can be learnt by heart, and then others are judged wrong."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), 4)) for _ in range(160)]
    file = write_pairs(directory / "random.tsv", list(zip(texts[:80], texts[80:], strict=True)))
    return tiny(
        {
            "data": {"files": [file], "tokenizer": "words", "shares": [0.5, 0.4, 0.1]},
            "network": {"dropout": 0.0},
            "loss": {"smoothing": 0.0},
            "optimizer": {"batch": 8, "rate": 0.02, "schedule": "constant", "averaging": 0.0},
            "stopping": {"epochs": 15},
        }
    )


@pytest.mark.ledger("T-6.1-selection", "T-6.2-overfit")
@pytest.mark.parametrize("on_disk", [True, False])
def test_the_best_weights_are_kept_not_the_last(on_disk: bool, tmp_path: Path) -> None:
    settings, listener = overfitting(tmp_path), Listener()
    translator, outcome = train_model(settings, tmp_path / "model" if on_disk else None, listener)
    errors = [record.validation.error for record in outcome.records if record.validation is not None]
    assert len(errors) == 15
    assert errors[-1] > min(errors) + 0.2, "or nothing is tested"
    assert [record.best for record in outcome.records] == [
        error == min(errors[: i + 1]) for i, error in enumerate(errors)
    ]
    assert validation_error(translator.network, settings) == pytest.approx(min(errors), abs=1e-5)
    if on_disk:
        again = Translator.load(tmp_path / "model")
        np.testing.assert_array_equal(again.network.theta.values, translator.network.theta.values)
        assert [notice.partition(":")[0] for notice in listener.notices] == ["overfitting"]


def test_patience_ends_a_training_that_only_gets_worse(tmp_path: Path) -> None:
    settings = overfitting(tmp_path) | {"stopping": {"epochs": 15, "patience": 2}}
    _, outcome = train_model(settings)
    errors = [record.validation.error for record in outcome.records if record.validation is not None]
    assert outcome.reason == "no improvement in 2 evaluations in a row (patience)"
    assert len(errors) < 15
    assert min(errors) == errors[-3]


def test_the_moving_average_is_what_is_judged_and_kept(tmp_path: Path) -> None:
    settings = tiny({"optimizer": {"averaging": 0.9}})
    translator, outcome = train_model(settings, tmp_path / "model")
    last = outcome.records[-1]
    assert last.best
    assert last.validation is not None
    assert validation_error(translator.network, settings) == pytest.approx(last.validation.error, abs=1e-5)
    found = Checkpoints(tmp_path / "model" / "checkpoints").load()
    assert found is not None
    np.testing.assert_array_equal(translator.network.theta.values, found[0]["average"])
    assert np.abs(found[0]["average"] - found[0]["theta"]).max() > 5e-4


def test_without_a_validation_part_the_last_weights_are_kept(tmp_path: Path) -> None:
    settings = tiny({"data": {"shares": [0.9, 0.0, 0.1]}, "optimizer": {"averaging": 0.0}})
    translator, outcome = train_model(settings, tmp_path / "model")
    assert all(record.validation is None for record in outcome.records)
    assert all("validation_error" not in line for line in told_history(tmp_path / "model"))
    found = Checkpoints(tmp_path / "model" / "checkpoints").load()
    assert found is not None
    np.testing.assert_array_equal(translator.network.theta.values, found[0]["theta"])
    alone, _ = train_model(settings)
    np.testing.assert_array_equal(alone.network.theta.values, found[0]["theta"])


@pytest.mark.parametrize(
    "wish", [{"stopping": {"patience": 2}}, {"progress": {"scores": ["bleu"]}}, {"checkpoints": {"best_by": "chrf"}}]
)
def test_what_needs_a_validation_part_is_told(wish: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"the validation part is empty.*data\.shares"):
        train_model(tiny({"data": {"shares": [0.9, 0.0, 0.1]}}, wish))


def test_an_empty_validation_part_is_a_warning_in_python(tmp_path: Path) -> None:
    """Where no command shows it."""
    file = write_pairs(tmp_path / "few.tsv", PAIRS[:10])
    settings = tiny({"data": {"files": [file], "shares": [0.9998, 0.0001, 0.0001]}})
    with pytest.warns(DragomanWarning) as caught:
        train_model(settings)
    told = [str(warning.message) for warning in caught]
    assert "only 10 pairs to train on" in told[0]
    assert "the validation part is empty although its share is 0.0% of 10 pairs: nothing is validated" in told[1]
    assert "the testing part is empty" in told[2]


def test_the_mean_of_the_last_checkpoints_is_kept_if_it_is_better(tmp_path: Path) -> None:
    listener = Listener()
    jumping = {"schedule": "constant", "rate": 0.06, "batch": 16, "averaging": 0.0}
    settings = tiny({"checkpoints": {"average": 3}, "stopping": {"epochs": 6}, "optimizer": jumping})
    translator, outcome = train_model(settings, tmp_path / "model", listener)
    kept = Checkpoints(tmp_path / "model" / "checkpoints").steps()
    assert [path.name for path in kept[-3:]] == ["step-00000076", "step-00000095", "step-00000114"]
    thetas = [load_file(path / "arrays.safetensors")["theta"] for path in kept[-3:]]
    mean = np.mean(np.array(thetas, np.float64), axis=0).astype(np.float32)
    network = Transformer(translator.network.configuration)
    network.theta.assign(mean)
    best = min(record.validation.error for record in outcome.records if record.validation is not None)
    told = listener.notices[-1]
    assert told.startswith("the mean of the last 3 checkpoints: ")
    assert f"error {validation_error(network, settings):.4f}" in told
    assert validation_error(network, settings) < best, "or nothing is tested"
    assert "better than the best checkpoint, so it is kept" in told
    np.testing.assert_array_equal(translator.network.theta.values, mean)
    again = Translator.load(tmp_path / "model").network.theta.values
    np.testing.assert_array_equal(again, mean)


def test_a_mean_that_is_worse_is_left(tmp_path: Path) -> None:
    """Falling fast, the last checkpoint is better than its mean with those before."""
    listener = Listener()
    settings = tiny({"checkpoints": {"average": 3}, "optimizer": {"averaging": 0.0}, "stopping": {"epochs": 3}})
    translator, outcome = train_model(settings, tmp_path / "model", listener)
    assert "not better than the best checkpoint, so it is dropped" in listener.notices[0]
    best = min(record.validation.error for record in outcome.records if record.validation is not None)
    assert validation_error(translator.network, settings) == pytest.approx(best, abs=1e-5)


# What is shown


def test_scores_and_samples_are_of_the_validation_part(tmp_path: Path) -> None:
    listener = Listener()
    settings = tiny({"progress": {"scores": ["chrf", "bleu"], "samples": 2}, "stopping": {"epochs": 1}})
    translator, _ = train_model(settings, tmp_path / "model", listener)
    part = open_corpus(configuration(settings).data).dataset(0).part("validation")
    sources, references = list(part.texts("source")), list(part.texts("target"))
    written = translator.translate(sources, beam=1)
    [line] = told_history(tmp_path / "model")
    assert line["bleu"] == pytest.approx(BLEU().corpus_score(written, [references]).score)
    assert line["chrf"] == pytest.approx(CHRF().corpus_score(written, [references]).score)
    assert listener.notices == [f"  {sources[i]}\n    -> {written[i]}\n    (target: {references[i]})" for i in range(2)]


def test_the_best_may_be_that_of_a_score() -> None:
    settings = tiny({"checkpoints": {"best_by": "chrf"}, "stopping": {"epochs": 4}})
    _, outcome = train_model(settings)
    scores = [record.scores["chrf"] for record in outcome.records]
    assert [record.best for record in outcome.records] == [
        score > max(scores[:i], default=-1) for i, score in enumerate(scores)
    ]


def test_evaluations_may_come_every_so_many_steps(tmp_path: Path) -> None:
    settings = tiny({"progress": {"every": 4}, "stopping": {"epochs": None, "steps": 10}})
    train_model(settings, tmp_path / "model")
    assert [line["step"] for line in told_history(tmp_path / "model")] == [4, 8, 10]


def test_tensorboard_files_are_written_on_request(tmp_path: Path) -> None:
    listener = Listener()
    settings = tiny({"progress": {"tensorboard": True, "samples": 1}}, {"stopping": {"epochs": 1}})
    train_model(settings, tmp_path / "model", listener)
    assert list((tmp_path / "model" / "tensorboard").glob("events.*"))
    assert len(listener.notices) == 1, "whoever listens still hears everything"


def test_what_was_cut_is_told() -> None:
    """Never silently."""
    listener, told = Listener(), list[str]()
    short = tiny({"data": {"maximum": [6, 7]}}, STEPS)
    train_model(short, None, listener, None, told.append)
    longer = sum(len(source.replace(".", " .").split()) + 2 > 6 for source, _ in PAIRS)
    assert longer > 100
    assert any(f"{longer}" in text and "cut" in text for text in told + listener.notices)


@pytest.mark.parametrize(
    ("optimizer", "warned"),
    [
        ({"schedule": "thesis"}, False),
        ({"schedule": "thesis_as_printed"}, True),
        ({"schedule": "constant", "rate": 1e-6}, True),
        ({"schedule": "constant", "rate": 1e-6, "algorithm": "momentum"}, False),  # depends on the gradient's size
    ],
)
def test_a_planned_rate_that_hardly_moves_the_weights_is_warned_of(optimizer: dict[str, Any], warned: bool) -> None:
    thesis = {"preset": "small", "threads": 1, "recipe": "thesis", "data": {"files": [pairs_file()]}}
    stopping = {"epochs": 10_000, "accuracy": 1e-9}  # met at the first evaluation
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_model({**thesis, "optimizer": optimizer, "stopping": stopping})
    told = [str(entry.message) for entry in caught if "hardly move" in str(entry.message)]
    assert len(told) == warned


def test_a_norm_of_the_weights_makes_other_weights() -> None:
    """L = E + Omega: a norm that is chosen counts, without a second setting."""
    losses = ({}, {"regularization": "l2"}, {"regularization": "l2", "coefficient": 1.0}, {"regularization": "l1"})
    plain, l2, same, l1 = (train_model(tiny({**STEPS, "loss": loss}))[0].network.theta.values for loss in losses)
    assert not np.array_equal(plain, l2)
    assert not np.array_equal(l1, l2)
    assert np.array_equal(l2, same)
    assert np.linalg.norm(l2) < np.linalg.norm(plain)


def test_lines_left_out_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    write_pairs(file, PAIRS)
    with file.open("a", encoding="utf-8") as more:
        more.write("no reference\nnor here\n")
    with pytest.raises(DataError, match="line 361"):
        train_model(tiny({"data": {"files": [str(file)]}}, STEPS))
    listener, told = Listener(), list[str]()
    skipping = tiny({"data": {"files": [str(file)], "on_bad_line": "skip"}}, STEPS)
    train_model(skipping, None, listener, None, told.append)
    assert any("2 lines skipped" in text for text in told + listener.notices)


# What is refused


def test_a_directory_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("precious", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"holds no training \(thesis\.doc \.\.\.\); choose another --out"):
        train_model(tiny(STEPS), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize("writes", range(4))
def test_a_training_killed_while_it_writes_its_first_files_begins_again(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there then: the lock, and any of the files that come before configuration.toml."""
    settings = tiny({**STEPS, "data": {"languages": ["en", "es"]}})
    with monkeypatch.context() as patch:
        several, write = iter(range(writes)), replace_file

        def killed(path: Path, *content: Any) -> None:
            if next(several, None) is None:
                raise KeyboardInterrupt
            write(path, *content)

        patch.setattr(dragoman.tasks.model, "replace_file", killed)
        with pytest.raises(KeyboardInterrupt):
            train_model(settings, tmp_path / "model")
    assert not (tmp_path / "model" / "configuration.toml").exists()
    _, outcome = train_model(settings, tmp_path / "model")
    assert outcome.finished


def test_a_training_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        train_model({"data": {"files": [str(tmp_path / "gone.tsv")]}}, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "model").touch()
    with pytest.raises(ConfigurationError, match="model"):
        train_model(tiny(STEPS), tmp_path / "model")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([], "names no file"),
        (["gone.tsv"], "gone.tsv does not exist; check the path"),
        (["phrases", "copy"], "'phrases' is a built-in corpus and must be the only one"),
        (["-"], "cannot come from standard input"),
        (["phrazes"], "did you mean 'phrases'"),
    ],
)
def test_data_that_cannot_be_read(files: list[str], expected: str) -> None:
    with pytest.raises((ConfigurationError, DataError), match=expected):
        train_model({"data": {"files": files} | ({"format": "tsv"} if files == ["-"] else {})})


def test_a_file_with_the_name_of_a_built_in_corpus_is_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path / "copy", PAIRS)
    corpus = open_corpus(configuration({"data": {"files": ["copy"], "format": "tsv"}}).data)
    assert list(corpus.pairs) == PAIRS


# Fine-tuning


def test_fine_tuning_keeps_vocabulary_shape_and_the_frozen_part(undertrained: Path, tmp_path: Path) -> None:
    new = write_pairs(tmp_path / "new.tsv", [("The zebra sees a xylophone.", "La cebra ve un xilófono.")] * 3 + PAIRS)
    settings = {
        "data": {"files": [new], "shares": [0.8, 0.1, 0.1]},
        "start": {"model": str(undertrained), "train": "decoder"},
        "stopping": {"epochs": 2},
        "optimizer": {"batch": 32},
    }
    translator, _ = train_model(settings, tmp_path / "model")
    for side in ("source", "target"):
        name = f"{side}-tokenizer.json"
        assert (tmp_path / "model" / name).read_bytes() == (undertrained / name).read_bytes()
    before, after = weights(undertrained), weights(tmp_path / "model")
    assert before.keys() == after.keys()
    frozen = {name for name in before if name.startswith(("source_embedding", "encoder"))}
    assert len(frozen) > 5
    for name in before:
        assert np.array_equal(before[name], after[name]) == (name in frozen), name
    metadata = load_metadata(tmp_path / "model")
    assert metadata.network.depth == 16
    assert translator.translate(["The zebra sees bread."])[0]
    again, _ = train_model(settings, tmp_path / "model")
    np.testing.assert_array_equal(again.network.theta.values, translator.network.theta.values)


def test_fine_tuning_begins_where_the_model_stands(undertrained: Path, tmp_path: Path) -> None:
    """A rate of almost nothing changes almost nothing: what comes out is the model it began with."""
    settings = tiny(
        {
            "start": {"model": str(undertrained)},
            "optimizer": {"rate": 1e-12, "averaging": 0.0},
            "stopping": {"epochs": None, "steps": 1},
        }
    )
    del settings["network"]
    translator, _ = train_model(settings)
    base = Translator.load(undertrained)
    np.testing.assert_allclose(translator.network.theta.values, base.network.theta.values, atol=1e-9)


def test_fine_tuning_on_short_texts_does_not_forget_long_ones(undertrained: Path, tmp_path: Path) -> None:
    """What fits into one piece before fits into one piece after."""
    base = Translator.load(undertrained)
    base.metadata = base.metadata.model_copy(update={"longest": (40, 40)})
    base.save(tmp_path / "base")
    settings = tiny({"start": {"model": str(tmp_path / "base")}}, STEPS)
    del settings["network"]
    assert train_model(settings)[0].metadata.longest == (40, 40)


def test_fine_tuning_protects_what_the_model_protects(tmp_path: Path) -> None:
    """Its vocabulary has no stand-ins: masked, a number would become a label that means nothing."""
    plain, _ = train_model(tiny({"data": {"protect": False}}, STEPS), tmp_path / "base")
    assert plain.source_tokenizer.unknown_in(STANDINS) > 0
    numbered = write_pairs(tmp_path / "numbers.tsv", [(f"{s} 25 www.a.org", f"{r} 25 www.a.org") for s, r in PAIRS])
    settings = {
        "data": {"files": [numbered], "shares": [0.8, 0.1, 0.1]},
        "start": {"model": str(tmp_path / "base")},
        "stopping": {"steps": 1},
    }
    translator, _ = train_model(settings)
    assert not translator.metadata.protect


@pytest.mark.parametrize("part", ["encoder", "decoder", "output"])
def test_a_table_that_two_parts_share_stays_frozen_with_either(part: str, tmp_path: Path) -> None:
    joint = tiny({"data": {"joint": True}, "network": {"tied": "all"}}, STEPS)
    train_model(joint, tmp_path / "base")
    start = {"data": joint["data"], "start": {"model": str(tmp_path / "base"), "train": part}}
    train_model({**start, "stopping": {"steps": 2}}, tmp_path / "model")
    before, after = weights(tmp_path / "base"), weights(tmp_path / "model")
    changed = {name.partition(".")[0] for name in before if not np.array_equal(before[name], after[name])}
    own = {
        "encoder": {"encoder", "encoder_normalization"},
        "decoder": {"decoder", "decoder_normalization", "output"},
        "output": {"output"},
    }
    assert changed == own[part]
    assert np.array_equal(before["source_embedding.table"], after["source_embedding.table"])


# On request only


def test_nothing_is_left_of_a_dataset_outside_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    train_model(tiny(STEPS))
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    kept = list((tmp_path / "cache" / "dragoman" / "datasets").iterdir())
    assert len(kept) == 1
    before = {path: path.stat().st_mtime_ns for path in kept[0].iterdir()}
    train_model(tiny(STEPS))
    assert {path: path.stat().st_mtime_ns for path in kept[0].iterdir()} == before, "found again, not made again"
    about = json.loads((kept[0] / "about.json").read_text(encoding="utf-8"))
    assert about["samples"] == len(PAIRS)
