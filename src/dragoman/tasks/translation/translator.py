"""Translator: text in, text out."""

from __future__ import annotations

import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from dragoman.tasks.inputs import check_pair, listed, takes_pairs, takes_texts
from dragoman.tasks.trained_model import TrainedModel
from dragoman.tasks.translation.languages import LANGUAGES
from dragoman.tasks.translation.lengths import JUDGED
from dragoman.tasks.translation.options import WIDEST, DecodingOptions
from dragoman.tasks.translation.results import Alignment, Alternative, Translation, foreign, together
from dragoman.tasks.translation.scoring import BATCH, Scorer
from dragoman.tasks.translation.settings import TranslatorMetadata
from dragoman.text.language_id import LanguageProfile, looks_foreign, profiles_from_json
from dragoman.text.protection import EVERY_STANDIN, STANDINS, Masked, mask, spaced
from dragoman.text.scripts import Alphabet
from dragoman.text.sentences import collapsed
from dragoman.text.spacing import put_back
from dragoman.text.spans import Asking, Pair, all_of, restoring
from dragoman.text.units import Passage, Segmenter, Unit
from dragoman.training.workers import Workers, threads_per_rank
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.analysis.testing import Sentence, TestingAnalysis

__all__ = ["WIDEST", "Alignment", "Alternative", "DecodingOptions", "Translation", "Translator"]

SHORTEST = 16  # tokens that are translated at once even by a model trained on shorter sentences
TOGETHER = 8 * BATCH  # units that are searched for in one slice of work
HYPOTHESES = 1024  # per thread at a time: a wide beam has fewer sentences

