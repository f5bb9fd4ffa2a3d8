"""Protection: what must not change is found, stands aside while the network works, and comes back exactly."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import permutations
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.batch import UNKNOWN
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.text import protection, sentences
from dragoman.text.protection import (
    EVERY_STANDIN,
    STANDINS,
    Masked,
    mask,
    mask_pair,
    protected_spans,
    spaced,
    spans_of_pairs,
)

A, B, C = STANDINS[:3]

# Spans of pairs to train on stand between ⟦ and ⟧. Fixed for good, as long as TEACHING and VERSION are the same.
MARKED = {
    "addresses": [
        "see ⟦http://a.es/b⟧.",
        "(⟦http://a.es⟧) [⟦https://a.es/⟧], «⟦http://a.es⟧»",
        "¿Has visto ⟦https://www.a.es/año?q=1,2&x=a.b#c⟧?",
        "⟦http://en.wikipedia.org/wiki/Foo_(bar)⟧, (⟦http://a.es/(x)_y⟧)",
        "⟦ftp://a.b⟧; ⟦HTTP://A.B⟧! ⟦www.a.es⟧… ⟦WWW.A.ES⟧: ⟦http://[::1]/⟧ ⟦http://a.es/{id}⟧",
        '<⟦http://a.es⟧> "⟦http://a.es⟧" http:// xhttp://a www. wwww.a',
        "请看⟦http://a.es⟧谢谢。",
        "a bare example.org is a word",
        "See ⟦www.a.es⟧.",
        "SEE ⟦WWW.A.ES⟧.",
    ],
    "mail": [
        "Escribe a ⟦tom.x+y@ex-a.co.uk⟧.",
        "<⟦tom@x.es⟧>, (⟦5a@x.es⟧); ⟦info@españa.es⟧ 联系⟦tom@x.es⟧谢谢",
        "a @ b, @tom, tom@home",
        "a" * 65 + "@x.es",  # not half of it either
    ],
    "tags": [
        "⟦<b>⟧bold⟦</b>⟧ and ⟦<br/>⟧⟦<br />⟧ ⟦<0>⟧x⟦</0>⟧",
        "⟦<a href=\"x y\" class='b' id=c>⟧aquí⟦</a>⟧",
        "a < b and c > d, <y and z>, I <⟦3⟧ you, <>",
        "Tom⟦&nbsp;⟧⟦&amp;⟧ Mary⟦&#39;⟧s AT&T; R&D",
    ],
    "placeholders": [
        "⟦{name}⟧, ⟦{0}⟧ ⟦{}⟧ ⟦{ x }⟧ ⟦{{x}}⟧ ⟦{{ user | upper }}⟧ ⟦{{{y}}}⟧ ⟦{user.name:>5}⟧",
        "⟦${VAR}⟧ ⟦%{x}⟧ ⟦#{x}⟧ ⟦$VAR⟧ ⟦$name⟧. Ke$ha US$⟦5⟧ $⟦5⟧ $⟦5.50⟧",
        "⟦%s⟧ ⟦%d⟧ ⟦%1$s⟧ ⟦%(count)d⟧ ⟦%.2f⟧ ⟦%05d⟧ ⟦%ld⟧ ⟦%@⟧ ⟦%%⟧ ⟦%name%⟧ ⟦%s⟧⟦%s⟧ ⟦%ld⟧⟦%s⟧ ⟦%d⟧px",
        "⟦50%⟧ de ⟦50⟧%de ⟦50⟧ % de, {a b} {",
        "{n, plural, one {# item}}",
    ],
    "emoji": [
        "Hi ⟦👩‍💻⟧ ⟦👍🏽⟧, ⟦🇪🇸⟧ ⟦❤️⟧! ⟦😀🎉⟧ ⟦🏴󠁧󠁢󠁳󠁣󠁴󠁿⟧ ⟦☀⟧ ⟦⏰⟧",
        "⟦5️⃣⟧ ⟦#️⃣⟧ ⟦©️⟧ © ™ ⟦🙂‍↔️⟧ → ⟦↔️⟧",
    ],
    "numbers": [
        "⟦3⟧, ⟦1,234.56⟧, ⟦1.234,56⟧; ⟦10:30⟧ ⟦3/4⟧ ⟦50%⟧. ⟦7‰⟧ ⟦2024-01-31⟧ ⟦10–15⟧ ⟦1'000⟧ ⟦192.168.1.1⟧.",
        "(⟦-5⟧) ⟦+34⟧ ⟦−3⟧ ⟦±2⟧ x-⟦5⟧ COVID-⟦19⟧ a ⟦19⟧-year-old",
        "B2B mp3 A4 2nd 1º 1ª 10km 1.5x v2.0 3D ñ5 5ñ H2O a_1",
        "Son las ⟦5⟧. El ⟦5⟧, ¿el ⟦5⟧? $⟦5⟧ ⟦5⟧€ €⟦5⟧ ⟦20⟧°C #⟦1⟧ ⟦50%%⟧",
        "⟦1\u00a0234\u202f567⟧ ⟦12⟧\u00a0⟦34⟧ ⟦1⟧ ⟦234⟧",
        "他有⟦3⟧个 ⟦٣⟧ ⟦１２⟧",
    ],
    "own": [
        f'http://{{⟦{A}⟧}} ⟦http://a⟧(⟦{A}⟧) ⟦http://a⟧[⟦{A}⟧] {{{{⟦{A}⟧}}}} <a b="⟦{A}⟧"> <a b=⟦{A}⟧>',
        f"⟦{A}⟧⟦{C}⟧a⟦{A}⟧ ⟦5⟧⟦{B}⟧ ⟦http://a⟧⟦{B}⟧",
        f"{{⟦{A}⟧}} <a b='⟦{A}⟧'>",
        "\ue008 \uf8ff",
    ],
    "nothing": ["", " ", "Tom no sabe qué hacer: ¿ir, o no?", "它很好。", "«Ñandú» — “ok” … ‘sí’; (no)!"],
}


# Where a text to translate has other spans.
TRANSLATED = {
    "{n, plural, one {# item}}": "⟦{n, plural, one {# item}}⟧",
    "a bare example.org is a word": "a bare ⟦example.org⟧ is a host",
    "⟦<b>⟧bold⟦</b>⟧ and ⟦<br/>⟧⟦<br />⟧ ⟦<0>⟧x⟦</0>⟧": "⟦<b>⟧bold⟦</b>⟧ and ⟦<br/><br />⟧ ⟦<0>⟧x⟦</0>⟧",
    "Tom⟦&nbsp;⟧⟦&amp;⟧ Mary⟦&#39;⟧s AT&T; R&D": "Tom⟦&nbsp;&amp;⟧ Mary⟦&#39;⟧s AT&T; R&D",
    "⟦${VAR}⟧ ⟦%{x}⟧ ⟦#{x}⟧ ⟦$VAR⟧ ⟦$name⟧. Ke$ha US$⟦5⟧ $⟦5⟧ $⟦5.50⟧": (
        "⟦${VAR}⟧ ⟦%{x}⟧ ⟦#{x}⟧ ⟦$VAR⟧ ⟦$name⟧. Ke$ha ⟦US$5⟧ ⟦$5⟧ ⟦$5.50⟧"
    ),
    "⟦%s⟧ ⟦%d⟧ ⟦%1$s⟧ ⟦%(count)d⟧ ⟦%.2f⟧ ⟦%05d⟧ ⟦%ld⟧ ⟦%@⟧ ⟦%%⟧ ⟦%name%⟧ ⟦%s⟧⟦%s⟧ ⟦%ld⟧⟦%s⟧ ⟦%d⟧px": (
        "⟦%s⟧ ⟦%d⟧ ⟦%1$s⟧ ⟦%(count)d⟧ ⟦%.2f⟧ ⟦%05d⟧ ⟦%ld⟧ ⟦%@⟧ ⟦%%⟧ ⟦%name%⟧ ⟦%s%s⟧ ⟦%ld%s⟧ ⟦%d⟧px"
    ),
    "⟦50%⟧ de ⟦50⟧%de ⟦50⟧ % de, {a b} {": "⟦50%⟧ de ⟦50⟧%de ⟦50 %⟧ de, {a b} {",
    "(⟦-5⟧) ⟦+34⟧ ⟦−3⟧ ⟦±2⟧ x-⟦5⟧ COVID-⟦19⟧ a ⟦19⟧-year-old": (
        "(⟦-5⟧) ⟦+34⟧ ⟦−3⟧ ⟦±2⟧ x-⟦5⟧ ⟦COVID-19⟧ a ⟦19⟧-year-old"
    ),
    "B2B mp3 A4 2nd 1º 1ª 10km 1.5x v2.0 3D ñ5 5ñ H2O a_1": (
        "⟦B2B⟧ ⟦mp3⟧ ⟦A4⟧ 2nd 1º 1ª ⟦10km⟧ ⟦1.5x⟧ ⟦v2.0⟧ ⟦3D⟧ ñ5 ⟦5⟧ñ ⟦H2O⟧ ⟦a_1⟧"
    ),
    "Son las ⟦5⟧. El ⟦5⟧, ¿el ⟦5⟧? $⟦5⟧ ⟦5⟧€ €⟦5⟧ ⟦20⟧°C #⟦1⟧ ⟦50%%⟧": (
        "Son las ⟦5⟧. El ⟦5⟧, ¿el ⟦5⟧? ⟦$5⟧ ⟦5€⟧ ⟦€5⟧ ⟦20°C⟧ #⟦1⟧ ⟦50%%⟧"
    ),
    "⟦1\u00a0234\u202f567⟧ ⟦12⟧\u00a0⟦34⟧ ⟦1⟧ ⟦234⟧": "⟦1\u00a0234\u202f567⟧ ⟦12⟧\u00a0⟦34⟧ ⟦1 234⟧",
}
ONLY_TRANSLATED = {
    "touching": [
        "⟦42%s⟧ ⟦5%d⟧ ⟦%s42⟧ ⟦%d%%⟧ ⟦50%%⟧s ⟦{a}{b}⟧, ⟦{c}⟧ ⟦%d/%d⟧ ⟦{a}-{b}⟧ - ⟦{c}⟧ ⟦5⟧… ⟦{a}⟧,⟦{b}⟧",
        "⟦5⟧ ⟦%s⟧ ⟦5⟧ ⟦%(x)d⟧ ⟦50⟧ ⟦%.2f⟧ ⟦50 %⟧. ⟦100 %⟧-ige",
        "⟦<b>5</b>⟧ ⟦<i></i>⟧ ⟦<b>⟧⟦{x}⟧ word⟦</b>⟧⟦{y}⟧ ⟦<a><b>5</b>{x}</a>⟧ ⟦<b>⟧⟦{x}⟧⟦</i>⟧ ⟦5<br>6⟧",
        f"⟦5⟧⟦{A}⟧⟦{B}⟧⟦%s⟧",
    ],
    "codes": [
        "⟦3D⟧-printed the 3rd, 1st, 2ND, 5th-7th, 1er, 2e, 3ème",
        "⟦24⟧hours, ⟦100⟧jähriges, ⟦5⟧км; mid-⟦1990s⟧, pre-⟦2000⟧, ⟦1990⟧'s, Covid-⟦19⟧, No.⟦5⟧, ⟦10⟧-day",
        "I have ⟦3⟧ dogs and ⟦2⟧ cats. ⟦1⟧, ⟦2⟧, ⟦3⟧; ⟦2020⟧ ⟦300⟧ people at ⟦5⟧ a.m., ⟦50⟧ km/h or ⟦50km/h⟧",
        "buy ⟦5⟧ ⟦€20⟧ vouchers for ⟦100 €⟧, ⟦5⟧ ⟦$VAR⟧",
    ],
    "words": [
        "and/or e.g. i.e. U.S.A. Mr.Smith end.Begin the end.it was, p.es. w/o TCP/IP a.m. Ph.D. wait...what, etc.the",
        "his/her/their, ⟦<b>⟧his⟦</b>⟧/her/their, and / or / not, /x/, Node.js, Tom@home",
        "See ⟦example.com⟧. Or ⟦ab.co.uk/x?y=z,w⟧, (⟦x.com⟧); ⟦b.com:80⟧! ⟦/usr/bin⟧. ⟦~/.x/y.z⟧, ⟦C:\\x\\y.z⟧.",
    ],
}


def unmask(text: str, spans: Iterable[str]) -> str:
    """The spans put back; a stand-in that stands for nothing is taken out."""
    return text.translate(dict.fromkeys(map(ord, STANDINS), "") | dict(zip(map(ord, STANDINS), spans, strict=False)))


def spans_between_marks(marked: str, find: Callable[[str], list[tuple[int, int]]]) -> tuple[list[str], list[str]]:
    """Those that are found, and those that are marked."""
    text = re.sub("[⟦⟧]", "", marked)
    return [text[start:stop] for start, stop in find(text)], re.findall("⟦(.*?)⟧", marked)


@pytest.mark.parametrize("marked", [text for texts in MARKED.values() for text in texts])
def test_spans_are_found_whole_and_without_their_surroundings(marked: str) -> None:
    found, expected = spans_between_marks(marked, spans_of_pairs)
    assert found == expected
    found, expected = spans_between_marks(TRANSLATED.get(marked, marked), protected_spans)
    assert found == expected


@pytest.mark.parametrize("marked", [text for texts in ONLY_TRANSLATED.values() for text in texts])
def test_in_a_text_to_translate_what_belongs_together_is_one_span_and_words_are_none(marked: str) -> None:
    found, expected = spans_between_marks(marked, protected_spans)
    assert found == expected


def test_the_digits_of_every_script_are_numbers() -> None:
    digits = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isdecimal()]
    assert [digit for digit in digits if protected_spans(digit) != [(0, 1)]] == []


FRAGMENTS = [
    *STANDINS,
    *"0159.,:;/'-+%$#@&<>{}()[]\"=!? \n\u00a0aÑé_你😀❤µ€°~²\\Tkmh",
    *[
        "\ufe0f",
        "\u200d",
        "\u20e3",
        "🏽",
        "🇪",
        "\ud800",
        "http://",
        "www.",
        "a@b.es",
        "{x}",
        "%s",
        "<b>",
        "&amp;",
        "12",
        "</b>",
        "<br/>",
        "a.com",
        "H2O",
        "st",
    ],
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text(max_size=40)


@given(text=TEXTS)
def test_spans_stand_in_order_and_apart(text: str) -> None:
    bounds = [bound for place in protected_spans(text) for bound in place]
    assert bounds == sorted(bounds)
    assert all(start < stop for start, stop in protected_spans(text))


@given(text=TEXTS | st.characters())
def test_a_look_at_the_characters_overlooks_no_span(text: str) -> None:
    for find in (protected_spans, spans_of_pairs):
        assert find(f"{text}\n1")[:-1] == find(text)  # a digit calls for the full search


@example(text="".join(STANDINS) + " 1 2 3 4 5 6 7 8 9 " + STANDINS[5])
@example(text="1 2 3 4 5 6 7 8 9 " + "".join(STANDINS))
@given(text=TEXTS)
def test_masked_and_unmasked_a_text_is_itself(text: str) -> None:
    masked = mask(text)
    assert unmask(masked.text, masked.spans) == text
    assert set(STANDINS[: len(masked.spans)]) == set(STANDINS) & set(masked.text)


def test_every_span_gets_a_standin_of_its_own_in_order() -> None:
    masked = mask("At 10:30 send {x}, at 10:30!")
    assert masked == Masked(f"At {A} send {B}, at {C}!", ("10:30", "{x}", "10:30"))
    assert masked.complete
    assert unmask(f"¡{B} a las {A}!", masked.spans) == "¡{x} a las 10:30!"


def test_equal_spans_share_a_standin_where_there_are_not_enough() -> None:
    masked = mask("1 2 3 4 5 6 7 8 1 2")
    assert masked == Masked(" ".join([*STANDINS, A, B]), tuple("12345678"), complete=False)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"Click {A}Save{B} now", f"Click {A} Save {B} now"),
        (f"{A}{B}{C}", f"{A} {B} {C}"),
        (f"({A}), ${B}.", f"( {A}), $ {B}."),
        (f"{A}¿Qué {B}?", f"{A} ¿Qué {B}?"),
        (f"价格是{A}元", f"价格是{A}元"),
        (f"It's {A}'s.", f"It's {A}'s."),
    ],
)
def test_a_standin_is_one_label_and_the_words_beside_it_are_what_they_are_elsewhere(text: str, read: str) -> None:
    assert spaced(text) == read


def test_more_spans_than_standins_are_told_of() -> None:
    numbers = [str(10 + i) for i in range(len(STANDINS) + 1)]
    full, over = mask(" ".join(numbers[:-1])), mask(" ".join(numbers))
    assert full.complete
    assert not over.complete
    assert over.text == " ".join([*STANDINS, numbers[-1]])
    assert over.spans == tuple(numbers[:-1])


def test_a_standin_for_nothing_is_taken_out() -> None:
    assert unmask(f"a {A} b {C}.", ("5",)) == "a 5 b ."


def standins_in(text: str) -> list[str]:
    return [character for character in text if character in STANDINS]


def shown(pair: tuple[str, str]) -> tuple[str, str]:
    """Stand-ins numbered by their order in the source."""
    order = {standin: str(i) for i, standin in enumerate(dict.fromkeys(standins_in(pair[0])))}
    source, reference = ("".join(f"⟦{order[c]}⟧" if c in order else c for c in text) for text in pair)
    return source, reference


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [
        ("I have 5 cats.", "Tengo 5 gatos.", ("I have ⟦0⟧ cats.", "Tengo ⟦0⟧ gatos.")),
        ("{a} at 5", "a las 5, {a}", ("⟦0⟧ at ⟦1⟧", "a las ⟦1⟧, ⟦0⟧")),
        ("5 or 5", "5 o 5", ("⟦0⟧ or ⟦0⟧", "⟦0⟧ o ⟦0⟧")),
        ("5 or 5", "5 o cinco", ("5 or 5", "5 o cinco")),
        ("I get up at 7.", "Me levanto a las siete.", ("I get up at 7.", "Me levanto a las siete.")),
        ("At seven.", "A las 7.", ("At seven.", "A las 7.")),
        ("1,000 yen in 5", "1.000 yenes en 5", ("1,000 yen in ⟦0⟧", "1.000 yenes en ⟦0⟧")),
        ("5 of 15 and 2.5", "5 de 15 y 2,5", ("⟦0⟧ of ⟦1⟧ and 2.5", "⟦0⟧ de ⟦1⟧ y 2,5")),
        ("Tom left.", "Tom se fue.", ("Tom left.", "Tom se fue.")),
    ],
)
def test_only_what_both_sides_hold_equally_often_is_masked(
    source: str, reference: str, expected: tuple[str, str]
) -> None:
    assert shown(mask_pair(source, reference, share=0)) == expected


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [
        ("Tom left.", "Tom se fue.", ("⟦0⟧ left.", "⟦0⟧ se fue.")),
        ("Tom loves Madrid.", "A Tom le gusta Madrid.", ("⟦0⟧ loves ⟦1⟧.", "A ⟦0⟧ le gusta ⟦1⟧.")),
        ("It's Tom's, Al.", "Es de Tom, Al.", ("It's ⟦0⟧'s, ⟦1⟧.", "Es de ⟦0⟧, ⟦1⟧.")),
        ("Al left.", "Se fue Al.", ("⟦0⟧ left.", "Se fue ⟦0⟧.")),
        ("Where is Al?", "¿Al dónde va?", ("Where is ⟦0⟧?", "¿⟦0⟧ dónde va?")),
        ("No one knows. No!", "No lo sé. No.", ("No one knows. No!", "No lo sé. No.")),
        ("Well. No, sir.", "¡No, señor!", ("Well. No, sir.", "¡No, señor!")),
        ("Tom and Tom", "Tom y Tom", ("Tom and Tom", "Tom y Tom")),
        ("Tom saw Tom", "Tom se vio", ("Tom saw Tom", "Tom se vio")),
        ("Tom was seen", "Tom y Tom se vieron", ("Tom was seen", "Tom y Tom se vieron")),
        ("Tom came", "Tomás vino", ("Tom came", "Tomás vino")),
        ("the hotel", "el hotel", ("the hotel", "el hotel")),
        ("vitamin C, X", "vitamina C, X", ("vitamin C, X", "vitamina C, X")),
        ("Tom has 5: {Tom}", "5 tiene Tom: {Tom}", ("⟦0⟧ has ⟦1⟧: ⟦2⟧", "⟦1⟧ tiene ⟦0⟧: ⟦2⟧")),
        ("Write to Tom@x.es", "Escribe a Tom", ("Write to Tom@x.es", "Escribe a Tom")),
        ("Jose\u0301 left", "Jose\u0301 salió", ("Jose\u0301 left", "Jose\u0301 salió")),
        ("My TV3", "Mi TV3", ("My TV3", "Mi TV3")),
    ],
)
def test_names_written_the_same_are_masked_in_a_share_of_the_pairs(
    source: str, reference: str, expected: tuple[str, str]
) -> None:
    assert shown(mask_pair(source, reference, share=1)) == expected


LETTERS = str.maketrans("0123456789", "abcdefghij")
WORDS = [str(i).translate(LETTERS) for i in range(2000)]
PAIRS = [(f"Tom left {word}.", f"Tom se fue {word}.") for word in WORDS]


def test_the_share_of_pairs_is_about_what_was_asked_for() -> None:
    assert 147 <= sum(mask_pair(*pair) != pair for pair in PAIRS) <= 253  # 10 % of 2000, 4 standard deviations around
    assert 900 <= sum(mask_pair(*pair, share=0.5) != pair for pair in PAIRS) <= 1100


def test_every_standin_is_trained_alike_in_every_order() -> None:
    firsts = Counter(standins_in(mask_pair(*pair, share=1)[0])[0] for pair in PAIRS)
    assert firsts.keys() == set(STANDINS)
    assert all(190 <= count <= 310 for count in firsts.values())  # 250 each, 4 standard deviations around
    triples = [f"{i} {i + 1} {i + 2}" for i in range(5000)]
    assert {tuple(standins_in(mask_pair(text, text)[0])) for text in triples} == set(permutations(STANDINS, 3))


def test_a_pair_is_masked_the_same_everywhere() -> None:
    """Fixed for good: a training that is resumed on another machine must see the same pairs."""
    assert mask_pair("He has 3 cats at home.", "Tiene 3 gatos en casa.") == (
        "He has \ue001 cats at home.",
        "Tiene \ue001 gatos en casa.",
    )


def test_of_too_many_spans_some_stay() -> None:
    numbers = " ".join(str(10 + i) for i in range(10))
    source, reference = mask_pair(numbers, f"son {numbers}")
    assert reference == f"son {source}"
    assert source.endswith(" 18 19")
    assert sorted(standins_in(source)) == list(STANDINS)


def test_standins_in_a_corpus_are_masked_as_spans_or_taken_out() -> None:
    assert mask_pair(f"a {A} b", "a c") == ("a  b", "a c")
    assert mask_pair("a c", f"a{A}{B} b") == ("a c", "a b")
    source, reference = mask_pair(f"x {A} 5", f"y 5 {A}")
    assert len(set(standins_in(source))) == 2
    assert standins_in(source) == standins_in(reference)[::-1]
    many = " ".join(map(str, range(10, 20))) + f" {A}"
    assert len(standins_in(mask_pair(many, many)[0])) == len(STANDINS)


@given(data=st.data())
def test_whatever_the_pair_only_equal_spans_are_replaced_and_by_one_standin_each(data: st.DataObject) -> None:
    token = st.sampled_from(["Tom", "No", "casa", "5", "15", "1,5", "{x}", "http://a.es", "b@c.es", "<b>", "😀", "%s"])
    source, reference = (data.draw(st.lists(token, max_size=12)) for _ in range(2))
    share = data.draw(st.sampled_from([0.0, 1.0]))
    masked = [text.split(" ") for text in mask_pair(" ".join(source), " ".join(reference), share)]
    replaced: dict[str, str] = {}
    for tokens, changed in zip((source or [""], reference or [""]), masked, strict=True):
        for before, after in zip(tokens, changed, strict=True):
            if after != before:
                assert after in STANDINS
                assert replaced.setdefault(before, after) == after
    assert len(set(replaced.values())) == len(replaced)
    assert all(source.count(span) == reference.count(span) > 0 for span in replaced)
    spans = {t for t in source if spans_of_pairs(t) and source.count(t) == reference.count(t)}
    assert len(replaced.keys() & spans) == min(len(spans), len(STANDINS))


@given(source=TEXTS, reference=TEXTS)
def test_any_pair_keeps_every_character_outside_its_spans(source: str, reference: str) -> None:
    masked = mask_pair(source, reference, share=0)
    assert Counter(standins_in(masked[0])) == Counter(standins_in(masked[1]))
    for before, after in zip((source, reference), masked, strict=True):
        covered = {at for place in spans_of_pairs(before) for at in range(*place)}
        remaining = iter(after)
        assert all(c in remaining for at, c in enumerate(before) if at not in covered)  # in this order


@given(source=TEXTS, reference=TEXTS)
def test_names_are_masked_in_any_pair_without_a_slip(source: str, reference: str) -> None:
    first, second = mask_pair(f"Tom {source}", f"Tom {reference}", share=1)
    assert Counter(standins_in(first)) == Counter(standins_in(second))


KINDS: tuple[Kind, ...] = get_args(Kind)


@cache
def tokenizer(kind: Kind) -> Tokenizer:
    plain = ["Call me at home (now).", "Llámame, por favor: a casa!"]
    numbered = [text for i in range(60) for text in mask_pair(f"Call me at {i}.", f"Llámame a las {i}.")]
    return Tokenizer.train([*plain, *numbered, EVERY_STANDIN], kind, frequent=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("standin", STANDINS, ids=ascii)
def test_every_tokenizer_knows_every_standin(kind: Kind, standin: str) -> None:
    for text in (f"Call me at {standin}.", f"({standin})", f"{standin}{standin}, {standin}", f"a casa{standin}"):
        (labels,) = tokenizer(kind).encode([text])
        assert UNKNOWN not in labels
        assert tokenizer(kind).decode([labels]) == [text]
        stripped = {piece.lstrip("\u2581") for piece in tokenizer(kind).pieces(labels)}
        assert standin in stripped  # a label of its own, not bytes


@pytest.mark.parametrize(
    "unit",
    [
        *[
            "a",
            "a.",
            "1",
            "1,",
            "1\u00a0234",
            "٣",
            "１",
            "-",
            "%",
            "%a",
            "$",
            "$a",
            "{",
            "{{",
            "{ ",
            "<",
            "<a ",
            "<a b=",
            "😀",
        ],
        *[
            "http://",
            "http://a(",
            "http://a(b",
            "http://a.",
            "www.",
            "a@",
            "a@a.",
            "@",
            "&",
            "&a",
            "😀\u200d",
            "Aa ",
            "Aa",
        ],
        *["%s1", "%s1,", "1a", "a1.", "a1µ", "1µ", "a1-", "A-1", "1 234 ", "$1", "/a", "/a/", "~/", "a.com/", "a-"],
        *["{x}", "{x}/", "<a>", "<a></a>", "<a>5", "</a>", "<b></a>", "5%", "5 %", "1st-", "1-1st", "C:\\", "\\"],
    ],
)
def test_no_text_is_too_long(unit: str) -> None:
    began = time.process_time()
    for end in "xñ":
        text = unit * (30_000 // len(unit)) + end
        masked = mask(text)
        assert unmask(masked.text, masked.spans) == text
        mask_pair(text, text)
    assert time.process_time() - began < 2  # 0.3 at most; where a search starts over at every character, 5


@pytest.mark.parametrize("opening", ["<a b='", "<a ", "http://a(", "http://a", "{{", "%(", "&#", "a@", "5"])
@pytest.mark.parametrize("filling", ["a", "1", " ", ".", " a=b", "(", "\u00a0123"])
def test_what_never_closes_is_no_span_and_no_trap(opening: str, filling: str) -> None:
    text = opening + filling * 30_000
    masked = mask(text)
    assert unmask(masked.text, masked.spans) == text


def test_groups_are_not_repeated_possessively():
    """Python 3.11 up to 3.11.4 matches (?:...)++ wrongly where its group backtracks; atomic groups it matches right."""
    found = [
        thing for room in (protection, sentences) for thing in vars(room).values() if isinstance(thing, re.Pattern)
    ]
    assert len(found) > 4
    for pattern in found:
        assert not re.search(r"(?<!\\)\)(?:[+*?]|\{[\d,]+\})\+", pattern.pattern)
