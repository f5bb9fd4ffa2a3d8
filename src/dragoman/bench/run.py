"""Run every requested workload with every requested preset."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.bench.corpora import measure_corpora
from dragoman.bench.decoding import measure_decoding
from dragoman.bench.machine import machine_facts
from dragoman.bench.processes import check_installed
from dragoman.bench.rounds import OURS, Row
from dragoman.bench.scaling import Point, measure_scaling
from dragoman.bench.sentences import Sentences, read_corpus
from dragoman.bench.training import measure_training
from dragoman.bench.workloads import DECODING, EPOCH, SCALING, TRAINING, Settings
from dragoman.errors import ConfigurationError

INSTALL = "pip install 'dragoman[bench]'"


@dataclass
class Results:
    machine: dict[str, Any]
    sentences: str
    rows: list[Row] = field(default_factory=list)
    scaling: list[Point] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "sentences": self.sentences,
            "rows": [row.as_dict() for row in self.rows],
            "scaling": [point.as_dict() for point in self.scaling],
            "skipped": self.skipped,
        }


def check_against(settings: Settings) -> None:
    """Raise if the other checkout cannot be measured, or not in these workloads."""
    assert settings.against is not None
    worker = settings.against / "src" / "dragoman" / "bench" / "worker.py"
    if not worker.is_file():
        raise ConfigurationError(f"--against takes a checkout of Dragoman, but there is no {worker}")
    others = [name for name in settings.workloads if name not in TRAINING]
    if others:
        raise ConfigurationError(f"--against compares training steps; leave {', '.join(others)} out of --only")


def run(settings: Settings, say: Callable[[str], None] = lambda text: None) -> Results:
    """Measure the requested workloads; `say` is called with progress messages."""
    if settings.against is None:
        check_installed("torch", INSTALL)
    else:
        check_against(settings)
    if EPOCH in settings.workloads and settings.corpus is None:
        raise ConfigurationError("the workload `epoch` needs a corpus: --corpus FILE")
    facts = machine_facts(settings.threads)
    sentences = Sentences()
    if settings.corpus is not None:
        say(f"preparing {settings.corpus}")
        sentences = read_corpus(settings.corpus, settings.size(settings.presets[0]).vocabularies)
    results = Results(facts, sentences.name)

    def keep(rows: list[Row]) -> None:
        results.rows.extend(rows)
        medians = ", ".join(f"{row.contender} {row.median_ratio:.2f}" for row in rows if row.contender != OURS)
        say(f"    {medians}" if rows[0].kind == "training" else f"    {len(rows)} rows")

    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as directory:
        work = Path(directory)
        for preset in settings.presets:
            starts = settings.starts
            for name in TRAINING:
                if name in settings.workloads:
                    keep(measure_training(preset, name, settings, sentences, work, starts, say))
                    starts = False
            if DECODING in settings.workloads and settings.model is None:
                keep(measure_decoding(preset, settings, sentences, work, say))
        if DECODING in settings.workloads and settings.model is not None:
            keep(measure_decoding("model", settings, sentences, work, say))
            results.sentences += f"; decoding: the testing part of {settings.model}"
        if SCALING in settings.workloads:
            results.scaling = measure_scaling(settings, work, say) + measure_corpora(settings, work, say)
    results.skipped = [f"{name}: {why}" for name, why in settings.skipped.items()]
    return results
