"""The figures that the models of all tasks have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.analysis import figures
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.model import check_size, load_metadata
from dragoman.tasks.task import find_task
from dragoman.training import History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARED = ("history", "architecture")


def history_lines(directory: Path | None) -> list[dict[str, Any]]:
    """The evaluations of a training."""
    lines = [] if directory is None else History(directory / "history.jsonl").lines()
    if not lines:
        raise DataError(f"{directory} has no history yet; train it to its first evaluation")
    return lines


def history_figure(directory: Path, others: Sequence[Path] = ()) -> Figure:
    """Training curves (thesis, Figures 11 to 13); of several models one below the other."""
    if not others:
        load_metadata(directory)
        return figures.history_figure(history_lines(directory))
    histories = {}
    for place in (directory, *others):
        load_metadata(place)
        name = place.resolve().name if place.resolve().name not in histories else str(place)
        if name in histories:
            raise ConfigurationError(f"{place} is named twice")
        histories[name] = history_lines(place)
    return figures.histories_figure(histories)


def architecture_figure(directory: Path) -> Figure:
    """The layers of a model's network (thesis, Figure 5)."""
    metadata = load_metadata(directory)
    check_size(metadata, directory)
    network = find_task(metadata.task).architectures[metadata.architecture].build(metadata.network)
    return figures.network_figure(network)
