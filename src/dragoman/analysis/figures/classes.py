"""Confusion matrix, ROC curves, calibration curve, and predicted against true numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.classes import Calibration, RocCurve
from dragoman.analysis.figures.canvas import new_figure, text_width
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERED = 12  # classes up to which every cell shows its count
CURVES = 10  # ROC curves in a figure: those of the lowest area, where something can be learnt
LABEL = 24  # characters of a class name


def confusion_figure(matrix: Array, names: Sequence[str]) -> Figure:
    """Rows are true classes; the colour is the share of a row, the number its count."""
    count = len(names)
    shown = [_short(name) for name in names]
    side, room = max(2.4, min(9.0, 0.55 * count)), text_width(shown, 10)
    figure = new_figure(side + room + 1.9, side + (0.7 * room if count > 3 else 0.2) + 0.9, "compressed")
    axes = figure.add_subplot()
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    steep = max(map(len, shown)) > 4 and count > 3
    axes.set_xticks(range(count), shown, rotation=45 if steep else 0, ha="right" if steep else "center")
    axes.set_yticks(range(count), shown)
    axes.set(xlabel="predicted", ylabel="true")
    if count <= NUMBERED:
        for i in range(count):
            for j in range(count):
                colour = "white" if shares[i, j] > 0.5 else "black"
                axes.text(j, i, f"{int(matrix[i, j]):,}", ha="center", va="center", color=colour, fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of the true class")
    return figure


def roc_figure(curves: Mapping[str, RocCurve]) -> Figure:
    """True against false positives; the diagonal is chance."""
    figure = new_figure(5.4, 5.2, "compressed")
    axes = figure.add_subplot()
    chosen = sorted(curves.items(), key=lambda item: item[1].auc)[:CURVES]
    for name, curve in sorted(chosen, key=lambda item: -item[1].auc):
        axes.plot(curve.false_positives, curve.true_positives, label=f"{_short(name)} (AUC {curve.auc:.3f})")
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1, label="chance")
    title = f"The {CURVES} classes of the lowest area, of {len(curves)}" if len(curves) > CURVES else ""
    axes.set(xlabel="false positives, share of the others", ylabel="true positives, share of the class", title=title)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", fontsize=8)
    return figure


def calibration_figure(found: Calibration) -> Figure:
    """How often predictions of a confidence are right, and how many there are."""
    figure = new_figure(5.4, 5.2)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    upper.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1, label="perfectly calibrated")
    upper.plot(found.confidence, found.right, marker="o", label=f"model (error {found.expected_error:.3f})")
    least = max(0.0, float(min(found.confidence.min(initial=1), found.right.min(initial=1))) - 0.08)
    upper.set(ylabel="share that is right", xlim=(least, 1.02), ylim=(least, 1.02))
    upper.grid(alpha=0.25)
    upper.legend(loc="upper left", fontsize=8)
    lower.bar(found.confidence, found.counts, width=0.05, color="tab:blue")
    lower.set(xlabel="probability of the prediction", ylabel="predictions")
    lower.grid(alpha=0.25, axis="y")
    return figure


def numbers_figure(truth: Array, predicted: Array) -> Figure:
    """Predicted against true numbers; on the diagonal they are equal."""
    figure = new_figure(5.2, 5.2, "compressed")
    axes = figure.add_subplot()
    low, high = float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max()))
    margin = 0.03 * (high - low or 1)
    ends = [low - margin, high + margin]
    axes.plot(ends, ends, color="grey", linestyle=":", linewidth=1)
    many = len(truth) > 300
    axes.scatter(truth, predicted, s=8 if many else 18, alpha=0.35 if many else 0.7, edgecolors="none")
    axes.set(xlabel="true", ylabel="predicted", xlim=ends, ylim=ends, aspect="equal")
    axes.grid(alpha=0.25)
    return figure


def _short(name: str) -> str:
    return name if len(name) <= LABEL else name[: LABEL - 1] + "…"
