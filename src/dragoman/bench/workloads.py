"""What is measured: kinds of batches, sizes of networks, and which of them were asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import ConfigurationError
from dragoman.layers import Positions
from dragoman.networks import PRESETS, TransformerConfiguration


@dataclass(frozen=True)
class Size:
    """A network and the batches it is given."""

    network: dict[str, int]
    vocabularies: tuple[int, int] = (4562, 6134)  # the thesis's
    sentences: int = 64  # a batch
    share: float = 1.0  # of the batches and lengths below, for tests


SIZES = {name: Size(dict(network)) for name, network in PRESETS.items()}
HIDDEN = {"tiny": Size({"depth": 16, "perceptron_depth": 24, "heads": 2, "layers": 2}, (40, 50), 6, 0.2)}


@dataclass(frozen=True)
class Workload:
    """A kind of training step. Both sides have the same network, dropout, label smoothing, clipping and Adam."""

    name: str
    told: str
    block: Literal["pre", "post"]
    dropout: float
    batches: int
    length: int | None = None  # of every sentence; None: as real text has them
    grouped: bool = True
    in_order: bool = False  # as an epoch has them
    positions: Positions = "half_sinusoid"

    @property
    def smoothing(self) -> float:
        return 0.1 if self.dropout else 0.0


TRAINING = {
    workload.name: workload
    for workload in (
        Workload("equal", "every sentence of 10 labels, no dropout", "post", 0.0, 8, 10),
        Workload("grouped", "real lengths, similar ones together, dropout 0.1", "pre", 0.1, 16),
        Workload("unsorted", "the same sentences in any order, dropout 0.1", "pre", 0.1, 16, grouped=False),
        Workload("long", "every sentence of 53 labels, no dropout", "post", 0.0, 4, 53),
        Workload(
            "epoch",
            "200 batches of an epoch in its order, the recipe `modern`",
            "pre",
            0.1,
            200,
            in_order=True,
            positions="relative",
        ),
    )
}
EPOCH, DECODING, SCALING = "epoch", "decoding", "scaling"
KNOWN = (*TRAINING, DECODING, SCALING)
NAMES = tuple(name for name in KNOWN if name not in (EPOCH, SCALING))  # what is measured unless something is named


def configured(size: Size, **changes: Any) -> TransformerConfiguration:
    source, reference = size.vocabularies
    settings = {"source_vocabulary": source, "target_vocabulary": reference, **size.network, **changes}
    return TransformerConfiguration(**settings)


@dataclass(frozen=True)
class Settings:
    """What a run of the benchmark is asked for."""

    presets: tuple[str, ...] = tuple(SIZES)
    workloads: tuple[str, ...] = NAMES
    rounds: int = 12
    threads: int | None = None  # None: the physical cores for us, its own default for PyTorch
    idle: float = 0.4  # seconds between blocks: threads of OpenMP wait awake for 0.2 s for more work
    block: float = 0.4  # seconds that a block takes at least
    compile: bool = False
    starts: bool = True
    decoded: int = 256  # sentences
    corpus: str | None = None
    model: Path | None = None
    skipped: dict[str, str] = field(default_factory=dict)  # what could not be measured, and why

    def size(self, preset: str) -> Size:
        return {**SIZES, **HIDDEN}[preset]


def chosen(only: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """'small,grouped' -> the presets and the workloads it names; of what it does not name, the usual."""
    words = [word.strip() for word in (only or "").split(",") if word.strip()]
    for word in words:
        if word not in (*SIZES, *HIDDEN, *KNOWN):
            raise ConfigurationError(
                f"--only takes presets ({', '.join(SIZES)}) and workloads ({', '.join(KNOWN)}), not '{word}'"
            )
    presets = tuple(word for word in (*SIZES, *HIDDEN) if word in words)
    workloads = tuple(word for word in KNOWN if word in words)
    return presets or tuple(SIZES), workloads or NAMES
