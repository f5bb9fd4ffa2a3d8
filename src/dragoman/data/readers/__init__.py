"""Read records from files of all usual formats. One module per format; FORMATS lists them.

    for record in read_records(["pairs.tsv.gz", "train.en,train.es", "memory.tmx"]):
        source, reference = record.fields

The format is given or follows from the extension, ignoring .gz, .xz, .bz2 and .zst. "-" is standard input. Two
line-aligned files are given as one name, source first: "train.en,train.es".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dragoman.data.readers.aligned import ALIGNED, is_two_files, parts
from dragoman.data.readers.conll import CONLL
from dragoman.data.readers.jsonl import JSONL
from dragoman.data.readers.labelled import LABELLED
from dragoman.data.readers.layout import Format, Kind, Layout
from dragoman.data.readers.parquet import PARQUET
from dragoman.data.readers.plain import PLAIN
from dragoman.data.readers.po import PO
from dragoman.data.readers.series import Series, read_series
from dragoman.data.readers.table import CSV, TSV
from dragoman.data.readers.tmx import TMX
from dragoman.data.readers.xliff import XLIFF
from dragoman.data.records import OnBadLine, Problem, ReadErrors, Record
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.errors import ConfigurationError, DataError

__all__ = [
    "FORMATS",
    "Format",
    "Kind",
    "Layout",
    "Problem",
    "ReadErrors",
    "Reading",
    "Record",
    "Series",
    "find_format",
    "read_records",
    "read_series",
]

# if formats share an extension, the first one with the kind of record is used: a .txt of pairs is TSV
FORMATS: dict[str, Format] = {
    format.name: format for format in (PLAIN, TSV, CSV, ALIGNED, JSONL, PARQUET, TMX, XLIFF, PO, LABELLED, CONLL)
}
PAIRS = Layout()


class Reading:
    """Records of several files, in order. Each iteration reads the files again and resets `problems`."""

    def __init__(
        self,
        names: Sequence[str | Path],
        layout: Layout = PAIRS,
        format: str | None = None,
        encoding: str = "utf-8",
        on_bad_line: OnBadLine = "error",
    ) -> None:
        given = [names] if isinstance(names, str | Path) else names
        if not given:
            raise ConfigurationError("no files given; name at least one, or - for standard input")
        self.layout, self.on_bad_line = layout, on_bad_line
        self.problems = ReadErrors(on_bad_line)
        self.sink: Callable[[str, str, int, str], None] | None = None  # called for every line that is skipped
        self.sources = [Source(str(name), encoding) for name in given]
        self.formats = [find_format(source, layout, format) for source in self.sources]
        self._files = [file for source in self.sources for file in parts(source)]
        if [file.name for file in self._files].count(STANDARD_INPUT) > 1:
            raise ConfigurationError("standard input (-) is named more than once; it can be read only once")
        self._passes = 0

    def __iter__(self) -> Iterator[Record]:
        for file in self._files:
            if self._passes and file.is_single_pass:
                raise DataError(f"{file.shown} can be read only once; save it to a file and use that")
        self._passes += 1
        self.problems = ReadErrors(self.on_bad_line, sink=self.sink)
        return self._records(self.problems)

    def _records(self, problems: ReadErrors) -> Iterator[Record]:
        for source, format in zip(self.sources, self.formats, strict=True):
            yield from format.read(source, self.layout, problems)


def read_records(
    names: Sequence[str | Path],
    layout: Layout = PAIRS,
    format: str | None = None,
    encoding: str = "utf-8",
    on_bad_line: OnBadLine = "error",
) -> Reading:
    """Read the records of the files, lazily.

    names        paths, "-" for standard input, "train.en,train.es" for two line-aligned files
    layout       the fields of a record and their columns; by default pairs in the first two columns
    format       one of FORMATS for all files; None: by extension
    encoding     encoding of files that do not declare it, as XML does; a byte order mark is removed
    on_bad_line  error: the first bad line raises an error; skip: bad lines are skipped and counted in `problems`
    """
    return Reading(names, layout, format, encoding, on_bad_line)


def find_format(source: Source, layout: Layout, name: str | None = None) -> Format:
    """Return the named format, or the one of the extension."""
    known = f"available: {', '.join(FORMATS)}"
    if name is not None:
        if name not in FORMATS:
            raise ConfigurationError(f"unknown format '{name}'; {known}")
        found = [FORMATS[name]]
    elif is_two_files(source.name):
        found = [ALIGNED]
    else:
        found = [format for format in FORMATS.values() if source.extension in format.extensions]
    if not found:
        why = f"unknown extension '.{source.extension}'" if source.extension else "it has no extension"
        raise DataError(
            f"cannot determine the format of {source.shown}: {why}. Give it with --format; {known}. "
            "(Two line-aligned files are given as one name: train.en,train.es)"
        )
    fitting = [format for format in found if layout.kind in format.kinds]
    if not fitting:
        kinds = ", ".join(found[0].kinds)
        raise DataError(f"{source.shown}: {found[0].name} files hold {kinds}, not {layout.kind}; use another --format")
    return fitting[0]
