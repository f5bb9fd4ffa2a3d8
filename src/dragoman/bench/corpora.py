"""The curve of corpus sizes: whole epochs from text that was prepared, so that what grows faster than a corpus shows.

Dragoman alone: PyTorch has no dataset, plan and batches of its own to set beside it.
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
from dragoman.bench.sentences import Sentences, made_up
from dragoman.bench.training import caches, take
from dragoman.bench.workloads import SIZES, TRAINING, Settings, configured
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
    """Time by label over more and more of the same sentences, under one vocabulary."""
    vocabularies = SIZES["small"].vocabularies
    pairs = [(spelled(source), spelled(reference)) for source, reference in made_up(max(sizes), vocabularies).pairs]
    sides = zip(zip(*pairs, strict=True), vocabularies, strict=True)
    tokenizers = tuple(Tokenizer.train(texts, "words", size) for texts, size in sides)
    points = []
    for count in sizes:
        say(f"scaling, {CORPUS} {count:,}")
        points.append(measure_corpus(pairs[:count], tokenizers, settings, work))
    return points


def measure_corpus(pairs: Sequence[Pair], tokenizers: tuple[Tokenizer, ...], settings: Settings, work: Path) -> Point:
    """The fastest of some epochs, as the time and the labels of a mean step."""
    directory, workload = work / "scaling", TRAINING["grouped"]
    source, reference = tokenizers
    encoders = {"source": source, "target": reference}
    dataset = prepare(pairs, directory / CORPUS, Encoding("words"), Splitting((1.0, 0.0, 0.0)), encoders=encoders)
    size = replace(SIZES["small"], vocabularies=(source.size, reference.size))
    sentences = Sentences(dataset.part("training"))
    batches = sentences.batches(workload, size)
    prepare_steps(directory, configured(size, block="pre", dropout=workload.dropout), batches, workload.smoothing)
    with Process(OURS, directory, settings.threads, caches(work, "scaling", settings)) as process:
        take(process, len(batches))  # kernels are compiled or loaded
        epochs = [process.ask("epoch") for _ in range(BLOCKS)]
        memory = int(process.ask("memory")["bytes"])
    shutil.rmtree(directory)
    steps = sentences.batches_in_epoch(size)
    seconds, tokens = min(float(epoch["seconds"]) for epoch in epochs), int(epochs[0]["tokens"])
    return Point(CORPUS, len(pairs), OURS, seconds / steps, tokens // steps, memory)


def spelled(labels: Labels) -> str:
    """Labels as words of letters, their marks left out."""
    return " ".join(str(label) for label in labels[1:-1]).translate(LETTERS)
