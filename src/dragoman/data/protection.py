"""What a translator must not change: numbers, addresses, placeholders, tags, emoji.

Such spans are replaced by stand-ins, single private-use characters, in the text the network sees, and put back into
what it writes. What counts as a span:

address      http:// https:// ftp:// www. and e-mail; punctuation after it and a bracket opened before it stay outside;
             a bare domain (example.org) is a word
tag          <b> </b> <br/> <a href="x"> <0>, attributes only as name=value ("<y and z>" is prose); &amp; &#39;
placeholder  {name} {0} {{ x }} ${VAR} %{x} #{x} $VAR %s %d %1$s %(count)d %.2f %@ %% %name%; no printf after a digit
             ("50%de") and none with a space ("50 % de")
emoji        a run of them, with joiners, skin tones, variation selectors, flags and keycaps, is one span
number       digits with . , : / ' - between them, a sign before, per cent signs behind: -5, 1,234.56, 10:30, 3/4, 50%,
             2024-01-31; no-break spaces before three digits; not if glued to letters, which makes a word (B2B, mp3,
             A4, 2nd, 1º, 10km), except letters of scripts without spaces; currency and unit stay outside ($5, 20°)
stand-in     one that the text itself holds, so that it is never taken for ours
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

Place = tuple[int, int]

STANDINS = tuple(map(chr, range(0xE000, 0xE008)))
# Each with and without a space before it: a text to train tokenizers on, for they must know all that a user may need.
EVERY_STANDIN = " ".join(STANDINS) + "".join(STANDINS)
SHARE = 0.1  # of the pairs with names, so that stand-ins are learnt from a corpus without numbers and addresses too

# Every repetition is bounded, or possessive and begun only where a word begins: no text makes the search quadratic.
# Those of groups are written (?>(?:...)+), for before Python 3.11.5 (?:...)++ goes astray where its group backtracks.
_OWN = f"{STANDINS[0]}-{STANDINS[-1]}"
_WORD = r"0-9A-Z_a-zªº\u00c0-\u058f\u1e00-\u1fff"  # what glues: letters of scripts that put spaces between words
_LINK = r"""[^\s<>"`(){}\[\].,;:!?'*«»\u0e00-\u0eff\u2000-\U0010ffff]"""
_ADDRESS = (
    rf"(?<![{_WORD}])(?i:(?:https?|ftp)://|www\.)(?>(?:{_LINK}++|[.,;:!?'*]++(?={_LINK})"
    rf"|\([^\s()<>{_OWN}]*+\)|\[[^\s\[\]<>{_OWN}]*+\]|\{{[^\s{{}}<>{_OWN}]*+\}})+)"  # a bracket only with its partner
)
_MAIL = rf"(?<![{_WORD}.+%-])[{_WORD}.+%-]{{1,64}}@[{_WORD}-]{{1,63}}(?:\.[{_WORD}-]{{1,63}}){{1,8}}"
_VALUE = rf"(?:\"[^\"<>{_OWN}]*+\"|'[^'<>{_OWN}]*+'|[^\s\"'<>{_OWN}]++)"
_TAG = rf"</?+[0-9A-Za-z][\w:.-]{{0,63}}+(?>(?:\s++[\w:.@-]++\s*+=\s*+{_VALUE})*)\s*+/?+>"
_ENTITY = r"&(?:#\d{1,7}|#[Xx][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});"
_BRACES = rf"[$%#]?+(?:\{{{{2,3}}[^{{}}\n{_OWN}]{{1,100}}+\}}{{2,3}}|\{{ ?+[^\s{{}}{_OWN}]{{0,64}}+ ?+\}})"
_FORMAT = (
    r"(?<!\d)%(?:%|[A-Z_a-z]\w{1,63}+%(?!\w)"
    r"|(?:\d{1,2}\$)?(?:\(\w{1,64}\))?[-+#0]{0,4}\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|[zjtqL])?[A-Za-z@])"
)
_VARIABLE = rf"(?<![{_WORD}$])\$[A-Z_a-z][0-9A-Z_a-z]{{0,63}}+"
_PICTURE = (
    r"(?:[\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u25fd\u25fe\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001faff]"
    r"|[©®‼⁉™ℹ\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fc\u2900-\u297f\u2b00-\u2b1a\u3030\u303d\u3297\u3299]\ufe0f)"
)
_EMOJI = rf"{_PICTURE}(?>(?:[\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]|\u200d?{_PICTURE})*)|[0-9#*]\ufe0f?\u20e3"
_BETWEEN = r".,:/'’–\-"
_NUMBER = (
    rf"(?:(?<![{_WORD})\]+−±-])[-+−±])?(?<!\d)(?<![{_WORD}])(?<!\d[{_BETWEEN}])"
    rf"(?:\d{{1,3}}(?>(?:[\u00a0\u202f]\d{{3}}(?!\d)){{1,5}})|\d++)(?>(?:[{_BETWEEN}]\d++)*)"
    rf"(?>(?:[%‰]{{1,2}}+(?![{_WORD}]))?)(?![{_WORD}])"
)
_SPANS = re.compile(
    "|".join((_ADDRESS, _MAIL, _TAG, _ENTITY, _BRACES, _FORMAT, _VARIABLE, _EMOJI, _NUMBER, f"[{_OWN}]"))
)
# Every span holds one of these characters, or "www."; most sentences hold none.
_UNUSUAL = re.compile(r"""[^A-Za-z\s.,;:!?'"()\-\u00a0-\u02ff\u0370-\u058f\u2010-\u2027\u3040-\u30ff\u3400-\u9fff]""")
_ONLY_EMOJI = re.compile(_EMOJI)
# But no space is put after a letter of a script without spaces.
_BEFORE_STANDIN = re.compile(rf"(?<=\S)(?<![^\W{_WORD}])(?=[{_OWN}])")
_AFTER_STANDIN = re.compile(rf"(?<=[{_OWN}])(?=[{_WORD}¿¡(«“„\[])")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_]{2,}+(?![\w\u0300-\u036f])")


