"""Compare word vectors with gensim's: quality and speed, with the same text and settings.

    python benchmarks/vectors.py --pairs eng-spa.tsv.gz --rounds 3

Quality, each over several seeds:
  truth    a synthetic text of words with known positions: rank correlation of the learnt cosines with the true ones
  overlap  English sentences (with --pairs): the share of the 10 nearest words of frequent words that two runs have in
           common, for ours and gensim's, and for two gensim runs with different seeds, which shows the noise
Speed: words per second during training, on 1 and 2 threads, the best of the rounds, with the two alternating; also by
processor time, which other work on the machine disturbs less. gensim gets its sentences in memory, as lists of words,
and counting the words is not measured.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gensim
import numpy as np

from dragoman.data.source import Source
from dragoman.graph import Array
from dragoman.tasks.vectors.plan import VectorSettings
from dragoman.tasks.vectors.text import sentences
from dragoman.tasks.vectors.training import Progress, train_vectors
from dragoman.tasks.vectors.words import WordVectors

NEAREST, ASKED = 10, 1000
SETTINGS = VectorSettings(split="spaces")


def made_up_text(path: Path, words: int = 1000, lines: int = 40_000, length: int = 12, depth: int = 6) -> Array:
    """Write a text in which each line has a random topic direction and favours words near it.

    Returns the true positions, [words, depth].
    """
    rng = np.random.default_rng(0)
    positions = rng.standard_normal((words, depth))
    positions /= np.linalg.norm(positions, axis=1, keepdims=True)
    frequency = -np.log(np.arange(words) + 10.0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(lines):
            topic = rng.standard_normal(depth)
            scores = frequency + 4 * positions @ (topic / np.linalg.norm(topic))
            chances = np.exp(scores - scores.max())
            drawn = rng.choice(words, length, p=chances / chances.sum())
            file.write(" ".join(f"w{word}" for word in drawn) + "\n")
    return positions


def english(pairs: Path, path: Path) -> None:
    with gzip.open(pairs, "rt", encoding="utf-8") as source, path.open("w", encoding="utf-8") as file:
        file.writelines(line.split("\t")[0] + "\n" for line in source)
    words = list(sentences(Source(str(path))))
    path.write_text("".join(" ".join(line) + "\n" for line in words), encoding="utf-8")


def clocks() -> Array:
    """Wall time and processor time, in seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def theirs(lines: list[list[str]], s: VectorSettings) -> tuple[WordVectors, Array]:
    """gensim's vectors and the seconds of training."""
    model = gensim.models.Word2Vec(
        vector_size=s.depth,
        window=s.window,
        negative=s.negative,
        sg=int(s.method == "skip-gram"),
        min_count=s.minimum_count,
        sample=s.subsampling,
        alpha=s.rate,
        min_alpha=s.last_rate,
        seed=s.seed + 1,
        workers=s.threads,
        epochs=s.epochs,
    )
    model.build_vocab(lines)
    start = clocks()
    model.train(lines, total_examples=model.corpus_count, epochs=s.epochs)
    return WordVectors(model.wv.index_to_key, model.wv.vectors), clocks() - start


def ours(path: Path, s: VectorSettings) -> tuple[WordVectors, Array]:
    """Our vectors and the seconds of training, not counting the first block, which may compile kernels."""
    told: list[tuple[Array, Progress]] = []
    vectors = train_vectors(path, s, lambda progress: told.append((clocks(), progress)))
    (start, first), (end, last) = told[0], told[-1]
    return vectors, (end - start) / (last.done - first.done)


def ranks(x: Array) -> Array:
    return np.argsort(np.argsort(x)).astype(np.float64)


def agreement_with_truth(vectors: WordVectors, positions: Array) -> float:
    """Spearman's rank correlation of the learnt cosines of all pairs with the true ones."""
    known = [number for number in range(len(positions)) if f"w{number}" in vectors]
    learnt = vectors.cosines([f"w{number}" for number in known])
    true = positions[known] @ positions[known].T
    above = np.triu_indices(len(known), 1)
    return float(np.corrcoef(ranks(learnt[above]), ranks(true[above]))[0, 1])


def neighbours(vectors: WordVectors, words: list[str]) -> list[set[str]]:
    return [{near.word for near in vectors.nearest(word, NEAREST)} for word in words]


def mean_overlap(a: list[set[str]], b: list[set[str]]) -> float:
    return float(np.mean([len(one & other) for one, other in zip(a, b, strict=True)])) / NEAREST


def told(numbers: list[float]) -> str:
    return f"{np.mean(numbers):.3f} ({min(numbers):.3f} to {max(numbers):.3f})"


def show_quality(path: Path, positions: Array | None, s: VectorSettings, seeds: int) -> None:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    runs: dict[str, list[WordVectors]] = {"dragoman": [], "gensim": []}
    for seed in range(seeds):
        runs["dragoman"].append(ours(path, replace(s, seed=seed))[0])
        runs["gensim"].append(theirs(lines, replace(s, seed=seed))[0])
    if positions is not None:
        for name, found in runs.items():
            print(f"{s.method:<10} truth    {name:<20}{told([agreement_with_truth(v, positions) for v in found])}")
        return
    words = runs["dragoman"][0].words[:ASKED]
    near = {name: [neighbours(v, words) for v in found] for name, found in runs.items()}
    for name, found in near.items():
        print(f"{s.method:<10} overlap  {name:<20}{told([mean_overlap(*p) for p in itertools.combinations(found, 2)])}")
    both = [mean_overlap(a, b) for a, b in itertools.product(near["dragoman"], near["gensim"])]
    print(f"{s.method:<10} overlap  {'one with the other':<20}{told(both)}")


def show_speed(path: Path, s: VectorSettings, rounds: int) -> None:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    words = sum(map(len, lines)) * s.epochs
    for threads in (1, 2):
        settings = replace(s, threads=threads)
        speeds = np.array(
            [[words / ours(path, settings)[1], words / theirs(lines, settings)[1]] for _ in range(rounds)]
        )
        for clock, name in enumerate(("wall", "processor")):
            mine, other = speeds[:, 0, clock], speeds[:, 1, clock]
            ratios = mine / other
            print(
                f"{s.method:<10} speed    threads {threads}, {name} time: {mine.max() / 1e3:.0f}k words/s, gensim "
                f"{other.max() / 1e3:.0f}k, ratio {mine.max() / other.max():.2f} "
                f"(rounds {ratios.min():.2f} to {ratios.max():.2f})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, help="eng-spa.tsv.gz: pairs with English in the first column")
    parser.add_argument("--rounds", type=int, default=3, help="of the speed; and seeds of the quality")
    parser.add_argument("--methods", default="skip-gram,cbow")
    parser.add_argument("--only", choices=("quality", "speed"))
    options = parser.parse_args()
    print(f"gensim {gensim.__version__}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as directory:
        synthetic, real = Path(directory) / "made-up.txt", Path(directory) / "english.txt"
        positions = made_up_text(synthetic)
        if options.pairs:
            english(options.pairs, real)
        for method in options.methods.split(","):
            s: Any = replace(SETTINGS, method=method)
            if options.only != "speed":
                show_quality(synthetic, positions, s, options.rounds)
                if options.pairs:
                    show_quality(real, None, s, options.rounds)
            if options.only != "quality":
                show_speed(real if options.pairs else synthetic, s, options.rounds)


if __name__ == "__main__":
    main()
