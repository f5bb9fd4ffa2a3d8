"""What dragoman translate takes, and what it refuses: documents come back whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.cli.paths import looks_like_path
from dragoman.tasks.translation.options import DecodingOptions
from tests.cli.running import Run
from tests.tasks.models import PAIRS, write_pairs

SOURCES = [source for source, _ in PAIRS[::60]]

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2"><file source-language="en" target-language="es"><body>
<trans-unit id="1"><source>The man sees bread.</source></trans-unit>
</body></file></xliff>
"""
PO = """# Spanish
msgid ""
msgstr ""

msgid "The man sees bread."
msgstr ""
"""
SRT = "1\n00:00:01,000 --> 00:00:02,500\nThe man sees bread.\n\n2\n00:00:03,000 --> 00:00:04,000\nGo.\n"
VTT = "WEBVTT\n\n00:01.000 --> 00:04.000 align:start\nThe man sees bread.\n"
HTML = "<!DOCTYPE html>\n<html><body><p>The man sees bread.</p></body></html>\n"
ANDROID = '<resources>\n  <string name="a">The man sees bread.</string>\n</resources>\n'
PRETTY_JSON = '{\n  "title": "The man sees bread."\n}\n'
JSON_LINES = '{"source": "The man sees bread."}\n{"source": "A friend sells bread."}\n'
TABLE = "".join(f"{source}\t{reference}\n" for source, reference in PAIRS[:5])


def zipped() -> bytes:
    with zipfile.ZipFile(data := io.BytesIO(), "w") as archive:
        archive.writestr("word/document.xml", "<w:document/>")
    return data.getvalue()


DOCUMENTS: list[tuple[str, str | bytes, str]] = [
    ("job.xlf", XLIFF, "an XLIFF document"),
    ("memory.tmx", '<?xml version="1.0"?>\n<tmx version="1.4"><body/></tmx>\n', "a TMX translation memory"),
    ("es.po", PO, "a gettext PO catalogue"),
    ("film.srt", SRT, "a file of subtitles"),
    ("film.vtt", VTT, "a file of subtitles"),
    ("page.html", HTML, "an HTML page"),
    ("strings.xml", ANDROID, "an XML document"),
    ("texts.json", PRETTY_JSON, "a JSON document"),
    ("texts", JSON_LINES, "in JSON Lines"),
    ("pairs", TABLE, "a table, with tabs between its columns"),
    ("paper.pdf", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
    ("letter.docx", zipped(), ""),
    ("letter.rtf", "{\\rtf1\\ansi The man sees bread.}", "an RTF document"),
    ("data", b"\x00\x01\x02 bread \n", "a binary file"),
    ("windows", "The man sees bread.\n".encode("utf-16"), "UTF-16 text"),
]


IDS = [own for own, _, _ in DOCUMENTS]


@pytest.mark.parametrize("name", ["own", "text.txt"])
@pytest.mark.parametrize(("own", "content", "expected"), DOCUMENTS, ids=IDS)
def test_a_document_is_refused_by_its_content(
    own: str, content: str | bytes, expected: str, name: str, undertrained: Path, run: Run, tmp_path: Path
) -> None:
    """Under its own name and as a .txt."""
    file = tmp_path / (own if name == "own" else name)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    done = run("translate", undertrained, file)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"dragoman: {file} is {expected}")
    assert "translate reads plain text, one text per line, and tables" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "options"), [("b.tsv", []), ("b.csv", []), ("b.csv.gz", []), ("b.xlf", ["--format", "tsv"])]
)
@pytest.mark.parametrize(
    ("own", "content", "expected"), [pytest.param(*each, id=each[0]) for each in DOCUMENTS if each[1] != TABLE]
)
def test_a_document_that_is_called_a_table_is_refused(
    own: str,
    content: str | bytes,
    expected: str,
    name: str,
    options: list[str],
    undertrained: Path,
    run: Run,
    tmp_path: Path,
) -> None:
    file = tmp_path / name
    data = content.encode() if isinstance(content, str) else content
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    for more in ([], ["--on-bad-line", "skip"]):
        done = run("translate", undertrained, file, *options, *more)
        if own == "data":  # one NUL character may stand in a table that is damaged
            assert "a NUL character" in done.err
            continue
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"dragoman: {file} is {expected}")
        assert "--on-bad-line" not in done.err


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl"])
def test_a_document_is_refused_where_standard_input_should_be_a_table(
    format: str, undertrained: Path, run: Run
) -> None:
    for content, expected in ((XLIFF, "an XLIFF document"), (HTML, "an HTML page"), (SRT, "a file of subtitles")):
        done = run("translate", undertrained, "--format", format, stdin=content.encode())
        assert (done.code, done.out) == (2, "")
        assert f"standard input is {expected}" in done.err


