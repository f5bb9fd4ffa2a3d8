"""Translator: text in, text out."""

from __future__ import annotations

import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.data.pair_encoding import add_marks
from dragoman.data.schema import Encoders
from dragoman.data.tokenizer import Tokenizer
from dragoman.decoding import Hypothesis, decode
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DragomanWarning
from dragoman.graph import Array
from dragoman.networks import SequenceModel
from dragoman.ranks import ALONE, Ranks
from dragoman.tasks.features import TextFeatures, encode_features
from dragoman.tasks.inputs import takes_pairs, takes_texts
from dragoman.tasks.trained_model import TrainedModel
from dragoman.tasks.translation.languages import LANGUAGES
from dragoman.tasks.translation.options import WIDEST, DecodingOptions
from dragoman.tasks.translation.results import Alignment, Alternative, Translation
from dragoman.tasks.translation.scoring import BATCH, Pair, Scorer
from dragoman.tasks.translation.segments import Segment, Segmenter, joined
from dragoman.tasks.translation.settings import TranslatorMetadata
from dragoman.text.language_id import LanguageProfile, profiles_from_json
from dragoman.text.protection import EVERY_STANDIN, STANDINS, Masked, mask, spaced
from dragoman.text.scripts import Alphabet
from dragoman.text.sentences import collapsed
from dragoman.text.spacing import put_back
from dragoman.text.spans import Judge, restored
from dragoman.training.workers import Workers, threads_per_rank
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.analysis.testing import Sentence, TestingAnalysis

__all__ = ["WIDEST", "Alignment", "Alternative", "DecodingOptions", "Segment", "Translation", "Translator"]

SHORTEST = 16  # tokens that are translated at once even by a model trained on shorter sentences
HYPOTHESES = 1024  # per thread at a time: a wide beam has fewer sentences


