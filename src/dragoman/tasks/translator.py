"""Translator: text in, text out."""

from __future__ import annotations

import math
import re
import warnings
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.batch import Batch
from dragoman.data.augmentation import spaced_pair
from dragoman.data.dataset import LONGEST, add_marks
from dragoman.data.protection import (
    EVERY_STANDIN,
    STANDINS,
    Masked,
    mask,
    mask_pair,
    masked_pair,
    protected_spans,
    spaced,
)
from dragoman.data.scripts import Alphabet
from dragoman.data.sentences import pieces
from dragoman.data.splits import collapsed
from dragoman.data.tokenizer import Tokenizer
from dragoman.decoding import Beam, Greedy, Hypothesis, Sampling, decode, log_probabilities, score
from dragoman.decoding.probabilities import log_normalizer
from dragoman.decoding.search import MANY
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DataError, DragomanWarning
from dragoman.graph import Array, value_of
from dragoman.networks import SequenceModel
from dragoman.tasks import model as directory_of
from dragoman.tasks.model import ModelMetadata
from dragoman.tasks.spacing import put_back
from dragoman.tasks.spans import Judge, has_word, restored, without_markup
from dragoman.training.workers import Workers, physical_cores
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.analysis.testing import Sentence, TestingAnalysis

_SURROGATE = re.compile("[\ud800-\udfff]")
SHORTEST = 16  # labels that are translated in one go even by a model trained on shorter sentences
BATCH = 64
WIDEST = 256  # beam; a wider one finds nothing better, and its memory and time grow with it
HYPOTHESES = 1024  # followed at a time by one thread: with a wide beam, those of few sentences


@dataclass(frozen=True)
class Alternative:
    """One way to translate a text, the mean log-probability of its tokens, and how many of them were decoded."""

    text: str
    score: float
    tokens: int = 0

    @staticmethod
    def joint_confidence(pieces: Sequence[Alternative]) -> float:
        """The geometric mean of the probabilities of all tokens; 1 where nothing was decoded."""
        tokens = sum(piece.tokens for piece in pieces)
        if not tokens:
            return 1.0
        mean = sum(piece.score * piece.tokens for piece in pieces if piece.tokens) / tokens
        return math.nan if math.isnan(mean) else min(1.0, math.exp(mean))


