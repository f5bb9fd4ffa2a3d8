"""Scripts of letters: which of them a vocabulary was learnt from, and whether a text is in another one.

A network that has never seen a script still writes fluent sentences for a text in it; they have nothing to do with it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

SEEN = 0.02  # share of a vocabulary's letters from which on a script was more than a stray word of the corpus
MOSTLY = 0.5  # share of a text's letters that the vocabulary lacks, from which on the text is in another script ...
NEARLY_ALL = 0.9  # ... and where they are of its own main script: small vocabularies lack some capitals
# Where the name of a script ends in the name of a character: OLD PERSIAN SIGN A, ETHIOPIC SYLLABLE HA.
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
# Letters that belong to no script: signs, and those that every text may borrow.
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
    """The script of a letter, such as 'Latin' or 'Cyrillic'; None for what is no letter of a script."""
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
    """The scripts that a vocabulary was learnt from, the one most of its letters are of, and the letters it has."""

    scripts: Set[str]
    main: str
    letters: Set[str]

    @classmethod
    def of(cls, pieces: Iterable[str]) -> Alphabet:
        """That of a vocabulary's pieces. A script that has few of their letters came in with stray words."""
        letters = Counter(character for piece in pieces for character in piece if script_of(character))
        counts: Counter[str] = Counter()
        for letter, count in letters.items():
            counts[script_of(letter) or ""] += count
        scripts = frozenset(script for script, count in counts.items() if count >= SEEN * counts.total())
        main = max(counts, key=lambda script: (counts[script], script), default="")
        return cls(scripts, main, frozenset(letter for letter in letters if script_of(letter) in scripts))

    def unseen_script(self, text: str) -> str | None:
        """The script of a text that the vocabulary cannot read; None where enough of its letters are known."""
        text = unicodedata.normalize("NFC", text)
        lacking = {letter for letter in set(text) - self.letters if script_of(letter)}
        if not lacking:
            return None
        counts = Counter(script_of(letter) or "" for letter in text if letter in lacking)
        letters = sum(script_of(letter) is not None for letter in text)
        if counts.total() - counts[self.main] < MOSTLY * letters and counts.total() < NEARLY_ALL * letters:
            return None
        return max(counts, key=lambda script: (counts[script], script))
