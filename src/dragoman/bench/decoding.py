"""Measure decoding: greedy and beam search, one sentence at a time and in batches."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.preparation import prepare_decoding, random_translator
from dragoman.bench.processes import ContenderError, Process, start_processes
from dragoman.bench.rounds import OURS, Row, alternate, ratios
from dragoman.bench.sentences import Sentences
from dragoman.bench.training import cache_variables
from dragoman.bench.workloads import Settings, network_configuration
from dragoman.graph import Array
from dragoman.networks import Transformer

BATCHES = (1, 64)
METHODS = ("greedy", "beam")
SINGLES = 8  # one sentence at a time is slow: decode an eighth of the sentences
TIES = 0.02  # share of the sentences that may differ, where two tokens tie up to rounding
EXACT = ("torch", "ctranslate2-float32")


def measure_decoding(
    preset: str, settings: Settings, sentences: Sentences, work: Path, say: Callable[[str], None]
) -> list[Row]:
    network, sources = network_and_sources(preset, settings, sentences)
    longest = 2 * max(len(source) for source in sources)
    directory = work / f"{preset}-decoding"
    prepare_decoding(directory, network, sources, longest)
    variables, translators = cache_variables(work, preset, settings), translators_for(settings)
    with start_processes(translators, directory, settings.threads, variables):
        pass  # they convert the model now: the memory of the conversion must not be counted
    rows = []
    with start_processes([OURS, "torch", *translators], directory, settings.threads, variables) as processes:
        for method in METHODS:
            for batch in BATCHES:
                say(f"{preset}, decoding: {method}, batch {batch}")
                rows += measure_method(preset, method, batch, processes, settings, len(sources))
        memory = {name: int(process.ask("memory")["bytes"]) for name, process in processes.items()}
    return [
        replace(row, memory=memory[row.contender], memory_ratio=memory[OURS] / memory[row.contender]) for row in rows
    ]


def translators_for(settings: Settings) -> list[str]:
    """Return the CTranslate2 contenders, and note in `settings.skipped` those that are left out."""
    if importlib.util.find_spec("ctranslate2") is None:
        settings.skipped["ctranslate2"] = "not installed; pip install ctranslate2"
        return []
    if settings.model is None:
        settings.skipped["ctranslate2-int8"] = (
            "needs --model: with random weights, 8 bits change the output and its length"
        )
        return ["ctranslate2-float32"]
    return ["ctranslate2-float32", "ctranslate2-int8"]


def network_and_sources(preset: str, settings: Settings, sentences: Sentences) -> tuple[Transformer, list[Array]]:
    """Return the network and the sentences to decode: of a trained model, or of random weights."""
    if settings.model is not None:
        from dragoman.bench.trained import read_model

        return read_model(settings.model, settings.decoded)
    size = settings.size(preset)
    size = replace(size, vocabularies=sentences.vocabularies or size.vocabularies)
    sources = sentences.sources(settings.decoded, size)
    return random_translator(network_configuration(size, block="pre"), sources), sources


def measure_method(
    preset: str, method: str, batch: int, processes: Mapping[str, Process], settings: Settings, sentences: int
) -> list[Row]:
    """Measure all contenders that support the method, after comparing their output."""
    count = max(1, sentences // SINGLES) if batch == 1 else sentences
    request: dict[str, Any] = {"method": method, "batch": batch, "count": count}
    contenders = {name: process for name, process in processes.items() if method == "greedy" or name != "torch"}
    same = agreement(contenders, request)
    once = decode(contenders[OURS], request, 1)
    times = max(1, math.ceil(settings.block / once))
    blocks = {name: partial(decode, process, request, times) for name, process in contenders.items()}
    seconds = alternate(blocks, settings.rounds, settings.idle)
    rows = []
    for name in contenders:
        least, median, spread = ratios(seconds, name)
        each = float(np.median(seconds[name])) / (times * count)
        common = ("decoding", f"{method}-{batch}", preset, name, settings.rounds, each, least, median, spread)
        rows.append(Row(*common, 0, 1.0, sentences_per_second=1 / each, identical=same[name]))
    return rows


def decode(process: Process, request: Mapping[str, Any], times: int) -> float:
    """Time decoding all sentences this many times, after one untimed run."""
    process.ask("decode", **request, times=1)
    return float(process.ask("decode", **request, times=times)["seconds"])


def agreement(processes: Mapping[str, Process], request: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of sentences that each contender decodes as we do.

    Raise if one that computes in float32 differs in greedy search.
    """
    written = {name: process.ask("decode", show=True, **request)["labels"] for name, process in processes.items()}
    same = {
        name: [ours == theirs for ours, theirs in zip(written[OURS], labels, strict=True)]
        for name, labels in written.items()
    }
    for name in EXACT:
        wrong = same.get(name, []).count(False)
        if request["method"] == "greedy" and wrong > max(1, TIES * request["count"]):
            raise ContenderError(
                f"{name} decodes {wrong} of {request['count']} sentences differently from {OURS} (greedy search, same "
                "weights), so their times cannot be compared"
            )
    return {name: float(np.mean(found)) for name, found in same.items()}
