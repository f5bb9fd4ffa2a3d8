"""Tokenizers: text to labels and back without loss, on the `tokenizers` library.

A word carries its leading space as the mark U+2581, so spacing around punctuation comes back exactly: "it's 3.14, ¿no?"
is split into ▁it ' s ▁3 . 14 , ▁¿ no ?, and joining the pieces and replacing the marks by spaces restores the text.
Text is NFC-normalized, runs of white space become one space, surrounding white space is removed. No text can produce
special labels.

Language models write white space as well. With spacing "kept" it comes back as it was: every line end is a label of its
own, a space before a word is its mark, other spaces are labels too. A text cut after a line end, or before a space,
then has the labels of its pieces one after the other.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Engine

from dragoman.batch import END, PAD, START, UNKNOWN
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

Kind = Literal["wordpiece", "bpe", "unigram", "words", "characters"]
Spacing = Literal["collapsed", "kept"]
SPECIAL = {PAD: "[PAD]", UNKNOWN: "[UNK]", START: "[START]", END: "[END]"}
FIRST_PIECE = len(SPECIAL)
MARK = "\u2581"  # the space before a word
SHOWN_UNKNOWN = "\u2047"  # how an unknown label is shown
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LONGEST_PIECE = 64  # longest run of letters in one word
# Below U+0300 there are no combining marks (which Python's \w does not match) and nothing that NFC would change:
# Python's regular expressions find the same words there, eight times as fast.
_BEYOND = re.compile(r"[^\t-\r -\u02ff]")
_WORD = re.compile(rf"\w{{1,{LONGEST_PIECE}}}|[^\w\s]")
_PLAIN = re.compile(r"[\t-\r -~¡-\u02ff]+")
_MARKED_WORD = re.compile(rf"{MARK}?(?:\w{{1,{LONGEST_PIECE}}}|[^\w{MARK}])")
SMALLEST, LARGEST = 300, 16_000
MOST = 10_000_000  # the library allocates memory for the requested size before training
FREQUENT = 5


class Tokenizer:
    """Encodes text as labels: 0 pad, 1 unknown, 2 start, 3 end, then the pieces."""

    file: ClassVar[str] = "tokenizer"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        normalizer: Any = engine.normalizer
        self.keeps_spacing = normalizer is not None and normalizer.normalize_str("  \n") == "  \n"

    @property
    def size(self) -> int:
        """Number of labels, v."""
        return int(self.engine.get_vocab_size(with_added_tokens=False))

    @property
    def has_bytes(self) -> bool:
        """Whether unknown characters are encoded as bytes."""
        return self.engine.token_to_id(BYTES[0]) is not None

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        kind: Kind = "wordpiece",
        size: int | None = None,
        frequent: int = FREQUENT,
        spacing: Spacing = "collapsed",
    ) -> Tokenizer:
        """Train a tokenizer. The default size is the number of words that occur at least `frequent` times.

        Unigram may stay below the size; the others reach it if the texts have enough pieces.
        """
        if kind not in get_args(Kind):
            raise ConfigurationError(f"unknown tokenizer '{kind}'; available: {', '.join(get_args(Kind))}")
        if size is not None and size > MOST:
            raise ConfigurationError(f"a vocabulary has at most {MOST:,} labels, got {size:,}")
        counts = count_characters(texts) if kind == "characters" and spacing == "kept" else count_words(texts, spacing)
        if not counts:
            raise DataError("there is no text to train a tokenizer on")
        alphabet = sorted({character for word in counts for character in word})
        wanted = default_size(counts, frequent) if size is None else size
        least = FIRST_PIECE + len(_base_pieces(kind, alphabet, spacing))
        if wanted < least:
            if size is not None:
                raise ConfigurationError(
                    f"a {kind} vocabulary of {size} labels is too small: this text needs at least {least} "
                    f"({FIRST_PIECE} special labels and every character by itself)"
                )
            wanted = least
        return cls(_assemble(kind, _learn(kind, counts, alphabet, wanted, spacing), spacing))

    def encode(self, texts: Sequence[str]) -> list[Array]:
        """The labels of each text, without start and end: int32 arrays."""
        with _panics_explained():
            if self._characters is not None:
                return [self._encode_characters(text, self._characters) for text in texts]
            encodings = self.engine.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    @cached_property
    def _characters(self) -> Array | None:
        """The label of every code point, where each character is a piece and spacing is kept: no search is needed."""
        pieces = self.learned_pieces()
        if not self.keeps_spacing or self.has_bytes or any(len(piece) != 1 for piece in pieces):
            return None
        table = np.full(max(map(ord, [*pieces, " "])) + 2, UNKNOWN, np.int32)
        for piece in pieces:
            table[ord(piece)] = self.engine.token_to_id(piece) or UNKNOWN
        table[ord(" ")] = table[ord(MARK)] if ord(MARK) < len(table) else UNKNOWN
        return table

    def _encode_characters(self, text: str, table: Array) -> Array:
        normalizer: Any = self.engine.normalizer
        points = np.frombuffer(normalizer.normalize_str(text).encode("utf-32-le"), np.uint32)
        labels: Array = table[np.minimum(points, len(table) - 1)]
        return labels

    def words(self, text: str) -> list[tuple[str, Array]]:
        """The words and punctuation marks of a text as they stand there, each with its labels.

        All labels one after the other are those of `encode`.
        """
        with _panics_explained():
            encoding = self.engine.encode(text, add_special_tokens=False)
        found: list[_Word] = []
        pieces = zip(encoding.ids, encoding.tokens, encoding.word_ids, encoding.offsets, strict=True)
        for _, group in itertools.groupby(pieces, key=lambda piece: piece[2]):
            labels, tokens, _, places = zip(*group, strict=True)
            word = _Word(min(start for start, _ in places), max(stop for _, stop in places), list(labels))
            word.bare = tokens == (MARK,)
            if found and not tokens[0].startswith(MARK) and found[-1].goes_on(word, text):
                found[-1].stop, found[-1].bare = word.stop, False
                found[-1].labels += word.labels
            else:
                found.append(word)
        return [(text[word.start : word.stop].strip(), np.array(word.labels, np.int32)) for word in found]

    def decode(self, sequences: Iterable[Sequence[int] | Array]) -> list[str]:
        """Decode each sequence of labels; pad, start and end are left out, unknown labels become one mark."""
        texts = []
        for labels in sequences:
            runs = _split_at_unknowns([int(label) for label in labels])
            with _panics_explained():
                texts.append(SHOWN_UNKNOWN.join(self.engine.decode(run, skip_special_tokens=False) for run in runs))
        return texts if self.keeps_spacing else [text.removeprefix(" ") for text in texts]

    def pieces(self, labels: Iterable[int]) -> list[str]:
        """Return the piece of each label."""
        return [self.engine.id_to_token(int(label)) or SHOWN_UNKNOWN for label in labels]

    def learned_pieces(self) -> list[str]:
        """Return the pieces learned from the training texts, without special labels and bytes."""
        known = self.engine.get_vocab(with_added_tokens=False)
        left_out = {*SPECIAL.values(), *(BYTES if self.has_bytes else ())}
        return [piece for piece in known if piece not in left_out]

    def unknown_in(self, texts: Sequence[str]) -> int:
        """Count the pieces of these texts that have no label."""
        return sum(int((labels == UNKNOWN).sum()) for labels in self.encode(texts))

    def save(self, path: Path) -> None:
        try:
            path.write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            raise FileFormatError(f"the tokenizer could not be written to {path}: {error}") from None

    def to_json(self) -> str:
        return str(self.engine.to_str(pretty=True))

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{path} cannot be read as a tokenizer: {error}") from None
        return cls.from_json(text, path)

    @classmethod
    def from_json(cls, text: str, path: Path) -> Tokenizer:
        """What `to_json` gave; errors name the file it comes from."""
        try:
            engine = Engine.from_str(text)
        except Exception as error:  # the library raises plain Exception for whatever is wrong in the file
            raise FileFormatError(f"{path} cannot be read as a tokenizer: {error}") from None
        found = [engine.id_to_token(label) for label in SPECIAL]
        if found != list(SPECIAL.values()):
            raise FileFormatError(f"{path}: its first labels are {found}, expected {list(SPECIAL.values())}")
        return cls(engine)


@contextmanager
def _panics_explained() -> Iterator[None]:
    """Turn a panic of the library, which is no `Exception`, into an error: a rule of a file can cause one."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise FileFormatError(
            f"the model's tokenizer fails on this text ({error}); its file has a rule that this program did not write"
        ) from None


