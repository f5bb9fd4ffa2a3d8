"""What a translator must not change: numbers, addresses, placeholders, tags, emoji.

Such spans are replaced by stand-ins, single private-use characters, in the text the network sees, and put back into
what it writes. What counts as a span:

address      http:// https:// ftp:// www. and e-mail; punctuation after it and a bracket opened before it stay outside
tag          <b> </b> <br/> <a href="x"> <0>, attributes only as name=value ("<y and z>" is prose); &amp; &#39;
placeholder  {name} {0} {{ x }} ${VAR} %{x} #{x} $VAR %s %d %1$s %(count)d %.2f %@ %% %name%; none with a space
             ("50 % de")
emoji        a run of them, with joiners, skin tones, variation selectors, flags and keycaps, is one span
number       digits with . , : / ' - between them, a sign before, per cent signs behind: -5, 1,234.56, 10:30, 3/4, 50%,
             2024-01-31; no-break spaces before three digits
stand-in     one that the text itself holds, so that it is never taken for ours

In a text to translate (`protected_spans`) these are spans too:

host, path   example.com/a of common domains in small letters or capitals ("end.Begin" is prose); /usr/bin ~/x ./x C:\\x
amount       a number with spaces before three digits, with its currency, per cent or degree: 1 000, $5.00, 20 €, 50 %
message      an argument of an ICU message, {n, plural, one {# file} other {# files}} (`text/messages.py`)
code         a number glued to letters: 10km 10:30am 1990s v2.0 H2O COVID-19 2024-05-12T10:30:00Z. Ordinals are words
             (2nd, 1º, 3er); of a number before a longer word the word is translated (24hours)

and spans that touch are one, for a network would tear them apart: 42%s, {name}42, %d%%, <b>5</b>; also over one mark,
as in %d/%d. A tag whose partner is further away stays alone, and so does a stand-in of the text's own.

The pairs of a corpus are masked by the first table alone (`mask_pair`); there a number glued to letters is a word, and
a printf placeholder after a digit is none. Languages write amounts differently, and a training is only resumed with the
pairs it began with: whoever changes these rules raises TEACHING in augmentation.py and VERSION in dataset.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from dragoman.text.messages import arguments

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
_LINKED = (
    rf"(?i:(?:https?|ftp)://|www\.)(?>(?:{_LINK}++|[.,;:!?'*]++(?={_LINK})"
    rf"|\([^\s()<>{_OWN}]*+\)|\[[^\s\[\]<>{_OWN}]*+\]|\{{[^\s{{}}<>{_OWN}]*+\}})+)"  # a bracket only with its partner
)
_ADDRESS = rf"(?<![{_WORD}]){_LINKED}"
_MAIL = rf"(?<![{_WORD}.+%-])[{_WORD}.+%-]{{1,64}}@[{_WORD}-]{{1,63}}(?:\.[{_WORD}-]{{1,63}}){{1,8}}"
_VALUE = rf"(?:\"[^\"<>{_OWN}]*+\"|'[^'<>{_OWN}]*+'|[^\s\"'<>{_OWN}]++)"
_TAG = rf"</?+[0-9A-Za-z][\w:.-]{{0,63}}+(?>(?:\s++[\w:.@-]++\s*+=\s*+{_VALUE})*)\s*+/?+>"
_ENTITY = r"&(?:#\d{1,7}|#[Xx][0-9A-Fa-f]{1,6}|[A-Za-z][0-9A-Za-z]{1,31});"
_BRACES = rf"[$%#]?+(?:\{{{{2,3}}[^{{}}\n{_OWN}]{{1,100}}+\}}{{2,3}}|\{{ ?+[^\s{{}}{_OWN}]{{0,64}}+ ?+\}})"
_FLAGS = r"(?:\d{1,2}\$)?(?:\(\w{1,64}\))?[-+#0]{0,4}\d{0,3}(?:\.\d{1,3})?(?:hh?|ll?|[zjtqL])?"
_FORMAT = rf"(?<!\d)%(?:%|[A-Z_a-z]\w{{1,63}}+%(?!\w)|{_FLAGS}[A-Za-z@])"
_VARIABLE = rf"(?<![{_WORD}$])\$[A-Z_a-z][0-9A-Z_a-z]{{0,63}}+"
_PICTURE = (
    r"(?:[\u231a\u231b\u23e9-\u23f3\u23f8-\u23fa\u25fd\u25fe\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001faff]"
    r"|[©®‼⁉™ℹ\u2194-\u21aa\u2300-\u23ff\u24c2\u25aa-\u25fc\u2900-\u297f\u2b00-\u2b1a\u3030\u303d\u3297\u3299]\ufe0f)"
)
_EMOJI = rf"{_PICTURE}(?>(?:[\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]|\u200d?{_PICTURE})*)|[0-9#*]\ufe0f?\u20e3"
_BETWEEN = r".,:/'’–\-"
_SIGN = rf"(?:(?<![{_WORD})\]+−±-])[-+−±])?"
_NUMBER_STARTS = rf"(?<!\d)(?<![{_WORD}])(?<!\d[{_BETWEEN}])"
_NUMBER = (
    rf"{_SIGN}{_NUMBER_STARTS}"
    rf"(?:\d{{1,3}}(?>(?:[\u00a0\u202f]\d{{3}}(?!\d)){{1,5}})|\d++)(?>(?:[{_BETWEEN}]\d++)*)"
    rf"(?>(?:[%‰]{{1,2}}+(?![{_WORD}]))?)(?![{_WORD}])"
)
_SPANS_OF_PAIRS = re.compile(
    "|".join((_ADDRESS, _MAIL, _TAG, _ENTITY, _BRACES, _FORMAT, _VARIABLE, _EMOJI, _NUMBER, f"[{_OWN}]"))
)

# What else is a span in a text to translate.
_LETTER = r"A-Za-z\u00c0-\u058f\u1e00-\u1fff"
_LABEL = r"[0-9A-Za-z-]"
# Country codes that are words of many a language (it, no, me, in) are left out: "the end.it was".
_DOMAINS = "com|org|net|edu|gov|mil|info|biz|io|dev|app|xyz|eu"
_COUNTRIES = "ar|au|br|ca|ch|cl|cn|co|cz|de|dk|es|fi|fr|gr|hu|ie|jp|kr|mx|nl|nz|pe|pl|pt|ro|ru|se|tr|tv|ua|uk|za"
_HOST = (
    rf"(?<![{_WORD}.@-])(?:(?:{_LABEL}{{1,63}}\.){{1,8}}(?:{_DOMAINS}|{_DOMAINS.upper()})"
    rf"|{_LABEL}{{2,63}}\.(?:{_LABEL}{{1,63}}\.){{0,7}}(?:{_COUNTRIES}|{_COUNTRIES.upper()}))(?![{_WORD}@])"
    rf"(?>(?::\d{{1,5}}(?!\d))?)(?>(?:[/?#](?>(?:{_LINK}++|[.,;:!?'*]++(?={_LINK}))*))?)"
)
_FOLDER = rf"\.{{0,2}}[{_WORD}-]++(?>(?:[.+@~]++[{_WORD}-]++){{0,8}})"
_PATH = rf"(?:(?:~|\.{{1,2}})/{_FOLDER}|/{_FOLDER}/{_FOLDER})(?>(?:/{_FOLDER})*)/?+"
_PATH_STARTS = rf"(?<![{_WORD}/.~<>)\]])"
_DRIVE = rf"(?<![{_WORD}])[A-Za-z]:\\(?>(?:[{_WORD}\\-]|\.(?=[{_WORD}]))*)"
# After a digit, %d is a placeholder only where no letter follows: "50%de" is prose.
_FORMAT_AFTER_DIGIT = rf"%{_FLAGS}[cdeEfFgGiosuxX@](?![{_LETTER}_])"
_ANY_FORMAT = rf"{_FORMAT}|(?<=\d)(?:%%|{_FORMAT_AFTER_DIGIT})"
_SPACE = r"[ \u00a0\u202f]"
_CURRENCY = "€£¥¢₦₩₪₫₱₴₹₺₽฿"
_AMOUNT = (
    rf"{_SPACE}?(?:(?!{_FORMAT_AFTER_DIGIT})[%‰]{{1,2}}+(?![{_WORD}])"
    rf"|[{_CURRENCY}](?!\d)|\$(?![{_WORD}{{(])|°[CFK]?+(?![{_WORD}]))"
)
# French, Spanish and German ones too; capitals only in English, for 500MA and 5E are units and codes.
_ORDINAL = (
    r"(?:[ªº]|(?:st|nd|rd|th|ST|ND|RD|TH|er|re|e|è|ère|ème|eme|ro|ra|do|da|to|ta|mo|ma|vo|va|no|na|de|te|ste|ter)"
    rf"(?![{_WORD}]))"
)
_CODE_LETTER = r"0-9A-Z_a-zµμΩ"
_CODE_GOES_ON = rf"[{_BETWEEN}+](?=[A-Z_a-z]{{0,8}}\d)[{_CODE_LETTER}]++"  # the -05 or the -W05 of 2024-05, 2024-W05
_SQUARED = rf"[²³]?+(?>(?:/(?:h|s|min|k?g|l|k?m)[²³]?+(?![{_WORD}]))?)(?![{_WORD}])"
# Letters after a number: a unit of up to three, or whatever holds a capital or a digit.
_UNIT = (
    rf"(?!{_ORDINAL}|(?:https?|ftp)://|www\.)(?:[a-zµμΩ]{{1,3}}+(?![{_CODE_LETTER}])"
    rf"|(?=[a-zµμΩ]{{0,64}}[0-9A-Z_])[{_CODE_LETTER}]++)"
)
_CODE_ENDS = rf"(?:{_UNIT}(?>(?:{_CODE_GOES_ON}){{0,16}})|(?>(?:{_CODE_GOES_ON}){{1,16}})){_SQUARED}"
_DIGITS = rf"(?:\d{{1,3}}(?>(?:{_SPACE}\d{{3}}(?!\d)){{1,5}})|\d++)(?>(?:[{_BETWEEN}]\d++)*)"
_QUANTITY = (
    rf"{_DIGITS}(?:{_CODE_ENDS}|(?>(?:{_AMOUNT})?)(?![{_WORD}])"
    rf"|(?!{_ORDINAL})(?=[{_LETTER}]{{1,64}}(?![{_WORD}])))"  # a word, which is translated
)
_PRICE = rf"[A-Z]{{0,3}}[${_CURRENCY}]{_SPACE}?[-+−]?"
_ANY_NUMBER = rf"{_SIGN}(?:(?<![{_WORD}]){_PRICE})?(?<!µ){_NUMBER_STARTS}{_QUANTITY}"
_CODE = (
    rf"(?<![{_WORD}µ])(?:(?=[A-Z_a-z]{{1,32}}\d)[{_CODE_LETTER}]++(?>(?:{_CODE_GOES_ON}){{0,16}}){_SQUARED}"
    rf"|(?:[A-Z]|[A-Za-z][a-z]{{0,15}}[A-Z][A-Za-z]{{0,15}})-{_DIGITS}(?:{_CODE_ENDS}|(?![{_WORD}])))"
)
_SPANS = re.compile(
    "|".join(
        (
            *(_ADDRESS, _MAIL, _TAG, _ENTITY, _BRACES, _ANY_FORMAT, _VARIABLE, _EMOJI),
            *(_HOST, _DRIVE, _PATH_STARTS + _PATH, _CODE, _ANY_NUMBER, f"[{_OWN}]"),
        )
    )
)
# What begins where a span ends, whatever its last letter: that of %s glues nothing to it.
_TOUCHING = re.compile(rf"{_LINKED}|(?<![>\d]){_PATH}|[-+−±]?(?:{_PRICE})?{_QUANTITY}")
_JOINT = re.compile(r"(?<=[\w}%])(?:://|[/:=@_+*×~|.\-])(?=[\w{%$#])")
OPENING_TAG = re.compile(r"<([0-9A-Za-z][\w:.-]*)(?:\s[^>]*)?(?<!/)>")
CLOSING_TAG = re.compile(r"</([0-9A-Za-z][\w:.-]*)\s*>")
_NEVER_CLOSED = frozenset(("br", "hr", "img", "input", "wbr"))
# Every span holds one of these characters, or "www.", or is a host with a dot inside; most sentences hold none.
_UNUSUAL = re.compile(r"""[^A-Za-z\s.,;:!?'"()\-\u00a0-\u02ff\u0370-\u058f\u2010-\u2027\u3040-\u30ff\u3400-\u9fff]""")
_DOT_INSIDE = re.compile(r"[0-9A-Za-z-]\.[A-Za-z]")
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
    """Where each span of a text to translate starts and stops, in order; spans that touch are one."""
    return _together(text, _found(text)) if _may_hold_spans(text) or _DOT_INSIDE.search(text) else []


def spans_of_pairs(text: str) -> list[Place]:
    """The same in one side of a pair to train on, by the rules that corpora are prepared with."""
    return [match.span() for match in _SPANS_OF_PAIRS.finditer(text)] if _may_hold_spans(text) else []


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


def is_emoji(span: str) -> bool:
    return _ONLY_EMOJI.fullmatch(span) is not None


def spaced(text: str) -> str:
    """A text with stand-ins as networks read and write it: a space before each, and one between it and a word or an
    opening mark.

    So a stand-in is one label wherever it stands, and the words beside it are the labels that they are elsewhere:
    "<b>Save</b>" leaves "Save" the word that it was. `text/spans.py` gives back the spacing of the source.
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


def masked_pair(
    source: str, reference: str, share: float = SHARE, find: Callable[[str], list[Place]] = spans_of_pairs
) -> tuple[str, str, dict[str, str]]:
    """The same, and the stand-in of each span; what is a span may be told."""
    pair = f"{source}\n{reference}"
    number = int.from_bytes(blake2b(pair.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    with_names = number < share * 2**64
    places, others = find(source), find(reference)
    if not (with_names or places or others):
        return source, reference, {}
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


def _found(text: str) -> Iterator[Place]:
    """All spans, also those that touch; an argument of an ICU message is one, with all that it holds."""
    held = arguments(text)
    start, stop = next(held, (len(text), len(text)))
    match = _SPANS.search(text)
    while match or start < len(text):
        if match is None or match.end() > start:
            yield start, stop
            at = stop
            start, stop = next(held, (len(text), len(text)))
        else:
            yield match.span()
            at = match.end()
        match = _TOUCHING.match(text, at) or _SPANS.search(text, at)


def _together(text: str, places: Iterable[Place]) -> list[Place]:
    """The spans, those that touch as one; a tag only with its partner: "<b>5</b>" is one, "<b>five</b>" two."""
    found: list[tuple[Place, str]] = []
    for place in places:
        found.append((place, _tag(text, place)))
        while joined := _last_joined(text, found[-3:]):
            found[-joined:] = [((found[-joined][0][0], place[1]), "")]
    return [place for place, _ in found]


def _last_joined(text: str, last: Sequence[tuple[Place, str]]) -> int:
    """How many of the last three spans are one: two that touch, or those from a tag to its partner; 0 if none are."""
    touching = [_touch(text, a, b) for a, b in pairwise(last)]
    tags = [tag for _, tag in last]
    if touching[-1:] == [True] and (tags[-2:] == ["", ""] or _are_partners(*tags[-2:])):
        return 2
    return 3 if touching == [True, True] and tags[1] == "" and _are_partners(tags[0], tags[2]) else 0


def _are_partners(opening: str, closing: str) -> bool:
    return opening != "" and closing == f"/{opening}"


def _touch(text: str, left: tuple[Place, str], right: tuple[Place, str]) -> bool:
    """Whether nothing stands between two spans, or one mark between two that are neither tags nor emoji."""
    stop, start = left[0][1], right[0][0]
    if stop == start:
        return True
    joint = None if left[1] or right[1] else _JOINT.match(text, stop, start + 1)
    return joint is not None and joint.end() == start


def _tag(text: str, place: Place) -> str:
    """The name of an opening tag, that of a closing tag with a stroke; of others nothing."""
    span = text[slice(*place)]
    if span in STANDINS:
        return span  # never closed, so it stays alone
    if opening := OPENING_TAG.fullmatch(span):
        return "" if opening[1].lower() in _NEVER_CLOSED else opening[1]
    closing = CLOSING_TAG.fullmatch(span)
    return f"/{closing[1]}" if closing else ""


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
    at = place[0]
    while at and text[at - 1].isspace():  # no copy of all that stands before: a text may hold very many names
        at -= 1
    before = text[max(0, at - 1) : at]
    return before.isalnum() or before in {",", ";"}
