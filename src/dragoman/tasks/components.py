"""Build the components of a training from settings: batches, optimization algorithm, schedule, loss index."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

from dragoman.batch import Batch
from dragoman.data.batching import Batching, plan_epoch
from dragoman.data.dataset import Part
from dragoman.errors import ConfigurationError
from dragoman.loss import AdjustedCrossEntropy, CrossEntropy, LossIndex, Regularization
from dragoman.loss.index import Error
from dragoman.networks import Network
from dragoman.optimization import (
    AdaGrad,
    Adam,
    AdamW,
    Constant,
    Cosine,
    GradientDescent,
    LearnedRate,
    LinearDecay,
    Momentum,
    Optimizer,
    Plateau,
    RMSprop,
    Schedule,
    ThesisWarmUp,
)
from dragoman.tasks.configuration import LossSettings, OptimizerSettings, StoppingSettings
from dragoman.training import Stopping
from dragoman.training.step import StepSettings

EVALUATED = 128  # sentences per batch in evaluations
PARTS_OF = {
    "encoder": ("source_embedding", "patch_embedding", "encoder", "encoder_normalization", "first_state"),
    "decoder": ("reference_embedding", "decoder", "decoder_normalization", "output"),
    "output": ("output",),
}


def batching(settings: OptimizerSettings) -> Batching:
    """Epochs of `growth` are counted from 1 in the settings, from 0 in the stream."""
    growth = tuple((epoch - 1, factor) for epoch, factor in settings.growth)
    return Batching(settings.batch, settings.tokens, settings.grouped, settings.keep_remainder, growth)


def fixed_batches(part: Part) -> Iterator[Batch]:
    """Yield all samples of a part, in the same batches each time."""
    for items in plan_epoch(part.lengths(), Batching(EVALUATED), 0, 0):
        yield part.batch(items)


def loss_index(settings: LossSettings, error: Error) -> LossIndex:
    norm = settings.regularization
    if settings.per_class or settings.clip_logits is not None:
        error = _adjusted(settings, error)
    return LossIndex(error, None if norm == "none" else Regularization(norm, settings.coefficient))


def _adjusted(settings: LossSettings, error: Error) -> AdjustedCrossEntropy:
    if not isinstance(error, CrossEntropy):
        raise ConfigurationError(
            f"loss.per_class and loss.clip_logits change a cross-entropy of three or more classes; this training "
            f"minimises {type(error).__name__}, so leave them out"
        )
    return AdjustedCrossEntropy(error.smoothing, settings.per_class, settings.clip_logits)


def optimizer(settings: OptimizerSettings) -> Optimizer:
    s = settings
    form: Literal["inside", "outside"] = "inside" if s.epsilon_inside else "outside"
    if s.algorithm == "adam":
        return Adam(s.beta1, s.beta2, form=form)
    if s.algorithm == "adamw":
        return AdamW(s.beta1, s.beta2, form=form, decay=s.decay)
    if s.algorithm == "momentum":
        return Momentum(s.beta1)
    if s.algorithm == "rmsprop":
        return RMSprop(s.gamma)
    return AdaGrad() if s.algorithm == "adagrad" else GradientDescent()


def schedule(settings: OptimizerSettings) -> Schedule:
    s, steps, warm_up = settings, settings.schedule_steps or 1, settings.warm_up or 0
    if s.schedule in ("thesis", "thesis_as_printed"):
        warm_up = max(1, warm_up)
        return ThesisWarmUp(s.rate * (math.sqrt(warm_up) if s.schedule == "thesis" else 1.0), warm_up)
    if s.schedule == "plateau":
        return Plateau(s.rate)
    if s.schedule == "learned":
        return LearnedRate(s.rate, s.rate_step)
    if s.schedule == "constant":
        return Constant(s.rate)
    falling = Cosine if s.schedule == "cosine" else LinearDecay
    return falling(s.rate, max(steps, warm_up + 1), warm_up)


def step_settings(settings: OptimizerSettings, seed: int) -> StepSettings:
    clip = math.inf if settings.clip is None else settings.clip
    return StepSettings(clip, seed, settings.accumulate, settings.averaging, scheduled_sampling(settings))


def scheduled_sampling(settings: OptimizerSettings) -> Callable[[int], float]:
    """Return the share of own outputs by step: it grows linearly from 0 to the setting."""
    share, steps = settings.scheduled_sampling, settings.schedule_steps or 1
    return lambda t: share * min(1.0, t / steps)


def stopping(settings: StoppingSettings) -> Stopping:
    s = settings
    return Stopping(s.steps, s.error, s.accuracy, s.epochs, s.budget, s.patience)


def freeze_all_but(network: Network, part: str) -> None:
    """Train one part alone (book 7.4); a table that two parts share stays frozen with either."""
    if part == "all":
        return
    present = {name.partition(".")[0] for name, _ in network.named_parameters()}
    network.freeze(*sorted(present - set(PARTS_OF[part])))
    if not network.theta.trainable():
        raise ConfigurationError(f"start.train = '{part}': nothing is left to train, because its table is shared")
