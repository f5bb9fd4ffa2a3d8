"""CoNLL files, and tagged sentences in JSON Lines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dragoman.data.readers import Layout, find_format, read_records
from dragoman.data.readers import conll as conll_reader
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError, DataError
from tests.data.readers.files import account, fields, lines, write

TAGGED = Layout("tagged")
TWO = [("The\tplant", "DET\tNOUN"), ("Go\t!", "VERB\tPUNCT")]


def test_a_blank_line_ends_a_sentence(tmp_path: Path) -> None:
    text = "\n\n# a comment\nThe\tDET\nplant\tNOUN\n\n\n  \nGo\tVERB\r\n!\tPUNCT"
    assert fields(write(tmp_path, "a.conll", text), TAGGED) == TWO
    read, _ = lines(write(tmp_path, "b.conll", text), TAGGED)
    assert read == [4, 9], "the line of the first word"


@pytest.mark.parametrize("name", ["a.conll", "a.conllu", "a.iob", "a.bio", "a.tsv", "a.txt", "a.CONLL"])
def test_extensions(name: str) -> None:
    assert find_format(Source(name), TAGGED).name == "conll"


def test_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conll.gz"
    path.write_bytes(gzip.compress(b"The\tDET\nplant\tNOUN\n\nGo\tVERB\n!\tPUNCT\n"))
    assert fields(path, TAGGED) == TWO


def test_other_kinds_of_record_keep_their_formats() -> None:
    assert find_format(Source("a.tsv"), Layout()).name == "tsv"
    assert find_format(Source("a.txt"), Layout("text")).name == "plain"
    with pytest.raises(DataError, match="conll files hold tagged, not pairs"):
        find_format(Source("a.conll"), Layout())


def test_conll_u(tmp_path: Path) -> None:
    rest = "\t_" * 4
    rows = [
        "# sent_id = 1",
        "# text = Don't go",
        f"1-2\tDon't\t_\t_\t_\t_{rest}",
        f"1\tDo\tdo\tAUX\tVB\t_{rest}",
        f"2\tn't\tnot\tPART\tRB\t_{rest}",
        f"2.1\tplease\tplease\tINTJ\tUH\t_{rest}",
        f"3\tgo\tgo\tVERB\tVB\t_{rest}",
    ]
    path = write(tmp_path, "a.conllu", "\n".join(rows))
    assert fields(path, TAGGED) == [("Do\tn't\tgo", "AUX\tPART\tVERB")]
    assert fields(path, Layout("tagged", columns=(1, 4))) == [("Do\tn't\tgo", "VB\tRB\tVB")], "XPOS"


def test_columns_between_spaces_the_tag_last(tmp_path: Path) -> None:
    """CoNLL 2003."""
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n# SYM O O\n\n# a comment\nGo VB O O\n"
    path = write(tmp_path, "a.conll", text)
    assert fields(path, TAGGED) == [("EU\trejects\t#", "I-ORG\tO\tO"), ("Go", "O")]
    assert fields(path, Layout("tagged", columns=(0, 1)))[0] == ("EU\trejects\t#", "NNP\tVBZ\tSYM")


def test_a_number_sign_may_be_a_word(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", "#\tSYM\n1\tNUM\n\n# 1\n#\tSYM\n#go\tX\n")
    assert fields(path, TAGGED) == [("#\t1", "SYM\tNUM"), ("#\t#go", "SYM\tX")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("plant", "wrong number of columns"),
        ("plant\t", "empty tag"),
        ("\tNOUN", "empty word"),
        ("plant\tx\tNOUN", "wrong number of columns"),
        ("pl\0ant\tNOUN", "a NUL character"),
    ],
)
def test_a_sentence_with_a_bad_line_is_left_out_whole(tmp_path: Path, bad: str, reason: str) -> None:
    path = write(tmp_path, "a.conll", f"Go\tVERB\n\nThe\tDET\n{bad}\nis\tAUX\n\nStop\tVERB\n")
    with pytest.raises(DataError, match=rf"a.conll, line 4: {reason}.*--on-bad-line skip"):
        fields(path, TAGGED)
    read, problems = lines(path, TAGGED)
    assert read == [1, 7]
    assert account(problems) == [(reason, 4)]


def test_one_column_only(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: wrong number of columns \(1, expected a word and its tag\)"):
        fields(write(tmp_path, "a.conll", "The\nplant\n"), TAGGED)
    with pytest.raises(DataError, match=r"line 1: wrong number of columns \(2, expected at least 3\)"):
        fields(write(tmp_path, "b.conll", "The\tDET\n"), Layout("tagged", columns=(0, 2)))
    with pytest.raises(ConfigurationError, match="have no names; count them from 1"):
        fields(write(tmp_path, "c.conll", "The\tDET\n"), Layout("tagged", columns=("word", "tag")))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(b"Go\tVERB\n\nni\xf1o\tNOUN\n\nStop\tVERB\n")
    with pytest.raises(DataError, match=r"line 3: not utf-8 .*--encoding latin-1"):
        fields(path, TAGGED)
    read, problems = lines(path, TAGGED)
    assert read == [1, 5]
    assert account(problems) == [("not utf-8", 3)]


def test_a_file_that_lost_its_blank_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conll_reader, "MOST_WORDS", 5)
    path = write(tmp_path, "a.conll", "a\tX\n" * 6)
    with pytest.raises(DataError, match=r"line 6: a sentence of more than 5 words .a blank line ends a sentence"):
        fields(path, TAGGED)


def test_a_file_of_comments_has_no_sentence(tmp_path: Path) -> None:
    assert list(read_records([write(tmp_path, "a.conll", "# nothing\n\n")], TAGGED)) == []


def test_json_lines_hold_lists(tmp_path: Path) -> None:
    rows = [{"words": ["The", " big  plant"], "tags": ["DET", "NOUN"]}, {"tokens": ["Go"], "pos": ["VERB"]}]
    path = write(tmp_path, "a.jsonl", json.dumps(rows[0]))
    assert fields(path, TAGGED) == [("The\tbig plant", "DET\tNOUN")]
    path = write(tmp_path, "b.jsonl", json.dumps(rows[1]))
    assert fields(path, Layout("tagged", columns=("tokens", "pos"))) == [("Go", "VERB")]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"words": ["a", "b"], "tags": ["X"]}, "not as many words as tags"),
        ({"words": "a b", "tags": ["X", "X"]}, "words are not a list of strings"),
        ({"words": ["a"], "tags": [1]}, "tags are not a list of strings"),
        ({"words": ["a", " "], "tags": ["X", "X"]}, "words are not a list of strings"),
        ({"words": [], "tags": []}, "empty words"),
        ({"words": ["a"]}, "no key 'tags'"),
    ],
)
def test_json_lines_that_are_no_sentence(tmp_path: Path, bad: dict[str, object], reason: str) -> None:
    path = write(tmp_path, "a.jsonl", f'{{"words": ["a"], "tags": ["X"]}}\n{json.dumps(bad)}\n')
    read, problems = lines(path, TAGGED)
    assert read == [1]
    assert account(problems) == [(reason, 2)]
