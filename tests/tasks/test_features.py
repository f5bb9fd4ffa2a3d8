"""Contextual vectors of words and sentences."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman import Tagger, Translator
from dragoman.batch import Batch
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError
from dragoman.graph import value_of
from dragoman.networks import ARCHITECTURES, LANGUAGE_MODELS
from dragoman.tasks.features import batches_of, cut, encode_features, features_of
from dragoman.tasks.language_model.generator import TextGenerator
from dragoman.tasks.training import train_model
from tests.tasks.classification import models as classified
from tests.tasks.language_model.conftest import singer
from tests.tasks.tagging import tagged

__all__ = ["singer"]

TEXTS = ["She sat on the bank of the river.", "He took money from the bank."]


def vector_of(model: Any, text: str, word: str) -> Any:
    (found,) = features_of(model, [text])
    return found.vectors[found.words.index(word)]


@pytest.fixture(scope="session")
def tagger(own_cache: None) -> Tagger:
    return Tagger.load(tagged.trained())


@pytest.mark.ledger("B-7.1-context")
def test_the_same_word_in_two_sentences_has_two_vectors(translator: Translator, tagger: Tagger) -> None:
    for model in (translator, tagger):
        here, there = (vector_of(model, text, "bank") for text in TEXTS)
        assert np.linalg.norm(here - there) > 0.05 * np.linalg.norm(here)
        np.testing.assert_array_equal(here, vector_of(model, TEXTS[0], "bank"))


def test_words_and_their_vectors(translator: Translator) -> None:
    first, empty = features_of(translator, ["The man, 42, isn't at http://x.org.", "  "])
    assert first.words == ("The", "man", ",", "42", ",", "isn", "'", "t", "at", "http://x.org", ".")
    assert first.vectors.shape == (11, 16)
    assert (empty.words, empty.vectors.shape, empty.sentence.tolist()) == ((), (0, 16), [0.0] * 16)
    assert features_of(translator, []) == []
    with pytest.raises(ConfigurationError, match="takes a list of texts"):
        features_of(translator, "The man")


def test_alone_and_in_any_company(translator: Translator, tagger: Tagger) -> None:
    texts = ["The man sees bread.", "A friend", "", "The woman wants the small boat, and an apple."]
    for model in (translator, tagger):
        for text, together in zip(texts, features_of(model, texts), strict=True):
            (alone,) = features_of(model, [text])
            assert alone.words == together.words
            np.testing.assert_allclose(alone.vectors, together.vectors, atol=1e-5)
            np.testing.assert_allclose(alone.sentence, together.sentence, atol=1e-5)


def test_a_long_text_goes_through_in_parts(tagger: Tagger) -> None:
    (found,) = tagger.features(["Anna plays . " * 400])
    assert len(found.words) == len(found.vectors) == 1200
    assert np.isfinite(found.sentence).all()


def test_parts_and_batches() -> None:
    words = [np.zeros(n) for n in (2, 2, 3, 9, 1)]
    assert [[len(labels) for labels in part] for part in cut(words, 4)] == [[2, 2], [3], [9], [1]]
    assert cut([], 4) == []
    assert batches_of([5, 1, 3, 9, 2], 6) == [[1, 4, 2], [0], [3]]


@pytest.mark.parametrize("name", ["transformer", "lstm-attention", "gru", "rnn"])
def test_the_encoder_of_every_translator(name: str) -> None:
    architecture = ARCHITECTURES[name]
    sizes = {"source_vocabulary": 20, "target_vocabulary": 20}
    settings = {"reversed": True} if name == "gru" else {}
    network: Any = architecture.build(architecture.configured({**architecture.named, **settings}, sizes))
    (found,) = encode_features(network, [[("a", np.array([5, 6])), ("b", np.array([7]))]], 10, (2, 3))
    rows, samples = network.features(Batch.pack([[2, 5, 6, 7, 3]]))
    np.testing.assert_allclose(found.vectors, [rows[1:3].mean(axis=0), rows[3]], atol=1e-6)
    np.testing.assert_allclose(found.sentence, samples[0], atol=1e-6)
    if name == "gru":  # it reads from the end: its last word has seen nothing of the first
        (other,) = encode_features(network, [[("c", np.array([8, 9])), ("b", np.array([7]))]], 10, (2, 3))
        np.testing.assert_allclose(found.vectors[1], other.vectors[1], atol=1e-6)
        assert not np.allclose(found.vectors[0], other.vectors[0])


@pytest.mark.parametrize("name", ["transformer", "lstm"])
def test_a_language_model_needs_no_code_of_its_own(name: str) -> None:
    tokenizer = Tokenizer.train(TEXTS * 3)
    architecture = LANGUAGE_MODELS[name]
    configured = architecture.configured(dict(architecture.named), {"vocabulary": tokenizer.size})
    network: Any = architecture.build(configured)
    model = SimpleNamespace(network=network, encoders={"text": tokenizer}, metadata=SimpleNamespace(task="x"))
    here, there = (vector_of(model, text, "bank") for text in TEXTS)
    assert not np.allclose(here, there)
    assert features_of(model, TEXTS)[0].words[-2:] == ("river", ".")


@pytest.mark.parametrize("changes", [{}, classified.TRANSFORMER], ids=["bag", "transformer"])
def test_a_classifier_reads_as_it_predicts(changes: dict[str, Any], own_cache: None) -> None:
    """Small letters, start and end: what the last layer reads gives the logits of the text."""
    steps = {"stopping": {"epochs": None, "steps": 4}}
    model: Any = train_model(classified.settings(classified.MOODS, "moods", changes, steps))[0]
    found, empty = features_of(model, ["The Film is FUNNY", ""])
    assert found.words == ("the", "film", "is", "funny")
    assert len(found.vectors) == 4
    assert not empty.words
    layer = model.network.plain.before_output(Batch.pack([[2, 3]]))[1]
    weights = layer.weights.T if layer.transposed else layer.weights
    logits = found.sentence @ weights + (0 if layer.biases is None else layer.biases)
    np.testing.assert_allclose(logits, model.logits(["the film is funny"])[0], rtol=1e-4, atol=1e-5)


def test_a_language_model_reads_from_its_beginning(singer: Path) -> None:
    """The first word stands after a line end, as it does where texts are scored."""
    model = TextGenerator.load(singer)
    (found,) = features_of(model, ["bad cog"])
    assert found.words == ("bad", "cog")
    labels = np.concatenate(([model.begin], model.tokenizer.encode(["bad cog"])[0]))
    rows = value_of(model.network.plain.before_output(Batch.pack([labels]))[0])
    np.testing.assert_allclose(found.vectors[0], rows[1:4].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.sentence, rows.mean(axis=0), atol=1e-5)
    (long,) = features_of(model, ["bad cog hum " * 100])
    assert len(long.vectors) == 300


def test_a_model_without_text() -> None:
    with pytest.raises(ConfigurationError, match="a model for regression reads no text"):
        features_of(SimpleNamespace(metadata=SimpleNamespace(task="regression")), ["a"])


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words", "characters"])
def test_words_with_their_labels(kind: str) -> None:
    """The labels of the words are those of the text; words are the same whatever the tokenizer."""
    tokenizer = Tokenizer.train(["The plant isn't green, naïve café 日本"] * 5, kind)  # type: ignore[arg-type]
    text = "  The unplanted  isn't green (café), €5 日本 " + "x" * 70
    words = tokenizer.words(text)
    assert [word for word, _ in words][:14] == [
        *("The", "unplanted", "isn", "'", "t", "green", "(", "café", ")", ",", "€", "5", "日本", "x" * 70)
    ]
    assert np.concatenate([labels for _, labels in words]).tolist() == tokenizer.encode([text])[0].tolist()
