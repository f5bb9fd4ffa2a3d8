"""Measure how much fine-tuning gains on new pairs and forgets on the old ones.

    python benchmarks/finetuning.py eng-spa.tsv.gz --work finetuning

The base model is trained on 30,000 pairs of the file: distinct English sentences of at most 8 words, drawn with seed 0.
The new domain is the built-in corpus `phrases`: 1,000 pairs to fine-tune on and 1,000 others to test on, none with a
source sentence of the base model. The base model is then fine-tuned in several ways. BLEU and chrF are measured with
greedy search, on the base model's own test set (old) and on the new test pairs (new). Models stay in the working
directory: a second run only scores them.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.builtin import built_in
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.testing import load_testing
from dragoman.tasks.translation.translator import DecodingOptions, Translator

Pair = tuple[str, str]
LONGEST = 8  # words in a source sentence of the base model
BASE, NEW, TESTED = 30_000, 1_000, 1_000
WAYS: dict[str, dict[str, Any]] = {
    "as from scratch": {
        "optimizer": {"rate": 0.01},
        "stopping": {"epochs": 100, "patience": 100},
        "start": {"replay": 0},
    },
    "fine-tuning recipe, no replay": {"start": {"replay": 0}},
    "fine-tuning recipe": {},
}


def drawn(file: Path) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """(pairs of the base model, new training pairs, new test pairs); no source occurs in two of them."""
    old: dict[str, str] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, reference = line.rstrip("\n").split("\t")[:2]
            if len(source.split()) <= LONGEST:
                old.setdefault(source, reference)
    rng = np.random.default_rng(0)
    pairs = list(old.items())
    base = [pairs[i] for i in rng.permutation(len(pairs))[:BASE]]
    known = {source for source, _ in base}
    fresh = [pair for pair in built_in("phrases").pairs if pair[0] not in known]
    chosen = [fresh[i] for i in rng.permutation(len(fresh))[: NEW + TESTED]]
    return base, chosen[:NEW], chosen[NEW:]


def write(path: Path, pairs: list[Pair]) -> str:
    path.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs), encoding="utf-8")
    return str(path)


def train(settings: dict[str, Any], out: Path) -> Translator:
    """Train the model in `out`, or load it if it is already there."""
    return train_model(settings, out)[0]


def row(name: str, translator: Translator, old: list[Pair], new: list[Pair]) -> dict[str, Any]:
    found: dict[str, Any] = {"way": name, "steps": translator.metadata.training.get("steps")}
    for which, pairs in (("old", old), ("new", new)):
        analysis = translator.evaluate(pairs, DecodingOptions(beam=1))
        found |= {
            f"{which} BLEU": round(analysis.bleu.value, 2),
            f"{which} chrF": round(analysis.chrf.value, 2),
            f"{which} error": round(analysis.error, 4),
        }
        found["signature"] = f"{analysis.bleu.signature} {analysis.chrf.signature}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="eng-spa.tsv.gz: English, a tab, Spanish")
    parser.add_argument("--work", type=Path, default=Path("finetuning"), help="directory of the models")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--epochs", type=int, default=20, help="of the base")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ways", help="JSON: {name: settings} to try instead of those of the table")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    base, new, testing = drawn(options.file)
    common = {"threads": options.threads, "seed": 0}
    place = options.work / f"base-{options.preset}"
    given = {
        "data": {"files": [write(options.work / "base.tsv", base)]},
        "preset": options.preset,
        "stopping": {"epochs": options.epochs},
    }
    start = train(merged(common, given), place)
    old = load_testing(place)
    print(json.dumps(row("base", start, old, testing)), flush=True)
    file = write(options.work / "new.tsv", new)
    ways = WAYS if options.ways is None else json.loads(options.ways)
    for name, settings in ways.items():
        out = options.work / f"{options.preset}-{name.replace(' ', '-').replace(',', '')}"
        tuned = train(merged(common, {"data": {"files": [file]}, "start": {"model": str(place)}}, settings), out)
        print(json.dumps(row(name, tuned, old, testing)), flush=True)


if __name__ == "__main__":
    main()
