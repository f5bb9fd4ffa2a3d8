"""The figures of the thesis and of the book's chapter 7 by their numbers, drawn from built networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures import examples
from dragoman.analysis.figures.activations import activations_figure
from dragoman.analysis.figures.architecture import architecture_figure, block_diagrams
from dragoman.analysis.figures.attention_flow import attention_flow_diagram, heads_diagram
from dragoman.analysis.figures.cells import gru_diagram, lstm_diagram, rnn_diagram
from dragoman.analysis.figures.embedding import projections_figure
from dragoman.analysis.figures.layers import layer_figure
from dragoman.analysis.figures.panels import caption_diagram, classification_diagram, panels, paradigm_diagram
from dragoman.analysis.figures.positions import positions_figure
from dragoman.analysis.figures.recorded import recorded_diagram
from dragoman.analysis.figures.sequences import sample_diagram, writing_diagram, written_steps
from dragoman.analysis.figures.through_time import prediction_diagram, through_time, through_time_diagram
from dragoman.analysis.figures.unrolled import (
    Ends,
    recursive_diagram,
    step_symbol,
    translation_diagram,
    unrolled_diagram,
)
from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.layers import Initializer, SelfAttention
from dragoman.networks import (
    ConvolutionalDecoder,
    ConvolutionalDecoderConfiguration,
    Perceptrons,
    PerceptronsConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    TransformerConfiguration,
)
from dragoman.operations.positions import interleaved_sinusoid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[], "Figure"]
BOOK_SIZES: dict[str, Any] = {"depth": 512, "perceptron_depth": 2048, "heads": 8, "layers": 6}


@dataclass(frozen=True)
class DocumentFigure:
    """A figure by its number; without `draw` it needs a trained model, and `command` says how to get it."""

    number: str
    title: str
    draw: Draw | None = None
    command: str = ""

    @property
    def source(self) -> str:
        return "book" if self.number.startswith("7.") else "thesis"


def document_figure(number: str) -> Figure:
    """Draw a figure of the documents."""
    wanted = number.lower().removeprefix("figure").strip()
    found = next((figure for figure in FIGURES if wanted in (figure.number, *_range(figure.number))), None)
    if found is None:
        numbers = ", ".join(figure.number for figure in FIGURES)
        raise ConfigurationError(f"there is no figure '{number}'; available: {numbers}")
    if found.draw is None:
        raise ConfigurationError(f"figure {found.number} is drawn from trained models: {found.command}")
    return found.draw()


def _range(number: str) -> list[str]:
    """11-13 is also 11, 12 and 13."""
    first, dash, last = number.partition("-")
    return [f"{n}" for n in range(int(first), int(last) + 1)] if dash else []


def _architectures() -> Figure:
    chain = Perceptrons(PerceptronsConfiguration(depths=(4, 8, 8, 3)))
    two = examples.encoder_decoder("every_step")
    batch = Batch.pairs([np.array([5, 6, 7])], [np.array([2, 5, 6, 7, 3])])
    inputs = {"source_embedding": "input 1: source", "reference_embedding": "input 2: reference"}
    return panels(
        [
            ("(a) Layers one after the other", recorded_diagram(chain, chain(Batch.pack([np.ones((1, 4))])))),
            ("(b) Two inputs, and layers that intertwine", recorded_diagram(two, two(batch), inputs)),
        ],
        title="Two networks, as their calls were recorded (numbers count parameters)",
    )


def _sample() -> Figure:
    network, source, reference = examples.small_translator()
    a, b = examples.PAIRS[1]
    batch = Batch.pairs([source.encode(a)], [reference.encode(b)])
    return sample_diagram(batch, network, source.word, reference.word).figure("A sample of sequence transduction")


def _point_cloud() -> Figure:
    vectors, words, topics = examples.topic_vectors()
    return projections_figure(vectors, words, "Words of three topics", topics)


def _layer(name: str) -> Draw:
    def draw() -> Figure:
        network = examples.thesis_network()
        block = network.decoder[0]
        layers = {
            "embedding": network.source_embedding,
            "attention": block.self_attention,
            "normalization": block.perceptron_normalization,
            "perceptron": block.perceptron.hidden,
        }
        return layer_figure(layers.get(name), network.configuration.depth)

    return draw


def _tasks() -> Figure:
    toy = examples.toy_with_one_error()
    sizes: dict[str, Any] = {"vocabulary": 40, "outputs": 3, "units": 20, "depth": 16}
    critic = RecurrentEncoder(RecurrentEncoderConfiguration(cell="rnn", pooling="last", bidirectional=False, **sizes))
    scene: dict[str, Any] = {"height": 32, "width": 32, "channels": 3, "mean": (0.5,) * 3, "deviation": (0.25,) * 3}
    describer = ConvolutionalDecoder(
        ConvolutionalDecoderConfiguration(cell="gru", units=20, target_vocabulary=40, **scene)
    )
    words, written = (sentence.split() for sentence in examples.PAIRS[1])
    return panels(
        [
            ("(a) Look-ahead prediction", prediction_diagram(toy, examples.SENTENCE[:5], examples.LEXICON)),
            (
                "(b) Classification of a sequence",
                classification_diagram(critic, ["what", "a", "lovely", "day"], ("happy", "sad", "indifferent")),
            ),
            ("(c) Machine translation", translation_diagram(examples.encoder_decoder("initial"), words, written)),
            (
                "(d) Image captioning",
                caption_diagram(describer, ["a", "small", "red", "circle"]),
            ),
        ],
        title="What sequence models are used for",
    )


def _paradigms() -> Figure:
    toy, yes, no = examples.toy_network(), True, False
    wirings = {
        "(a) One to many": ((yes, no, no, no), (yes,) * 4),
        "(b) Many to one": ((yes,) * 4, (no, no, no, yes)),
        "(c) Many to many, partial": ((yes, yes, no, no), (no, yes, yes, yes)),
        "(d) Many to many, complete": ((yes,) * 4, (yes,) * 4),
    }
    drawn = [(caption, paradigm_diagram(toy, *wiring)) for caption, wiring in wirings.items()]
    return panels(drawn, title="Inputs and outputs of sequence models")


def _steps(count: int = 3) -> list[Ends]:
    return [Ends(step_symbol("x", t), step_symbol(r"\hat{y}", t)) for t in range(1, count + 1)]


def _recursive() -> Figure:
    hidden = examples.toy_network().hidden
    unrolled = unrolled_diagram(hidden, _steps(4), named=True, first=step_symbol("h", 0))
    return panels([("Recursive graph", recursive_diagram(hidden)), ("Unfolded graph", unrolled)])


def _rnn_unit() -> Figure:
    network = examples.toy_network()
    return rnn_diagram(network.hidden.forward[0], network.output).figure("RNN unit")


def _prediction() -> Figure:
    diagram = prediction_diagram(examples.toy_with_one_error(), examples.SENTENCE, examples.LEXICON)
    return diagram.figure("What comes next, before the last word is learnt")


def _through_time() -> Figure:
    found = through_time(examples.toy_network(), examples.toy_batch())
    return through_time_diagram(found).figure("Back-propagation through time")


def _configurations() -> Figure:
    stacked, both = examples.toy_network(layers=2), examples.toy_network(bidirectional=True)
    return panels(
        [
            ("(a) Bidirectional", unrolled_diagram(both.hidden, _steps())),
            ("(b) Stacked", unrolled_diagram(stacked.hidden, _steps())),
        ]
    )


def _gated_units() -> Figure:
    cells = [examples.toy_network(cell=kind).hidden.forward[0] for kind in ("lstm", "gru")]
    return panels([("(a) LSTM", lstm_diagram(cells[0])), ("(b) GRU", gru_diagram(cells[1]))])


def _encoder_decoders() -> Figure:
    words, written = (sentence.split() for sentence in examples.PAIRS[0])
    captions = {"initial": "(a) The code is the first state", "every_step": "(b) Every step gets the code"}
    drawn = [
        (caption, translation_diagram(examples.encoder_decoder(context), words, written))
        for context, caption in captions.items()
    ]
    return panels(drawn, across=1)


def _with_attention() -> Figure:
    words, written = (sentence.split() for sentence in examples.PAIRS[0])
    network = examples.encoder_decoder("attention", bidirectional=True)
    return translation_diagram(network, words, written).figure("Encoder-decoder with attention")


def _self_attention() -> Figure:
    x = np.random.default_rng(0).standard_normal((4, 8))
    layers = [SelfAttention(8, 1, Initializer(0, np.float64), causal, biases=False) for causal in (True, False)]
    captions = ("(a) Causal: what comes later is hidden", "(b) Not causal: red is what comes later")
    drawn = [(text, attention_flow_diagram(layer, x, 3)) for text, layer in zip(captions, layers, strict=True)]
    return panels(drawn, across=1)


def _heads() -> Figure:
    return heads_diagram(examples.thesis_network().encoder[0].self_attention).figure("Multi-head self-attention")


def _writing() -> Figure:
    network, source, reference = examples.small_translator()
    sentence = examples.PAIRS[0][0]
    steps = [(reference.word(label), chance) for label, chance in written_steps(network, source.encode(sentence))]
    read = [source.word(int(label)) for label in source.encode(sentence)]
    return writing_diagram(network, read, steps).figure("A Transformer writes word by word")


def _blocks() -> Figure:
    encoder, decoder = block_diagrams(_book())
    return panels([("(a) Transformer block", encoder), ("(b) Transformer decoder block", decoder)])


def _book() -> TransformerConfiguration:
    return TransformerConfiguration(source_vocabulary=37_000, target_vocabulary=37_000, **BOOK_SIZES)


HEAT = 'dragoman plot MODEL attention --text "The plant is green."'
FIGURES = (
    DocumentFigure("1", "a chain of layers, and two inputs that intertwine", _architectures),
    DocumentFigure("2", "embedding of words of three topics, by PCA and t-SNE", _point_cloud),
    DocumentFigure("2.1", "one sample: source, reference, network, target", _sample),
    DocumentFigure("3", "attention from a translation to its source", None, HEAT),
    DocumentFigure("4", "linear and ReLU activation", activations_figure),
    DocumentFigure("5", "Transformer", lambda: architecture_figure(examples.thesis_network().configuration)),
    DocumentFigure("6", "embedding layer", _layer("embedding")),
    DocumentFigure("7", "multi-head attention layer", _layer("attention")),
    DocumentFigure("8", "addition layer", _layer("addition")),
    DocumentFigure("9", "normalization layer", _layer("normalization")),
    DocumentFigure("10", "perceptron layer", _layer("perceptron")),
    DocumentFigure(
        "11-13",
        "training curves of Small, Medium and Large",
        None,
        "dragoman plot small history --compare medium --compare large",
    ),
    DocumentFigure("7.1", "four uses of sequence models", _tasks),
    DocumentFigure("7.2", "one to many, many to one, many to many", _paradigms),
    DocumentFigure("7.3", "a recurrent network as a loop, and unfolded", _recursive),
    DocumentFigure("7.4", "RNN unit", _rnn_unit),
    DocumentFigure("7.5", "the toy sentence, predicted with one error", _prediction),
    DocumentFigure("7.6", "back-propagation through time, with its numbers", _through_time),
    DocumentFigure("7.7", "bidirectional and stacked networks", _configurations),
    DocumentFigure("7.8", "LSTM and GRU units", _gated_units),
    DocumentFigure("7.9", "encoder-decoders with a fixed code", _encoder_decoders),
    DocumentFigure("7.10", "encoder-decoder with attention", _with_attention),
    DocumentFigure("7.11", "attention matrix of a translation", None, HEAT),
    DocumentFigure("7.12", "flow of information in self-attention", _self_attention),
    DocumentFigure("7.13", "multi-head self-attention", _heads),
    DocumentFigure(
        "7.14",
        "positional encoding",
        lambda: positions_figure(interleaved_sinusoid(61, 768)[1:, :200], t=50, first=1),
    ),
    DocumentFigure("7.15", "Transformer blocks", _blocks),
    DocumentFigure("7.16", "encoder-decoder Transformer of the book's sizes", lambda: architecture_figure(_book())),
    DocumentFigure("7.17", "a Transformer writes word by word", _writing),
)
