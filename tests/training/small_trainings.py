"""Trainings small enough to be done again and again: shared by the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.data import Batching, BatchStream, LabelPairs, toy_pairs
from dragoman.graph import Array
from dragoman.loss import CrossEntropy, Loss, LossIndex, MeanSquaredError, Regularization
from dragoman.networks import Network
from dragoman.optimization import Adam, AdamW, Constant, Cosine, Momentum, Optimizer, Plateau, RMSprop
from dragoman.training import Callback, Checkpoints, History, Record, Stopping, Validation
from dragoman.training.loop import Saving, Training
from dragoman.training.step import StepSettings
from dragoman.training.workers import Workers
from tests.training.perceptrons import Perceptrons, Rows

SYMBOLS = 3
_PAIRS = toy_pairs("reverse", 24, SYMBOLS, 4, np.random.default_rng(0))
TRAINING, JUDGED = LabelPairs(_PAIRS[:17]), LabelPairs(_PAIRS[17:])  # 17 by 5: epochs of 5, 5, 5 and 2 pairs
STEPS = 10  # two epochs and a half

_RNG = np.random.default_rng(1)
X = _RNG.standard_normal((17, 3))
POINTS = Rows(X, (X @ [1.0, -2.0, 0.5] > 0).astype(int))
CURVE = Rows(X, X @ np.array([[1.0], [-2.0], [0.5]]))


class Heard(Callback):
    """Remembers all that it is told, and theta at every step"""

    def __init__(self) -> None:
        self.steps: list[tuple[int, Loss]] = []
        self.thetas: list[Array] = []
        self.records: list[Record] = []
        self.notices: list[str] = []

    def step(self, step: int, loss: Loss, training: Training) -> None:
        self.steps.append((step, loss))
        self.thetas.append(training.network.theta.values.copy())

    def record(self, record: Record) -> None:
        self.records.append(record)

    def notice(self, text: str) -> None:
        self.notices.append(text)

    @property
    def losses(self) -> list[Loss]:
        return [loss for _, loss in self.steps]


def small_transformer(**settings: Any) -> Transformer:
    vocabulary = SYMBOLS + 4
    sizes = {"depth": 4, "perceptron_depth": 4, "heads": 2} | settings
    dtype = sizes.pop("dtype", np.float32)
    configuration = TransformerConfiguration(source_vocabulary=vocabulary, target_vocabulary=vocabulary, **sizes)
    return Transformer(configuration, dtype=dtype)


def judged_pairs() -> Iterator[Batch]:
    """The validation part in two batches of unequal size"""
    yield JUDGED.batch(np.arange(5))
    yield JUDGED.batch(np.arange(5, 7))


def judged_points() -> Iterator[Batch]:
    yield POINTS.batch(np.arange(17))


@dataclass(frozen=True)
class Case:
    """How to build a training anew, the same each time."""

    network: Callable[[], Network] = small_transformer
    samples: Any = TRAINING
    optimizer: Callable[[], Optimizer] = Adam
    schedule: Callable[[], Any] = lambda: Constant(0.02)
    frozen: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)

    def build(self, directory: Path | None = None, **more: Any) -> Training:
        """With a directory: with checkpoints and a history in it"""
        network = self.network()
        if self.frozen:
            network.freeze(*self.frozen)
        given = {"stopping": Stopping(STEPS)} | self.settings | more
        if directory is not None:
            checkpoints = Checkpoints(directory / "checkpoints", given.pop("keep", 2))
            checkpoints.prepare()
            given |= {"checkpoints": checkpoints, "history": History(directory / "history.jsonl")}
        stream = BatchStream(self.samples, Batching(5), seed=3)
        return Training(network, stream, self.optimizer(), self.schedule(), **grouped(given))


def grouped(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by their own names as those of a `Training`: of the step, of what it saves, and the rest"""
    left = dict(settings)

    def taken(kind: Any, renamed: dict[str, str]) -> Any:
        names = [field.name for field in fields(kind)]
        return kind(**{name: left.pop(renamed.get(name, name)) for name in names if renamed.get(name, name) in left})

    return {"settings": taken(StepSettings, {}), "saving": taken(Saving, {"every": "save_every"}), **left}


def dropping(**settings: Any) -> Callable[[], Transformer]:
    return lambda: small_transformer(dropout=0.3, **settings)


