"""Which path trains each network of the project: a program, with the bits of the graph, or the graph, and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")
from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.engines import explain_path, programs
from dragoman.engines.tracing import BatchKind, Trace, trace_network
from dragoman.graph import TraceError, use_engine, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LogError, LossIndex, MeanSquaredError
from dragoman.networks import (
    ARCHITECTURES,
    ENCODERS,
    FORECASTERS,
    IMAGE_DECODERS,
    IMAGE_ENCODERS,
    LANGUAGE_MODELS,
    TEXT_ENCODERS,
    ClassTokenConfiguration,
    ClassTokenEncoder,
    Encoder,
    EncoderConfiguration,
    EncoderDecoder,
    Network,
    Perceptrons,
    PerceptronsConfiguration,
    RecurrentConfiguration,
    RecurrentEncoder,
    RecurrentEncoderConfiguration,
    RecurrentLanguageModel,
    RecurrentLanguageModelConfiguration,
    RecurrentNetwork,
    RecurrentNetworkConfiguration,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.networks.encoder_decoder import RecurrentDecoder
from dragoman.networks.heads import EncodingNetwork
from dragoman.networks.stepwise import StepwiseEncoder
from dragoman.networks.transformer import TransformerDecoder
from dragoman.operations import DropoutKey, activate
from dragoman.training.workers import Workers
from tests.engines.test_programs import by_program, check_bits, check_programs, through_the_graph
from tests.nearness import SINGLE
from tests.networks.small_networks import POSITIONS, scatter

RNG = np.random.default_rng(0)
CONTEXT = ForwardContext(DropoutKey(5, 6))
PAIRS = Batch.pairs([[4, 5, 6], [7, 8], [9, 4, 7, 8]], [[2, 9, 10, 3], [2, 11, 3], [2, 5, 6, 7, 8, 3]])
TEXTS = Batch.pack([[4, 5, 6, 7], [7, 8], [9, 4, 7]])
SERIES = np.split(RNG.normal(size=(12, 3)), [5, 8])
IMAGES = RNG.integers(0, 256, (3, 8, 8, 1)).astype(np.uint8)
PIXELS: dict[str, Any] = {"height": 8, "width": 8, "channels": 1, "mean": (0.5,), "deviation": (0.2,)}
BLOCKS: dict[str, Any] = {"depth": 32, "perceptron_depth": 40, "heads": 2, "layers": 2, "dropout": 0.1}
CELLS: dict[str, Any] = {"depth": 8, "units": 16, "layers": 2, "dropout": 0.1}


def with_targets(batch: Batch, targets: Any) -> Batch:
    return Batch(batch.labels, batch.offsets, np.asarray(targets), per="sample")


def pictures(targets: Any) -> Batch:
    return Batch(IMAGES, np.arange(4), np.asarray(targets), per="sample")


CLASSES = with_targets(TEXTS, [0, 2, 1])
WINDOWS = Batch(TEXTS.labels, TEXTS.offsets, np.roll(TEXTS.labels, -1))
NEXT = with_targets(Batch.pack(SERIES), RNG.normal(size=(3, 2)))
CAPTIONS = Batch(PAIRS.labels, PAIRS.offsets, PAIRS.targets, PAIRS.loss_weights, Batch(IMAGES, np.arange(4)))
# by kind of network: the architectures, what the data decide, a batch, an error
KINDS: dict[str, tuple[Any, dict[str, Any], Batch, Any]] = {
    "translation": (ARCHITECTURES, {"source_vocabulary": 30, "target_vocabulary": 31}, PAIRS, CrossEntropy(0.1)),
    "sequences": (ENCODERS, {"vocabulary": 30, "outputs": 3}, CLASSES, CrossEntropy()),
    "texts": (TEXT_ENCODERS, {"vocabulary": 30, "outputs": 3}, CLASSES, CrossEntropy()),
    "language": (LANGUAGE_MODELS, {"vocabulary": 30}, WINDOWS, CrossEntropy()),
    "forecasts": (FORECASTERS, {"inputs": 3, "outputs": 2}, NEXT, MeanSquaredError()),
    "images": (IMAGE_ENCODERS, {**PIXELS, "outputs": 4}, pictures([0, 3, 2]), CrossEntropy()),
    "captions": (IMAGE_DECODERS, {**PIXELS, "target_vocabulary": 31}, CAPTIONS, CrossEntropy()),
}
ONLY_A_BATCH = "which only a batch has"
UNROLLED = f"AttentionalDecoder.__call__: numpy.diff needs the values of 'offsets', {ONLY_A_BATCH}"
PIXELS_READ = f"standardize_images: the network needs the number of sequences, {ONLY_A_BATCH}"
SHEET = f"image_rows: the network needs the number of sequences, {ONLY_A_BATCH}"
# the networks that the graph trains; all others are trained by programs
GRAPH = {
    **{("translation", f"{cell}-attention"): UNROLLED for cell in ("rnn", "lstm", "gru")},
    **{("captions", f"convolutional-{cell}"): PIXELS_READ for cell in ("rnn", "lstm", "gru")},
    ("images", "convolutional"): PIXELS_READ,
    ("images", "two-layer"): SHEET,
    ("images", "class-token"): SHEET,
}
ALL = [(kind, name) for kind, (architectures, *_) in KINDS.items() for name in architectures]


def built(kind: str, name: str) -> Any:
    architectures, sizes, *_ = KINDS[kind]
    architecture = architectures[name]
    known = architecture.settings.model_fields
    wanted = {**BLOCKS, **CELLS} if "units" in known else BLOCKS
    settings = {key: value for key, value in wanted.items() if key in known}
    if name == "bag":
        settings["buckets"] = 50
    return scatter(architecture.build(architecture.configured({**settings, **architecture.named}, sizes)))


def check_path(network: Any, batch: Batch, index: LossIndex, reason: str) -> None:
    """The path that a network is said to take is the one it takes; a program has the bits of the graph."""
    path = explain_path(network, batch)
    assert (path.training, path.training_reason) == ("graph" if reason else "program", reason)
    if reason:
        assert by_program(network, batch, CONTEXT, index) is None
    else:
        check_bits(network, batch, CONTEXT, index)


def test_the_table_names_networks_that_exist() -> None:
    assert GRAPH.keys() <= set(ALL)


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_architecture_takes_the_path_of_the_table(numba: None, kind: str, name: str) -> None:
    _, _, batch, error = KINDS[kind]
    network = built(kind, name)
    check_path(network, batch, LossIndex(error), GRAPH.get((kind, name), ""))
    assert explain_path(network).training == explain_path(network, batch).training


NO_ACTIVATION = "Perceptron.__call__: linear: there is no kernel for activation = '{}'"
NO_HEADS = "SelfAttention.__call__: attend_self: the kernel needs heads whose width is a multiple of 8, not 6"
NO_EPSILON = "Normalization.add: add_normalize: the kernel needs an epsilon above 0"
VOCABULARIES = {"source_vocabulary": 31, "target_vocabulary": 31}
SETTINGS: list[tuple[dict[str, Any], str]] = [
    *(({"positions": positions, "maximum_length": 9}, "") for positions in POSITIONS),
    *(({"block": block, "tied": tied}, "") for block in ("pre", "post") for tied in ("none", "output", "all")),
    *(({"activation": activation}, "") for activation in ("identity", "relu", "gelu")),
    *(({"activation": activation}, NO_ACTIVATION.format(activation)) for activation in ("tanh", "logistic")),
    ({"positions": "joint", "maximum_length": 9, "joint_activation": "gelu"}, ""),
    ({"positions": "relative", "relative_reach": 2}, ""),
    ({"positions": "concatenated_sinusoid", "position_depth": 8}, ""),
    ({"hidden_layers": 2}, ""),
    ({"normalization": "outside", "epsilon": 0.1}, ""),
    ({"attention_biases": False}, ""),
    ({"dropout": 0.0}, ""),
    ({"depth": 12}, NO_HEADS),
    ({"epsilon": 0.0}, NO_EPSILON),
]


def transformer(**settings: Any) -> Any:
    network = scatter(Transformer(TransformerConfiguration(**{**BLOCKS, **VOCABULARIES, **settings})))
    network.theta.values *= 0.5
    return network


@pytest.mark.parametrize(("settings", "reason"), SETTINGS)
def test_every_setting_of_a_transformer(numba: None, settings: dict[str, Any], reason: str) -> None:
    check_path(transformer(**settings), PAIRS, LossIndex(CrossEntropy(0.1)), reason)


def test_the_settings_above_are_all_there_are() -> None:
    tried = {*BLOCKS, *VOCABULARIES, *(name for settings, _ in SETTINGS for name in settings)}
    assert tried == set(TransformerConfiguration.model_fields)


POOLINGS = ["mean", "max", "attention", "none", "last"]
HEADS = [("class_token", False), *((pooling, cells) for pooling in POOLINGS for cells in (False, True))]


def headed(pooling: str, recurrent: bool) -> tuple[Any, Batch]:
    sizes: dict[str, Any] = {"vocabulary": 30, "outputs": 30 if pooling == "none" else 3, "pooling": pooling}
    network = (
        RecurrentEncoder(RecurrentEncoderConfiguration(**CELLS, **sizes))
        if recurrent
        else Encoder(EncoderConfiguration(**BLOCKS, **sizes, causal=pooling == "last"))
    )
    return scatter(network), WINDOWS if pooling == "none" else CLASSES


@pytest.mark.parametrize(("pooling", "recurrent"), HEADS)
def test_every_head_of_an_encoder(numba: None, pooling: str, recurrent: bool) -> None:
    check_path(*headed(pooling, recurrent), LossIndex(), "")


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("empty", [0, 1, 2])
@pytest.mark.parametrize(("pooling", "recurrent"), [head for head in HEADS if head[0] != "none"])
def test_an_empty_sample_has_no_row_of_its_neighbours(
    numba: None, engine: str, empty: int, pooling: str, recurrent: bool
) -> None:
    """Definition, kernels and programs: every sample has the outputs and the gradient that it has alone."""
    use_engine(engine)
    network, _ = headed(pooling, recurrent)
    texts = [[4, 5, 6, 7], [7, 8], [9, 4, 7]]
    texts[empty] = []
    alone = [with_targets(Batch.pack([text]), [i]) for i, text in enumerate(texts)]
    together = with_targets(Batch.pack(texts), [0, 1, 2])
    wanted = np.concatenate([network.plain(batch) for batch in alone])
    np.testing.assert_allclose(network.plain(together), wanted, rtol=1e-5, atol=1e-6)
    if pooling != "class_token":
        np.testing.assert_allclose(wanted[empty], value_of(network.output.biases), rtol=1e-6)
    gradient = LossIndex().differentiate(network, together)[1]
    expected = sum(through_the_graph(network, batch, index=LossIndex())[1] for batch in alone) / 3
    np.testing.assert_allclose(gradient, expected, atol=1e-5 * np.abs(expected).max())
    if engine == "numba":
        check_path(network, together, LossIndex(), "")


@pytest.mark.parametrize("context", ["initial", "every_step"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_every_direction_of_a_recurrent_translator(
    numba: None, context: Any, bidirectional: bool, is_reversed: bool
) -> None:
    sizes = {"source_vocabulary": 30, "target_vocabulary": 31}
    settings: dict[str, Any] = {"context": context, "bidirectional": bidirectional, "reversed": is_reversed}
    network = scatter(EncoderDecoder(RecurrentConfiguration(**CELLS, **sizes, **settings)))
    check_path(network, PAIRS, LossIndex(), "")


class Logistic(Perceptrons):
    """A network of a user, which applies the logistic function itself."""

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Any:
        return activate(super().__call__(batch, run), activation="logistic")


REALS = RNG.normal(size=(3, 3)).astype(np.float32)
OWN = PerceptronsConfiguration(depths=(3, 8, 4))
SEVERAL = [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 1]]
ENCODER: dict[str, Any] = {**BLOCKS, "vocabulary": 30, "output_activation": "logistic"}
# by their names: a class, its configuration, a batch, an error
ERRORS: dict[str, tuple[Any, Any, Batch, Any]] = {
    "binary": (Encoder, EncoderConfiguration(outputs=1, **ENCODER), with_targets(TEXTS, [0, 1, 1]), LogError()),
    "several": (Encoder, EncoderConfiguration(outputs=4, **ENCODER), with_targets(TEXTS, SEVERAL), LogError()),
    "of outputs": (Logistic, OWN, Batch.rows(REALS, np.array(SEVERAL)), LogError()),
    "of logits": (Perceptrons, OWN, Batch.rows(REALS, np.array([0, 3, 2])), CrossEntropy(0.1)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_and_their_hits(numba: None, name: str) -> None:
    network, configuration, batch, error = ERRORS[name]
    check_path(scatter(network(configuration)), batch, LossIndex(error), "")


ROWS = Batch.rows(RNG.normal(size=(5, 3)).astype(np.float32), RNG.normal(size=(5, 2)))
LABELLED = with_targets(Batch.pack(SERIES), [0, 1, 1])
# the networks of the documents that no task builds: class, configuration, a batch, an error, why the graph trains it
DOCUMENTS: list[tuple[Any, Any, Batch, Any, str]] = [
    (Perceptrons, PerceptronsConfiguration(depths=(3, 8, 2)), ROWS, MeanSquaredError(), ""),
    (
        ClassTokenEncoder,
        ClassTokenConfiguration(inputs=3, depth=8, attention_depth=8, classes=2),
        LABELLED,
        CrossEntropy(),
        f"standardize_samples: .astype needs the values of 'labels', {ONLY_A_BATCH}",
    ),
    (
        TwoLayerNetwork,
        TwoLayerConfiguration(inputs=3, positions=4, depth=8, classes=2),
        LABELLED,
        CrossEntropy(),
        f"TwoLayerNetwork.__call__: the network needs the batch's 'lengths', {ONLY_A_BATCH}",
    ),
    (
        RecurrentNetwork,
        RecurrentNetworkConfiguration(inputs=30, units=8, outputs=30),
        WINDOWS,
        CrossEntropy(),
        f"RecurrentNetwork.rows: .size needs the values of 'labels', {ONLY_A_BATCH}",
    ),
]


@pytest.mark.parametrize(("network", "configuration", "batch", "error", "reason"), DOCUMENTS)
def test_networks_of_the_documents(
    numba: None, network: Any, configuration: Any, batch: Batch, error: Any, reason: str
) -> None:
    check_path(scatter(network(configuration)), batch, LossIndex(error), reason)


def subclasses(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_network_of_the_project_is_in_the_tables() -> None:
    bases = {EncodingNetwork, RecurrentDecoder, StepwiseEncoder, TransformerDecoder}
    networks = {each for each in subclasses(Network) if each.__module__.startswith("dragoman.networks.")}
    tried = {type(built(*each)) for each in ALL} | {each for each, *_ in DOCUMENTS}
    assert networks - bases == tried


def cases() -> Iterator[tuple[Any, Batch, Any]]:
    """Network, batch and error of the tests above."""
    for kind, name in ALL:
        yield built(kind, name), *KINDS[kind][2:]
    for settings, _ in SETTINGS:
        yield transformer(**settings), PAIRS, CrossEntropy(0.1)
    for head in HEADS:
        yield *headed(*head), CrossEntropy()
    for network, configuration, batch, error in ERRORS.values():
        yield network(configuration), batch, error


def test_every_kernel_is_tested_above(numba: None, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = set()
    kernels = programs.PROGRAM_ENGINES["numba"].kernels
    note = Trace.record

    def record(self: Trace, operation: Any, *given: Any) -> Any:
        traced.add(operation.name)
        return note(self, operation, *given)

    monkeypatch.setattr(Trace, "record", record)
    for network, batch, error in cases():
        forward, kind = LossIndex(error).error_and_hits, BatchKind.of(batch)
        arrays = [array for each in programs.programs_of(network).arrays.values() for array in each]
        with suppress(TraceError):
            trace_network(kernels, arrays, forward, network, kind, CONTEXT, divided=False)
    assert traced >= kernels.keys()


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_states_are_carried_from_batch_to_batch(numba: None, cell: Any) -> None:
    """Also the first batch, which is computed several times to compare: it begins with the states that it was given."""
    network = scatter(RecurrentLanguageModel(RecurrentLanguageModelConfiguration(cell=cell, vocabulary=30, **CELLS)))
    found, expected = network.new_carried(3), network.new_carried(3)
    found.assign({name: RNG.normal(size=part.shape) for name, part in found.arrays().items()})
    expected.assign(found.arrays())
    by_graph, by_kernels = (ForwardContext(DropoutKey(5, 6), carried=states) for states in (expected, found))
    for _ in range(2):
        loss, gradient = LossIndex().differentiate(network, WINDOWS, by_kernels)
        wanted, reference = through_the_graph(network, WINDOWS, by_graph, LossIndex())
        assert loss == wanted
        np.testing.assert_array_equal(gradient, reference)
        for name, part in expected.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], part, err_msg=name)
    assert by_program(network, WINDOWS, by_kernels) is not None


def test_shards_of_images_have_dropout_of_their_own_rows(numba: None) -> None:
    """What a network makes of a shard begins at the row where it stands in the whole batch."""
    _, _, batch, error = KINDS["images"]
    network, index, workers = built("images", "transformer"), LossIndex(error), Workers(2)
    _, gradient = workers.differentiate(index, network, batch, CONTEXT)
    workers.close()
    _, expected = through_the_graph(network, batch, CONTEXT, index)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=SINGLE * np.abs(expected).max())
    check_programs(network)
