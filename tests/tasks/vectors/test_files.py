"""Word vectors on disk: back exactly, in gensim and from gensim, and every damage told."""

from __future__ import annotations

import gzip
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, DataError, DragomanError, FileFormatError
from dragoman.tasks.vectors.files import check_name, depth_of, load_vectors, save_vectors
from dragoman.tasks.vectors.words import WordVectors

NAMES = ["v.txt", "v.bin", "v.txt.gz", "v.bin.GZ", "v.vec"]
WORDS = ["the", "¿", "niño", "東京", "a\u0301", ",", '"', "12"]


@pytest.fixture
def vectors() -> WordVectors:
    values = np.random.default_rng(0).standard_normal((len(WORDS), 3)).astype(np.float32)
    values[0] = [np.finfo(np.float32).max, np.finfo(np.float32).tiny, -0.1]
    return WordVectors(WORDS, values)


def same(a: WordVectors, b: WordVectors) -> bool:
    return a.words == b.words and a.vectors.dtype == b.vectors.dtype and bool((a.vectors == b.vectors).all())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_comes_back_exactly(name: str, tmp_path: Path, vectors: WordVectors) -> None:
    save_vectors(vectors, tmp_path / name)
    assert same(load_vectors(tmp_path / name), vectors)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    content = (tmp_path / name).read_bytes()
    content = gzip.decompress(content) if name.lower().endswith(".gz") else content
    assert content.startswith(b"8 3\nthe ")
    assert (b"-0.1" in content) is (".bin" not in name)


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.txt.gz", "v.bin.gz", "v.vec"])
def test_gensim_reads_ours_and_we_read_its(name: str, tmp_path: Path, vectors: WordVectors) -> None:
    from gensim.models import KeyedVectors  # takes a second, and only this test needs it

    save_vectors(vectors, tmp_path / name)
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / name), binary=".bin" in name)
    assert theirs.index_to_key == vectors.words
    np.testing.assert_array_equal(theirs.vectors, vectors.vectors)
    theirs.save_word2vec_format(str(tmp_path / f"their-{name}"), binary=".bin" in name)
    assert same(load_vectors(tmp_path / f"their-{name}"), vectors)


