"""Tokenizers: text to labels and back, without loss and without surprises."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import models

from dragoman.batch import END, PAD, START, UNKNOWN
from dragoman.data.tokenizer import (
    FIRST_PIECE,
    LARGEST,
    MARK,
    SMALLEST,
    Kind,
    Tokenizer,
    _normalizer,
    count_words,
    default_size,
    word_splitter,
)
from dragoman.errors import ConfigurationError, DataError, FileFormatError

KINDS: tuple[Kind, ...] = get_args(Kind)
WITH_BYTES: tuple[Kind, ...] = ("bpe", "unigram")
WITHOUT_BYTES: tuple[Kind, ...] = ("wordpiece", "words", "characters")
SPELLING: tuple[Kind, ...] = ("wordpiece", "bpe", "unigram", "characters")  # all that write any word
SIZED: tuple[Kind, ...] = ("wordpiece", "bpe", "words")
ENG_SPA = Path(__file__).parents[3] / "shared" / "data" / "eng-spa.tsv.gz"

TEXTS = [
    "¿Dónde está la niña? ¡No lo sé! La cigüeña voló.",
    "It's 3.14, isn't it? Don't say \"rock 'n' roll\" (please).",
    "«Señor», dijo Ángel — ¡ñandú!; el vergüenza-fácil cuesta 1.250,50 € o 7%...",
    "Über-cool naïve café: the plant's green/blue; e_mail @ home & away + 9 = x*y",
]


@cache
def corpus() -> list[str]:
    """Sentences enough for many pieces: made of syllables, the frequent words first."""
    rng = np.random.default_rng(0)
    syllables = ["ca", "ño", "é", "ter", "gui", "lla", "s", "pro", "ón", "bi", "ma", "x"]
    words = ["".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(2000)]
    drawn = rng.zipf(1.3, (1500, 7)) % len(words)
    return TEXTS + [" ".join(words[i] for i in row) + "." for row in drawn]


@cache
def trained(kind: Kind, large: bool = False) -> Tokenizer:
    return Tokenizer.train(corpus() if large else TEXTS, kind, 900 if large else None)


def round_trip(tokenizer: Tokenizer, text: str) -> str:
    (decoded,) = tokenizer.decode(tokenizer.encode([text]))
    return decoded


def normalize_text(text: str) -> str:
    """What encoding and decoding give back: NFC, white space collapsed."""
    return str(_normalizer().normalize_str(text))


def plainly_normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003"]
ALPHABET = sorted({character for text in TEXTS for character in text})
CHUNKS = sorted({chunk for text in TEXTS for chunk in text.split()})


def spaced(parts: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    """Parts in any order with any white space between, before and after them, or none; sometimes decomposed."""
    texts = st.lists(st.one_of(parts, st.sampled_from(SPACES)), max_size=most).map("".join)
    return st.one_of(texts, texts.map(lambda text: unicodedata.normalize("NFD", text)))


@pytest.mark.ledger("T-6.1-wordpiece")
@pytest.mark.parametrize("kind", SPELLING)
@settings(max_examples=150)
@given(text=spaced(st.one_of(st.sampled_from(ALPHABET), st.sampled_from(CHUNKS)), most=25))
def test_whatever_is_written_in_the_training_alphabet_comes_back(kind: Kind, text: str) -> None:
    assert normalize_text(text) == plainly_normalized(text)
    assert round_trip(trained(kind), text) == plainly_normalized(text)
    assert trained(kind).unknown_in([text]) == 0


@given(words=st.lists(st.sampled_from(CHUNKS), max_size=12), space=st.sampled_from(SPACES))
def test_whatever_is_written_in_training_words_comes_back(words: list[str], space: str) -> None:
    text = space + space.join(words) + space
    assert round_trip(trained("words"), text) == " ".join(words)
    assert trained("words").unknown_in([text]) == 0


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), min_size=1, max_size=3))
def test_any_text_can_be_trained_on_and_comes_back(kind: Kind, texts: list[str]) -> None:
    try:
        tokenizer = Tokenizer.train(texts, kind)
    except DataError:
        assert not any(map(normalize_text, texts))
        return
    assert tokenizer.decode(tokenizer.encode(texts)) == [normalize_text(text) for text in texts]


@given(text=st.text(st.characters(max_codepoint=0x24FF, exclude_characters="\x1c\x1d\x1e\x1f"), max_size=30))
def test_normalized_is_composed_with_single_spaces_and_no_marks(text: str) -> None:
    assert normalize_text(text) == plainly_normalized(text.replace(MARK, "_"))
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@pytest.mark.ledger("T-6.1-wordpiece")
@pytest.mark.parametrize("kind", KINDS)
def test_sentences_of_the_public_file_come_back(kind: Kind) -> None:
    if not ENG_SPA.exists():
        pytest.skip(f"{ENG_SPA} is not there: the round trip on real sentences was NOT checked")
    with gzip.open(ENG_SPA, "rt", encoding="utf-8") as lines:
        every_39th = [line.rstrip("\n") for number, line in enumerate(lines) if number % 39 == 0][:3000]
    sentences = [side for line in every_39th for side in line.split("\t")]
    assert len(sentences) == 6000
    tokenizer = Tokenizer.train(sentences, kind, 16_000 if kind == "words" else None)
    assert tokenizer.decode(tokenizer.encode(sentences)) == [plainly_normalized(sentence) for sentence in sentences]
    assert tokenizer.unknown_in(sentences) == 0


@pytest.mark.ledger("T-2.2.1-vocab")
@pytest.mark.parametrize("kind", KINDS)
def test_labels_count_from_0_and_the_first_are_reserved(kind: Kind) -> None:
    tokenizer = trained(kind, large=True)
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert (PAD, UNKNOWN, START, END, FIRST_PIECE) == (0, 1, 2, 3, 4)
    assert pieces[:FIRST_PIECE] == ["[PAD]", "[UNK]", "[START]", "[END]"]
    assert len(set(pieces)) == tokenizer.size
    assert tokenizer.pieces([tokenizer.size]) == ["⁇"]
    labels = np.concatenate(tokenizer.encode(corpus()))
    assert labels.dtype == np.int32
    assert labels.max() < tokenizer.size
    assert set(labels.tolist()).isdisjoint({PAD, START, END})
    assert kind == "words" or labels.min() >= FIRST_PIECE


@pytest.mark.parametrize("kind", KINDS)
def test_pad_start_and_end_are_not_text(kind: Kind) -> None:
    tokenizer = trained(kind)
    (labels,) = tokenizer.encode([TEXTS[0]])
    half = len(labels) // 2
    marked = [START, *labels[:half], PAD, *labels[half:], END, PAD, PAD]
    assert tokenizer.decode([marked, [], [START, END]]) == [TEXTS[0], "", ""]


LOOKALIKES = ["[END]", "[PAD] [START]", "[UNK]", "<0x41>", "<0xC3><0xB1>", "##x", "a ##b", "⁇", "x ⁇ y"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_looks_like_a_label_is_text(kind: Kind, text: str) -> None:
    """Never seen, it is spelled in bytes or unknown; seen, it comes back. It is never a special label."""
    (unseen,) = trained(kind).encode([text])
    assert set(unseen.tolist()).isdisjoint({PAD, START, END})
    if kind in WITH_BYTES:
        assert round_trip(trained(kind), text) == text
    else:
        assert trained(kind).unknown_in([text]) >= 1
    informed = Tokenizer.train([*TEXTS, *LOOKALIKES], kind)
    (seen,) = informed.encode([text])
    assert min(seen) >= FIRST_PIECE
    assert round_trip(informed, text) == text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("text", "shown"), [(MARK, "_"), (f"el{MARK} no{MARK}lo", "el_ no_lo"), (f"{MARK} ", "_")])
def test_the_mark_of_a_space_is_not_taken_for_one(kind: Kind, text: str, shown: str) -> None:
    tokenizer = Tokenizer.train([*TEXTS, text], kind)
    assert normalize_text(text) == shown
    assert round_trip(tokenizer, text) == shown


UNSEEN = ["😀", "漢字", "Ω", "wörld \U0001f469\u200d\U0001f680 ok", "\x00", "\ufffd"]


@pytest.mark.parametrize("kind", WITH_BYTES)
@pytest.mark.parametrize("text", UNSEEN)
def test_unseen_characters_survive_in_bytes(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    assert tokenizer.has_bytes
    assert round_trip(tokenizer, f"La niña {text}.") == f"La niña {text}."
    assert tokenizer.unknown_in([text]) == 0


@pytest.mark.parametrize("kind", WITHOUT_BYTES)
@pytest.mark.parametrize("text", UNSEEN)
def test_unseen_characters_are_counted_where_there_are_no_bytes(kind: Kind, text: str) -> None:
    tokenizer = trained(kind)
    assert not tokenizer.has_bytes
    assert tokenizer.unknown_in([text, "La niña.", text]) == 2 * tokenizer.unknown_in([text]) > 0
    assert round_trip(tokenizer, f"La {text}").startswith("La")
    assert round_trip(tokenizer, text).count("⁇") == tokenizer.unknown_in([text])


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("wordpiece", "no Ω lo", "no⁇lo"),
        ("wordpiece", "noñΩ lo", "⁇lo"),  # of a word with a letter it does not know nothing is left
        ("characters", "noΩ lo", "no⁇lo"),
        ("words", "lo la niña salta", "lolaniña⁇"),
    ],
)
def test_an_unknown_piece_shows_as_one_mark(kind: Kind, text: str, shown: str) -> None:
    assert round_trip(trained(kind), text).replace(" ", "") == shown
    assert trained(kind).unknown_in([text]) == shown.count("⁇") == 1


def test_words_keeps_the_most_frequent() -> None:
    tokenizer = Tokenizer.train(["c b c b a. a b d"], "words", 6)
    assert tokenizer.pieces(range(4, 6)) == [f"{MARK}b", f"{MARK}a"]  # a and c occur twice each: first by letter
    assert tokenizer.encode(["b a c d."])[0].tolist() == [4, 5, UNKNOWN, UNKNOWN, UNKNOWN]
    assert tokenizer.unknown_in(["b a c d."]) == 3


@pytest.mark.parametrize("kind", SIZED)
@pytest.mark.parametrize("size", [400, 533, 600])
def test_the_size_is_met_exactly(kind: Kind, size: int) -> None:
    tokenizer = Tokenizer.train(corpus(), kind, size)
    assert tokenizer.size == size
    assert len(tokenizer.pieces(range(size))) == len(set(tokenizer.pieces(range(size)))) == size


def test_unigram_comes_close_to_its_size() -> None:
    assert 590 <= Tokenizer.train(corpus(), "unigram", 600).size <= 600


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("wordpiece", 4 + 4 + 4),  # special; mark, a, b, c; the same as continuations
        ("bpe", 4 + 256 + 4),
        ("unigram", 4 + 256 + 4),
        ("words", 4),
        ("characters", 4 + 4),
    ],
)
def test_a_vocabulary_cannot_be_smaller_than_its_letters(kind: Kind, least: int) -> None:
    texts = ["ab ca", "cab"]
    with pytest.raises(ConfigurationError, match=f"{least - 1} labels is too small.*at least {least} "):
        Tokenizer.train(texts, kind, least - 1)
    smallest = Tokenizer.train(texts, kind, least)
    assert smallest.size == least
    assert kind == "words" or smallest.decode(smallest.encode(["bbb ac"])) == ["bbb ac"]


@pytest.mark.parametrize(
    ("frequent", "rare", "size"),
    [(0, 5000, SMALLEST), (SMALLEST + 1, 5000, SMALLEST + 1), (LARGEST - 1, 9, LARGEST - 1), (LARGEST + 1, 0, LARGEST)],
)
def test_a_derived_size_counts_the_words_seen_five_times(frequent: int, rare: int, size: int) -> None:
    counts = Counter({f"f{i}": 5 for i in range(frequent)}) + Counter({f"r{i}": 4 for i in range(rare)})
    assert default_size(counts) == size


@pytest.mark.parametrize("kind", SIZED)
def test_without_a_size_it_is_derived(kind: Kind) -> None:
    texts = [f"w{i} " * 5 for i in range(350)]
    assert Tokenizer.train(texts, kind).size == 350


def test_a_derived_size_leaves_room_for_every_letter() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 400)))
    tokenizer = Tokenizer.train([many], "wordpiece")
    assert tokenizer.size == 4 + 2 * 401
    assert round_trip(tokenizer, many[::-1]) == many[::-1]


def greedy(word: str, vocabulary: set[str]) -> list[str]:
    """WordPiece as it is defined: the longest piece that fits, then the longest that continues it."""
    pieces: list[str] = []
    while word:
        mark = "##" if pieces else ""
        length = next(n for n in range(len(word), 0, -1) if mark + word[:n] in vocabulary)
        pieces.append(mark + word[:length])
        word = word[length:]
    return pieces


@pytest.mark.ledger("T-6.1-wordpiece")
@given(word=st.text(st.sampled_from("abcegilmnoprstuxñóé"), min_size=1, max_size=12))
def test_wordpiece_takes_the_longest_match_and_marks_continuations(word: str) -> None:
    tokenizer = trained("wordpiece", large=True)
    vocabulary = set(tokenizer.pieces(range(FIRST_PIECE, tokenizer.size)))
    assert tokenizer.pieces(tokenizer.encode([word])[0]) == greedy(MARK + word, vocabulary)


@pytest.mark.ledger("T-6.1-wordpiece")
def test_wordpiece_learns_its_pieces_from_the_text() -> None:
    tokenizer = Tokenizer.train(["lower lowest low"] * 20 + ["newer wider"] * 10, "wordpiece", 60)
    pieces = tokenizer.pieces(range(tokenizer.size))
    assert f"{MARK}low" in pieces
    assert any(piece.startswith("##") and len(piece) > 3 for piece in pieces)
    assert tokenizer.pieces(tokenizer.encode(["lower"])[0])[0].startswith(f"{MARK}low")
    assert not any("z" in piece for piece in pieces)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_learnt_pieces_make_sequences_shorter_than_spelling(kind: Kind) -> None:
    learnt = sum(map(len, trained(kind, large=True).encode(corpus())))
    assert learnt < 0.5 * sum(map(len, trained("characters", large=True).encode(corpus())))


@pytest.mark.parametrize(
    "kind",
    KINDS,
)
def test_the_same_text_gives_the_same_tokenizer(kind: Kind) -> None:
    assert len({Tokenizer.train(corpus(), kind, 500).to_json() for _ in range(6)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_it_is_the_same(kind: Kind, tmp_path: Path) -> None:
    tokenizer, path = trained(kind, large=True), tmp_path / "tokenizer.json"
    tokenizer.save(path)
    loaded = Tokenizer.load(path)
    assert path.read_text(encoding="utf-8") == tokenizer.to_json()
    assert (loaded.size, loaded.has_bytes) == (tokenizer.size, tokenizer.has_bytes)
    texts = [*TEXTS, *LOOKALIKES, *UNSEEN]
    for ours, theirs in zip(tokenizer.encode(texts), loaded.encode(texts), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_and_saved_again_the_file_is_the_same(kind: Kind, tmp_path: Path) -> None:
    tokenizer, path = trained(kind, large=True), tmp_path / "tokenizer.json"
    tokenizer.save(path)
    assert Tokenizer.load(path).to_json() == tokenizer.to_json()


def foreign() -> bytes:
    return Engine(models.WordLevel({"[UNK]": 0, "a": 1}, "[UNK]")).to_str().encode()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1, 2]", b"not json", b"\xff\xfe\x00", b'{"model": {"type": "WordLevel"}}', foreign()],
)
def test_a_file_that_is_no_tokenizer_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"tokenizer\.json"):
        Tokenizer.load(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    text = trained(kind).to_json()
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(FileFormatError, match="cannot be read as a tokenizer"):
        Tokenizer.load(path)
    path.write_text(text.replace("[START]", "[BEGIN]"), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"its first labels are .*\[BEGIN\]"):
        Tokenizer.load(path)


def with_rule(tokenizer: Tokenizer, place: str, **rule: Any) -> Tokenizer:
    """The tokenizer with a rule that a stranger may have written into its file."""
    told = json.loads(tokenizer.to_json())
    parts = next(value for value in told[place].values() if isinstance(value, list))
    parts.insert(len(parts) if place == "decoder" else 0, {"pattern": {"Regex": "(a|a)*$"}, **rule})
    return Tokenizer.from_json(json.dumps(told), Path("tokenizer.json"))


def test_a_rule_that_makes_the_library_panic_is_an_error() -> None:
    """Which no `except Exception` would notice."""
    text, before = "a" * 40 + "b", Tokenizer.train(["ab"], "characters", spacing="kept")
    (labels,) = before.encode([text])
    split = with_rule(trained("words"), "pre_tokenizer", type="Split", behavior="Isolated", invert=False)
    normalized = with_rule(before, "normalizer", type="Replace", content="")
    written = with_rule(before, "decoder", type="Replace", content="")
    uses = (
        lambda: split.encode([text]), lambda: split.words(text), lambda: normalized.encode([text]),
        lambda: normalized.words(text), lambda: written.decode([labels]),
    )  # fmt: skip
    for use in uses:
        with pytest.raises(FileFormatError, match=r"tokenizer fails on this text.*retry-limit"):
            use()


@pytest.mark.parametrize("name", ["missing/tokenizer.json", "."])
def test_a_path_that_cannot_be_used_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        Tokenizer.load(tmp_path / name)
    with pytest.raises(FileFormatError, match="could not be written"):
        trained("words").save(tmp_path / name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0 "])
def test_no_text_has_no_labels(kind: Kind, text: str) -> None:
    (labels,) = trained(kind).encode([text])
    assert labels.tolist() == []
    assert trained(kind).decode([labels]) == [""]


@pytest.mark.parametrize("kind", SPELLING)
@pytest.mark.parametrize("length", [63, 64, 65, 128, 129, 5000])
def test_a_very_long_word_comes_back(kind: Kind, length: int) -> None:
    word = ("niña" * length)[:length]
    assert round_trip(trained(kind), f"{word} {word}.") == f"{word} {word}."
    assert trained(kind).unknown_in([word]) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], [""], ["  ", "\n"]])
def test_without_text_there_is_nothing_to_train(kind: Kind, texts: list[str]) -> None:
    with pytest.raises(DataError, match="no text"):
        Tokenizer.train(texts, kind)


def test_an_unknown_kind_is_refused() -> None:
    kind: Any = "sentencepiece"
    with pytest.raises(ConfigurationError, match="unknown tokenizer 'sentencepiece'; available: wordpiece, bpe"):
        Tokenizer.train(TEXTS, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_saved_file_is_text_that_shows_its_pieces(kind: Kind) -> None:
    saved = json.loads(trained(kind).to_json())
    assert saved["added_tokens"] == []  # an added token would be found inside a user's text


def words_of_the_library(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, count in count_words([text]).items():
        found[word.removeprefix(MARK)] += count
    return found


@pytest.mark.parametrize("first", range(0, 0x300, 0x40))
def test_words_below_the_first_combining_mark_are_the_librarys(first: int) -> None:
    split = word_splitter()
    for character in map(chr, range(first, first + 0x40)):
        text = f"a{character}b {character} 1{character}{character}"
        assert Counter(split(text)) == words_of_the_library(text), f"U+{ord(character):04X}"


@given(st.text(st.sampled_from("aé9_'. \t\u00a0ñ\u0301\u0940\u4e2d—’\U0001f600²½"), max_size=30))
def test_words_are_those_of_the_tokenizers(text: str) -> None:
    assert Counter(word_splitter()(text)) == words_of_the_library(text)


def test_a_splitter_keeps_the_order_and_cuts_what_is_endless() -> None:
    split = word_splitter()
    assert split("¿Sí? It's 3.14.") == ["¿", "Sí", "?", "It", "'", "s", "3", ".", "14", "."]
    assert split("‘sí’ मैं हूँ") == ["‘", "sí", "’", "मैं", "हूँ"]
    for letter in "aй":
        assert [len(word) for word in split(letter * 150)] == [64, 64, 22]


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_that_no_computer_can_hold_is_refused(kind: Kind) -> None:
    with pytest.raises(ConfigurationError, match=r"at most 10,000,000 labels, got 1,000,000,000"):
        Tokenizer.train(["a b c"], kind, 10**9)
