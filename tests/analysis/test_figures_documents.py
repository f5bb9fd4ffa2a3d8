"""The figures of the thesis and the book: all can be read, and show the networks they are drawn from."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.analysis.figures import examples
from dragoman.analysis.figures.attention_flow import attention_flow_diagram, heads_diagram
from dragoman.analysis.figures.canvas import save_figure
from dragoman.analysis.figures.cells import gru_diagram, lstm_diagram, rnn_diagram
from dragoman.analysis.figures.diagram import Diagram
from dragoman.analysis.figures.documents import FIGURES, document_figure
from dragoman.analysis.figures.layers import attention_diagram, embedding_diagram, layer_figure, perceptron_diagram
from dragoman.analysis.figures.panels import classification_diagram, paradigm_diagram
from dragoman.analysis.figures.recorded import recorded_diagram, recorded_steps
from dragoman.analysis.figures.sequences import sample_diagram, writing_diagram, written_steps
from dragoman.analysis.figures.through_time import prediction_diagram, through_time, through_time_diagram
from dragoman.analysis.figures.unrolled import Ends, translation_diagram, unrolled_diagram
from dragoman.batch import START, Batch
from dragoman.decoding import Greedy, decode
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import backpropagate, value_of
from dragoman.layers import Embedding, Initializer, Normalization, Perceptron, PositionalEncoding, SelfAttention
from dragoman.layers.recurrent import BLOCKS
from dragoman.loss import LossIndex
from dragoman.networks import (
    Perceptrons,
    PerceptronsConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
)
from dragoman.operations import cross_entropy
from tests.analysis.drawing import assert_readable

DRAWN = [figure.number for figure in FIGURES if figure.draw is not None]
DIAGRAMS = [number for number in DRAWN if number not in ("2", "4", "7.14")]  # the others are graphs
DOCS = Path(__file__).parents[2] / "docs"
INITIAL = Initializer(0, np.float64)

figure_of = functools.cache(document_figure)


def said(diagram: Diagram) -> str:
    return "\n".join(f"{node.part.name} {node.part.detail}" for node in diagram.nodes.values())


def leads(diagram: Diagram) -> set[tuple[Any, Any]]:
    return {(arrow.start, arrow.end) for arrow in diagram.arrows}


@pytest.mark.parametrize("number", DIAGRAMS)
def test_every_diagram_can_be_read(number: str) -> None:
    assert_readable(figure_of(number))


@pytest.mark.parametrize("number", DRAWN)
def test_every_figure_is_written(number: str, tmp_path: Any) -> None:
    """Matplotlib's warnings are errors here."""
    save_figure(figure_of(number), tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text(encoding="utf-8").endswith("</svg>\n")


@pytest.mark.ledger("T-F6-F10", "B-F7.3-7.4", "B-F7.6", "B-F7.7", "B-F7.8", "B-F7.12-13", "T-F1", "T-F2.1")
def test_all_figures_are_in_the_list() -> None:
    numbers = [figure.number for figure in FIGURES]
    thesis = ["1", "2", "2.1", "3", "4", "5", "6", "7", "8", "9", "10", "11-13"]
    assert numbers == [*thesis, *(f"7.{n}" for n in range(1, 18))]
    assert [figure.number for figure in FIGURES if figure.draw is None] == ["3", "11-13", "7.11"]
    assert all(figure.command.startswith("dragoman plot ") for figure in FIGURES if figure.draw is None)
    assert {figure.source for figure in FIGURES} == {"thesis", "book"}


def test_the_gallery_shows_them_all() -> None:
    page = (DOCS / "figures.md").read_text(encoding="utf-8")
    for number in DRAWN:
        assert f"`dragoman plot figure {number}`\n\n![Figure {number}](figures/documents/{number}.png)" in page
    pictures = list((DOCS / "figures" / "documents").iterdir())
    assert {picture.stem for picture in pictures} == set(DRAWN)
    assert sum(picture.stat().st_size for picture in pictures) < 800_000


def test_a_figure_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match=r"no figure '7\.18'; available: 1, 2, 2\.1"):
        document_figure("7.18")
    for number in ("11-13", "12"):
        with pytest.raises(ConfigurationError, match="trained models: dragoman plot small history --compare medium"):
            document_figure(number)