def test_a_document_that_is_called_a_table_can_be_translated_line_by_line(
    undertrained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "film.tsv").write_text(SRT, encoding="utf-8")
    done = run("translate", undertrained, tmp_path / "film.tsv", "--format", "plain", "--beam", "1")
    assert (done.code, done.out.count("\n")) == (0, SRT.count("\n"))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("a.tsv", ["<html>bread</html>\tx", "<!-- a friend -->\ty"]),
        ("a.tsv", ["<p>bread</p>", "<p>A friend</p>", "<b>", "x</b>"]),
        ("a.tsv", ["00:00:01,000 --> 00:00:02,500\tThe man sees bread.", "00:00:03,000 --> 00:00:04,000\tGo."]),
        ("a.tsv", ['{"a": 1}\tx', '{"b": 2}\ty']),
        ("a.csv", ["<html>bread</html>,x", "<!doctype> the man,y"]),
        ("a.csv", ['"<p>the man, a friend</p>",x', '"<p>",y']),
        ("a.csv", ['bread,"1', "00:00:01,000 --> 00:00:02,500", "The man sees bread.", '"', 'a friend,"<p>']),
        ("a.csv", ["00:00:01.000 --> 00:00:02.500,bread", "00:00:03.000 --> 00:00:04.000,bread"]),
    ],
)
def test_a_table_with_markup_in_its_cells_is_a_table(
    name: str, rows: list[str], undertrained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    done = run("translate", undertrained, tmp_path / name, "--beam", "1", "--on-bad-line", "skip")
    assert done.code == 0, done.err
    assert done.lines


@pytest.mark.parametrize(("own", "content", "expected"), DOCUMENTS[:11], ids=[own for own, _, _ in DOCUMENTS[:11]])
def test_a_document_is_refused_on_standard_input(
    own: str, content: str | bytes, expected: str, undertrained: Path, run: Run
) -> None:
    done = run("translate", undertrained, stdin=content.encode() if isinstance(content, str) else content)
    assert done.code == 2
    assert f"standard input is {expected}" in done.err or "standard input cannot be read as UTF-8" in done.err


@pytest.mark.parametrize("name", ["job.xlf", "JOB.SDLXLIFF", "es.po.gz", "notes.md", "letter.odt", "app.properties"])
def test_a_document_is_refused_by_its_name(name: str, undertrained: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_text("The man sees bread.\n", encoding="utf-8")
    done = run("translate", undertrained, tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path / name} is a" in done.err


def test_lines_can_be_translated_as_they_stand_all_the_same(
    undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "film.srt").write_text(SRT, encoding="utf-8")
    done = run("translate", undertrained, tmp_path / "film.srt", "--format", "plain")
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n")[:-1] == translator.translate(SRT.split("\n")[:-1])


def test_prose_is_no_document(undertrained: Path, run: Run, tmp_path: Path) -> None:
    """Tags, arrows, brackets and tabs stand in plain text too."""
    texts = [
        ["<b>Note:</b> the man sees bread.", "<i>A friend</i>", "The man --> bread."],
        ["<none>", "The man sees bread.", "<b>Save</b>"],
        ["[1]", "[Music]", "{name} sees bread."],
        ["[The man]", '"A friend"'],
        ["The man\tsees bread.", "A friend sells bread."],
        ["-->", "A msgid is a key.", "PAR1 sees bread."],
        ["WEBVTT is a format.", "XML begins with <?xml ?>."],
    ]
    for lines in texts:
        (tmp_path / "prose.txt").write_text("\n".join(lines), encoding="utf-8")
        done = run("translate", undertrained, tmp_path / "prose.txt", "--beam", "1")
        assert done.code == 0, done.err
        assert len(done.out.split("\n")) == len(lines) + 1


def test_a_compressed_file_of_lines(undertrained: Path, translator: Translator, run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress("\n".join(SOURCES).encode()))
    assert run("translate", undertrained, tmp_path / "in.txt.gz").lines == translator.translate(SOURCES)


# Tables


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("pairs.tsv", "".join(f"{text}\tx y\n" for text in SOURCES), []),
        ("texts.tsv", "".join(f"{text}\n" for text in SOURCES), []),
        ("pairs.csv", "".join(f'"{text}",x\n' for text in SOURCES), []),
        ("pairs.csv", "id,english\n" + "".join(f'7,"{text}"\n' for text in SOURCES), ["--column", "english"]),
        ("pairs.tsv", "".join(f"7\t{text}\n" for text in SOURCES), ["--column", "2"]),
        ("pairs.jsonl", "".join(json.dumps({"source": text, "reference": "x"}) + "\n" for text in SOURCES), []),
        ("texts.jsonl", "".join(json.dumps({"en": text}) + "\n" for text in SOURCES), ["--column", "en"]),
        ("pairs", "".join(f"{text}\tx y\n" for text in SOURCES), ["--format", "tsv"]),
    ],
)
def test_the_source_column_of_a_table(
    name: str, content: str, options: list[str], undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = run("translate", undertrained, tmp_path / name, *options)
    assert (done.code, done.err) == (0, "")
    assert done.lines == translator.translate(SOURCES)


def test_a_table_on_standard_input(undertrained: Path, translator: Translator, run: Run) -> None:
    done = run("translate", undertrained, "--format", "tsv", stdin=TABLE.encode())
    assert done.lines == translator.translate([source for source, _ in PAIRS[:5]])


HOLES = {
    "a.tsv": f"{SOURCES[0]}\tx\n\ty\n\n{SOURCES[1]}\tz\n",
    "a.csv": f'"{SOURCES[0]}",x\n,y\n\n"{SOURCES[1]}",z\n',
    "a.jsonl": "".join(json.dumps({"source": text}) + "\n" for text in (SOURCES[0], "", None, SOURCES[1])),
}


@pytest.mark.parametrize("name", HOLES)
def test_an_empty_cell_stays_empty_and_no_row_moves(
    name: str, undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(HOLES[name], encoding="utf-8")
    done = run("translate", undertrained, tmp_path / name, "--out", tmp_path / "out.txt")
    assert (done.code, done.err) == (0, "")
    first, second = translator.translate(SOURCES[:2])
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == f"{first}\n\n\n{second}\n"


def test_a_line_that_is_skipped_moves_no_row(
    undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b'id,source,by\n1,bread,x\n2\n3,caf\xe9,y\n4,the man,"z, w"\n5,"a\n')
    done = run("translate", undertrained, file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}, line 3: wrong number of columns (1, expected at least 2)" in done.err
    done = run("translate", undertrained, file, "--on-bad-line", "skip")
    bread, man = translator.translate(["bread", "the man"])
    assert done.out == f"{bread}\n\n\n{man}\n\n"
    assert "1 line skipped: wrong number of columns" in done.err
    run("translate", undertrained, file, "--on-bad-line", "skip", "--out", tmp_path / "b.csv")
    rows = [f"1,bread,x,{bread}", f'4,the man,"z, w",{man}']
    assert (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines() == ["id,source,by,translation", *rows]


@pytest.mark.parametrize("out", ["b.csv", "b.tsv"])
@pytest.mark.parametrize("options", [[], ["--column", "english"], ["--column", "2", "--header"]])
def test_a_table_is_written_again_with_the_translation_as_a_column(
    out: str, options: list[str], undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    table = 'id,english,spanish\n1,bread,"pan, ""x"""\n2,,nada\n\n3,the man,\n'
    (tmp_path / "a.csv").write_text(table, encoding="utf-8")
    done = run("translate", undertrained, tmp_path / "a.csv", "--out", tmp_path / out, *options)
    assert done.code == 0, done.err
    assert ("the first line is a header, so 'english' is the column read" in done.err) == (not options)
    bread, man = translator.translate(["bread", "the man"])
    with (tmp_path / out).open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file)) if out == "b.csv" else [line.rstrip("\n").split("\t") for line in file]
    assert rows == [
        ["id", "english", "spanish", "translation"],
        ["1", "bread", 'pan, "x"', bread],
        ["2", "", "nada", ""],
        ["", "", "", ""],
        ["3", "the man", "", man],
    ]


def test_objects_are_written_again_with_the_translation(
    undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    found = [{"id": 1, "en": "bread", "translation": "x"}, {"en": None, "tags": ["ñ"]}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    arguments = "translate", undertrained, tmp_path / "a.jsonl", "--column", "en", "--best", "2"
    assert run(*arguments, "--out", tmp_path / "b.jsonl").code == 0
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    best = [a.text for a in translator.translations("bread", DecodingOptions(alternatives=2)).alternatives]
    assert rows[0] == {**found[0], "translation_new": best[0], "translation_2": best[1]}
    assert rows[1] == {**found[1], "translation": "", "translation_2": ""}


def test_a_cell_with_line_breaks_is_translated_as_the_same_text_is_anywhere(
    undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    """Its translation has the line breaks too, but where each line stands for a row."""
    text = " 1. The man sees bread.\n\n2. The man. A friend sells bread.\u2028Cafe\u0301 12345\n"
    translated = translator.translate(text)
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "source"], ["1", text], ["2", "bread"]])
    (tmp_path / "a.jsonl").write_text(json.dumps({"source": text}) + "\n", encoding="utf-8")
    for name in ("a.csv", "a.jsonl"):
        [told, *_] = run("translate", undertrained, tmp_path / name, "--json").out.split("\n")
        assert json.loads(told)["source"] == text
        assert json.loads(told)["translations"][0]["text"] == translated
    run("translate", undertrained, tmp_path / "a.csv", "--out", tmp_path / "b.csv")
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1] == ["1", text, translated]
    run("translate", undertrained, tmp_path / "a.jsonl", "--out", tmp_path / "b.jsonl")
    assert json.loads((tmp_path / "b.jsonl").read_text(encoding="utf-8"))["translation"] == translated
    lines = run("translate", undertrained, tmp_path / "a.csv").out.split("\n")
    assert lines == [translated.replace("\n\n", " ").replace("\n", " "), translator.translate("bread"), ""]


# The header of a table


HEADED = [
    ("pairs.tsv", "english\tspanish\n" + "".join(f"{text}\tx y\n" for text in SOURCES)),
    ("pairs.csv", "english,spanish\n" + "".join(f'"{text}",x\n' for text in SOURCES)),
]


@pytest.mark.parametrize(("name", "content"), HEADED)
def test_a_header_is_not_translated(
    name: str, content: str, undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    """--header says that there is one; a column that is asked for by name says so too."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    for options in (["--header"], ["--header", "--column", "1"], ["--column", "english"]):
        done = run("translate", undertrained, tmp_path / name, *options)
        assert (done.code, done.err) == (0, "")
        assert done.lines == translator.translate(SOURCES)
    done = run("translate", undertrained, tmp_path / name)
    assert done.lines == translator.translate(SOURCES)
    assert f"{name}: the first line is a header, so 'english' is the column read" in done.err
    assert run("translate", undertrained, tmp_path / name, "--no-header").lines[1:] == translator.translate(SOURCES)
    assert (
        "there is no header"
        in run("translate", undertrained, tmp_path / name, "--no-header", "--column", "english").err
    )


# Encodings


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize(("name", "end"), [("texts.txt", "\n"), ("texts.tsv", "\tx\n")])
def test_a_file_in_another_encoding(
    encoding: str, name: str, end: str, undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    texts = [f"{text} café" for text in SOURCES]
    (tmp_path / name).write_bytes("".join(text + end for text in texts).encode(encoding))
    done = run("translate", undertrained, tmp_path / name, "--encoding", encoding)
    assert (done.code, done.err) == (0, "")
    assert done.lines == translator.translate(texts)


def test_standard_input_in_another_encoding(undertrained: Path, translator: Translator, run: Run) -> None:
    done = run("translate", undertrained, "--encoding", "latin-1", stdin="café\n".encode("latin-1"))
    assert (done.code, done.lines) == (0, translator.translate(["café"]))


@pytest.mark.parametrize(("name", "text"), [("a.txt", "café\n"), ("a.tsv", "café\tx\n"), ("a.csv", "café,x\n")])
def test_a_file_that_is_not_utf_8_is_told_with_the_option_that_reads_it(
    name: str, text: str, undertrained: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    done = run("translate", undertrained, tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert str(tmp_path / name) in done.err
    assert "--encoding latin-1" in done.err
    assert run("translate", undertrained, tmp_path / name, "--encoding", "latin-1").code == 0


def test_standard_input_that_is_not_utf_8_is_told_with_the_option_that_reads_it(undertrained: Path, run: Run) -> None:
    assert "--encoding latin-1" in run("translate", undertrained, stdin="café\n".encode("latin-1")).err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--header"], "--header needs a table"),
        (["--encoding", "klingon"], "unknown encoding 'klingon'"),
        (["--format", "xliff"], "unknown format 'xliff'; available: plain, tsv, csv, jsonl, parquet"),
        (["--column", "2"], "--column needs a table"),
        (["--column", "0", "--format", "tsv"], "--column counts from 1"),
        (["--on-bad-line", "x"], "--on-bad-line must be error or skip"),
    ],
)
def test_options_that_do_not_fit(options: list[str], expected: str, undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, *options, stdin=TABLE.encode())
    assert (done.code, done.out) == (2, "")
    assert expected in done.err


def test_a_text_has_no_format(undertrained: Path, run: Run) -> None:
    assert "they do not apply to a text" in run("translate", undertrained, "The man sees bread.", "--format", "tsv").err


# Paths


@pytest.mark.parametrize(
    "name",
    [
        "gone.txt",
        "gone.xlf",
        "gone.tsv.gz",
        "gone.en",
        "gone.en,gone.es",
        "./gone",
        "../gone/file",
        "~/gone",
        "/gone/file",
        "gone/",
        "here/gone",
        "here/my file.txt",
        "./my file.tsv",
        "C:\\gone",
        "data\\gone.txt",
        "gone/all.tv",
        "gone/test.en",
        "gone/sub/file",
        "gone/sub/file.tsv",
        "all.tvs",
        "g_ok.txtt",
        "main.c",
        "x.py",
        "./my file.org",
        "ALL.TVS",
        "My File.txt",
        "my docs/all.tsv",
        # No rule is clean here. What is refused comes with the command that translates it.
        "What.is",
        "Node.js",
        "notes/all.org",
        "he/she/they",
        "Open file.txt",
    ],
)
def test_a_path_that_leads_nowhere_is_not_translated(
    name: str, undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    done = run("translate", undertrained, name)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"dragoman: {name} does not exist; check the path.")
    assert "pipe them in" in done.err


def test_a_path_with_a_space_behind_it_is_not_translated(
    undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("translate", undertrained, "all.tsv ")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("dragoman: 'all.tsv ' does not exist; check the path.")


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "yes/no",
        "km/h",
        "He/she came.",
        "he/she/they?",
        "12/05/2024",
        "What is 1/2?",
        "Input/output error",
        "Dr. Smith vs. U.S.A.",
        "Dr. Smith vs. U.S.A",
        "U.S.A",
        "U.S.SR",
        "a.k.a",
        "Ph.D",
        "p.m",
        "v1.2",
        "2.5kg",
        "Hello.World",
        "wait...what",
        "Go to example.com",
        "Go to example.org",
        "example.com",
        "Please open the file notes.txt",
        "Yes, notes.txt",
        "Hello",
        "I like tea.",
        "either/or?",
        "9 km/h",
        "Open file.txt now.",
        "e.g.",
        "i.e",
        "No.",
        "3.5",
        "The end.",
        "https://example.org/a.html",
        "/ is a slash, as in a.txt",
        "What is a .txt?",
        "...",
        "a",
        "",
    ],
)
def test_a_sentence_is_no_path(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not looks_like_path(text)


def test_sentences_with_paths_in_them_are_translated(undertrained: Path, run: Run) -> None:
    for text in ("either/or?", "Open file.txt now.", "and/or", "Go to example.com", "What is 1/2?"):
        done = run("translate", undertrained, text)
        assert (done.code, len(done.lines)) == (0, 1)


def test_a_directory_is_not_translated(
    undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    for name in ("texts", str(tmp_path)):
        done = run("translate", undertrained, name)
        assert (done.code, done.out) == (2, "")
        assert f"{name} is a directory; give a file in it" in done.err


def test_two_files_are_one_too_many(
    undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.es"):
        (tmp_path / name).write_text("bread\n", encoding="utf-8")
    assert "names two files" in run("translate", undertrained, "a.en,a.es").err


# --out


def test_a_file_is_written_whole(undertrained: Path, translator: Translator, run: Run, tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs.tsv", PAIRS[:9])
    out = tmp_path / "out.txt"
    out.write_text("before", encoding="utf-8")
    done = run("translate", undertrained, pairs, "--out", out)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert out.read_text(encoding="utf-8").splitlines() == translator.translate([source for source, _ in PAIRS[:9]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "pairs.tsv"]


def test_what_fails_leaves_the_file_as_it_was(undertrained: Path, run: Run, tmp_path: Path) -> None:
    """The mistake is found after the first texts were translated."""
    lines = ["bread"] * 1100
    (tmp_path / "in.txt").write_bytes("\n".join(lines).encode() + b"\ncaf\xe9\n")
    out = tmp_path / "out.txt"
    out.write_text("before", encoding="utf-8")
    done = run("translate", undertrained, tmp_path / "in.txt", "--out", out, "--beam", "1")
    assert done.code == 2
    assert out.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_a_text_too_long_for_a_name_is_written_to_a_file(undertrained: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    for _ in range(2):  # into a new file, and over an old one
        assert run("translate", undertrained, " ".join(SOURCES * 50), "--beam", "1", "--out", out).code == 0
        assert out.read_text(encoding="utf-8").count("\n") == 1


def test_a_link_stays_a_link(undertrained: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out.txt").symlink_to(tmp_path / "real" / "out.txt")
    assert run("translate", undertrained, "bread", "--out", tmp_path / "out.txt").code == 0
    assert (tmp_path / "out.txt").is_symlink()
    assert (tmp_path / "real" / "out.txt").read_text(encoding="utf-8")


def test_a_device_is_written_to_and_not_replaced(undertrained: Path, run: Run, tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("translate", undertrained, "bread", "--out", pipe).code == 0
        assert os.read(reader, 1000).endswith(b"\n")
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("out", "expected"),
    [("gone/out.txt", "could not be written"), (".", "it is a directory"), ("in.txt", "is the input file")],
)
def test_a_file_that_cannot_be_written(
    out: str, expected: str, undertrained: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("bread\n", encoding="utf-8")
    done = run("translate", undertrained, "in.txt", "--out", out)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert (tmp_path / "in.txt").read_text(encoding="utf-8") == "bread\n"
