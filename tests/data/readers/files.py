"""Files of every format with the same pairs in them, and short ways to read."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dragoman.data.readers import Layout, ReadErrors, Reading, read_records

Pair = tuple[str, str]

# what must survive: accents, ñ, inverted marks, quotes, commas, apostrophes, markup, letters beyond the first plane
PAIRS: list[Pair] = [
    ("Go.", "Ve."),
    ("Where are you, Ana?", "¿Dónde estás, Ana?"),
    ("How nice!", "¡Qué niño más simpático!"),
    ('He said "no", twice.', 'Dijo «no», "dos" veces.'),
    ("It's 3 < 4 & 5 > 4.", "El 3 < 4 y el 5 > 4 & ya."),
    ("A clef: 𝄞 and 日本", "Una clave: 𝄞 y 日本"),
]


def as_tsv(pairs: Sequence[Pair] = PAIRS) -> bytes:
    return "".join(f"{s}\t{r}\n" for s, r in pairs).encode()


def as_csv(pairs: Sequence[Pair] = PAIRS) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(pairs)
    return out.getvalue().encode()


def as_jsonl(pairs: Sequence[Pair] = PAIRS) -> bytes:
    return "".join(json.dumps({"source": s, "reference": r}) + "\n" for s, r in pairs).encode()


def as_parquet(pairs: Sequence[Pair] = PAIRS) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"source": [s for s, _ in pairs], "reference": [r for _, r in pairs]}), out)
    return out.getvalue()


def as_tmx(pairs: Sequence[Pair] = PAIRS) -> bytes:
    def variant(language: str, text: str) -> str:
        return f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>\n'

    units = "".join(f"<tu>\n{variant('en', s)}{variant('es', r)}</tu>\n" for s, r in pairs)
    head = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
    return f'{head}<header srclang="en"/>\n<body>\n{units}</body>\n</tmx>\n'.encode()


def as_xliff(pairs: Sequence[Pair] = PAIRS) -> bytes:
    units = "".join(
        f'<trans-unit id="{i}">\n<source>{escape(s)}</source>\n<target>{escape(r)}</target>\n</trans-unit>\n'
        for i, (s, r) in enumerate(pairs)
    )
    head = '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">\n'
    file = '<file original="x" source-language="en" target-language="es" datatype="plaintext">\n'
    return f"{head}{file}<body>\n{units}</body></file></xliff>\n".encode()


def as_xliff2(pairs: Sequence[Pair] = PAIRS) -> bytes:
    units = "".join(
        f'<unit id="{i}">\n<segment><source>{escape(s)}</source><target>{escape(r)}</target></segment>\n</unit>\n'
        for i, (s, r) in enumerate(pairs)
    )
    head = '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="es">\n'
    return f'{head}<file id="f">\n{units}</file></xliff>\n'.encode()


def as_po(pairs: Sequence[Pair] = PAIRS) -> bytes:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    return (head + "".join(f"msgid {quoted(s)}\nmsgstr {quoted(r)}\n\n" for s, r in pairs)).encode()


PAIR_FILES: dict[str, Callable[[Sequence[Pair]], bytes]] = {
    "pairs.tsv": as_tsv,
    "pairs.tab": as_tsv,
    "pairs.txt": as_tsv,
    "pairs.csv": as_csv,
    "pairs.jsonl": as_jsonl,
    "pairs.ndjson": as_jsonl,
    "pairs.parquet": as_parquet,
    "pairs.tmx": as_tmx,
    "pairs.xlf": as_xliff,
    "pairs.xliff": as_xliff2,
    "pairs.po": as_po,
}

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}


def write(folder: Path, name: str, data: bytes | str) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def fields(names: str | Sequence[str], layout: Layout | None = None, **options: str) -> list[tuple[str, ...]]:
    """The fields of all records; any problem is an error."""
    return [record.fields for record in reading(names, layout, **options)]


def lines(names: str | Sequence[str], layout: Layout | None = None, **options: str) -> tuple[list[int], ReadErrors]:
    """The lines of the records, with bad ones left out, and the account of those."""
    read = reading(names, layout, on_bad_line="skip", **options)
    return [record.line for record in read], read.problems


def reading(names: str | Sequence[str], layout: Layout | None = None, **options: str) -> Reading:
    listed = [names] if isinstance(names, str) else names
    return read_records(listed, layout or Layout(), **options)  # type: ignore[arg-type]


def account(problems: ReadErrors) -> list[tuple[str, int]]:
    """(reason, line) of the examples, in the order of their lines."""
    found = [(problem.reason, problem.line) for kept in problems.examples.values() for problem in kept]
    return sorted(found, key=lambda one: one[1])


# ru_maxrss of a child starts at what its parent had; the high-water mark of /proc is its own
PEAK = """
import sys
from dragoman.data.readers import Layout, read_records
name, format, encoding, kind = sys.argv[1:]
read = read_records([name], Layout(kind), format, encoding, on_bad_line="skip")
count = 0
try:
    for _ in read:
        count += 1
except Exception as error:
    print(type(error).__name__, error, file=sys.stderr)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(count, len(read.problems), int(peak) // 1024)
"""


def measured(name: str, format: str, encoding: str = "utf-8") -> tuple[int, int, int, str]:
    """Records, problems and peak memory in MB of a process of its own, and the error it ended with."""
    if not Path("/proc/self/status").exists():
        pytest.skip("MEMORY NOT CHECKED: it is read from /proc, which only Linux has")
    kind = "text" if format == "plain" else "pairs"
    command = [sys.executable, "-c", PEAK, name, format, encoding, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    records, problems, megabytes = map(int, done.stdout.split())
    return records, problems, megabytes, done.stderr
