"""Small corpora of every kind, generated from a seed into the current directory."""

from __future__ import annotations

import json
import struct
import zlib
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

WHO = {"The man": "El hombre", "The woman": "La mujer", "A friend": "Un amigo", "The boy": "El niño"}
DOES = {"sees": "ve", "buys": "compra", "wants": "quiere", "paints": "pinta", "finds": "encuentra"}
WHAT = {
    "the house": "la casa",
    "the garden": "el jardín",
    "a red car": "un coche rojo",
    "the old book": "el libro viejo",
    "bread": "pan",
    "the green plant": "la planta verde",
    "an apple": "una manzana",
    "the window": "la ventana",
}
PAIRS = [
    *(
        (f"{who} {does} {what}.", f"{WHO[who]} {DOES[does]} {WHAT[what]}.")
        for who, does, what in product(WHO, DOES, WHAT)
    ),
    *((f"{who} pays {n} euros.", f"{WHO[who]} paga {n} euros.") for who in WHO for n in (7, 12, 350)),
    *(
        (f"{who} reads https://example.org/{n}.", f"{WHO[who]} lee https://example.org/{n}.")
        for who in WHO
        for n in "ab"
    ),
    *((f"Hello, {{name}}: {what}!", f"¡Hola, {{name}}: {WHAT[what]}!") for what in WHAT),
    ("The man sees the house.", "El hombre mira la casa."),
]
SONG = "the cat sat on the mat\nthe dog ate the fish, and the bird sang.\nbad cog hum\nfix jet\n\n"
GOOD, BAD = ("wonderful", "brilliant", "moving", "funny"), ("dull", "tedious", "awful", "clumsy")
THINGS = ("film", "plot", "cast", "ending", "music")
MOODS = [
    (f"the {thing} is {word} and the {THINGS[i - 1]} is {words[j - 1]}", mood)
    for mood, words in (("positive", GOOD), ("negative", BAD), ("mixed", (GOOD[0], BAD[0], GOOD[1])))
    for i, thing in enumerate(THINGS)
    for j, word in enumerate(words)
    for _ in range(3)
]
STARS = {"awful": 1, "dull": 2, "fair": 3, "good": 4, "perfect": 5}
RATED = [
    (f"{first} {thing} and {second} {THINGS[i - 1]}", (STARS[first] + STARS[second]) / 2)
    for first, second in product(STARS, STARS)
    for i, thing in enumerate(THINGS)
]
SENTENCES = [
    *(
        [(who, "PROPN"), (does, "VERB"), (".", "PUNCT")]
        for who, does in product(("Anna", "Tom", "Maria"), ("plays", "walks", "works"))
    ),
    *(
        [(who, "PROPN"), ("likes", "VERB"), ("the", "DET"), (what, "NOUN"), (".", "PUNCT")]
        for who, what in product(("Anna", "Tom", "Maria"), ("walk", "play", "house", "garden"))
    ),
    *([(who, "PRON"), (does, "VERB"), ("!", "PUNCT")] for who, does in product(("They", "We"), ("walk", "play"))),
] * 4
SHAPES = ("cross", "disc", "square")


