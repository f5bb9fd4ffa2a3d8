"""TMX, XLIFF and PO."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from dragoman.data.readers import Layout, po
from dragoman.data.source import LONGEST_LINE
from dragoman.errors import DataError
from tests.data.readers.files import PAIRS, account, as_po, as_tmx, as_xliff, as_xliff2, fields, lines, measured, write

BOMB = '<!DOCTYPE {root} [<!ENTITY a "{text}"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">{more}]>'


def unit(**texts: str) -> str:
    return (
        "<tu>" + "".join(f'<tuv xml:lang="{lang}"><seg>{text}</seg></tuv>' for lang, text in texts.items()) + "</tu>\n"
    )


def tmx(*units: str, header: str = '<header srclang="en"/>', doctype: str = "") -> str:
    return f"{doctype}<tmx>{header}<body>\n{''.join(units)}</body></tmx>"


def test_tmx_languages_follow_the_first_unit_whatever_the_order(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tmx", tmx(unit(es="Ve.", en="Go.", fr="Va."), unit(fr="Oui", en="Yes", es="Sí")))
    assert fields(path) == [("Go.", "Ve."), ("Yes", "Sí")]
    assert fields(path, Layout(languages=("fr", "es"))) == [("Va.", "Ve."), ("Oui", "Sí")]
    assert lines(path)[0] == [2, 3]
    path = write(tmp_path, "b.tmx", tmx(unit(es="Ve.", en="Go."), unit(en="Yes", es="Sí"), header=""))
    assert fields(path) == [("Ve.", "Go."), ("Sí", "Yes")]


def test_tmx_regional_languages(tmp_path: Path) -> None:
    text = tmx(unit(**{"EN_us": "Go.", "es-ES": "Ve."}), unit(en="Yes", es="Sí"))
    path = write(tmp_path, "a.tmx", text)
    assert fields(path, Layout(languages=("en", "es"))) == [("Go.", "Ve."), ("Yes", "Sí")]
    assert fields(path, Layout(languages=("en-US", "es"))) == [("Go.", "Ve."), ("Yes", "Sí")]
    read, problems = lines(path, Layout(languages=("en-GB", "es")))
    assert read == [3]
    assert problems.lines() == ["1 segment without a text in both languages was skipped"]
    both = f"{path}: EN_us (1 unit) and en (1 unit) were read as en; --languages chooses one of them"
    assert lines(path, Layout(languages=("en", "es-ES")))[1].lines()[0] == both


def test_tmx_the_closest_region_of_a_unit_is_read(tmp_path: Path) -> None:
    units = unit(**{"en-US": "color", "en-GB": "colour", "es": "color", "es-MX": "x"}), unit(en="Yes", es="Sí")
    path = write(tmp_path, "a.tmx", tmx(*units, header='<header srclang="en"/>'))
    assert fields(path, Layout(languages=("en_gb", "es"))) == [("colour", "color"), ("Yes", "Sí")]
    assert fields(path, Layout(languages=("en", "es"))) == [("color", "color"), ("colour", "color"), ("Yes", "Sí")]


def test_tmx_the_target_is_another_language_if_there_is_one(tmp_path: Path) -> None:
    three = {"en-US": "color", "en-GB": "colour", "es": "color"}
    assert fields(write(tmp_path, "a.tmx", tmx(unit(**three)))) == [("color", "color")]
    two = {"en-US": "color", "en-GB": "colour"}
    assert fields(write(tmp_path, "b.tmx", tmx(unit(**two)))) == [("color", "colour")]


def test_tmx_variants_are_all_kept(tmp_path: Path) -> None:
    variants = [("en", "Go."), ("es", "Ve."), ("es", "Vete.")]  # with the attribute of TMX 1.1
    two = "<tu>" + "".join(f'<tuv lang="{lang}"><seg>{text}</seg></tuv>' for lang, text in variants) + "</tu>"
    assert fields(write(tmp_path, "a.tmx", tmx(two))) == [("Go.", "Ve."), ("Go.", "Vete.")]


def test_tmx_units_without_a_pair(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tmx", tmx("<tu/>\n", unit(en="Go.", es="Ve."), unit(en="x"), unit(en="x", es=" ")))
    read, problems = lines(path)
    assert read == [3]
    assert problems.lines() == [
        "3 segments were skipped: 2 without a text in both languages, 1 without a translation",
    ]
    assert fields(path, on_bad_line="error") == [("Go.", "Ve.")]
    with pytest.raises(
        DataError, match=r"no unit in en and de; its languages are en \(3 texts\), es \(2 texts\); choose"
    ):
        fields(path, Layout(languages=("en", "de")))
    with pytest.raises(DataError, match=r"no unit in two languages; its languages are en \(2 texts\)$"):
        fields(write(tmp_path, "c.tmx", tmx(unit(en="x"), unit(en="y"))))
    with pytest.raises(DataError, match="is empty; expected at least one unit"):
        fields(write(tmp_path, "b.tmx", tmx()), Layout(languages=("en", "es")))


def test_tmx_inline_codes_keep_the_text_they_hold(tmp_path: Path) -> None:
    text = unit(en='Press <hi><bpt i="1">{b}</bpt>OK</hi>', es="Pulse <ph>{0}</ph>")
    assert fields(write(tmp_path, "a.tmx", tmx(text))) == [("Press {b}OK", "Pulse {0}")]


@pytest.mark.parametrize(("name", "root"), [("a.tmx", "tmx"), ("a.xlf", "xliff")])
def test_entities_are_not_expanded(tmp_path: Path, name: str, root: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    more = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("bcdefgh", "cdefghi", strict=True))
    doctypes = {
        "bomb": BOMB.format(root=root, text="lol" * 10, more=more),
        "small": BOMB.format(root=root, text="lol", more=""),
        "outside": f'<!DOCTYPE {root} [<!ENTITY i SYSTEM "file://{tmp_path}/secret.txt">]>',
        "parameter": f'<!DOCTYPE {root} [<!ENTITY % p SYSTEM "file://{tmp_path}/secret.txt"> %p; <!ENTITY i "x">]>',
    }
    for kind, doctype in doctypes.items():
        reference = "&b;" if kind == "small" else "&i;"
        whole = (as_tmx if root == "tmx" else as_xliff)([("Go.", "Ve.")]).decode()
        text = doctype + whole[whole.index(f"<{root} ") :].replace("Ve.", reference)
        start = time.process_time()
        with pytest.raises(DataError, match="entit"):
            fields(write(tmp_path, name, text), on_bad_line="skip")
        assert time.process_time() - start < 2


def test_an_entity_that_is_defined_elsewhere_is_a_problem_not_nothing(tmp_path: Path) -> None:
    doctype = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    path = write(tmp_path, "a.tmx", tmx(unit(en="coffee", es="caf&eacute;"), unit(en="Go.", es="Ve."), doctype=doctype))
    read, problems = lines(path)
    assert read == [3]
    assert account(problems) == [("an XML entity that is not defined", 2)]


@pytest.mark.parametrize("name", ["a.tmx", "a.xlf"])
def test_xml_that_is_broken_or_something_else(tmp_path: Path, name: str) -> None:
    whole = (as_tmx if name == "a.tmx" else as_xliff)()
    for broken in (whole[:-20], whole.replace(b"Go.", b"Go.<"), whole.replace(b"Go.", b"\xff"), b"no XML", b" "):
        with pytest.raises(DataError, match=f"{name} is not well-formed XML: .*line"):
            fields(write(tmp_path, name, broken), on_bad_line="skip")
    with pytest.raises(DataError, match=f"{name} is a document <html>; expected <"):
        fields(write(tmp_path, name, b"<html><body/></html>"))


def test_xml_says_its_encoding_itself_unless_one_is_named(tmp_path: Path) -> None:
    text = tmx(unit(en="Go.", es="¿Qué?"))
    declared = f'<?xml version="1.0" encoding="iso-8859-1"?>{text}'
    assert fields(write(tmp_path, "a.tmx", declared.encode("latin-1"))) == [("Go.", "¿Qué?")]
    assert fields(write(tmp_path, "a.tmx", text.encode("utf-16"))) == [("Go.", "¿Qué?")]
    for encoding in ("latin-1", "utf-16-le", "cp037"):
        assert fields(write(tmp_path, "a.tmx", text.encode(encoding)), encoding=encoding) == [("Go.", "¿Qué?")]
    with pytest.raises(DataError, match="not well-formed XML: 'ascii' codec"):
        fields(write(tmp_path, "a.tmx", declared.encode("latin-1")), encoding="ascii")


def test_a_unit_that_does_not_end_is_an_error_in_bounded_memory(tmp_path: Path) -> None:
    inside = b"<tuv xml:lang='en'><seg>x</seg></tuv>"
    bombs = {
        "unit": b"<tmx><body><tu>" + inside * 1_000_000,
        "text": b"<tmx><body><tu><tuv><seg>" + b"x" * 40_000_000,
        "doctype": b"<!DOCTYPE tmx [" + b"<!ELEMENT a ANY><!-- x -->" * 1_500_000,
        "comments": b"<tmx><body>" + b"<!-- x -->" * 4_000_000,
    }
    base = measured(write(tmp_path, "a.tmx", as_tmx()), "tmx")[2]
    for kind, data in bombs.items():
        _, _, megabytes, error = measured(write(tmp_path, "a.tmx.gz", gzip.compress(data, 1)), "tmx")
        assert f"a unit or header of more than {LONGEST_LINE:,} bytes" in error, kind
        assert megabytes - base < 25, kind


def test_many_empty_elements_are_forgotten(tmp_path: Path) -> None:
    data = b"<tmx><body>" + b"<a/>" * 400_000 + b"</body></tmx>"
    base = measured(write(tmp_path, "a.tmx", as_tmx()), "tmx")[2]
    _, _, megabytes, error = measured(write(tmp_path, "a.tmx.gz", gzip.compress(data, 1)), "tmx")
    assert "is empty; expected at least one unit" in error
    assert megabytes - base < 10


@pytest.mark.parametrize("make", [as_xliff, as_xliff2])
def test_xliff_can_be_turned_round(tmp_path: Path, make: object) -> None:
    path = write(tmp_path, "a.xlf", make(PAIRS))  # type: ignore[operator]
    turned = [(reference, source) for source, reference in PAIRS]
    assert fields(path, Layout(languages=("en", "es"))) == PAIRS
    assert fields(path, Layout(languages=("es", "en"))) == turned
    with pytest.raises(DataError, match=r"a.xlf, line \d: the languages are en and es, not en and fr"):
        fields(path, Layout(languages=("en", "fr")))


def test_xliff_units_that_are_not_translated_or_not_finished(tmp_path: Path) -> None:
    text = as_xliff([("a", "A"), ("b", "B"), ("c", ""), ("d", "D"), ("e", "E")]).decode()
    text = text.replace("<target>B", '<target state="needs-review-translation">B').replace("<target>D</target>", "")
    text = text.replace("<target>E", '<target state="final">E')
    text = text.replace(
        "<source>e</source>", "<source>e</source><alt-trans><source>no</source><target>no</target></alt-trans>"
    )
    read, problems = lines(write(tmp_path, "a.xlf", text))
    assert fields(str(tmp_path / "a.xlf"), on_bad_line="skip") == [("a", "A"), ("e", "E")]
    assert read == [4, 20]
    assert fields(str(tmp_path / "a.xlf")) == [("a", "A"), ("e", "E")]
    told = "3 segments were skipped: 2 without a translation, 1 with an unfinished translation"
    assert problems.lines() == [told]


def test_xliff_2_segments(tmp_path: Path) -> None:
    text = as_xliff2([("a", "A")]).decode()
    more = (
        '<segment state="initial"><source>b</source><target>B</target></segment><segment><source>c</source></segment>'
    )
    path = write(tmp_path, "a.xlf", text.replace("</unit>", f"{more}<ignorable><source> </source></ignorable></unit>"))
    read, problems = lines(path)
    assert len(read) == 1
    assert problems.skipped == {"unfinished": 1, "untranslated": 1}


def test_xliff_white_space_is_layout_unless_it_is_preserved(tmp_path: Path) -> None:
    text = as_xliff([("a\n   b", "A\n   B")]).decode()
    assert fields(write(tmp_path, "a.xlf", text)) == [("a b", "A B")]
    kept = text.replace("<trans-unit", '<trans-unit xml:space="preserve"')
    assert fields(write(tmp_path, "a.xlf", kept)) == [("a\n   b", "A\n   B")]


def test_xliff_files_of_several_languages(tmp_path: Path) -> None:
    other = (
        as_xliff([("Yes", "Sí")]).decode().replace('source-language="en" target-language="es"', 'source-language="en"')
    )
    both = as_xliff([("Go.", "Ve.")]).decode().replace("</xliff>", other[other.index("<file") :])
    assert fields(write(tmp_path, "a.xlf", both), Layout(languages=("en", "es"))) == [("Go.", "Ve."), ("Yes", "Sí")]


def test_xliff_without_units(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty; expected at least one"):
        fields(write(tmp_path, "a.xlf", as_xliff([])))


PO = r"""# the header
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
msgid "Two "
"lines\n"
msgstr "¡Dos "
"líneas!\n"

