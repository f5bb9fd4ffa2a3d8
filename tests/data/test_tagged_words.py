"""Tagged sentences as batches: word pieces, and targets at the first piece of each word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.dataset import Dataset, prepare
from dragoman.data.splits import Splitting
from dragoman.data.tagged_words import TaggedWords, encode_words, fitting, joined_pieces
from dragoman.data.word_pieces import WordPieces, affixes_of
from dragoman.errors import ConfigurationError, FileFormatError

SENTENCES = [("Anna\tplays\t.", "PROPN\tVERB\tPUNCT"), ("the\tgarden\trests\t.", "DET\tNOUN\tVERB\tPUNCT")] * 6


def dataset(place: Path, schema: TaggedWords | None = None) -> Dataset:
    parts = {"training": SENTENCES, "validation": SENTENCES[:1], "testing": [("planets\trests", "PROPN\tVERB")]}
    return prepare(parts, place / "dataset", schema or TaggedWords())


def test_a_word_weighs_1_whatever_its_pieces(tmp_path: Path) -> None:
    found = dataset(tmp_path)
    batch = found.part("testing").batch(np.array([0]))
    tokenizer, classes = found.encoders["sentence"], found.encoders["tags"]
    pieces = [len(row) for row in tokenizer.encode(["planets", "rests"])]
    assert pieces[0] > 1, "an unseen word"
    assert batch.per == "position"
    assert len(batch.labels) == sum(pieces)
    firsts = [0, pieces[0]]
    assert np.flatnonzero(batch.loss_weights).tolist() == firsts
    assert batch.weight == 2
    assert batch.targets is not None
    assert [classes.names[i] for i in batch.targets[firsts]] == ["PROPN", "VERB"]
    assert (batch.targets >= 0).all()


def test_the_dataset_on_disk_is_the_same(tmp_path: Path) -> None:
    found = dataset(tmp_path, TaggedWords("bpe", 400, 100))
    again = Dataset(tmp_path / "dataset")
    assert again.schema == TaggedWords("bpe", 400, 100)
    assert again.encoders["tags"] == found.encoders["tags"]
    assert again.encoders["words"] == found.encoders["words"]
    assert list(again.part("training").values()) == SENTENCES
    assert again.about["longest"][0] == again.about["longest"][1]


def test_long_sentences_are_cut_at_a_word_and_counted(tmp_path: Path) -> None:
    long = "x" * 9
    sentences = [("a\tb\tc", "X\tX\tX"), ("a\tb\tc\td", "X\tX\tX\tX"), (f"{long}\ta", "X\tX"), (f"a\t{long}", "X\tX")]
    parts = {"training": sentences[:2], "testing": sentences[2:]}
    found = prepare(parts, tmp_path / "dataset", TaggedWords("characters", maximum=6))
    assert found.about["truncated"] == [3, 0]
    sizes = [(len(batch.labels), batch.weight) for batch in map(found.part("training").batch, np.arange(2)[:, None])]
    assert sizes == [(6, 3), (6, 3)], "a letter and its space each"
    sizes = [(len(batch.labels), batch.weight) for batch in map(found.part("testing").batch, np.arange(2)[:, None])]
    assert sizes == [(6, 1), (2, 1)], "a word that is longer than the maximum is cut itself"
    with pytest.raises(ConfigurationError, match="at least one piece"):
        TaggedWords(maximum=0)


def test_where_words_begin() -> None:
    rows = [np.array([5, 6]), np.array([7]), np.array([8, 9, 10])]
    labels, firsts = joined_pieces(rows)
    assert labels.tolist() == [5, 6, 7, 8, 9, 10]
    assert firsts.tolist() == [0, 2, 3]
    assert [fitting(rows, maximum) for maximum in (1, 2, 3, 5, 6, 9)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words", "characters"])
def test_every_word_has_a_piece(kind: str) -> None:
    pieces = WordPieces.learn([["Anna", "plays", "the", "piano"]] * 5, kind)  # type: ignore[arg-type]
    words = ["Anna", "日本", "\u2581", "don't", "x" * 300, "\u200b", "e\u0301"]
    (rows,) = encode_words([words], pieces)
    assert len(rows) == len(words)
    assert all(len(row) for row in rows)


def test_a_sentence_whose_tag_is_nowhere_else_is_trained_on(tmp_path: Path) -> None:
    samples = [*SENTENCES, ("Hello", "INTJ")]
    for seed in range(4):
        found = prepare(samples, tmp_path / str(seed), TaggedWords(), Splitting((0.4, 0.3, 0.3), "sample", seed))
        assert "Hello" in set(found.part("training").texts("sentence"))


def test_how_words_are_written_and_end() -> None:
    assert affixes_of("Running") == ["Aa ing", "Aa ng", "Aa g", "Aa"]
    assert [affixes_of(word)[0] for word in ("RUNNING", "running", "2026", "b2026", "Ñandú")] == [
        *("AA ing", "a ing", "0 026", "a0 026", "Aa ndú")
    ]
    assert affixes_of("the") == affixes_of("....") == affixes_of("") == []


def test_unseen_words_share_the_affixes_of_seen_ones(tmp_path: Path) -> None:
    seen = ["running", "walking", "playing", "resting", "sleeping", "The"]
    pieces = WordPieces.learn([seen] * 3)
    (unseen,) = pieces.encode(["thinking"])
    assert unseen[-1] == pieces.tokenizer.size + pieces.affixes.index("a ing")
    assert pieces.encode(["THINKING"])[0][-1] < pieces.tokenizer.size, "no affix that is known"
    path = tmp_path / "sentence-pieces.json"
    path.write_text(pieces.to_json(), encoding="utf-8")
    again = WordPieces.load(path)
    assert again.to_json() == pieces.to_json()
    assert [row.tolist() for row in again.encode(seen)] == [row.tolist() for row in pieces.encode(seen)]
    for bad in ("", "{}", '{"affixes": [], "tokenizer": {}}', '{"affixes": 3, "tokenizer": {}}'):
        path.write_text(bad, encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"sentence-pieces.json cannot be read"):
            WordPieces.load(path)
