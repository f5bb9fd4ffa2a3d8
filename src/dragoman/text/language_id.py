"""Identify the language of a text among some languages, by what their training text taught.

A profile counts character n-grams of the words of one language, and so predicts each letter from up to three before it.
A text is in the language that predicts its letters best. How certain that is was measured on other text of the same
corpus (text/language_calibration.py): log-likelihoods are divided by a temperature before languages are compared, and
two more numbers say whether a text looks like its best language at all. A text in none of the languages therefore has a
low confidence in each.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dragoman.errors import FileFormatError

ORDER = 4  # letters of the longest n-gram
MOST = 20_000  # n-grams of a profile
CHARACTERS = 500_000  # of training text that are counted
READ = 10_000  # characters of a text that are looked at
JUDGED = 600  # letters of it that decide; more only cost time
DISCOUNT = 0.75  # subtracted from every count, for n-grams that were not seen
LEAST = 1e-6  # probability of a letter that was never seen
TELLING = 50  # letters after which a text does not look more like a language, or less
KNOWN = math.log(9)  # log-odds that a text is in one of the languages, before it is read

# A text looks foreign from so many letters on: in another known language, or in none of them, which names and
# addresses look like too. Of 2,639 English texts of manuals, none is said to be in Spanish, and 8 in neither.
OF_ANOTHER, OF_NONE = 20, 40
FOREIGN = 0.02  # probability of its language

_NO_WORDS = re.compile(r"<[^<>]*>|&\w+;|[%$]?\{[^{}]*\}|%\w")  # tags, entities and placeholders
_IN_ADDRESSES = ("://", "www.", "@")


class _Letters(dict[int, str]):
    """For `str.translate`: letters and the marks of vowels as they are, everything else a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = character.isalpha() or unicodedata.category(character) in ("Mn", "Mc")
        self[code] = character if kept else " "
        return self[code]


_LETTERS = _Letters()


def spelled(text: str) -> list[str]:
    """The words of a text in lower case, letters only; addresses and markup are not words."""
    text = _NO_WORDS.sub(" ", text)
    if any(mark in text for mark in _IN_ADDRESSES):
        text = " ".join(word for word in text.split() if not any(mark in word for mark in _IN_ADDRESSES))
    return unicodedata.normalize("NFC", text).lower().translate(_LETTERS).split()


def evidence(log_likelihood: float, words: Iterable[str]) -> tuple[float, float]:
    """The log-likelihood of some words and the number of their letters, as of a text of at most 50 letters.

    A long text on another subject than the training text is strange in each letter, and still in its language.
    """
    letters = sum(len(word) + 1 for word in words)
    weight = min(1.0, TELLING / letters)
    return weight * log_likelihood, weight * letters


