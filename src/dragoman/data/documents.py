"""Detect documents that are not plain text: translating their lines one by one would destroy their structure.

They are detected by extension, first bytes or lines. Prose that contains a tag or an arrow is plain text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.errors import DataError

HEAD = 20  # lines to look at, without blank ones
TAKEN = "translate reads plain text, one text per line, and tables (TSV, CSV, JSON Lines, Parquet)"
ANYWAY = "--format plain translates every line as it is"


@dataclass(frozen=True)
class Document:
    """A kind of document, and what the user can do with it."""

    what: str
    advice: str
    is_text: bool = True

    def refuse(self, name: str) -> DataError:
        anyway = f" ({ANYWAY})" if self.is_text else ""
        return DataError(f"{name} is {self.what}; {TAKEN}. {self.advice}{anyway}")


_SEGMENTS = (
    "Export its source segments as plain text, one per line; "
    "`dragoman data clean` converts translated segments to a table"
)
_SAVE = "Save it as plain text first"
_EXTRACT = "Extract its text first, one paragraph per line"
XLIFF = Document("an XLIFF document", _SEGMENTS)
TMX = Document("a TMX translation memory", _SEGMENTS)
PO = Document("a gettext PO catalogue", _SEGMENTS)
SUBTITLES = Document("a file of subtitles", "Save the text of the subtitles, one per line, without numbers and times")
HTML = Document("an HTML page", _EXTRACT)
XML = Document("an XML document", _EXTRACT)
MARKUP = Document("a document with markup", _EXTRACT)
RESOURCES = Document("a file of keys and texts", "Save only the texts, one per line")
JSON = Document("a JSON document", 'Save its texts one per line, or as .jsonl: one object {"source": "..."} per line')
JSON_LINES = Document("in JSON Lines", "Rename it to .jsonl, or use --format jsonl: the key 'source' is translated")
TABLE = Document(
    "a table, with tabs between its columns", "Rename it to .tsv, or use --format tsv: column 1 is translated"
)
OFFICE = Document("an office document", _SAVE, is_text=False)
PDF = Document("a PDF document", "Extract its text first, with pdftotext for example", is_text=False)
RTF = Document("an RTF document", _SAVE, is_text=False)
ARCHIVE = Document("an archive", "Unpack it and give a file from it", is_text=False)
ZIP = Document("a ZIP archive (as DOCX, XLSX, ODT and EPUB are)", f"Unpack it, or: {_SAVE.lower()}", is_text=False)
GZIP = Document("compressed", "Rename it to .gz, or decompress it first", is_text=False)
PARQUET = Document("a Parquet table", "Rename it to .parquet, or use --format parquet", is_text=False)
UTF_16 = Document("UTF-16 text", "Use --encoding utf-16", is_text=False)
BINARY = Document("a binary file", "Give it a text file", is_text=False)

_EXTENSIONS = {
    XLIFF: "xlf xliff sdlxliff mxliff mqxliff",
    TMX: "tmx",
    PO: "po pot",
    SUBTITLES: "srt vtt ass ssa sub sbv ttml",
    HTML: "html htm xhtml",
    XML: "xml dita resx svg tei tbx",
    MARKUP: "md markdown rst tex adoc org wiki",
    RESOURCES: "properties strings yaml yml ini toml arb",
    JSON: "json",
    OFFICE: "doc docx odt ott pages xls xlsx ods ppt pptx odp epub idml mobi",
    PDF: "pdf",
    RTF: "rtf",
    ARCHIVE: "zip tar tgz 7z rar",
    BINARY: "mo qm exe bin png jpg jpeg gif mp3 mp4 wav safetensors",
}
BY_EXTENSION = {extension: kind for kind, extensions in _EXTENSIONS.items() for extension in extensions.split()}
_BY_BYTES = {
    b"%PDF-": PDF,
    b"PK\x03\x04": ZIP,
    b"{\\rtf": RTF,
    b"\xd0\xcf\x11\xe0": OFFICE,
    b"\x1f\x8b": GZIP,
    b"PAR1\x15": PARQUET,
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
}

# Lines that occur in one kind of document only, anywhere in it.
_TIMES = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\s+-->\s+(?:\d+:)?\d{1,2}:\d{2}[.,]\d{3}\b")
_TIMES_ALONE = re.compile(rf"{_TIMES.pattern}(?:\s+\w+:\S+)*\s*")  # with WebVTT settings
_ENTRY = re.compile(r'(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)\s+".*"\s*$')
# How a document begins.
_XML = re.compile(r"<\?xml\b|<!doctype\b|<!--|<(?:html|xliff|tmx|svg|tei|resources)(?=[\s>])", re.IGNORECASE)
_START_TAG = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_JSON = re.compile(r'\{\s*"|\[\s*[{"\[]|[\[{]$')
_JSON_NEXT = re.compile(r'["{\[\d]|[\]}]|(?:true|false|null)\b')
_XML_KINDS = {"<xliff": XLIFF, "<tmx": TMX, "<html": HTML, "<!doctype html": HTML}


def document_by_name(name: str) -> Document | None:
    """Detect a document by its extension; 'job.xlf.gz' is an XLIFF document too."""
    for suffix in reversed(Path(name).suffixes):
        if kind := BY_EXTENSION.get(suffix[1:].lower()):
            return kind
        if suffix.lower() not in (".gz", ".xz", ".bz2", ".zst"):
            break
    return None


def document_by_bytes(beginning: bytes) -> Document | None:
    """Detect a document by its first bytes."""
    known = (kind for mark, kind in _BY_BYTES.items() if beginning.startswith(mark))
    return next(known, BINARY if b"\0" in beginning else None)


def document_in_table(lines: Sequence[str], format: str) -> Document | None:
    """Detect a document that was given as a table, by its first lines.

    format  tsv, csv or jsonl. Rows with equal numbers of columns are a table, whatever their cells contain.
    """
    lines = _outside_quotes(lines) if format == "csv" else lines
    head = [line.strip() for line in lines if line.strip()][:HEAD]
    if not head or _has_columns(head, format):
        return None
    alone = (PO if _ENTRY.match(line) else SUBTITLES if _TIMES_ALONE.fullmatch(line) else None for line in head)
    kind = next((kind for kind in alone if kind), None) or _by_head(head)
    return None if kind in EXPECTED[format] else kind


EXPECTED = {"tsv": (TABLE,), "csv": (), "jsonl": (JSON, JSON_LINES, TABLE)}  # fine in a file of this format


def _outside_quotes(lines: Sequence[str]) -> list[str]:
    """Return the lines of a CSV file at which a row begins."""
    found, inside = [], False
    for line in lines:
        if not inside:
            found.append(line)
        inside ^= line.count('"') % 2 == 1
    return found


def _has_columns(head: Sequence[str], format: str) -> bool:
    if format != "csv":
        return _is_table(head)
    widths = {len(row) for line in head for row in csv.reader([line])}
    return len(head) > 1 and len(widths) == 1 and widths != {1}


@dataclass
class PlainText:
    """Checks lines as they are read: `check` raises a DataError as soon as they look like a document."""

    name: str
    head: list[str] = field(default_factory=list)

    def check(self, lines: Sequence[str]) -> None:
        known = len(self.head)
        self.head += [line.strip() for line in lines if line.strip()][: HEAD - known]
        kind = next((kind for line in lines if (kind := _by_line(line))), None)
        if kind is None and len(self.head) > known:
            kind = _by_head(self.head)
        if kind:
            raise kind.refuse(self.name)


def _by_line(line: str) -> Document | None:
    if "\0" in line:
        return BINARY
    if "-->" in line and _TIMES.match(line):
        return SUBTITLES
    return PO if line.startswith("msg") and _ENTRY.match(line) else None


def _by_head(head: Sequence[str]) -> Document | None:
    """Detect a document by its first lines, without blank ones."""
    first = head[0]
    if first in ("WEBVTT", "[Script Info]"):
        return SUBTITLES
    if first.startswith(("%PDF-", "{\\rtf")):
        return PDF if first.startswith("%") else RTF
    if _XML.match(first) or _is_element(head):
        beginning = " ".join(head).lower()
        return next((kind for mark, kind in _XML_KINDS.items() if mark in beginning), XML)
    return _json(head) or (TABLE if _is_table(head) else None)


def _is_element(head: Sequence[str]) -> bool:
    """Return whether a tag is alone on the first line and its end or other tags follow; <none> alone is prose."""
    tag = _START_TAG.fullmatch(head[0])
    if tag is None:
        return False
    ends = any(f"</{tag[1]}>" in line for line in head[1:])
    return ends or sum(line.startswith("<") and line.endswith(">") for line in head[1:]) >= 3


def _json(head: Sequence[str]) -> Document | None:
    """Detect JSON objects and arrays; a footnote [1], a [sound] or a {placeholder} is prose."""
    try:
        found = json.loads(head[0]) if head[0][0] in "{[" else None
    except (ValueError, RecursionError):  # incomplete on this line, or not JSON
        opened = _JSON.match(head[0]) and len(head) > 1 and _JSON_NEXT.match(head[1])
        return JSON if opened else None
    if isinstance(found, list):
        return JSON if any(isinstance(item, dict | list | str) for item in found) else None
    return JSON_LINES if found else None


def _is_table(head: Sequence[str]) -> bool:
    """Return whether there are several lines, all with the same number of columns, at least two."""
    columns = {line.count("\t") for line in head}
    return len(head) > 1 and len(columns) == 1 and columns != {0}
