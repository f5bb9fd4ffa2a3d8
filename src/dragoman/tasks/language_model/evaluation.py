"""The evaluation of a language model: how well it predicts a text, beside models that anyone can make by counting."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.ngrams import ORDER, CharacterNgrams
from dragoman.analysis.task_report import ReportTable, TaskReport
from dragoman.data.token_stream import TokenStream
from dragoman.errors import DataError
from dragoman.graph import Array
from dragoman.ranks import current
from dragoman.tasks.language_model.scoring import LOG_2, Measured, score_of
from dragoman.training.checkpoints import replace_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.language_model.generator import TextGenerator

BASELINES = "baselines.json"
COUNTED = 5_000_000  # tokens of the training part that n-grams are counted on, at most
TESTED = 1_000_000  # characters of the testing part that they are tested on, at most
POINTS = 32  # of the figure
PROMPT, SAMPLE = 100, 300  # characters of a sample's beginning, and tokens written after it


def evaluate(model: TextGenerator, text: str) -> TaskReport:
    """Error, perplexity, bits per character and accuracy of a text; baselines, a figure and a sample."""
    if not text:
        raise DataError("there is no text to evaluate on")
    labels = model.tokenizer.encode([text])[0]
    (measured,) = model.measure([labels], current())
    found = score_of(text, labels, measured)
    metrics = {
        "bits_per_character": found.bits_per_character,
        "perplexity": found.perplexity,
        "error": -found.log_probability / found.tokens,
        "accuracy": float(measured.right[measured.counted].mean()),
    }
    rows: list[tuple[str, float, float]] = []
    if model.directory is not None and text == _own_testing(model.directory):
        rows = [(name, bits, 2**bits) for name, bits in load_baselines(model.directory).items()]
    own = ("this model", found.bits_per_character, 2**found.bits_per_character)
    note = (
        f"Of the same text. Counted on the first {COUNTED:,} tokens of the training part: the share of each character "
        f"(unigram), and n-grams of {ORDER} characters with Kneser-Ney smoothing."
        if rows
        else "Baselines are kept for the model's own testing part alone."
    )
    columns = ("model", "bits per character", "perplexity per character")
    tables = [ReportTable("Beside models that only count", columns, [*rows, own], note), _sample(model, text)]
    figures = {}
    if measured.places.max(initial=0) < model.metadata.context:
        figures["Error by position in the window"] = partial(position_figure, measured)
    return TaskReport(_headline(found.bits_per_character, rows), metrics, tables, figures)


def _headline(bits: float, rows: list[tuple[str, float, float]]) -> str:
    said = f"{bits:.3f} bits per character"
    if not rows:
        return said
    name, best, _ = rows[-1]
    verdict = f"better than a {name}" if bits < best else f"not better than a {name}: train longer, or on more text"
    return f"{said} ({name}: {best:.3f}), {verdict}"


def _sample(model: TextGenerator, text: str) -> ReportTable:
    prompt = text[:PROMPT].rpartition(" ")[0] or text[:PROMPT]
    try:
        written = "".join(model.generate(prompt, tokens=SAMPLE, temperature=0.8))
    except DataError as error:  # characters it has never seen
        written = f"({error})"
    return ReportTable("A sample", ("the text begins", "the model goes on"), [(prompt, written)], "At temperature 0.8.")


def position_figure(measured: Measured) -> Figure:
    """Bits per token at every position of a window: how much the text before it helps."""
    from dragoman.analysis.figures.canvas import new_figure

    x, y = by_position(measured)
    figure = new_figure(7, 4)
    axes = figure.subplots()
    axes.plot(x, y, marker="o", markersize=3)
    axes.set(xlabel="tokens before it in the window", ylabel="bits per token", xscale="symlog", xlim=(0, None))
    axes.grid(alpha=0.25)
    return figure


def by_position(measured: Measured) -> tuple[Array, Array]:
    """(position, bits per token), the later positions several together."""
    last = int(measured.places.max(initial=0)) + 1
    edges = np.unique(np.concatenate((np.arange(min(9, last)), np.geomspace(1, last, POINTS).astype(int), [last])))
    groups = np.searchsorted(edges, measured.places, side="right") - 1
    count = np.bincount(groups, minlength=len(edges))[: len(edges) - 1]
    bits = -np.bincount(groups, measured.log_probabilities, len(edges))[: len(edges) - 1] / LOG_2
    where = np.bincount(groups, measured.places, len(edges))[: len(edges) - 1]
    there = count > 0
    return where[there] / count[there], bits[there] / count[there]


# Baselines, made when a training begins: the text is at hand then


def save_baselines(dataset: TokenStream, directory: Path) -> None:
    """Measure models that only count on the testing part, and keep the result with the model."""
    testing = "".join(dataset.text("testing"))[:TESTED]
    if not testing:
        return
    replace_file(directory / BASELINES, json.dumps(baselines(training_text(dataset), testing), indent=2))


def training_text(dataset: TokenStream) -> str:
    last = min(dataset.about["bounds"][1], COUNTED)
    (text,) = dataset.encoders["text"].decode([np.asarray(dataset.tokens[:last])])
    found: str = text
    return found


def baselines(training: str, testing: str) -> dict[str, float]:
    """Bits per character, the worst first."""
    single = CharacterNgrams.count(training, 1)
    return {
        "uniform": math.log2(single.kinds),
        "unigram": single.bits(testing),
        f"{ORDER}-gram": CharacterNgrams.count(training).bits(testing),
    }


def load_baselines(directory: Path) -> Mapping[str, float]:
    """Bits per character by name; none where they are missing or cannot be read."""
    try:
        found = json.loads((directory / BASELINES).read_text(encoding="utf-8"))
        return {str(name): float(bits) for name, bits in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _own_testing(directory: Path) -> str | None:
    from dragoman.tasks.language_model.task import TASK

    try:
        return "".join(TASK.load_testing(directory))
    except DataError:
        return None
