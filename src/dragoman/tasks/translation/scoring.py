"""Given translations under teacher forcing: their log-probabilities, errors and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.batch import Batch
from dragoman.data.augmentation import spaced_pair
from dragoman.data.pair_encoding import LONGEST, add_marks
from dragoman.data.tokenizer import Tokenizer
from dragoman.decoding import log_probabilities, score
from dragoman.decoding.probabilities import log_normalizer
from dragoman.engines.compute import fast_compute
from dragoman.errors import DataError
from dragoman.graph import Array, value_of
from dragoman.networks import SequenceModel
from dragoman.tasks.translation.results import Alignment
from dragoman.text.protection import mask_pair, masked_pair, protected_spans

BATCH = 64
Pair = tuple[str, str]


@dataclass(eq=False)
class Scorer:
    """Asks a network about translations that are already there.

    protect  mask protected spans by stand-ins
    """

    network: SequenceModel
    tokenizers: tuple[Tokenizer, Tokenizer]
    protect: bool

    def batches(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        """The pairs as the network reads them, in order."""
        for start in range(0, len(pairs), BATCH):
            chunk = pairs[start : start + BATCH]
            masked = [spaced_pair(mask_pair(*pair)) for pair in chunk] if self.protect else chunk
            sides = [
                [add_marks(labels, None)[0] for labels in tokenizer.encode([pair[side] for pair in masked])]
                for side, tokenizer in enumerate(self.tokenizers)
            ]
            yield Batch.pairs(*sides)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """log p(target | source) of each pair, end token included."""
        return [value for batch in self.batches(pairs) for value in score(self.network, batch).tolist()]

    def errors(self, batch: Batch) -> list[tuple[float, float, float]]:
        """(summed error, tokens predicted right, tokens) of each sentence."""
        logits, targets = value_of(self.network.plain(batch)), batch.targets
        errors = log_normalizer(logits) - logits[np.arange(len(logits)), targets]
        sentence = np.repeat(np.arange(len(batch)), batch.lengths)
        each = (errors, logits.argmax(axis=1) == targets, np.ones(len(sentence)))
        sums = [np.bincount(sentence, values, len(batch)) for values in each]
        return [(float(error), float(right), float(count)) for error, right, count in zip(*sums, strict=True)]

    def likelihoods(self, source: str, texts: Sequence[str]) -> list[float]:
        """log p of some translations of a source."""
        return [float(each.sum()) for each in self._likelihoods(source, self.tokenizers[1].encode(texts))]

    def word_likelihoods(self, source: str, text: str) -> list[float]:
        """log p of each word of a translation."""
        words = self.tokenizers[1].encode(text.split())
        (each,) = self._likelihoods(source, [np.concatenate(words)])
        stops = np.cumsum([len(labels) for labels in words])
        return [float(each[stop - len(labels) : stop].sum()) for labels, stop in zip(words, stops, strict=True)]

    def _likelihoods(self, source: str, targets: Sequence[Array]) -> list[Array]:
        """log p of each token of some translations of a source, the end token included."""
        limit, found = self.network.maximum_length, list[Array]()
        read = add_marks(self.tokenizers[0].encode([source])[0], limit)[0]
        with fast_compute():
            for start in range(0, len(targets), BATCH):
                some = [add_marks(labels, None)[0] for labels in targets[start : start + BATCH]]
                batch = Batch.pairs([read] * len(some), [each if limit is None else each[: limit + 1] for each in some])
                found += np.split(log_probabilities(self.network, batch), batch.offsets[1:-1])
        return found

    def align(self, source: str, target: str, attention: Callable[[Batch], Array] | None = None) -> Alignment:
        """The attention from a translation to its source: the last decoder layer, mean of all heads, or another one."""
        standins: dict[str, str] = {}
        if self.protect:
            source, target, standins = masked_pair(source, target, 0.0, protected_spans)
            source, target = spaced_pair((source, target))
        limit = self.network.maximum_length
        labels, whole = (
            add_marks(tokenizer.encode([text])[0], limit)[0]
            for tokenizer, text in zip(self.tokenizers, (source, target), strict=True)
        )
        weights = (attention or self.network.alignment)(Batch.pairs([labels], [whole]))[0]
        spans = {ord(standin): span for span, standin in standins.items()}
        pieces = (self.tokenizers[0].pieces(labels), self.tokenizers[1].pieces(whole[1:]))
        read, wrote = ([piece.translate(spans) for piece in side] for side in pieces)
        return Alignment(read, wrote, weights)

    def check_lengths(self, pairs: Sequence[Pair]) -> None:
        """Under teacher forcing a pair goes through the network whole; one that is too long would fill the memory."""
        for number, pair in enumerate(pairs, start=1):
            for text, tokenizer in zip(pair, self.tokenizers, strict=True):
                if 4 * len(text) <= LONGEST:  # four bytes are the most that a character is spelled in
                    continue
                tokens = len(tokenizer.encode([text])[0]) + 2
                if tokens > LONGEST:
                    raise DataError(
                        f"pair {number:,} has a side of {tokens:,} tokens, more than the {LONGEST:,} that can be "
                        f"evaluated: {text[:40]}...; cut it into sentences"
                    )
