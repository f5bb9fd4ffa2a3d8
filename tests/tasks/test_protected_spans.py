"""Numbers, addresses, placeholders and tags come through unchanged, whatever the network has learnt."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.data import toys
from dragoman.decoding import Hypothesis
from dragoman.tasks.translation.scoring import BATCH, Scorer
from dragoman.tasks.translation.translator import DecodingOptions
from dragoman.text.protection import STANDINS, Masked, mask, protected_spans
from dragoman.text.spacing import put_back
from dragoman.text.spans import Pair, Rounds, restoring
from tests.tasks.models import PAIRS, WHAT, WHO, WORDS, taught, tiny, undertrained

WORDS_ALONE = [*WHO, *WHAT, "sees", "and", "unseen", "ñandú", "日本", ",", ".", "—", "(", ")"]
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
texts = st.lists(st.sampled_from(WORDS_ALONE) | st.sampled_from(SPANS), min_size=1, max_size=14).map(" ".join)
runs = st.lists(st.sampled_from(SPANS), min_size=1, max_size=4).map("".join)
glued = st.tuples(st.sampled_from(["(", "¿", "«", ""]), st.sampled_from(SPANS), st.sampled_from([".", ",", ")", "!?"]))
CHOICES = [
    DecodingOptions(),
    DecodingOptions(beam=1),
    DecodingOptions(sample=True),
    DecodingOptions(beam=3, alternatives=3),
    DecodingOptions(maximum=2),
]


def spans_of(text: str) -> Counter[str]:
    return Counter(text[start:stop] for start, stop in protected_spans(text))


def check(text: str, choice: DecodingOptions) -> None:
    translation = Translator.load(undertrained()).translations([text], choice)[0]
    for alternative in translation.alternatives:
        for span in spans_of(text):
            assert alternative.text.count(span) == text.count(span), (span, text, alternative.text)
        lost = {standin for standin in STANDINS if standin in alternative.text and standin not in text}
        assert not lost, "a stand-in of ours is left in the text"


@settings(max_examples=50)
@given(texts, st.sampled_from(CHOICES))
def test_every_span_comes_through_as_often_as_it_is_there(text: str, choice: DecodingOptions) -> None:
    check(text, choice)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(WORDS_ALONE) | runs, min_size=1, max_size=8).map(" ".join), st.sampled_from(CHOICES))
def test_also_where_spans_touch(text: str, choice: DecodingOptions) -> None:
    check(text, choice)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(WORDS_ALONE), glued), min_size=1, max_size=5), st.sampled_from(CHOICES))
def test_also_with_punctuation_around_it(
    parts: list[tuple[str, tuple[str, str, str]]], choice: DecodingOptions
) -> None:
    check(" ".join(f"{word} {''.join(span)}" for word, span in parts), choice)


@pytest.mark.parametrize("span", SPANS)
def test_every_span_comes_through_at_the_end_of_a_sentence(span: str) -> None:
    """The list above holds what it says: spans."""
    assert spans_of(f"The man sees {span} and {span} .") == Counter({span: 2})
    check(f"The man sees {span} and {span} .", DecodingOptions())
    check(span, DecodingOptions())


# Each is one thing for whoever reads it, although it may be made of several spans, or of a number and letters.
UNITS = [
    *["42%s", "5%d", "12/05/2024%s", "%s42", "%s12/05/2024", "%shttps://a.com/b", "%s/usr/bin", "42https://a.com/b"],
    *["{name}42", "42{name}", "%d%%", "5%%", "{v}https://a.com/b", "%s%s", "{a}{b}{c}", "&nbsp;&amp;"],
    *["%d/%d", "{min}-{max}", "{x}:{y}", "${HOST}:${PORT}", "2+2=4", "42.%s", "{name}\U0001f600", "5\U0001f600"],
    *["<b>42</b>%s", "<b>{name}</b>", "<i></i>", "<b><i>5</i></b>", "{a}<br/>{b}", "{a}<br>{b}", "<img/><br/>"],
    *["1 000", "12 345 678,90", "1\u00a0000", "1 000 %", "+34 600"],
    *["1990s", "10:30am", "2024-05-12T10:30:00Z", "2024-05-12T10:30:00.000+02:00", "2024-W05", "5am-6pm"],
    *["10km", "5kg", "500mA", "5µm", "10m²", "10km/h", "1.5x", "3D", "4K", "2x4"],
    *["v2.0", "COVID-19", "F-16", "MiG-29", "H2O", "CO2", "B2B", "mp3", "x86_64", "a_1"],
    "550e8400-e29b-41d4-a716-446655440000",
    *["$5.00", "€20", "€ 20", "20 €", "5€", "US$5", "-$5", "$3.5M", "£5k", "50%", "50 %", "7 ‰", "20°C", "20 °C"],
    *["example.com", "GitHub.com/a/b?c=d", "es.wikipedia.org", "example.co.uk", "localhost.dev:8080/x", "ASP.NET"],
    *["/usr/bin/x", "~/notes.txt", "./run.sh", "../a/b", "C:\\Users\\x"],
]


@pytest.mark.parametrize("unit", UNITS)
def test_what_touches_stays_together(unit: str) -> None:
    """It was torn apart, or a part of it was lost, by models whose network had never seen such a thing."""
    text = f"The plant {unit} is green."
    assert mask(text).spans == (unit,)
    for translated in (text, f"The plant is ({unit}).", f"{unit} and the plant", f"the plant and {unit}!"):
        (found,) = Translator.load(undertrained()).translations([translated])
        assert found.text.count(unit) == 1, found


def test_more_spans_than_there_are_standins() -> None:
    text = " and ".join(f"{n}{n}" for n in range(10, 40))
    assert not mask(text).complete
    check(text, DecodingOptions())
    check(text, DecodingOptions(beam=1))
    check(" ".join(f"{{x{n}}}" for n in range(50)), DecodingOptions(beam=1))


def test_spans_without_a_standin_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by a network that carries over every stand-in and nothing else."""
    translator = Translator.load(undertrained())

    def only_standins(network: object, sources: list[Any], *_: object, **__: object) -> list[list[Hypothesis]]:
        texts = translator.source_tokenizer.decode(sources)
        kept = [" ".join(letter for letter in text if letter in STANDINS) for text in texts]
        return [[Hypothesis.of(labels, -1.0, True)] for labels in translator.target_tokenizer.encode(kept)]

    monkeypatch.setattr("dragoman.tasks.translation.translator.decode", only_standins)
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
    translation = Translator.load(undertrained()).translations([text], DecodingOptions(beam=1))[0]
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
    found = translator.translations(["The man sees 5 boats."], DecodingOptions(beam=4, alternatives=4))[0]
    assert 1 <= len(found.alternatives) <= 4
    assert all(alternative.text.count("5") == 1 for alternative in found.alternatives)


