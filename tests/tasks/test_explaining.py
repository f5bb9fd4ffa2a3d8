"""Scores, alignments and the testing analysis say what the network says."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from dragoman import Translator
from dragoman.batch import END, START, Batch
from dragoman.loss import LossIndex
from dragoman.tasks.components import fixed_batches
from dragoman.tasks.configuration import configuration
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.corpus import open_corpus
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import DecodingOptions
from dragoman.text.protection import STANDINS
from dragoman.training.validation import LossMean
from tests.tasks.models import PAIRS, WORD_PAIRS, WORDS, tiny, write_pairs


def log_probability(translator: Translator, source: list[int], reference: list[int]) -> float:
    """By hand: the logits of all positions in one pass, their log-softmax in double precision, at the targets."""
    batch = Batch.pairs([[START, *source, END]], [[START, *reference, END]])
    logits = np.asarray(translator.network.plain(batch), np.float64)
    log_softmax = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return float(sum(log_softmax[t, label] for t, label in enumerate([*reference, END])))


def test_a_score_is_the_log_probability_of_a_translation(word_translator: Translator) -> None:
    pairs = [("green house", "verde casa"), ("green house", "casa verde"), ("red", "rojo"), ("red", "")]
    source, reference = word_translator.source_tokenizer, word_translator.target_tokenizer
    expected = [
        log_probability(word_translator, source.encode([s])[0].tolist(), reference.encode([r])[0].tolist())
        for s, r in pairs
    ]
    found = word_translator.score(pairs)
    assert found == pytest.approx(expected, abs=1e-4)
    assert found[0] > found[1], "the right order of the words is more probable"
    assert word_translator.score([]) == []


def test_all_translations_together_have_probability_one(word_translator: Translator) -> None:
    """Of everything that could be written after one word: nothing more, or any of the labels and so on."""
    labels = range(word_translator.target_tokenizer.size)
    source = word_translator.source_tokenizer.encode(["moon"])[0].tolist()
    [ends] = word_translator.score([("moon", "luna")])
    goes_on = [log_probability(word_translator, source, [word_label(word_translator, "luna"), k]) for k in labels]
    begins = ends - log_end(word_translator, source, [word_label(word_translator, "luna")])
    after = [
        total - log_end(word_translator, source, [word_label(word_translator, "luna"), k])
        for k, total in zip(labels, goes_on, strict=True)
    ]
    assert sum(math.exp(total - begins) for total in after) == pytest.approx(1.0, abs=1e-5)


def word_label(translator: Translator, word: str) -> int:
    [label] = translator.target_tokenizer.encode([word])[0].tolist()
    return int(label)


def log_end(translator: Translator, source: list[int], reference: list[int]) -> float:
    """log p(end | what was written)."""
    batch = Batch.pairs([[START, *source, END]], [[START, *reference, END]])
    logits = np.asarray(translator.network.plain(batch), np.float64)[-1]
    return float(logits[END] - np.log(np.exp(logits).sum()))


@pytest.mark.parametrize("choice", [DecodingOptions(beam=1), DecodingOptions(), DecodingOptions(sample=True, seed=3)])
def test_a_translation_carries_the_mean_of_its_own_score(word_translator: Translator, choice: DecodingOptions) -> None:
    texts = [source for source, _ in WORD_PAIRS[::7]]
    found = word_translator.translations(texts, choice)
    scores = word_translator.score([(text, t.text) for text, t in zip(texts, found, strict=True)])
    for translation, score in zip(found, scores, strict=True):
        positions = len(translation.text.split()) + 1
        assert translation.alternatives[0].score * positions == pytest.approx(score, abs=1e-3)


def test_scores_do_not_depend_on_neighbours(translator: Translator) -> None:
    pairs = [*PAIRS[::5], ("The man sees 5 boats.", "El hombre ve 5 barcos.")]
    assert len(pairs) > 64, "more than one batch"
    together = translator.score(pairs)
    assert translator.score(pairs[::-1])[::-1] == pytest.approx(together, abs=1e-3)
    assert [translator.score([pair])[0] for pair in pairs[:5]] == pytest.approx(together[:5], abs=1e-3)


# Alignments


def test_an_alignment_says_where_every_piece_looked(translator: Translator) -> None:
    found = translator.align("The man sees the house.", "El hombre ve la casa.")
    assert found.source == ["[START]", "▁The", "▁man", "▁sees", "▁the", "▁house", ".", "[END]"]
    assert found.reference == ["▁El", "▁hombre", "▁ve", "▁la", "▁casa", ".", "[END]"]
    assert found.weights.shape == (7, 8)
    assert (found.weights >= 0).all()
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-5)
    assert np.ptp(found.weights, axis=0).max() > 1e-3, "not every piece looks at the same place"
    links = found.links()
    assert [reference for _, reference in links] == list(range(6))
    for source, reference in links:
        assert found.weights[reference, source] == found.weights[reference].max()


def test_without_a_reference_it_is_that_of_its_own_translation(translator: Translator) -> None:
    text = PAIRS[0][0]
    found = translator.align(text)
    [written] = translator.translate([text])
    assert "".join(found.reference[:-1]).replace("##", "").replace("▁", " ").strip() == written
    assert found.weights.shape == (len(found.reference), len(found.source))
    np.testing.assert_allclose(found.weights, translator.align(text, written).weights, atol=1e-6)


def test_an_alignment_of_two_words_finds_them(word_translator: Translator) -> None:
    """A model that translates word for word has looked at the right words, most of the time."""
    right = [word_translator.align(s, r).links() for s, r in WORD_PAIRS[15:] if len(set(s.split())) == 2]
    looked = [links[0][0] == 1 for links in right] + [links[1][0] == 2 for links in right]
    assert np.mean(looked) > 0.6


def test_a_reader_sees_numbers_not_their_standins(translator: Translator) -> None:
    """What the network sees of 25 is a private character that no font shows."""
    found = translator.align("The man sees 25 boats.", "El hombre ve 25 barcos.")
    shown = "".join(found.source + found.reference)
    assert not set(shown) & set(STANDINS)
    assert shown.count("25") == 2


def test_a_number_inside_another_number_is_another_number(translator: Translator) -> None:
    source, reference = "The man sees 5, 15 and 1,155 boats.", "El hombre ve 5, 15 y 1,155 barcos."
    found = translator.align(source, reference)
    for pieces in (found.source[1:-1], found.reference[:-1]):
        for number in ("5", "15", "1,155"):
            assert [piece.removeprefix("▁").removeprefix("##") for piece in pieces].count(number) == 1, number
    assert not set("".join(found.source + found.reference)) & set(STANDINS)


# The testing analysis


@pytest.mark.ledger("T-6.2-test", "T-6.1-accuracy")
def test_error_and_accuracy_are_those_of_the_loss_index(translator: Translator) -> None:
    """The analysis of the testing part as text is that of the testing part as the dataset encoded it."""
    assert translator.directory is not None
    pairs = load_testing(translator.directory)
    part = open_corpus(configuration(tiny()).data).dataset(0).part("testing")
    loss_mean = LossMean()
    for batch in fixed_batches(part):
        loss_mean.add(LossIndex().evaluate(translator.network, batch))
    expected = loss_mean.total()
    found = translator.evaluate(pairs, DecodingOptions(beam=1))
    assert found.sentences == len(pairs) == len(part)
    assert found.positions == expected.positions
    assert found.error == pytest.approx(expected.error, abs=1e-5)
    assert found.accuracy == pytest.approx(expected.accuracy)
    assert found.perplexity == pytest.approx(math.exp(found.error))


def test_error_and_accuracy_are_of_what_the_network_sees(tmp_path: Path) -> None:
    """A number that both sides hold is masked in an evaluation as it was in training."""
    pairs = [(f"{s[:-1]} {i}, {i} and {i + 1}.", f"{r[:-1]} {i}, {i} y {i + 1}.") for i, (s, r) in enumerate(PAIRS)]
    file = write_pairs(tmp_path / "numbers.tsv", pairs)
    settings = tiny({"data": {"files": [file]}, "stopping": {"epochs": None, "steps": 3}})
    translator, _ = train_model(settings)
    part = open_corpus(configuration(settings).data).dataset(0).part("testing")
    loss_mean = LossMean()
    for batch in fixed_batches(part):
        loss_mean.add(LossIndex().evaluate(translator.network, batch))
    texts = list(zip(part.texts("source"), part.texts("target"), strict=True))
    found = translator.evaluate(texts, DecodingOptions(beam=1))
    assert found.positions == loss_mean.total().positions
    assert found.error == pytest.approx(loss_mean.total().error, abs=1e-5)
    assert found.accuracy == pytest.approx(loss_mean.total().accuracy)


def test_evaluation_tells_how_far_it_is_and_what_was_written(translator: Translator) -> None:
    told: list[int] = []
    pairs = PAIRS + PAIRS[:160]  # more than one chunk of 512
    sentences = translator.sentences(pairs, DecodingOptions(beam=1), told.append)
    assert told == [512, 520]
    assert [(s.source, s.reference) for s in sentences] == pairs
    assert [s.translation for s in sentences[:20]] == translator.translate([s for s, _ in pairs[:20]], beam=1)


def test_exact_matches_and_scores_are_of_the_translations(word_translator: Translator) -> None:
    found = word_translator.evaluate(WORD_PAIRS, DecodingOptions(beam=1))
    written = word_translator.translate([source for source, _ in WORD_PAIRS], beam=1)
    right = sum(text == reference for text, (_, reference) in zip(written, WORD_PAIRS, strict=True))
    assert found.exact == right / len(WORD_PAIRS)
    assert found.chrf.value > 80
    swapped = word_translator.evaluate([(s, r) for (s, _), (_, r) in itertools.pairwise(WORDS)])
    assert swapped.exact == 0
    assert swapped.error > found.error
