"""Fine-tuning: its own recipe, the starting model as the one to beat, old pairs mixed in, scores before and after."""

from __future__ import annotations

import shutil
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Translator
from dragoman.errors import ConfigurationError
from dragoman.tasks.configuration import configuration, merged, resolved
from dragoman.tasks.model import load_metadata
from dragoman.tasks.training import ModelTraining, train_model
from dragoman.tasks.translation.corpus import open_corpus
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import DecodingOptions
from dragoman.text.protection import STANDINS
from dragoman.training import Callback, Outcome
from dragoman.training.interrupts import Interrupts
from tests.tasks import models
from tests.tasks.models import WORD_PAIRS, WORDS, place, told_history, write_pairs
from tests.tasks.test_resuming import check_same, stopped

FEW = WORDS[:4]
NEW_PAIRS = [(" ".join(w for w, _ in words), " ".join(w for _, w in words)) for words in product(FEW, repeat=3)]


@cache
def new_file() -> str:
    """64 sentences of three words: as long as the model has never seen, of few of its words."""
    return write_pairs(place() / "new.tsv", NEW_PAIRS)


def tuning(*changes: dict[str, Any]) -> dict[str, Any]:
    start = {"start": {"model": str(models.taught())}}
    return merged(start, {"threads": 1, "data": {"files": [new_file()], "shares": [0.6, 0.2, 0.2]}}, *changes)


class Notices(Callback):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def notice(self, text: str) -> None:
        self.heard.append(text)


def tuned(out: Path, *changes: dict[str, Any]) -> tuple[Translator, Outcome, list[str]]:
    watcher, told = Notices(), list[str]()
    translator, outcome = train_model(tuning(*changes), out, watcher, None, told.append)
    return translator, outcome, told + watcher.heard


def bleu(translator: Translator, pairs: list[tuple[str, str]]) -> float:
    return translator.evaluate(pairs, DecodingOptions(beam=1)).bleu.value


# The recipe


def test_fine_tuning_has_its_own_recipe(taught: Path, tmp_path: Path) -> None:
    tuned(tmp_path / "model")
    settings = resolved(tmp_path / "model" / "configuration.toml")
    assert settings.optimizer.rate == pytest.approx(0.0003)
    assert (settings.stopping.epochs, settings.stopping.patience) == (10, 3)


def test_what_is_given_wins_over_the_recipe_of_fine_tuning(taught: Path, tmp_path: Path) -> None:
    given = {"optimizer": {"rate": 0.002}, "stopping": {"epochs": 2, "patience": 1}}
    tuned(tmp_path / "model", given)
    settings = resolved(tmp_path / "model" / "configuration.toml")
    assert (settings.optimizer.rate, settings.stopping.epochs, settings.stopping.patience) == (0.002, 2, 1)


def test_without_a_validation_part_there_is_no_patience(taught: Path, tmp_path: Path) -> None:
    tuned(tmp_path / "model", {"data": {"shares": [0.8, 0.0, 0.2]}, "stopping": {"epochs": 1}})
    assert resolved(tmp_path / "model" / "configuration.toml").stopping.patience is None


def test_a_fine_tuned_model_still_knows_what_it_knew(taught: Path, tmp_path: Path) -> None:
    base, old = Translator.load(taught), load_testing(taught)
    translator, _, _ = tuned(tmp_path / "model")
    assert base.evaluate(old).accuracy > 0.8, "or nothing is tested"
    assert translator.evaluate(old).accuracy >= base.evaluate(old).accuracy - 0.02
    new = load_testing(tmp_path / "model")
    assert translator.evaluate(new).error < base.evaluate(new).error


# The starting model is the one to beat


