"""Prepare a corpus of any size: shards are read, and samples encoded, in parallel processes.

reading   Each shard is read by one process, which writes its texts and the part of each pair: a hash of the source
          decides it (data/splits.py), so that no process has to know the others' pairs. The shards' texts are joined
          in order.
learning  Tokenizers are learnt from at most SAMPLE training pairs, drawn at random by the seed.
encoding  Ranges of pairs are masked and encoded by one process each, and joined in order.

Every process holds a chunk of pairs at a time, the main one some 5 bytes for each pair as well. The result is the same
for every number of processes. For a corpus of up to SAMPLE training pairs it is what `prepare` makes of its pairs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.augmentation import Augmentation, Pair, sampled
from dragoman.data.dataset import LEFT_OUT, About, Dataset, numbers_of, published
from dragoman.data.masking import fitting_pairs, learn_augmentation, plainly_masked
from dragoman.data.pair_encoding import SIDES, Encoding
from dragoman.data.processes import run_ordered
from dragoman.data.readers import Layout, find_format
from dragoman.data.records import OnBadLine, ReadErrors
from dragoman.data.schema import Encoders, write_texts
from dragoman.data.source import Source
from dragoman.data.splits import PARTS, TRAINING, Splitting, assign_parts, check_training
from dragoman.data.stores import LABEL, StoreJoiner, StoreWriter, TextStore, read_texts
from dragoman.data.word_cache import WordCache
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array

NAME = "prepared.json"  # in a prepared directory: where its pairs come from
SAMPLE = 500_000  # training pairs that tokenizers are learnt from
CHUNK = 2048  # pairs that a process holds at a time
RANGE = 16 * CHUNK  # pairs that are one process's task
LOCK = "lock"

Tell = Callable[[str, int, int], None]  # what is being done, how many are done, of how many


@dataclass(frozen=True)
class ShardReading:
    """How shards are read and split."""

    layout: Layout
    format: str | None
    on_bad_line: OnBadLine
    splitting: Splitting


def prepare_shards(
    shards: Sequence[Source],
    directory: Path,
    schema: Encoding,
    reading: ShardReading,
    encoders: Encoders | None = None,
    workers: int = 1,
    notes: Mapping[str, Any] | None = None,
    tell: Tell = lambda what, done, total: None,
) -> tuple[Dataset, ReadErrors]:
    """Read, split, learn tokenizers (or use the given ones) and encode, in bounded memory; also what was skipped.

    notes  are written to prepared.json, with a digest of the pairs and of how they are encoded

    The directory is created complete or not at all; what a killed preparation left beside it is removed.
    """
    if reading.splitting.by != "source":
        raise ConfigurationError("a large corpus is split by source; leave data.split out")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise DataError(f"{directory} exists already; choose another --out, or delete it first")
    _remove_abandoned(directory)
    with published(directory) as work, _locked(work):
        work.chmod(0o777 & ~_umask())  # others may read it as far as they may read other new directories
        problems, digest = _read(shards, work, reading, workers, tell)
        parts = np.fromfile(work / "parts", np.uint8)
        if not len(parts):
            raise DataError("these files hold no usable pair")
        check_training(parts)
        tell("learning", 0, 1)
        augment, learnt = _learn(work, parts, schema, reading.splitting.seed, encoders)
        about = _encode(work, parts, schema, reading, learnt, augment, workers, tell)
        parts.tofile(work / "parts")
        texts = {schema.encoder_path(work, name): learnt[name].to_json() for name in schema.encoders}
        texts[work / "about.json"] = json.dumps(asdict(about), indent=2)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        digest = hashlib.sha256("\n".join([digest, *texts.values()]).encode()).hexdigest()
        (work / NAME).write_text(
            json.dumps({"digest": digest, **(notes or {})}, indent=2, ensure_ascii=False), encoding="utf-8"
        )
    return Dataset(directory), problems


# Reading


def _read(
    shards: Sequence[Source], work: Path, reading: ShardReading, workers: int, tell: Tell
) -> tuple[ReadErrors, str]:
    """Write the texts and parts of all shards; what was skipped, and a digest of the texts."""
    problems = ReadErrors(reading.on_bad_line)
    tasks = ((work / f"shard-{i}", shard) for i, shard in enumerate(shards))
    with ExitStack() as stack:
        joined = [stack.enter_context(StoreJoiner(work / f"{side}-texts")) for side in SIDES]
        parts = stack.enter_context((work / "parts").open("wb"))
        for i, skipped in enumerate(run_ordered(_read_shard, reading, tasks, workers)):
            problems.merge(skipped)
            for side, joiner in zip(SIDES, joined, strict=True):
                joiner.append(work / f"shard-{i}-{side}")
            found = work / f"shard-{i}-parts"
            parts.write(found.read_bytes())
            found.unlink()
            tell("reading", i + 1, len(shards))
        return problems, "\n".join(joiner.digest() for joiner in joined)


def _read_shard(reading: ShardReading, task: tuple[Path, Source]) -> ReadErrors:
    """Write the texts of a shard, and the part of each pair."""
    path, shard = task
    problems = ReadErrors(reading.on_bad_line)
    records = find_format(shard, reading.layout, reading.format).read(shard, reading.layout, problems)
    with ExitStack() as stack:
        writers = [stack.enter_context(StoreWriter(Path(f"{path}-{side}"), 1)) for side in SIDES]
        parts = stack.enter_context(Path(f"{path}-parts").open("wb"))
        while chunk := list(islice(records, CHUNK)):
            parts.write(assign_parts((record.fields[0] for record in chunk), reading.splitting).tobytes())
            for record in chunk:
                for writer, text in zip(writers, record.fields, strict=True):
                    writer.append(text.encode())
    return problems


# Learning


def _learn(
    work: Path, parts: Array, schema: Encoding, seed: int, encoders: Encoders | None
) -> tuple[Augmentation | None, Encoders]:
    """How training pairs are augmented, and the tokenizers, from samples of the training part."""
    training = numbers_of(parts, TRAINING)
    augment = learn_augmentation(_pairs(work, sampled(training)), len(training)) if schema.protect else None
    if encoders is not None:
        return augment, encoders
    if len(training) > SAMPLE:
        training = training[_drawn(len(training), seed)]
    pairs = _pairs(work, training)
    texts = pairs if augment is None else (augment(*pair) for pair in pairs)
    place = work / "sample"
    place.mkdir()
    write_texts(texts, place, SIDES)
    learnt = schema.learn(lambda side: TextStore(place / f"{side}-texts").texts(range(len(training))))
    shutil.rmtree(place)
    return augment, learnt


def _drawn(count: int, seed: int) -> Array:
    """SAMPLE numbers below a count, at random, in order."""
    return np.sort(np.random.default_rng([seed, count]).choice(count, SAMPLE, replace=False, shuffle=False))


def _pairs(work: Path, numbers: Array) -> Iterator[Pair]:
    """Some pairs, given by their numbers in order. The texts are read, not mapped: pages of a map count as memory."""
    at = 0
    while at < len(numbers):
        start = int(numbers[at])
        chosen = numbers[at : np.searchsorted(numbers, start + CHUNK)] - start
        sides = [read_texts(work / f"{side}-texts", start, start + int(chosen[-1]) + 1) for side in SIDES]
        for i in chosen.tolist():
            yield sides[0][i], sides[1][i]
        at += len(chosen)


# Encoding


@dataclass(frozen=True)
class RangeEncoding:
    """How ranges of pairs are encoded."""

    work: Path
    schema: Encoding
    encoders: Encoders
    augment: Augmentation | None

    def masked(self, pairs: Sequence[Pair], training: Sequence[bool]) -> Sequence[Pair]:
        """The texts that are encoded."""
        if self.augment is None:
            return pairs
        augment = self.augment
        masked = [
            augment(*pair) if trained else plainly_masked(*pair) for pair, trained in zip(pairs, training, strict=True)
        ]
        limits = self.schema.augmentation_limits()
        if limits is None:
            return masked
        return list(fitting_pairs(pairs, masked, (self.encoders["source"], self.encoders["target"]), limits))


@dataclass
class RangeResult:
    """What became of a range of pairs; lists have a number for each side."""

    counts: Counter[tuple[str, str]]
    left_out: list[int]
    longest: list[int]


def _encode(
    work: Path,
    parts: Array,
    schema: Encoding,
    reading: ShardReading,
    encoders: Encoders,
    augment: Augmentation | None,
    workers: int,
    tell: Tell,
) -> About:
    """Write the labels of all pairs; pairs that are too long are marked in `parts`."""
    ranges = [(start, min(start + RANGE, len(parts))) for start in range(0, len(parts), RANGE)]
    total = RangeResult(Counter(), [], [0, 0])
    job = RangeEncoding(work, schema, {name: WordCache(encoder) for name, encoder in encoders.items()}, augment)
    with ExitStack() as stack:
        joined = [stack.enter_context(StoreJoiner(work / f"{side}-values")) for side in SIDES]
        for (start, stop), done in zip(ranges, run_ordered(_encode_range, job, ranges, workers), strict=True):
            for side, joiner in zip(SIDES, joined, strict=True):
                joiner.append(work / f"range-{start}-{side}")
            total.counts += done.counts
            total.left_out += done.left_out
            total.longest = [max(both) for both in zip(total.longest, done.longest, strict=True)]
            tell("encoding", stop, len(parts))
    parts[total.left_out] = LEFT_OUT
    about = About(
        schema.name,
        len(parts),
        {name: int((parts == i).sum()) for i, name in enumerate(PARTS)},
        [encoders[name].size for name in schema.encoders],
        total.longest,
        [total.counts["truncated", name] for name in schema.fields],
        [total.counts["unknown", name] for name in schema.fields],
        asdict(schema),
        asdict(reading.splitting),
        len(total.left_out),
        schema.example(work, total.left_out[0]) if total.left_out else "",
    )
    if not about.parts[PARTS[TRAINING]]:
        raise DataError(f"all training {schema.samples} are too long: {about.left_out_example}; {schema.advice}")
    return about


def _encode_range(job: RangeEncoding, task: tuple[int, int]) -> RangeResult:
    """Write the labels of a range of pairs."""
    first, last = task
    found = RangeResult(Counter(), [], [0, 0])
    with ExitStack() as stack:
        writers = [
            stack.enter_context(StoreWriter(job.work / f"range-{first}-{side}", LABEL.itemsize)) for side in SIDES
        ]
        for start in range(first, last, CHUNK):
            stop = min(start + CHUNK, last)
            sources, references = (read_texts(job.work / f"{side}-texts", start, stop) for side in SIDES)
            training = np.fromfile(job.work / "parts", np.uint8, stop - start, offset=start) == TRAINING
            pairs = job.masked(list(zip(sources, references, strict=True)), training.tolist())
            encoded = job.schema.encode(list(zip(*pairs, strict=True)), job.encoders, found.counts)
            lengths = [np.array([len(row) for row in rows]) for rows in encoded]
            for writer, rows, sizes in zip(writers, encoded, lengths, strict=True):
                writer.extend(np.concatenate(rows).astype(LABEL, copy=False), sizes)
            left_out = job.schema.too_long(lengths)
            found.left_out += (start + left_out).tolist()
            kept = [int(np.delete(sizes, left_out).max(initial=0)) for sizes in lengths]
            found.longest = [max(both) for both in zip(found.longest, kept, strict=True)]
    return found


# The directory, and what a killed preparation leaves


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def _locked(work: Path) -> Iterator[None]:
    """Mark a directory as being written. The operating system releases the lock when the process ends."""
    with (work / LOCK).open("w") as handle:
        _lock(handle)
        yield
    (work / LOCK).unlink()


def _lock(handle: Any) -> bool:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows has no such lock; or another process holds it
        return False
    return True


def _remove_abandoned(directory: Path) -> None:
    """Remove the unfinished directories of preparations that were killed."""
    if not directory.parent.is_dir():
        return
    for path in directory.parent.iterdir():
        if path.name.startswith(f".{directory.name}-") and (path / LOCK).is_file():
            with (path / LOCK).open("r+") as handle:
                abandoned = _lock(handle)
            if abandoned:
                shutil.rmtree(path, ignore_errors=True)
