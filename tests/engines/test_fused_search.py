"""Whole sentences in one call: the hypotheses of the definitions, for every network that is covered, and no others."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

from dragoman import Transformer, TransformerConfiguration
from dragoman.batch import END
from dragoman.decoding import Beam, Greedy, Sampling, decode
from dragoman.errors import LabelError, NonFiniteError
from dragoman.graph import use_engine
from dragoman.training.workers import Workers
from tests.decoding.fakes import same

GREEDY = [Greedy(), Greedy(scored=False)]
METHODS = [
    *GREEDY,
    Beam(1),
    Beam(2, 0.6, best=2),
    Beam(3, 0.0, best=3),
    Beam(4),
    Beam(5, 1.0, best=2),
    Beam(4, -0.5),
]
SETTINGS: list[dict[str, Any]] = [
    {"block": "pre"},
    {"block": "post", "layers": 3},
    {"block": "pre", "layers": 2, "target_vocabulary": 333, "depth": 64, "heads": 4, "end": 9.0},
    {"normalization": "outside", "positions": "relative", "relative_reach": 2, "layers": 2, "end": 2.0},
    {"tied": "output", "positions": "learned", "maximum_length": 40},
    {"tied": "all", "activation": "gelu", "block": "pre"},
    {"attention_biases": False, "positions": "none", "activation": "identity", "end": 3.0},
    {"depth": 48, "positions": "interleaved_sinusoid", "perceptron_depth": 13},
    {"depth": 16, "target_vocabulary": 7, "block": "pre"},
]
NOT_COVERED: list[dict[str, Any]] = [
    {"activation": "tanh"},
    {"positions": "one_hot", "maximum_length": 14},
    {"positions": "concatenated_sinusoid"},
    {"positions": "joint", "maximum_length": 30},
    {"depth": 12, "heads": 4},
    {"epsilon": 0.0},
]
every_method = pytest.mark.parametrize("method", METHODS, ids=str)


def talkative(seed: int = 0, end: float = 1.0, dtype: Any = np.float32, **settings: Any) -> Transformer:
    """Every parameter off its initial value, sure of what it says; sentences end sooner or later."""
    sizes = {"source_vocabulary": 40, "target_vocabulary": 40, "depth": 32, "perceptron_depth": 40, "heads": 2}
    network = Transformer(TransformerConfiguration(**(sizes | settings)), seed, dtype)
    rng = np.random.default_rng(seed + 100)
    network.theta.values += rng.normal(0, 0.1, len(network.theta)).astype(dtype)
    views = dict(network.named_arrays())
    if settings.get("tied", "none") == "none":
        views["output.weights"][...] *= 4
    views["output.biases"][END] += end
    return network


def asked(count: int, seed: int = 0, most: int = 14) -> tuple[list[Any], list[int], list[list[int]]]:
    """(sources, longest, prefixes): some of length 0, some that may write nothing."""
    rng = np.random.default_rng(seed)
    sources = [rng.integers(0, 40, rng.integers(0, 12)).tolist() for _ in range(count)]
    prefixes = [rng.choice([1, 4, 5, 6], rng.integers(0, 4) * rng.integers(0, 2)).tolist() for _ in range(count)]
    longest = [len(prefix) + int(rng.integers(0, most)) for prefix in prefixes]
    return sources, longest, prefixes


def not_fused(*_: Any) -> Any:
    raise AssertionError("step by step, though the engine covers this")


def fused_decode(*question: Any, **options: Any) -> list[Any]:
    """decode, where going step by step is an error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "encode", not_fused)
        patch.setattr(Transformer, "step", not_fused)
        return decode(*question, **options)


def compared(network: Any, method: Any, *question: Any, tolerance: float = 1e-4, **options: Any) -> list[Any]:
    """What the engine finds, which is what the definition finds."""
    found = fused_decode(network, *question[:1], method, *question[1:], **options)
    use_engine("numpy")
    same(found, decode(network, *question[:1], method, *question[1:], **options), tolerance)
    use_engine("numba")
    return found


@every_method
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_hypotheses_of_the_definition(numba, settings, method):
    lengths, finished = set(), set()
    for seed in range(3):
        found = compared(talkative(seed, **settings), method, *asked(13, seed), batch=9)
        lengths |= {len(h.labels) for hypotheses in found for h in hypotheses}
        finished |= {h.finished for hypotheses in found for h in hypotheses}
    assert len(lengths) > 4  # they end at different steps
    assert finished == {False, True}