def test_the_starting_model_is_scored_first(taught: Path, tmp_path: Path) -> None:
    _, outcome, _ = tuned(tmp_path / "model", {"stopping": {"epochs": 2}})
    first = told_history(tmp_path / "model")[0]
    assert (first["step"], first["epoch"], first["best"]) == (0, 0.0, True)
    base = Translator.load(taught)
    tokenizers = base.source_tokenizer, base.target_tokenizer
    part = open_corpus(configuration(tuning()).data).dataset(0, tokenizers).part("validation")
    pairs = list(zip(part.texts("source"), part.texts("target"), strict=True))
    assert first["validation_error"] == pytest.approx(base.evaluate(pairs).error, abs=1e-5)
    assert len(outcome.records) == 3


@pytest.mark.parametrize("on_disk", [True, False])
def test_the_starting_model_is_kept_if_nothing_is_better(on_disk: bool, taught: Path, tmp_path: Path) -> None:
    harmful = {"optimizer": {"rate": 0.5, "averaging": 0.0}, "stopping": {"epochs": 3}}
    out = tmp_path / "model" if on_disk else None
    watcher = Notices()
    translator, outcome = train_model(tuning(harmful), out, watcher)
    assert [record.best for record in outcome.records] == [True, False, False, False]
    before = Translator.load(taught).network.theta.values
    np.testing.assert_array_equal(translator.network.theta.values, before)
    assert any("no evaluation was better than the model that training started from" in text for text in watcher.heard)
    if out is not None:
        np.testing.assert_array_equal(Translator.load(out).network.theta.values, before)
        assert (out / "checkpoints" / "best").read_text() == "step-00000000\n"


# Before and after


def test_old_and_new_scores_stand_side_by_side(taught: Path, tmp_path: Path) -> None:
    translator, _, _ = tuned(tmp_path / "model")
    rows = {row["pairs"]: row for row in load_metadata(tmp_path / "model").training["compared"]}
    assert list(rows) == ["new, validation part", "new, testing part", "old, testing part"]
    base, old = Translator.load(taught), load_testing(taught)
    for name, pairs in (("old, testing part", old), ("new, testing part", load_testing(tmp_path / "model"))):
        assert rows[name]["count"] == len(pairs)
        assert rows[name]["bleu"] == pytest.approx([bleu(base, pairs), bleu(translator, pairs)], abs=0.01)
    again = tuned(tmp_path / "model")
    assert again[1].records == []
    assert load_metadata(tmp_path / "model").training["compared"] == list(rows.values())


def test_old_testing_pairs_that_are_trained_on_now_say_nothing_about_forgetting(taught: Path, tmp_path: Path) -> None:
    file = write_pairs(tmp_path / "all.tsv", [*NEW_PAIRS, *load_testing(taught)])
    other_parts = {"seed": 1, "stopping": {"epochs": 1}}
    tuned(tmp_path / "model", {"data": {"files": [file], "shares": [0.8, 0.1, 0.1]}}, other_parts)
    rows = {row["pairs"]: row for row in load_metadata(tmp_path / "model").training["compared"]}
    assert 0 < rows["old, testing part"]["count"] < len(load_testing(taught)) / 2


# Replay


def parts_of(out: Path | None, *changes: dict[str, Any]) -> tuple[dict[str, set[str]], list[str]]:
    """The sources of every part that a fine-tuning has, and what is told."""
    told: list[str] = []
    given = tuning(*changes)
    training = ModelTraining(given, out, Callback(), Interrupts(), told.append, configuration(given))
    found = {name: set(training.dataset.part(name).texts("source")) for name in ("training", "validation", "testing")}
    assert len(training.dataset.part("training").lengths()) == len(training.dataset.part("training"))
    return found, told


def test_as_many_old_pairs_as_new_ones_are_mixed_in_and_none_that_is_judged_by(taught: Path) -> None:
    found, told = parts_of(None)
    plain, _ = parts_of(None, {"start": {"replay": 0}})
    old = found["training"] - plain["training"]
    base = open_corpus(resolved(taught / "configuration.toml").data).dataset(0)
    assert len(old) == len(plain["training"])
    assert old <= set(base.part("training").texts("source"))
    assert not old & {source for source, _ in load_testing(taught)}
    assert (found["validation"], found["testing"]) == (plain["validation"], plain["testing"])
    assert any(f"{len(old)} old pairs of" in text and "--replay 0" in text for text in told)


