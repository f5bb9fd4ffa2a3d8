"""Repairs of a corpus: text is put in order, pairs that would harm are taken out, and all of it is accounted for."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.data.doctor import Corpus, ratio_outliers
from dragoman.data.output import written_text
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

# What each repair does; the first three change text, the others leave pairs out.
REPAIRS = {
    "spaces": "white space collapsed, no-break spaces made plain, invisible and control characters removed",
    "quotes": "curly and angular quotation marks made straight",
    "dashes": "hyphens and dashes of every length made one of each",
    "empties": "pairs with an empty side left out",
    "duplicates": "pairs that were there before left out",
    "outliers": "pairs with one side far too long for the other left out",
    "identical": "pairs whose two sides are the same left out",
}
UNREADABLE = "unreadable"
DEFAULT = ("spaces", "quotes", "dashes", "empties", "duplicates", "outliers")

# Line and page separators are white space and become a space; the joiners U+200C and U+200D are spelling and stay.
INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛‹›", "'")})
DASHES = str.maketrans({**dict.fromkeys("‐‑‒−", "-"), **dict.fromkeys("–―", "—")})


@dataclass(frozen=True)
class Outcome:
    """What a cleaning did: pairs in and out, texts changed by each repair, pairs left out by each."""

    read: int
    written: int
    changed: Counter[str]
    removed: Counter[str]


def repair_text(text: str, repairs: Collection[str]) -> tuple[str, list[str]]:
    """The text in order, and which repairs changed it."""
    changed = []
    for name, mended in (
        ("spaces", lambda t: " ".join(INVISIBLE.sub("", t).split())),
        ("quotes", lambda t: t.translate(QUOTES)),
        ("dashes", lambda t: t.translate(DASHES)),
    ):
        if name in repairs:
            after = mended(text)
            if after != text:
                changed.append(name)
            text = after
    return text, changed


def clean(
    corpus: Corpus,
    out: Path,
    removed: Path,
    repairs: Collection[str] = DEFAULT,
    unreadable: Iterable[tuple[str, str, int, str]] = (),
) -> Outcome:
    """Write the repaired corpus as TSV, and beside it what was left out, each line with its reason and place.

    `unreadable` are the lines no pair could be made of: (reason, file, line, text).
    """
    unknown = sorted(set(repairs) - REPAIRS.keys())
    if unknown:
        raise ConfigurationError(f"unknown repair '{unknown[0]}'; available: {', '.join(REPAIRS)}")
    reasons = _reasons(corpus, repairs)
    changed: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    with written_text(out) as kept, written_text(removed) as dropped:
        for reason, name, number, text in unreadable:
            left_out[UNREADABLE] += 1
            dropped.write(f"{_cell(reason)}\t{name}\t{number}\t{_cell(text)}\n")
        for i, (source, reference) in enumerate(_repaired(corpus, repairs, changed)):
            if i in reasons:
                file, line = corpus.places[i]
                left_out[reasons[i]] += 1
                dropped.write(f"{reasons[i]}\t{corpus.files[file]}\t{line}\t{_cell(source)}\t{_cell(reference)}\n")
            else:
                kept.write(f"{_cell(source)}\t{_cell(reference)}\n")
    read = len(corpus) + left_out[UNREADABLE]
    return Outcome(read, read - left_out.total(), changed, left_out)


def _repaired(corpus: Corpus, repairs: Collection[str], changed: Counter[str]) -> Iterator[tuple[str, str]]:
    for sources, references in zip(corpus.chunks(0), corpus.chunks(1), strict=True):
        for pair in zip(sources, references, strict=True):
            (source, first), (reference, second) = (repair_text(text, repairs) for text in pair)
            changed.update({*first, *second})
            yield source, reference


def _reasons(corpus: Corpus, repairs: Collection[str]) -> dict[int, str]:
    """Why each pair that is left out is left out; the first reason that applies."""
    reasons: dict[int, str] = {}
    seen: set[bytes] = set()
    sizes = np.zeros((len(corpus), 2), np.int64)
    for i, (source, reference) in enumerate(_repaired(corpus, repairs, Counter())):
        sizes[i] = len(source), len(reference)
        key = hashlib.blake2b(f"{source}\t{reference}".encode(), digest_size=8).digest()
        if "empties" in repairs and not (source.strip() and reference.strip()):
            reasons[i] = "empties"
        elif "identical" in repairs and source == reference:
            reasons[i] = "identical"
        elif "duplicates" in repairs and key in seen:
            reasons[i] = "duplicates"
        seen.add(key)
    if "outliers" in repairs:
        for i in ratio_outliers(sizes[:, 0], sizes[:, 1]):
            reasons.setdefault(int(i), "outliers")
    return reasons


def _cell(text: str) -> str:
    """A field of a TSV file has no tabs and no line breaks."""
    return re.sub(r"[\t\r\n]+", " ", text)


def write_parts(corpus: Corpus, parts: Array, names: Sequence[str], directory: Path) -> dict[str, int]:
    """One TSV file for each part of a split; none gets its name before all are written. How many pairs each holds."""
    with ExitStack() as stack:
        files = [stack.enter_context(written_text(directory / f"{name}.tsv")) for name in names]
        for i, part in enumerate(parts):
            source, reference = (_cell(store.text(i)) for store in corpus.texts)
            files[part].write(f"{source}\t{reference}\n")
    return {name: int((parts == part).sum()) for part, name in enumerate(names)}
