"""dragoman plot: figures of the documents, of any task's model, and of several trainings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dragoman.analysis import figures
from dragoman.analysis.figures.documents import FIGURES
from dragoman.tasks.training import train_model
from tests.cli.running import Run


def test_the_list_has_a_line_for_every_figure(run: Run) -> None:
    done = run("plot", "--list")
    assert (done.code, done.err) == (0, "")
    first = [line.split()[0] for line in done.lines if line.startswith("  ")]
    assert first[:7] == ["history", "attention", "embeddings", "positions", "activations", "architecture", "gradients"]
    assert first[7:] == [figure.number for figure in FIGURES]
    assert "dragoman plot figure NUMBER" in done.out


def test_a_figure_by_its_number(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", "figure", "7.3")
    assert (done.code, done.out.strip(), done.err) == (0, "figure-7.3.png", "")
    assert Path("figure-7.3.png").read_bytes()[:4] == b"\x89PNG"
    done = run("plot", "figure", "8", "--out", "eight.svg")
    assert (done.code, done.out.strip()) == (0, "eight.svg")
    assert Path("eight.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "name a model and a figure, or `figure` and a number; dragoman plot --list shows all"),
        (["figure", "7.99"], "there is no figure '7.99'; available: 1, 2, 2.1"),
        (["figure", "3"], "figure 3 is drawn from trained models: dragoman plot MODEL attention --text"),
        (["figure", "7.3", "--text", "a"], "--text is for figures of a model"),
        (["figure", "7.3", "--out", "f.pdf"], "f.pdf: figures are written as .png or .svg, not as '.pdf'"),
        (["figure", "7.3", "--out", "gone/f.png"], "gone"),
        (["figure", "7.3", "--projection", "pca"], "--projection chooses what `embeddings` shows; '7.3' has no"),
        (["nowhere", "history"], "nowhere is not a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(
    arguments: list[str], expected: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", *arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert list(tmp_path.iterdir()) == [], "whole or not at all"


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tagger")
    sentences = [f"The\tDET\nplant{i}\tNOUN\n\nI\tPRON\nmean\tVERB\nit{i}\tPRON\n\n" for i in range(20)]
    (place / "words.conll").write_text("".join(sentences), encoding="utf-8")
    settings = {
        "task": "tagging",
        "architecture": "gru",
        "network": {"depth": 8, "units": 8, "layers": 2},
        "data": {"files": [str(place / "words.conll")], "shares": [0.6, 0.2, 0.2]},
        "stopping": {"epochs": None, "steps": 2},
    }
    train_model(settings, place / "model")
    return place / "model"


def test_the_architecture_and_history_of_another_task(tagger: Path, run: Run, tmp_path: Path) -> None:
    for name in ("architecture", "history"):
        done = run("plot", tagger, name, "--out", tmp_path / f"{name}.svg")
        assert (done.code, done.err) == (0, "")
        assert (tmp_path / f"{name}.svg").exists()
    done = run("plot", tagger, "attention", "--text", "The plant")
    assert done.code == 2
    assert "is a model for tagging; its figures are history and architecture" in done.err


@pytest.mark.ledger("T-F11-13")
def test_trainings_are_compared_one_below_the_other(
    tagger: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small, Medium and Large: two panels each, with both curves, on the same scales."""
    lengths = {"small": 5, "medium": 4, "large": 3}
    for name, count in lengths.items():
        shutil.copytree(tagger, tmp_path / name)
        lines = [
            {"step": n, "epoch": n, "training_error": 3 / n, "training_accuracy": 1 - 1 / n, "best": n == count}
            | {"validation_error": 4 / n + 0.1 * n, "validation_accuracy": 0.9 - 1 / n}
            for n in range(1, count + 1)
        ]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / name / "history.jsonl").write_text(text, encoding="utf-8")
    drawn: list[Any] = []
    real = figures.histories_figure
    monkeypatch.setattr(figures, "histories_figure", lambda given: drawn.append(real(given)) or drawn[0])
    others = ("--compare", tmp_path / "medium", "--compare", tmp_path / "large")
    done = run("plot", tmp_path / "small", "history", *others, "--out", tmp_path / "f.png")
    assert (done.code, done.err) == (0, "")
    titles = [axes.get_title(loc="left") for axes in drawn[0].axes]
    assert titles == [f"{name}: {panel}" for name in lengths for panel in ("error", "accuracy")]
    for axes, count in zip(drawn[0].axes[::2], lengths.values(), strict=True):
        curves = {line.get_label(): line.get_ydata() for line in axes.lines}
        assert [len(curves[name]) for name in ("training", "validation")] == [count, count]
        assert list(curves["training"]) == [3 / n for n in range(1, count + 1)]
        assert axes.get_ylim() == drawn[0].axes[0].get_ylim()
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["training", "validation", "best"]
    twice = run("plot", tmp_path / "small", "history", "--compare", tmp_path / "small", "--compare", tmp_path / "small")
    assert twice.code == 2
    assert "is named twice" in twice.err
    done = run("plot", tmp_path / "small", "architecture", "--compare", tmp_path / "large")
    assert "--compare chooses what `history` shows" in done.err


def test_embeddings_by_t_sne(model: Path, run: Run, tmp_path: Path) -> None:
    drawn = []
    for projection in ("pca", "t-sne", "both"):
        words = ("--text", "man woman sees house the book boy")
        done = run("plot", model, "embeddings", *words, "--projection", projection, "--out", tmp_path / "e.svg")
        assert (done.code, done.err) == (0, ""), projection
        drawn.append((tmp_path / "e.svg").read_bytes())
    assert len(set(drawn)) == 3
    done = run("plot", model, "embeddings", "--projection", "umap", "--out", tmp_path / "u.svg")
    assert done.code == 2
    assert "unknown projection 'umap'; available: pca, t-sne, both" in done.err
