"""What would fill the memory or take for ever is refused, left out or warned of, and never in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.data.pair_encoding import LONGEST
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.configuration import configuration
from dragoman.tasks.training import ModelTraining, train_model
from dragoman.tasks.translation.translator import HYPOTHESES, WIDEST, DecodingOptions
from dragoman.tasks.vectors.plan import VectorSettings
from dragoman.training import Callback
from dragoman.training.interrupts import Interrupts
from dragoman.training.workers import Workers
from tests.tasks.models import PAIRS, tiny, write_pairs

WORDS = " ".join(source for source, _ in PAIRS * 9).split()


class Listener(Callback):
    """Keeps what a user would read."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def long_pairs(path: Path, *lengths: int, count: int = 100) -> dict[str, Any]:
    """Settings of a corpus with some pairs of so many words."""
    long = [(" ".join(WORDS[:length]), " ".join(WORDS[:length])) for length in lengths]
    return tiny({"data": {"files": [write_pairs(path, [*PAIRS[:count], *long])]}, "stopping": {"epochs": 1}})


def begun(settings: dict[str, Any], tell: Any = lambda text: None) -> tuple[ModelTraining, list[str]]:
    listener = Listener()
    return ModelTraining(settings, None, listener, Interrupts(), tell, configuration(settings)), listener.warnings


# Pairs


def test_a_pair_of_many_words_is_left_out_and_told(tmp_path: Path) -> None:
    training, warnings = begun(long_pairs(tmp_path / "pairs.tsv", 10_000))
    assert sum(len(training.dataset.part(name)) for name in ("training", "validation", "testing")) == 100
    assert sum(training.dataset.about["parts"].values()) == 100
    told = next(warning for warning in warnings if "left out" in warning)
    assert told.startswith("1 pair was left out, with a side of more than 2,000 tokens: pair 101, of ")
    assert "(The man sees the house." in told
    assert "set data.maximum" in told


def test_the_length_of_what_was_left_out_is_forgotten(tmp_path: Path) -> None:
    """A text is cut into pieces as long as the longest sentence that was learnt from."""
    training, _ = begun(long_pairs(tmp_path / "pairs.tsv", 3_000))
    assert max(training.model.metadata.longest) < 30
    assert max(training.dataset.part("training").lengths().max(axis=0)) < 30


def test_a_training_goes_on_without_what_was_left_out(tmp_path: Path) -> None:
    listener = Listener()
    translator, outcome = train_model(long_pairs(tmp_path / "pairs.tsv", 3_000, 4_000), watch=listener)
    assert outcome.finished
    assert len(translator.translations(["The man sees bread."])) == 1
    assert any(warning.startswith("2 pairs were left out") for warning in listener.warnings)


def test_a_maximum_cuts_instead(tmp_path: Path) -> None:
    settings = long_pairs(tmp_path / "pairs.tsv", 3_000)
    settings["data"]["maximum"] = [50, 60]
    training, warnings = begun(settings)
    assert training.dataset.about["left_out"] == 0
    assert training.dataset.about["truncated"] == [1, 1]
    assert not any("left out" in warning for warning in warnings)


def test_nothing_but_pairs_that_are_too_long(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"all training pairs are too long: pair 1, of .* set data.maximum"):
        begun(long_pairs(tmp_path / "pairs.tsv", 3_000, 3_001, 3_002, count=0))


def test_a_pair_that_is_too_long_is_not_evaluated(translator: Translator) -> None:
    long = " ".join(WORDS[:LONGEST])
    with pytest.raises(DataError, match=r"pair 2 has a side of .* tokens, more than the 2,000 that can be evaluated"):
        translator.evaluate([PAIRS[0], (PAIRS[1][0], long)])


# Searches


@pytest.mark.parametrize("beam", [0, WIDEST + 1, 100_000])
def test_a_beam_has_bounds(beam: int, translator: Translator) -> None:
    with pytest.raises(ConfigurationError, match=f"a beam must be 1 to {WIDEST} wide, got {beam}"):
        translator.translate(["bread"], beam=beam)


def test_a_text_has_a_translation() -> None:
    with pytest.raises(ConfigurationError, match="at least one translation, not 0"):
        DecodingOptions(beam=1, alternatives=0)


def test_a_wide_beam_follows_few_sentences_at_a_time(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def decode(
        network: Any, sources: Any, method: Any, longest: Any, prefixes: Any, batch: int, *_: Any, **__: Any
    ) -> Any:
        asked.append(batch)
        raise InterruptedError

    monkeypatch.setattr("dragoman.tasks.translation.translator.decode", decode)
    for beam in (1, 4, 16, 64, WIDEST):
        with pytest.raises(InterruptedError):
            translator.translations(["bread"] * 300, DecodingOptions(beam=beam))
    assert asked == [64, 64, 64, 16, 4]
    assert all(size * beam <= HYPOTHESES for size, beam in zip(asked, (1, 4, 16, 64, WIDEST), strict=True))


# Threads


def test_far_too_many_threads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for refused in (lambda: Workers(400), lambda: VectorSettings(threads=400), lambda: begun(tiny({"threads": 400}))):
        with pytest.raises(ConfigurationError, match="400 threads are too many; use at most 256"):
            refused()


def test_a_machine_with_many_cores_may_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 512)
    assert VectorSettings(threads=400).threads == 400


def test_more_threads_than_cores_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.training.workers.allowed_cores", lambda: {0, 1})
    told: list[str] = []
    begun(tiny({"threads": 3}), told.append)
    assert told[0] == "warning: 3 threads share 2 cores here: more than 2 gain nothing"
    told.clear()
    begun(tiny({"threads": 2}), told.append)
    assert not any("threads share" in line for line in told)
