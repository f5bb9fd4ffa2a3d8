"""Measure whether word vectors learnt from more text help a translator with few pairs (start.vectors).

    python benchmarks/vector_start.py eng-spa.tsv.gz --pairs 5000 --seeds 0,1,2

The distinct English sentences of the file are split at random into three parts: --pairs pairs to train the translator,
2,000 to test it, and the rest. Word vectors are learnt from each side of the rest. Then the preset small is trained on
the same pairs without vectors, with vectors that are trained further, and with frozen vectors, once with every seed.
BLEU and chrF are measured with a beam of 4.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import Translator, WordVectors, preset
from dragoman.analysis.testing import TestingAnalysis
from dragoman.tasks.translation.translator import DecodingOptions

TESTED = 2000
Pair = tuple[str, str]


def dealt(file: Path, count: int) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """(training pairs, test pairs, the rest); no English sentence occurs in two of them."""
    by_source: dict[str, list[str]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, reference = line.rstrip("\n").split("\t")[:2]
            by_source.setdefault(source, []).append(reference)
    sources = list(by_source)
    order = [sources[i] for i in np.random.default_rng(0).permutation(len(sources))]
    pairs = [(source, by_source[source][0]) for source in order]
    rest = [(source, reference) for source in order[count + TESTED :] for reference in by_source[source]]
    return pairs[:count], pairs[count : count + TESTED], rest


def learnt(texts: Sequence[str], out: Path, depth: int) -> str:
    text = out.with_suffix(".text")
    text.write_text("".join(f"{line}\n" for line in dict.fromkeys(texts)), encoding="utf-8")
    vectors = WordVectors.train(text, depth=depth)
    vectors.save(out)
    print(f"{len(vectors):,} vectors from {len(dict.fromkeys(texts)):,} sentences", flush=True)
    return str(out)


def scored(file: Path, testing: list[Pair], seed: int, vectors: dict[str, Any]) -> TestingAnalysis:
    translator = Translator.train(
        file, preset="small", seed=seed, data={"shares": [0.95, 0.05, 0.0]}, start={"vectors": vectors}
    )
    return translator.evaluate(testing, DecodingOptions(beam=4))


def told(name: str, found: list[TestingAnalysis]) -> str:
    columns = {
        "error": [f.error for f in found],
        "accuracy": [100 * f.accuracy for f in found],
        "BLEU": [f.bleu.value for f in found],
        "chrF": [f.chrf.value for f in found],
    }
    cells = [f"{what} {np.mean(v):.2f} ({min(v):.2f} to {max(v):.2f})" for what, v in columns.items()]
    return f"{name:<12} " + "  ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="eng-spa.tsv.gz: English, a tab, Spanish")
    parser.add_argument("--pairs", type=int, default=5000, help="to train the translator on")
    parser.add_argument("--seeds", default="0,1,2")
    options = parser.parse_args()
    training, testing, rest = dealt(options.file, options.pairs)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        file = place / "pairs.tsv"
        file.write_text("".join(f"{source}\t{reference}\n" for source, reference in training), encoding="utf-8")
        depth = preset("small", 8, 8).depth
        files = {
            "source": learnt([source for source, _ in rest], place / "source.bin", depth),
            "target": learnt([reference for _, reference in rest], place / "reference.bin", depth),
        }
        starts: dict[str, dict[str, Any]] = {
            "none": {},
            "trained": files,
            "fixed": {**files, "freeze": True},
        }
        found: dict[str, list[TestingAnalysis]] = {name: [] for name in starts}
        for seed in map(int, options.seeds.split(",")):
            for name, vectors in starts.items():
                found[name].append(scored(file, testing, seed, vectors))
                print(told(f"{name}, {seed}", found[name][-1:]), flush=True)
        for name, analyses in found.items():
            print(told(name, analyses))
        print(analyses[0].bleu.signature, analyses[0].chrf.signature)


if __name__ == "__main__":
    main()