@dataclass
class _Word:
    """Where a word stands in a text, and its labels; bare: only its space mark so far."""

    start: int
    stop: int
    labels: list[int]
    bare: bool = False

    def goes_on(self, other: _Word, text: str) -> bool:
        """Whether another piece of the text belongs to this word: to the letters that a tokenizer takes one by one."""
        return self.bare or (_in_word(text[self.stop - 1]) and _in_word(text[other.start]))


def _in_word(character: str) -> bool:
    """Letters, numbers and the marks on them."""
    return unicodedata.category(character)[0] in "LNM" or character == "_"


def count_words(texts: Iterable[str], spacing: Spacing = "collapsed") -> Counter[str]:
    """Count each word (with its space mark) and each punctuation mark."""
    normalizer, splitter = _normalizer(spacing), _splitter("words", spacing)
    counts: Counter[str] = Counter()
    for text in texts:
        words = plain_words(text) if spacing == "collapsed" else None
        if words is None:
            words = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]
        counts.update(words)
    counts.pop(MARK, None)
    return counts


def plain_words(text: str) -> list[str] | None:
    """The words of a text, each with its space mark, and its punctuation marks, as tokenizers find them.

    None if the text has a character for which Python's regular expressions might find others.
    """
    return _MARKED_WORD.findall(MARK + MARK.join(text.split())) if _PLAIN.fullmatch(text) else None


