"""Clean a corpus: mend its text, leave harmful pairs out, and report every change."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dragoman.data.corpus import Corpus
from dragoman.data.findings import KINDS, Findings, scan
from dragoman.data.mending import DEFAULT, REPAIRS, repair_text
from dragoman.data.output import cell, write_atomically, write_text_atomically
from dragoman.data.readers import Reading
from dragoman.data.records import Record
from dragoman.data.rewriting import REWRITERS, Edits
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

SWAPPED = "swapped"  # the repair that turns pairs round
EMPTY, LEAKED, UNREADABLE = "empty", "leaked", "unreadable"
DROPPED = ("duplicates", "untranslated", "outliers")  # by default
PLAIN = ("tsv", "csv", "jsonl")  # formats that pairs of any file can be written in


@dataclass(frozen=True)
class Cleaning:
    """What to do with the pairs: names of REPAIRS (or swapped), and names of KINDS to leave out."""

    repairs: Collection[str] = DEFAULT
    drops: Collection[str] = DROPPED

    def __post_init__(self) -> None:
        for what, names, known in (("repair", self.repairs, [*REPAIRS, SWAPPED]), ("drop", self.drops, list(KINDS))):
            if unknown := sorted(set(names) - set(known)):
                raise ConfigurationError(f"unknown --{what} '{unknown[0]}'; available: {', '.join(known)}, none")


@dataclass
class Outcome:
    """The result of a cleaning: pairs read and written, pairs changed by each repair and left out for each reason.

    stayed  pairs that were to be left out, but share a unit of a file with others
    """

    read: int = 0
    written: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    stayed: int = 0


def clean_pairs(
    corpus: Corpus,
    directory: Path,
    out: Path,
    removed: Path,
    cleaning: Cleaning = Cleaning(),
    against: Corpus | None = None,
    again: Reading | None = None,
    format: str = "tsv",
    unreadable: Iterable[tuple[str, str, int, str]] = (),
) -> Outcome:
    """Write the pairs that are kept, mended; and those that are not to another file, with reason, file and line.

    directory   for a working copy
    against     pairs with a text of this corpus are left out
    again       reads the files of the corpus: they are written in their own format; None: pairs alone are written
    unreadable  the lines that gave no pair: (reason, file, line, text)
    """
    repaired = Corpus(_repaired(corpus, cleaning.repairs), directory)
    reasons, swapped = _judged(repaired, cleaning, against)
    left_out: Counter[str] = Counter()
    edits = Edits(cleaning.repairs, np.isin(np.arange(len(corpus)), list(reasons)), swapped)
    with write_atomically(out) as kept, write_text_atomically(removed) as dropped:
        if again is None:
            _write_pairs(corpus, format, edits, kept)
        else:
            REWRITERS[format](again.sources, again.layout, edits, kept)
        for reason, name, number, text in unreadable:
            left_out[UNREADABLE] += 1
            dropped.write(f"{cell(reason)}\t{name}\t{number}\t{cell(text)}\n")
        for i, reason in reasons.items():
            file, line = repaired.places[i]
            texts = "\t".join(cell(store.text(i)) for store in repaired.texts)
            dropped.write(f"{reason}\t{repaired.files[file]}\t{line}\t{texts}\n")
    left_out.update(reasons.values())
    read = len(corpus) + left_out[UNREADABLE]
    return Outcome(read, read - left_out.total() + edits.stayed, edits.changed, left_out, edits.stayed)


def _repaired(corpus: Corpus, repairs: Collection[str]) -> Iterator[Record]:
    for record in corpus:
        texts = tuple(repair_text(text, repairs)[0].strip() for text in record.fields)
        yield record._replace(fields=texts)


def _judged(corpus: Corpus, cleaning: Cleaning, against: Corpus | None) -> tuple[dict[int, str], Array]:
    """The pairs to leave out, each with the first reason that applies, in order; and which are to be turned round."""
    findings = Findings(corpus)
    swapped = np.zeros(len(corpus), bool)
    if SWAPPED in cleaning.repairs:
        swapped[findings.items(SWAPPED)] = True
    found = {EMPTY: np.flatnonzero((findings.source.characters == 0) | (findings.reference.characters == 0))}
    if against is not None:
        keys = enumerate((findings.source.keys, findings.reference.keys))
        found[LEAKED] = np.flatnonzero(np.any([np.isin(ours, scan(against, side).keys) for side, ours in keys], axis=0))
    found |= {name: findings.items(name) for name in KINDS if name in cleaning.drops}
    reasons: dict[int, str] = {}
    for reason, items in found.items():
        for i in items.tolist():
            if not (reason == SWAPPED and swapped[i]):
                reasons.setdefault(i, reason)
    return dict(sorted(reasons.items())), swapped


def _write_pairs(corpus: Corpus, format: str, edits: Edits, out: BinaryIO) -> None:
    """Write source and target of each pair."""
    text = io.TextIOWrapper(out, "utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text, lineterminator="\n")
    if format == "csv":
        table.writerow(["source", "target"])
    for record in corpus:
        if not edits.keep(1):
            continue
        pair = [side.strip() for side in edits.mend_sides(record.fields)]
        edits.done()
        if format == "csv":
            table.writerow(pair)
        elif format == "jsonl":
            text.write(json.dumps(dict(zip(("source", "target"), pair, strict=True)), ensure_ascii=False) + "\n")
        else:
            text.write("\t".join(map(cell, pair)) + "\n")
    text.detach()


def write_parts(corpus: Corpus, parts: Array, names: Sequence[str], directory: Path) -> dict[str, int]:
    """Write a TSV file for each part of a split, all or none; return how many pairs each has."""
    with ExitStack() as stack:
        files = [stack.enter_context(write_text_atomically(directory / f"{name}.tsv")) for name in names]
        for i, part in enumerate(parts):
            source, reference = (cell(store.text(i)) for store in corpus.texts)
            files[part].write(f"{source}\t{reference}\n")
    return {name: int((parts == part).sum()) for part, name in enumerate(names)}
