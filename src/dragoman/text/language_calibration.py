"""Make the profiles of languages, and measure on other text of the corpus what their predictions are worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from dragoman.graph import Array
from dragoman.text.language_id import KNOWN, LanguageProfile, count_words, evidence, spelled

HELD_OUT = 300  # sentences of each language that are judged
FEWEST = 20  # sentences below which nothing is measured and the defaults stay
WORDS = (1, 2, 3, 5)  # lengths of the fragments they are cut into, besides whole sentences
TEMPERATURES = tuple(round(1.15**power, 3) for power in range(-2, 22))  # 0.76 to 19
OTHERS = 1 / 9  # weight of all texts in none of the languages, beside those in one
RIDGE = 1e-3
FREQUENT = 100  # words that nobody does without ...
GAP = 2  # ... and of the others, every so many is left out where certainty is measured
STEPS = 30  # of Newton's method
SMALL = 1e-6

Fragment = list[str]


def learn_profiles(
    training: Mapping[str, Iterable[str]], held_out: Mapping[str, Iterable[str]]
) -> dict[str, LanguageProfile]:
    """The profile of each language from its training text, calibrated on held-out text."""
    words = {language: count_words(texts) for language, texts in training.items()}
    profiles = {language: LanguageProfile.learn(counts) for language, counts in words.items()}
    sentences = {
        language: [sentence for text in islice(texts, HELD_OUT) if (sentence := spelled(text))]
        for language, texts in held_out.items()
    }
    if any(len(sentences.get(language, ())) < FEWEST for language in profiles):
        return profiles
    cut = {language: list(_fragments(sentences[language])) for language in profiles}
    judged = {language: LanguageProfile.learn(_with_gaps(counts)) for language, counts in words.items()}
    temperature = _temperature(judged, cut) if len(profiles) > 1 else LanguageProfile({}).temperature
    return {
        language: replace(profile, temperature=temperature, familiar=_familiar(language, judged[language], cut))
        for language, profile in profiles.items()
    }


def _with_gaps(words: Mapping[str, int]) -> dict[str, int]:
    """Leave some words out: users write words that are not in the corpus, and its own parts may hold none such."""
    ranked = sorted(words, key=lambda word: (-words[word], word))
    return {word: words[word] for rank, word in enumerate(ranked) if rank < FREQUENT or rank % GAP}


def _fragments(sentences: Iterable[list[str]]) -> Iterator[Fragment]:
    """Each sentence whole, and a piece of each length at a place that moves on from sentence to sentence."""
    for number, words in enumerate(sentences):
        yield words
        for size in WORDS:
            if len(words) > size:
                start = number % (len(words) - size + 1)
                yield words[start : start + size]


def _temperature(profiles: Mapping[str, LanguageProfile], cut: Mapping[str, Sequence[Fragment]]) -> float:
    """The temperature at which the right languages are most probable."""
    rows, right = [], []
    for number, language in enumerate(profiles):
        for fragment in cut[language]:
            rows.append([profile.log_likelihood(fragment) for profile in profiles.values()])
            right.append(number)
    likelihoods, true = np.array(rows), np.array(right)

    def surprise(temperature: float) -> float:
        z = likelihoods / temperature
        z -= z.max(axis=1, keepdims=True)
        return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(true)), true]).mean())

    return min(TEMPERATURES, key=surprise)


def _familiar(language: str, profile: LanguageProfile, cut: Mapping[str, Sequence[Fragment]]) -> tuple[float, float]:
    """(a, b) that tell text of the language from other text: that of the other languages, and its own words reversed.

    Reversed words stand for unknown languages: the same letters, in an order that is strange to it.
    """
    own = list(cut[language])
    others = [[word[::-1] for word in fragment] for fragment in own]
    others += [fragment for other, fragments in cut.items() if other != language for fragment in fragments]
    x = np.array([evidence(profile.log_likelihood(words), words) for words in [*own, *others]])
    y = np.repeat([1.0, 0.0], [len(own), len(others)])
    weights = np.where(y == 1, 1 / len(own), OTHERS / len(others))
    a, b = _logistic_regression(x, y, weights)
    return round(float(a), 4), round(float(b), 4)


def _logistic_regression(x: Array, y: Array, weights: Array) -> Array:
    """Newton's method for log-odds x w + log 9, drawn a little towards the defaults; steps too far are halved."""
    w = before = np.array(LanguageProfile({}).familiar)

    def loss(w: Array) -> float:
        signed = np.where(y == 1, 1, -1) * (x @ w + KNOWN)
        return float(weights @ np.logaddexp(0, -signed) + RIDGE / 2 * ((w - before) ** 2).sum())

    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ w + KNOWN, -50, 50)))
        gradient = x.T @ (weights * (p - y)) + RIDGE * (w - before)
        hessian = (x.T * (weights * p * (1 - p))) @ x + RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        while np.abs(step).max() > SMALL and loss(w - step) > loss(w):
            step = step / 2
        w = w - step
    return w