# Figure 1: what was recorded


@pytest.mark.ledger("T-F1")
@pytest.mark.parametrize("hidden", [1, 2])
def test_a_chain_has_a_box_for_each_layer(hidden: int) -> None:
    network = Perceptrons(PerceptronsConfiguration(depths=(4, *[8] * hidden, 3)))
    diagram = recorded_diagram(network, network(Batch.pack([np.ones((1, 4))])))
    boxes = [node for node in diagram.nodes.values() if node.outline == "box"]
    assert [box.part.name for box in boxes] == ["Perceptron"] * (hidden + 1)
    assert [box.cell for box in boxes] == [(0, row) for row in range(hidden + 1)]
    assert f"layers.{hidden}: 27" in said(diagram)


@pytest.mark.ledger("T-F1")
def test_a_graph_with_two_inputs_leads_where_the_recorded_one_leads() -> None:
    network = examples.encoder_decoder("every_step")
    output = network(Batch.pairs([np.array([5, 6])], [np.array([2, 5, 3])]))
    steps, diagram = recorded_steps(network, output), recorded_diagram(network, output)
    assert leads(diagram) >= {(f"{one}", f"{step.number}") for step in steps for one in step.reads}
    assert sum(step.parameters for step in steps) == network.count()
    assert sum(not step.reads for step in steps) == 2
    twice = [step.number for step in steps if sum(step.number in other.reads for other in steps) == 2]
    assert len(twice) == 2, "the state and its copies are each read by two operations"
    rows = {int(name): node.cell[1] for name, node in diagram.nodes.items() if name.isdigit()}
    assert all(rows[one] < rows[step.number] for step in steps for one in step.reads)
    with pytest.raises(ConfigurationError, match="nothing was recorded"):
        recorded_steps(network, network.plain(Batch.pairs([np.array([5])], [np.array([2, 3])])))


# Figures 2.1 and 7.17: sequences


@pytest.mark.ledger("T-F2.1")
def test_the_target_stands_over_the_label_before_it() -> None:
    network, source, reference = examples.small_translator()
    batch = Batch.pairs([source.encode("we love music")], [reference.encode("nous aimons la musique")])
    diagram = sample_diagram(batch, network, source.word, reference.word)
    below = [diagram.nodes[f"reference {j}"].part.name for j in range(5)]
    above = [diagram.nodes[f"target {j}"].part.name for j in range(5)]
    assert below == ["[START]", "nous", "aimons", "la", "musique"]
    assert above == [*below[1:], "[END]"]
    for j in range(5):
        assert diagram.nodes[f"reference {j}"].cell[0] == diagram.nodes[f"target {j}"].cell[0]
        assert {(f"reference {j}", "network"), ("network", f"target {j}")} <= leads(diagram)
    assert f"{network.count():,} parameters" in said(diagram)
    with pytest.raises(ShapeError, match="one pair"):
        sample_diagram(Batch.pack([[1]]), network, source.word, reference.word)


@pytest.mark.ledger("B-7.34eq")
def test_each_iteration_reads_all_that_was_written() -> None:
    network, source, reference = examples.small_translator()
    labels = source.encode("we love deep learning")
    steps = written_steps(network, labels)
    (best,) = decode(network, [labels], Greedy(), 12)
    assert [label for label, _ in steps][: len(best[0].labels)] == list(best[0].labels)
    words = [(reference.word(label), chance) for label, chance in steps]
    diagram = writing_diagram(network, source.words[:3], words, shown=3)
    assert diagram.nodes["read 3"].part.name.split("\n") == ["<start>", "nous", "aimons"]
    assert [diagram.nodes[f"word {t}"].part.name for t in (1, 2, 3)] == ["nous", "aimons", "l'"]
    assert {("z", f"decoder {t}") for t in (1, 2, 3)} | {("word 1", "read 2")} <= leads(diagram)
    assert labels[0] == START