def count_characters(texts: Iterable[str]) -> Counter[str]:
    """How often each character occurs, white space as it stands; a space is its mark."""
    normalizer = _normalizer("kept")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(normalizer.normalize_str(text).replace(" ", MARK))
    return counts


def word_splitter() -> Callable[[str], list[str]]:
    """Return a function that splits a text into words and punctuation marks like `count_words`, without space marks."""
    normalizer, splitter = _normalizer(), _splitter("words")

    def split(text: str) -> list[str]:
        if not _BEYOND.search(text):
            return _WORD.findall(text)
        pieces = splitter.pre_tokenize_str(normalizer.normalize_str(text))
        return [word for piece, _ in pieces if (word := piece.removeprefix(MARK))]

    return split


def default_size(counts: Counter[str], frequent: int = FREQUENT) -> int:
    """Return the number of words that occur at least `frequent` times, within bounds."""
    return max(SMALLEST, min(LARGEST, sum(count >= frequent for count in counts.values())))


def _normalizer(spacing: Spacing = "collapsed") -> Any:
    if spacing == "kept":
        ends = normalizers.Replace(Regex(r"\r\n?"), "\n")
        return normalizers.Sequence([normalizers.NFC(), normalizers.Replace(MARK, "_"), ends])
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(MARK, "_"),
            normalizers.Replace(Regex(r"\s+"), " "),
            normalizers.Strip(),
        ]
    )


def _splitter(kind: Kind, spacing: Spacing = "collapsed") -> Any:
    """Words and punctuation marks, each with the mark of the space before it; or single characters."""
    if spacing == "kept":
        word = rf"{MARK}?(\w{{1,{LONGEST_PIECE}}}|[^\w{MARK}\n])|{MARK}|\n"
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(MARK, prepend_scheme="never", split=False),
                pre_tokenizers.Split(Regex(r"[\s\S]" if kind == "characters" else word), behavior="isolated"),
            ]
        )
    piece = "." if kind == "characters" else rf"{MARK}?(\w{{1,{LONGEST_PIECE}}}|[^\w{MARK}])"
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(MARK, prepend_scheme="always", split=False),
            pre_tokenizers.Split(Regex(piece), behavior="isolated"),
        ]
    )


def _base_pieces(kind: Kind, alphabet: Sequence[str], spacing: Spacing = "collapsed") -> list[str]:
    """What guarantees that every text over the alphabet can be written."""
    characters = list(dict.fromkeys([MARK, *(["\n"] if spacing == "kept" else []), *alphabet]))
    if kind == "wordpiece":
        inside = [each for each in alphabet if spacing == "collapsed" or not each.isspace()]
        return characters + [f"##{character}" for character in inside]
    if kind in ("bpe", "unigram"):
        return BYTES + characters
    if kind == "words" and spacing == "kept":
        return characters[:2]
    return characters if kind == "characters" else []