def test_files_without_a_first_line_and_words_with_spaces_are_read(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("the 1 2e-1 -3 \r\n. . . 4 5 6\n", encoding="utf-8")
    found = load_vectors(file)
    assert found.words == ["the", ". . ."]
    assert depth_of(file) == 3
    np.testing.assert_array_equal(found.vectors, np.array([[1, 0.2, -3], [4, 5, 6]], np.float32))


@pytest.mark.parametrize("name", NAMES)
def test_only_what_is_wanted_is_kept(name: str, tmp_path: Path, vectors: WordVectors) -> None:
    vectors.save(tmp_path / name)
    assert depth_of(tmp_path / name) == 3
    found = load_vectors(tmp_path / name, only={"niño", "12", "absent"})
    assert found.words == ["niño", "12"]
    np.testing.assert_array_equal(found.vectors, vectors.vectors[[2, 7]])
    nothing = load_vectors(tmp_path / name, only=())
    assert (len(nothing), nothing.depth) == (0, 3)
    assert same(WordVectors.load(tmp_path / name), vectors)


@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_words_that_are_not_wanted_take_no_memory(name: str, tmp_path: Path) -> None:
    many = WordVectors([f"w{i}" for i in range(2000)], np.ones((2000, 1000), np.float32))  # 8 MB
    many.save(tmp_path / name)
    tracemalloc.start()
    try:
        assert load_vectors(tmp_path / name, only={"w7"}).vectors.shape == (1, 1000)
        assert tracemalloc.get_traced_memory()[1] < 4e6
    finally:
        tracemalloc.stop()


def rows(*words: str, depth: int = 2) -> bytes:
    return b"".join(f"{word} ".encode() + np.arange(depth, dtype="<f4").tobytes() for word in words)


DAMAGED = [
    ("v.bin", b"2 2\n" + rows("a"), "ends after 1 of 2 words"),
    ("v.bin", b"2 2\n" + rows("a", "b")[:-1], "ends after 1 of 2 words"),
    ("v.bin", b"1 2\n" + rows("a", "b"), "more after the 1 words"),
    ("v.bin", b"1 2\n" + rows("a") + b"\n", None),
    ("v.bin", b"2 2\n" + rows("a", "a"), "word 2 is 'a' a second time"),
    ("v.bin", b"1 2\n" + rows(""), "word 1 has no word before its numbers"),
    ("v.bin", b"1 2\n\xff\xfe " + rows("")[1:], "word 1 is not UTF-8"),
    ("v.bin", b"1 1\na " + np.array([np.nan], "<f4").tobytes(), "word 1, 'a', has NaN"),
    ("v.bin", b"1 2\n" + b"x" * 5000, "no word after word 0"),
    ("v.bin", b"999999999999999 2\n" + rows("a"), "ends after 1 of 999,999,999,999,999 words"),
    ("v.bin", b"9999999999999999 2\n" + rows("a"), "not with two numbers"),
    ("v.bin", b"1 99999999\na ", "vectors of 99,999,999 numbers"),
    ("v.bin", b"1 0\na ", "vectors of 0 numbers"),
    ("v.bin", b"a 0.1 0.2\n", "not with two numbers, words and depth; text is called .txt"),
    ("v.bin", (793712314).to_bytes(4, "little") + b"\x0c\0\0\0", "fastText's own .bin is a model"),
    ("v.bin", b"", "not with two numbers"),
    ("v.bin", b"0 2\n", "holds no words"),
    ("v.txt", b"", "holds no words"),
    ("v.txt", b"0 2\n", "holds no words"),
    ("v.txt", b"2 2\na 1 2\n", "says it has 2 words, but there are 1"),
    ("v.txt", b"1 2\na 1 2\nb 1 2\n", "says it has 1 words, but there are 2"),
    ("v.txt", b"2 2\na 1 2\na 1 2\n", "line 3 is 'a' a second time"),
    ("v.txt", b"1 2\na 1 x\n", "line 2 is not a word and 2 numbers"),
    ("v.txt", b"1 2\na 1\n", "line 2 is not a word and 2 numbers"),
    ("v.txt", b"1 2\n1 2\n", "line 2 is not a word and 2 numbers"),
    ("v.txt", b"1 2\n 1 2\n", "line 2 has no word before its numbers"),
    ("v.txt", b"1 2\na 1 nan\n", "line 2, 'a', has NaN"),
    ("v.txt", b"1 2\na 1 1e300\n", "a number too large"),
    ("v.txt", b"1 2\n\xff 1 2\n", "line 2 is not UTF-8"),
    ("v.txt", b"1 99999999\na 1\n", "vectors of 99,999,999 numbers"),
    ("v.txt", b"hello\n", "vectors of 0 numbers"),
    ("v.txt", b"1 2\n" + b"x" * 5000, "line 2 is longer than"),
    ("v.txt", b"2 2\n" + rows("a", "b"), "line 2 is not a word and 2 numbers"),
]


@pytest.mark.parametrize(("name", "content", "told"), DAMAGED, ids=[f"{n}-{i}" for i, (n, *_) in enumerate(DAMAGED)])
def test_damage_is_told(name: str, content: bytes, told: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    if told is None:
        assert len(load_vectors(tmp_path / name)) == 1
        return
    with pytest.raises(FileFormatError, match=told) as found:
        load_vectors(tmp_path / name)
    assert name in str(found.value)


@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_a_header_that_lies_takes_no_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"900000000000 65536\na 1")
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            load_vectors(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@given(name=st.sampled_from(["v.txt", "v.bin"]), data=st.data())
def test_nothing_but_our_errors_comes_of_changed_bytes(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / name
    save_vectors(WordVectors(["a", "bc", "ñ"], np.ones((3, 2), np.float32)), path)
    content = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=3)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(DragomanError):
        assert np.isfinite(load_vectors(path).vectors).all()


def test_what_the_formats_cannot_hold_is_refused(tmp_path: Path) -> None:
    for word in ("two words", "", "a\u00a0b", "line\n", "half\ud800"):
        with pytest.raises(DataError, match="are UTF-8 without spaces"):
            save_vectors(WordVectors([word], np.ones((1, 2), np.float32)), tmp_path / "v.txt")
    with pytest.raises(DataError, match="NaN or infinity are not written"):
        save_vectors(WordVectors(["a"], np.array([[np.nan]], np.float32)), tmp_path / "v.txt")
    with pytest.raises(DataError, match="could not be written"):
        save_vectors(WordVectors(["a"], np.ones((1, 2), np.float32)), tmp_path / "no" / "v.txt")
    assert list(tmp_path.iterdir()) == []


def test_names_are_looked_at_before_the_work(tmp_path: Path) -> None:
    check_name(tmp_path / "v.bin.gz")
    with pytest.raises(ConfigurationError, match="is not a directory"):
        check_name(tmp_path / "no" / "v.txt")
    (tmp_path / "place").mkdir()
    with pytest.raises(ConfigurationError, match=r"is a directory; give a file name, such as .*vectors\.bin"):
        check_name(tmp_path / "place")
    with pytest.raises(ConfigurationError, match=r"only \.gz compression is supported"):
        check_name(tmp_path / "v.txt.zst")
    with pytest.raises(DataError, match="does not exist"):
        load_vectors(tmp_path / "gone.txt")
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(b"1 1\na 1\n")[:-3])
    with pytest.raises(DataError, match="damaged or cut short"):
        load_vectors(tmp_path / "v.txt.gz")
