"""Text in, text out: any text, alone or beside others, the same every time."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.errors import ConfigurationError, DataError, DragomanError, DragomanWarning
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.translator import DecodingOptions
from tests.tasks.items import check_items, check_texts
from tests.tasks.models import PAIRS, WORD_PAIRS, tiny, write_pairs

SOURCES = [source for source, _ in PAIRS]
METHODS = {
    "beam": DecodingOptions(),
    "greedy": DecodingOptions(beam=1),
    "short": DecodingOptions(beam=3, length_penalty=0.0),
    "sampling": DecodingOptions(sample=True, seed=5),
    "careful": DecodingOptions(sample=True, seed=5, top_k=3, temperature=0.5),
    "nucleus": DecodingOptions(sample=True, top_p=0.5),
}


# Any text


@pytest.mark.ledger("T-6.1-example")
def test_from_text_to_text(word_translator: Translator) -> None:
    """A model that has learnt its words writes them, also in pairs it was never shown."""
    assert word_translator.translate(["green house", "red moon"]) == ["verde casa", "rojo luna"]
    found = word_translator.translate([source for source, _ in WORD_PAIRS])
    right = sum(text == reference for text, (_, reference) in zip(found, WORD_PAIRS, strict=True))
    assert right > 0.8 * len(WORD_PAIRS)


def test_one_text_or_any_iterable_of_them(translator: Translator) -> None:
    texts = ["The man sees the house.", "The woman wants bread."]
    for method in (translator.translate, translator.translations, translator.features):
        check_texts(method, texts)
    pairs = [(text, "El hombre ve la casa.") for text in texts]
    check_items(translator.score, pairs, "a pair of texts")
    with pytest.raises(DataError, match="the target of item 0 is None, expected a text"):
        translator.score([("a", None)])  # type: ignore[list-item]
    assert translator.evaluate(iter(pairs)).sentences == 2
    with pytest.raises(DataError, match=r"item 0 is 'a' .str., expected a pair of texts"):
        translator.evaluate(["a"])  # type: ignore[list-item]


def test_nothing_is_translated_as_nothing(translator: Translator) -> None:
    assert translator.translate([]) == []
    found = translator.translations(["", "   ", "\t\n", SOURCES[0]])
    assert [translation.text for translation in found[:3]] == ["", "   ", "\t\n"]
    assert [translation.pieces for translation in found] == [0, 0, 0, 1]
    assert found[3].text == translator.translate([SOURCES[0]])[0] != ""


ALONE = ["The man sees bread.", "A friend buys an apple.", "Our teacher paints the house.", "The garden"]


@pytest.mark.parametrize(
    "text",
    [
        "{0} {1} {2}",
        "  {0}  {1}\t{2} ",
        "{3}\n\n{0} {1}\n\n\t{2}\r\n",
        "1. {0}\n2. {1}\n\n- {2}\n* {3}",
        "{0}   {3}     {1}",
    ],
)
def test_sentences_are_translated_as_they_are_alone_and_everything_else_stays(
    text: str, translator: Translator
) -> None:
    written = [each.text for each in translator.translations(ALONE)]
    [found] = translator.translations([text.format(*ALONE)])
    assert found.text == text.format(*written)
    assert found.pieces == text.count("{")


@settings(max_examples=40)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_has_a_translation(texts: list[str]) -> None:
    from tests.tasks.models import undertrained

    translator = Translator.load(undertrained())
    found = translator.translations(texts, DecodingOptions(beam=2))
    assert len(found) == len(texts)
    for text, translation in zip(texts, found, strict=True):
        assert isinstance(translation.text, str)
        assert math.isfinite(translation.alternatives[0].score)
        assert translation.alternatives[0].score <= 0
        assert (translation.pieces == 0) == (not any(map(str.isalpha, text)))


def test_letters_nobody_has_seen(translator: Translator) -> None:
    texts = ["日本語の文", "Ω ≈ ß", "a\u0301 e\u0301", "x" * 500, "nbsp\u00a0here"]
    for text, translation in zip(texts, translator.translations(texts), strict=True):
        assert translation.pieces >= 1, text


@pytest.mark.parametrize("text", ["caf\udce9", "\ud800"])
def test_half_a_character_is_told(text: str, translator: Translator) -> None:
    """Bytes that are no UTF-8 arrive as lone surrogates from the command line and the file system."""
    with pytest.raises(DragomanError):
        translator.translate([text])


def test_a_model_of_paragraphs_translates_them_whole(tmp_path: Path) -> None:
    """As many sentences together as one training source in ten has, and no longer than its sources."""
    two = [(f"{a} {c}", f"{b} {d}") for (a, b), (c, d) in zip(PAIRS[:180], PAIRS[180:], strict=True)]
    changes = {"data": {"files": [write_pairs(tmp_path / "two.tsv", [*two, *PAIRS[:160]])]}, "stopping": {"epochs": 1}}
    translator, _ = train_model(tiny(changes), tmp_path / "model")
    assert translator.metadata.samples.sentences == 2
    text = " ".join(SOURCES[:5])
    for model in (translator, Translator.load(tmp_path / "model")):
        units = [source for source, _ in model.translations([text], DecodingOptions(beam=1))[0].units]
        assert units == [" ".join(SOURCES[:2]), " ".join(SOURCES[2:4]), SOURCES[4]]


def test_a_long_text_is_cut_into_pieces(translator: Translator) -> None:
    """5,000 words, most of them in sentences of a length that was trained on."""
    text = " ".join(SOURCES)[:30_000]
    text = " ".join(text.split()[:2000] + ["and"] * 1000 + text.split()[:2000])
    found = translator.translations([text, SOURCES[0]], DecodingOptions(beam=1))
    assert found[0].pieces > 400
    assert found[1].pieces == 1
    assert found[0].text.count(" ") >= found[0].pieces - 1
    assert "  " not in found[0].text
    first = translator.translate([SOURCES[0]], beam=1)[0]
    assert found[0].text.startswith(f"{first} "), "the pieces stand in order"


def test_sentences_of_a_long_text_are_translated_as_they_are_alone(translator: Translator) -> None:
    """The n-th alternative has the n-th best translation of each sentence; its score is the mean over all tokens."""
    choice = DecodingOptions(alternatives=3)
    found = translator.translations([" ".join(SOURCES[:6])], choice)[0]
    alone = [each.alternatives for each in translator.translations(SOURCES[:6], choice)]
    assert found.pieces == 6
    for rank in range(3):
        ranked = [each[rank] for each in alone]
        tokens = sum(each.tokens for each in ranked)
        assert found.alternatives[rank].text == " ".join(each.text for each in ranked)
        assert found.alternatives[rank].tokens == tokens
        score = sum(each.score * each.tokens for each in ranked) / tokens
        assert found.alternatives[rank].score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("positions", ["learned", "one_hot", "relative"])
def test_a_table_of_positions_that_ends_cuts_texts_earlier(positions: str) -> None:
    """A network that has 12 positions is never asked for a 13th."""
    limit = {} if positions == "relative" else {"maximum_length": 12}
    steps = {"stopping": {"epochs": None, "steps": 2}}
    translator, _ = train_model(tiny({"network": {"positions": positions, **limit}}, steps))
    texts = [
        "The man sees the house and the old book and the window.",
        "The man sees 5 and 6 and 7 and 8 and 9 boats and 10 cars.",
        f"http://example.org/{'c' * 40} 5 6 7 8 9 {{a}} {{b}} {{c}} {{d}} {{e}} {{f}}",
        "word" * 40,
    ]
    for choice in (DecodingOptions(), DecodingOptions(beam=1, maximum=50)):
        found = translator.translations(texts, choice)
        assert all(translation.pieces >= 1 for translation in found)
    assert translator.align(PAIRS[0][0]).weights.size


# Alone or together


@pytest.mark.parametrize("method", METHODS)
def test_neighbours_change_nothing(method: str, translator: Translator) -> None:
    """Neither other sentences nor the order: a file in two halves is the file."""
    choice = METHODS[method]
    texts = [*SOURCES[::30], "", "The man", "7 boats", SOURCES[0] + " " + SOURCES[1], "Ω"]
    together = translator.translations(texts, choice)
    backwards = translator.translations(texts[::-1], choice)[::-1]
    alone = [translator.translations([text], choice)[0] for text in texts]
    for one, other, single in zip(together, backwards, alone, strict=True):
        assert one.text == other.text == single.text
        assert one.pieces == single.pieces
        assert one.alternatives[0].score == pytest.approx(single.alternatives[0].score, abs=1e-4)


# How labels are chosen


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_no_worse(translator: Translator) -> None:
    greedy = translator.translations(SOURCES[:40], DecodingOptions(beam=1))
    wide = translator.translations(SOURCES[:40], DecodingOptions(beam=8))
    better = [w.alternatives[0].score - g.alternatives[0].score for w, g in zip(wide, greedy, strict=True)]
    assert sum(better) > 0
    assert [w.text for w in wide] != [g.text for g in greedy]


def test_alternatives_are_different_and_the_best_comes_first(translator: Translator) -> None:
    for translation in translator.translations(SOURCES[:10], DecodingOptions(beam=5, alternatives=5)):
        scores = [alternative.score for alternative in translation.alternatives]
        assert len(scores) == 5
        assert scores == sorted(scores, reverse=True)
        assert len({alternative.text for alternative in translation.alternatives}) == 5
        assert translation.text == translation.alternatives[0].text


def test_a_prefix_is_how_a_translation_begins(translator: Translator) -> None:
    texts = SOURCES[:4]
    prefixes = ["Nuestro maestro vende", "El", "", "Un amigo ve"]
    free = translator.translate(texts)
    assert not free[0].startswith("Nuestro"), "or nothing is forced"
    for choice in (DecodingOptions(), DecodingOptions(beam=1), DecodingOptions(sample=True)):
        found = [translation.text for translation in translator.translations(texts, choice, prefixes)]
        for text, prefix in zip(found, prefixes, strict=True):
            assert text.startswith(prefix), choice
    assert translator.translations(texts, DecodingOptions(), prefixes)[2].text == free[2], (
        "an empty prefix forces nothing"
    )


def test_a_prefix_of_several_sentences_is_forced_on_the_first_ones(translator: Translator) -> None:
    text = f"1. {SOURCES[0]} {SOURCES[1]} {SOURCES[2]}"
    [free] = translator.translations([text])
    for prefix in (
        "Nuestro",
        "Un amigo ve la casa. Nuestro maestro",
        "1. Un amigo ve la casa. El niño ve pan. Nuestro",
    ):
        [found] = translator.translations([text], None, [prefix])
        assert found.text.startswith(f"1. {prefix.removeprefix('1. ')}")
        assert found.pieces == 3
        assert (found.units[2] == free.units[2]) == ("niño" not in prefix)


def test_a_prefix_holds_also_where_a_number_must_be_kept(translator: Translator) -> None:
    text = "My sister sells 275 boats."
    for begin in (text, "275 boats and 275"):
        found = translator.translations([begin], DecodingOptions(), ["Nuestro maestro"])[0].text
        assert found.startswith("Nuestro maestro")
        assert found.count("275") == begin.count("275")


def test_prefixes_that_do_not_fit_are_told(translator: Translator) -> None:
    with pytest.raises(ConfigurationError, match="one prefix per text"):
        translator.translations(SOURCES[:2], None, ["El"])
    with pytest.raises(ConfigurationError, match="the prefix has 3 sentences, more than the 2 of the text"):
        translator.translations([" ".join(SOURCES[:2])], None, ["El. La. Un"])
    with pytest.raises(ConfigurationError, match="the prefix has 1 sentence, more than the 0 of the text"):
        translator.translations(["12345"], None, ["El"])
    with pytest.raises(ConfigurationError, match="prefix"):
        translator.translations([SOURCES[0]], DecodingOptions(maximum=1), ["La mujer ve"])


def test_a_seed_decides_what_is_drawn(translator: Translator) -> None:
    texts = SOURCES[:10]
    drawn = translator.translate(texts, sample=True, seed=1)
    assert translator.translate(texts, sample=True, seed=1) == drawn
    assert translator.translate(texts, sample=True, seed=2) != drawn
    assert len(set(drawn)) > 5
    assert translator.translate(texts, sample=True, top_k=1) == translator.translate(texts, beam=1)
    assert translator.translate(texts, sample=True, temperature=1e-6) == translator.translate(texts, beam=1)


def test_the_maximum_counts_labels(word_translator: Translator) -> None:
    assert word_translator.translate(["green house"]) == ["verde casa"]
    for choice in ({"maximum": 1}, {"maximum": 1, "beam": 1}, {"maximum": 1, "sample": True}):
        assert len(word_translator.translate(["green house"], **choice)[0].split()) <= 1
    assert word_translator.translate(["green house"], maximum=1, beam=1) == ["verde"]
    assert word_translator.translate(["green house"], maximum=2, beam=1) == ["verde casa"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"beam": 0}, "beam"),
        ({"alternatives": 5}, "5 alternatives need a beam as wide, got 4"),
        ({"alternatives": 0}, "not 0"),
        ({"sample": True, "alternatives": 2}, "sampling gives one translation per text"),
        ({"maximum": 0}, "at least one token"),
        ({"sample": True, "temperature": 0}, "temperature"),
        ({"sample": True, "top_k": 0}, "top_k"),
        ({"sample": True, "top_p": 1.5}, "top_p"),
        ({"length_penalty": math.nan}, "length penalty"),
    ],
)
def test_choices_that_cannot_be_made_are_told(choice: dict[str, object], expected: str, translator: Translator) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        translator.translate(SOURCES[:1], **choice)


def test_a_translation_says_that_its_text_was_in_an_unseen_script(translator: Translator) -> None:
    """What is protected is no text: an address in a Russian sentence is not English."""
    texts = ["The man sees bread.", "Привет, мир!", "Смотри https://example.org/the/whole/page сейчас", "25 😀", ""]
    found = translator.translations(texts)
    assert [translation.unseen_script for translation in found] == [None, "Cyrillic", "Cyrillic", None, None]
    assert [bool(translation.warnings) for translation in found] == [False, True, True, False, False]


def test_translate_warns_once_of_texts_in_an_unseen_script(translator: Translator) -> None:
    texts = ["The man sees bread.", "Привет, мир!", "Мы видим дом.", "世界"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        written = translator.translate(texts, beam=1)
        assert len(written) == len(texts)
    [first, second] = caught
    assert issubclass(first.category, DragomanWarning)
    assert str(first.message).startswith("2 of 4 texts: most letters are Cyrillic")
    assert str(second.message).startswith("1 of 4 texts: most letters are")
    assert first.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(texts[:1], beam=1)
