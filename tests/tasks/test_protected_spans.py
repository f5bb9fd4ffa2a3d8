"""Numbers, addresses, placeholders and tags come through unchanged, whatever the network has learnt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.data import toys
from dragoman.data.protection import STANDINS, mask, protected_spans
from dragoman.decoding import Hypothesis
from dragoman.tasks.translator import Choice
from tests.tasks.models import PAIRS, WHAT, WHO, tiny, undertrained

WORDS = [*WHO, *WHAT, "sees", "and", "unseen", "ñandú", "日本", ",", ".", "—", "(", ")"]
SPANS = [
    "5",
    "-3.5",
    "1,234.56",
    "10:30",
    "2024-01-31",
    "50%",
    "1\u00a0000",
    "http://example.org/a",
    "https://example.org/a/very/long/path/that/goes/on/and/on?query=1234567890&more=abcdefghijklmnopqrstuvwxyz",
    "www.example.org",
    "someone.else+tag@mail.example.org",
    "{name}",
    "{{ user.name }}",
    "${HOME}",
    "%s",
    "%1$s",
    "%(count)d",
    "<b>",
    "</b>",
    '<a href="http://example.org/page" title="several words stand here">',
    "<br/>",
    "&amp;",
    "😀",
    "👩‍👩‍👧",
    "🇪🇸",
    STANDINS[0],
    STANDINS[5],
]
texts = st.lists(st.sampled_from(WORDS) | st.sampled_from(SPANS), min_size=1, max_size=14).map(" ".join)
glued = st.tuples(st.sampled_from(["(", "¿", "«", ""]), st.sampled_from(SPANS), st.sampled_from([".", ",", ")", "!?"]))
CHOICES = [Choice(), Choice(beam=1), Choice(sample=True), Choice(beam=3, alternatives=3), Choice(maximum=2)]


def spans_of(text: str) -> Counter[str]:
    return Counter(text[start:stop] for start, stop in protected_spans(text))


def check(text: str, choice: Choice) -> None:
    translation = Translator.load(undertrained()).translations([text], choice)[0]
    for alternative in translation.alternatives:
        for span in spans_of(text):
            assert alternative.text.count(span) == text.count(span), (span, text, alternative.text)
        lost = {standin for standin in STANDINS if standin in alternative.text and standin not in text}
        assert not lost, "a stand-in of ours is left in the text"


@settings(max_examples=50)
@given(texts, st.sampled_from(CHOICES))
def test_every_span_comes_through_as_often_as_it_is_there(text: str, choice: Choice) -> None:
    check(text, choice)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(WORDS), glued), min_size=1, max_size=5), st.sampled_from(CHOICES))
def test_also_with_punctuation_around_it(parts: list[tuple[str, tuple[str, str, str]]], choice: Choice) -> None:
    check(" ".join(f"{word} {''.join(span)}" for word, span in parts), choice)


@pytest.mark.parametrize("span", SPANS)
def test_every_span_comes_through_at_the_end_of_a_sentence(span: str) -> None:
    """The list above holds what it says: spans."""
    assert spans_of(f"The man sees {span} and {span} .") == Counter({span: 2})
    check(f"The man sees {span} and {span} .", Choice())
    check(span, Choice())


def test_more_spans_than_there_are_standins() -> None:
    text = " and ".join(f"{n}{n}" for n in range(10, 40))
    assert not mask(text).complete
    check(text, Choice())
    check(text, Choice(beam=1))
    check(" ".join(f"{{x{n}}}" for n in range(50)), Choice(beam=1))


def test_spans_without_a_standin_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a network that carries over every stand-in and nothing else."""
    translator = Translator.load(undertrained())

    def only_standins(network: object, sources: list[Any], *_: object, **__: object) -> list[list[Hypothesis]]:
        texts = translator.source_tokenizer.decode(sources)
        kept = [" ".join(letter for letter in text if letter in STANDINS) for text in texts]
        return [[Hypothesis.of(labels, -1.0, True)] for labels in translator.reference_tokenizer.encode(kept)]

    monkeypatch.setattr("dragoman.tasks.translator.decode", only_standins)
    few, many = ("{a} {b}", " ".join(f"{{{letter}}}" for letter in "abcdefghijkl"))
    assert mask(few).complete
    assert not mask(many).complete
    assert [translation.text for translation in translator.translations([few, many])] == [few, many]


