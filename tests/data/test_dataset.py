"""Datasets: pairs of texts become labels in three parts on disk, whole or not at all; a network learns from them."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import END, PAD, START, Batch
from dragoman.data.batching import Batching, BatchStream, plan_epoch
from dragoman.data.dataset import VERSION, Dataset, Part, prepare
from dragoman.data.pair_encoding import Encoding, add_marks, pad_to, padded_batch
from dragoman.data.splits import PARTS, TRAINING, Splitting, assign_parts
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError, DataError, FileFormatError, LabelError
from dragoman.graph import Array
from dragoman.networks import Transformer, TransformerConfiguration
from dragoman.operations import softmax
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train
from tests.data.test_batching import waste

ENG_SPA = Path(__file__).parents[3] / "shared" / "data" / "eng-spa.tsv.gz"
NOUNS = {"house": "casa", "girl": "niña", "stork": "cigüeña", "moon": "luna", "plant": "planta", "street": "calle"}
ADJECTIVES = {"green": "verde", "big": "grande", "happy": "feliz", "sad": "triste", "strong": "fuerte"}
PAIRS = [
    (f"{start} {noun} is {adjective}{end}", f"{inicio} {nombre} es {adjetivo}{fin}")
    for noun, nombre in NOUNS.items()
    for adjective, adjetivo in ADJECTIVES.items()
    for start, inicio, end, fin in [("The", "La", ".", "."), ("That's it: the", "¡Eso! La", "!", "!")]
]
HELD = "The plant is green."
SMALL = Encoding("words")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return prepare(PAIRS, tmp_path_factory.mktemp("prepared") / "phrases", held_out=[HELD])


def transformer(dataset: Dataset, **settings: Any) -> Transformer:
    source, reference = dataset.about["vocabularies"]
    small: dict[str, Any] = {"depth": 16, "perceptron_depth": 32, "heads": 2, "block": "pre"} | settings
    return Transformer(TransformerConfiguration(source_vocabulary=source, target_vocabulary=reference, **small))


def stored(part: Part, side: int, item: int) -> list[int]:
    labels: list[int] = part.dataset.encoded[side][part.samples[item]].tolist()
    return labels


def assert_same(ours: Batch | None, theirs: Batch | None) -> None:
    assert (ours is None) == (theirs is None)
    if ours is None or theirs is None:
        return
    for name in ("labels", "offsets", "targets", "loss_weights"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert_same(ours.source, theirs.source)


@pytest.mark.ledger("T-2.1-dataset", "B-7.2-supervised")
def test_a_dataset_is_n_pairs_of_inputs_and_targets(dataset: Dataset) -> None:
    assert len(dataset) == len(PAIRS) == sum(len(dataset.part(name)) for name in PARTS)
    part = dataset.part("training")
    batch = part.batch(np.arange(len(part)))
    assert batch.source is not None  # the input is a tuple: what is read, and what was written so far
    assert batch.targets is not None
    assert len(batch) == len(batch.source) == len(part)
    assert batch.targets.shape == batch.labels.shape


def test_texts_and_parts_are_what_went_in(dataset: Dataset) -> None:
    assert list(dataset.texts[0].texts(range(len(PAIRS)))) == [source for source, _ in PAIRS]
    np.testing.assert_array_equal(dataset.parts, assign_parts((s for s, _ in PAIRS), Splitting(), [HELD]))
    found = [
        pair
        for name in PARTS
        for pair in zip(dataset.part(name).texts("source"), dataset.part(name).texts("target"), strict=True)
    ]
    assert sorted(found) == sorted(PAIRS)
    assert HELD in list(dataset.part("testing").texts("source"))


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_texts_come_back_to_the_letter(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    pairs = [("a " + text, text + "\u0301b")]
    prepared = prepare(pairs, tmp_path_factory.mktemp("texts") / "d", SMALL, Splitting((1.0, 0.0, 0.0)))
    part = prepared.part("training")
    assert list(zip(part.texts("source"), part.texts("target"), strict=True)) == pairs


@pytest.mark.ledger("T-6.1-special", "T-2.2.1-vocab")
def test_every_sentence_is_its_labels_between_start_and_end(dataset: Dataset) -> None:
    for side in (0, 1):
        texts = [pair[side] for pair in PAIRS]
        tokenizer = dataset.tokenizers[side]
        for i, labels in enumerate(tokenizer.encode(texts)):
            assert dataset.encoded[side][i].tolist() == [START, *labels, END]
            assert dataset.encoded[side][i].max() < tokenizer.size == dataset.about["vocabularies"][side]
        assert tokenizer.decode(dataset.encoded[side][i] for i in range(len(PAIRS))) == texts


@pytest.mark.ledger("T-2.2-transduction")
@pytest.mark.parametrize("kind", get_args(Kind))
@pytest.mark.parametrize("text", ["GATTACA", "la niña verde", "3 0 5 2", "♣ ♦ ♥"])
def test_sequences_of_any_kind(kind: Kind, text: str, tmp_path: Path) -> None:
    """DNA bases, words, digits, symbols: the reference is the source in reverse, the two sides apart."""
    prepared = prepare([(text, text[::-1])], tmp_path / "d", Encoding(kind), Splitting((1.0, 0.0, 0.0)))
    batch = prepared.part("training").batch(np.array([0]))
    assert batch.source is not None
    assert prepared.tokenizers[0].decode([batch.source.labels]) == [text]
    assert batch.targets is not None
    assert prepared.tokenizers[1].decode([batch.targets]) == [text[::-1]]


def test_tokenizers_are_trained_on_the_training_part_only(tmp_path: Path) -> None:
    pairs = [*PAIRS, ("xylophone", "xilófono")]
    splitting = Splitting()
    prepared = prepare(pairs, tmp_path / "d", SMALL, splitting, held_out=["xylophone"])
    for side, word in enumerate(("▁xylophone", "▁xilófono")):
        assert word not in prepared.tokenizers[side].pieces(range(prepared.tokenizers[side].size))
        training = [pairs[i][side] for i in np.flatnonzero(prepared.parts == TRAINING)]
        assert prepared.tokenizers[side].to_json() == Tokenizer.train(training, "words").to_json()
    assert prepared.about["unknown"] == [1, 1]
    known = prepare(pairs, tmp_path / "all", SMALL, Splitting((1.0, 0.0, 0.0)))
    assert "▁xylophone" in known.tokenizers[0].pieces(range(known.tokenizers[0].size))
    assert known.about["unknown"] == [0, 0]


@pytest.mark.ledger("T-2.2-vSvR")
def test_each_side_has_a_vocabulary_of_its_own(tmp_path: Path) -> None:
    prepared = prepare(PAIRS, tmp_path / "d", Encoding("wordpiece", sizes=(90, 110)))
    assert prepared.about["vocabularies"] == [tokenizer.size for tokenizer in prepared.tokenizers] == [90, 110]
    part = prepared.part("training")
    network = transformer(prepared)
    assert network.plain(part.batch(np.arange(3))).shape[1] == 110
    mixed_up = Batch.pairs([[START, 109, END]], [[START, 89, END]])
    with pytest.raises(LabelError):
        network.plain(mixed_up)


def test_a_joint_vocabulary_is_one(tmp_path: Path) -> None:
    prepared = prepare(PAIRS, tmp_path / "d", Encoding("words", sizes=(40, None), joint=True))
    source, reference = prepared.tokenizers
    assert source.to_json() == reference.to_json()
    assert prepared.about["vocabularies"] == [40, 40]
    assert {"▁house", "▁casa"} <= set(source.pieces(range(source.size)))


def test_given_tokenizers_are_kept(tmp_path: Path) -> None:
    given_ones = Tokenizer.train(["abc. The house"], "characters"), Tokenizer.train(["La casa"], "words")
    prepared = prepare(PAIRS, tmp_path / "d", encoders=dict(zip(("source", "target"), given_ones, strict=True)))
    for ours, theirs in zip(prepared.tokenizers, given_ones, strict=True):
        assert ours.to_json() == theirs.to_json()
    expected = given_ones[1].unknown_in([reference for _, reference in PAIRS])
    assert prepared.about["unknown"][1] == expected > 0


@pytest.mark.ledger("T-2.2-shift", "T-2.2.2-inputspace")
@given(data=st.data())
def test_a_batch_from_disk_is_the_batch_of_its_pairs(data: st.DataObject, dataset: Dataset) -> None:
    part = dataset.part(data.draw(st.sampled_from(PARTS)))
    items = data.draw(st.lists(st.integers(0, len(part) - 1), max_size=9))  # repeated, in any order, or none
    batch = part.batch(np.array(items, np.int64))
    sources, references = ([stored(part, side, i) for i in items] for side in (0, 1))
    assert_same(batch, Batch.pairs(sources, references))
    assert part.lengths()[items].tolist() == [[len(s), len(r)] for s, r in zip(sources, references, strict=True)]


@pytest.mark.ledger("T-F2.1")
def test_one_sample_as_three_rows(dataset: Dataset) -> None:
    """What is read, what is written so far, and below each label the one that comes next."""
    part = dataset.part("testing")
    item = list(part.texts("source")).index(HELD)
    batch = part.batch(np.array([item]))
    assert batch.source is not None
    assert batch.targets is not None
    source, reference = dataset.tokenizers
    rows = [source.pieces(batch.source.labels), reference.pieces(batch.labels), reference.pieces(batch.targets)]
    assert [rows[0][0], rows[0][-1], rows[1][0], rows[2][-1]] == ["[START]", "[END]", "[START]", "[END]"]
    assert rows[1][1:] == rows[2][:-1]
    assert len(rows[1]) == len(rows[2])
    texts = (
        source.decode([batch.source.labels])[0],
        reference.decode([batch.labels])[0],
        reference.decode([batch.targets])[0],
    )
    assert texts == ("The plant is green.", "La planta es verde.", "La planta es verde.")


@pytest.mark.ledger("T-2.2-standardise", "T-6.1-special")
@pytest.mark.parametrize(
    ("labels", "length", "standard"),
    [
        ([7, 8, 9], 8, [2, 7, 8, 9, 3, 0, 0, 0]),
        ([7, 8, 9], 5, [2, 7, 8, 9, 3]),
        ([7, 8, 9, 10, 11, 12, 13], 6, [2, 7, 8, 9, 10, 3]),  # the end label survives
        ([7, 8], 2, [2, 3]),
        ([], 4, [2, 3, 0, 0]),
    ],
)
def test_start_end_and_a_fixed_length(labels: list[int], length: int, standard: list[int]) -> None:
    marked, cut = add_marks(np.array(labels, np.int32), length)
    assert cut == (len(labels) > length - 2)
    assert marked.dtype == np.int32
    assert pad_to(marked, length).tolist() == standard
    uncut, _ = add_marks(np.array(labels, np.int32), None)
    assert uncut.tolist() == [2, *labels, 3]


def test_what_does_not_fit_is_not_cut_on_the_way_to_a_network() -> None:
    with pytest.raises(ConfigurationError, match="5 labels does not fit into 4"):
        pad_to(np.arange(5), 4)


@pytest.mark.ledger("T-2.2-mSmR1", "T-2.2-shift", "T-2.2.2-inputspace", "T-2.2-standardise")
def test_the_padded_layout_of_the_thesis(dataset: Dataset) -> None:
    part, n, source_length, reference_length = dataset.part("training"), 6, 15, 18
    items = np.arange(n)[::-1]
    batch = padded_batch(part, items, source_length, reference_length)
    assert batch.source is not None
    assert batch.targets is not None
    assert batch.loss_weights is not None
    m = reference_length - 1
    sources, reads, targets, weights = (
        array.reshape(n, -1) for array in (batch.source.labels, batch.labels, batch.targets, batch.loss_weights)
    )
    assert sources.shape == (n, source_length)
    assert reads.shape == targets.shape == weights.shape == (n, m)
    for row, item in enumerate(items):
        source, reference = stored(part, 0, item), stored(part, 1, item)
        assert sources[row].tolist() == source + [PAD] * (source_length - len(source))
        whole = reference + [PAD] * (reference_length - len(reference))
        assert reads[row].tolist() == whole[:-1]
        assert targets[row].tolist() == whole[1:]
        assert weights[row].tolist() == [1.0] * (len(reference) - 1) + [0.0] * (reference_length - len(reference))


@pytest.mark.ledger("T-2.2.3-outputspace")
def test_each_position_gives_a_distribution_over_the_reference_labels(dataset: Dataset) -> None:
    n, m = 4, 17
    batch = padded_batch(dataset.part("training"), np.arange(n), 15, m + 1)
    probabilities = np.asarray(softmax(transformer(dataset).plain(batch)))
    cube = probabilities.reshape(n, m, dataset.about["vocabularies"][1])
    np.testing.assert_allclose(cube.sum(axis=2), 1, atol=1e-5)
    assert cube.min() >= 0


def test_what_is_too_long_is_cut_and_counted(tmp_path: Path) -> None:
    pairs = [("a b c d e", "a b"), ("a", "a b c d"), ("a b c", "a")]
    prepared = prepare(pairs, tmp_path / "d", Encoding("words", maximum=(5, 4)), Splitting((1.0, 0.0, 0.0)))
    assert prepared.about["truncated"] == [1, 1]
    assert prepared.about["longest"] == [5, 4]
    assert prepared.about["samples"] == 3
    decoded = [prepared.tokenizers[side].decode(prepared.encoded[side][i] for i in range(3)) for side in (0, 1)]
    assert decoded == [["a b c", "a", "a b c"], ["a b", "a b", "a"]]
    for side, i in np.ndindex(2, 3):
        assert prepared.encoded[side][i][[0, -1]].tolist() == [START, END]
    assert list(prepared.texts[0].texts(range(3))) == [source for source, _ in pairs]  # texts are not cut
    uncut = prepare(pairs, tmp_path / "uncut", Encoding("words", maximum=(7, None)), Splitting((1.0, 0.0, 0.0)))
    assert (uncut.about["truncated"], uncut.about["longest"]) == ([0, 0], [7, 6])


def test_about_says_what_the_dataset_is(dataset: Dataset) -> None:
    about = dataset.about
    assert about["parts"] == {name: len(dataset.part(name)) for name in PARTS}
    assert about["longest"] == [int(store.lengths().max()) for store in dataset.encoded]
    assert about["encoding"]["kind"] == "wordpiece"
    assert about["splitting"] == {"shares": [0.6, 0.2, 0.2], "by": "source", "seed": 0}


def test_it_can_be_opened_again(dataset: Dataset) -> None:
    again = Dataset(dataset.directory)
    assert again.about == dataset.about
    assert isinstance(again.encoded[0].data, np.memmap)
    for name in PARTS:
        items = np.arange(len(dataset.part(name)))
        assert_same(again.part(name).batch(items), dataset.part(name).batch(items))


class Stopped(Exception):
    """Something went wrong half-way."""


def broken_pairs(error: Exception) -> Iterator[tuple[str, str]]:
    yield from PAIRS[:7]
    raise error


@pytest.mark.parametrize(
    ("error", "seen"), [(Stopped(), Stopped), (OSError("disk full"), DataError), (DataError("line 8"), DataError)]
)
@pytest.mark.parametrize("stage", ["reading", "training", "encoding", "publishing"])
def test_a_directory_is_whole_or_not_there(
    stage: str, error: Exception, seen: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    if stage == "training":
        monkeypatch.setattr(Tokenizer, "train", fail)
    elif stage == "encoding":
        monkeypatch.setattr(Tokenizer, "encode", fail)
    elif stage == "publishing":
        monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(seen):
        prepare(broken_pairs(error) if stage == "reading" else PAIRS, tmp_path / "cache" / "d", SMALL)
    assert list((tmp_path / "cache").iterdir()) == []


def test_nothing_else_is_left_beside_a_finished_directory(dataset: Dataset) -> None:
    assert list(dataset.directory.parent.iterdir()) == [dataset.directory]


def test_the_name_appears_only_when_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, seen = Tokenizer.encode, []

    def watching(self: Tokenizer, texts: Any) -> list[Array]:
        seen.append((tmp_path / "d").exists())
        return encode(self, texts)

    monkeypatch.setattr(Tokenizer, "encode", watching)
    prepare(PAIRS, tmp_path / "d", SMALL)
    assert seen == [False, False]


def test_one_that_finished_first_is_left_alone(tmp_path: Path) -> None:
    first = prepare(PAIRS, tmp_path / "d", SMALL)
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "d").iterdir()}
    second = prepare(PAIRS, tmp_path / "d", SMALL)
    assert second.about == first.about
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "d").iterdir()} == written
    assert list(tmp_path.iterdir()) == [tmp_path / "d"]


def test_other_pairs_are_not_silently_left_out(tmp_path: Path) -> None:
    prepare(PAIRS, tmp_path / "d", SMALL)
    try:
        other = prepare(PAIRS[:20], tmp_path / "d", SMALL)
    except (DataError, ConfigurationError):
        return
    assert len(other) == 20


@pytest.mark.parametrize("existing", ["file", "folder"])
def test_what_is_there_already_is_not_overwritten(existing: str, tmp_path: Path) -> None:
    path = tmp_path / "d"
    if existing == "folder":
        path.mkdir()
    (path / "mine.txt" if existing == "folder" else path).write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="could not be written"):
        prepare(PAIRS, path, SMALL)
    assert (path / "mine.txt" if existing == "folder" else path).read_text(encoding="utf-8") == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="could not be written"):
        prepare(PAIRS, tmp_path / "file" / "d", SMALL)


FILES = [f"{side}-{name}" for side in ("source", "target") for name in ("texts", "values")]
ALL_FILES = [f"{name}.{end}" for name in FILES for end in ("data", "offsets")] + [
    "source-tokenizer.json",
    "target-tokenizer.json",
    "about.json",
    "parts",
]


def test_these_are_all_files(dataset: Dataset) -> None:
    assert sorted(file.name for file in dataset.directory.iterdir()) == sorted(ALL_FILES)


@pytest.mark.parametrize("damage", ["missing", "shorter", "empty"])
@pytest.mark.parametrize("name", ALL_FILES)
def test_a_damaged_directory_is_refused(name: str, damage: str, tmp_path: Path) -> None:
    prepare(PAIRS[:12], tmp_path / "d", SMALL)
    file = tmp_path / "d" / name
    if damage == "missing":
        file.unlink()
    else:
        os.truncate(file, file.stat().st_size - 1 if damage == "shorter" else 0)
    with pytest.raises(FileFormatError, match=re.escape(str(tmp_path / "d"))):
        Dataset(tmp_path / "d")


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", "not json", json.dumps({"version": VERSION + 1})])
def test_a_foreign_directory_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="not a prepared dataset"):
        Dataset(tmp_path)
    (tmp_path / "about.json").write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"not a prepared dataset|has dataset version .*prepare again"):
        Dataset(tmp_path)


def test_parts_that_are_no_parts_are_refused(tmp_path: Path) -> None:
    prepare(PAIRS[:12], tmp_path / "d", SMALL)
    (tmp_path / "d" / "parts").write_bytes(bytes([7] * 12))
    with pytest.raises(FileFormatError):
        Dataset(tmp_path / "d")


@pytest.mark.parametrize(
    ("pairs", "splitting", "message"),
    [
        ([], Splitting(), "no pairs to learn from"),
        ([("a", "b")], Splitting(by="sample"), "is in the training part"),
        ([("a", "")] * 9, Splitting((1.0, 0.0, 0.0)), "no text to train a tokenizer on"),
    ],
)
def test_too_little_to_learn_from_is_told(
    pairs: list[tuple[str, str]], splitting: Splitting, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        prepare(pairs, tmp_path / "d", SMALL, splitting)
    assert list(tmp_path.iterdir()) == []


def test_settings_without_sense_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="at least its start and end labels"):
        Encoding(maximum=(5, 1))
    with pytest.raises(ConfigurationError, match="unknown part 'test'; available: training, validation, testing"):
        dataset.part("test")
    with pytest.raises(ConfigurationError, match="too small"):
        prepare(PAIRS, tmp_path / "d", Encoding("wordpiece", sizes=(5, None)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ledger("T-2.2-transduction")
@pytest.mark.parametrize("batching", [Batching(8), Batching(tokens=200)])
def test_a_network_learns_from_it(dataset: Dataset, batching: Batching) -> None:
    network = transformer(dataset)
    stream = BatchStream(dataset.part("training"), batching)
    losses = [loss.index for loss in train(network, stream, Adam(), Constant(0.01), Stopping(60)).losses]
    assert np.mean(losses[-5:]) < 0.2 * losses[0]


def read_eng_spa() -> list[tuple[str, str]]:
    if not ENG_SPA.exists():
        pytest.skip(f"{ENG_SPA} is not there: the dataset of the thesis was NOT prepared")
    with gzip.open(ENG_SPA, "rt", encoding="utf-8") as lines:
        return [(source, reference) for source, reference in (line.rstrip("\n").split("\t") for line in lines)]


@pytest.mark.ledger("T-6.1-data", "T-6.1-split", "T-6.1-wordpiece", "T-6.1-special")
def test_the_dataset_of_the_thesis(tmp_path: Path) -> None:
    """118,964 pairs by WordPiece, split by sample into 60/20/20; padded batches would waste less than a tenth."""
    pairs = read_eng_spa()
    prepared = prepare(pairs, tmp_path / "eng-spa", Encoding("wordpiece"), Splitting(by="sample"))
    assert prepared.about["samples"] == len(prepared) == 118_964
    assert prepared.about["parts"] == {"training": 71_378, "validation": 23_792, "testing": 23_794}
    assert prepared.about["truncated"] == [0, 0]
    assert sum(prepared.about["unknown"]) < 50  # letters that only validation or testing have
    for side, store in enumerate(prepared.encoded):
        assert (store.data[store.offsets[:-1]] == START).all()
        assert (store.data[store.offsets[1:] - 1] == END).all()
        chosen = range(0, len(prepared), 100)
        shown = prepared.tokenizers[side].decode(store[i] for i in chosen)
        assert sum(text != " ".join(pairs[i][side].split()) for text, i in zip(shown, chosen, strict=True)) <= 1
    lengths = prepared.part("training").lengths()
    for batching in (Batching(), Batching(tokens=4096)):
        assert waste(lengths, plan_epoch(lengths, batching, 0, 0)) < 0.1


# Pairs that come by part


def test_pairs_by_part_are_used_as_they_are(tmp_path: Path) -> None:
    by_part = {"testing": PAIRS[40:], "training": PAIRS[:30], "validation": PAIRS[30:40]}
    prepared = prepare(by_part, tmp_path / "d", SMALL)
    for name, pairs in by_part.items():
        part = prepared.part(name)
        assert list(zip(part.texts("source"), part.texts("target"), strict=True)) == pairs
        assert prepared.about["parts"][name] == len(pairs)
    assert prepared.about["splitting"] == {"by": "given"}
    alone = prepare(PAIRS[:30], tmp_path / "alone", SMALL, Splitting((1.0, 0.0, 0.0)))
    assert prepared.tokenizers[0].to_json() == alone.tokenizers[0].to_json(), "learnt from the training part alone"


def test_a_part_that_is_not_there_is_empty(tmp_path: Path) -> None:
    prepared = prepare({"training": PAIRS[:30]}, tmp_path / "d", SMALL)
    assert prepared.about["parts"] == {"training": 30, "validation": 0, "testing": 0}


@pytest.mark.parametrize(
    ("by_part", "settings", "expected"),
    [
        ({"training": PAIRS, "practice": PAIRS}, {}, "unknown part 'practice'; available: training, "),
        ({"training": PAIRS}, {"splitting": Splitting()}, "samples given in parts are not split"),
        ({"training": PAIRS}, {"held_out": [HELD]}, "samples given in parts are not split"),
        ({"training": [], "testing": PAIRS}, {}, "is in the training part"),
    ],
)
def test_mistakes_about_pairs_by_part(by_part: Any, settings: Any, expected: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigurationError, DataError), match=expected):
        prepare(by_part, tmp_path / "d", SMALL, **settings)
    assert list(tmp_path.iterdir()) == []