# Figures 6 to 10: layers


@pytest.mark.ledger("T-F6-F10")
def test_layers_have_the_sizes_of_the_built_ones() -> None:
    assert "$v$ = 30 × 8" in said(embedding_diagram(Embedding(30, 8, INITIAL)))
    assert "sines, then cosines" in said(embedding_diagram(Embedding(30, 8, INITIAL)))
    assert "a learned table: 5 × 8" in said(
        embedding_diagram(Embedding(30, 8, INITIAL, PositionalEncoding("learned", 5)))
    )
    bare = embedding_diagram(Embedding(30, 8, INITIAL, "none"))
    assert {"scale", "add", "positions"} & bare.nodes.keys() == set()
    layer = Perceptron(8, 12, INITIAL, "tanh")
    assert "$W$: 8 × 12, $b$: 12; 108 parameters" in said(perceptron_diagram(layer))
    assert "tanh" in said(perceptron_diagram(layer))
    assert "b" not in perceptron_diagram(Perceptron(8, 12, INITIAL, biases=False)).nodes["combination"].part.name[11:]
    for form, formula in (("inside", r"\sqrt{\sigma^2 + \epsilon}"), ("outside", r"(\sigma + \epsilon)")):
        figure = layer_figure(Normalization(6, INITIAL, form))  # type: ignore[arg-type]
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert any(formula in text for text in texts)
        assert any("6 + 6 = 12 parameters" in text for text in texts)


@pytest.mark.ledger("T-F6-F10")
@pytest.mark.parametrize("heads", [1, 2, 3, 12])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_has_its_heads_and_its_mask(heads: int, causal: bool) -> None:
    diagram = attention_diagram(SelfAttention(12, heads, INITIAL, causal))
    assert ("mask" in diagram.nodes) == causal
    assert all(diagram.nodes[name].copies == min(heads, 6) for name in ("Q", "K", "V", "scores", "softmax"))
    assert f"12 → {12 // heads}" in said(diagram)
    assert f"$h$ = {heads}\nheads" == diagram.groups[0].text
    if (heads, causal) == (3, True):
        assert_readable(diagram.figure())


def test_cross_attention_reads_another_context() -> None:
    block = examples.thesis_network().decoder[0]
    assert "$x_C = x_I$" in said(attention_diagram(block.self_attention))
    assert "$x_C = x_I$" not in said(attention_diagram(block.cross_attention))


# Figures 7.1 to 7.10: recurrent networks


def steps(count: int) -> list[Ends]:
    return [Ends(f"x{t}", f"y{t}") for t in range(count)]


@pytest.mark.ledger("B-F7.3-7.4", "B-F7.7")
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_unit_for_each_step_and_layer(layers: int) -> None:
    diagram = unrolled_diagram(examples.toy_network(layers=layers).hidden, steps(4))
    units = [name for name in diagram.nodes if name.startswith("unit")]
    assert len(units) == 4 * layers
    for layer in range(layers):
        assert {(f"unit {layer}.{t}", f"unit {layer}.{t + 1}") for t in range(3)} <= leads(diagram)
    for layer in range(1, layers):
        assert {(f"unit {layer - 1}.{t}", f"unit {layer}.{t}") for t in range(4)} <= leads(diagram)
    assert {(f"unit {layers - 1}.{t}", f"y{t}") for t in range(4)} <= leads(diagram)
    with pytest.raises(ShapeError, match="at least one step"):
        unrolled_diagram(examples.toy_network().hidden, [])


