"""Decoding, side by side: greedy and beam, one sentence at a time and in batches."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.preparation import prepare_decoding, talking
from dragoman.bench.processes import ContenderError, Process, started
from dragoman.bench.rounds import OURS, Row, alternate, ratios
from dragoman.bench.sentences import Sentences
from dragoman.bench.training import caches
from dragoman.bench.workloads import Settings, configured
from dragoman.graph import Array
from dragoman.networks import Transformer

BATCHES = (1, 64)
METHODS = ("greedy", "beam")
SINGLES = 8  # one sentence at a time takes longer: so many times fewer are decoded
TIES = 0.02  # of the sentences may differ where two labels are equally good but for rounding
EXACT = ("torch", "ctranslate2-float32")


def measure_decoding(
    preset: str, settings: Settings, sentences: Sentences, work: Path, say: Callable[[str], None]
) -> list[Row]:
    network, sources = speaker(preset, settings, sentences)
    longest = 2 * max(len(source) for source in sources)
    directory = work / f"{preset}-decoding"
    prepare_decoding(directory, network, sources, longest)
    variables, translators = caches(work, preset, settings), translators_for(settings)
    with started(translators, directory, settings.threads, variables):
        pass  # these write their models, and the memory that takes is not counted
    rows = []
    with started([OURS, "torch", *translators], directory, settings.threads, variables) as processes:
        for method in METHODS:
            for batch in BATCHES:
                say(f"{preset}, decoding: {method}, batch {batch}")
                rows += measure_question(preset, method, batch, processes, settings, len(sources))
        memory = {name: int(process.ask("memory")["bytes"]) for name, process in processes.items()}
    return [
        replace(row, memory=memory[row.contender], memory_ratio=memory[OURS] / memory[row.contender]) for row in rows
    ]


def translators_for(settings: Settings) -> list[str]:
    """The contenders that CTranslate2 is; what is left out is told."""
    if importlib.util.find_spec("ctranslate2") is None:
        settings.skipped["ctranslate2"] = "not installed, so decoding is not compared with it; pip install ctranslate2"
        return []
    if settings.model is None:
        settings.skipped["ctranslate2-int8"] = (
            "in 8 bits, random weights write other and shorter sentences, so it is measured with --model alone"
        )
        return ["ctranslate2-float32"]
    return ["ctranslate2-float32", "ctranslate2-int8"]


def speaker(preset: str, settings: Settings, sentences: Sentences) -> tuple[Transformer, list[Array]]:
    """The network that decodes and what it reads: a trained model, or random weights that end their sentences."""
    if settings.model is not None:
        from dragoman.bench.trained import read_model

        return read_model(settings.model, settings.decoded)
    size = settings.size(preset)
    size = replace(size, vocabularies=sentences.vocabularies or size.vocabularies)
    sources = sentences.sources(settings.decoded, size)
    return talking(configured(size, block="pre"), sources), sources


def measure_question(
    preset: str, method: str, batch: int, processes: Mapping[str, Process], settings: Settings, sentences: int
) -> list[Row]:
    """Every contender that can answer it; what they write is compared before their times are."""
    count = max(1, sentences // SINGLES) if batch == 1 else sentences
    asked: dict[str, Any] = {"method": method, "batch": batch, "count": count}
    able = {name: process for name, process in processes.items() if method == "greedy" or name != "torch"}
    same = agreement(able, asked)
    once = decode(able[OURS], asked, 1)
    times = max(1, math.ceil(settings.block / once))
    blocks = {name: partial(decode, process, asked, times) for name, process in able.items()}
    seconds = alternate(blocks, settings.rounds, settings.idle)
    rows = []
    for name in able:
        least, median, spread = ratios(seconds, name)
        each = float(np.median(seconds[name])) / (times * count)
        known = ("decoding", f"{method}-{batch}", preset, name, settings.rounds, each, least, median, spread)
        rows.append(Row(*known, 0, 1.0, sentences_per_second=1 / each, identical=same[name]))
    return rows


def decode(process: Process, asked: Mapping[str, Any], times: int) -> float:
    """Seconds of so many times all of it, after once more that is not timed."""
    process.ask("decode", **asked, times=1)
    return float(process.ask("decode", **asked, times=times)["seconds"])


def agreement(processes: Mapping[str, Process], asked: Mapping[str, Any]) -> dict[str, float]:
    """The share of sentences that each decodes as we do: greedily all of them, if it computes in float32 as we do."""
    written = {name: process.ask("decode", show=True, **asked)["labels"] for name, process in processes.items()}
    same = {
        name: [ours == theirs for ours, theirs in zip(written[OURS], labels, strict=True)]
        for name, labels in written.items()
    }
    for name in EXACT:
        wrong = same.get(name, []).count(False)
        if asked["method"] == "greedy" and wrong > max(1, TIES * asked["count"]):
            raise ContenderError(
                f"{name} decodes {wrong} of {asked['count']} sentences otherwise than {OURS}, greedily and from the "
                "same weights, so their times cannot be compared"
            )
    return {name: float(np.mean(found)) for name, found in same.items()}
