"""Labels become text one by one: never half a character, never the beginning of a stop string."""

from __future__ import annotations

import pytest

from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError
from dragoman.tasks.language_model.streaming import TextStream

TEXT = "The  cat sat.\nIt's 3.14, ¿no?\n"


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram", "wordpiece", "words"])
def test_the_pieces_make_the_text(kind: Kind) -> None:
    tokenizer = Tokenizer.train([TEXT], kind, frequent=1, spacing="kept")
    stream = TextStream(tokenizer)
    assert "".join([*map(stream.add, tokenizer.encode([TEXT])[0].tolist()), stream.end()]) == TEXT


def test_a_character_of_several_bytes_comes_when_it_is_complete() -> None:
    tokenizer = Tokenizer.train([TEXT], "bpe", spacing="kept")
    labels = tokenizer.encode(["日é!"])[0].tolist()
    stream = TextStream(tokenizer)
    pieces = [stream.add(label) for label in labels]
    assert [piece for piece in pieces if piece] == ["日", "é", "!"]
    assert len(pieces) == 3 + 2 + 1


def test_bytes_that_are_no_character_are_shown_as_one_mark() -> None:
    tokenizer = Tokenizer.train([TEXT], "bpe", spacing="kept")
    half = tokenizer.encode(["日"])[0].tolist()[:2]
    stream = TextStream(tokenizer)
    assert [stream.add(label) for label in half] == ["", ""]
    assert stream.add(tokenizer.encode(["c"])[0][0]) == "\ufffdc"
    assert [stream.add(label) for label in half] == ["", ""]
    assert stream.end() == "\ufffd"


def characters(text: str, *stop: str) -> tuple[list[str], TextStream]:
    tokenizer = Tokenizer.train(["abc xyz\n"], "characters", spacing="kept")
    stream = TextStream(tokenizer, stop)
    return [stream.add(label) for label in tokenizer.encode([text])[0].tolist()], stream


def test_what_may_begin_a_stop_string_is_held_back() -> None:
    pieces, stream = characters("aabxabc", "abc")
    assert pieces == ["", "a", "", "abx", "", "", ""]
    assert stream.stopped
    assert stream.end() == ""


def test_what_was_held_back_comes_at_the_end() -> None:
    pieces, stream = characters("xab", "abc", "b\n")
    assert pieces == ["x", "", ""]
    assert stream.end() == "ab"
    assert not stream.stopped


def test_the_first_of_several_stop_strings_counts() -> None:
    pieces, stream = characters("xyz abc", "abc", " ", "z a")
    assert "".join(pieces) == "xyz"
    assert stream.stopped


def test_a_stop_string_has_characters() -> None:
    with pytest.raises(ConfigurationError, match="at least one character"):
        characters("a", "")