@every_method
def test_one_sentence_and_many(numba, method):
    network = talkative(block="pre", layers=2)
    sources, longest, prefixes = asked(130, 5)
    together = compared(network, method, sources, longest, prefixes, batch=130)
    for i in range(0, 130, 7):
        alone = compared(network, method, sources[i : i + 1], longest[i], prefixes[i : i + 1])
        same(alone, [together[i]])  # to the last bit: sums have one order, whatever the rows beside them
    empty = compared(network, method, [[]] * 3, 5)
    same(empty[1:], empty[:1] * 2)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_without_scores_the_same_labels(numba, engine):
    use_engine(engine)
    network, sources = talkative(block="pre"), [[4, 5, 6], [7], [], [8, 9, 30, 31]]
    prefixes = [np.array([5]), np.zeros(0, int), np.zeros(0, int), np.array([6, 7])]
    scored, unscored = (decode(network, sources, method, 9, prefixes) for method in (Greedy(), Greedy(scored=False)))
    for (one,), (other,) in zip(scored, unscored, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        assert one.finished == other.finished
        assert np.isnan([other.log_probability, other.score]).all()


@pytest.mark.parametrize("method", [*GREEDY, Beam(3, 0.0, best=3), Beam(4)], ids=str)
def test_long_sentences_find_room(numba, method):
    """More positions than there is room for at first, more than the network's table of sinusoids has."""
    network = talkative(end=-2.0, block="pre")
    found = compared(network, method, [[4, 5, 6], [7] * 150, [8]], [150, 20, 70])
    assert max(len(h.labels) for hypotheses in found for h in hypotheses) > 128 or method != Greedy()


@pytest.mark.parametrize("method", [*GREEDY, Beam(3, 0.0, best=3), Beam(4, 0.6, best=4)], ids=str)
@pytest.mark.parametrize("vocabulary", [9, 40, 333])
def test_of_equals_the_first(numba, method, vocabulary):
    """All labels equally probable: the lowest is written, the better beam goes on, the earlier one is returned."""
    network = talkative(target_vocabulary=vocabulary)
    network.theta.values[:] = 0
    compared(network, method, [[4, 5], [6]], [3, 2])
    dict(network.named_arrays())["output.biases"][:END] = 1.0
    compared(network, method, [[4, 5], [6]], [3, 2])


# where nearly all labels are equal, the order of a sum tells them apart, and tied ones have two
@pytest.mark.parametrize(
    ("tied", "spread"),
    [*(("none", spread) for spread in (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-2, 1.0)), ("output", 1e-4), ("output", 1.0)],
)
@pytest.mark.parametrize("size", [1e-34, 1e-3, 1.0, 30.0])
def test_labels_that_are_hard_to_tell_apart(numba, tied, spread, size):
    """Without scores, labels are filtered by quantized logits; the best one is the same as by exact ones."""
    network = talkative(end=0.0, target_vocabulary=333, tied=tied, depth=64)
    views, rng = dict(network.named_arrays()), np.random.default_rng(5)
    weights, biases = (
        views["reference_embedding.table" if tied == "output" else "output.weights"],
        views["output.biases"],
    )
    labels = weights.T if tied == "none" else weights
    labels[...] = size * (rng.standard_normal(64) + spread * rng.standard_normal(labels.shape))
    biases[...] = 0
    sources = asked(40, 2)[0]
    true, quantized = (fused_decode(network, sources, method, 7, batch=40) for method in GREEDY)
    assert [h.labels.tolist() for (h,) in quantized] == [h.labels.tolist() for (h,) in true]


def quantized_apart(depth: int) -> tuple[Any, Any, Any]:
    """(x, weights of a good label, of a bad one): true logits are equal, rounded ones as far apart as can be.

    The largest input and weight are as large as the largest integer they are rounded to, so one level is 1, and
    every other input and weight lies half a level (all but 0.001) beside an integer. Rounding the weights costs the
    good label what it gives the bad one, sum |x| / 2; so does rounding the input, sum |w| / 2.
    """
    highest = math.floor(math.sqrt(2.0**31 / depth)) - 1
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], depth)
    turned = np.tile([1.0, -1.0], depth // 2)  # whether rounding takes from an input or adds to it
    lost = 0.499 * signs * turned
    x = signs * np.repeat(rng.integers(highest // 2, highest, depth // 2), 2) + lost
    weights = np.sign(lost) * rng.integers(highest // 2, highest)
    good, bad = weights + 0.499 * signs, -weights - 0.499 * signs
    x[0], good[0], bad[0] = (highest * np.sign(number[0]) for number in (x, good, bad))
    return x, good, bad


@pytest.mark.parametrize("tied", ["none", "output"])
@pytest.mark.parametrize(("good", "bad"), [(20, 200), (200, 20)])
def test_the_best_label_at_the_edge_of_the_bound(numba, tied, good, bad):
    """The rounded logit of the best label is nearly as far below another's as rounding can bring it."""
    network = talkative(end=0.0, target_vocabulary=333, tied=tied, depth=64, block="pre")
    views = dict(network.named_arrays())
    table = views["reference_embedding.table"] if tied == "output" else views["output.weights"].T
    x, *weights = quantized_apart(64)
    views["decoder_normalization.gamma"][...] = 0  # so that every row is x
    views["decoder_normalization.beta"][...] = x
    table[...], views["output.biases"][...] = 0, 0
    table[good], table[bad] = weights
    gap = float(weights[0] @ x - weights[1] @ x)
    views["output.biases"][[good, bad]] = 1e8 - gap + 3000, 1e8  # above all others; the good label is the better one

    rounded = [float(np.rint(w) @ np.rint(x)) for w in weights]
    below = rounded[1] - (rounded[0] - gap + 3000)  # what the bound, 2 * (sum |x| + sum |w|) / 2, has to reach
    assert 0.95 < below / (np.abs(x).sum() + np.abs(weights[0]).sum()) < 1
    # fewer sentences are not worth rounding the weights for
    true, quantized = (fused_decode(network, [[4, 5], [6]] * 10, method, 3) for method in GREEDY)
    assert [h.labels.tolist() for (h,) in true] == [[good] * 3] * 20
    assert [h.labels.tolist() for (h,) in quantized] == [[good] * 3] * 20


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_logits_that_large_biases_make_equal(numba, size):
    """Beside a large bias, many true logits are the same number and the lowest label is the best; sums that differ in
    their last digit are rounded to others.
    """
    network = talkative(end=0.0, target_vocabulary=333, depth=64, block="pre")
    views, rng = dict(network.named_arrays()), np.random.default_rng(3)
    views["output.weights"][...] = 0.01 * rng.standard_normal(views["output.weights"].shape)
    views["output.biases"][...] = size
    sources = asked(40, 2)[0]
    true, quantized = (fused_decode(network, sources, method, 7, batch=40) for method in GREEDY)
    assert [h.labels.tolist() for (h,) in quantized] == [h.labels.tolist() for (h,) in true]


@pytest.mark.parametrize("method", [*GREEDY, Beam(3, 0.0, best=3)], ids=str)
@pytest.mark.parametrize("size", [150.0, -150.0])
@pytest.mark.parametrize("where", ["encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"])
def test_scores_far_from_zero(numba, method, size, where):
    """Every score of one attention moved by the same large number: it means nothing, if the maximum is subtracted."""
    network = talkative(block="pre")
    views, width = dict(network.named_arrays()), 16
    query, key = views[f"{where}.query.biases"], views[f"{where}.key.biases"]
    query[::width] = 30
    views[f"{where}.query.weights"][:, ::width] = 0
    key[::width] = size * width**0.5 / 30
    compared(network, method, *asked(13, 1), batch=9, tolerance=2e-3)  # scores are rounded to 1.5e-5


@pytest.mark.parametrize("method", [*GREEDY, Beam(3, 0.0, best=3)], ids=str)
@pytest.mark.parametrize("size", [200.0, -200.0])
def test_logits_far_from_zero(numba, method, size):
    network = talkative(block="pre")
    dict(network.named_arrays())["output.biases"][...] += size
    compared(network, method, *asked(13, 1), batch=9, tolerance=2e-3)  # scores are rounded to 1.5e-5


@pytest.mark.parametrize("method", [*GREEDY, Beam(3)], ids=str)
def test_the_weights_are_those_of_now(numba, method):
    network = talkative()
    sources, longest, _ = asked(6, 3)
    before = compared(network, method, sources, longest)
    network.theta.values *= 1.1
    after = compared(network, method, sources, longest)
    assert before[0][0].log_probability != after[0][0].log_probability
    twin = copy.deepcopy(network)
    network.theta.values *= 0.9
    same(compared(twin, method, sources, longest), after)
    dict(network.named_arrays())["output.biases"][7] += 99
    now = compared(network, method, sources, longest)
    assert all((h.labels == 7).all() for hypotheses in now for h in hypotheses[:1])  # without scores, labels must tell


@pytest.mark.parametrize("method", [*GREEDY, Beam(2)], ids=str)
def test_batches_on_threads(numba, method):
    workers, network = Workers(2), talkative(block="pre")
    question = asked(40, 1)
    same(
        fused_decode(network, question[0], method, *question[1:], batch=7, each=workers.map),
        compared(network, method, *question, batch=7),
    )
    workers.close()


@pytest.mark.parametrize("method", [*GREEDY, Beam(3, best=2)], ids=str)
@pytest.mark.parametrize("settings", NOT_COVERED, ids=str)
def test_what_is_not_covered_goes_step_by_step(numba, settings, method):
    network, (sources, longest, prefixes) = talkative(**settings), asked(8, most=8)
    with pytest.raises(AssertionError, match="step by step"):
        fused_decode(network, sources, method, longest, prefixes)
    found = decode(network, sources, method, longest, prefixes)
    use_engine("numpy")
    same(found, decode(network, sources, method, longest, prefixes), 1e-4)


def test_double_precision_and_sampling_go_step_by_step(numba):
    for network, method in ((talkative(dtype=np.float64), Greedy()), (talkative(), Sampling())):
        with pytest.raises(AssertionError, match="step by step"):
            fused_decode(network, [[4, 5]], method, 5)
        assert len(decode(network, [[4, 5]], method, 5)) == 1


@pytest.mark.parametrize("method", [*GREEDY, Beam(2)], ids=str)
def test_parameters_that_are_not_numbers_are_refused(numba, method):
    settings: dict[str, Any] = {"block": "pre", "positions": "relative"}
    names = [name for name, _ in talkative(**settings).named_arrays()]
    assert len(names) > 40
    for name in names:
        network = talkative(**settings)
        dict(network.named_arrays())[name][...] = np.nan
        with pytest.raises(NonFiniteError, match="maximum nan"):
            decode(network, [[4, 5, 6], [7]], method, 6)


@pytest.mark.parametrize("method", [*GREEDY, Beam(2)], ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("label", [0, 2, 5, 39])
@pytest.mark.parametrize("count", [1, 4])
def test_one_logit_that_is_no_number_is_refused(numba, method, value, label, count):
    network = talkative()
    dict(network.named_arrays())["output.biases"][label] = value
    with pytest.raises(NonFiniteError, match=f"maximum {value}"):
        decode(network, [[4, 5, 6]] * count, method, 6)


@pytest.mark.parametrize("method", [*GREEDY, Beam(2)], ids=str)
def test_labels_of_probability_0(numba, method):
    network = talkative()
    biases = dict(network.named_arrays())["output.biases"]
    biases[6:] = -np.inf
    compared(network, method, *asked(5)[:2])
    with pytest.raises(NonFiniteError, match="every label that may come next"):
        decode(network, [[4, 5]], method, 6, [[8]])
    biases[END:] = -np.inf
    with pytest.raises(NonFiniteError, match="every label that may come next"):
        decode(network, [[4, 5]], method, 6)


@pytest.mark.parametrize("method", [*GREEDY, Beam(2)], ids=str)
def test_mistakes_are_told_as_the_definition_tells_them(numba, method):
    network = talkative(end=-50.0, positions="learned", maximum_length=8)
    compared(network, method, [[4, 5]], 7)
    for sources, longest, prefixes, message in (
        ([[4, 40]], 3, None, "label 40"),
        ([[4, -1]], 3, None, "label -1"),
        ([[4]], 3, [[4, 40]], "label 40 at position 1"),
        ([[4] * 9], 3, None, "sequence of 9 positions"),
        ([[4]], 12, None, "sequence of 9 positions"),
    ):
        with pytest.raises(LabelError, match=message):
            decode(network, sources, method, longest, prefixes)


@pytest.mark.parametrize("inputs", [8, 24, 61])
def test_products_of_any_size(numba, inputs):
    from dragoman.engines.numba.gemm.small_gemm import small_gemm, small_gemm_transposed

    rng = np.random.default_rng(inputs)
    for outputs in (4, 7, 8, 15, 16, 31, 33, 64, 130):
        w, b = (rng.standard_normal(size).astype(np.float32) for size in (inputs * outputs + 5, outputs + 3))
        for rows in (0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 30):
            x = rng.standard_normal(rows * (inputs + 2) + 1).astype(np.float32)
            wanted = x[1:].reshape(rows, inputs + 2)[:, :inputs] @ w[5:].reshape(inputs, outputs) + b[3:]
            y = np.full(rows * (outputs + 1) + 2, 7, np.float32)
            size = (inputs + 2, rows, inputs, w, 5, outputs, b, 3, y, 2, outputs + 1)
            small_gemm(x, 1, *size)
            found = y[2:].reshape(rows, outputs + 1)
            np.testing.assert_allclose(found[:, :outputs], wanted, atol=2e-5)
            assert (found[:, outputs] == 7).all()
            if inputs % 8 == 0:
                small_gemm_transposed(x, 1, *size)
                wanted = x[1:].reshape(rows, inputs + 2)[:, :inputs] @ w[5:].reshape(outputs, inputs).T + b[3:]
                np.testing.assert_allclose(found[:, :outputs], wanted, atol=2e-5)
                assert (found[:, outputs] == 7).all()
