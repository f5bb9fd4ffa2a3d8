"""The workloads of the benchmark, the sizes of networks, and the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import ConfigurationError
from dragoman.layers import Positions
from dragoman.networks import (
    ARCHITECTURES,
    ENCODERS,
    LANGUAGE_MODELS,
    PRESETS,
    Architecture,
    Network,
    TransformerConfiguration,
)


@dataclass(frozen=True)
class Size:
    """The size of a network and of its batches."""

    network: dict[str, int]
    vocabularies: tuple[int, int] = (4562, 6134)  # as in the thesis
    sentences: int = 64  # per batch
    share: float = 1.0  # scales the number of batches and their lengths; tests use less


SIZES = {name: Size(dict(network)) for name, network in PRESETS.items()}
HIDDEN = {"tiny": Size({"depth": 16, "perceptron_depth": 24, "heads": 2, "layers": 2}, (40, 50), 6, 0.2)}


Kind = Literal["Transformer", "LanguageModel", "Encoder"]
NETWORKS: dict[str, Architecture[Any, Any]] = {
    "Transformer": ARCHITECTURES["transformer"],
    "LanguageModel": LANGUAGE_MODELS["transformer"],
    "Encoder": ENCODERS["transformer"],
}


@dataclass(frozen=True)
class Workload:
    """A kind of training step. All contenders use the same network, dropout, label smoothing, clipping and Adam."""

    name: str
    description: str
    block: Literal["pre", "post"]
    dropout: float
    batches: int
    length: int | None = None  # of every sentence; None: lengths of real text
    grouped: bool = True
    in_order: bool = False  # batches in the order of an epoch
    positions: Positions = "half_sinusoid"
    network: Kind = "Transformer"
    sizes: Mapping[str, int] = field(default_factory=dict)  # of vocabulary and outputs; Transformer: see Size
    sentences: int | None = None  # per batch; None, or more than Size has: as Size

    @property
    def smoothing(self) -> float:
        return 0.1 if self.dropout and self.network == "Transformer" else 0.0


TRAINING = {
    workload.name: workload
    for workload in (
        Workload("equal", "sentences of 10 tokens, no dropout", "post", 0.0, 8, 10),
        Workload("grouped", "real lengths, batches of similar length, dropout 0.1", "pre", 0.1, 16),
        Workload("unsorted", "the same sentences in random order, dropout 0.1", "pre", 0.1, 16, grouped=False),
        Workload("long", "sentences of 53 tokens, no dropout", "post", 0.0, 4, 53),
        Workload(
            "epoch",
            "200 batches of an epoch in order, recipe `modern`",
            "pre",
            0.1,
            200,
            in_order=True,
            positions="relative",
        ),
        Workload(
            "language-model",
            "windows of 128 characters, no dropout",
            "pre",
            0.0,
            4,
            128,
            network="LanguageModel",
            sizes={"vocabulary": 90},
            sentences=32,
        ),
        Workload(
            "classifier",
            "texts of 10 to 60 tokens in random order, 4 classes, dropout 0.1",
            "pre",
            0.1,
            16,
            grouped=False,
            network="Encoder",
            sizes={"vocabulary": 8000, "outputs": 4},
        ),
    )
}
EPOCH, DECODING, SCALING = "epoch", "decoding", "scaling"
KNOWN = (*TRAINING, DECODING, SCALING)
NAMES = tuple(name for name in KNOWN if name not in (EPOCH, SCALING))  # the default


def network_configuration(size: Size, **changes: Any) -> TransformerConfiguration:
    source, reference = size.vocabularies
    settings = {"source_vocabulary": source, "target_vocabulary": reference, **size.network, **changes}
    return TransformerConfiguration(**settings)


def new_network(workload: Workload, size: Size) -> Network:
    """Build the network of a workload."""
    changes = {"block": workload.block, "dropout": workload.dropout, "positions": workload.positions}
    architecture = NETWORKS[workload.network]
    if workload.network == "Transformer":
        configuration: Any = network_configuration(size, **changes)
    else:
        configuration = architecture.configured({**size.network, **changes}, workload.sizes)
    network: Network = architecture.build(configuration)
    return network


@dataclass(frozen=True)
class Settings:
    """Settings of a benchmark run."""

    presets: tuple[str, ...] = tuple(SIZES)
    workloads: tuple[str, ...] = NAMES
    rounds: int = 12
    threads: int | None = None  # None: physical cores for Dragoman, the library's default for PyTorch
    idle: float = 0.4  # seconds between blocks: OpenMP threads spin for 0.2 s after their work
    block: float = 0.4  # minimum seconds per block
    compile: bool = False
    starts: bool = True
    decoded: int = 256  # sentences to decode
    corpus: str | None = None
    model: Path | None = None
    against: Path | None = None  # another checkout, to compare with instead of the peers
    skipped: dict[str, str] = field(default_factory=dict)  # what could not be measured, and why

    def size(self, preset: str) -> Size:
        return {**SIZES, **HIDDEN}[preset]


def parse_only(only: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parse --only, such as 'small,grouped', into presets and workloads; what is not named keeps its default."""
    words = [word.strip() for word in (only or "").split(",") if word.strip()]
    for word in words:
        if word not in (*SIZES, *HIDDEN, *KNOWN):
            raise ConfigurationError(
                f"--only takes presets ({', '.join(SIZES)}) and workloads ({', '.join(KNOWN)}), not '{word}'"
            )
    presets = tuple(word for word in (*SIZES, *HIDDEN) if word in words)
    workloads = tuple(word for word in KNOWN if word in words)
    return presets or tuple(SIZES), workloads or NAMES
