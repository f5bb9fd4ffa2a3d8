"""Materials of the size `tiny`, and a run of two of its workloads."""

from __future__ import annotations

from pathlib import Path

from dragoman.bench.material import Material
from dragoman.bench.preparation import prepare_decoding, prepare_steps, talking
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import HIDDEN, TRAINING, Settings, configured

TINY = HIDDEN["tiny"]
QUICK = Settings(("tiny",), ("grouped", "decoding"), 2, 1, idle=0.0, block=0.0, starts=False, decoded=16)


def steps_material(directory: Path, name: str) -> Material:
    workload = TRAINING[name]
    configuration = configured(TINY, block=workload.block, dropout=workload.dropout)
    return prepare_steps(directory, configuration, Sentences().batches(workload, TINY), workload.smoothing)


def decoding_material(directory: Path, block: str) -> Material:
    sources = Sentences().sources(24, TINY)
    return prepare_decoding(directory, talking(configured(TINY, block=block), sources), sources, 40)
