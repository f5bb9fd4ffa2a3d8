"""A translation and why: n-best, confidence of every word, alignment of words, attention of every layer and head."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.decoding import log_probabilities
from dragoman.engines.compute import fast_compute
from dragoman.graph import Array
from dragoman.server.answers.values import Payload, as_json, checked, flag_of, number_of, text_of, whole_of
from dragoman.server.answers.words import Word, shown, word_weights, words_of
from dragoman.server.bounds import BEAM, BEST, EXPLAINED, WEIGHTS
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import Alternative, Translation, confidence
from dragoman.tasks.translation.translator import Translator
from dragoman.text.units import Passage, Unit

SIMILAR = 0.5  # of the strongest link of a word: others that are shown beside it


def explain(model: Translator, payload: Payload) -> Generator[None, None, dict[str, Any]]:
    """The translations of a text, best first, and what the network did for the best one; in slices of work.

    text       at most `EXPLAINED` characters
    best       how many translations
    attention  whether the weights of all layers and heads are wanted
    Others are those of `DecodingOptions`.
    """
    if model.task != "translation":
        raise BadRequest(f"a model for {model.task} does not translate")
    text = text_of(payload, "text")
    if len(text) > EXPLAINED:
        raise TooLarge(f"a text to explain has at most {EXPLAINED:,} characters, this one has {len(text):,}")
    options, wants_attention = _options(payload), flag_of(payload, "attention")
    return _explained(model, text, options, wants_attention)


def _explained(
    model: Translator, text: str, options: DecodingOptions, wants_attention: bool
) -> Generator[None, None, dict[str, Any]]:
    passage = model.take_apart(text)
    units = list(passage.units())
    by_number: dict[int, list[Alternative]] = {}
    for finished in model.running(units, options):
        by_number.update(finished)
        yield
    found = [by_number[number] for number in range(len(units))]
    translation = model.join(passage, found, options)
    result: dict[str, Any] = {
        "translations": _translations(model, passage, found, translation),
        "pieces": translation.pieces,
        "warnings": translation.warnings,
        "alignment": None,
        "attention": None,
    }
    if len(units) == 1 and found[0][0].tokens:
        probe = look(model, units[0].text, found[0][0].text)
        if probe.maps:
            result["alignment"] = probe.alignment()
            result["attention"] = probe.attention() if wants_attention else None
    return result


def _options(payload: Payload) -> DecodingOptions:
    best = whole_of(payload, "best", 1, 1, BEST)
    beam = whole_of(payload, "beam", max(4, best), 1, BEAM)
    temperature = number_of(payload, "temperature", 1.0)
    assert temperature is not None
    return DecodingOptions(
        beam=beam,
        alternatives=best,
        sample=flag_of(payload, "sample"),
        temperature=temperature,
        top_k=None if payload.get("top_k") is None else whole_of(payload, "top_k", 1, 1, 1_000_000),
        top_p=number_of(payload, "top_p", None),
        seed=whole_of(payload, "seed", 0, 0, 2**63 - 1),
    )


def _translations(
    model: Translator, passage: Passage, found: Sequence[Sequence[Alternative]], translation: Translation
) -> list[dict[str, Any]]:
    """All alternatives, with the confidence of every word; of several units in the best alternative alone."""
    units = list(passage.units())
    if len(units) == 1:
        chosen = {passage.join([one.text]): one for one in reversed(found[0])}
        words = [_words(model, units[0], chosen[each.text]) for each in translation.alternatives]
    else:
        best = [word for unit, some in zip(units, found, strict=True) for word in _words(model, unit, some[0])]
        words = [best, *(_unjudged(each.text) for each in translation.alternatives[1:])]
    rows = [
        {"text": each.text, "score": each.score, "confidence": confidence(each), "words": some}
        for each, some in zip(translation.alternatives, words, strict=True)
    ]
    return as_json(rows)  # type: ignore[no-any-return]


def _words(model: Translator, unit: Unit, written: Alternative) -> list[dict[str, Any]]:
    """The words of the translation of a unit, with their confidence where the network wrote them."""
    return look(model, unit.text, written.text, maps=False).confidences() if written.tokens else _unjudged(written.text)


def _unjudged(text: str) -> list[dict[str, Any]]:
    return [{"text": word, "confidence": None} for word in text.split()]


@dataclass(frozen=True)
class Probe:
    """What a network computes of a given pair.

    source, target    pieces, with start and end marks; the target without its start
    log_probabilities [T] of the pieces of the target
    maps              [h, Tq, Tk] the attention of each layer, by name
    """

    model: Translator
    source: list[str]
    target: list[str]
    log_probabilities: Array
    maps: dict[str, Array]
    mean: Array

    def _words(self) -> tuple[list[Word], list[Word]]:
        tokenizers = self.model.source_tokenizer, self.model.target_tokenizer
        sides = zip((self.source, self.target), tokenizers, strict=True)
        source, target = (words_of(pieces, not tokenizer.has_bytes) for pieces, tokenizer in sides)
        return source, target

    def confidences(self) -> list[dict[str, Any]]:
        """The words of the translation, each with the geometric mean of the probabilities of its pieces."""
        _, target = self._words()
        means = [float(self.log_probabilities[word.pieces].mean()) for word in target]
        return [
            {"text": word.text, "confidence": as_json(min(1.0, math.exp(mean)), 4)}
            for word, mean in zip(target, means, strict=True)
        ]

    def alignment(self) -> dict[str, Any]:
        """Where each word of the translation looked: the last decoder, mean of its heads.

        What is missing from 1 in a row of weights went to the start and end marks.
        """
        source, target = self._words()
        weights = word_weights(self.mean, target, source)
        links = [
            [int(i), j, row[i]]
            for j, row in enumerate(weights)
            if row.size and row.max() > 0
            for i in np.flatnonzero((row == row.max()) | (row >= max(SIMILAR * row.max(), 0.1)))
        ]
        sides = {"source": [word.text for word in source], "target": [word.text for word in target]}
        return as_json({**sides, "links": links, "weights": weights}, 4)  # type: ignore[no-any-return]

    def attention(self) -> dict[str, Any] | None:
        """The weights of every layer and head; rows are `target`, columns `source`. None if they are too many."""
        if sum(weights.size for weights in self.maps.values()) > WEIGHTS:
            return None
        layers = []
        for name, weights in self.maps.items():
            queries, keys = self._sides(name)
            heads = weights[:, : len(queries), : len(keys)]
            layers.append({"name": name, "source": keys, "target": queries, "heads": as_json(heads, 4)})
        return {"layers": layers}

    def _sides(self, layer: str) -> tuple[list[str], list[str]]:
        """Names of rows and columns: a decoder's row has the piece that it predicts, a column what it reads."""
        source, target = (
            [shown(piece, not tokenizer.has_bytes) or "␣" for piece in pieces]
            for pieces, tokenizer in (
                (self.source, self.model.source_tokenizer),
                (self.target, self.model.target_tokenizer),
            )
        )
        if layer.startswith("encoder."):
            return source, source
        return target, ["[START]", *target[:-1]] if layer.endswith("self_attention") else source


def look(model: Translator, source: str, target: str, maps: bool = True) -> Probe:
    """Send a pair through the network, and keep what it computes."""
    seen: dict[str, Any] = {"maps": {}}

    def watch(batch: Batch) -> Array:
        seen["probabilities"] = log_probabilities(model.network, batch)
        found = model.network.attention(batch) if maps else {}
        seen["maps"] = {name: weights[0] for name, weights in found.items()}
        return model.network.alignment(batch) if found else np.zeros((1, 0, 0))

    with fast_compute():
        found = model.align(checked(source, "text"), target, watch)
    return Probe(model, found.source, found.reference, seen["probabilities"], seen["maps"], found.weights)
