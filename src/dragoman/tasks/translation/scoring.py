"""Given translations under teacher forcing: their log-probabilities, errors and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
from dragoman.text.spans import Asking, Pair, Rounds
from dragoman.training.workers import Workers

BATCH = 64
CHARACTERS = 16_000  # of a batch of candidates: long ones make a batch of fewer
NOTHING = np.zeros(0, np.int32)
T = TypeVar("T")


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

    def answer(self, work: Sequence[Asking[T]], workers: Workers) -> Iterator[list[tuple[int, T]]]:
        """Answer what some work asks, all together; after each slice of it, which is finished, with what it found."""
        rounds = Rounds(work)
        yield rounds.finished
        while rounds.asked:
            batches, judged = list(batches_of(rounds.asked)), list[Array]()
            for start in range(0, len(batches), workers.threads):
                if start:
                    yield []
                for words in workers.map(self.likelihoods, batches[start : start + workers.threads]):
                    judged += words
            rounds.answer(judged)
            yield rounds.finished

    def likelihoods(self, pairs: Sequence[Pair]) -> list[Array]:
        """[words + 1] log p of each word (between spaces) of each translation, and of its end."""
        limit = self.network.maximum_length
        sources = self._labels(0, (source for source, _ in pairs))
        words = self._labels(1, (word for _, target in pairs for word in target.split()))
        read = [add_marks(sources[source], limit)[0] for source, _ in pairs]
        wrote = [[NOTHING, *(words[word] for word in target.split())] for _, target in pairs]
        whole = [add_marks(np.concatenate(labels), None)[0] for labels in wrote]
        batch = Batch.pairs(read, whole if limit is None else [labels[: limit + 1] for labels in whole])
        with fast_compute():
            found = np.split(log_probabilities(self.network, batch), batch.offsets[1:-1])
        return [_by_word(each, [len(word) for word in some]) for each, some in zip(found, wrote, strict=True)]

    def _labels(self, side: int, texts: Iterable[str]) -> dict[str, Array]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self.tokenizers[side].encode(unique), strict=True))

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


def batches_of(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """The pairs in order, in batches that a network can judge at once."""
    batch: list[Pair] = []
    size = 0
    for pair in pairs:
        length = len(pair[0]) + len(pair[1])
        if batch and (len(batch) == BATCH or size + length > CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(pair)
        size += length
    if batch:
        yield batch


def _by_word(each: Array, lengths: Sequence[int]) -> Array:
    """Sum what stands for the tokens of a translation by its words; what is left is for its end."""
    sums = np.concatenate(([0.0], np.cumsum(each, dtype=np.float64)))
    stops = np.minimum(np.cumsum(lengths), len(each))  # of a translation that was cut, some words have no tokens
    return np.diff(np.append(sums[stops], sums[-1]))