#, fuzzy, c-format
msgid "maybe"
msgstr "quizá"

msgctxt "menu"
msgid "nothing"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichero"
msgstr[1] "%d ficheros"

#~ msgid "old"
#~ msgstr "viejo"

# the end
"""


def test_po_entries(tmp_path: Path) -> None:
    path = write(tmp_path, "a.po", PO)
    assert fields(path) == [
        ("Two lines", "¡Dos líneas!"),
        ("%d file", "%d fichero"),
        ("%d files", "%d ficheros"),
    ]
    read, problems = lines(path)
    assert read == [5, 19, 19]
    assert problems.lines() == [
        "3 segments were skipped: 1 with a fuzzy translation, 1 without a translation, 1 that is obsolete"
    ]


@pytest.mark.parametrize("on_bad_line", ["error", "skip"])
def test_po_that_is_broken(tmp_path: Path, on_bad_line: str) -> None:
    broken = {
        'msgid "a"\nmsgstr "b\n': "a.po is not a PO catalogue: .*line 2",
        "nonsense\n": "a.po is not a PO catalogue: .*line 1",
        'msgid "a"\nmsgstr[x] "b"\n': "a.po is not a PO catalogue",
        '# x\nmsgid "a\0"\nmsgstr "b"\n': "a.po, line 2: a NUL character",
        "\n\n": "a.po is empty; expected at least one entry",
        'msgid ""\nmsgstr "Language: es\\n"\n': "a.po is empty; expected at least one entry",
    }
    for text, message in broken.items():
        with pytest.raises(DataError, match=message):
            fields(write(tmp_path, "a.po", text), on_bad_line=on_bad_line)


def test_po_in_another_encoding_only_when_named(tmp_path: Path) -> None:
    text = PO.replace("charset=UTF-8", "charset=ISO-8859-1")
    path = write(tmp_path, "a.po", text.encode("latin-1"))
    with pytest.raises(DataError, match=r"a.po, line 8: not utf-8 .use --encoding to set the encoding"):
        fields(path, on_bad_line="skip")
    assert fields(path, encoding="latin-1", on_bad_line="skip")[0] == ("Two lines", "¡Dos líneas!")


def test_po_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(po, "LARGEST", 1000)
    path = write(tmp_path, "a.po", as_po([("a", "b")]) + b"# comment\n" * 80)
    assert fields(path) == [("a", "b")]
    with pytest.raises(DataError, match="more than 1,000 characters; split the catalogue"):
        fields(write(tmp_path, "a.po.gz", gzip.compress(Path(path).read_bytes() + b"# comment\n" * 20)))