def test_a_model_that_protects_nothing_may_change_everything() -> None:
    """What is not asked for is not done: numbers are then words like others."""
    from dragoman.tasks.training import train_model

    plain, _ = train_model(tiny({"data": {"protect": False}, "stopping": {"epochs": None, "steps": 3}}))
    assert "12345" not in plain.translate(["The man sees 12345 boats."])[0]


@pytest.mark.parametrize("task", ["sort", "add"])
def test_the_digits_of_a_toy_task_are_its_words(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what is to be learnt: protected, nobody could sort or add them."""
    from dragoman.tasks.training import train_model

    for size in ("_SEQUENCES", "_SUMS"):
        monkeypatch.setattr(toys, size, replace(getattr(toys, size), samples=300))
    toy, _ = train_model(
        {
            "data": {"files": [task]},
            "network": {"depth": 8, "perceptron_depth": 8, "heads": 2},
            "stopping": {"steps": 2},
        }
    )
    assert not toy.metadata.protect
    shown = toy.align("3 1 2", "2 1 3").source[1:-1]
    assert [piece.removeprefix("\u2581") for piece in shown] == ["3", "1", "2"]


def likelihoods(texts: Callable[[str], float]) -> Callable[[list[Pair]], list[np.ndarray[Any, Any]]]:
    """A network that thinks this of texts, and nothing of their words."""
    return lambda pairs: [np.array([0.0] * len(text.split()) + [texts(text)]) for _, text in pairs]


def restored(written: str, masked: Masked, judge: Callable[[list[Pair]], list[np.ndarray[Any, Any]]]) -> str:
    rounds = Rounds([restoring(written, masked)])
    while rounds.asked:
        rounds.answer(judge(rounds.asked))
    return put_back(rounds.finished[0][1], masked)


def writing(translator: Translator, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the network write this, whatever it reads."""
    (labels,) = translator.target_tokenizer.encode([text])
    found = [Hypothesis.of(labels, -1.0, True)]
    monkeypatch.setattr(translator, "_search", lambda sources, *_: [found for _ in sources])


def test_a_lost_span_goes_where_the_network_finds_it_likeliest(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(undertrained())
    writing(translator, "El hombre ve la casa.", monkeypatch)

    liked = likelihoods(lambda text: 100.0 * (f"ve {STANDINS[0]} la" in text))
    monkeypatch.setattr(translator._scorer, "likelihoods", liked)
    assert translator.translate(["The man sees 5 houses."]) == ["El hombre ve 5 la casa."]


def test_a_span_written_too_often_stays_once(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(undertrained())
    five, other = STANDINS[:2]
    writing(translator, f"El {five} hombre ve {five} la {other} casa.", monkeypatch)
    monkeypatch.setattr(translator._scorer, "likelihoods", likelihoods(lambda text: 10.0 * (f"ve {five}" in text)))
    assert translator.translate(["The man sees 5 houses."]) == ["El hombre ve 5 la casa."]


@pytest.mark.parametrize(("alternatives", "expected"), [(2, 2), (3, 2)])
def test_alternatives_differ(alternatives: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hypotheses may be the same text once their spans are restored; then the next one of the search is taken."""
    translator = Translator.load(undertrained())
    five = STANDINS[0]
    written = translator.target_tokenizer.encode(
        [f"El {five} hombre.", f"El {five} {five} hombre.", f"La {five} mujer."]
    )
    hypotheses = [Hypothesis.of(labels, -1.0 - i, True) for i, labels in enumerate(written)]

    def search(sources: list[Any], options: DecodingOptions, *_: object) -> list[list[Hypothesis]]:
        return [hypotheses[: options.alternatives] for _ in sources]

    monkeypatch.setattr(translator, "_search", search)
    (found,) = translator.translations(["The 5 men."], DecodingOptions(beam=3, alternatives=alternatives))
    assert [alternative.text for alternative in found.alternatives] == ["El 5 hombre.", "La 5 mujer."][:expected]


def test_what_stands_inside_a_sentence_is_not_put_behind_its_full_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(undertrained())
    writing(translator, "El hombre.", monkeypatch)
    monkeypatch.setattr(translator._scorer, "likelihoods", likelihoods(lambda text: 100.0 * (text[-1] in STANDINS)))
    assert translator.translate(["The man sees 5 houses."])[0].endswith(".")
    assert translator.translate(["The man sees houses. 5"]) == ["El hombre. 5"]


# Tags and emoji say nothing about the sentence


@pytest.mark.parametrize("text", ["<b>red</b> <i>house</i>", "red <b>house</b>", "😀 red house", "red house 🎉"])
def test_a_text_is_translated_as_it_is_without_tags_and_emoji(text: str) -> None:
    bare = re.compile("</?[bi]>|😀 ?| ?🎉")
    marked, plain = Translator.load(taught()).translate([text, bare.sub("", text)])
    assert bare.sub("", marked) == plain


@pytest.mark.parametrize(
    ("before", "after"), [("😀 ", ""), ("", " 🎉"), ("<p>", "</p>"), ("<b><i>", "</i></b>"), ("<p>😀 ", "</p> 🎉")]
)
def test_what_stands_around_a_whole_text_stands_around_its_translation(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(undertrained())
    writing(translator, "El hombre ve pan.", monkeypatch)
    assert translator.translate([f"{before}The man sees bread.{after}"]) == [f"{before}El hombre ve pan.{after}"]


def test_tags_stand_around_the_translation_of_their_word() -> None:
    """A model that puts one word for one: nine of ten tags are where they belong."""
    translator = Translator.load(taught())
    pairs = [(a, c, b, d) for (a, b), (c, d) in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)]
    texts = [f"{a} <b>{c}</b>" for a, c, _, _ in pairs] + [f"<b>{a}</b> {c}" for a, c, _, _ in pairs]
    plain = translator.translate([re.sub("</?b>", "", text) for text in texts])
    right = [text for _, _, b, d in pairs for text in (f"{b} <b>{d}</b>", f"<b>{b}</b> {d}")]
    known = {re.sub("</?b>", "", text) for text in right}
    judged = [found in right for found, told in zip(translator.translate(texts), plain, strict=True) if told in known]
    assert len(judged) >= 20
    assert sum(judged) >= 0.9 * len(judged)


def well_formed(text: str) -> bool:
    opened: list[str] = []
    for closing, name in re.findall(r"<(/?)([bi])>", text):
        if closing and (not opened or opened.pop() != name):
            return False
        if not closing:
            opened.append(name)
    return not opened


TAGGED = [
    "a <b>b <i>c</i></b> d",
    "<b>a</b> b <i>c</i> d",
    "a <b><i>b c</i> d</b>",
    "<i>a</i> <b>b <i>c</i> d</b>",
    "a <b></b> b <i>c</i>",
    "a <b>5</b> <i>b 6</i>",
    "a <b><i>5</i> b</b>",
]


@pytest.mark.parametrize("text", TAGGED)
@pytest.mark.parametrize("written", ["w x y z.", "w", "", "{1} w x {0} y {3} z", "{2} w {1} x {0} y z {3} {3}"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_tags_are_nested_as_in_the_source_whatever_the_network_thinks(text: str, written: str, seed: int) -> None:
    def any_number(text: str) -> float:
        return float(zlib.crc32(f"{seed}{text}".encode()))

    def judge(pairs: list[Pair]) -> list[np.ndarray[Any, Any]]:
        return [np.array([any_number(word) for word in [*t.split(), t]]) for _, t in pairs]

    found = restored(written.format(*STANDINS), mask(text), judge)
    assert Counter(re.findall("</?[bi]>|[56]", found)) == Counter(re.findall("</?[bi]>|[56]", text))
    assert well_formed(found), found
    if "5" in text:
        assert re.search(r"<([bi])>5</\1>", found), found


def placed(source: str, written: str, texts: Callable[[str], float]) -> str:
    """Tags put into what was written, by a network that thinks this of texts and nothing of their words."""
    masked = mask(source)
    return restored(written, masked, likelihoods(lambda text: texts(put_back(text, masked))))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>a</b> b c d e", "<b>v</b> w x y z"),
        ("a b c <b>d</b> e", "v w x <b>y</b> z"),
        ("😀 a <b>b</b>", "😀 v <b>w</b>"),
    ],
)
def test_tags_stand_about_where_the_source_has_them_if_the_network_does_not_know(source: str, expected: str) -> None:
    written = re.sub("</?b>|😀 ", "", expected)
    assert placed(source, written, lambda _: 0.0) == expected


def test_all_pairs_of_tags_are_placed_together() -> None:
    """The first pair alone would stand around the word that belongs to the second."""
    liked = {"w <b>x</b> y z": 20.0, "<b>w</b> <i>x</i> y z": 100.0}
    found = placed("<b>a</b> <i>b</i> c d", "w x y z", lambda text: liked.get(text, 0.0))
    assert found == "<b>w</b> <i>x</i> y z"


# How much the network is asked


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many translations the network judges, by batch."""
    found: list[int] = []
    judge = Scorer.likelihoods

    def counted(scorer: Scorer, pairs: list[Pair]) -> list[np.ndarray[Any, Any]]:
        found.append(len(pairs))
        return judge(scorer, pairs)

    monkeypatch.setattr(Scorer, "likelihoods", counted)
    return found


UI_TEXTS = [
    "Save {count} houses to {folder}?",
    "The man sees <b>{name}</b> from the house.",
    "%d of %d apples",
    "The boy wants {n} new boats",
    "Click <a href='x'>here</a> to buy.",
    "Hello {name}, the old book!",
    "{user} sells the green plant to {project}.",
]


@pytest.mark.parametrize(
    "unit", ["%a%", "{a} b ", "http://a[x ", "<b>a</b> b ", "<a> b </a>", "5 a ", "a😀 ", "{0}a{1}b"]
)
def test_many_spans_are_judged_in_few_batches(unit: str, asked: list[int]) -> None:
    """Twice as many spans are twice as many candidates, in full batches: once there was a batch for each span."""
    translator, judged = Translator.load(undertrained()), []
    for times in (30, 60):
        asked.clear()
        translator.translations([unit * times], DecodingOptions(beam=1))
        judged.append(sum(asked))
        assert len(asked) <= 12 + sum(asked) / BATCH
    assert judged[0] <= judged[1] <= 2.5 * judged[0] + 20
    assert judged[1] <= 2 * len(unit * 60)


def test_the_spans_of_several_texts_are_judged_together(asked: list[int]) -> None:
    translator = Translator.load(undertrained())
    alone = []
    for text in UI_TEXTS:
        asked.clear()
        translator.translations([text])
        alone.append(len(asked))
    asked.clear()
    translator.translations(4 * UI_TEXTS)
    assert 0 < len(asked) <= max(alone) + sum(asked) / BATCH


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("{a} " + "word " * 300, "palabra " * 300),
        ("{a} " + "word " * 300, f"palabra {STANDINS[0]} " * 300),
        ("a <b>b c</b> " + "word " * 300, "palabra " * 300),
        ("<b>a</b> <i>b</i> <u>c</u> <s>d</s> " + "word " * 300, "palabra " * 300),
        ("a {0} b {1} c {2} d {3} e {4} f {5} g {6} h {7}", "palabra " * 20),
    ],
)
def test_the_places_that_are_compared_are_few_however_long_a_sentence_is(source: str, written: str) -> None:
    """Those nearest to the place in the source; where too many were compared, that place itself."""
    masked, judged = mask(source), list[str]()

    def judge(pairs: list[Pair]) -> list[np.ndarray[Any, Any]]:
        judged.extend(text for _, text in pairs)
        return [np.zeros(len(text.split()) + 1) for _, text in pairs]

    found = restored(written, masked, judge)
    assert len(judged) <= 120
    assert [found.count(span) for span in masked.spans] == [1] * len(masked.spans)
    if "{7}" in source:
        assert re.findall(r"\d", found) == list("01234567"), "in their order, as nothing says otherwise"


def test_a_translation_can_be_given_up_between_two_slices(asked: list[int]) -> None:
    translator = Translator.load(undertrained())
    units = [unit for _ in range(50) for unit in translator.take_apart("{a} b " * 8).units()]
    work = translator.running(units, DecodingOptions(beam=1))
    for _ in range(3):
        next(work)
    begun = len(asked)
    assert 0 < begun <= 2 * translator.workers.threads
    assert len(list(work)) > 4
    assert len(asked) > 2 * begun


# Spaces


@pytest.mark.parametrize(
    ("source", "written", "expected"),
    [
        ("Click <b>Save</b> to continue.", "Pulse {0} Guardar {1} para seguir.", "Pulse <b>Guardar</b> para seguir."),
        ("Click <b> Save </b> now.", "Pulse {0} Guardar {1} ya.", "Pulse <b> Guardar </b> ya."),
        ("I saw it 2024-05-01 here.", "{0}Hace ver.", "2024-05-01 Hace ver."),
        ("Press <b>Ctrl</b>+<b>S</b>.", "Pulse {0} Ctrl {1}+ {2} S {3}.", "Pulse <b>Ctrl</b>+<b>S</b>."),
        ("It cost #5 (or 6).", "Costó # {0} (o {1}).", "Costó #5 (o 6)."),
        ("It cost #5.", "Costó {0} dólares.", "Costó 5 dólares."),
        ("It cost $5 (or 6 €).", "Costó {0} (o {1}).", "Costó $5 (o 6 €)."),
        ("In 24hours.", "En {0} horas.", "En 24horas."),
        ("Who is <b>he</b>?", "¿ {0} Quién {1} es?", "¿<b>Quién</b> es?"),
        ("Hello {name}, go.", "Hola {0} , ve.", "Hola {name}, ve."),
        ("Hello {name}, go.", "Hola, {0} ve.", "Hola, {name} ve."),
        ("One<br/>two.", "Uno {0} dos.", "Uno<br/>dos."),
        ("See {a}{b} now.", "Mira {0} ya.", "Mira {a}{b} ya."),
        ("See <b>{a} it</b>{b} now.", "{2}{3} mira {0} {1} ya.", "</b>{b} mira <b>{a} ya."),
        ("<p>I see <b>him</b>.</p>", "{0} Le veo {1} a él {2}. {3}", "<p>Le veo <b>a él</b>.</p>"),
        ("Good day!😀", "¡Buen día! {0}", "¡Buen día!😀"),
        ("Good day! 😀", "¡Buen día!{0}", "¡Buen día! 😀"),
    ],
)
def test_what_was_glued_stays_glued_and_what_was_apart_stays_apart(source: str, written: str, expected: str) -> None:
    assert put_back(written.format(*STANDINS), mask(source)) == expected


# More spans than stand-ins


def test_many_spans_cut_a_text_as_seldom_as_possible() -> None:
    """Twelve spans are two pieces, not thirteen."""
    translator = Translator.load(undertrained())
    text = " ".join(f"{{x{n}}}" for n in range(12)) + " and the boy sees bread."
    assert not mask(text).complete
    found = translator.translations([text])[0]
    assert found.pieces == 2
    assert found.text.startswith(" ".join(f"{{x{n}}}" for n in range(8)))
    assert all(found.text.count(f"{{x{n}}}") == 1 for n in range(12))
    assert translator.translations(["".join(f"{{x{n}}}" for n in range(12)) + " sees bread."])[0].pieces == 1
    assert translator.translations(["The man 11 12 13 14 15 16 17 18."])[0].pieces == 1
    assert translator.translations(["The man 11 12 13 14 15 16 17 18 19."])[0].pieces == 2


def test_a_text_without_words_is_left_as_it_is() -> None:
    texts = ["{a}{b} 5", "10:30 - 11:45", "<b>5</b>", "😀"]
    assert Translator.load(undertrained()).translate(texts) == texts