@dataclass(frozen=True)
class Masked:
    """A text with stand-ins, and what each stands for: spans[i] for STANDINS[i].

    Not complete: the text has more spans than there are stand-ins, and whoever wants them safe cuts it and masks its
    parts. Equal spans share a stand-in then, and some may still be in it as they were.
    """

    text: str
    spans: tuple[str, ...]
    complete: bool = True


def protected_spans(text: str) -> list[Place]:
    """Where each span starts and stops, in order."""
    return [match.span() for match in _SPANS.finditer(text)] if _may_hold_spans(text) else []


def mask(text: str) -> Masked:
    """The text with its spans replaced; what the network reads is `spaced`."""
    places = protected_spans(text)
    if not places:
        return Masked(text, ())
    if len(places) <= len(STANDINS):
        own = iter(STANDINS)
        return Masked(_changed(text, places, lambda _: next(own)), tuple(text[start:stop] for start, stop in places))
    spans = list(dict.fromkeys(text[start:stop] for start, stop in places))
    kept = _with_room(spans)
    return Masked(_replaced(text, places, dict(zip(kept, STANDINS, strict=False))), tuple(kept), False)


def unmask(text: str, spans: Iterable[str]) -> str:
    """The spans put back; a stand-in that stands for nothing is taken out."""
    return text.translate(dict.fromkeys(map(ord, STANDINS), "") | dict(zip(map(ord, STANDINS), spans, strict=False)))


def is_emoji(span: str) -> bool:
    return _ONLY_EMOJI.fullmatch(span) is not None


def spaced(text: str) -> str:
    """A text with stand-ins as networks read and write it: a space before each, and one between it and a word or an
    opening mark.

    So a stand-in is one label wherever it stands, and the words beside it are the labels that they are elsewhere:
    "<b>Save</b>" leaves "Save" the word that it was. `tasks/spans.py` gives back the spacing of the source.
    """
    return _AFTER_STANDIN.sub(" ", _BEFORE_STANDIN.sub(" ", text))


