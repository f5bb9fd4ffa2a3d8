"""A sentence in capitals is translated as it is usually written, and its translation put in capitals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dragoman import Translator
from dragoman.data.tokenizer import Tokenizer
from dragoman.tasks.translation.translator import DecodingOptions
from dragoman.text.units import Segmenter
from tests.tasks.models import PAIRS, undertrained


def translated(*texts: str) -> list[str]:
    found = Translator.load(undertrained()).translations(texts, DecodingOptions(beam=2))
    return [each.text for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "The man sees the house.",
        "My sister buys {name} for the boy!",
        "A friend <b>wants</b> 5 apples.",
        "Bread",
    ],
)
def test_it_is_the_usual_translation_in_capitals(text: str) -> None:
    usual, loud = translated(text, text.upper().replace("{NAME}", "{name}").replace("B>", "b>"))
    assert loud == usual.upper().replace("{NAME}", "{name}").replace("B>", "b>")


def read(sentences: Sequence[str], *texts: str) -> list[str | None]:
    """What a network reads of some texts instead of what is written, with a tokenizer learnt from these sentences."""
    tokenizer = Tokenizer.train(sentences, frequent=1)
    segmenter = Segmenter(lambda text: tokenizer.encode([text])[0], 100)
    units = [unit for text in texts for unit in segmenter.take_apart(text).units()]
    return [None if unit.small is None else unit.small.text for unit in units]


def test_capitals_that_belong_there_stay() -> None:
    sources = [*(source for source, _ in PAIRS), *["I see Tom and the UN.", "The UN sees me."] * 9]
    loud = "THE MAN AND TOM SEE THE HOUSE, AND I SEE BREAD."
    assert read(sources, loud) == ["The man and Tom see the house, and I see bread."]
    assert read(sources, "The man sees the UN.", "I", "UN", "家") == [None] * 4
    assert read([source.upper() for source in sources], loud) == [None]


def test_a_common_beginning_of_names_makes_no_word_a_name() -> None:
    sources = ["Carlos and Carmen see Carla."] * 9 + ["The car and the house are new."] * 3
    assert read(sources, "THE CAR AND CARLOS ARE NEW.") == ["The car and Carlos are new."]
