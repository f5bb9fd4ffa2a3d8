"""Word vectors as the embeddings of a network: which rows, how long, fixed or trained further."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.data.tokenizer import FIRST_PIECE, Kind, Tokenizer
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Parameter, Value, value_of
from dragoman.layers import ForwardContext, Initializer, Layer
from dragoman.networks import Network, Transformer, TransformerConfiguration
from dragoman.operations import embed, linear
from dragoman.optimization import Adam, Constant
from dragoman.tasks.vectors.embeddings import EMBEDDINGS, initial_embeddings, words_of
from dragoman.training import Stopping, train
from tests.tasks.vectors.made_up import BOOK, PLANE, vectors_of


@pytest.mark.parametrize("kind", ["words", "wordpiece", "bpe", "unigram", "characters"])
def test_labels_know_their_words(kind: Kind) -> None:
    texts = ["The dog sees a cat, the cat sees the dog.", "Dogs, cats; doghouse!"] * 20
    tokenizer = Tokenizer.train(texts, kind, size=None if kind == "characters" else 340)
    words = words_of(tokenizer)
    assert len(words) == tokenizer.size
    assert words[:FIRST_PIECE] == [None] * FIRST_PIECE
    if kind != "characters":
        (label,) = tokenizer.encode(["dog"])[0]
        assert words[label] == "dog"
        assert words[tokenizer.encode(["dog,"])[0][-1]] == ","
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert all(words[i] is None for i, piece in enumerate(pieces) if piece.startswith("##") or piece.isalpha())


def small_network(tied: Literal["none", "output", "all"] = "none") -> Transformer:
    return Transformer(
        TransformerConfiguration(
            depth=4, perceptron_depth=4, heads=1, tied=tied, source_vocabulary=8, target_vocabulary=8
        )
    )


LABELLED = [None, None, None, None, "king", "Queen", "sword", ","]
FOUR = vectors_of(BOOK)


@pytest.mark.ledger("B-7.1-word2vec")
@pytest.mark.parametrize("side", ["source", "target"])
def test_known_words_are_filled_in_and_others_stay(side: Literal["source", "target"]) -> None:
    network, untouched = small_network(), small_network()
    filled = initial_embeddings(network, side, LABELLED, FOUR)
    assert (filled.found, filled.words) == (2, 4)
    assert str(filled) == "2 of 4 tokens that can be a word start with a vector"
    changed = {
        name
        for (name, a), (_, b) in zip(network.named_arrays(), untouched.named_arrays(), strict=True)
        if (a != b).any()
    }
    assert changed == {f"{EMBEDDINGS[side]}.table"}
    table, before = (value_of(getattr(n, EMBEDDINGS[side]).table) for n in (network, untouched))
    assert (table != before).any(axis=1).tolist() == [False] * 4 + [True, True, False, False]
    np.testing.assert_allclose(table[4:6], filled.scale * FOUR.vectors[:2], rtol=1e-6)
    size = [float(np.sqrt(np.mean(rows[4:6] ** 2))) for rows in (table, before)]
    assert size[0] == pytest.approx(size[1], rel=1e-5)  # as long as what they replace
    assert np.shares_memory(table, network.theta.values)


@pytest.mark.ledger("B-7.1-finetune")
@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("tied", ["none", "all"])
def test_a_table_is_fixed_or_trained_further(freeze: bool, tied: Literal["none", "all"]) -> None:
    network = small_network(tied)
    initial_embeddings(network, "source", LABELLED, FOUR, freeze=freeze)
    table = value_of(network.source_embedding.table).copy()
    rest = network.theta.values.copy()
    source, reference = Batch.pack([np.array([4, 5, 6])]), Batch.pack([np.array([2, 4, 5])])
    batch = Batch(reference.labels, reference.offsets, source=source, targets=np.array([4, 5, 3]))
    train(network, iter([batch] * 3), Adam(), Constant(0.1), Stopping(3))
    moved = value_of(network.source_embedding.table) != table
    assert moved[4:7].any() is np.bool_(not freeze)
    assert not freeze or not moved.any()
    assert (network.theta.values != rest).any()


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="depth 2 for a source embedding of depth 4; train vectors with --depth 4"):
        initial_embeddings(small_network(), "source", LABELLED, vectors_of(PLANE))
    with pytest.raises(ShapeError, match="7 words for a table of 8 tokens"):
        initial_embeddings(small_network(), "source", LABELLED[1:], FOUR)
    network, untouched = small_network(), small_network()
    assert initial_embeddings(network, "source", [None] * 8, FOUR).found == 0
    np.testing.assert_array_equal(network.theta.values, untouched.theta.values)


class Table(Layer):
    """An embedding of another kind than the Transformer's."""

    table: Value

    def __init__(self, initial: Initializer) -> None:
        self.table = Parameter(initial.normal(8, 4, 1.0))


class Other(Network):
    """A network that has a source embedding, and no reference embedding."""

    output: Value

    def __init__(self) -> None:
        initial = Initializer(0)
        self.source_embedding = Table(initial)
        self.output = Parameter(initial.normal(4, 8, 1.0))
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return linear(embed(self.source_embedding.table, labels=batch.labels), self.output)


@pytest.mark.parametrize("freeze", [True, False])
def test_any_network_with_a_table_will_do(freeze: bool) -> None:
    network = Other()
    assert initial_embeddings(network, "source", LABELLED, FOUR, freeze).found == 2
    table = value_of(network.source_embedding.table).copy()
    batch = Batch(np.array([4, 5]), np.array([0, 2]), targets=np.array([5, 4]))
    train(network, iter([batch] * 2), Adam(), Constant(0.1), Stopping(2))
    moved = value_of(network.source_embedding.table) != table
    assert moved.any(axis=1).tolist() == [False] * 4 + [not freeze] * 2 + [False] * 2
    with pytest.raises(ConfigurationError, match="this network has no target embedding to put vectors into"):
        initial_embeddings(network, "target", LABELLED, FOUR)