def test_old_pairs_whose_source_is_among_the_new_ones_are_left_out(taught: Path, tmp_path: Path) -> None:
    """They would be judged by, or contradict what is new."""
    base = open_corpus(resolved(taught / "configuration.toml").data).dataset(0).part("training")
    texts = list(base.texts("source"))
    file = write_pairs(tmp_path / "new.tsv", [*NEW_PAIRS, *((source, "nuevo") for source in texts[:100])])
    found, _ = parts_of(None, {"seed": 1, "data": {"files": [file]}, "start": {"replay": 1000}})
    everything = {source for source, _ in NEW_PAIRS} | set(texts[:100])
    assert found["training"] - everything == set(texts[100:])


def test_the_batches_of_a_mixture_are_those_of_its_pairs(taught: Path) -> None:
    training = ModelTraining(tuning(), None, Callback(), Interrupts(), lambda text: None, configuration(tuning()))
    part = training.dataset.part("training")
    translator = Translator.load(taught)
    read = [part.batch(np.array([item])).source for item in range(len(part))]
    texts = translator.source_tokenizer.decode([batch.labels for batch in read if batch is not None])
    plain = [item for item, text in enumerate(texts) if not set(text) & set(STANDINS)]  # pairs that are as they were
    items = np.array(plain)[[-1, 0, len(plain) // 2, 1, 2]]
    batch = part.batch(items)
    order = [*sorted(items[items < len(part.samples)], key=list(items).index)]
    order += [item for item in items if item >= len(part.samples)]
    sources, references = list(part.texts("source")), list(part.texts("target"))
    pairs = [(sources[item], references[item]) for item in order]
    [expected] = translator._scorer.batches(pairs)
    assert batch.source is not None
    assert expected.source is not None
    for found, wanted in ((batch, expected), (batch.source, expected.source)):
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_array_equal(found.offsets, wanted.offsets)
    np.testing.assert_array_equal(batch.targets, expected.targets)  # type: ignore[arg-type]


def test_of_a_folder_of_parts_the_training_part_alone_is_replayed(tmp_path: Path) -> None:
    """Whatever the seed would split."""
    parts = {"training": WORD_PAIRS[:150], "validation": WORD_PAIRS[150:170], "testing": WORD_PAIRS[170:]}
    (tmp_path / "parts").mkdir()
    for name, pairs in parts.items():
        write_pairs(tmp_path / "parts" / f"{name}.tsv", pairs)
    few = {"network": {"depth": 16, "perceptron_depth": 16, "heads": 2}, "stopping": {"steps": 1}}
    train_model({"data": {"files": [str(tmp_path / "parts")]}, "threads": 1, **few}, tmp_path / "base")
    found, _ = parts_of(None, {"start": {"model": str(tmp_path / "base"), "replay": 1000}})
    old = found["training"] - {source for source, _ in NEW_PAIRS}
    assert old == {source for source, _ in parts["training"]}


def moved_base(taught: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A model whose corpus can be taken away: (model, corpus)."""
    corpus = tmp_path / "old.tsv"
    shutil.copy(resolved(taught / "configuration.toml").data.files[0], corpus)
    model = Path(shutil.copytree(taught, tmp_path / "base"))
    text = (model / "configuration.toml").read_text(encoding="utf-8")
    (model / "configuration.toml").write_text(text.replace("words.tsv", "old.tsv").replace(str(place()), str(tmp_path)))
    return model, corpus


@pytest.mark.parametrize("missing", ["corpus", "configuration", "changed"])
def test_a_corpus_that_is_not_at_hand_is_told(missing: str, taught: Path, tmp_path: Path) -> None:
    model, corpus = moved_base(taught, tmp_path)
    start = {"start": {"model": str(model)}}
    _, told = parts_of(None, start)
    assert any("old pairs of" in text for text in told)
    if missing == "corpus":
        corpus.unlink()
    elif missing == "changed":
        corpus.write_text(corpus.read_text(encoding="utf-8") + "more\tmás\n", encoding="utf-8")
    else:
        (model / "configuration.toml").unlink()
    found, told = parts_of(None, start)
    assert found == parts_of(None, {"start": {"replay": 0}})[0]
    assert any("no old pairs are mixed in, so the model may forget" in text for text in told)
    with pytest.raises(ConfigurationError, match=r"20 old pairs are to be mixed in, but .*; put the files back"):
        parts_of(None, start, {"start": {"replay": 20}})


def test_a_fine_tuning_that_was_stopped_ends_like_one_that_was_not(taught: Path, tmp_path: Path) -> None:
    settings = tuning({"optimizer": {"batch": 16}, "stopping": {"epochs": 3}})
    train_model(settings, tmp_path / "whole")
    assert resolved(tmp_path / "whole" / "configuration.toml").start.replay == 38
    for step in (2, 9):
        stopped(settings, tmp_path / "model", step)
    train_model(settings, tmp_path / "model")
    check_same(tmp_path / "model", tmp_path / "whole")


def test_a_training_whose_old_pairs_are_gone_is_not_resumed_without_them(taught: Path, tmp_path: Path) -> None:
    model, corpus = moved_base(taught, tmp_path)
    settings = tuning({"start": {"model": str(model)}})
    stopped(settings, tmp_path / "model", 2)
    with pytest.raises(ConfigurationError, match=r"start\.replay = 38 then, 5 now"):
        train_model(merged(settings, {"start": {"replay": 5}}), tmp_path / "model")
    corpus.unlink()
    with pytest.raises(ConfigurationError, match=r"this training has 38 old pairs, but .*old\.tsv does not exist"):
        train_model(settings, tmp_path / "model")


def test_replay_needs_a_model_to_start_from() -> None:
    with pytest.raises(ConfigurationError, match="replay needs a model to fine-tune"):
        configuration({"start": {"replay": 5}})


def test_a_training_that_asked_for_more_old_pairs_than_there_are_is_resumed_as_it_was_begun(
    taught: Path, tmp_path: Path
) -> None:
    settings = tuning({"start": {"replay": 5000}})
    stopped(settings, tmp_path / "model", 2)
    count = resolved(tmp_path / "model" / "configuration.toml").start.replay
    assert count is not None
    assert 0 < count < 5000
    train_model(settings, tmp_path / "model")
    train_model(settings, tmp_path / "whole")
    check_same(tmp_path / "model", tmp_path / "whole")
    stopped(tuning(), tmp_path / "other", 2)
    with pytest.raises(ConfigurationError, match=r"start\.replay = 38 then, 40 now"):
        train_model(tuning({"start": {"replay": 40}}), tmp_path / "other")


# A few corrections


CORRECTED = [
    (f"{a} {b}", f"{WORDS[-1][1]} {dict(WORDS)[b]} {dict(WORDS)[a]}")
    for (a, _), (b, _) in zip(FEW, FEW[1:] + FEW[:1], strict=True)
]


def corrected(out: Path, *changes: dict[str, Any]) -> tuple[Translator, Outcome, list[str]]:
    """The taught model, corrected: other words in another order than it has learnt."""
    file = write_pairs(out.parent / "corrections.tsv", CORRECTED)
    watcher, told = Notices(), list[str]()
    given = merged({"start": {"model": str(models.taught())}, "threads": 1, "data": {"files": [file]}}, *changes)
    translator, outcome = train_model(given, out, watcher, None, told.append)
    return translator, outcome, told + watcher.heard


@pytest.fixture(scope="module")
def taught_more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The taught model, corrected."""
    out = tmp_path_factory.mktemp("corrected") / "model"
    corrected(out)
    return out


def test_corrections_come_back_as_they_were_taught_and_harm_nothing(taught: Path, taught_more: Path) -> None:
    base, old = Translator.load(taught), load_testing(taught)
    assert not any(base.translate(source) == target for source, target in CORRECTED), "or nothing is corrected"
    translator = Translator.load(taught_more)
    assert [translator.translate(source) for source, _ in CORRECTED] == [target for _, target in CORRECTED]
    assert translator.evaluate(old).chrf.value >= base.evaluate(old).chrf.value - 2
    settings = resolved(taught_more / "configuration.toml")
    assert settings.data.shares == (1.0, 0.0, 0.0), "all corrections are trained on"
    sources = [source for source, _ in CORRECTED]
    kept = [pair for pair in old if pair[0] not in sources]
    assert load_testing(taught_more) == kept, "what it is judged by later"
    rows = load_metadata(taught_more).training["compared"]
    assert [(row["pairs"], row["exact"][0]) for row in rows[:1]] == [("taught", 0)]
    assert rows[0]["exact"][1] == len(CORRECTED)
    assert {row["pairs"] for row in rows} <= {"taught", "old, a rare word of them", "old, others"}


def test_a_single_correction_is_mixed_with_all_old_pairs_of_a_small_corpus(own_cache: None, tmp_path: Path) -> None:
    """In the small batches of few pairs it would do so much harm that hardly anything of it is kept."""
    pairs = load_metadata(models.fluent()).data.parts["training"]
    file = write_pairs(tmp_path / "one.tsv", [("The old man sells bread.", "El niño vende pan.")])
    given = {"start": {"model": str(models.fluent())}, "threads": 1, "data": {"files": [file]}}
    told = list[str]()
    train_model(merged(given, {"stopping": {"epochs": 1}}), tmp_path / "model", None, None, told.append)
    assert any(line.startswith(f"{pairs} old pairs") for line in told)


def test_corrections_that_harm_other_sentences_are_not_kept_whole(taught: Path, tmp_path: Path) -> None:
    harmful = {"optimizer": {"rate": 0.1}, "start": {"replay": 0}}
    translator, _, told = corrected(tmp_path / "model", harmful)
    base, old = Translator.load(taught), load_testing(taught)
    assert any("other sentences would suffer" in line for line in told)
    assert translator.evaluate(old).chrf.value >= base.evaluate(old).chrf.value - 3


def test_parts_that_are_asked_for_are_kept_of_a_few_pairs(taught: Path, tmp_path: Path) -> None:
    shares = {"data": {"shares": [0.5, 0.0, 0.5]}, "stopping": {"epochs": 1}}
    corrected(tmp_path / "model", shares)
    assert resolved(tmp_path / "model" / "configuration.toml").data.shares == (0.5, 0.0, 0.5)
    assert len(load_testing(tmp_path / "model")) < len(CORRECTED)


def test_what_is_taught_later_is_mixed_with_the_pairs_of_the_first_model(taught: Path, tmp_path: Path) -> None:
    _, _, before = corrected(tmp_path / "first", {"stopping": {"epochs": 1}})
    _, _, told = corrected(
        tmp_path / "second", {"start": {"model": str(tmp_path / "first")}, "stopping": {"epochs": 1}}
    )
    mixed = [line for line in told if "mixed in, so that" in line]
    assert mixed
    assert mixed == [line for line in before if "mixed in, so that" in line]


def test_corrections_that_were_interrupted_end_like_others(taught_more: Path, tmp_path: Path) -> None:
    whole = Translator.load(taught_more)
    file = write_pairs(tmp_path / "corrections.tsv", CORRECTED)
    given = {"start": {"model": str(models.taught())}, "threads": 1, "data": {"files": [file]}}
    out = tmp_path / "stopped"
    stopped(given, out, 3)
    again, _ = train_model(given, out)
    once_more, _ = train_model(given, out)  # nothing is left to do
    for translator in (again, once_more, Translator.load(out)):
        np.testing.assert_array_equal(translator.network.theta.values, whole.network.theta.values)