def number_standins(source: str, reference: str, first: int = 0) -> tuple[str, str]:
    """The stand-ins of a pair in the order of its source, as `mask` has them, from the first one on."""
    found = dict.fromkeys(character for character in source if character in STANDINS)
    order = {ord(standin): STANDINS[(first + i) % len(STANDINS)] for i, standin in enumerate(found)}
    return source.translate(order), reference.translate(order)


def mask_pair(source: str, reference: str, share: float = SHARE) -> tuple[str, str]:
    """A pair to train on: a span is masked if both sides hold it equally often.

    In a share of the pairs, names written the same on both sides are masked too. A hash of the pair tells which pairs
    and which stand-ins: all are trained alike, and neither the order of the pairs nor their number matters. A stand-in
    of the text's own that is not masked is taken out, for it would teach the wrong thing.
    """
    return masked_pair(source, reference, share)[:2]


def masked_pair(source: str, reference: str, share: float = SHARE) -> tuple[str, str, dict[str, str]]:
    """The same, and the stand-in of each span."""
    pair = f"{source}\n{reference}"
    number = int.from_bytes(blake2b(pair.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    with_names = number < share * 2**64
    if not (with_names or _may_hold_spans(pair)):
        return source, reference, {}
    places, others = protected_spans(source), protected_spans(reference)
    counts, other_counts = (
        Counter(text[start:stop] for start, stop in where) for text, where in ((source, places), (reference, others))
    )
    shared = [span for span, count in counts.items() if other_counts[span] == count]
    if with_names:
        names = _names(source, places, reference, others)
        shared += names
        places = sorted(places + [place for place, _ in names.values()])
        others = sorted(others + [place for _, place in names.values()])
    standins = dict(zip(_with_room(shared), _shuffled(number), strict=False))
    return _replaced(source, places, standins), _replaced(reference, others, standins), standins


def _may_hold_spans(text: str) -> bool:
    return _UNUSUAL.search(text) is not None or "www." in text.lower()


def _with_room(spans: list[str]) -> list[str]:
    """As many as there are stand-ins; the text's own stand-ins first: they are never too many, and must not stay."""
    if len(spans) <= len(STANDINS):
        return spans
    return sorted(spans, key=lambda span: span not in STANDINS)[: len(STANDINS)]


def _shuffled(number: int) -> Iterator[str]:
    """The stand-ins in the order that the digits of a large number tell."""
    left = list(STANDINS)
    while left:
        number, chosen = divmod(number, len(left))
        yield left.pop(chosen)


def _replaced(text: str, places: list[Place], standins: dict[str, str]) -> str:
    return _changed(text, places, lambda span: standins.get(span, "" if span in STANDINS else span))


def _changed(text: str, places: list[Place], change: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for start, stop in places:
        parts += text[at:start], change(text[start:stop])
        at = stop
    return "".join(parts) + text[at:]


def _names(source: str, places: list[Place], reference: str, others: list[Place]) -> dict[str, tuple[Place, Place]]:
    """Capitalised words that both sides hold exactly once, and where.

    Where a sentence begins, a capital tells nothing. A word that begins one on one side only is a name ("Tom left",
    "Se fue Tom"); on both, it is taken for a name from three letters on: "Tom", but not "No" or "He".
    """
    words, other_words = _words(source, places), _words(reference, others)
    names = {}
    for word, (place, *more) in words.items():
        if more or not word[0].isupper() or len(other_words.get(word, ())) != 1:
            continue
        other = other_words[word][0]
        if len(word) > 2 or _is_inside(source, place) or _is_inside(reference, other):
            names[word] = (place, other)
    return names


def _words(text: str, places: list[Place]) -> dict[str, list[Place]]:
    """Where each word stands, outside the spans."""
    words: dict[str, list[Place]] = {}
    for match in _LETTERS.finditer(_changed(text, places, lambda span: " " * len(span))):
        words.setdefault(match.group(), []).append(match.span())
    return words


def _is_inside(text: str, place: Place) -> bool:
    """Whether a sentence goes on here: what stands before is a word or a comma."""
    before = text[: place[0]].rstrip()[-1:]
    return before.isalnum() or before in {",", ";"}
