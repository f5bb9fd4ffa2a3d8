"""t-SNE: its derivative, its neighbourhoods, and scikit-learn as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.analysis.figures import embedding_figure, examples, principal_plane
from dragoman.analysis.tsne import MOST, divergence, similarities, tsne, usual_perplexity
from dragoman.errors import ConfigurationError, NonFiniteError, ShapeError
from dragoman.graph import Array, gradient_check


def clusters(seed: int, count: int = 12, spread: float = 1.0) -> Array:
    rng = np.random.default_rng(seed)
    centres = np.repeat(3 * rng.standard_normal((3, 8)), count, axis=0)
    drawn: Array = centres + spread * rng.standard_normal(centres.shape)
    return drawn


@settings(max_examples=8)
@given(st.integers(4, 9), st.integers(0, 99))
def test_the_derivative_of_the_divergence(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = similarities(rng.standard_normal((count, 5)), 2.0)
    gradient_check(lambda y: divergence(y, similarities=p), rng.standard_normal((count, 2))).require()


@pytest.mark.parametrize("perplexity", [1.5, 5.0, 20.0])
def test_every_point_has_the_wanted_number_of_neighbours(perplexity: float) -> None:
    vectors = clusters(0)
    p = similarities(vectors, perplexity)
    np.testing.assert_allclose(p, p.T, rtol=1e-12)
    assert p.sum() == pytest.approx(1)
    assert not np.diag(p).any()
    from dragoman.analysis.tsne import _conditional

    distances = np.square(vectors[:, None] - vectors[None]).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    rows = _conditional(distances - distances.min(axis=1, keepdims=True), np.log(perplexity))
    entropies = -(rows * np.log(np.maximum(rows, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropies), perplexity, rtol=1e-6)


def test_it_is_as_good_as_scikit_learn() -> None:
    manifold = pytest.importorskip("sklearn.manifold")
    vectors = clusters(1)
    perplexity, plane = usual_perplexity(len(vectors)), principal_plane(vectors)
    p, ours = similarities(vectors, perplexity), tsne(vectors, plane)
    peer = manifold.TSNE(perplexity=perplexity, method="exact", init="pca", random_state=0)
    theirs = peer.fit_transform(vectors).astype(np.float64)
    assert float(divergence(theirs, similarities=p)) == pytest.approx(peer.kl_divergence_, rel=1e-3)
    assert float(divergence(ours, similarities=p)) < 1.15 * peer.kl_divergence_
    kept = [manifold.trustworthiness(vectors, y, n_neighbors=5) for y in (ours, theirs, plane)]
    assert kept[0] > kept[1] - 0.02
    assert kept[0] > kept[2]


@pytest.mark.ledger("T-F2")
def test_three_topics_are_three_clusters_by_both_projections() -> None:
    """k-means, which knows nothing of the topics, finds them in the plane."""
    vectors, words, topics = examples.topic_vectors()
    assert len(words) == len(set(words)) == 21
    number = np.array([list(dict.fromkeys(topics)).index(topic) for topic in topics])
    plane = principal_plane(vectors)
    for points in (plane, tsne(vectors, plane)):
        found = k_means(points, 3)
        assert all(len(set(number[found == cluster])) == 1 for cluster in range(3)), "purity 1"
        assert len(set(found)) == 3


def k_means(points: Array, count: int) -> Array:
    """The best of several starts, none of which knows the topics."""
    best: tuple[float, Array] = (np.inf, np.zeros(len(points)))
    for seed in range(10):
        centres = points[np.random.default_rng(seed).choice(len(points), count, replace=False)]
        for _ in range(20):
            distances = np.linalg.norm(points[:, None] - centres[None], axis=2)
            nearest = distances.argmin(axis=1)
            kept = [k for k in range(count) if (nearest == k).any()]
            centres[kept] = [points[nearest == k].mean(axis=0) for k in kept]
        best = min(best, (float(np.square(distances.min(axis=1)).sum()), nearest), key=lambda pair: pair[0])
    return best[1]


def test_the_same_seed_gives_the_same_points_and_equal_vectors_are_told_apart() -> None:
    vectors = np.repeat(np.eye(4), 2, axis=0)
    plane = principal_plane(vectors)
    first, again, other = (tsne(vectors, plane, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.isfinite(first).all()
    assert len({tuple(point) for point in first}) == 8


def test_what_has_no_neighbourhoods() -> None:
    plane = np.zeros((8, 2))
    with pytest.raises(ConfigurationError, match="perplexity between 1 and 7 expected for 8 points, got 20"):
        tsne(np.eye(8), plane, 20)
    with pytest.raises(ShapeError, match="at least 4 vectors"):
        tsne(np.eye(3), plane[:3])
    with pytest.raises(NonFiniteError, match="diverged"):
        tsne(np.full((8, 2), np.nan), plane)
    with pytest.raises(ConfigurationError, match="3,001 points; up to 3,000"):
        tsne(np.zeros((MOST + 1, 2)), plane)
    with pytest.raises(ConfigurationError, match="unknown projection 'umap'; available: pca, t-sne, both"):
        embedding_figure(np.eye(8), list("abcdefgh"), projection="umap")


@pytest.mark.ledger("T-F2")
def test_both_projections_side_by_side_name_every_word() -> None:
    vectors, words, topics = examples.topic_vectors()
    figure = embedding_figure(vectors, words, "Words", topics, "both")
    left, right = figure.axes
    assert (left.get_title(), right.get_title()) == ("PCA", "t-SNE")
    for axes in (left, right):
        assert {text.get_text() for text in axes.texts} == set(words)
        assert len(axes.collections) == 3
    offsets = np.concatenate([points.get_offsets() for points in right.collections])
    np.testing.assert_allclose(offsets, tsne(vectors, principal_plane(vectors)), rtol=1e-12)
    assert "perplexity 6.67" in right.get_xlabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(examples.TOPICS)
