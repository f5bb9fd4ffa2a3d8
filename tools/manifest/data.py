"""Prepared datasets: cache keys, the bytes of stores, parts and encoders, and the first batches."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.manifest import commands, inner, values

BATCHES = 50
COMMON = ["data.shares=[0.8, 0.1, 0.1]", "optimizer.batch=8"]
TEXT, PAIRS = "classification", "translation"
# by name: a task, a file, assignments
DATASETS: dict[str, tuple[str, str, list[str]]] = {
    "pairs": (PAIRS, "pairs.tsv", COMMON),
    "pairs: words": (PAIRS, "pairs.tsv", [*COMMON, "data.tokenizer=words"]),
    "pairs: characters": (PAIRS, "pairs.tsv", [*COMMON, "data.tokenizer=characters"]),
    "pairs: bpe": (PAIRS, "pairs.tsv", [*COMMON, "data.tokenizer=bpe"]),
    "pairs: unigram": (PAIRS, "pairs.tsv", [*COMMON, "data.tokenizer=unigram"]),
    "pairs: joint": (PAIRS, "pairs.tsv", [*COMMON, "data.joint=true"]),
    "pairs: unprotected": (PAIRS, "pairs.tsv", [*COMMON, "data.protect=false"]),
    "pairs: by sample": (PAIRS, "pairs.tsv", [*COMMON, "data.split=sample", "seed=3"]),
    "pairs: cut": (PAIRS, "pairs.tsv", [*COMMON, "data.maximum=[5, 6]", "data.vocabulary=[90, 100]"]),
    "pairs: thesis": (PAIRS, "pairs.tsv", ["recipe=thesis"]),
    "pairs: by tokens": (PAIRS, "pairs.tsv", [*COMMON, "optimizer.tokens=100", "optimizer.growth=[[2, 2.0]]"]),
    "pairs: ungrouped": (PAIRS, "pairs.tsv", [*COMMON, "optimizer.grouped=false", "optimizer.keep_remainder=false"]),
    "pairs: gru-attention": (PAIRS, "pairs.tsv", [*COMMON, "architecture=gru-attention"]),
    "pairs: jsonl": (PAIRS, "pairs.jsonl", [*COMMON, 'data.columns=["en", "es"]']),
    "pairs: csv": (PAIRS, "table.csv", [*COMMON, 'data.columns=["en", "es"]']),
    "pairs: tmx": (PAIRS, "memory.tmx", [*COMMON, 'data.languages=["en", "es"]']),
    "pairs: aligned": (PAIRS, "train.en,data/train.es", COMMON),
    "pairs: skipped": (PAIRS, "noisy.tsv", [*COMMON, "data.on_bad_line=skip"]),
    "toy: copy": (PAIRS, "copy", []),
    "stream": ("language-model", "book.txt", ["data.context=32", "optimizer.batch=8"]),
    "stream: carried": ("language-model", "book.txt", ["data.context=16", "architecture=gru"]),
    "stream: words": ("language-model", "book.txt", ["data.tokenizer=words", "data.context=8"]),
    "texts": (TEXT, "moods.tsv", COMMON),
    "texts: csv": (TEXT, "moods.csv", [*COMMON, 'data.text=["text", "title"]', "data.label=mood"]),
    "texts: transformer": (TEXT, "moods.tsv", [*COMMON, "architecture=transformer", "data.tokenizer=wordpiece"]),
    "texts: several labels": (TEXT, "labels.jsonl", [*COMMON, "data.several=true"]),
    "texts: balanced": (TEXT, "moods.tsv", [*COMMON, "loss.class_weights=balanced"]),
    "numbers": ("regression", "ratings.tsv", COMMON),
    "numbers: lstm": ("regression", "ratings.tsv", [*COMMON, "architecture=lstm"]),
    "words": ("tagging", "words.conll", COMMON),
    "words: transformer": ("tagging", "words.conll", [*COMMON, "architecture=transformer"]),
    "images": ("image-classification", "shapes", COMMON),
    "images: resized": ("image-classification", "photos", [*COMMON, "data.resize=8x8", "data.shift=1"]),
    "captions": ("captioning", "captioned", COMMON),
    "captions: scenes": ("captioning", "scenes", ["data.scenes=40", "optimizer.batch=8"]),
    "series": ("forecasting", "series.csv", ["optimizer.batch=8", "data.horizon=7"]),
    "series: filled": (
        "forecasting",
        "gaps.csv",
        ["optimizer.batch=8", "data.fill=linear", "architecture=transformer"],
    ),
}
BUILT_IN = ("copy", "scenes")


def record() -> Iterator[tuple[str, Any]]:
    for name, (task, file, options) in DATASETS.items():
        place = file if file in BUILT_IN else f"data/{file}"
        given = inner.nested(options)
        given["data"] = {**given.get("data", {}), "files": [place]}
        yield f"train / {name}", dataset({"task": task, "threads": 1, "preset": "small", **given}, name)
    for workers in (1, 3):
        for name, more in (("plain", []), ("joint", ["--set", "data.joint=true"])):
            yield f"prepare / {name} / {workers} workers", prepared_by_command(name, workers, more)
    yield "split", files_of("data", "split", "data/pairs.tsv", "--out", "split")
    clean = ("data", "clean", "data/pairs.tsv", "--out", "cleaned/pairs.tsv", "--drop", "default,identical")
    Path("cleaned").mkdir(exist_ok=True)
    yield "clean", files_of(*clean, place="cleaned")
    yield "check", commands.run("data", "check", "data/pairs.tsv", "--json")
    yield "check against", commands.run("data", "check", "data/pairs.tsv", "--against", "data/more.tsv")


def files_of(*arguments: str, place: str = "") -> dict[str, Any]:
    """What a command says, and the files that it writes."""
    return {"command": commands.run(*arguments), **values.directory(Path(place or arguments[-1]))}


def dataset(given: dict[str, Any], name: str) -> dict[str, Any]:
    """A dataset as `train` prepares it, in a cache of its own."""
    os.environ["XDG_CACHE_HOME"] = cache = f"caches/{''.join(c if c.isalnum() else '-' for c in name)}"
    said: list[str] = []
    training = inner.begun(given, said.append)
    return {
        "files": values.directory(Path(cache)),
        "said": [commands.without_place(line) for line in said],
        "batches": described(training.batches),
        "validation": described(training.validation),
    }


def described(batches: Iterator[Any]) -> dict[str, Any]:
    """The first batch, and a digest of each."""
    found = [values.plain(batch) for batch in itertools.islice(batches, BATCHES)]
    digests = [values.digest(json.dumps(each, sort_keys=True).encode())[:16] for each in found]
    return {"first": found[0] if found else None, "digests": digests}


def prepared_by_command(name: str, workers: int, more: list[str]) -> dict[str, Any]:
    out = f"prepared/{name}-{workers}"
    sources = ["data/pairs.tsv", "data/more.tsv"]
    shares = ["--shares", "80,10,10"]
    done = commands.run("data", "prepare", *sources, "--out", out, "--workers", workers, *shares, *more)
    files = values.directory(Path(out))  # before it is used
    given = {"task": PAIRS, "threads": 1, "preset": "small", "data": {"files": [out]}, "optimizer": {"batch": 8}}
    return {"command": done, "files": files, "batches": described(inner.begun(given).batches)}
