"""Measure whole epochs over prepared corpora of growing size, to find costs that grow faster than the corpus.

Only Dragoman: PyTorch has no counterpart of its datasets and batch planning.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.bench.preparation import prepare_steps
from dragoman.bench.processes import Process
from dragoman.bench.rounds import OURS
from dragoman.bench.scaling import BLOCKS, CORPUS, Point
from dragoman.bench.sentences import Sentences, synthetic_pairs
from dragoman.bench.training import cache_variables, time_steps
from dragoman.bench.workloads import SIZES, TRAINING, Settings, new_network
from dragoman.data.dataset import prepare
from dragoman.data.pair_encoding import Encoding
from dragoman.data.pairs import Labels
from dragoman.data.splits import Splitting
from dragoman.data.tokenizer import Tokenizer

PAIRS = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
LETTERS = str.maketrans("0123456789", "abcdefghij")
Pair = tuple[str, str]


def measure_corpora(
    settings: Settings, work: Path, say: Callable[[str], None], sizes: Sequence[int] = PAIRS
) -> list[Point]:
    """Measure the time per token over growing parts of the same sentences, with one vocabulary."""
    vocabularies = SIZES["small"].vocabularies
    pairs = [
        (as_words(source), as_words(reference)) for source, reference in synthetic_pairs(max(sizes), vocabularies).pairs
    ]
    sides = zip(zip(*pairs, strict=True), vocabularies, strict=True)
    tokenizers = tuple(Tokenizer.train(texts, "words", size) for texts, size in sides)
    points = []
    for count in sizes:
        say(f"scaling, {CORPUS} {count:,}")
        points.append(measure_corpus(pairs[:count], tokenizers, settings, work))
    return points


def measure_corpus(pairs: Sequence[Pair], tokenizers: tuple[Tokenizer, ...], settings: Settings, work: Path) -> Point:
    """Measure the fastest of some epochs; return the time and tokens of a mean step."""
    directory, workload = work / "scaling", TRAINING["grouped"]
    source, reference = tokenizers
    dataset = prepare(
        pairs,
        directory / CORPUS,
        Encoding("words"),
        Splitting((1.0, 0.0, 0.0)),
        encoders={"source": source, "target": reference},
    )
    size = replace(SIZES["small"], vocabularies=(source.size, reference.size))
    sentences = Sentences(dataset.part("training"))
    batches = sentences.batches(workload, size)
    prepare_steps(directory, new_network(workload, size), batches, workload.smoothing)
    with Process(OURS, directory, settings.threads, cache_variables(work, "scaling", settings)) as process:
        time_steps(process, len(batches))  # compile or load the kernels
        epochs = [process.ask("epoch") for _ in range(BLOCKS)]
        memory = int(process.ask("memory")["bytes"])
    shutil.rmtree(directory)
    steps = sentences.batches_in_epoch(size)
    seconds, tokens = min(float(epoch["seconds"]) for epoch in epochs), int(epochs[0]["tokens"])
    return Point(CORPUS, len(pairs), OURS, seconds / steps, tokens // steps, memory)


def as_words(labels: Labels) -> str:
    """Write labels as words of letters, without start and end labels."""
    return " ".join(str(label) for label in labels[1:-1]).translate(LETTERS)
