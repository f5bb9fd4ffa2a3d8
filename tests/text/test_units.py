"""What a network reads at once, and how its translations become the text again: a network that copies gives it back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text import units
from dragoman.text.protection import protected_spans
from dragoman.text.units import CHARACTERS, Segmenter
from tests.text.documents.test_html import HTML
from tests.text.documents.test_text import TEXTS
from tests.text.documents.timing import assert_linear


def words(text: str) -> np.ndarray:
    """A tokenizer whose tokens are words."""
    return np.arange(len(text.split()))


READERS = {
    "sentences": Segmenter(words, 12),
    "short": Segmenter(words, 4),
    "paragraphs": Segmenter(words, 100, sentences=3, together=20),
    "symbols": Segmenter(words, 6, protect=False),
}


def units_of(reader: Segmenter, text: str, form: str = "text") -> list[str]:
    return [unit.text for unit in reader.take_apart(text, form).units()]


@pytest.mark.parametrize("reader", READERS)
@given(text=TEXTS | HTML, form=st.sampled_from(["text", "html"]))
def test_what_is_copied_is_the_text(reader: str, text: str, form: str) -> None:
    """But for the space that two cut parts of a word are given, and white space inside what is cut."""
    passage = READERS[reader].take_apart(text, form)
    copied = passage.join([unit.text for unit in passage.units()])
    assert "".join(copied.split()) == "".join(text.split())
    if not passage.cut:
        assert copied == text


@pytest.mark.parametrize("reader", READERS)
@given(text=TEXTS)
def test_units_fit_and_have_no_white_space_around_them(reader: str, text: str) -> None:
    segmenter = READERS[reader]
    for unit in segmenter.take_apart(text).units():
        assert unit.text == unit.text.strip() != ""
        assert unit.masked.complete or not segmenter.protect
        one_word = len(unit.text.split()) == 1 or protected_spans(unit.text) == [(0, len(unit.text))]
        assert unit.kept is not None or len(unit.labels) + 2 <= segmenter.longest or one_word


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        ("sentences", "My sister has a car. It is red.", ["My sister has a car.", "It is red."]),
        ("sentences", "1. Turn off the light.\n2. Go.", ["Turn off the light.", "Go."]),
        ("sentences", "Mr. Smith is here. “Is he?” No...  Yes", ["Mr. Smith is here.", "“Is he?”", "No...", "Yes"]),
        ("sentences", 'A <a title="Hi. There">link</a> here.', ['A <a title="Hi. There">link</a> here.']),
        ("sentences", "我是学生。他是老师。", ["我是学生。", "他是老师。"]),
        ("sentences", "12 + 3\n...", []),
        ("symbols", "12 + 3\n...", ["12 + 3", "..."]),
        ("symbols", "- + -", ["- + -"]),
        ("paragraphs", "One is. Two are. Three are. Four are.", ["One is. Two are. Three are.", "Four are."]),
        ("paragraphs", "One is. Two are.\nThree are.", ["One is. Two are.", "Three are."]),
        ("paragraphs", f"{'word ' * 18}end. So it is. Yes it is.", [f"{'word ' * 18}end.", "So it is. Yes it is."]),
        ("short", "a b, c d e", ["a b,", "c d", "e"]),
    ],
)
def test_texts_are_taken_apart_as_the_model_was_trained(reader: str, text: str, expected: list[str]) -> None:
    assert units_of(READERS[reader], text) == expected


@pytest.mark.parametrize(
    ("text", "translations", "expected"),
    [
        ("我是学生。他是老师。", ["I study.", "He teaches."], "I study. He teaches."),
        ("我是学生。他是老师。", ["我。", "他。"], "我。他。"),
        ("It rains.  Go\t now.", ["Llueve.", "Ve", "ya."], "Llueve.  Ve\t ya."),
        ("a b c—d", ["uno dos", "tres—cuatro"], "uno dos tres—cuatro"),
    ],
)
def test_white_space_is_that_of_the_source(text: str, translations: list[str], expected: str) -> None:
    passage = READERS["short"].take_apart(text)
    assert len(list(passage.units())) == len(translations)
    assert passage.join(translations) == expected


def test_more_spans_than_there_are_standins_are_cut_behind_a_span() -> None:
    passage = READERS["sentences"].take_apart("".join(f"{{x{n}}} " for n in range(9)) + "here")
    assert [unit.text for unit in passage.units()] == ["{x0} {x1} {x2} {x3} {x4} {x5} {x6} {x7}", "{x8} here"]


def test_a_long_segment_is_cut_only_when_its_turn_comes() -> None:
    asked: list[int] = []
    segmenter = Segmenter(lambda text: asked.append(len(text)) or words(text), 12)  # type: ignore[func-returns-value]
    passage = segmenter.take_apart("and " * 100_000 + "end.")
    assert passage.size > 1_000
    assert next(passage.units()).text.startswith("and and")
    assert sum(asked) < 40 * CHARACTERS * 12


@pytest.mark.parametrize("piece", ["a ", "a. B ", "x", "{a}", "我。", ", "])
def test_the_time_is_linear(piece: str) -> None:
    assert_linear(lambda text: list(READERS["sentences"].take_apart(text).units()), piece)


@pytest.mark.parametrize("word", ["http://a[", "word ", "a b\t"])
def test_of_a_sentence_without_end_only_the_beginning_is_looked_at(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that its first unit comes soon, and the work can be given up between units."""
    text, looked = word * (3 * units.BLOCK // len(word)), list[int]()

    def remember(look: Any) -> Any:
        return lambda text: looked.append(len(text)) or look(text)  # type: ignore[func-returns-value]

    for name in ("mask", "protected_spans"):
        monkeypatch.setattr(units, name, remember(getattr(units, name)))
    passage = READERS["sentences"].take_apart(text)
    looked.clear()  # sentences are found in all of it
    taken = passage.units()
    first = next(taken)
    assert max(looked, default=0) <= units.BLOCK
    copied = passage.join([first.text, *(unit.text for unit in taken)])
    assert "".join(copied.split()) == "".join(text.split())
