"""The figure of gradients through time shows what was computed, of a recurrent model and of any other."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dragoman.analysis import recall
from dragoman.analysis.adjoints import UNTRAINED, adjoint_norms, embedded, untrained_norms
from dragoman.analysis.figures import as_svg, gradients_figure
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.networks import EncoderDecoder, RecurrentConfiguration, Transformer, TransformerConfiguration
from dragoman.tasks.translation import figures
from dragoman.tasks.translation.figures import SEQUENCES, STEPS, gradients

LABELS = np.arange(7) % 5
TITLES = ("a long title on the left " * 4, "a long title on the right " * 4)


def norms(last: float) -> Array:
    return np.geomspace(last, 1, 61)


def drawn(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_two_panels_of_what_they_are_given() -> None:
    untrained = {"RNN": norms(1e-4), "RNN, more": norms(1e5), "GRU": norms(1e-30)}
    own = {"this model's GRU": norms(1e-2)}
    training = {"left alone": [1.5, 3.0, 2.0], "clipped": [1.5, 1.0], "cut": [1.5]}
    figure = gradients_figure(untrained, own, training, 1.4, TITLES)
    back, errors = figure.axes
    lines = drawn(back)
    assert list(lines) == [*untrained, *own]
    for name, values in (untrained | own).items():
        np.testing.assert_array_equal(lines[name].get_xdata(), np.arange(61))
        np.testing.assert_array_equal(lines[name].get_ydata(), values[::-1])  # the loss is at the left
    assert back.get_yscale() == "log"
    assert back.get_ylim()[0] == 1e-12 < 1e5 < back.get_ylim()[1]
    assert lines["RNN"].get_color() == lines["RNN, more"].get_color() != lines["GRU"].get_color()
    assert lines["RNN"].get_linestyle() != lines["RNN, more"].get_linestyle()
    assert lines["this model's GRU"].get_linewidth() > 2 * lines["GRU"].get_linewidth()
    curves = drawn(errors)
    assert list(curves) == [*training, "guessing"]
    assert list(curves["clipped"].get_xdata()) == [1, 2]
    assert list(curves["left alone"].get_ydata()) == training["left alone"]
    assert set(curves["guessing"].get_ydata()) == {1.4}
    assert errors.get_ylim()[0] == 0
    assert [axes.get_title().replace("\n", " ") for axes in figure.axes] == [title.strip() for title in TITLES]


def test_nothing_is_cut_off_and_the_file_is_well_formed() -> None:
    untrained = {name: norms(10.0**-i) for i, name in enumerate(UNTRAINED)}
    figure = gradients_figure(untrained, {"this model's LSTM": norms(1e3)}, {"left alone": [2.0, 1e3]}, 1.4, TITLES)
    assert ElementTree.fromstring(as_svg(figure)).tag == "{http://www.w3.org/2000/svg}svg"
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def translator(network: Any) -> Any:
    """Enough of one, whose every text is the same seven labels."""
    tokenizer = SimpleNamespace(encode=lambda texts: [LABELS[: len(text)] for text in texts])
    return SimpleNamespace(network=network, source_tokenizer=tokenizer, directory=None)


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    told = {"left alone": [1.0, 2.0], "clipped": [1.0, 0.5]}
    monkeypatch.setattr(recall, "recall_curves", lambda: told)
    return told


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_a_recurrent_model_beside_untrained_cells_of_its_size(
    turned: bool, both: bool, curves: dict[str, list[float]]
) -> None:
    sizes = {"depth": 6, "units": 8, "source_vocabulary": 9, "target_vocabulary": 9}
    c = RecurrentConfiguration(cell="lstm", layers=2, reversed=turned, bidirectional=both, **sizes)
    network = EncoderDecoder(c, seed=5)
    back, errors = gradients(translator(network), "seven..").axes
    labels = np.resize(LABELS, (SEQUENCES, STEPS))
    units = 4 if both else 8
    lines, untrained = drawn(back), untrained_norms(labels, 9, 6, units)
    assert list(lines) == [*untrained, "this model's LSTM, trained"]
    for name, values in untrained.items():
        np.testing.assert_array_equal(lines[name].get_ydata(), values[::-1])
    x = embedded(network.source_embedding, labels[:, ::-1] if turned else labels)
    own = adjoint_norms(network.encoder.forward[0], x)
    np.testing.assert_array_equal(lines["this model's LSTM, trained"].get_ydata(), own[::-1])
    assert np.abs(own - untrained["LSTM"]).max() > 1e-6
    assert back.get_title() == f"Cells of this model's sizes (6 → {units}) before training"
    assert list(drawn(errors)) == [*curves, "guessing"]
    assert drawn(errors)["guessing"].get_ydata()[0] == math.log(recall.SYMBOLS)
    assert errors.get_title().replace("\n", " ") == recall.caption()
    assert value_of(network.source_embedding.table).dtype == np.float32


def test_a_transformer_lends_its_depth(curves: dict[str, list[float]]) -> None:
    c = TransformerConfiguration(source_vocabulary=9, target_vocabulary=9, depth=8, perceptron_depth=8, heads=2)
    back, _ = gradients(translator(Transformer(c)), "seven..").axes
    assert list(drawn(back)) == list(UNTRAINED)
    told = "This model is a Transformer; cells of its depth (8 → 8) before training"
    assert back.get_title().replace("\n", " ") == told


def test_the_testing_sentences_are_joined(curves: dict[str, list[float]], monkeypatch: pytest.MonkeyPatch) -> None:
    c = RecurrentConfiguration(cell="rnn", depth=2, units=2, source_vocabulary=9, target_vocabulary=9)
    asked = translator(EncoderDecoder(c))
    asked.directory = "there"
    monkeypatch.setattr(figures, "load_testing", lambda directory: [("abc", "x"), ("abcde", "y")])
    labels = figures._joined(asked, None)
    assert labels.shape == (SEQUENCES, STEPS)
    assert labels.ravel()[:16].tolist() == [0, 1, 2, 0, 1, 2, 3, 4] * 2
    assert figures._joined(asked, "ab").ravel()[:4].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("text", [None, ""])
def test_without_a_label_there_is_nothing_to_measure(text: str | None) -> None:
    c = RecurrentConfiguration(cell="rnn", depth=2, units=2, source_vocabulary=9, target_vocabulary=9)
    with pytest.raises(ConfigurationError, match="testing sentences or a text, and there is none: --text"):
        gradients(translator(EncoderDecoder(c)), text)
