"""The two errors of the training curves: told apart in the figure, and never taken for overfitting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.analysis import figures
from dragoman.training import overfitting
from tests.cli.running import Run


def history(*errors: tuple[float, float]) -> list[dict[str, Any]]:
    return [
        {"step": 10 * n, "epoch": float(n), "training_error": training, "validation_error": validation}
        for n, (training, validation) in enumerate(errors, start=1)
    ]


def test_the_figure_says_how_its_errors_are_measured(
    model: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    real = figures.history_figure
    monkeypatch.setattr(figures, "history_figure", lambda lines: drawn.append(real(lines)) or drawn[0])
    done = run("plot", model, "history", "--out", tmp_path / "history.png")
    assert (done.code, done.err) == (0, "")
    (figure,) = drawn
    caption = " ".join(figure.legends[0].get_title().get_text().split())
    for said in ("not measured alike", "label smoothing", "without either", "below the training error is normal"):
        assert said in caption
    canvas, box = figure.bbox, figure.legends[0].get_window_extent()
    assert canvas.x0 <= box.x0 < box.x1 <= canvas.x1, "the caption is not cut"
    assert canvas.y0 <= box.y0


def test_a_single_evaluation_stands_on_an_axis_that_begins_at_0(model: Path) -> None:
    figure = figures.history_figure(history((3.4, 1.1)))
    assert [axes.get_xlim() for axes in figure.axes] == [(0, 2), (0, 2)]


@pytest.mark.parametrize("offset", [0.0, 2.3])  # what label smoothing adds
def test_an_offset_between_the_errors_is_not_overfitting(offset: float) -> None:
    falling = history(*((offset + 1 / n, 1 / n) for n in range(1, 8)))
    assert overfitting(falling) is None
    rising = history(*((offset + 1 / n, 0.5 + 0.1 * n) for n in range(1, 8)))
    assert "since step 10 " in (overfitting(rising) or "")
