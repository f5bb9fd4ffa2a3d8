"""Detect texts in a script that a vocabulary was not trained on.

For such a text a network still writes fluent sentences, but they have nothing to do with it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

SEEN = 0.02  # a script with a smaller share of the vocabulary's letters came from stray words
MOSTLY = 0.5  # a text is in another script if the vocabulary lacks this share of its letters ...
NEARLY_ALL = 0.9  # ... or this share where they are of its main script: small vocabularies lack some capitals
# Words that follow the name of the script in a character name: OLD PERSIAN SIGN A, ETHIOPIC SYLLABLE HA.
_AFTER = frozenset(
    {
        "LETTER",
        "SYLLABLE",
        "SYLLABICS",
        "SMALL",
        "CAPITAL",
        "UNIFIED",
        "COMPATIBILITY",
        "IDEOGRAPH",
        "VOWEL",
        "CONSONANT",
        "INDEPENDENT",
        "CHARACTER",
        "SIGN",
        "LIGATURE",
        "HIEROGLYPH",
        "FINAL",
        "SUBJOINED",
        "TONE",
        "ITERATION",
        "DIGRAPH",
    }
)
_WIDTHS = ("FULLWIDTH ", "HALFWIDTH ")
# Letters that belong to no script, such as signs.
_NO_SCRIPT = frozenset(
    {
        "MODIFIER",
        "MATHEMATICAL",
        "MICRO",
        "FEMININE",
        "MASCULINE",
        "OHM",
        "KELVIN",
        "ANGSTROM",
        "EULER",
        "ALEF",
        "BET",
        "GIMEL",
        "DALET",
        "DOUBLE-STRUCK",
        "BLACK-LETTER",
        "SCRIPT",
        "TURNED",
        "PLANCK",
        "CIRCLED",
        "PARENTHESIZED",
        "SQUARED",
        "NEGATIVE",
    }
)


@lru_cache(maxsize=1 << 14)
def script_of(character: str) -> str | None:
    """Return the script of a letter, such as 'Latin' or 'Cyrillic'; None for other characters."""
    if not character.isalpha():
        return None
    name = unicodedata.name(character, "")
    for width in _WIDTHS:
        name = name.removeprefix(width)
    words = name.split()
    if "LATIN" in words:
        return "Latin"
    if not words or words[0] in _NO_SCRIPT:
        return None
    if words[0] == "CJK":
        return "Han"
    end = next((i for i, word in enumerate(words) if i and word in _AFTER), 1)
    return " ".join(words[:end]).title()


@dataclass(frozen=True)
class Alphabet:
    """The scripts of a vocabulary, its main script, and its letters."""

    scripts: Set[str]
    main: str
    letters: Set[str]

    @classmethod
    def of(cls, pieces: Iterable[str]) -> Alphabet:
        """Make the alphabet of a vocabulary's pieces, without scripts that have few of their letters."""
        letters = Counter(character for piece in pieces for character in piece if script_of(character))
        counts: Counter[str] = Counter()
        for letter, count in letters.items():
            counts[script_of(letter) or ""] += count
        scripts = frozenset(script for script, count in counts.items() if count >= SEEN * counts.total())
        main = max(counts, key=lambda script: (counts[script], script), default="")
        return cls(scripts, main, frozenset(letter for letter in letters if script_of(letter) in scripts))

    def unseen_script(self, text: str) -> str | None:
        """Return the script of a text if the vocabulary lacks most of its letters, else None."""
        text = unicodedata.normalize("NFC", text)
        lacking = {letter for letter in set(text) - self.letters if script_of(letter)}
        if not lacking:
            return None
        counts = Counter(script_of(letter) or "" for letter in text if letter in lacking)
        letters = sum(script_of(letter) is not None for letter in text)
        if counts.total() - counts[self.main] < MOSTLY * letters and counts.total() < NEARLY_ALL * letters:
            return None
        return max(counts, key=lambda script: (counts[script], script))
