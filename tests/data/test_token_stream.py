"""A text as one long sequence of tokens: parts, windows, tracks, and what cannot be read."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dragoman.batch import END
from dragoman.data import text_files
from dragoman.data.batching import Batching
from dragoman.data.stream_preparation import cached_stream, prepare_stream
from dragoman.data.text_files import TextFiles
from dragoman.data.token_stream import StreamSchema, TokenStream
from dragoman.data.tokenizer import Tokenizer
from dragoman.data.windows import TrackStream, Windows, WindowStream
from dragoman.errors import ConfigurationError, DataError, FileFormatError

LINES = [f"Line {i} of a text, {'very ' * (i % 4)}short.\n" for i in range(200)]
TEXT = "".join(LINES)


def written(place: Path, text: str = TEXT, name: str = "book.txt") -> TextFiles:
    (place / name).write_text(text, encoding="utf-8", newline="")
    return TextFiles((str(place / name),))


def stream_of(place: Path, text: str = TEXT, context: int = 16, **settings: object) -> TokenStream:
    schema = StreamSchema(context=context, **settings)  # type: ignore[arg-type]
    return prepare_stream(written(place, text), place / "prepared", schema)


def test_the_parts_are_ranges_of_the_text_that_end_with_a_line(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    tokenizer, bounds = stream.encoders["text"], stream.about["bounds"]
    parts = [tokenizer.decode([stream.tokens[a:b]])[0] for a, b in pairwise(bounds)]
    assert "".join(parts) == TEXT
    assert all(part.endswith("\n") for part in parts)
    assert [len(part) for part in parts] == list(stream.about["characters"].values())
    assert len(parts[0]) / len(TEXT) == pytest.approx(0.9, abs=0.011)
    assert "".join(stream.text("testing")) == parts[2]


def test_the_tokenizer_knows_nothing_of_the_other_parts(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, TEXT + "Ω\n")
    assert stream.encoders["text"].unknown_in(["Ω"]) == 1
    assert stream.about["unknown"] == [1]


@pytest.mark.parametrize("kind", ["characters", "bpe", "words"])
def test_a_text_read_in_pieces_has_the_tokens_of_the_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT + "one long line " * 40
    monkeypatch.setattr(text_files, "CHUNK", 100)
    stream = stream_of(tmp_path, text, kind=kind, vocabulary=None if kind == "characters" else 400)
    pieces = list(TextFiles((str(tmp_path / "book.txt"),)))
    assert len(pieces) > 20
    assert "".join(str(piece) for piece in pieces) == text
    np.testing.assert_array_equal(stream.tokens, stream.encoders["text"].encode([text])[0])


def test_an_end_mark_stands_between_files(tmp_path: Path) -> None:
    files = TextFiles(written(tmp_path).names + written(tmp_path, "Another.\n", "second.txt").names)
    stream = prepare_stream(files, tmp_path / "prepared", StreamSchema(context=16))
    (place,) = np.flatnonzero(stream.tokens == END)
    assert place == len(TEXT)
    assert stream.about["texts"] == 2


def test_a_window_must_say_the_next_token(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    part = stream.part("validation")
    batch = part.batch(np.arange(len(part)))
    assert batch.targets is not None
    first, last = stream.about["bounds"][1:3]
    np.testing.assert_array_equal(batch.labels, stream.tokens[first : last - 1])  # each token once, none of others
    np.testing.assert_array_equal(batch.targets, stream.tokens[first + 1 : last])
    assert (part.lengths()[:-1] == 16).all()
    np.testing.assert_array_equal(part.lengths()[:, 0], batch.lengths)


def starts(stream: WindowStream | TrackStream, batches: int) -> list[int]:
    """Where windows begin, found by what they read: every place of this text is unlike all others."""
    text, found = "".join(map(chr, stream.samples.dataset.tokens)), []
    for _ in range(batches):
        batch = next(stream)
        for a, b in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
            found.append(text.index("".join(map(chr, batch.labels[a:b]))))
    return found


def unlike(tmp_path: Path, length: int = 500, context: int = 8) -> Windows:
    """A training part without repetitions."""
    text = "".join(chr(0x4E00 + i) for i in range(length))
    schema = StreamSchema(context=context)
    return prepare_stream(written(tmp_path, text), tmp_path / "unlike", schema, (1.0, 0.0, 0.0)).part("training")


def test_windows_are_shifted_anew_in_every_epoch_and_cover_the_text(tmp_path: Path) -> None:
    part = unlike(tmp_path)
    stream = WindowStream(part, Batching(16), seed=3)
    shifts, seen = set(), set[int]()
    for _ in range(12):
        found = starts(stream, stream.batches_in_epoch)
        (shift,) = {place % 8 for place in found}
        shifts.add(shift)
        assert len(set(found)) == len(found) == len(part)
        seen |= {place + i for place in found for i in range(8)}
    assert len(shifts) > 4
    assert seen >= set(range(8, part.predicted - 8))


def test_a_stream_goes_on_where_it_was(tmp_path: Path) -> None:
    part = unlike(tmp_path)
    for kind in (WindowStream, TrackStream):
        stream = kind(part, Batching(4), seed=1)
        for _ in range(stream.batches_in_epoch + 3):
            next(stream)
        again = kind(part, Batching(4))
        again.seek(**stream.state())
        ours, theirs = next(stream), next(again)
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        assert ours.continues == theirs.continues


def test_tracks_go_on_where_the_last_batch_ended(tmp_path: Path) -> None:
    part = unlike(tmp_path)
    stream = TrackStream(part, Batching(4), seed=1)
    steps = stream.batches_in_epoch
    assert steps == 499 // 32
    found = np.array(starts(stream, steps)).reshape(steps, 4)
    assert (np.diff(found, axis=0) == 8).all()
    assert (np.diff(found[0]) == 8 * steps).all()
    first, second = next(stream), next(stream)
    assert (first.continues, second.continues) == (False, True)
    assert all(shard.continues for shard in second.shards(2))
    assert found[0, 0] != starts(TrackStream(part, Batching(4), seed=2), 1)[0]


def test_evaluated_tracks_read_the_whole_part(tmp_path: Path) -> None:
    part = unlike(tmp_path)
    batches = list(part.tracks(4))
    read = np.concatenate([batch.labels.reshape(4, -1) for batch in batches], axis=1)
    np.testing.assert_array_equal(read.ravel(), part.dataset.tokens[: read.size])
    assert part.predicted - read.size < 4
    assert [batch.continues for batch in batches] == [False] + [True] * (len(batches) - 1)


def test_batches_are_the_same_whatever_the_machine_word(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    assert stream.tokens.dtype == np.dtype("<u2")
    assert stream.part("training").batch(np.array([0, 1])).labels.dtype == np.int32


def test_it_is_found_again_without_reading_the_text(tmp_path: Path) -> None:
    files = written(tmp_path)
    digest = files.digest()
    first = cached_stream(files, digest, StreamSchema(context=16), directory=tmp_path / "cache")
    Path(files.names[0]).unlink()
    again = cached_stream(files, digest, StreamSchema(context=16), directory=tmp_path / "cache")
    assert again.directory == first.directory
    np.testing.assert_array_equal(again.tokens, first.tokens)


def test_it_appears_complete_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Tokenizer, texts: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tokenizer, "encode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream_of(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["book.txt"]


def test_a_damaged_directory_is_refused(tmp_path: Path) -> None:
    place = stream_of(tmp_path).directory
    with (place / "tokens.data").open("ab") as file:
        file.write(b"\0\0")
    with pytest.raises(FileFormatError, match="do not match each other"):
        TokenStream(place)
    (place / "about.json").write_text("{}")
    with pytest.raises(FileFormatError, match="version None"):
        TokenStream(place)


def test_compressed_and_other_line_ends_are_read(tmp_path: Path) -> None:
    plain = stream_of(tmp_path)
    (tmp_path / "book.txt.gz").write_bytes(gzip.compress(("\ufeff" + TEXT.replace("\n", "\r\n")).encode()))
    files = TextFiles((str(tmp_path / "book.txt.gz"),))
    packed = prepare_stream(files, tmp_path / "packed", StreamSchema(context=16))
    np.testing.assert_array_equal(packed.tokens, plain.tokens)


def test_a_text_shorter_than_a_window_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"90 tokens.*takes 129.*--set data.context=22"):
        stream_of(tmp_path, "0123456789" * 10, context=128)
    assert not (tmp_path / "prepared").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; a language model needs a text"),
        (b"\x00\x01\x02" * 50, "is a binary file; a language model is trained on plain text"),
        (b"%PDF-1.7 and more", "is a PDF document.*Extract its text"),
        (b"caf\xe9 au lait", "is not utf-8 text.*--encoding latin-1"),
        (b"a" * 600 + b"\x00", "NUL characters"),
    ],
)
def test_what_is_no_text_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        prepare_stream(TextFiles((str(tmp_path / "file.txt"),)), tmp_path / "prepared", StreamSchema())


def test_there_are_three_parts_and_windows_have_tokens(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown part 'selection'"):
        stream_of(tmp_path).part("selection")
    with pytest.raises(ConfigurationError, match="at least one token"):
        StreamSchema(context=0)
