"""A tagger: words in, tags out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dragoman import Tagger, Translator
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.tasks.task import find_task
from tests.tasks.items import check_texts
from tests.tasks.tagging.tagged import SENTENCES


def test_it_learns_its_sentences(tagger: Tagger) -> None:
    words = [[word for word, _ in sentence] for sentence in SENTENCES]
    found = tagger.predict(words)
    right = [
        tag == expected
        for sentence, prediction in zip(SENTENCES, found, strict=True)
        for (_, expected), tag in zip(sentence, prediction.tags, strict=True)
    ]
    assert np.mean(right) > 0.97


def test_the_context_tells_the_tag(tagger: Tagger) -> None:
    verb, noun = tagger.predict(["They walk!", "Anna likes the walk."])
    assert verb.line() == "They/PRON walk/VERB !/PUNCT"
    assert noun.line() == "Anna/PROPN likes/VERB the/DET walk/NOUN ./PUNCT"


def test_texts_are_split_and_lists_are_taken_as_they_are(tagger: Tagger) -> None:
    split, given = tagger.predict(["  Anna plays. ", ["Anna", "plays", "."]])
    assert split == given
    assert tagger.predict([["Anna plays", "."]])[0].words == ("Anna plays", ".")
    assert tagger.predict([""])[0].as_dict() == {"words": [], "tags": [], "probabilities": []}
    assert tagger.predict([""])[0].line() == ""
    assert tagger.predict([]) == []
    with pytest.raises(DataError, match="word 2 of a text is empty"):
        tagger.predict([["a", " "]])
    check_texts(tagger.predict, ["Anna plays.", "They walk!"])
    check_texts(tagger.features, ["Anna plays.", "They walk!"])
    with pytest.raises(DataError, match="word 1 of item 0 is None, expected a text"):
        tagger.predict([["a", None]])


def test_as_json(tagger: Tagger) -> None:
    found = tagger.predict(["They walk!"])[0].as_dict()
    assert (found["words"], found["tags"]) == (["They", "walk", "!"], ["PRON", "VERB", "PUNCT"])
    assert all(0.2 < probability <= 1 for probability in found["probabilities"])
    json.dumps(found)


def test_alone_and_in_any_company(tagger: Tagger) -> None:
    texts = ["Anna plays.", "the garden rests .", "unbelievable words nobody knows", "They walk!", "x"]
    together = tagger.probabilities([tagger.words_of(text) for text in texts])
    for text, rows in zip(texts, together, strict=True):
        np.testing.assert_allclose(tagger.probabilities([tagger.words_of(text)])[0], rows, atol=1e-5)


def test_a_long_text_goes_through_in_parts(tagger: Tagger) -> None:
    words = ["Anna", "plays", "."] * 400
    assert sum(map(len, tagger.pieces.encode(words))) > tagger.metadata.maximum
    found = tagger.predict([words])[0]
    assert found.words == tuple(words)
    assert found.tags[:3] == ("PROPN", "VERB", "PUNCT")
    assert {found.tags[i] for i in range(1, len(words), 3)} == {"VERB"}, "also where one part ends and the next begins"
    assert len(tagger.predict(["x" * 5000])[0].tags) == 79, "one word for each 64 letters"
    assert len(tagger.predict([["x" * 5000]])[0].tags) == 1


def test_it_is_saved_and_loaded(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "copy")
    copy = Tagger.load(tmp_path / "copy")
    texts = ["They walk!", "Anna likes the walk."]
    assert copy.predict(texts) == tagger.predict(texts)
    assert copy.lexicon == tagger.lexicon
    assert find_task("tagging").load(tmp_path / "copy").predict(texts) == tagger.predict(texts)


def test_other_commands_say_what_it_is(directory: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"is a model for tagging; use `dragoman predict"):
        Translator.load(directory)


@pytest.mark.parametrize("name", ["tags-classes.json", "words-lexicon.json", "sentence-pieces.json"])
def test_a_damaged_file_is_named(tagger: Tagger, tmp_path: Path, name: str) -> None:
    tagger.save(tmp_path)
    (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(FileFormatError, match=f"{name} is damaged"):
        Tagger.load(tmp_path)
