"""Records that readers yield, with their file and line, and the errors of lines that could not be used."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from dragoman.errors import ConfigurationError, DataError
from dragoman.wording import counted

KEPT_EXAMPLES = 5
EXCERPT = 60
# Why segments of a translation file are skipped until it is finished: the name of a kind, and how a message puts it.
UNFINISHED = {
    "untranslated": "without a translation",
    "missing language": "without a text in both languages",
    "other languages": "in other languages",
    "fuzzy": "with a fuzzy translation",
    "unfinished": "with an unfinished translation",
    "obsolete": "that are obsolete",
}

OnBadLine = Literal["error", "skip"]

_no_text = re.compile("[\0\ud800-\udfff]")


class Record(NamedTuple):
    """One sample: its fields (source and reference, or label and text, or text alone), file and line.

    `line` is counted from 1: the line where the sample begins, or its row in a file that has no lines (Parquet).
    """

    fields: tuple[str, ...]
    file: str
    line: int


@dataclass(frozen=True)
class Problem:
    """One line that could not be used: the kind of problem, its place, what was found."""

    reason: str
    file: str
    line: int
    detail: str = ""
    excerpt: str = ""

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        shown = f": {self.excerpt}" if self.excerpt else ""
        return f"{self.file}, line {self.line}: {self.reason}{detail}{shown}"


@dataclass
class ReadErrors:
    """Bad lines found while reading: the first raises an error, or all are counted, with examples of each kind."""

    on_bad_line: OnBadLine = "error"
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Problem]] = field(default_factory=dict)
    sink: Callable[[str, str, int, str], None] | None = None  # called for each bad line
    skipped: Counter[str] = field(default_factory=Counter)  # segments by kind (UNFINISHED): counted, never an error
    notes: dict[str, None] = field(default_factory=dict)  # what else the user should know about the files, in order

    def __post_init__(self) -> None:
        if self.on_bad_line not in get_args(OnBadLine):
            raise ConfigurationError(f"--on-bad-line must be error or skip, got '{self.on_bad_line}'")

    def add(self, reason: str, file: str, line: int, text: str = "", detail: str = "") -> None:
        """Add a bad line. `reason` is the same for all lines of a kind; `detail` and `text` belong to this line."""
        excerpt = repr(text if len(text) <= EXCERPT else text[:EXCERPT] + "...") if text else ""
        problem = Problem(reason, file, line, detail, excerpt)
        if self.on_bad_line == "error":
            raise DataError(f"{problem} (use --on-bad-line skip to skip and count such lines)")
        self.counts[reason] += 1
        if self.sink is not None:
            self.sink(reason, file, line, text)
        kept = self.examples.setdefault(reason, [])
        if len(kept) < KEPT_EXAMPLES:
            kept.append(problem)

    def skip(self, kind: str, file: str, line: int, text: str) -> None:
        """Count a segment of one of the kinds UNFINISHED."""
        self.skipped[kind] += 1
        if self.sink is not None:
            self.sink(kind, file, line, text)

    def note(self, text: str) -> None:
        """Keep what a reader decided by itself, to tell it once."""
        self.notes[text] = None

    def merge(self, later: ReadErrors) -> None:
        """Add the errors of files that come after those read so far."""
        self.counts += later.counts
        self.skipped += later.skipped
        self.notes |= later.notes
        for reason, problems in later.examples.items():
            kept = self.examples.setdefault(reason, [])
            kept += problems[: KEPT_EXAMPLES - len(kept)]

    def __len__(self) -> int:
        return self.counts.total()

    def lines(self) -> list[str]:
        """Report what was skipped, most frequent reason first, with examples; empty if every line was used."""
        lines = list(self.notes)
        if self.skipped:
            total, kinds = self.skipped.total(), self.skipped.most_common()
            were = "was" if total == 1 else "were"
            if len(kinds) == 1:
                lines.append(f"{counted(total, 'segment')} {_of_kind(*kinds[0])} {were} skipped")
            else:
                each = ", ".join(f"{count:,} {_of_kind(kind, count)}" for kind, count in kinds)
                lines.append(f"{total:,} segments were skipped: {each}")
        for reason, count in self.counts.most_common():
            lines.append(f"{counted(count, 'line')} skipped: {reason}")
            lines += [f"    {problem}" for problem in self.examples[reason]]
        return lines


def _of_kind(kind: str, count: int) -> str:
    return UNFINISHED[kind].replace("that are", "that is") if count == 1 else UNFINISHED[kind]


def clean(text: str) -> str:
    """Normalize the text to NFC and strip white space."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def fault_of(text: str) -> str:
    """What makes a text unusable; "" if nothing does."""
    if not _no_text.search(text):
        return ""
    return "a NUL character" if "\0" in text else "half a surrogate pair"


def make_record(
    values: Sequence[str], names: Sequence[str], file: str, line: int, problems: ReadErrors
) -> Record | None:
    """Make a record; add a problem and return None if a field is empty or not valid text."""
    fields = tuple([clean(value) for value in values])
    for text in fields:
        if not text or _no_text.search(text):
            _add_problem(fields, names, file, line, problems)
            return None
    return Record(fields, file, line)


def _add_problem(fields: Sequence[str], names: Sequence[str], file: str, line: int, problems: ReadErrors) -> None:
    name, text = next(
        (name, text) for name, text in zip(names, fields, strict=True) if not text or _no_text.search(text)
    )
    if not text:
        problems.add(f"empty {name}", file, line, " | ".join(fields) if any(fields) else "")
    else:
        problems.add(fault_of(text), file, line, text, f"in the {name}")
