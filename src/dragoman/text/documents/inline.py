"""A line of HTML, text and inline tags, as sentences.

A line is cut between two sentences unless a pair of tags is around a part of both. Tags around a whole sentence, and
pictures and comments at its ends, stay outside. A sentence with more tags than a translator can place is cut at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from dragoman.text.documents.document import Part, Split, has_letter
from dragoman.text.documents.items import Item, Kind, partners, raw_of, simplified
from dragoman.text.documents.tagged import TaggedSentence, tagged_sentence
from dragoman.text.protection import STANDINS, protected_spans

_TAGS = 1000  # in a line; one with more is no prose, and cut at every tag: the time stays short whatever comes
_LEVELS = 2  # of nested tags at which a sentence with very many tags is cut, before it is cut at every tag
_OUTSIDE = (Kind.HIDDEN, Kind.PICTURE)


def parts_of_line(items: Sequence[Item], split: Split) -> Iterator[Part]:
    if not any(item.kind is Kind.TEXT and has_letter(item.text) for item in items):
        yield raw_of(items)
        return
    if sum(item.kind is not Kind.TEXT for item in items) > _TAGS:
        yield from _apart(items, split)
        return
    for sentence in _sentences(simplified(items), split):
        yield from _parts_of_sentence(sentence, split)


def _sentences(items: Sequence[Item], split: Split) -> Iterator[Sequence[Item]]:
    """The items of each sentence; closing tags between two sentences belong to the first."""
    items, counts = _cut_items(items, split)
    at = 0
    for here in counts:
        stop = here
        while here < len(items) and not items[here].text:
            here += 1
            stop = here if items[here - 1].kind is Kind.CLOSE else stop
        yield items[at:stop]
        at = stop
    yield items[at:]


def _cut_items(items: Sequence[Item], split: Split) -> tuple[list[Item], list[int]]:
    """The items with those cut in which a sentence begins, and how many of them stand before each sentence."""
    ends = list(accumulate(len(item.text) for item in items))
    cuts = [*_cuts(items, ends, split), ends[-1] + 1]
    found: list[Item] = []
    counts: list[int] = []
    next_cut = 0
    for item, end in zip(items, ends, strict=True):
        start = begun = end - len(item.text)
        while cuts[next_cut] < end:  # only in words: whatever else there is has one character, or no white space
            found += _words_and_space(item.text[begun - start : cuts[next_cut] - start])
            counts.append(len(found))
            begun = cuts[next_cut]
            next_cut += 1
        found += [item] if begun == start else _words_and_space(item.text[begun - start :])
        if item.text and cuts[next_cut] == end:
            counts.append(len(found))
            next_cut += 1
    return found, counts


def _words_and_space(text: str) -> Iterator[Item]:
    words = text.rstrip()
    return (Item(Kind.TEXT, piece, piece) for piece in (words, text[len(words) :]) if piece)


def _cuts(items: Sequence[Item], ends: Sequence[int], split: Split) -> Iterator[int]:
    """Where sentences begin, but for those that begin inside a pair of tags around a part of the one before."""
    line = "".join(item.text for item in items)
    cuts: list[int] = []
    between = set(range(len(line) - len(line.lstrip()) + 1))  # all places between two sentences, and at the ends
    at = 0
    for sentence in split(line):
        at += len(sentence)
        cuts.append(at)
        between.update(range(at - len(sentence) + len(sentence.rstrip()), at + 1))
    spans = ((ends[i], ends[j]) for i, j in sorted(partners(items).items()) if i < j)
    around_parts = ((start, stop) for start, stop in spans if start not in between or stop not in between)
    none = (len(line), 0)
    (start, stop), reach = next(around_parts, none), 0
    for cut in cuts[:-1]:
        while start < cut:
            reach = max(reach, stop)
            start, stop = next(around_parts, none)
        if cut >= reach:
            yield cut


def _parts_of_sentence(items: Sequence[Item], split: Split, level: int = 0) -> Iterator[Part]:
    if not any(item.kind is Kind.TEXT and has_letter(item.text) for item in items):
        yield raw_of(items)
        return
    start, stop = _inner(items)
    inner = items[start:stop]
    yield raw_of(items[:start])
    if _fits(sentence := tagged_sentence(inner)):
        yield sentence
    else:
        groups = _groups(inner) if level < _LEVELS else [inner]
        for group in groups:
            yield from _parts_of_sentence(group, split, level + 1) if len(groups) > 1 else _apart(group, split)
    yield raw_of(items[stop:])


def _fits(sentence: TaggedSentence) -> bool:
    return not sentence.has_tags or len(protected_spans(sentence.text)) <= len(STANDINS)


def _inner(items: Sequence[Item]) -> tuple[int, int]:
    """Where the sentence begins and ends without what is around all of it."""
    found = partners(items) if len(items) > 1 else {}
    start, stop = 0, len(items)

    def is_outside(i: int) -> bool:
        item = items[i]
        if item.kind in (Kind.OPEN, Kind.CLOSE):
            return i not in found
        return item.kind in _OUTSIDE or (item.kind is Kind.TEXT and item.is_blank)

    while start < stop:
        if is_outside(start):
            start += 1
        elif is_outside(stop - 1):
            stop -= 1
        elif found.get(start) == stop - 1:
            start, stop = start + 1, stop - 1
        else:
            break
    return start, stop


def _groups(items: Sequence[Item]) -> list[Sequence[Item]]:
    """The items in as few groups as hold no more spans than there are stand-ins, cut at spaces and around pairs."""
    found = partners(items)
    groups: list[Sequence[Item]] = []
    begun, at, space, held, after_space = 0, 0, 0, 0, 0
    while at < len(items):
        stop = max(at, found.get(at, at)) + 1
        weight = sum(map(_weight, items[at:stop]))
        if at > begun and held + weight > len(STANDINS):
            cut, held = (space, after_space) if space > begun else (at, 0)
            groups.append(items[begun:cut])
            begun = cut
        held, after_space = held + weight, after_space + weight
        if items[at].is_blank and items[at].kind is Kind.TEXT:
            space, after_space = stop, 0
        at = stop
    return [*groups, items[begun:]]


def _weight(item: Item) -> int:
    if item.kind is Kind.TEXT:
        return len(protected_spans(item.text))
    return item.kind is not Kind.HIDDEN


def _apart(items: Sequence[Item], split: Split) -> Iterator[Part]:
    """The words between two tags as sentences of their own."""
    for is_text, group in groupby(items, lambda item: item.kind is Kind.TEXT):
        found = list(group)
        if not is_text or not any(has_letter(item.text) for item in found):
            yield raw_of(found)
        else:
            for sentence in _sentences(found, split):
                yield from _parts_of_sentence(sentence, split)
