"""Find the words in which a translation differs from its reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

# a letter of a script that writes no spaces; a word; any other character alone
UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
PUNCTUATION = r".,;:!?¿¡…()\[\]{}\"'«»“”‘’、。，！？：；"
WORDS = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}{PUNCTUATION}]+|\S")

Run = tuple[str, bool]  # a stretch of text, and whether the other side lacks it


def differences(reference: str, translation: str) -> tuple[list[Run], list[Run]]:
    """Both texts in stretches; joined, the stretches of a side are that text again."""
    left, right = list(WORDS.finditer(reference)), list(WORDS.finditer(translation))
    matcher = SequenceMatcher(None, [m.group() for m in left], [m.group() for m in right], autojunk=False)
    codes = matcher.get_opcodes()
    return (
        _runs(reference, left, [(a, b, what != "equal") for what, a, b, _, _ in codes]),
        _runs(translation, right, [(c, d, what != "equal") for what, _, _, c, d in codes]),
    )


def _runs(text: str, words: Sequence[re.Match[str]], spans: Sequence[tuple[int, int, bool]]) -> list[Run]:
    """A stretch for every span of words, and one for the space between two of them."""
    runs, done = [], 0
    for first, last, lacks in spans:
        if first < last:
            start, end = words[first].start(), words[last - 1].end()
            runs += [(text[done:start], False), (text[start:end], lacks)]
            done = end
    return [run for run in [*runs, (text[done:], False)] if run[0]]
