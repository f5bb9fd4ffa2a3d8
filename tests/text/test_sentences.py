"""Sentences and pieces: cut where it does no harm, and joined they are the text again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.protection import mask
from dragoman.text.sentences import pieces, split_sentences

# A bar stands where a sentence ends; the space before it belongs to the sentence.
SENTENCES = [
    "Hi. |How are you? |I'm fine!",
    "Hola. |¿Qué tal? |¡Muy bien! |Y tú.",
    "Hola. |¿qué tal? |¡muy bien!",
    "He left.  \t|She stayed.",
    "It fell. |2 people saw it. |(They ran.) |«Basta.» |“Go.” |Fin",
    'He asked "why?" and left. |"Because." |She sighed.',
    "«¿Qué?» preguntó Ana. |Nadie (¡nadie!) contestó.",
    "—¡Hola! —dijo Juan. |—¿Qué tal? |—Bien.",
    "Is it J? |It is Dr! |It is etc... |Wait... |What?! |No… |Well... maybe.",
    "Mr. Smith met Mrs. Jones, Dr. Who, Prof. X and St. Paul. |They talked.",
    "El Sr. Pérez y la Sra. Gil, con el Dr. Ruiz y la Dra. Sanz. |Vd. Ud. y Uds. Todos.",
    "En EE. UU. Hay de todo, p. ej. Boston. |Y en EE.UU. También.",
    "Fruit, e.g. Apples, i.e. Fruit, etc. Or not. |Yes.",
    "J. R. R. Tolkien wrote it. |C. S. Lewis too.",
    "It costs 3.14. |It cost 1,000. |In 1990. |Then it rose.",
    "See p. 5 and No. 7 of art. 3. |I said no. |Then I left.",
    "1. Open it. |2. Close it. |You have 3. |I have none.",
    "Visit example.com. |Then write to me. ok. not yet",
    "你好。|再见！|「真的？」|是。",
    "مرحبا. |كيف حالك؟ |بخير.",
    "A title\n\n|a text\nin two lines. |End.\n\n|more",
    "\n\n  Late. |Start.  ",
    "¿Ava. |Ávila. |Él. |Ñu?",
]


@pytest.mark.parametrize("marked", SENTENCES)
def test_sentences_end_where_a_reader_says(marked: str) -> None:
    assert split_sentences(marked.replace("|", "")) == marked.split("|")


def test_nothing_and_blanks() -> None:
    assert split_sentences("") == []
    assert split_sentences(" \n\n ") == [" \n\n "]


PIECES_OF_TEXT = st.lists(
    st.sampled_from([*"aÑ.!?…。,;:—-\n\t \"')«¿(5", "Mr", "e.g", " ", ". ", "\n\n", ", ", " —"]), max_size=60
).map("".join)


@given(text=PIECES_OF_TEXT | st.text(max_size=40))
def test_joined_sentences_are_the_text_and_none_is_blank(text: str) -> None:
    parts = split_sentences(text)
    assert "".join(parts) == text
    if text.strip():
        assert all(part.strip() for part in parts)
        assert not any(part[0].isspace() for part in parts[1:])


@given(text=PIECES_OF_TEXT | st.text(max_size=40), longest=st.integers(1, 30))
def test_every_piece_fits_and_joined_they_are_the_text(text: str, longest: int) -> None:
    parts = list(pieces(text, up_to(longest)))
    assert "".join(parts) == text
    assert all(0 < len(part) <= longest for part in parts) or parts == [""] == [text]


def up_to(characters: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= characters


def words(most: int) -> Callable[[str], bool]:
    return lambda text: len(text.split()) <= most


@pytest.mark.parametrize(
    ("fits", "marked"),
    [
        (up_to(99), "One. Two, three. Four."),
        (up_to(19), "One. |Two, three, four. |Five."),
        (up_to(30), "The cat, which was old, |sat on the mat near the door; |it slept."),
        (up_to(16), "El gato: negro; |y el perro"),
        (up_to(25), "Un gato —decía ella— |que come. |Y un perro —decía él— |que no come"),
        (up_to(17), "aaaa bbbb |—ccc d ddd"),
        (up_to(14), "aaaa bbbb—|cccc dddd"),
        (up_to(14), 'aaaa "bbbb," |cccc dddd'),
        (up_to(8), "一二三四，|五六七、|八九十一二三四五|六"),
        (up_to(16), "at 10:30 and |1,234,567 euros"),
        (words(4), "the quick brown fox |jumps over the lazy |dog"),
        (words(2), "  the quick |brown\nfox"),
        (up_to(9), "The quick| brown |fox jumps| high"),
        (up_to(4), "abcd|efgh|ij"),
        (up_to(6), "   abc|defgh"),
        (words(0), "a|b|,"),
    ],
)
def test_a_sentence_is_cut_at_marks_then_at_spaces_then_anywhere(fits: Callable[[str], bool], marked: str) -> None:
    assert list(pieces(marked.replace("|", ""), fits)) == marked.split("|")


@pytest.mark.parametrize("longest", [5, 100, 3000])
@pytest.mark.parametrize("text", ["palabra " * 5000, "x" * 100_000, "yes, " * 20_000, "a" + " " * 100_000 + "b"])
def test_the_question_is_asked_seldom_and_about_little(text: str, longest: int) -> None:
    asked: list[int] = []

    def fits(part: str) -> bool:
        asked.append(len(part))
        return len(part) <= longest

    parts = list(pieces(text, fits))
    assert "".join(parts) == text
    assert len(asked) <= 20 + len(parts) * (4 + longest.bit_length())
    assert sum(asked) <= 30 * len(text)


def test_after_short_pieces_a_long_one_is_found_in_few_steps() -> None:
    asked: list[int] = []

    def fits(part: str) -> bool:
        asked.append(len(part))
        return part.count("字") * 1000 + len(part) <= 4000

    parts = list(pieces("字" * 6 + "a" * 8000, fits))
    assert [len(part) for part in parts] == [3, 1000, 4000, 3003]
    assert len(asked) <= 100


@pytest.mark.parametrize(
    "unit", [".", ". ", '."', "\n", "\n ", "Mr. ", "Mr. A", "A. ", "。", " —", "— ", ",", "!) ", "1. ", " ", ".\n\n"]
)
def test_no_text_is_too_long(unit: str) -> None:
    text = unit * (50_000 // len(unit)) + "x"
    assert "".join(split_sentences(text)) == text
    assert "".join(pieces(text, up_to(5000))) == text


def test_a_row_of_dots_is_read_once() -> None:
    text = "." * 3_000_000 + "x"  # where a search starts over at every dot, this takes hours
    assert split_sentences(text) == [text]


def test_what_does_not_fit_after_all_is_cut_where_it_did() -> None:
    def fits(part: str) -> bool:
        return len(part) <= 8 and not part.endswith(", ")

    assert list(pieces("aaa, bbbbbbbb", fits)) == ["aaa, bbb", "bbbbb"]


def test_a_text_with_too_many_spans_is_cut_into_parts_with_few_enough() -> None:
    text = "Llame al " + ", ".join(str(number) for number in range(600, 630)) + " o al 900."
    assert not mask(text).complete
    parts = list(pieces(text, lambda part: mask(part).complete))
    assert "".join(parts) == text
    assert len(parts) == 4
    assert all(mask(part).complete for part in parts)
