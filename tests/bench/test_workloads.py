"""What is measured: sentences, batches, sizes, and the words that choose among them."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.batch import END, Batch
from dragoman.bench.preparation import prepare_decoding, random_translator
from dragoman.bench.sentences import Sentences, read_corpus, synthetic_pairs
from dragoman.bench.workloads import HIDDEN, NAMES, SIZES, TRAINING, network_configuration, parse_only
from dragoman.decoding import Greedy, decode
from dragoman.errors import ConfigurationError
from dragoman.networks import Transformer

TINY = HIDDEN["tiny"]


def _pairs(batches: list[Batch]) -> Counter[tuple[bytes, bytes]]:
    found: Counter[tuple[bytes, bytes]] = Counter()
    for batch in batches:
        assert batch.source is not None
        sources = np.split(batch.source.labels, batch.source.offsets[1:-1])
        references = np.split(batch.labels, batch.offsets[1:-1])
        found.update((s.tobytes(), r.tobytes()) for s, r in zip(sources, references, strict=True))
    return found


def test_unsorted_batches_hold_the_sentences_of_the_grouped_ones() -> None:
    grouped, unsorted = (Sentences().batches(TRAINING[name], SIZES["small"]) for name in ("grouped", "unsorted"))
    assert _pairs(grouped) == _pairs(unsorted)
    assert [len(batch) for batch in grouped] == [len(batch) for batch in unsorted] == [64] * 16

    def padding(batches: list[Batch]) -> float:
        rows = sum(len(batch.labels) for batch in batches)
        return 1 - rows / sum(len(batch) * int(batch.lengths.max()) for batch in batches)

    assert padding(grouped) < 0.2 < 0.3 < padding(unsorted)


@pytest.mark.parametrize(("name", "length"), [("equal", 10), ("long", 53)])
def test_equal_lengths_are_what_the_name_says(name: str, length: int) -> None:
    for batch in Sentences().batches(TRAINING[name], SIZES["small"]):
        assert batch.source is not None
        assert set(batch.lengths) == set(batch.source.lengths) == {length}
        assert len(batch) == 64


def test_windows_of_a_language_model_have_one_length_and_predict_the_next_label() -> None:
    for batch in Sentences().batches(TRAINING["language-model"], SIZES["medium"]):
        assert (len(batch), set(batch.lengths)) == (32, {128})
        assert (batch.source, batch.per) == (None, "position")
        assert batch.targets is not None
        labels, targets = batch.labels.reshape(32, 128), batch.targets.reshape(32, 128)
        assert (labels[:, 1:] == targets[:, :-1]).all()
        assert 4 <= min(labels.min(), targets.min()) <= max(labels.max(), targets.max()) < 90


def test_texts_to_classify_are_ragged_and_have_one_class_each() -> None:
    batches = Sentences().batches(TRAINING["classifier"], SIZES["small"])
    for batch in batches:
        assert 10 <= batch.lengths.min() < 20 < 50 < batch.lengths.max() <= 60
    assert {len(batch) for batch in batches} == {64}
    assert {batch.per for batch in batches} == {"sample"}
    assert set(np.concatenate([batch.targets for batch in batches if batch.targets is not None])) == {0, 1, 2, 3}


def test_made_up_lengths_are_those_of_real_text() -> None:
    """eng-spa under WordPiece of the thesis's sizes: 10.6 and 10.4 labels on average, deviations 3.3 and 3.5."""
    lengths = synthetic_pairs(20_000, (4562, 6134)).lengths()
    assert lengths.mean(axis=0) == pytest.approx([10.6, 10.4], abs=0.3)
    assert lengths.std(axis=0) == pytest.approx([3.3, 3.5], abs=0.5)
    assert np.corrcoef(lengths.T)[0, 1] == pytest.approx(0.84, abs=0.06)


def test_a_corpus_gives_its_own_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "pairs.tsv.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        for i in range(200):
            lines.write(f"{'one ' * (i % 7 + 1)}{i}\t{'uno ' * (i % 5 + 1)}{i}\n")
    sentences = read_corpus(str(file), (60, 60))
    assert sentences.name == "pairs.tsv.gz"
    assert sentences.vocabularies is not None
    batches = sentences.batches(TRAINING["grouped"], TINY)
    assert max(int(batch.labels.max()) for batch in batches) < sentences.vocabularies[1]
    assert all(source[-1] == END for source in sentences.sources(10, TINY))
    assert sentences.batches_in_epoch(TINY) == 20  # 120 of the 200 pairs, 6 a batch
    in_order = sentences.batches(TRAINING["epoch"], TINY)
    assert _pairs(in_order[::2]) == _pairs(in_order[1::2])  # here all 20 of them, twice
    sizes = [len(batch.labels) for batch in in_order]
    assert sizes != sorted(sizes)
    with pytest.raises(ConfigurationError, match="do not fill a batch of 640"):
        sentences.batches(TRAINING["grouped"], replace(TINY, sentences=640))


def test_random_weights_end_their_sentences_as_trained_ones_do() -> None:
    sources = Sentences().sources(64, SIZES["small"])
    network = random_translator(network_configuration(SIZES["small"], block="pre"), sources)
    written = [len(best.labels) for (best,) in decode(network, sources, Greedy(), 60)]
    assert np.mean(written) == pytest.approx(np.mean([len(source) for source in sources]) - 2, abs=2)
    assert max(written) < 40


def test_networks_that_peers_do_not_know_are_refused(tmp_path: Path) -> None:
    network = Transformer(network_configuration(TINY, activation="gelu", normalization="outside", hidden_layers=2))
    with pytest.raises(ConfigurationError, match=r"normalization 'outside', activation 'gelu', 2 hidden layers"):
        prepare_decoding(tmp_path, network, [np.array([2, 5, 3])], 10)


def test_words_choose_presets_and_workloads() -> None:
    assert parse_only(None) == (("small", "medium", "large"), NAMES)
    assert parse_only("small") == (("small",), NAMES)
    assert parse_only("grouped, large") == (("large",), ("grouped",))
    assert parse_only("scaling") == (("small", "medium", "large"), ("scaling",))
    assert not {"epoch", "scaling"} & set(NAMES)
    assert parse_only("small,epoch") == (("small",), ("epoch",))
    assert parse_only("small,language-model,classifier") == (("small",), ("language-model", "classifier"))
    assert {"language-model", "classifier"} <= set(NAMES)
    assert parse_only("tiny,decoding") == (("tiny",), ("decoding",))
    with pytest.raises(ConfigurationError, match="not 'huge'"):
        parse_only("small,huge")
