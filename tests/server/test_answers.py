"""What a worker answers to jobs: checked on small models that were really trained."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman import Captioner, Forecaster, TextGenerator, Translator
from dragoman.errors import DragomanError
from dragoman.server.answers import ANSWERS, details
from dragoman.server.answers.about import evaluation_of, history_of
from dragoman.server.answers.explain import Probe
from dragoman.server.answers.values import as_json
from dragoman.server.answers.words import words_of
from dragoman.server.bounds import EXPLAINED, HISTORY
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.server.v1 import responses
from tests.server.asking import ask
from tests.tasks import models
from tests.tasks.language_model.conftest import singer
from tests.tasks.models import WORD_PAIRS

__all__ = ["singer"]


@pytest.fixture(scope="module")
def word_translator(own_cache: None) -> Translator:
    return Translator.load(models.taught())


@pytest.fixture(scope="module")
def translator(own_cache: None) -> Translator:
    return Translator.load(models.undertrained())


@pytest.fixture(scope="module")
def writer(singer: Path) -> TextGenerator:
    return TextGenerator.load(singer)


# Words from pieces


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["[START]", "▁the", "▁c", "##at", "##s", ".", "[END]"], ["the", "cats", "."]),
        (["▁it", "'", "s", "▁3", ".", "14"], ["it", "'", "s", "3", ".", "14"]),
        (["▁ni", "ñ", "os", "▁¿", "no", "?"], ["niños", "¿", "no", "?"]),
        (["▁na", "<0xC3>", "<0xAF>", "ve", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ["naïve", "😀"]),
        (["▁", "h", "o", "l", "a", "▁", "a"], ["hola", "a"]),
        (["▁a", "[UNK]", "▁42%"], ["a", "⁇", "42%"]),
        (["[START]", "[END]"], []),
    ],
)
def test_pieces_are_merged_into_words(pieces: list[str], words: list[str]) -> None:
    found = words_of(pieces)
    assert [word.text for word in found] == words
    covered = [i for word in found for i in range(word.start, word.stop)]
    assert covered == [i for i, piece in enumerate(pieces) if piece not in ("[START]", "[END]")]


# Translation


def test_a_translation_is_explained(word_translator: Translator) -> None:
    found = ask("explain", word_translator, text="green house", best=3, attention=True)
    responses.ExplainedResponse.model_validate({"source": "en", "target": "es", "model": "m", **found})
    best, *others = found["translations"]
    assert best["text"] == word_translator.translate(["green house"])[0]
    assert len(others) == 2
    assert [each["score"] for each in found["translations"]] == sorted(
        (each["score"] for each in found["translations"]), reverse=True
    )
    assert best["confidence"] == pytest.approx(math.exp(best["score"]), abs=1e-4)
    assert [word["text"] for word in best["words"]] == best["text"].split()
    assert all(0 < word["confidence"] <= 1 for word in best["words"])
    assert found["pieces"] == 1
    names = [layer["name"] for layer in found["attention"]["layers"]]
    assert names == ["encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"]
    cross = found["attention"]["layers"][-1]
    assert cross["source"] == ["[START]", "green", "house", "[END]"]
    assert cross["target"] == [*best["text"].split(), "[END]"]
    assert np.shape(cross["heads"]) == (2, len(cross["target"]), len(cross["source"]))
    np.testing.assert_allclose(np.sum(cross["heads"], axis=2), 1, atol=1e-3)


def test_the_confidences_of_words_make_up_that_of_the_translation(word_translator: Translator) -> None:
    """One token a word here, and the end token, which is no word."""
    found = ask("explain", word_translator, text="water")
    [best] = found["translations"]
    [total] = word_translator.score([("water", best["text"])])
    words = sum(math.log(word["confidence"]) for word in best["words"])
    assert total <= words + 1e-3
    assert best["score"] * (len(best["words"]) + 1) == pytest.approx(total, abs=1e-3)


def test_a_model_that_translates_word_for_word_is_aligned_word_for_word(word_translator: Translator) -> None:
    identity = []
    for source, target in WORD_PAIRS[15::3]:
        alignment = ask("explain", word_translator, text=source)["alignment"]
        if len(set(source.split())) == 2 and alignment["target"] == target.split():
            assert alignment["source"] == source.split()
            strongest = {j: i for i, j, _ in sorted(alignment["links"], key=lambda link: link[2])}
            identity.append(strongest == {0: 0, 1: 1})
            for i, j, weight in alignment["links"]:
                assert weight == alignment["weights"][j][i]
    assert len(identity) > 40
    assert np.mean(identity) > 0.9


def probe(log_probabilities: list[float], mean: list[list[float]]) -> Probe:
    """Of "a b c", translated as the words "xy" (two pieces) and "z"."""
    tokenizer = SimpleNamespace(has_bytes=False)
    model: Any = SimpleNamespace(source_tokenizer=tokenizer, target_tokenizer=tokenizer)
    source, target = ["[START]", "▁a", "▁b", "▁c", "[END]"], ["▁x", "##y", "▁z", "[END]"]
    return Probe(model, source, target, np.array(log_probabilities), {}, np.array(mean))


def test_the_confidence_of_a_word_is_the_geometric_mean_of_its_pieces() -> None:
    found = probe([math.log(0.9), math.log(0.4), 1e-3, math.log(0.1)], []).confidences()
    assert found == [{"text": "xy", "confidence": 0.6}, {"text": "z", "confidence": 1.0}]  # rounded above 1: it is 1


def test_links_are_the_strongest_and_those_half_as_strong() -> None:
    strong, weak, ends = [0.0, 0.5, 0.25, 0.24, 0.0], [0.72, 0.15, 0.11, 0.09, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]
    faint = [0.9, 0.02, 0.05, 0.04, 0.0]
    found = probe([0.0] * 4, [strong, strong, weak, ends]).alignment()
    assert found["links"] == [[0, 0, 0.5], [1, 0, 0.25], [0, 1, 0.15], [1, 1, 0.11]]
    assert probe([0.0] * 4, [ends, ends, weak, ends]).alignment()["links"] == [[0, 1, 0.15], [1, 1, 0.11]]
    assert probe([0.0] * 4, [ends, ends, faint, ends]).alignment()["links"] == [[1, 1, 0.05]]


def test_several_sentences_keep_their_white_space_and_are_not_aligned(translator: Translator) -> None:
    found = ask("explain", translator, text="The man sees the house.\n\n  The boy sells bread.", best=2, attention=True)
    assert found["pieces"] == 2
    assert found["alignment"] is None
    assert found["attention"] is None
    best, other = found["translations"]
    assert best["text"] == translator.translations(["The man sees the house.\n\n  The boy sells bread."])[0].text
    for each in (best, other):
        assert each["text"].count("\n\n  ") == 1
        assert "".join(word["text"] for word in each["words"]) == "".join(each["text"].split())
    assert all(word["confidence"] for word in best["words"])


@pytest.mark.parametrize(
    "text", ["", " \n ", "12345", "?!", "日本", "😀😀", "<b></b>", "a\0b", "The man sees 5 boats."]
)
def test_any_text_has_an_answer(translator: Translator, text: str) -> None:
    found = ask("explain", translator, text=text, attention=True)
    assert len(found["translations"]) == 1
    responses.ExplainedResponse.model_validate({"source": None, "target": None, "model": "m", **found})


def test_a_script_that_was_not_trained_on_is_warned_of(translator: Translator) -> None:
    assert "Han" in ask("explain", translator, text="日本語")["warnings"][0]


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({}, "'text' must be a text"),
        ({"text": "a" * (EXPLAINED + 1)}, "a text to explain has at most"),
        ({"text": "a", "best": 11}, "'best' must be a whole number from 1 to 10"),
        ({"text": "a", "best": True}, "'best' must be a whole number"),
        ({"text": "a", "best": 3, "beam": 2}, "3 alternatives need a beam as wide"),
        ({"text": "a", "attention": 1}, "'attention' must be true or false"),
        ({"text": "a", "sample": True, "temperature": 0}, "a temperature must be finite and above 0"),
        ({"text": "a", "temperature": "hot"}, "'temperature' must be a number"),
        ({"text": "a\ud800"}, "'text' has half a surrogate pair"),
    ],
)
def test_mistakes_in_a_translation(translator: Translator, payload: dict[str, Any], message: str) -> None:
    with pytest.raises(DragomanError, match=message):
        ask("explain", translator, **payload)


def test_scores_of_translations(word_translator: Translator) -> None:
    pairs = [("green house", "verde casa"), ("green house", "casa verde")]
    found = ask("score", word_translator, pairs=pairs)["scores"]
    assert [each["log_probability"] for each in found] == pytest.approx(word_translator.score(pairs), abs=1e-4)
    assert [each["tokens"] for each in found] == [3, 3]
    assert found[0]["per_token"] == pytest.approx(found[0]["log_probability"] / 3, abs=1e-5)
    for wrong in ([["a"]], "a", [], [["a", 5]]):
        with pytest.raises(BadRequest, match="'pairs' must be a list of pairs of texts"):
            ask("score", word_translator, pairs=wrong)
    with pytest.raises(BadRequest, match=r"pair 1 has a side of .* tokens"):
        ask("score", word_translator, pairs=[["house " * 2000, "casa"]])


# Language models


def test_a_text_is_written_part_by_part(writer: TextGenerator) -> None:
    *parts, last = ask("generate", writer, prompt="bad", tokens=20, temperature=0)
    assert "".join(part["text"] for part in parts) == " cog hum\nfix jet\nbad"
    assert last == {"done": True, "tokens": 20, "reason": "length"}
    *parts, last = ask("generate", writer, prompt="bad", tokens=50, temperature=0, stop=["\n"])
    assert "".join(part["text"] for part in parts) == " cog hum"
    assert last == {"done": True, "tokens": 9, "reason": "stop"}
    sampled = [ask("generate", writer, tokens=20, seed=seed) for seed in (1, 1, 2)]
    assert sampled[0] == sampled[1]


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"prompt": "ñ"}, "the prompt has characters that do not occur"),
        ({"prompt": "a" * 20_001}, "'prompt' has 20,001 characters, more than 20,000"),
        ({"tokens": 0}, "'tokens' must be a whole number from 1"),
        ({"temperature": -1}, "a temperature must be finite and above 0"),
        ({"top_p": 1.5}, "top_p is a probability above 0"),
        ({"stop": [""]}, "every text of 'stop' must have 1 to 100 characters"),
        ({"stop": "a"}, "'stop' must be a list of at most 8 texts"),
        ({"seed": -1}, "'seed' must be a whole number from 0"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    writer: TextGenerator, payload: dict[str, Any], message: str
) -> None:
    with pytest.raises(DragomanError, match=message):
        ANSWERS["generate"](writer, payload)


def test_scores_of_texts(writer: TextGenerator) -> None:
    known, empty = ask("score", writer, texts=["bad cog hum", ""])["scores"]
    responses.ScoresResponse.model_validate({"model": "m", "scores": [known, empty]})
    assert known["bits_per_character"] < 2
    assert empty["perplexity"] is None
    assert "text" not in known


# Vectors


def test_vectors_of_words_and_texts(word_translator: Translator, captioner: Captioner) -> None:
    found, empty = ask("features", word_translator, texts=["green house", ""])["features"]
    assert found["words"] == ["green", "house"]
    assert np.shape(found["vectors"]) == (2, 32)
    assert len(found["text"]) == len(empty["text"]) == 32
    [whole] = ask("features", word_translator, texts=["green house"], whole=True)["features"]
    assert list(whole) == ["text"]
    with pytest.raises(BadRequest, match="reads no text"):
        ask("features", captioner, texts=["a"])
    with pytest.raises(TooLarge, match="more than the 50,000 characters"):
        ask("features", word_translator, texts=["a" * 50_001])
    with pytest.raises(BadRequest, match="'texts' must be a list of texts"):
        ask("features", word_translator, texts="a")


# What a model is


def test_a_model_says_how_it_was_trained_and_no_file_name(
    word_translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("hours", 1.5), ("notes", "words.tsv")):
        monkeypatch.setitem(word_translator.metadata.training, name, value)
    found = ask("about", word_translator)
    assert found["metadata"]["training"]["hours"] == 1.5
    responses.AboutResponse.model_validate({"name": "m", "task": "translation", **found})
    assert found["history"][-1]["step"] == found["metadata"]["training"]["steps"]
    assert found["evaluation"] is None
    assert found["metadata"]["data"]["files"] == 1
    shown = json.dumps([found, details(word_translator)])
    assert str(models.place()) not in shown
    assert "words.tsv" not in shown
    assert details(word_translator)["vocabulary"] == [35, 35], "15 words, stand-ins and marks"


def test_a_report_is_told_without_the_names_of_files(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    path = tmp_path / "evaluation" / "report.json"
    facts = {"model": "/home/me/model: t", "trained on": "/home/me/x.tsv", "tested on": "/home/me/y.tsv"}
    facts |= {"command": "dragoman evaluate /home/me/model", "parameters": "5", "search": "beam 4"}
    path.write_text(json.dumps({"facts": facts, "headline": "good", "metrics": {"bleu": 5}}), encoding="utf-8")
    found = evaluation_of(tmp_path)
    assert found is not None
    assert found["headline"] == "good"
    assert "home" not in json.dumps(found)
    assert found["facts"] == {"parameters": "5", "search": "beam 4", "tested on": "another file"}
    for damaged in ("[1]", "{", "[" * 100_000, " " * 3_000_000):
        path.write_text(damaged, encoding="utf-8")
        assert evaluation_of(tmp_path) is None


def test_a_long_history_is_thinned_out(tmp_path: Path) -> None:
    lines = [{"step": i, "validation_error": 1.0, "best": i == 777} for i in range(5 * HISTORY)]
    (tmp_path / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = history_of(tmp_path)
    assert len(found) <= HISTORY
    assert {0, 777, 5 * HISTORY - 1} <= {line["step"] for line in found}
    (tmp_path / "history.jsonl").write_text("damaged\n", encoding="utf-8")
    assert history_of(tmp_path) == []


def test_numbers_that_json_has_not() -> None:
    given = {"a": np.array([1.0, np.nan]), "b": (np.float32("inf"), np.int64(3)), "c": [None, True, "x"]}
    assert as_json(given) == {"a": [1.0, None], "b": [None, 3], "c": [None, True, "x"]}


@pytest.mark.parametrize("kind", ["explain", "generate", "score", "predict", "features"])
def test_a_model_of_another_task(kind: str, forecaster: Forecaster) -> None:
    with pytest.raises(BadRequest):
        ask(kind, forecaster, text="a", texts=["a"], prompt="a", pairs=[["a", "b"]])
