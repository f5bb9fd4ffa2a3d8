"""The input of all contenders: a configuration, weights, batches and sentences in a directory.

Read with NumPy and safetensors only, so that the memory measured in a peer's process is the peer's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

Array = NDArray[Any]
PAD, START, END = 0, 2, 3  # as in dragoman.batch, which peers do not import
IGNORED = -100  # PyTorch's target for padding


class Material:
    """The files that contenders read.

    about      kind and network (its class and configuration), dropout, smoothing, clip, batches (how many),
               longest (labels written)
    arrays     positions [P, d]; batch i as packed rows: i.source, i.source_offsets, i.labels, i.offsets, i.targets
               (only translation has sources; targets are one per position, or one per text);
               sentences to decode: sentences, sentence_offsets
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.about: dict[str, Any] = json.loads((directory / "about.json").read_text(encoding="utf-8"))
        self.arrays = load_file(directory / "arrays.safetensors")

    @staticmethod
    def save(directory: Path, about: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        (directory / "about.json").write_text(json.dumps(about), encoding="utf-8")
        contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(contiguous, directory / "arrays.safetensors")

    @property
    def network(self) -> dict[str, Any]:
        """The configuration of the network."""
        found: dict[str, Any] = self.about["network"]
        return found

    def batches(self) -> Iterator[dict[str, Array]]:
        for i in range(self.about["batches"]):
            names = ("source", "source_offsets", "labels", "offsets", "targets")
            yield {name: self.arrays[f"{i}.{name}"] for name in names if f"{i}.{name}" in self.arrays}

    @cached_property
    def sentences(self) -> list[Array]:
        """The sentences to decode, split once so that this is not timed."""
        return np.split(self.arrays["sentences"], self.arrays["sentence_offsets"][1:-1])

    def weights(self) -> dict[str, Array]:
        """Load the parameters by name; tied ones under each of their names."""
        found = load_file(self.directory / "weights.safetensors")
        if "source_embedding.table" in found:
            found.setdefault("reference_embedding.table", found["source_embedding.table"])
            found.setdefault("output.weights", found["reference_embedding.table"].T)
        return found


def padded(labels: Array, offsets: Array, fill: int = PAD) -> tuple[Array, Array | None]:
    """Pad packed rows to a matrix [B, T]; also return the mask of real positions, or None without padding."""
    lengths = np.diff(offsets)
    real: Array = np.arange(lengths.max(initial=0)) < lengths[:, None]
    matrix = np.full(real.shape, fill, np.int64)
    matrix[real] = labels
    return matrix, None if real.all() else real


def groups_of(sentences: Sequence[Array], batch: int) -> list[Array]:
    """Group sentence numbers into batches, longest sentences first, to minimize padding."""
    order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
    return [order[start : start + batch] for start in range(0, len(order), batch)]