ACCURATE = Validation(judged_pairs, best_by="accuracy")
CASES = {
    "Adam": Case(settings={"validation": Validation(judged_pairs), "clip": 0.5}),
    "AdamW, dropout, smoothing": Case(
        dropping(),
        optimizer=lambda: AdamW(decay=0.1),
        schedule=lambda: Cosine(0.02, STEPS, 2),
        settings={"seed": 5, "loss_index": LossIndex(CrossEntropy(0.1), Regularization("l2", 0.01))},
    ),
    "Momentum, plateau": Case(
        optimizer=Momentum,
        schedule=lambda: Plateau(0.9, patience=1),
        settings={"validation": Validation(judged_pairs, every=2)},
    ),
    "plateau of the training loss": Case(
        lambda: Perceptrons(3, 1),
        CURVE,
        optimizer=RMSprop,
        schedule=lambda: Plateau(2.0, patience=2),
        settings={
            "stopping": Stopping(epochs=8),
            "loss_index": LossIndex(MeanSquaredError(), Regularization("l1", 0.01)),
        },
    ),
    "accumulated": Case(dropping(), settings={"accumulate": 2, "validation": Validation(judged_pairs)}),
    "averaged": Case(dropping(), settings={"averaging": 0.8, "validation": Validation(judged_pairs, every=3)}),
    "accumulated, averaged, evaluated every 2": Case(
        dropping(block="pre"),
        optimizer=AdamW,
        settings={
            "accumulate": 3,
            "averaging": 0.5,
            "validation": Validation(judged_pairs, 2, "accuracy"),
            "clip": 1.0,
        },
    ),
    "frozen": Case(
        dropping(tied="all"), frozen=("encoder", "output"), settings={"averaging": 0.8, "validation": ACCURATE}
    ),
    "two threads": Case(
        dropping(),
        settings={"workers": Workers(2), "averaging": 0.5, "accumulate": 2, "validation": Validation(judged_pairs)},
    ),
    "doubles": Case(lambda: small_transformer(dtype=np.float64), settings={"validation": ACCURATE}),
    "patience": Case(
        schedule=lambda: Constant(0.5),
        settings={"stopping": Stopping(40, patience=2), "validation": Validation(judged_pairs, every=2)},
    ),
}


def times_left_out(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ("seconds", "busy", "tokens_per_second")}


def history_of(directory: Path) -> list[dict[str, Any]]:
    return [times_left_out(line) for line in History(directory / "history.jsonl").lines()]


@dataclass
class Left:
    """What a training left behind, times left out"""

    arrays: dict[str, Array]
    state: dict[str, Any]
    history: list[dict[str, Any]]
    best: str | None

    def differences(self, other: Left) -> list[str]:
        """What is not the same, bit by bit"""
        arrays = [
            name
            for name in sorted(self.arrays.keys() | other.arrays.keys())
            if name not in self.arrays
            or name not in other.arrays
            or self.arrays[name].dtype != other.arrays[name].dtype
            or self.arrays[name].tobytes() != other.arrays[name].tobytes()
        ]
        # through text: NaN, which a tally without labels holds, is not equal to itself
        rest = [n for n in ("state", "history", "best") if repr(getattr(self, n)) != repr(getattr(other, n))]
        return arrays + rest


def left_in(directory: Path) -> Left:
    checkpoints = Checkpoints(directory / "checkpoints")
    found = checkpoints.load()
    assert found is not None
    return Left(found[0], times_left_out(found[1]), history_of(directory), checkpoints.named("best"))


def intact(directory: Path) -> int:
    """The step of the latest checkpoint, 0 when there is none yet; what both pointers name is complete"""
    checkpoints, steps = Checkpoints(directory / "checkpoints"), []
    for name in ("best", "latest"):
        found = checkpoints.load(name)
        steps.append(0 if found is None else int(found[1]["step"]))
        if found is not None:
            assert found[0].keys() == {"theta", "m", "v", "average"}
            assert all(np.isfinite(array).all() for array in found[0].values())
            assert checkpoints.named(name) == f"step-{steps[-1]:08d}"
    return steps[-1]


def environment() -> dict[str, str]:
    """As this process has it, and `tests` can be imported"""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}


class After:
    """Interrupts a training after so many of its steps"""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self) -> str | None:
        self.steps -= 1
        return "asked to stop" if self.steps == 0 else None
