"""Optimization algorithms, learning-rate schedules, clipping, and conditions of convergence."""

from dragoman.optimization.algorithms import AdaGrad, Adam, AdamW, GradientDescent, Momentum, RMSprop
from dragoman.optimization.convergence import a_priori_conditions, curvatures, local_convergence
from dragoman.optimization.optimizer import Optimizer, clip_gradient, clipping_factor, gradient_norm
from dragoman.optimization.schedules import (
    Constant,
    Cosine,
    Falling,
    LearnedRate,
    LinearDecay,
    Plateau,
    Schedule,
    ThesisWarmUp,
)

__all__ = [
    "AdaGrad",
    "Adam",
    "AdamW",
    "Constant",
    "Cosine",
    "Falling",
    "GradientDescent",
    "LearnedRate",
    "LinearDecay",
    "Momentum",
    "Optimizer",
    "Plateau",
    "RMSprop",
    "Schedule",
    "ThesisWarmUp",
    "a_priori_conditions",
    "clip_gradient",
    "clipping_factor",
    "curvatures",
    "gradient_norm",
    "local_convergence",
]
