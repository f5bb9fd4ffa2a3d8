"""The testing analysis says what sacrebleu says, and says it of every part of a test set."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.analysis import testing  # its names begin with test: pytest would take them for tests
from dragoman.analysis.testing import Sentence
from dragoman.analysis.verdict import verdict
from dragoman.errors import DataError, NonFiniteError

WORDS = [
    "¿",
    "el",
    "la",
    "niña",
    "verde",
    "corazón",
    "mañana",
    "árbol",
    "pequeño",
    "rojo",
    ".",
    ",",
    "?",
    "que",
    "y",
    "come",
]


def drawn(count: int, seed: int = 0, longest: int = 35) -> list[Sentence]:
    """Sentences of 1 to `longest` words, of which the translation has about two in three."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        words = rng.choice(WORDS, size=rng.integers(1, longest + 1))
        kept = np.where(rng.random(len(words)) < 0.65, words, rng.choice(WORDS, size=len(words)))
        text = " ".join(words)
        positions = float(len(words) + 1)
        error, hits = float(rng.random() * 4 * positions), float(rng.integers(0, len(words) + 2))
        sentences.append(Sentence(text.upper(), text, " ".join(kept), error, hits, positions))
    return sentences


def pair(source: str, reference: str, translation: str) -> Sentence:
    return Sentence(source, reference, translation, 2.0, 1.0, 4.0)


def directly(metric: BLEU | CHRF, sentences: Sequence[Sentence], resamples: int = 1) -> tuple[float, float, str]:
    """(score, half its interval, signature) by sacrebleu's own public call."""
    score = metric.corpus_score([s.translation for s in sentences], [[s.reference for s in sentences]], resamples)
    return score.score, score._ci, metric.get_signature().format()


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return drawn(250)


@pytest.fixture(scope="module")
def analysis(sentences: list[Sentence]) -> testing.TestingAnalysis:
    return testing.testing_analysis(sentences)


@pytest.mark.ledger("T-6.2-test")
def test_error_and_accuracy_are_means_over_all_positions(sentences: list[Sentence]) -> None:
    """Not over sentences: the thesis's table counts every position alike."""
    two = [
        Sentence("a", "a b", "a b", error=3.0, hits=2.0, positions=3.0),
        Sentence("b", "c", "d", error=7.0, hits=0.0, positions=1.0),
    ]
    analysis = testing.testing_analysis(two)
    assert (analysis.error, analysis.accuracy, analysis.exact) == (2.5, 0.5, 0.5)
    assert analysis.perplexity == pytest.approx(math.exp(2.5))
    assert (analysis.sentences, analysis.positions) == (2, 4.0)


