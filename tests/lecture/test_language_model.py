"""Auto-regressive language modelling: a masked body, the incremental property, and the head."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.networks import LanguageModel, LanguageModelConfiguration
from dragoman.operations import cross_entropy, linear, softmax
from dragoman.operations.teaching.lecture import asymmetric_attention
from tests.lecture.masked_body import DEPTH, scatter

WORDS = [0, 3, 1, 3, 2, 4]  # the first is the start token: p(w_1) needs something to read
VOCABULARY = 5


def language_model(vocabulary: int = VOCABULARY, masked: bool = True) -> LanguageModel:
    settings = {"depth": DEPTH, "perceptron_depth": 8, "heads": 2, "layers": 2, "block": "pre"}
    model = LanguageModel(LanguageModelConfiguration(vocabulary=vocabulary, **settings), dtype=np.float64)
    for block in model.blocks:
        block.self_attention.change(causal=masked)
    scatter(model)
    return model


def features(model: LanguageModel, words: list[int]) -> Array:
    """X of the last block, [N, D]"""
    return value_of(model.before_output(Batch.pack([words]))[0])


def probabilities(model: LanguageModel, words: list[int]) -> Array:
    """[N, W]: row n is p(w_n+1 = w | w_1 ... w_n)"""
    return value_of(softmax(model(Batch.pack([words]))))


@pytest.mark.ledger("L-52-ar", "L-53-two")
def test_a_masked_body_with_a_head_is_a_distribution_over_sentences() -> None:
    """p(w_1) p(w_2 | w_1) p(w_3 | w_1, w_2), one pass for each sentence, totals 1 over all sentences."""

    def total(masked: bool) -> float:
        model = language_model(3, masked)
        sentences = product(range(3), repeat=3)
        return sum(
            float(np.prod(probabilities(model, [0, *words[:-1]])[np.arange(3), list(words)])) for words in sentences
        )

    assert total(masked=True) == pytest.approx(1, abs=1e-12)
    assert abs(total(masked=False) - 1) > 1e-4  # without the mask early predictions peek at later words


@pytest.mark.ledger("L-52-ar")
def test_next_words_have_positive_probabilities_that_total_1() -> None:
    p = probabilities(language_model(), WORDS)
    assert p.shape == (len(WORDS), VOCABULARY)
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.ledger("L-55-incr", "L-58-nomask", "L-53-two")
@pytest.mark.parametrize("masked", [True, False])
def test_a_new_token_leaves_the_old_features_alone_exactly_with_the_mask(masked: bool) -> None:
    model = language_model(masked=masked)
    for n in range(1, len(WORDS)):
        before, after = features(model, WORDS[:n]), features(model, WORDS[: n + 1])[:n]
        change = np.abs(after - before).max()
        assert change < 1e-13 if masked else change > 1e-3  # matrices of another height are rounded otherwise


@pytest.mark.ledger("L-55-incr", "L-58-nomask")
@pytest.mark.parametrize("masked", [True, False])
def test_whatever_comes_next_the_old_features_keep_their_bits_with_the_mask(masked: bool) -> None:
    model, whole = language_model(masked=masked), np.array(WORDS)
    for n in range(1, len(WORDS)):
        other = [*WORDS[:n], *((whole[n:] + 1) % VOCABULARY)]
        change = np.abs(features(model, other) - features(model, WORDS))[:n].max()
        assert change == 0 if masked else change > 1e-3


@pytest.mark.ledger("L-57-onepass", "L-21-masktrain")
def test_one_masked_pass_equals_a_pass_for_every_prefix() -> None:
    model = language_model()
    separate = [probabilities(model, WORDS[: n + 1])[-1] for n in range(len(WORDS))]
    np.testing.assert_allclose(probabilities(model, WORDS), separate, rtol=1e-12)


@pytest.mark.ledger("L-59-upper")
def test_the_mask_belongs_before_the_softmax() -> None:
    rng = np.random.default_rng(0)
    x, u_q, u_k = rng.standard_normal((4, 5)), *rng.standard_normal((2, 3, 5))

    def solved(rows: int, causal: bool) -> np.ndarray:
        """A of the first tokens, from Y = X A."""
        return np.linalg.pinv(x[:rows].T) @ asymmetric_attention(x[:rows], u_q, u_k, causal=causal).T

    masked = solved(4, causal=True)
    np.testing.assert_allclose(np.tril(masked, -1), 0, atol=1e-13)
    np.testing.assert_allclose(masked.sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(solved(3, causal=True), masked[:3, :3], atol=1e-13)

    zeroed, shorter = np.triu(solved(4, causal=False)), np.triu(solved(3, causal=False))  # A_nn' = 0 as printed
    assert np.abs(zeroed.sum(axis=0)[:-1] - 1).max() > 0.1
    assert np.abs(zeroed[:3, :3] - shorter).max() > 1e-3


@pytest.mark.ledger("L-60-head")
def test_the_head_is_a_softmax_with_the_gradient_p_minus_one_hot_times_x() -> None:
    rng = np.random.default_rng(0)
    x, g, targets = rng.standard_normal((4, DEPTH)), rng.standard_normal((VOCABULARY, DEPTH)), np.array([4, 0, 1, 4])
    features, weights = Tensor(x), Tensor(g)
    loss, _ = cross_entropy(linear(features, weights, transposed=True), targets=targets)

    numerators = np.array([[np.exp(g_w @ row) for g_w in g] for row in x])
    p = numerators / numerators.sum(axis=1, keepdims=True)
    assert float(loss) == pytest.approx(-np.log(p[np.arange(4), targets]).mean(), rel=1e-13)
    dx, dg = backpropagate(loss, [features, weights])
    surprise = p - np.eye(VOCABULARY)[targets]
    np.testing.assert_allclose(dg, sum(np.outer(s, row) for s, row in zip(surprise, x, strict=True)) / 4, rtol=1e-12)
    np.testing.assert_allclose(dx, surprise @ g / 4, rtol=1e-12)


@pytest.mark.ledger("L-60-head")
def test_the_model_predicts_through_its_head() -> None:
    model = language_model()
    g, biases = value_of(model.output.weights), value_of(model.output.biases)
    numerators = np.exp(features(model, WORDS) @ g + biases)
    np.testing.assert_allclose(
        probabilities(model, WORDS), numerators / numerators.sum(axis=1, keepdims=True), rtol=1e-12
    )
