"""Materials of the size `tiny`, and a run of two of its workloads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.bench.material import Material
from dragoman.bench.preparation import prepare_decoding, prepare_steps, random_translator
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import HIDDEN, TRAINING, Settings, network_configuration, new_network
from dragoman.networks import Transformer

TINY = HIDDEN["tiny"]
QUICK = Settings(("tiny",), ("grouped", "decoding"), 2, 1, idle=0.0, block=0.0, starts=False, decoded=16)


def steps_material(directory: Path, name: str, **changes: Any) -> Material:
    workload = replace(TRAINING[name], **changes)
    batches = Sentences().batches(workload, TINY)
    return prepare_steps(directory, new_network(workload, TINY), batches, workload.smoothing)


def decoding_material(directory: Path, block: str) -> Material:
    sources = Sentences().sources(24, TINY)
    return prepare_decoding(
        directory, random_translator(network_configuration(TINY, block=block), sources), sources, 40
    )


def relative_material(directory: Path) -> Material:
    """Biases that tell near from far on both sides, in sentences longer than their reach."""
    sources = Sentences().sources(24, TINY)
    network = Transformer(network_configuration(TINY, block="pre", positions="relative", relative_reach=3))
    rng = np.random.default_rng(0)
    for name, view in network.named_arrays():
        if name.endswith("distance_bias"):
            view[...] = 3 * rng.standard_normal(view.shape)
    return prepare_decoding(directory, network, sources, 12)
