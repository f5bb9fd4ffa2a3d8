"""dragoman inspect and dragoman plot, as a user types them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from dragoman.tasks.model import load_metadata
from dragoman.tasks.translation.figures import FIGURES
from tests.cli.running import Run, dragoman
from tests.tasks.models import pairs_file

# inspect


@pytest.mark.ledger("T-6.2-params")
def test_inspect_a_model(undertrained: Path, run: Run) -> None:
    done = run("inspect", undertrained)
    metadata = load_metadata(undertrained)
    assert (done.code, done.err) == (0, "")
    parts = metadata.data.parts
    told = (
        "source_embedding",
        "decoder.0.cross_attention",
        f"{metadata.network.source_vocabulary} x 16",
        f"{metadata.parameters:,}",
        pairs_file(),
        f"{parts['training']} training, {parts['validation']} validation, {parts['testing']} testing",
        "modern, seed 0",
        "20 steps, 2 epochs, finished 2 epochs",
        "pre-norm, dropout 0.1",
        f"{metadata.longest[0]} source tokens",
        "numbers, addresses, placeholders",
        metadata.dragoman,
        "trains      graph (the numpy engine computes one operation after the other)",
        "decodes     step by step (the numpy engine computes one operation after the other)",
    )
    for text in told:
        assert text in done.out, text
    sizes = [line.split()[-1] for line in done.lines if line.startswith("  ") and line.split()[0] in PARTS]
    assert sum(int(size.replace(",", "")) for size in sizes) == metadata.parameters


def test_inspect_as_json(undertrained: Path, run: Run) -> None:
    done = run("inspect", undertrained, "--json")
    assert (done.code, done.err) == (0, "")
    found, metadata = json.loads(done.out), load_metadata(undertrained)
    assert found["parameters"] == metadata.parameters == sum(found["by_part"].values())
    assert sum(array["size"] for array in found["arrays"]) == metadata.parameters
    shapes = {array["name"]: array["shape"] for array in found["arrays"]}
    assert shapes["source_embedding.table"] == [metadata.network.source_vocabulary, 16]
    assert found["metadata"]["recipe"] == "modern"
    assert found["metadata"]["data"]["parts"] == metadata.data.parts


def test_inspect_a_preset_as_json(run: Run) -> None:
    size = ("--source-vocabulary", "4562", "--target-vocabulary", "6134")
    found = json.loads(run("inspect", "--preset", "small", *size, "--json").out)
    assert (found["network"], found["parameters"]) == ("transformer, small", 1166966)
    assert "metadata" not in found


def test_layers_fit_60_columns(undertrained: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = [line for line in run("inspect", undertrained).lines if set(line) & set("│┃┏└")]
    assert max(map(len, table)) <= 60
    assert "…" not in "".join(table)
    size = ("--preset", "large", "--source-vocabulary", "45620", "--target-vocabulary", "61340")
    table = [line for line in run("inspect", *size).lines if set(line) & set("│┃┏└")]
    assert max(map(len, table)) <= 60


def test_inspect_says_which_code_runs() -> None:
    sizes = ["--preset", "small", "--source-vocabulary", "30", "--target-vocabulary", "30"]
    done = dragoman("inspect", *sizes, environment={"DRAGOMAN_ENGINE": "numba"})
    assert done.stdout.splitlines()[-2:] == ["  trains      program", "  decodes     fused"], done.stderr


PARTS = (
    "source_embedding",
    "encoder",
    "encoder_normalization",
    "reference_embedding",
    "decoder",
    "decoder_normalization",
    "output",
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "give a model, or --preset, --source-vocabulary and --target-vocabulary"),
        (["--preset", "small"], "give a model, or --preset"),
        (["gone"], "gone is not a directory"),
    ],
)
def test_what_cannot_be_inspected(arguments: list[str], expected: str, run: Run) -> None:
    done = run("inspect", *arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err


# plot


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_as_svg_and_as_png(figure: str, model: Path, run: Run, tmp_path: Path) -> None:
    text = ["--text", "The man sees the old book."] if figure == "attention" else []
    svg = tmp_path / "figure.svg"
    done = run("plot", model, figure, *text, "--out", svg)
    assert (done.code, done.err) == (0, "")
    assert done.out.strip() == str(svg)
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    assert len(list(root.iter())) > 30
    done = run("plot", model, figure, *text)
    assert (done.code, done.err) == (0, "")
    png = model / "figures" / f"{figure}.png"
    assert done.out.strip() == str(png)
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(data) > 5000


def test_figures_show_what_they_are_asked_for(model: Path, run: Run, tmp_path: Path) -> None:
    drawn = []
    for text in ("The man sees bread.", "The boy wants an apple."):
        run("plot", model, "attention", "--text", text, "--out", tmp_path / "a.svg")
        drawn.append((tmp_path / "a.svg").read_bytes())
    assert drawn[0] != drawn[1]
    words = ["--text", "man woman sees house"]
    assert run("plot", model, "embeddings", *words, "--out", tmp_path / "e.svg").code == 0
    run("plot", model, "embeddings", "--out", tmp_path / "all.svg")
    assert (tmp_path / "e.svg").read_bytes() != (tmp_path / "all.svg").read_bytes()


def test_a_number_in_the_sentence_is_drawn(model: Path, run: Run, tmp_path: Path) -> None:
    """Its stand-in is a character that no font has; warnings are errors here."""
    done = run("plot", model, "attention", "--text", "The man sees 25 boats.", "--out", tmp_path / "a.png")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["attention"], 'attention is that of a sentence: --text "The plant is green."'),
        (["embeddings", "--text", "man"], "fewer than 3 of these words"),
        (["nothing"], "there is no figure 'nothing'; there is history, attention, embeddings, positions"),
        (["history", "--out", "figure.pdf"], "figure.pdf: figures are written as .png or .svg, not as '.pdf'"),
        (["history", "--out", "gone/figure.png"], "gone/figure.png could not be written"),
    ],
)
def test_what_cannot_be_drawn(
    arguments: list[str], expected: str, undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("plot", undertrained, *arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1
    assert not (undertrained / "figures").exists(), "nothing was drawn"


def test_a_model_without_a_history(model: Path, run: Run) -> None:
    (model / "history.jsonl").unlink()
    done = run("plot", model, "history")
    assert done.code == 2
    assert "has no history yet" in done.err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[1, 2]", "line 2"),
        ('"text"', "line 2"),
        ("null", "line 2"),
        ("{}", "line 2 of the history has no step: {}"),
        ('{"step": "two", "training_error": 1.0}', "line 2 of the history: 'step' is 'two'; expected a number"),
        ('{"step": 2, "training_error": [1.0]}', "line 2 of the history: 'training_error' is [1.0]; expected a number"),
        ('{"step": 2, "epoch": true}', "line 2 of the history: 'epoch' is True; expected a number"),
        ('{"step": Infinity}', "line 2 of the history has no step"),
        ('{"epoch": 1.0}\n{"step": 2}', "line 2 of the history has no step"),
        ("{", "history.jsonl"),
    ],
)
def test_a_history_with_a_wrong_line_is_told_and_leaves_no_file(
    line: str, expected: str, model: Path, run: Run, tmp_path: Path
) -> None:
    (model / "history.jsonl").write_text(f'{{"step": 1, "epoch": 1.0, "best": true}}\n{line}\n', encoding="utf-8")
    done = run("plot", model, "history", "--out", tmp_path / "history.png")
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    run("plot", model, "history")
    assert not (model / "figures").exists()


def test_a_report_does_without_a_wrong_history(model: Path, run: Run) -> None:
    (model / "history.jsonl").write_text('{"step": "two"}\n', encoding="utf-8")
    done = run("evaluate", model, "--most", "2")
    assert done.code == 0
    assert "the figure 'Training' is left out of the page: line 1 of the history" in done.err
    assert (model / "evaluation" / "report.html").exists()


def test_a_figure_that_fails_half_way_leaves_no_file(
    undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    def breaks_off(figure: Figure, file: object, **options: object) -> None:
        if isinstance(file, str | Path):  # as matplotlib opens it
            Path(file).touch()
        raise ValueError("a glyph that cannot be drawn")

    monkeypatch.setattr(Figure, "savefig", breaks_off)
    with pytest.raises(ValueError, match="a glyph"):
        run("plot", undertrained, "positions", "--out", tmp_path / "figure.png")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_figures_that_cannot_be_made(model: Path, run: Run) -> None:
    (model / "figures").write_text("in the way", encoding="utf-8")
    done = run("plot", model, "positions")
    assert (done.code, done.out) == (2, "")
    assert "cannot be created" in done.err