def test_scores_and_signatures_are_those_of_sacrebleu(
    sentences: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its seed set to ours, sacrebleu draws the same resamples (its sums are float32)."""
    monkeypatch.setenv("SACREBLEU_SEED", "3")
    analysis = testing.testing_analysis(sentences, seed=3)
    for metric, ours in ((BLEU(), analysis.bleu), (CHRF(), analysis.chrf)):
        value, half, signature = directly(metric, sentences, 1000)
        assert ours.value == pytest.approx(value, rel=1e-12)
        assert (ours.high - ours.low) / 2 == pytest.approx(half, rel=1e-4)
        assert ours.signature == signature
        assert "bs:1000|seed:3|" in signature


def test_intervals_contain_the_score_and_shrink_with_the_set(
    sentences: list[Sentence], analysis: testing.TestingAnalysis
) -> None:
    few = testing.testing_analysis(sentences[:25])
    for many, less in ((analysis.bleu, few.bleu), (analysis.chrf, few.chrf)):
        assert 0 <= less.low < less.value < less.high <= 100
        assert many.low < many.value < many.high
        assert many.high - many.low < 0.6 * (less.high - less.low)


def test_the_seed_decides_the_intervals_and_nothing_global_changes(
    sentences: list[Sentence], analysis: testing.TestingAnalysis
) -> None:
    before, random_before = dict(os.environ), np.random.get_state()[1].copy()  # type: ignore[union-attr] # noqa: NPY002
    assert testing.testing_analysis(sentences) == analysis
    other = testing.testing_analysis(sentences, seed=1)
    assert other.bleu.value == analysis.bleu.value
    assert other.bleu.low != analysis.bleu.low
    assert dict(os.environ) == before
    np.testing.assert_array_equal(np.random.get_state()[1], random_before)  # noqa: NPY002


def test_every_sentence_counts_in_one_class_of_lengths(
    sentences: list[Sentence], analysis: testing.TestingAnalysis
) -> None:
    assert [row.words for row in analysis.lengths] == ["1-5", "6-10", "11-15", "16-20", "21-30", "31+"]
    limits = [(1, 5), (6, 10), (11, 15), (16, 20), (21, 30), (31, 10**9)]
    for row, (first, last) in zip(analysis.lengths, limits, strict=True):
        own = [s for s in sentences if first <= len(s.source.split()) <= last]
        assert row.sentences == len(own)
        assert row.accuracy == pytest.approx(sum(s.hits for s in own) / sum(s.positions for s in own))
        assert row.bleu == pytest.approx(directly(BLEU(), own)[0])
        assert row.chrf == pytest.approx(directly(CHRF(), own)[0])
    assert sum(row.sentences for row in analysis.lengths) == len(sentences)


def test_classes_without_sentences_are_left_out_and_no_words_are_a_class() -> None:
    analysis = testing.testing_analysis([pair("", "a", "b"), pair(" ".join(WORDS[:16]), "a", "a")])
    assert [(row.words, row.sentences) for row in analysis.lengths] == [("0", 1), ("16-20", 1)]


def test_best_and_worst_are_in_order(sentences: list[Sentence], analysis: testing.TestingAnalysis) -> None:
    scores = sorted(CHRF().sentence_score(s.translation, [s.reference]).score for s in sentences)
    assert [s.chrf for s in analysis.worst] == pytest.approx(scores[:10])
    assert [s.chrf for s in analysis.best] == pytest.approx(scores[::-1][:10])
    for scored in (*analysis.best, *analysis.worst):
        own = scored.sentence
        assert scored.chrf == pytest.approx(CHRF().sentence_score(own.translation, [own.reference]).score)


def test_among_equals_the_longer_says_more() -> None:
    long = pair("we love deep learning", "nous aimons ça", "nous aimons ça")
    right = [pair(f"yes {i}", "sí", "sí") for i in range(12)]
    wrong = [pair("no", "no", ""), pair("not at all", "en absoluto", "")]
    analysis = testing.testing_analysis([*right, *wrong, long])
    assert analysis.best[0].sentence is long
    assert [s.sentence.source for s in analysis.best[1:4]] == ["yes 0", "yes 1", "yes 10"]
    assert [s.sentence for s in analysis.worst[:2]] == [wrong[1], wrong[0]]
    assert len(analysis.best) == len(analysis.worst) == 10
    turned = testing.testing_analysis([long, *wrong[::-1], *right[::-1]])
    assert (turned.best, turned.worst) == (analysis.best, analysis.worst)


def test_what_is_written_is_json_of_finite_numbers(analysis: testing.TestingAnalysis) -> None:
    told = json.loads(json.dumps(analysis.as_dict(), allow_nan=False))
    assert told["bleu"] == {
        "value": analysis.bleu.value,
        "low": analysis.bleu.low,
        "high": analysis.bleu.high,
        "signature": analysis.bleu.signature,
    }
    assert told["error"] == analysis.error
    assert told["lengths"][0]["words"] == "1-5"
    assert told["worst"][0]["sentence"]["source"] == analysis.worst[0].sentence.source
    hopeless = testing.testing_analysis([replace(drawn(1)[0], error=1e6, positions=1.0)])
    assert hopeless.perplexity == math.inf
    assert json.loads(json.dumps(hopeless.as_dict(), allow_nan=False))["perplexity"] is None


def test_numbers_of_numpy_are_written_too() -> None:
    measured = Sentence("a", "b", "b", np.float32(1.5), np.float32(1), np.float32(2))  # type: ignore[arg-type]
    analysis = testing.testing_analysis([measured])
    assert analysis.error == 0.75
    assert type(analysis.error) is float


def test_one_sentence_has_an_interval_of_no_width() -> None:
    analysis = testing.testing_analysis(drawn(1, seed=4))
    for score in (analysis.bleu, analysis.chrf):
        assert score.low == score.value == score.high
    assert analysis.best == analysis.worst


def test_empty_translations_score_nothing() -> None:
    analysis = testing.testing_analysis([pair("a b", "c d", ""), pair("a", "c", " ")])
    assert (analysis.bleu.value, analysis.chrf.value, analysis.exact) == (0, 0, 0)
    assert analysis.bleu.high == 0
    json.dumps(analysis.as_dict(), allow_nan=False)


def test_a_class_without_positions_has_no_accuracy() -> None:
    unmeasured = Sentence("word " * 8, "a", "a", 0.0, 0.0, 0.0)
    analysis = testing.testing_analysis([pair("a", "b", "b"), unmeasured])
    assert [row.accuracy for row in analysis.lengths] == [0.25, None]
    json.dumps(analysis.as_dict(), allow_nan=False)


@pytest.mark.parametrize("sentences", [[], [Sentence("a", "a", "a", 0.0, 0.0, 0.0)]])
def test_nothing_to_measure(sentences: list[Sentence]) -> None:
    with pytest.raises(DataError, match=f"{len(sentences)} sentences with 0 positions"):
        testing.testing_analysis(sentences)


def test_a_diverged_network_is_named() -> None:
    sentences = [pair("a", "b", "c"), replace(pair("dónde", "b", "c"), error=math.nan)]
    with pytest.raises(NonFiniteError, match=r"sentence 2 of the test set \('dónde'\) has the error nan"):
        testing.testing_analysis(sentences)


def test_large_sets_are_counted_in_chunks(sentences: list[Sentence], monkeypatch: pytest.MonkeyPatch) -> None:
    some = sentences[:30]
    whole = testing.testing_analysis(some)
    monkeypatch.setattr(testing, "CHUNK", 7)
    assert testing.testing_analysis(some) == whole


def test_nothing_is_printed_and_nothing_is_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """sacrebleu logs a warning when a hundred lines end in a full stop that stands alone."""
    tokenized = [pair(f"a {i}", "sí .", "sí .") for i in range(150)]
    with caplog.at_level(logging.DEBUG):
        testing.testing_analysis(tokenized)
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if "sacre" in record.name]


def test_neither_sacrebleu_nor_matplotlib_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, dragoman.analysis.testing, dragoman.analysis.figures, dragoman.analysis.report;"
        "assert not {'sacrebleu', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("right", "level"), [(7, "light"), (5, "moderate"), (0, "unusable")])
def test_glossaries_of_single_words_are_judged_without_bleu(right: int, level: str) -> None:
    words = ["casa", "perro", "gato", "leche", "fuego", "piedra", "luna", "agua", "rojo", "verde"]
    sentences = [Sentence(word, word, word if i < right else "xyz", 1.0, 1.0, 2.0) for i, word in enumerate(words)]
    analysis = testing.testing_analysis(sentences)
    assert analysis.bleu.value < 1
    assert analysis.judged.short == 1
    assert verdict(analysis.judged).level == level


def test_a_verdict_rests_on_sentences_from_the_whole_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "JUDGED", 5)
    assert testing.judged_rows(4) == [0, 1, 2, 3]
    assert testing.judged_rows(101) == [0, 25, 50, 75, 100]
    sentences = drawn(101)
    chosen = [sentences[row] for row in (0, 25, 50, 75, 100)]
    assert testing.testing_analysis(sentences).judged == testing.testing_analysis(chosen).judged
