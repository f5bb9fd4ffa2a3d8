"""Clean a corpus: normalize its text, remove harmful pairs, and report every change."""

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
from dragoman.data.output import write_text_atomically
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

# What each repair does; the first three change text, the others remove pairs.
REPAIRS = {
    "spaces": "collapse white space, make no-break spaces plain, remove invisible and control characters",
    "quotes": "replace curly and angular quotation marks by straight ones",
    "dashes": "use one kind of hyphen and one kind of dash",
    "empties": "remove pairs with an empty side",
    "duplicates": "remove repeated pairs",
    "outliers": "remove pairs with one side far too long for the other",
    "identical": "remove pairs whose sides are equal",
}
UNREADABLE = "unreadable"
DEFAULT = ("spaces", "quotes", "dashes", "empties", "duplicates", "outliers")

# Line and page separators become a space; the joiners U+200C and U+200D belong to spelling and stay.
INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛‹›", "'")})
DASHES = str.maketrans({**dict.fromkeys("‐‑‒−", "-"), **dict.fromkeys("–―", "—")})


@dataclass(frozen=True)
class Outcome:
    """The result of a cleaning: pairs read and written, texts changed and pairs removed by each repair."""

    read: int
    written: int
    changed: Counter[str]
    removed: Counter[str]


def repair_text(text: str, repairs: Collection[str]) -> tuple[str, list[str]]:
    """Repair a text; also return the names of the repairs that changed it."""
    changed = []
    for name, repair in (
        ("spaces", lambda t: " ".join(INVISIBLE.sub("", t).split())),
        ("quotes", lambda t: t.translate(QUOTES)),
        ("dashes", lambda t: t.translate(DASHES)),
    ):
        if name in repairs:
            after = repair(text)
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
    """Write the repaired corpus as TSV, and what was removed to another file, each with its reason, file and line.

    `unreadable` are the lines that gave no pair: (reason, file, line, text).
    """
    unknown = sorted(set(repairs) - REPAIRS.keys())
    if unknown:
        raise ConfigurationError(f"unknown repair '{unknown[0]}'; available: {', '.join(REPAIRS)}")
    reasons = _reasons(corpus, repairs)
    changed: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    with write_text_atomically(out) as kept, write_text_atomically(removed) as dropped:
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
    """Return the pairs to remove, each with the first reason that applies."""
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
    """Replace tabs and line breaks, which a TSV field cannot contain."""
    return re.sub(r"[\t\r\n]+", " ", text)


def write_parts(corpus: Corpus, parts: Array, names: Sequence[str], directory: Path) -> dict[str, int]:
    """Write a TSV file for each part of a split, all or none; return how many pairs each has."""
    with ExitStack() as stack:
        files = [stack.enter_context(write_text_atomically(directory / f"{name}.tsv")) for name in names]
        for i, part in enumerate(parts):
            source, reference = (_cell(store.text(i)) for store in corpus.texts)
            files[part].write(f"{source}\t{reference}\n")
    return {name: int((parts == part).sum()) for part, name in enumerate(names)}