class Translator(TrainedModel):
    """A network with its tokenizers and metadata."""

    task = "translation"
    network: SequenceModel
    metadata: TranslatorMetadata

    def __init__(self, network: SequenceModel, encoders: Encoders, metadata: TranslatorMetadata) -> None:
        super().__init__(network, encoders, metadata)
        self.source_tokenizer: Tokenizer = encoders["source"]
        self.target_tokenizer: Tokenizer = encoders["target"]
        tokenizers = self.source_tokenizer, self.target_tokenizer
        self.workers = Workers(threads_per_rank())
        self._protect = metadata.protect and not any(tokenizer.unknown_in([EVERY_STANDIN]) for tokenizer in tokenizers)
        longest, limit = max(SHORTEST, metadata.longest[0]), network.maximum_length
        self._segments = Segmenter(
            self.source_tokenizer, longest if limit is None else min(longest, limit), self._protect
        )
        self._scorer = Scorer(network, tokenizers, self._protect)

    # Text in, text out

    @takes_texts
    def translate(self, texts: Sequence[str], /, **options: Any) -> list[str]:
        """Translate each text; see `DecodingOptions` for the options (beam=4, sample=True, ...).

        A DragomanWarning reports texts in a script that does not occur in the training data.
        """
        found = self.translations(texts, DecodingOptions(**{"scored": False, **options}))
        reasons = Counter(reason for translation in found for reason in translation.warnings)
        for reason, count in reasons.items():
            warnings.warn(f"{count:,} of {counted(len(found), 'text')}: {reason}", DragomanWarning, stacklevel=3)
        return [translation.text for translation in found]

    @takes_texts
    def translations(
        self, texts: Sequence[str], options: DecodingOptions | None = None, prefixes: Sequence[str] | None = None
    ) -> list[Translation]:
        """Translate with alternatives and scores; a translation must begin with its prefix."""
        options = options or DecodingOptions()
        cut = [self._segments(text) for text in texts]
        beginnings = self._beginnings(cut, prefixes)
        self._decode([segment for segments in cut for segment in segments if len(segment.labels)], options, beginnings)
        return [
            replace(joined(segments, options.alternatives), unseen_script=self._unseen_script(segments))
            for segments in cut
        ]

    @cached_property
    def alphabet(self) -> Alphabet:
        """The letters and scripts of the training data."""
        return Alphabet.of(self.source_tokenizer.learned_pieces())

    @cached_property
    def profiles(self) -> dict[str, LanguageProfile]:
        """By code, what tells texts of its languages apart; none of a model that does not know what they are called."""
        found = self.files.get(LANGUAGES)
        return {} if found is None else profiles_from_json(found)

    def _unseen_script(self, segments: list[Segment]) -> str | None:
        """Return the script of a text, without its protected spans, if it was not in the training data."""
        return self.alphabet.unseen_script("".join(segment.masked.text for segment in segments))

    def _beginnings(self, cut: list[list[Segment]], prefixes: Sequence[str] | None) -> list[Array] | None:
        """Encode the prefixes of the texts that are translated."""
        if prefixes is None:
            return None
        if len(prefixes) != len(cut) or any(len(segments) != 1 for segments in cut):
            raise ConfigurationError(
                "give one prefix per text; texts must be short enough to be translated in one piece"
            )
        labels = self.target_tokenizer.encode(list(prefixes))
        return [begin for begin, segments in zip(labels, cut, strict=True) if len(segments[0].labels)]

    def _decode(self, segments: list[Segment], options: DecodingOptions, prefixes: list[Array] | None) -> None:
        """Search for translations of the segments, and write them into the segments."""
        sources = [add_marks(segment.labels, None)[0] for segment in segments]
        longest = [self._limited(options.longest(source)) for source in sources]
        found = self._search(sources, options, longest, prefixes)
        beginnings = prefixes or [np.zeros(0, np.int32)] * len(segments)
        for segment, hypotheses, prefix in zip(segments, found, beginnings, strict=True):
            fixed = len(self.target_tokenizer.decode([prefix])[0])
            segment.found = [self._alternative(segment, hypothesis, fixed) for hypothesis in hypotheses]

    def _search(
        self, sources: list[Array], options: DecodingOptions, longest: list[int], prefixes: list[Array] | None
    ) -> list[list[Hypothesis]]:
        """Decode batches of sources on all cores."""
        together = BATCH if options.sample else min(BATCH, max(1, HYPOTHESES // options.beam))
        batch = max(1, min(together, math.ceil(len(sources) / self.workers.threads)))
        numbers = [zlib.crc32(source.tobytes()) for source in sources]  # draws depend on the text, not on its position
        network: Any = self.network
        return decode(network, sources, options.method(), longest, prefixes, batch, numbers, each=self.workers.map)

    def _limited(self, longest: int) -> int:
        """Limit the length to the learned positions, of which the start token takes one."""
        limit = self.network.maximum_length
        return longest if limit is None else max(1, min(longest, limit - 1))

    def _alternative(self, segment: Segment, hypothesis: Hypothesis, fixed: int) -> Alternative:
        """Return the text of a hypothesis with its protected spans restored; the first `fixed` characters stay."""
        text = collapsed(self.target_tokenizer.decode([hypothesis.labels])[0])
        if self._protect:
            source = spaced(segment.masked.text)
            judge = Judge(lambda texts: self._scorer.likelihoods(source, texts), self._scorer.word_likelihoods)
            text = put_back(restored(text, segment.masked, judge, fixed), segment.masked)
        tokens = len(hypothesis.labels) + hypothesis.finished
        return Alternative(text, hypothesis.log_probability / max(1, tokens), tokens)

    # Explaining

    @property
    def scorer(self) -> Scorer:
        """Asks the network about translations that are already there."""
        return self._scorer

    @takes_pairs
    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Compute log p(target | source) of given translations, end token included."""
        return self._scorer.score(pairs)

    def align(
        self, source: str, reference: str | None = None, attention: Callable[[Batch], Array] | None = None
    ) -> Alignment:
        """Return the attention from a translation (by default its own) to the source: last decoder, mean of heads.

        attention  computes other weights of a batch of one pair than `network.alignment`
        """
        text = self.translations([source])[0].text if reference is None else reference
        return self._scorer.align(source, text, attention)

    @takes_texts
    def features(self, texts: Sequence[str]) -> list[TextFeatures]:
        """Contextual vectors of the words of each source text, and of the whole text: the last encoder's rows."""
        read = []
        for text in texts:
            masked = mask(text) if self._protect else Masked(text, ())
            spans = {ord(standin): span for standin, span in zip(STANDINS, masked.spans, strict=False)}
            words = self.source_tokenizer.words(spaced(masked.text))
            read.append([(word.translate(spans), labels) for word, labels in words])
        return encode_features(self.network, read, self._segments.longest, (START, END))

    # Testing analysis

    def evaluate(
        self,
        pairs: Sequence[Pair],
        options: DecodingOptions | None = None,
        tell: Callable[[int], None] = lambda done: None,
        ranks: Ranks = ALONE,
    ) -> TestingAnalysis:
        """Run the testing analysis (thesis 6.2) of these pairs; see `sentences`."""
        from dragoman.analysis.testing import testing_analysis

        return testing_analysis(self.sentences(pairs, options, tell, ranks))

    def sentences(
        self,
        pairs: Sequence[Pair],
        options: DecodingOptions | None = None,
        tell: Callable[[int], None] = lambda done: None,
        ranks: Ranks = ALONE,
    ) -> list[Sentence]:
        """Compute error and hits of each pair under teacher forcing, and its translation.

        tell   is called with the number of pairs done
        ranks  that share the work: all of them must call this, and all get all sentences
        """
        from dragoman.analysis.testing import Sentence

        def measured(chunk: list[Pair]) -> list[tuple[str, float, float, float]]:
            written = self.translations([source for source, _ in chunk], options)
            batches = list(self._scorer.batches(chunk))
            rows = [row for rows in self.workers.map(self._scorer.errors, batches) for row in rows]
            return [(translation.text, *row) for translation, row in zip(written, rows, strict=True)]

        self._scorer.check_lengths(pairs)
        found: list[Sentence] = []
        size = 8 * BATCH * ranks.size
        with fast_compute():
            for start in range(0, len(pairs), size):
                chunk = pairs[start : start + size]
                rows = ranks.spread(measured, chunk)
                found += [Sentence(source, target, *row) for (source, target), row in zip(chunk, rows, strict=True)]
                tell(len(found))
        return found
