"""`dragoman data clean`, as a user runs it: files of every format are written again with all they hold."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.data.readers.files import as_tsv
from tests.data.test_doctor import SOUND

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<!-- ours --><tmx version="1.4">
  <header srclang="en-US" creationtool='x>y'/>
  <body>
    <tu tuid="1" changedate='20260101T000000Z'><note>keep &amp; care</note>
      <tuv xml:lang="en-US"><seg>The <bpt i="1">&lt;b&gt;</bpt>child<ept i="1">&lt;/b&gt;</ept> eats.</seg></tuv>
      <tuv xml:lang="es-ES"><seg>El <bpt i="1">&lt;b&gt;</bpt>niÃ±o<ept i="1">&lt;/b&gt;</ept> come &amp;.</seg></tuv>
    </tu>
    <!-- a remark -->
    <tu tuid="2"><tuv xml:lang="en-US"><seg>Go.</seg></tuv><tuv xml:lang="es-ES"><seg>Ve.</seg></tuv></tu>
    <tu tuid="3"><tuv xml:lang="en-US"><seg>Go.</seg></tuv><tuv xml:lang="es-ES"><seg>Ve.</seg></tuv></tu>
    <tu tuid="4"><tuv xml:lang="en-US"><seg>Not yet.</seg></tuv></tu><tu/>
    <tu tuid="5"><tuv xml:lang="fr"><seg>Ã©</seg></tuv>
      <tuv xml:lang="en-US"><seg>I&#x2019;m  5.</seg></tuv><tuv xml:lang="es-ES"><seg>«5»</seg></tuv></tu>
  </body>
</tmx>
"""
XLIFF = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:x="urn:x">
<file original="a" source-language="en" target-language="es" datatype="plaintext"><body>
<trans-unit id="a" x:own="1" approved="yes"><source>The child.</source>
<target state="final">El niÃ±o.</target><note>n</note></trans-unit>
<trans-unit id="b"><source>Please do not touch this.</source><target>Please do not touch this.</target></trans-unit>
<trans-unit id="c"><source>Go.</source><target>Ve.</target></trans-unit>
<trans-unit id="d"><source>Go.</source><target>Ve.</target></trans-unit>
<trans-unit id="e"><source>Not yet.</source></trans-unit>
</body></file></xliff>
"""
PO = """# kept
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#. for the menu
#: a.c:1
msgctxt "menu"
msgid "The niÃ±o."
msgstr "El niÃ±o."

#, fuzzy
msgid "maybe"
msgstr "quizÃ¡"

msgid "Please do not touch this."
msgstr "Please do not touch this."