def _learn(kind: Kind, counts: Counter[str], alphabet: Sequence[str], size: int, spacing: Spacing) -> Any:
    """The model of a trained vocabulary of at most `size` labels: special labels, base pieces, learnt pieces."""
    special, base = list(SPECIAL.values()), _base_pieces(kind, alphabet, spacing)
    if kind == "characters":
        return models.WordLevel(_numbered(special + base), SPECIAL[UNKNOWN])
    if kind == "words":
        frequent = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
        pieces = list(dict.fromkeys(special + base + frequent))
        return models.WordLevel(_numbered(pieces[:size]), SPECIAL[UNKNOWN])
    if spacing == "kept":
        counts = Counter({word: count for word, count in counts.items() if not word.isspace()})
    trained = _trained_engine(kind, counts, alphabet, size - FIRST_PIECE - len(base) + len(alphabet))
    if kind == "wordpiece":
        pieces = sorted(trained["vocab"], key=lambda piece: int(trained["vocab"][piece]))
        vocabulary = _numbered((list(dict.fromkeys(special + base + pieces)))[:size])
        return models.WordPiece(vocabulary, unk_token=SPECIAL[UNKNOWN], max_input_chars_per_word=2 * LONGEST_PIECE)
    if kind == "bpe":
        return _bpe(special + base, [tuple(merge) for merge in trained["merges"]], size)
    return _unigram(special, base, [(piece, score) for piece, score in trained["vocab"]], size)


def _bpe(first: list[str], merges: list[tuple[str, str]], size: int) -> Any:
    """Keep as many merges, in the order they were learned, as fit into the size."""
    pieces = dict.fromkeys(first)
    kept = []
    for left, right in merges:
        if len(pieces) >= size and left + right not in pieces:
            break
        pieces[left + right] = None
        kept.append((left, right))
    return models.BPE(_numbered(list(pieces)), kept, unk_token=SPECIAL[UNKNOWN], byte_fallback=True)


def _unigram(special: list[str], base: list[str], learned: list[tuple[str, float]], size: int) -> Any:
    """Give bytes and letters that the trainer left out a score below all others."""
    scores = {piece: round(score, 6) for piece, score in learned if piece not in special}
    lowest = min(scores.values())
    spread = 1e-4 * len(base)  # the trainer ranks unused letters in hash order: make their scores equal
    scores = {p: lowest if len(p) == 1 and s <= lowest + spread else s for p, s in scores.items()}
    ranked = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    scored = dict.fromkeys(special, 0.0) | {piece: scores.get(piece, round(lowest - 10, 6)) for piece in base} | ranked
    return models.Unigram(list(scored.items())[:size], UNKNOWN, byte_fallback=True)


def _trained_engine(kind: Kind, counts: Counter[str], alphabet: Sequence[str], size: int) -> dict[str, Any]:
    """Let the library learn pieces; its model as plain data. Special labels and bytes are added by the caller."""
    letters, unknown = list(alphabet), SPECIAL[UNKNOWN]
    size = max(size, len(letters) + 1)
    trainer: Any
    if kind == "unigram":
        engine = Engine(models.Unigram())
        trainer = trainers.UnigramTrainer(
            vocab_size=size, initial_alphabet=letters, unk_token=unknown, special_tokens=[unknown], show_progress=False
        )
    elif kind == "bpe":
        engine = Engine(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=letters, show_progress=False)
    else:  # the alphabet counts twice: each letter also as a continuation
        engine = Engine(models.WordPiece(unk_token=unknown))
        trainer = trainers.WordPieceTrainer(
            vocab_size=size + len(letters),
            initial_alphabet=letters,
            special_tokens=[f"##{letter}" for letter in letters],
            show_progress=False,
        )
    engine.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    engine.train_from_iterator(_repeated(counts), trainer)
    model: dict[str, Any] = json.loads(engine.to_str())["model"]
    return model


def _repeated(counts: Counter[str]) -> Iterator[str]:
    """Yield the words as often as they occur, up to 500 per line."""
    for word in sorted(counts):
        remaining = counts[word]
        while remaining > 0:
            yield " ".join([word] * min(remaining, 500))
            remaining -= 500


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    return {piece: label for label, piece in enumerate(dict.fromkeys(pieces))}


def _assemble(kind: Kind, model: Any, spacing: Spacing) -> Engine:
    engine = Engine(model)
    engine.normalizer = _normalizer(spacing)
    engine.pre_tokenizer = _splitter(kind, spacing)
    steps: list[Any] = []
    if kind == "wordpiece":
        steps.append(decoders.Replace(Regex(r"^##(?=.)"), ""))
    if kind in ("bpe", "unigram"):
        steps.append(decoders.ByteFallback())
    engine.decoder = decoders.Sequence([*steps, decoders.Fuse(), decoders.Replace(MARK, " ")])
    return engine


def _split_at_unknowns(labels: Sequence[int]) -> list[list[int]]:
    """Split at unknown labels into runs of pieces; other special labels are dropped."""
    runs: list[list[int]] = [[]]
    for label in labels:
        if label == UNKNOWN:
            runs.append([])
        elif label >= FIRST_PIECE:
            runs[-1].append(label)
    return runs