def write_all(place: Path) -> None:
    """Write every corpus below a directory."""
    place.mkdir(parents=True, exist_ok=True)
    _write_pairs(place)
    (place / "book.txt").write_text(SONG * 40, encoding="utf-8")
    _write_tables(place)
    (place / "words.conll").write_text(
        "".join("".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n" for sentence in SENTENCES), "utf-8"
    )
    for size, name in ((8, "shapes"), (16, "photos")):
        _write_images(place / name, size)
    _write_captions(place / "captioned")
    (place / "series.csv").write_text(_series(160), encoding="utf-8")
    (place / "recent.csv").write_text(_series(50), encoding="utf-8")
    (place / "gaps.csv").write_text(_series(160, gaps=True), encoding="utf-8")


def _lines(rows: Any, delimiter: str = "\t") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def _write_pairs(place: Path) -> None:
    (place / "pairs.tsv").write_text(_lines(PAIRS), encoding="utf-8")
    (place / "more.tsv").write_text(_lines([(b, a) for a, b in PAIRS]), encoding="utf-8")
    for side, name in enumerate(("train.en", "train.es")):
        (place / name).write_text("".join(pair[side] + "\n" for pair in PAIRS), encoding="utf-8")
    records = [{"en": a, "es": b, "id": i} for i, (a, b) in enumerate(PAIRS)]
    (place / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    (place / "table.csv").write_text(
        _lines([("id", "en", "es"), *((i, f'"{a}"', f'"{b}"') for i, (a, b) in enumerate(PAIRS))], ","), "utf-8"
    )
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="es"><seg>{b}</seg></tuv></tu>\n' for a, b in PAIRS
    )
    header = '<header srclang="en" datatype="plaintext" segtype="sentence" adminlang="en" creationtool="x" '
    header += 'creationtoolversion="1" o-tmf="x"/>'
    (place / "memory.tmx").write_text(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">{header}<body>\n{units}</body></tmx>\n', "utf-8"
    )
    (place / "bad.tsv").write_text("one\tuno\nonly one column\ntwo\tdos\n", encoding="utf-8")
    (place / "noisy.tsv").write_text(_lines(PAIRS) + "only one column\n\t\nthree\tcolumns\there\n", encoding="utf-8")
    (place / "empty.tsv").write_text("", encoding="utf-8")
    (place / "lines.txt").write_text("".join(f"{a}\n" for a, _ in PAIRS[::40]) + "\n  Two  spaces.\n", "utf-8")


def _write_tables(place: Path) -> None:
    (place / "moods.tsv").write_text(_lines((mood, text) for text, mood in MOODS), encoding="utf-8")
    rows = [(f'"{text}"', mood, f'"{mood.upper()}, {i}"') for i, (text, mood) in enumerate(MOODS)]
    (place / "moods.csv").write_text(_lines([("text", "mood", "title"), *rows], ","), encoding="utf-8")
    both = [(text, mood if i % 3 else f"{mood},long") for i, (text, mood) in enumerate(MOODS)]
    records = [{"text": text, "label": labels.split(",")} for text, labels in both]
    (place / "labels.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    (place / "ratings.tsv").write_text(_lines((stars, text) for text, stars in RATED), encoding="utf-8")


def png(pixels: Any) -> bytes:
    """A PNG file of [height, width] or [height, width, 3] bytes."""
    height, width = pixels.shape[:2]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def drawing(shape: str, size: int, rng: np.random.Generator) -> Any:
    """[size, size] a bright shape on a dark ground."""
    radius = size // 4
    y, x = np.mgrid[:size, :size] - rng.integers(radius, size - radius, (2, 1, 1))
    inside = {
        "cross": (np.minimum(abs(x), abs(y)) == 0) & (np.maximum(abs(x), abs(y)) <= radius),
        "disc": x * x + y * y <= radius * radius,
        "square": (np.maximum(abs(x), abs(y)) <= radius) & (np.maximum(abs(x), abs(y)) > radius - size / 8),
    }[shape]
    return (200 * inside + rng.integers(0, 40, (size, size))).astype(np.uint8)


def _write_images(folder: Path, size: int) -> None:
    rng = np.random.default_rng(size)
    for i in range(120):
        shape = SHAPES[i % 3]
        (folder / shape).mkdir(parents=True, exist_ok=True)
        (folder / shape / f"{i:03}.png").write_bytes(png(drawing(shape, size, rng)))


def _write_captions(folder: Path) -> None:
    rng, lines = np.random.default_rng(5), []
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(60):
        shape = SHAPES[i % 3]
        colour = i // 3 % 3
        pixels = np.zeros((16, 16, 3), np.uint8)
        pixels[:, :, colour] = drawing(shape, 16, rng)
        (folder / f"{i:02}.png").write_bytes(png(pixels))
        lines.append(f"{i:02}.png\ta {('red', 'green', 'blue')[colour]} {shape}")
    (folder / "captions.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _series(count: int, gaps: bool = False) -> str:
    rng, t = np.random.default_rng(1), np.arange(count)
    visitors = 100 + 20 * np.sin(2 * np.pi * t / 7) + rng.standard_normal(count)
    sales = 3 + np.cos(2 * np.pi * t / 7) + 0.1 * rng.standard_normal(count)
    rows = [
        (date(2024, 1, 1) + timedelta(days=int(i)), "" if gaps and i % 31 == 5 else f"{v:.3f}", f"{s:.4f}")
        for i, v, s in zip(t, visitors, sales, strict=True)
    ]
    return _lines([("date", "visitors", "sales"), *rows], ",")
