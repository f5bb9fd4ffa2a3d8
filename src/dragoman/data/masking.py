"""Prepare the pairs of a corpus for encoding: mask protected spans and augment training pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dragoman.data.augmentation import Augmentation, Pair, sampled, share_of, spaced_pair
from dragoman.data.stores import TextStore
from dragoman.data.tokenizer import Tokenizer
from dragoman.graph import Array
from dragoman.text.protection import mask_pair


def masked_pairs(sources: TextStore, references: TextStore, training: Array) -> Iterator[Pair]:
    """Yield all pairs masked; only training pairs (`training` [n]) are augmented, so that scores stay comparable."""
    chosen = np.flatnonzero(training)
    known = zip(*(store.texts(sampled(chosen)) for store in (sources, references)), strict=True)
    augment = learn_augmentation(known, len(chosen))
    both = (store.texts(range(len(training))) for store in (sources, references))
    for trained, source, reference in zip(training, *both, strict=True):
        yield augment(source, reference) if trained else plainly_masked(source, reference)


def learn_augmentation(known: Iterable[Pair], pairs: int) -> Augmentation:
    """How to augment so many training pairs, learnt from some of them (`augmentation.sampled`)."""
    return Augmentation([mask_pair(*pair) for pair in known], share_of(pairs))


def plainly_masked(source: str, reference: str) -> Pair:
    """A pair masked without augmentation."""
    return spaced_pair(mask_pair(source, reference))


def fitting_pairs(
    whole: Iterable[Pair], masked: Iterable[Pair], tokenizers: tuple[Tokenizer, Tokenizer], limits: tuple[int, int]
) -> Iterator[Pair]:
    """Yield the masked pairs; those longer than the limits, in labels, without their augmentation."""
    for pair, shown in zip(whole, masked, strict=True):
        labels = [tokenizer.encode([text])[0] for tokenizer, text in zip(tokenizers, shown, strict=True)]
        fits = all(len(each) + 2 <= limit for each, limit in zip(labels, limits, strict=True))
        yield shown if fits else plainly_masked(*pair)