@pytest.mark.ledger("B-F7.7")
def test_both_directions_and_layers_of_both() -> None:
    diagram = unrolled_diagram(examples.toy_network(bidirectional=True, layers=2).hidden, steps(3))
    for layer in (0, 1):
        assert {(f"unit {layer}.{t}", f"unit {layer}.{t + 1}") for t in (0, 1)} <= leads(diagram)
        assert {(f"back {layer}.{t + 1}", f"back {layer}.{t}") for t in (0, 1)} <= leads(diagram)
    for t in range(3):
        assert {("join 0.0", "unit 1.0"), ("join 0.0", "back 1.0"), (f"join 1.{t}", f"y{t}")} <= leads(diagram)
    assert_readable(diagram.figure())


@pytest.mark.ledger("B-7.1-paradigms")
def test_steps_read_and_give_what_they_are_told_to() -> None:
    diagram = paradigm_diagram(examples.toy_network(), (True, False, False), (False, True, True))
    assert {"x0", "y1", "y2"} <= diagram.nodes.keys()
    assert not {"x1", "x2", "y0"} & diagram.nodes.keys()


@pytest.mark.ledger("B-7.1-tasks-b")
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_classifier_is_read_from_its_last_state_or_from_all(pooling: Any) -> None:
    c = RecurrentEncoderConfiguration(cell="gru", vocabulary=9, outputs=2, units=6, depth=4, pooling=pooling)
    diagram = classification_diagram(RecurrentEncoder(c), ["good", "film"], ["yes", "no"])
    assert ("pool" in diagram.nodes) == (pooling == "mean")
    assert "softmax of 2 classes yes, no" in said(diagram)
    assert_readable(diagram.figure())


@pytest.mark.ledger("B-7.1-tasks-c")
@pytest.mark.parametrize("settings", [{}, {"layers": 2}, {"reversed": True}])
@pytest.mark.parametrize("context", ["initial", "every_step", "attention"])
def test_how_the_decoder_gets_the_source(context: Any, settings: dict[str, Any]) -> None:
    network = examples.encoder_decoder(context, **settings)
    diagram = translation_diagram(network, ["a", "b"], ["x", "y", "z"])
    found, layers = leads(diagram), settings.get("layers", 1)
    given = {("z", f"decoder unit 0.{t}") for t in range(3)}
    assert (given <= found) == (context == "every_step")
    assert ({("z", f"decoder y{t}") for t in range(3)} <= found) == (context == "every_step")
    assert (("z", "decoder unit 0.0") in found) == (context != "attention")
    attended = {(f"encoder unit {layers - 1}.{t}", "attention") for t in (0, 1)}
    assert (attended <= found) == (context == "attention")
    asked = (f"decoder unit {layers - 1}.0", "attention")
    assert (asked in found) == (context == "attention")
    assert diagram.nodes["encoder x0"].part.name == ("b" if "reversed" in settings else "a")
    assert sum(name.startswith("decoder unit") for name in diagram.nodes) == 3 * layers
    if "layers" in settings:
        assert_readable(diagram.figure())


@pytest.mark.ledger("B-F7.5")
def test_the_toy_network_is_drawn_with_its_single_error() -> None:
    network, batch = examples.toy_with_one_error(), examples.toy_batch()
    assert LossIndex().evaluate(network, batch).hits == 4
    diagram = prediction_diagram(network, examples.SENTENCE, examples.LEXICON)
    best = value_of(network.plain(batch)).argmax(axis=1)
    parts = [diagram.nodes[f"y{t}"].part for t in range(5)]
    assert [part.name for part in parts] == [examples.LEXICON[label] for label in best]
    assert [part.kind for part in parts].count("wrong") == 1
    assert [diagram.nodes[f"target {t}"].part.name for t in range(5)] == examples.SENTENCE[1:]


