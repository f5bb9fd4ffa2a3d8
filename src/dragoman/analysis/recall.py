"""A training whose gradients explode, and what clipping and truncation do for it (book 7.2)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from dragoman.batch import Batch
from dragoman.data.toys import recall_batch
from dragoman.errors import NonFiniteError
from dragoman.graph import Value, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import Loss
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Callback, Stopping, train
from dragoman.training.loop import Training

SYMBOLS, GAP, QUESTIONS = 4, 3, 20  # sequences of 100 steps, of which an answer needs the last 5
UNITS, SAMPLES, RATE = 32, 16, 0.3
STEPS, STRETCH = 100, 1.5  # the weights of the state: a rotation, stretched
LONGEST, CUT = 1.0, GAP + 2  # of a gradient that is clipped; steps that are passed back


class Truncated(RecurrentNetwork):
    """The same network, whose gradients go back `cut` steps at most."""

    cut: int | None = None

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return self.read(batch, run, cut=self.cut)[0]


class Errors(Callback):
    """Remembers the error of every step."""

    def __init__(self) -> None:
        self.errors: list[float] = []

    def step(self, step: int, loss: Loss, training: Training) -> None:
        self.errors.append(loss.error)


def recall_errors(
    clip: float = math.inf, cut: int | None = None, stretch: float = STRETCH, steps: int = STEPS, seed: int = 0
) -> list[float]:
    """The error of each step of gradient descent; fewer, when a number became infinite."""
    network = Truncated(RecurrentNetworkConfiguration(inputs=2 * SYMBOLS + 1, units=UNITS, outputs=SYMBOLS), seed)
    network.change(cut=cut)
    weights = value_of(network.hidden.forward[0].recurrent_weights)
    weights *= stretch
    watch = Errors()
    with contextlib.suppress(NonFiniteError):
        train(network, _questions(seed), GradientDescent(), Constant(RATE), Stopping(steps), clip=clip, watch=watch)
    return watch.errors


def _questions(seed: int) -> Iterator[Batch]:
    rng = np.random.default_rng(seed)
    return (recall_batch(SAMPLES, SYMBOLS, GAP, rng, QUESTIONS) for _ in itertools.count())


@functools.cache
def recall_curves() -> Mapping[str, list[float]]:
    """The same training left alone, clipped, truncated, and with weights that do not explode; some seconds.

    The last one is the control: it is left alone too, at the same rate.
    """
    return {
        "left alone": recall_errors(),
        f"gradients clipped to norm {LONGEST:g}": recall_errors(clip=LONGEST),
        f"back-propagation cut every {CUT} steps": recall_errors(cut=CUT),
        "left alone, weights not stretched": recall_errors(stretch=1.0),
    }


def caption() -> str:
    """What is trained, in a line."""
    length = QUESTIONS * (GAP + 2)
    return f"An RNN with weights stretched by {STRETCH:g} recalls a label after {GAP} others, in sequences of {length}"