@dataclass(frozen=True)
class LanguageProfile:
    """How often the n-grams of a language occur, and what its predictions are worth.

    counts       the most frequent n-grams of 1 to 4 letters; a space is the edge of a word
    temperature  log-likelihoods are divided by it before languages are compared
    familiar     (a, b): a text of log-likelihood l and n letters (`evidence`) is in this language, or in one that looks
                 like it, with log-odds a l + b n + log 9
    """

    counts: Mapping[str, int]
    temperature: float = 2.0
    familiar: tuple[float, float] = (0.3, 0.9)

    @classmethod
    def learn(cls, words: Mapping[str, int]) -> LanguageProfile:
        """Count the n-grams of words that occur so many times."""
        counts: Counter[str] = Counter()
        for word, times in words.items():
            edged = f" {word} "
            for size in range(1, ORDER + 1):
                for start in range(size == 1, len(edged) - size + 1):  # the edge before a word is given, not predicted
                    counts[edged[start : start + size]] += times
        ranked = sorted(counts, key=lambda ngram: (-counts[ngram], len(ngram), ngram))
        return cls({ngram: counts[ngram] for ngram in ranked[:MOST]})

    @cached_property
    def _shares(self) -> tuple[dict[str, float], dict[str, float]]:
        """By n-gram, its share among those with the same beginning; by beginning, what all their shares leave.

        That goes to the shorter n-gram, so the probabilities of all letters add up to 1.
        """
        letters = sum(count for ngram, count in self.counts.items() if len(ngram) == 1)
        shares: dict[str, float] = {}
        left: dict[str, float] = {}
        for ngram, count in self.counts.items():
            beginning = ngram[:-1]
            total = self.counts.get(beginning, count) if beginning else letters
            shares[ngram] = max(count - DISCOUNT, 0.0) / max(total, 1)
            left[beginning] = left.get(beginning, 1.0) - shares[ngram]
        return shares, left

    def log_likelihood(self, words: Iterable[str]) -> float:
        """log p of the letters of some words, each given up to three before it; the ends of words count as letters."""
        shares, left = self._shares
        total = 0.0
        for word in words:
            edged = f" {word} "
            for end in range(2, len(edged) + 1):
                probability = 0.0
                for start in range(end - 1, max(end - ORDER, 0) - 1, -1):
                    ngram = edged[start:end]
                    probability = shares.get(ngram, 0.0) + left.get(ngram[:-1], 1.0) * probability
                total += math.log(max(probability, LEAST))
        return total

    def as_dict(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "familiar": list(self.familiar), "counts": dict(self.counts)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> LanguageProfile:
        a, b = (float(number) for number in found["familiar"])
        counts = {str(ngram): int(count) for ngram, count in found["counts"].items()}
        temperature = float(found["temperature"])
        if not all(map(math.isfinite, (a, b, temperature))) or temperature <= 0 or not all(counts):
            raise ValueError("a number is not finite, or an n-gram is empty")
        return cls(counts, temperature, (a, b))


def count_words(texts: Iterable[str], characters: int = CHARACTERS) -> Counter[str]:
    """How often each word occurs in the first so many characters of some texts."""
    words: Counter[str] = Counter()
    for text in texts:
        if characters <= 0:
            break
        words.update(spelled(text[:characters]))
        characters -= len(text)
    return words


def identify(text: str, profiles: Mapping[str, LanguageProfile]) -> list[tuple[str, float]]:
    """The languages that a text may be in, best first, each with its probability.

    They add up to less than 1: the rest is the probability that the text is in none of them.
    """
    words, letters = [], 0
    for word in spelled(text[:READ]):
        words.append(word[: JUDGED - letters])
        letters += len(word)
        if letters >= JUDGED:
            break
    if not words:
        return [(language, 0.0) for language in profiles]
    return weighed({language: profile.log_likelihood(words) for language, profile in profiles.items()}, words, profiles)


def looks_foreign(text: str, language: str, profiles: Mapping[str, LanguageProfile]) -> tuple[bool, str | None]:
    """Whether a text is hardly in this language, and in which of the others it is; never said of a short text."""
    letters = sum(map(len, spelled(text[:READ])))
    if letters < OF_ANOTHER or language not in profiles:
        return False, None
    found = dict(identify(text, profiles))
    other = max(found, key=lambda code: found[code])
    if found[language] >= FOREIGN:
        return False, None
    return (True, other) if found[other] > 0.5 else (letters >= OF_NONE, None)


def weighed(
    likelihoods: Mapping[str, float], words: list[str], profiles: Mapping[str, LanguageProfile]
) -> list[tuple[str, float]]:
    """The languages by their log-likelihoods, best first, each with its probability."""
    ranked = sorted(likelihoods, key=lambda language: -likelihoods[language])
    if not ranked:
        return []
    best = ranked[0]
    temperature = sum(profiles[language].temperature for language in ranked) / len(ranked)
    weights = [math.exp((likelihoods[language] - likelihoods[best]) / temperature) for language in ranked]
    (a, b), (likelihood, letters) = profiles[best].familiar, evidence(likelihoods[best], words)
    known = _logistic(a * likelihood + b * letters + KNOWN)
    return [(language, known * weight / sum(weights)) for language, weight in zip(ranked, weights, strict=True)]


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def profiles_to_json(profiles: Mapping[str, LanguageProfile]) -> str:
    """The text of a model's languages.json."""
    return json.dumps({language: profile.as_dict() for language, profile in profiles.items()}, ensure_ascii=False)


def profiles_from_json(text: str) -> dict[str, LanguageProfile]:
    try:
        return {str(language): LanguageProfile.from_dict(found) for language, found in json.loads(text).items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"the profiles of languages cannot be read: {error}") from None