@pytest.mark.ledger("B-F7.6", "B-7.10eq")
def test_the_numbers_of_back_propagation_through_time() -> None:
    """What the steps add to the gradient of W_hh is, summed, what back-propagation finds for the whole network."""
    network, batch = examples.toy_network(), examples.toy_batch()
    found = through_time(network, batch)
    value, _ = cross_entropy(network(batch), targets=batch.targets)
    weights = network.hidden.forward[0].recurrent_weights
    (gradient,) = backpropagate(value, [weights])  # type: ignore[list-item]
    np.testing.assert_allclose(found.shares.sum(axis=0), gradient, rtol=1e-10, atol=1e-14)
    assert found.losses.mean() == pytest.approx(float(value_of(value)))
    diagram = through_time_diagram(found)
    for t in range(5):
        assert {("W", f"h{t}"), (f"zeta{t}", "g")} <= leads(diagram)
    assert {(f"zeta{t + 1}", f"zeta{t}") for t in range(4)} <= leads(diagram)
    assert f"{np.linalg.norm(found.adjoints[2]):.3g}" in diagram.nodes["zeta2"].part.detail
    with pytest.raises(ConfigurationError, match="one layer"):
        through_time(examples.toy_network(layers=2), batch)


@pytest.mark.ledger("B-F7.3-7.4", "B-F7.8")
def test_units_have_the_gates_and_sizes_of_their_cells() -> None:
    for kind, draw in (("lstm", lstm_diagram), ("gru", gru_diagram)):
        diagram = draw(examples.toy_network(cell=kind).hidden.forward[0])
        blocks = [name for name in diagram.nodes if name in BLOCKS[kind]]  # type: ignore[index]
        assert sorted(blocks) == sorted(BLOCKS[kind])  # type: ignore[index]
        assert "= 20" in diagram.groups[0].text
        assert {"keep", "add"} <= {end for _, end in leads(diagram)}
    network = examples.toy_network()
    text = said(rnn_diagram(network.hidden.forward[0], network.output))
    for size in ("$W_{hh}$ 20 × 20", "$W_{hx}$ 20 × 8", "$W_{yh}$ 8 × 20", "$S_h$ tanh", "$S_y$ identity"):
        assert size in text
    with pytest.raises(ConfigurationError, match="not of 'gru'"):
        rnn_diagram(examples.toy_network(cell="gru").hidden.forward[0], network.output)


# Figures 7.12 and 7.13: self-attention


@pytest.mark.ledger("B-F7.12-13")
@pytest.mark.parametrize("causal", [True, False])
def test_the_weights_of_self_attention_are_the_layers(causal: bool) -> None:
    x = np.random.default_rng(1).standard_normal((4, 6))
    diagram = attention_flow_diagram(SelfAttention(6, 2, INITIAL, causal), x, 2)
    weights = [float(diagram.nodes[f"alpha{tau}"].part.detail) for tau in (1, 2, 3, 4)]
    assert sum(weights) == pytest.approx(1, abs=0.03)
    assert (max(weights[2:]) == 0) == causal
    dashed = {arrow.end for arrow in diagram.arrows if arrow.dashed}
    assert ("alpha4" in dashed) == causal
    assert "alpha1" not in dashed
    assert {("q", f"alpha{tau}") for tau in (1, 2, 3, 4)} | {("x2", "q")} <= leads(diagram)
    with pytest.raises(ShapeError, match="4 positions have no position 5"):
        attention_flow_diagram(SelfAttention(6, 2, INITIAL, causal), x, 5)


@pytest.mark.ledger("B-F7.12-13")
@pytest.mark.parametrize("heads", [2, 3, 12])
def test_every_head_is_there_or_counted(heads: int) -> None:
    diagram = heads_diagram(SelfAttention(12, heads, INITIAL))
    drawn = [name for name in diagram.nodes if name.startswith("head ")]
    assert len(drawn) == min(heads, 5)
    assert ("7 more" in said(diagram)) == (heads == 12)
    assert {("x", name) for name in drawn} <= leads(diagram)
    assert f"{12 // heads} × 12" in said(diagram)
    assert_readable(diagram.figure())
