"""Counts, figures and the decoding loop of the book (7.2, 7.3, 7.5) that fail as printed, beside what holds."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.claim import Evidence, all_hold, correction, disagreement, equal, holds
from dragoman.batch import START, Batch
from dragoman.graph import Array, value_of
from dragoman.layers import Initializer, Perceptron
from dragoman.networks import (
    RecurrentNetwork,
    RecurrentNetworkConfiguration,
    Transformer,
    TransformerConfiguration,
)

d_V, p = 37_000, 512
LEXICON = ("deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the")
SENTENCE = ["the", "mathematical", "engineering", "of", "deep", "learning"]
PREDICTED = ["mathematical", "engineering", "of", "engineering", "learning"]  # in the figure and in its caption


def book_parameters(layers: int) -> int:
    """Parameters of the book's Transformer, its tables of embeddings aside"""
    sizes = TransformerConfiguration(
        source_vocabulary=d_V,
        target_vocabulary=d_V,
        depth=p,
        perceptron_depth=2048,
        heads=8,
        layers=layers,
        attention_biases=False,
    )
    return sizes.count() - 2 * d_V * p


@correction(
    "E-B9",
    "B-7.5-outlayer",
    title="Section 7.5: parameters of the output layer",
    printed=r"d_V \times p + p",
    corrected=r"d_V \times p + d_V",
)
def output_layer() -> tuple[float, Evidence]:
    """A bias for each word, not for each column: d_V = 37,000 and p = 512. A small layer is built and counted too."""
    output = book_parameters(1) - (3_150_336 + 4_199_936)  # without the one block of each stack
    built = Perceptron(5, 7, Initializer()).count()
    return abs(d_V * p + p - output) / output, equal(output, d_V * p + d_V) & equal(built, 7 * 5 + 7)


@correction(
    "E-B10",
    "B-7.5-63M",
    title="Section 7.5: how much larger half a trillion parameters are",
    printed=r"\frac{5 \cdot 10^{11}}{63 \cdot 10^6} \approx 100",
    corrected=r"\frac{5 \cdot 10^{11}}{63 \cdot 10^6} \approx 8000",
)
def half_a_trillion() -> tuple[float, Evidence]:
    total = book_parameters(6)
    ratio = 5e11 / total
    return abs(100 - ratio) / ratio, equal(total, 63_082_632) & equal(ratio, 8000, 0.02)


@correction(
    "E-B11",
    "B-F7.5",
    title="Figure 7.5: the wrong word at t = 4",
    printed=r"\hat{y}^{\langle 4 \rangle} = \text{deep}, \quad y^{\langle 4 \rangle} = \text{engineering}",
    corrected=r"\hat{y}^{\langle 4 \rangle} = \text{engineering}, \quad y^{\langle 4 \rangle} = x^{\langle 5 \rangle} = \text{deep}",
)
def fourth_word() -> tuple[float, Evidence]:
    """A network with weights set to predict what the figure shows, and the shifted sentence as its targets."""
    labels = np.array([LEXICON.index(word) for word in SENTENCE])
    sizes = RecurrentNetworkConfiguration(inputs=8, units=8, outputs=8)
    network = RecurrentNetwork(sizes, 0, np.float64)
    network.theta.values[:] = 0
    arrays = dict(network.named_arrays())
    arrays["hidden.forward.0.state.weights"][:] = np.eye(8)
    for read, word in zip(labels, PREDICTED, strict=False):
        arrays["output.weights"][read, LEXICON.index(word)] = 1
    batch = Batch(labels[:-1], np.array([0, 5]), labels[1:])
    predicted = value_of(network.plain(batch)).argmax(axis=1)
    found = np.eye(8)[[predicted[3], labels[4]]]
    printed = np.eye(8)[[LEXICON.index("deep"), LEXICON.index("engineering")]]
    corrected = np.eye(8)[[LEXICON.index("engineering"), LEXICON.index("deep")]]
    only_there = (predicted != labels[1:]).tolist() == [False, False, False, True, False]
    return disagreement(printed, found), equal(corrected, found) & holds(only_there)


@correction(
    "E-B12",
    "B-F7.7",
    title="Figure 7.7: which drawing is the bidirectional network",
    printed=r"\text{(a) stacked}, \quad \text{(b) bidirectional}",
    corrected=r"\text{(a) bidirectional}, \quad \text{(b) stacked}",
)
def two_drawings() -> tuple[float, Evidence]:
    """The text assigns (7.14), which reads backwards, to (a) and (7.15) to (b), and says so again for the LSTM and for the
    translator; the caption exchanges the two. Compared is whether the last input reaches the first output.
    """
    by_equation = [
        RecurrentNetworkConfiguration(inputs=2, units=3, outputs=2, bidirectional=True),  # (7.14), said to be (a)
        RecurrentNetworkConfiguration(inputs=2, units=3, outputs=2, layers=2),  # (7.15), said to be (b)
    ]
    x = np.random.default_rng(0).standard_normal((4, 2))
    other = np.concatenate((x[:3], -x[3:]))

    def reaches(sizes: RecurrentNetworkConfiguration) -> float:
        network = RecurrentNetwork(sizes, 0, np.float64).plain
        first = [value_of(network(Batch.pack([rows])))[0] for rows in (x, other)]
        return float((first[0] != first[1]).any())

    found = np.array([reaches(sizes) for sizes in by_equation])
    return disagreement(np.array([0.0, 1.0]), found), equal(np.array([1.0, 0.0]), found)


@correction(
    "E-B16",
    "B-7.34eq",
    "B-7.5-teacherpar",
    title="(7.34): the first output of the decoder",
    printed=r"\hat{y}^{\langle t \rangle} = f_{\text{decoder}}(z^*, (\tilde{y}^{\langle 1 \rangle}, \dots, \tilde{y}^{\langle t-1 \rangle})), \quad t = 1, 2, \dots",
    corrected=r"\hat{y}^{\langle t \rangle} = f_{\text{decoder}}(z^*, (\tilde{y}^{\langle 1 \rangle}, \dots, \tilde{y}^{\langle t-1 \rangle})), \quad t = 2, 3, \dots, \quad \tilde{y}^{\langle 1 \rangle} = \text{start}",
)
def first_output() -> tuple[float, Evidence]:
    """At t = 1 the decoder would read nothing, and nothing comes out. From start on, step by step is as in one pass."""
    sizes = TransformerConfiguration(source_vocabulary=6, target_vocabulary=6, depth=4, perceptron_depth=3, heads=2)
    network = Transformer(sizes, 0, np.float64)
    source, prefix = Batch.pack([[4, 5, 3]]), [START, 4, 5, 4]

    def decoded(inputs: list[int]) -> Array:
        """The row of the next output: the last, if there is any"""
        return value_of(network.plain(Batch.pack([np.array(inputs, np.int64)], source)))[-1:]

    state, evidence = network.encode(source), []
    for t, label in enumerate(prefix, start=1):
        logits, state = network.step(state, np.array([label]))
        evidence.append(equal(logits, decoded(prefix[:t])))
    return disagreement(decoded([]), decoded([START])), all_hold(evidence)
