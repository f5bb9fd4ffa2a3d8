"""ICU messages: branches are translated, everything else comes back as it was, and nothing in between."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.text.messages import message_of, written
from dragoman.text.protection import protected_spans
from tests.tasks.models import undertrained


def marked(text: str) -> str:
    """The message with square brackets around what is translated, placeholders of arguments left out."""
    message = message_of(text)
    assert message is not None
    return written(message, text, [f"[{each.plain}]" if each.plain else "" for each in message.messages()])


MESSAGES = {
    "{count, plural, one {# file} other {# files}}": "[{count, plural, one {[# file]} other {[# files]}}]",
    "You have {n,plural,=0{no files}one{# file}other{# files}} in {folder}.": (
        "[You have {n,plural,=0{[no files]}one{[# file]}other{[# files]}} in {folder}.]"
    ),
    "{n, plural, offset:1 =1 {me} other {me and # more}}": "[{n, plural, offset:1 =1 {[me]} other {[me and # more]}}]",
    "{n, selectordinal, one {#st} other { #th }} car": "[{n, selectordinal, one {[#st]} other { [#th] }} car]",
    "{g, select, male {He has {n, plural, one {# car} other {# cars}}.} other {}}": (
        "[{g, select, male {[He has {n, plural, one {[# car]} other {[# cars]}}.]} other {}}]"
    ),
    "{n, number} cars on {d, date, short}": "[{n, number} cars on {d, date, short}]",
    "'{'n, plural'}' of {n, plural, other {'{'#'}' cars}}": "['{'n, plural'}' of {n, plural, other {['{'#'}' cars]}}]",
    "It''s {n, plural, other {its cars''}}": "[It''s {n, plural, other {[its cars'']}}]",
    # Not well-formed: the argument stays as it is, or the whole text if it does not say where it ends.
    "a {n, plural, one # car other {# cars}} b": "[a {n, plural, one # car other {# cars}} b]",
    "a {n, plural} b {n, plural, } c": "[a {n, plural} b {n, plural, } c]",
    "a {n, plural, one {# car} other {# cars} b.": "a {n, plural, one {# car} other {# cars} b.",
    "a {n, plural, other {b}} {n, plural, other": "a {n, plural, other {b}} {n, plural, other",
}


@pytest.mark.parametrize(("text", "expected"), MESSAGES.items())
def test_only_texts_are_translated(text: str, expected: str) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize("text", ["no {name} here", "{a b, plural, x}", "{name}, plural, {n}", "{n, plain, x}", ""])
def test_other_texts_are_no_messages(text: str) -> None:
    assert message_of(text) is None


PIECES = [
    "{n, plural, ",
    "{g,select,",
    "{d, date}",
    "offset:1 ",
    "one {",
    "other {",
    "=1{",
    "}",
    "}",
    "{",
    "#",
    "'",
    "''",
    "a",
]


@given(st.lists(st.sampled_from([*PIECES, " word "]), max_size=20).map("".join))
def test_an_identical_translation_gives_the_message_back(text: str) -> None:
    if message := message_of(text):
        found = written(message, text, [each.plain for each in message.messages()])
        assert found.replace("''", "'") == text.replace("''", "'")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_is_written_arguments_and_branches_are_the_same(wrong: str) -> None:
    text = "The {n, plural, one {# car '{'} other {# cars}} of {name}"
    message = message_of(text)
    assert message is not None
    plain = [each.plain for each in message.messages()]
    found = message_of(written(message, text, [plain[0], plain[1] + wrong, plain[2]]))
    assert found is not None
    assert found.shape() == message.shape()


def test_the_branches_of_a_message_are_translated_as_texts_of_their_own() -> None:
    def translated(*texts: str, form: str = "text") -> list[str]:
        return [found.text for found in Translator.load(undertrained()).translations(texts, form=form)]

    one, many, around = translated("The man sees {x} car.", "The man sees {x} cars.", "The boy wants {x} now.")
    branches = f"one {{{one}}} other {{{many}}}".replace("{x}", "#")
    text = "one {The man sees # car.} other {The man sees # cars.}"
    alone, inside = translated(f"{{n, plural, {text}}}", f"The boy wants {{n, plural, {text}}} now.")
    assert alone == f"{{n, plural, {branches}}}"
    assert inside == around.replace("{x}", f"{{n, plural, {branches}}}")
    broken = "{n, plural, one {The man sees # car.} other The man sees # cars.}"
    assert translated(broken) == [broken]
    argument = "{n, plural, one {a red car. Bread} other {# cars}}"
    assert argument in translated(f"<p>The man sees {argument} now.</p>", form="html")[0], "in HTML it is kept whole"


@pytest.mark.parametrize(
    "unit", ["{a,select,b{", "{a,plural,one{# x} other{y}} ", "{a,date", "'{", "{a,plural,", "{ a , "]
)
def test_a_long_message_is_read_in_one_go(unit: str) -> None:
    """Every level of branches reads its part once: no more steps than that, whatever comes."""
    for text in (unit * 2_000, unit * 2_000 + "}" * 4_000):
        spans = protected_spans(text)
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
        if message := message_of(text):
            plain = [each.plain for each in message.messages()]
            assert sum(map(len, plain)) <= 8 * len(text)
            assert written(message, text, plain) == text