#~ msgid "old"
#~ msgstr "viejo"
"""


def cleaned(run: Run, folder: Path, name: str, text: str, *more: str) -> tuple[str, list[str], list[str]]:
    """What is written, and said, and the reasons of what was left out."""
    (folder / name).write_text(text, encoding="utf-8")
    done = run("data", "clean", folder / name, "--out", folder / f"out-{name}", *more)
    assert done.code == 0, done.err
    removed = (folder / f"out-{name.removesuffix('.tsv')}.removed.tsv").read_text(encoding="utf-8").splitlines()
    return (folder / f"out-{name}").read_text(encoding="utf-8"), done.lines, [row.split("\t")[0] for row in removed]


def test_a_memory_keeps_ids_attributes_notes_and_what_it_does_not_read(run: Run, tmp_path: Path) -> None:
    found, said, removed = cleaned(run, tmp_path, "a.tmx", TMX)
    expected = TMX.replace("niÃ±o", "niño").replace("I&#x2019;m  5.", "I’m 5.")
    expected = expected.replace(
        expected[expected.index('\n    <tu tuid="3"') : expected.index('\n    <tu tuid="4"')], ""
    )
    before, after = expected.replace("'20260101T000000Z'", '"20260101T000000Z"'), found
    assert after == before, "units that change have their attributes between double quotes"
    assert removed == ["duplicates"]
    assert said == [
        "2 segments without a text in both languages were skipped",
        "1 pair changed (mojibake): letters of a wrong decoding mended: niÃ±o to niño",
        "1 pair changed (spaces): doubled spaces and tabs made one space",
        "1 pair left out (duplicates): duplicate pairs",
        f"3 of 4 pairs written to {tmp_path}/out-a.tmx; what was left out is in {tmp_path}/out-a.tmx.removed.tsv",
    ]


def test_nothing_to_do_changes_no_byte(run: Run, tmp_path: Path) -> None:
    for name, text in {"a.tmx": TMX, "a.xlf": XLIFF, "a.po": PO}.items():
        assert cleaned(run, tmp_path, name, text, "--repair", "none", "--drop", "none")[0] == text


def test_several_memories_become_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(TMX, encoding="utf-8")
    (tmp_path / "b.tmx").write_text(TMX.replace('tuid="', 'tuid="b').replace("Go.", "Run."), encoding="utf-8")
    (tmp_path / "c.tmx.gz").write_bytes(gzip.compress(TMX.encode()))
    names = [tmp_path / name for name in ("a.tmx", "b.tmx", "c.tmx.gz")]
    done = run("data", "clean", *names, "--out", tmp_path / "out.tmx.gz")
    assert done.code == 0, done.err
    text = gzip.decompress((tmp_path / "out.tmx.gz").read_bytes()).decode()
    assert [text.count(part) for part in ("<header", "</tmx>", "<body>", "niño", 'tuid="b2"', 'tuid="b3"')] == [
        1,
        1,
        1,
        1,
        1,
        0,
    ]
    again = run("data", "check", tmp_path / "out.tmx.gz", "--json")
    assert json.loads(again.out)["pairs"] == 4


def test_a_pair_that_shares_its_unit_stays_and_is_told(run: Run, tmp_path: Path) -> None:
    two = '<tu><tuv xml:lang="en"><seg>Go.</seg></tuv><tuv xml:lang="es"><seg>Ve.</seg></tuv>{}</tu>\n'
    more = '<tuv xml:lang="es"><seg>Vete.</seg></tuv>'
    units = two.format("") + two.format(more) + two.format(more)
    text = f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'
    found, said, removed = cleaned(run, tmp_path, "a.tmx", text)
    assert found == text.replace(units, two.format("") + two.format(more))
    assert removed == ["duplicates"] * 3
    assert said[-2:-1] == ["1 of these stay: they share a unit with others"]
    assert said[-1].startswith("3 of 5 pairs written")


def test_a_pair_that_is_dropped_stays_untranslated_in_xliff_and_po(run: Run, tmp_path: Path) -> None:
    """Programs need all of their texts; equal ones have ids of their own."""
    found, _, removed = cleaned(run, tmp_path, "a.xlf", XLIFF)
    expected = XLIFF.replace("niÃ±o", "niño").replace("<target>Please do not touch this.</target>", "")
    assert (found, removed) == (expected, ["untranslated"])
    found, _, removed = cleaned(run, tmp_path, "a.po", PO)
    expected = PO.replace('msgstr "El niÃ±o."', 'msgstr "El niño."')
    assert found == expected.replace('msgstr "Please do not touch this."', 'msgstr ""')
    assert removed == ["untranslated"]


def test_tables_keep_header_and_other_columns(run: Run, tmp_path: Path) -> None:
    table = 'id,english,spanish,note\n1,The child,"El niÃ±o, sí",a\n2,Go.,Ve.,b\n3,Go.,Ve.,"c, d"\n4,,Nada.,e\n'
    found, said, removed = cleaned(run, tmp_path, "a.csv", table)
    assert found == 'id,english,spanish,note\n1,The child,"El niño, sí",a\n2,Go.,Ve.,b\n'
    assert removed == ["empty source", "duplicates"]
    assert said[-1].startswith("2 of 4 pairs written")
    found, _, _ = cleaned(run, tmp_path, "a.tsv", "x\tThe child\tEl niÃ±o\ny\tGo.\tVe.\n", "--columns", "3,2")
    assert found == "x\tThe child\tEl niño\ny\tGo.\tVe.\n"


def test_json_lines_keep_their_other_keys(run: Run, tmp_path: Path) -> None:
    lines = [
        '{"id": 7, "source":"The child", "target":"El ni\\u00c3\\u00b1o"}',
        '{"source": "Go.",  "target": "Ve.", "x": [1]}',
    ]
    found, _, _ = cleaned(run, tmp_path, "a.jsonl", "\n".join(lines))
    assert found.splitlines() == ['{"id": 7, "source": "The child", "target": "El niño"}', lines[1]]
    nested = '{"translation": {"en": "The child", "es": "El niÃ±o"}}'
    keys = "--columns", "translation.en,translation.es"
    assert cleaned(run, tmp_path, "b.jsonl", nested, *keys)[0] == nested.replace("Ã±", "ñ") + "\n"


@pytest.mark.parametrize("name", ["out.tsv", "out.csv", "out.jsonl"])
def test_pairs_of_files_of_different_formats(name: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(TMX, encoding="utf-8")
    (tmp_path / "b.po").write_text(PO, encoding="utf-8")
    done = run("data", "clean", tmp_path / "a.tmx", tmp_path / "b.po", "--out", tmp_path / name)
    assert done.code == 0, done.err
    read = run("data", "check", tmp_path / name, "--json")
    assert json.loads(read.out)["pairs"] == 4
    assert "El niño." in (tmp_path / name).read_text(encoding="utf-8")


def test_swapped_pairs_are_turned_round_in_place(run: Run, tmp_path: Path) -> None:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="es"><seg>{target}</seg></tuv></tu>\n'
        for source, target in [*SOUND, SOUND[7][::-1]]
    )
    text = f'<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'
    found, said, _ = cleaned(run, tmp_path, "a.tmx", text, "--repair", "default,swapped", "--drop", "none")
    right = f'<seg>{SOUND[7][0]}</seg></tuv><tuv xml:lang="es"><seg>{SOUND[7][1]}</seg>'
    assert (text.count(right), found.count(right)) == (1, 2)
    assert said[0] == "1 pair changed (swapped): sides turned round"


def test_leaks_are_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_bytes(as_tsv(SOUND[:3]))
    (tmp_path / "a.tsv").write_bytes(as_tsv(SOUND[:9]))
    done = run("data", "clean", tmp_path / "a.tsv", "--out", tmp_path / "b.tsv", "--against", tmp_path / "test.tsv")
    assert (done.code, (tmp_path / "b.tsv").read_bytes()) == (0, as_tsv(SOUND[3:9])), done.err
    assert "3 pairs left out (leaked)" in done.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a.tsv", "--out", "b.tmx"], "a tmx file is written from tmx files alone, not from tsv; write .tsv"),
        (["a.tsv", "--out", "b.docx"], "its name must end in .tsv, .csv, .jsonl, .tmx, .xlf or .po"),
        (["a.tsv", "--out", "b.tsv.xz"], "its name must end in"),
        (["a.po", "a.po", "--out", "b.po"], "several po files cannot become one"),
        (["a.po", "--out", "b.po", "--repair", "swapped"], "the sources of a po file stay as they are"),
        (["wide.tmx", "--out", "b.tmx"], "a document in UTF-16, or with --encoding, cannot be written again; use .tsv"),
    ],
)
def test_what_cannot_be_written_is_told(
    arguments: list[str], expected: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_bytes(as_tsv())
    Path("a.po").write_text(PO, encoding="utf-8")
    Path("wide.tmx").write_bytes(TMX.replace("utf-8", "utf-16").encode("utf-16"))
    done = run("data", "clean", *arguments)
    assert done.code == 2
    assert expected in done.err
    assert not list(tmp_path.glob("b.*"))