Finished = list[tuple[int, list[Alternative]]]  # units by their number, with their translations


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
        self._segmenter = Segmenter(
            lambda text: self.source_tokenizer.encode([text])[0],
            longest if limit is None else min(longest, limit),
            self._protect,
            metadata.samples.sentences,
            metadata.samples.tokens,
        )
        self._scorer = Scorer(network, tokenizers, self._protect)

    # Text in, text out

    @takes_texts
    def translate(self, texts: Sequence[str], /, **options: Any) -> list[str]:
        """Translate each text; see `DecodingOptions` for the options (beam=4, sample=True, ...).

        A text may have many sentences, paragraphs and lists: white space and marks stay as they are. form="html" is for
        HTML. A DragomanWarning reports texts in another script or language than the training data's, and translations
        that are much shorter than their source.
        """
        form = options.pop("form", "text")
        found = self.translations(texts, DecodingOptions(**{"scored": False, **options}), form=form)
        reasons = Counter(reason for translation in found for reason in translation.warnings)
        for reason, count in reasons.items():
            warnings.warn(f"{count:,} of {counted(len(found), 'text')}: {reason}", DragomanWarning, stacklevel=3)
        return [translation.text for translation in found]

    @takes_texts
    def translations(
        self,
        texts: Sequence[str],
        options: DecodingOptions | None = None,
        prefixes: Sequence[str] | None = None,
        form: str = "text",
    ) -> list[Translation]:
        """Translate with alternatives and scores.

        prefixes  how the translation of each text must begin
        form      text, or html, whose markup is kept
        """
        options = options or DecodingOptions()
        starts = [""] * len(texts) if prefixes is None else prefixes
        if len(starts) != len(texts):
            raise ConfigurationError(f"give one prefix per text, not {len(starts):,} for {counted(len(texts), 'text')}")
        passages = [self.take_apart(text, form, start) for text, start in zip(texts, starts, strict=True)]
        units = [list(passage.units()) for passage in passages]
        found = iter(self.run([unit for some in units for unit in some], options))
        return [
            self.join(passage, [next(found) for _ in some], options)
            for passage, some in zip(passages, units, strict=True)
        ]

    # The three steps of it: a server runs the units of several requests together

    def take_apart(self, text: str, form: str = "text", prefix: str = "") -> Passage:
        """Find the units of a text; `prefix`: how its translation must begin."""
        return self._segmenter.take_apart(text, form, prefix)

    def run(self, units: Sequence[Unit], options: DecodingOptions) -> list[list[Alternative]]:
        """Search for translations of each unit, best first."""
        found = dict(result for slice in self.running(units, options) for result in slice)
        return [found[i] for i in range(len(units))]

    def running(self, units: Sequence[Unit], options: DecodingOptions) -> Iterator[Finished]:
        """The same in slices of work, between which others can be done or the rest given up.

        After each slice come the units that are finished, by their number, with their translations.
        """
        if kept := [(i, [Alternative(unit.kept, 0.0)]) for i, unit in enumerate(units) if unit.kept is not None]:
            yield kept
        read = [(i, unit) for i, unit in enumerate(units) if unit.kept is None]
        for start in range(0, len(read), TOGETHER):
            yield from self._translated(read[start : start + TOGETHER], options)

    def join(self, passage: Passage, found: Sequence[Sequence[Alternative]], options: DecodingOptions) -> Translation:
        """Put a text together again; its n-th alternative has the n-th best translation of each unit."""
        ranks = min(options.alternatives, max(map(len, found), default=1))
        ranked = [[some[min(rank, len(some) - 1)] for some in found] for rank in range(max(1, ranks))]
        whole = [together(passage.join([unit.text for unit in chosen]), chosen) for chosen in ranked]
        units = list(passage.units())
        different: dict[str, Alternative] = {}
        for alternative in whole:
            different.setdefault(alternative.text, alternative)
        unseen = self.alphabet.unseen_script("".join(unit.masked.text for unit in units))
        return Translation(
            tuple(different.values()),
            tuple((unit.text, best.text) for unit, best in zip(units, ranked[0], strict=True)),
            unseen,
            passage.cut,
            sum(self._is_short(unit, best) for unit, best in zip(units, ranked[0], strict=True)),
            self._foreign(units) if unseen is None else None,
        )

    def _foreign(self, units: Sequence[Unit]) -> str | None:
        """What is said of a text that is not in the language of the model."""
        if self.metadata.languages is None:
            return None
        language = self.metadata.languages[0]
        is_foreign, other = looks_foreign(" ".join(unit.masked.text for unit in units), language, self.profiles)
        return foreign(language, other) if is_foreign else None

    @cached_property
    def alphabet(self) -> Alphabet:
        """The letters and scripts of the training data."""
        return Alphabet.of(self.source_tokenizer.learned_pieces())

    @cached_property
    def profiles(self) -> dict[str, LanguageProfile]:
        """By code, what tells texts of its languages apart; none of a model that does not know what they are called."""
        found = self.files.get(LANGUAGES)
        return {} if found is None else profiles_from_json(found)

    def _is_short(self, unit: Unit, best: Alternative) -> bool:
        """Whether a translation lacks so much of what its source has that hardly any training pair is like it."""
        return len(unit.labels) >= JUDGED and 0 < best.tokens < self.metadata.samples.ratio * len(unit.labels)

    def _translated(self, numbered: Sequence[tuple[int, Unit]], options: DecodingOptions) -> Iterator[Finished]:
        """Units that the network reads: first a search, then rounds in which protected spans are restored."""
        units = [unit for _, unit in numbered]
        sources = [add_marks(unit.labels, None)[0] for unit in units]
        longest = [self._limited(options.longest(source)) for source in sources]
        prefixes = self.target_tokenizer.encode([unit.prefix for unit in units])
        found = self._search(sources, options, longest, prefixes if any(map(len, prefixes)) else None)
        fixed = [len(text) for text in self.target_tokenizer.decode(prefixes)]
        work = [self._restored(unit, some, kept) for unit, some, kept in zip(units, found, fixed, strict=True)]
        again: list[int] = []
        for finished in self._scorer.answer(work, self.workers):
            different = [(i, _different(texts, found[i])) for i, texts in finished]
            short = {i for i, some in different if len(some) < len(found[i]) == options.alternatives < options.beam}
            again += short
            yield [(numbered[i][0], some) for i, some in different if i not in short]
        if again:  # two hypotheses were the same text: there may be others further down
            more = replace(options, alternatives=options.beam)
            for later in self._translated([numbered[i] for i in sorted(again)], more):
                yield [(number, some[: options.alternatives]) for number, some in later]

    def _restored(self, unit: Unit, hypotheses: Sequence[Hypothesis], fixed: int) -> Asking[list[str]]:
        """The texts of some hypotheses with the protected spans of their source; the first `fixed` characters stay."""
        texts = [collapsed(text) for text in self.target_tokenizer.decode(each.labels for each in hypotheses)]
        if self._protect:
            texts = yield from all_of([restoring(text, unit.small or unit.masked, fixed) for text in texts])
        if unit.small is not None:
            texts = [text.upper() for text in texts]
        return [put_back(text, unit.masked) for text in texts] if self._protect else texts

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
        return encode_features(self.network, read, self._segmenter.longest, (START, END))

    # Testing analysis

    def evaluate(
        self,
        pairs: Iterable[Pair],
        options: DecodingOptions | None = None,
        tell: Callable[[int], None] = lambda done: None,
        ranks: Ranks = ALONE,
    ) -> TestingAnalysis:
        """Run the testing analysis (thesis 6.2) of these pairs; see `sentences`."""
        from dragoman.analysis.testing import testing_analysis

        return testing_analysis(self.sentences(listed(pairs, check_pair), options, tell, ranks))

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
            return [(translation.text.strip(), *row) for translation, row in zip(written, rows, strict=True)]

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


def _different(texts: Sequence[str], hypotheses: Sequence[Hypothesis]) -> list[Alternative]:
    """The hypotheses as alternatives, best first; of those with the same text the first."""
    found: dict[str, Alternative] = {}
    for text, hypothesis in zip(texts, hypotheses, strict=True):
        tokens = len(hypothesis.labels) + hypothesis.finished
        found.setdefault(text, Alternative(text, hypothesis.log_probability / max(1, tokens), tokens))
    return list(found.values())