def test_a_standin_written_for_nothing_leaves_no_gap(translator: Translator) -> None:
    """A network that has hardly learnt writes stand-ins that stand for nothing; they are taken out with their space."""
    texts = [source for source, _ in PAIRS[:60]]
    for text in translator.translate(texts, sample=True, seed=1):
        assert text == " ".join(text.split())


def test_a_long_text_of_spans_and_words() -> None:
    text = " ".join(
        f"The man sees {n} boats at http://example.org/{n} , {{name}} and more ." for n in range(1000, 1050)
    )
    translation = Translator.load(undertrained()).translations([text], Choice(beam=1))[0]
    assert translation.pieces > 50
    for n in range(1000, 1050):
        assert f"http://example.org/{n}" in translation.text
        assert translation.text.count(str(n)) == 2
    assert translation.text.count("{name}") == 50


def test_a_span_is_one_label_so_that_a_long_one_makes_no_long_text(translator: Translator) -> None:
    """Only what the network sees counts: a sentence with an address in it stays one piece."""
    found = translator.translations(["The man sees http://example.org/some/page?of=this&site=1 today."])[0]
    assert found.pieces == 1


def test_alternatives_that_lost_a_span_are_left_out(translator: Translator) -> None:
    found = translator.translations(["The man sees 5 boats."], Choice(beam=4, alternatives=4))[0]
    assert 1 <= len(found.alternatives) <= 4
    assert all(alternative.text.count("5") == 1 for alternative in found.alternatives)


def test_a_model_that_protects_nothing_may_change_everything() -> None:
    """What is not asked for is not done: numbers are then words like others."""
    from dragoman.tasks.training import train_translator

    plain, _ = train_translator(tiny({"data": {"protect": False}, "stopping": {"epochs": None, "steps": 3}}))
    assert "12345" not in plain.translate(["The man sees 12345 boats."])[0]


@pytest.mark.parametrize("task", ["sort", "add"])
def test_the_digits_of_a_toy_task_are_its_words(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what is to be learnt: protected, nobody could sort or add them."""
    from dragoman.tasks.training import train_translator

    for size in ("_SEQUENCES", "_SUMS"):
        monkeypatch.setattr(toys, size, replace(getattr(toys, size), samples=300))
    toy, _ = train_translator(
        {
            "data": {"files": [task]},
            "network": {"depth": 8, "perceptron_depth": 8, "heads": 2},
            "stopping": {"steps": 2},
        }
    )
    assert not toy.facts.protect
    shown = toy.align("3 1 2", "2 1 3").source[1:-1]
    assert [piece.removeprefix("\u2581") for piece in shown] == ["3", "1", "2"]


def test_a_wider_search_is_asked_before_a_text_is_cut_at_its_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search loses the number; of what a wide beam finds, the first that kept it is taken."""
    translator = Translator.load(undertrained())
    kept, lost = (translator.reference_tokenizer.encode([t])[0] for t in (f"El hombre {STANDINS[0]}", "El hombre"))
    asked = []

    def search(sources: Any, choice: Choice, longest: Any, prefixes: Any = None) -> Any:
        asked.append(choice.beam)
        sayings = [lost] if choice.alternatives == 1 else [lost, kept, lost]
        return [[Hypothesis.of(labels, -1.0, True) for labels in sayings] for _ in sources]

    monkeypatch.setattr(translator, "_search", search)
    assert translator.translate(["The man 5"]) == ["El hombre 5"]
    assert asked == [4, 16]