@dataclass(frozen=True)
class Translation:
    """What became of a text: its alternatives, best first, and in how many pieces it was translated.

    confidence     geometric mean of the probabilities that the model gave to the tokens of the best alternative, from 0
                   to 1; NaN if it was not scored, 1 for text that is copied. It ranks translations of one model. It is
                   not calibrated: 0.8 does not mean that 8 in 10 such translations are right
    unseen_script  that of the text, if most of its letters are none that the model has learnt from: its translation has
                   nothing to do with it then
    """

    alternatives: tuple[Alternative, ...]
    pieces: int = 1
    unseen_script: str | None = None
    confidence: float = 1.0

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the translation."""
        if self.unseen_script is None:
            return []
        return [
            f"most letters are {self.unseen_script}, none that the model has learnt from: this translation is made up"
        ]


@dataclass(frozen=True)
class Alignment:
    """Which pieces of the source each piece of a translation looked at: weights [reference, source], rows sum to 1."""

    source: list[str]
    reference: list[str]
    weights: Array

    def links(self) -> list[tuple[int, int]]:
        """(source piece, reference piece) for each reference piece but the end: where it looked most."""
        return [(int(row.argmax()), i) for i, row in enumerate(self.weights[: len(self.reference) - 1])]


@dataclass(frozen=True)
class DecodingOptions:
    """How labels are chosen.

    beam            width of the search, at most 256; 1 is greedy
    alternatives    how many translations of each text
    length_penalty  0 prefers short translations, 1 judges them by their mean log-probability
    sample          draw labels instead, at a temperature, from the top_k or top_p most probable, with a seed
    maximum         labels a translation may have; None: by the length of the text
    scored          False: greedy translations come sooner, with NaN for their scores
    """

    beam: int = 4
    alternatives: int = 1
    length_penalty: float = 1.0
    sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0
    maximum: int | None = None
    scored: bool = True

    def __post_init__(self) -> None:
        if self.sample and self.alternatives > 1:
            raise ConfigurationError("sampling gives one translation a text; give another seed for another one")
        if not 1 <= self.beam <= WIDEST:
            raise ConfigurationError(f"a beam is 1 to {WIDEST} wide, got {self.beam}; 4 to 10 is usual")
        if self.alternatives < 1:
            raise ConfigurationError(f"a text has at least one translation, not {self.alternatives}")
        if not self.sample and self.alternatives > self.beam:
            raise ConfigurationError(f"{self.alternatives} alternatives need a beam as wide, got {self.beam}")
        if self.maximum is not None and self.maximum < 1:
            raise ConfigurationError(f"a translation has at least one label, got a maximum of {self.maximum}")

    def method(self) -> Greedy | Sampling | Beam:
        if self.sample:
            return Sampling(self.temperature, self.top_k, self.top_p, self.seed)
        return Greedy(self.scored) if self.beam == 1 else Beam(self.beam, self.length_penalty, self.alternatives)

    def longest(self, source: Array) -> int:
        return 2 * len(source) + 10 if self.maximum is None else self.maximum


@dataclass
class Segment:
    """A piece of a text that goes through the network at once."""

    masked: Masked
    labels: Array
    found: list[Alternative] = field(default_factory=list)
    glued: str = ""  # how it begins, if nothing stands between it and the piece before

    def space(self) -> str:
        """What stands between the piece before and this one."""
        return "" if self.glued and self.found[0].text.startswith(self.glued) else " "


class Translator:
    """A network, its tokenizers, and what is known about them."""

    def __init__(self, network: SequenceModel, tokenizers: tuple[Tokenizer, Tokenizer], facts: ModelMetadata) -> None:
        self.network = network
        self.source_tokenizer, self.target_tokenizer = tokenizers
        self.facts = facts
        self.directory: Path | None = None
        self.workers = Workers(physical_cores())
        self._masks = facts.protect and not any(tokenizer.unknown_in([EVERY_STANDIN]) for tokenizer in tokenizers)

    # On disk

    @classmethod
    def train(
        cls, files: str | Path | Sequence[str | Path], /, out: str | Path | None = None, **settings: Any
    ) -> Translator:
        """A translator trained on files of sentence pairs; settings as in the configuration, sections as dicts.

        Without `out` nothing is written to disk, and nothing can be resumed.
        """
        from dragoman.tasks.training import train_translator

        names = [files] if isinstance(files, str | Path) else list(files)
        given = dict(settings)
        given["data"] = {"files": [str(name) for name in names], **dict(settings.get("data", {}))}
        return train_translator(given, None if out is None else Path(out))[0]

    @classmethod
    def load(cls, directory: str | Path) -> Translator:
        place = Path(directory)
        facts = directory_of.load_metadata(place)
        translator = cls(directory_of.load_network(facts, place), directory_of.load_tokenizers(facts, place), facts)
        translator.directory = place
        return translator

    def save(self, directory: str | Path) -> None:
        """All that is needed to translate. Weights that are not finite are refused before anything is written."""
        place = Path(directory)
        directory_of.check_weights(self.network, place)
        try:
            place.mkdir(parents=True, exist_ok=True)
            directory_of.save_tokenizers((self.source_tokenizer, self.target_tokenizer), place)
            directory_of.save_network(self.network, place)
            checksums = directory_of.tokenizer_checksums((self.source_tokenizer, self.target_tokenizer))
            directory_of.save_metadata(self.facts.model_copy(update={"tokenizers": checksums}), place)
        except OSError as error:
            raise DataError(f"{place} could not be written: {error}") from None

    # Text in, text out

    def translate(self, texts: Sequence[str], **choice: Any) -> list[str]:
        """The translation of each text; see `DecodingOptions` for the options (beam=4, sample=True, ...).

        A DragomanWarning tells of texts in a script that the model has not learnt.
        """
        found = self.translations(texts, DecodingOptions(**{"scored": False, **choice}))
        reasons = Counter(reason for translation in found for reason in translation.warnings)
        for reason, count in reasons.items():
            warnings.warn(f"{count:,} of {counted(len(found), 'text')}: {reason}", DragomanWarning, stacklevel=2)
        return [translation.text for translation in found]

    def translations(
        self, texts: Sequence[str], choice: DecodingOptions | None = None, prefixes: Sequence[str] | None = None
    ) -> list[Translation]:
        """The same with alternatives and scores; a prefix is how a translation must begin."""
        if isinstance(texts, str):
            raise ConfigurationError("translate takes a list of texts: translate([text])")
        for text in texts:
            if _SURROGATE.search(text):
                raise DataError(f"a text holds half a character, left by a wrong decoding: {text[:60]!r}")
        choice = choice or DecodingOptions()
        cut = [self._units(text) for text in texts]
        beginnings = self._beginnings(cut, prefixes)
        self._decode([unit for units in cut for unit in units if len(unit.labels)], choice, beginnings)
        return [replace(self._joined(units, choice), unseen_script=self._unseen_script(units)) for units in cut]

    @cached_property
    def alphabet(self) -> Alphabet:
        """The letters and scripts that the model has learnt to read."""
        return Alphabet.of(self.source_tokenizer.learnt_pieces())

    def _unseen_script(self, units: list[Segment]) -> str | None:
        """Judged without what is protected: stand-ins are no letters."""
        return self.alphabet.unseen_script("".join(unit.masked.text for unit in units))

    def _units(self, text: str) -> list[Segment]:
        limit = self.network.maximum_length
        longest, whole = max(SHORTEST, self.facts.longest[0]), text.strip()
        longest = longest if limit is None else min(longest, limit)
        cut = pieces(whole, lambda piece: self._fits(self._unit(piece), longest))
        if len(cut) > 1 and self._masks:
            cut = _outside(cut, protected_spans(whole))
        return [unit for piece in cut for unit in self._complete(piece)]

    def _fits(self, unit: Segment, longest: int) -> bool:
        return unit.masked.complete and len(unit.labels) + 2 <= longest

    def _complete(self, piece: str) -> list[Segment]:
        """The piece, cut after every eighth span if it has more of them than there are stand-ins."""
        if self._unit(piece).masked.complete:
            return [self._unit(piece)]
        ends = [stop for _, stop in protected_spans(piece)][len(STANDINS) - 1 :: len(STANDINS)]
        parts = [piece[start:stop] for start, stop in pairwise([0, *ends, len(piece)])]
        return [replace(self._unit(part), glued=_beginning(part) if i else "") for i, part in enumerate(parts) if part]

    def _unit(self, piece: str) -> Segment:
        masked = mask(piece) if self._masks else Masked(piece, ())
        if masked.spans and not has_word(masked.text):  # nothing to translate
            return Segment(masked, np.zeros(0, np.int32), [Alternative(piece, 0.0)])
        return Segment(masked, self._encode(without_markup(masked)) if piece.strip() else np.zeros(0, np.int32))

    def _encode(self, text: str) -> Array:
        return self.source_tokenizer.encode([text])[0]

    def _beginnings(self, cut: list[list[Segment]], prefixes: Sequence[str] | None) -> list[Array] | None:
        if prefixes is None:
            return None
        if len(prefixes) != len(cut) or any(len(units) != 1 for units in cut):
            raise ConfigurationError("one prefix for each text, and texts short enough to be translated in one piece")
        labels = self.target_tokenizer.encode(list(prefixes))
        return [begin for begin, units in zip(labels, cut, strict=True) if len(units[0].labels)]

    def _decode(self, units: list[Segment], choice: DecodingOptions, prefixes: list[Array] | None = None) -> None:
        sources = [add_marks(unit.labels, None)[0] for unit in units]
        longest = [self._room(choice.longest(source)) for source in sources]
        found = self._search(sources, choice, longest, prefixes)
        beginnings = prefixes or [np.zeros(0, np.int32)] * len(units)
        for unit, hypotheses, prefix in zip(units, found, beginnings, strict=True):
            told = self.target_tokenizer.decode([prefix])[0]
            unit.found = [self._alternative(unit, hypothesis, len(told)) for hypothesis in hypotheses]

    def _search(
        self, sources: list[Array], choice: DecodingOptions, longest: list[int], prefixes: list[Array] | None = None
    ) -> list[list[Hypothesis]]:
        """Batches of sources on all cores."""
        together = BATCH if choice.sample else min(BATCH, max(1, HYPOTHESES // choice.beam))
        batch = max(1, min(together, math.ceil(len(sources) / self.workers.threads)))
        numbers = [zlib.crc32(source.tobytes()) for source in sources]  # draws depend on the text, not on its place
        network: Any = self.network
        return decode(network, sources, choice.method(), longest, prefixes, batch, numbers, each=self.workers.map)

    def _room(self, longest: int) -> int:
        """A table of learned positions ends somewhere; the start label takes one of them."""
        limit = self.network.maximum_length
        return longest if limit is None else max(1, min(longest, limit - 1))

    def _alternative(self, unit: Segment, hypothesis: Hypothesis, fixed: int) -> Alternative:
        """What the network wrote, with everything in it that must be kept."""
        text = collapsed(self.target_tokenizer.decode([hypothesis.labels])[0])
        if self._masks:
            judge = Judge(lambda texts: self._likelihoods(unit, texts), self._word_likelihoods)
            text = put_back(restored(text, unit.masked, judge, fixed), unit.masked)
        return Alternative(text, _mean(hypothesis), len(hypothesis.labels) + hypothesis.finished)

    def _likelihoods(self, unit: Segment, texts: Sequence[str]) -> list[float]:
        """log p of some translations of a unit."""
        source = self._encode(spaced(unit.masked.text))
        return [float(each.sum()) for each in self._label_likelihoods(source, self.target_tokenizer.encode(texts))]

    def _word_likelihoods(self, source: str, text: str) -> list[float]:
        """log p of each word of a translation."""
        words = self.target_tokenizer.encode(text.split())
        (each,) = self._label_likelihoods(self._encode(source), [np.concatenate(words)])
        stops = np.cumsum([len(labels) for labels in words])
        return [float(each[stop - len(labels) : stop].sum()) for labels, stop in zip(words, stops, strict=True)]

    def _label_likelihoods(self, source: Array, references: Sequence[Array]) -> list[Array]:
        """log p of each label of some translations of a source, the end label included."""
        limit, found = self.network.maximum_length, list[Array]()
        read = add_marks(source, limit)[0]
        with fast_compute(load=False, brief=True):
            for start in range(0, len(references), BATCH):
                some = [add_marks(labels, None)[0] for labels in references[start : start + BATCH]]
                batch = Batch.pairs([read] * len(some), [each if limit is None else each[: limit + 1] for each in some])
                found += np.split(log_probabilities(self.network, batch), batch.offsets[1:-1])
        return found

    def _joined(self, units: list[Segment], choice: DecodingOptions) -> Translation:
        kept = [unit for unit in units if unit.found]
        if not kept:
            return Translation((Alternative("", 0.0),), 0)
        if len(kept) == 1:
            found = tuple(kept[0].found[: choice.alternatives])
            return Translation(found, confidence=Alternative.joint_confidence(found[:1]))
        text = "".join(unit.space() + unit.found[0].text.strip() for unit in kept).strip()
        best = [unit.found[0] for unit in kept]
        joined = Alternative(text, sum(piece.score for piece in best) / len(best), sum(piece.tokens for piece in best))
        return Translation((joined,), len(kept), confidence=Alternative.joint_confidence(best))

    # Explaining

    def score(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """log p(reference | source) of given translations, end label included."""
        found: list[float] = []
        for batch in self._batches(list(pairs)):
            found += score(self.network, batch).tolist()
        return found

    def align(self, source: str, reference: str | None = None) -> Alignment:
        """Where a translation (its own, if none is given) looked in the source: the last decoder, all heads' mean."""
        written = self.translations([source])[0].text if reference is None else reference
        shown, told, standins = (
            masked_pair(source, written, 0.0, protected_spans) if self._masks else (source, written, {})
        )
        shown, told = spaced_pair((shown, told)) if self._masks else (shown, told)
        limit = self.network.maximum_length
        labels = add_marks(self._encode(shown), limit)[0]
        whole = add_marks(self.target_tokenizer.encode([told])[0], limit)[0]
        weights = self.network.alignment(Batch.pairs([labels], [whole]))[0]
        spans = {ord(standin): span for span, standin in standins.items()}
        pieces = (self.source_tokenizer.pieces(labels), self.target_tokenizer.pieces(whole[1:]))
        read, wrote = ([piece.translate(spans) for piece in side] for side in pieces)
        return Alignment(read, wrote, weights)

    def _batches(self, pairs: list[tuple[str, str]]) -> Iterable[Batch]:
        """Pairs as the network is asked about them, in order."""
        for start in range(0, len(pairs), BATCH):
            chunk = pairs[start : start + BATCH]
            shown = [spaced_pair(mask_pair(*pair)) for pair in chunk] if self._masks else chunk
            sides = [
                [add_marks(labels, None)[0] for labels in tokenizer.encode([pair[side] for pair in shown])]
                for side, tokenizer in enumerate((self.source_tokenizer, self.target_tokenizer))
            ]
            yield Batch.pairs(*sides)

    # Testing analysis

    def evaluate(
        self,
        pairs: Sequence[tuple[str, str]],
        choice: DecodingOptions | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> TestingAnalysis:
        """The testing analysis (thesis 6.2) of these pairs."""
        from dragoman.analysis.testing import testing_analysis

        return testing_analysis(self.sentences(pairs, choice, tell))

    def sentences(
        self,
        pairs: Sequence[tuple[str, str]],
        choice: DecodingOptions | None = None,
        tell: Callable[[int], None] = lambda done: None,
    ) -> list[Sentence]:
        """Error and hits of each pair under teacher forcing, and its translation."""
        from dragoman.analysis.testing import Sentence

        self._check_lengths(pairs)
        found: list[Sentence] = []
        size = 8 * BATCH
        with fast_compute(load=len(pairs) >= MANY, brief=True):
            for start in range(0, len(pairs), size):
                chunk = list(pairs[start : start + size])
                written = self.translations([source for source, _ in chunk], choice)
                batches = list(self._batches(chunk))
                measured = [row for rows in self.workers.map(self._measured, batches) for row in rows]
                found += [
                    Sentence(source, reference, translation.text, *row)
                    for (source, reference), translation, row in zip(chunk, written, measured, strict=True)
                ]
                tell(len(found))
        return found

    def _check_lengths(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Under teacher forcing a pair goes through the network whole; one that is too long would fill the memory."""
        for number, pair in enumerate(pairs, start=1):
            for text, tokenizer in zip(pair, (self.source_tokenizer, self.target_tokenizer), strict=True):
                if 4 * len(text) <= LONGEST:  # four bytes are the most that a character is spelled in
                    continue
                labels = len(tokenizer.encode([text])[0]) + 2
                if labels > LONGEST:
                    raise DataError(
                        f"pair {number:,} has a side of {labels:,} labels, more than the {LONGEST:,} that can be "
                        f"evaluated: {text[:40]}...; cut it into sentences"
                    )

    def _measured(self, batch: Batch) -> list[tuple[float, float, float]]:
        """(summed error, right labels, labels) of each sentence."""
        logits, targets = value_of(self.network.plain(batch)), batch.targets
        errors = log_normalizer(logits) - logits[np.arange(len(logits)), targets]
        sentence = np.repeat(np.arange(len(batch)), batch.lengths)
        each = (errors, logits.argmax(axis=1) == targets, np.ones(len(sentence)))
        sums = [np.bincount(sentence, values, len(batch)) for values in each]
        return [(float(error), float(right), float(count)) for error, right, count in zip(*sums, strict=True)]


def _mean(hypothesis: Hypothesis) -> float:
    return hypothesis.log_probability / max(1, len(hypothesis.labels) + hypothesis.finished)


def _outside(cut: list[str], spans: list[tuple[int, int]]) -> list[str]:
    """The pieces of a text, joined again where a cut went through a span."""
    joined, at = [""], 0
    for piece in cut:
        before = bisect_left(spans, (at, at)) - 1  # the last span that starts before the cut
        if before >= 0 and at < spans[before][1]:
            joined[-1] += piece
        else:
            joined.append(piece)
        at += len(piece)
    return joined[1:]


def _beginning(part: str) -> str:
    """The span or the mark that a part begins with."""
    spans = protected_spans(part)
    if spans and spans[0][0] == 0:
        return part[: spans[0][1]]
    return "" if part[0].isspace() or part[0].isalnum() else part[0]
