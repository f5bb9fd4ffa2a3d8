"""English words and their forms."""

from __future__ import annotations

from functools import cache

BE = ("am", "are", "is", "are", "are")  # by person, as in conjugation.Person
WAS = ("was", "were", "was", "were", "were")

_PLURALS = {
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "knife": "knives",
    "box": "boxes",
}
_DOUBLED = frozenset({"begin", "forget", "prefer", "travel"})  # of more than one syllable
_PAST: dict[str, tuple[str, str]] = {
    "be": ("was", "been"),
    "begin": ("began", "begun"),
    "break": ("broke", "broken"),
    "bring": ("brought", "brought"),
    "buy": ("bought", "bought"),
    "come": ("came", "come"),
    "do": ("did", "done"),
    "drink": ("drank", "drunk"),
    "drive": ("drove", "driven"),
    "eat": ("ate", "eaten"),
    "find": ("found", "found"),
    "forget": ("forgot", "forgotten"),
    "get": ("got", "got"),
    "give": ("gave", "given"),
    "go": ("went", "gone"),
    "have": ("had", "had"),
    "hear": ("heard", "heard"),
    "hurt": ("hurt", "hurt"),
    "know": ("knew", "known"),
    "leave": ("left", "left"),
    "lend": ("lent", "lent"),
    "lose": ("lost", "lost"),
    "make": ("made", "made"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "run": ("ran", "run"),
    "say": ("said", "said"),
    "see": ("saw", "seen"),
    "sell": ("sold", "sold"),
    "send": ("sent", "sent"),
    "show": ("showed", "shown"),
    "sing": ("sang", "sung"),
    "sit": ("sat", "sat"),
    "sleep": ("slept", "slept"),
    "speak": ("spoke", "spoken"),
    "swim": ("swam", "swum"),
    "take": ("took", "taken"),
    "tell": ("told", "told"),
    "think": ("thought", "thought"),
    "understand": ("understood", "understood"),
    "wake": ("woke", "woken"),
    "write": ("wrote", "written"),
}
_COMPARATIVES = {"good": ("better", "best"), "bad": ("worse", "worst")}
_MORE = frozenset({"modern"})  # two syllables, yet not moderner


@cache
def plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh", "to")) and noun != "photo":
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeo":
        return noun[:-1] + "ies"
    return noun + "s"


def a(phrase: str) -> str:
    """a book, an apple, an hour, a university."""
    sounds = phrase.startswith(tuple("aeiou")) and not phrase.startswith(("uni", "use", "eu", "one"))
    return ("an " if sounds or phrase.startswith(("hour", "honest")) else "a ") + phrase


@cache
def third(verb: str) -> str:
    """eats, goes, studies; of "listen to" the first word: listens to."""
    head, _, rest = verb.partition(" ")
    if head in ("have", "be"):
        form = {"have": "has", "be": "is"}[head]
    elif head.endswith(("s", "x", "ch", "sh", "o")):
        form = head + "es"
    elif head.endswith("y") and head[-2] not in "aeou":
        form = head[:-1] + "ies"
    else:
        form = head + "s"
    return f"{form} {rest}".strip()


@cache
def past(verb: str) -> str:
    head, _, rest = verb.partition(" ")
    return f"{_PAST[head][0] if head in _PAST else _with_ed(head)} {rest}".strip()


@cache
def participle(verb: str) -> str:
    head, _, rest = verb.partition(" ")
    return f"{_PAST[head][1] if head in _PAST else _with_ed(head)} {rest}".strip()


@cache
def gerund(verb: str) -> str:
    head, _, rest = verb.partition(" ")
    if head.endswith("e") and head not in ("be", "see"):
        form = head[:-1] + "ing"
    else:
        form = (head + head[-1] if _doubles(head) else head) + "ing"
    return f"{form} {rest}".strip()


@cache
def comparative(adjective: str) -> str:
    """taller, bigger, easier, more expensive."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective][0]
    return _graded(adjective, "er") or f"more {adjective}"


@cache
def superlative(adjective: str) -> str:
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective][1]
    return _graded(adjective, "est") or f"most {adjective}"


def _graded(adjective: str, ending: str) -> str | None:
    if adjective in _MORE or len(adjective) > 6 or (_syllables(adjective) > 1 and not adjective.endswith("y")):
        return None
    if adjective.endswith("y") and _syllables(adjective) > 1:
        return adjective[:-1] + "i" + ending
    if adjective.endswith("e"):
        return adjective[:-1] + ending
    return (adjective + adjective[-1] if _doubles(adjective) else adjective) + ending


def _with_ed(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeou":
        return verb[:-1] + "ied"
    return (verb + verb[-1] if _doubles(verb) else verb) + "ed"


def _doubles(word: str) -> bool:
    """run, running; big, bigger: one vowel before one consonant at the end of the only syllable."""
    if word in _DOUBLED:
        return True
    return (
        len(word) > 2
        and word[-1] not in "aeiouwxy"
        and word[-2] in "aeiou"
        and word[-3] not in "aeiou"
        and _syllables(word) == 1
    )


def _syllables(word: str) -> int:
    groups, inside = 0, False
    for letter in word.removesuffix("e"):
        vowel = letter in "aeiouy"
        groups += vowel and not inside
        inside = vowel
    return max(groups, 1)
