"""dragoman translate: only translations on standard output, one line for each line."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.cli.inputs import TOGETHER, as_they_come
from dragoman.errors import DataError
from dragoman.tasks.translation.translator import DecodingOptions
from tests.cli.running import COMMAND, Run, dragoman, start, text_stream
from tests.tasks.models import PAIRS
from tests.waiting import LONGEST

LINES = [source for source, _ in PAIRS[::60]]
TEXT = LINES[0]


def encoded(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


# Where texts come from


@pytest.mark.ledger("T-6.1-example")
def test_a_text(undertrained: Path, translator: Translator, run: Run) -> None:
    done = run("translate", undertrained, TEXT)
    assert (done.code, done.err) == (0, "")
    assert done.lines == translator.translate([TEXT])


def test_in_a_process_of_its_own(taught: Path) -> None:
    done = dragoman("translate", str(taught), "green house")
    assert (done.returncode, done.stdout, done.stderr) == (0, "verde casa\n", "")


def test_a_file_line_by_line(undertrained: Path, translator: Translator, run: Run, tmp_path: Path) -> None:
    lines = [LINES[0], "", "  ", *LINES[1:], "5 boats"]
    file = tmp_path / "in.txt"
    expected = translator.translate(lines)
    assert expected[1:3] == ["", "  "]
    for end, start_mark in (("\n", b""), ("\r\n", b""), ("\n", b"\xef\xbb\xbf")):
        file.write_bytes(start_mark + "".join(line + end for line in lines).encode())
        done = run("translate", undertrained, file)
        assert (done.code, done.err) == (0, "")
        assert done.out.split("\n") == [*expected, ""]
    file.write_text("\n".join(lines), encoding="utf-8")  # no end after the last line
    assert run("translate", undertrained, file).out.split("\n") == [*expected, ""]


def test_more_lines_than_are_translated_together(taught: Path, run: Run, tmp_path: Path) -> None:
    words = ["red", "green house", "moon", "milk"]
    (tmp_path / "in.txt").write_text("\n".join(words[i % 4] for i in range(TOGETHER + 6)), encoding="utf-8")
    done = run("translate", taught, tmp_path / "in.txt", "--beam", "1")
    assert len(done.lines) == TOGETHER + 6
    assert all(done.lines[i] == done.lines[i % 4] for i in range(TOGETHER + 6))


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_standard_input(arguments: list[str], undertrained: Path, translator: Translator, run: Run) -> None:
    done = run("translate", undertrained, *arguments, stdin=encoded([*LINES, "", "niño"]))
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n") == [*translator.translate([*LINES, "", "niño"]), ""]


def test_nothing_on_standard_input(undertrained: Path, run: Run) -> None:
    assert run("translate", undertrained) == run("translate", undertrained, "-")
    assert run("translate", undertrained).out == ""


@pytest.mark.parametrize("options", [[], ["--sample", "--seed", "3"]], ids=["beam", "sampling"])
def test_a_program_that_waits_for_each_answer_gets_it(
    options: list[str], undertrained: Path, translator: Translator
) -> None:
    """And the same answer that a file of all lines gets."""
    choice = DecodingOptions(sample=True, seed=3) if options else DecodingOptions()
    expected = [translation.text for translation in translator.translations(LINES[:3], choice)]
    process = start("translate", str(undertrained), *options)
    assert process.stdin is not None
    assert process.stdout is not None
    answers: queue.Queue[str] = queue.Queue()
    listener = threading.Thread(target=lambda: [answers.put(line) for line in process.stdout or ()], daemon=True)
    listener.start()
    found = []
    for line in LINES[:3]:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        found.append(answers.get(timeout=LONGEST).rstrip("\n"))
    process.stdin.close()
    assert process.wait(timeout=LONGEST) == 0
    listener.join(timeout=LONGEST)
    assert answers.empty()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stdout.close()
    process.stderr.close()
    assert found == expected


def test_lines_come_together_when_they_are_there_together() -> None:
    chunks = list(as_they_come(text_stream(b"a\nb\n" * TOGETHER)))
    assert sum(map(len, chunks)) == 2 * TOGETHER
    assert max(map(len, chunks)) <= TOGETHER
    assert len(chunks) < TOGETHER, "a file does not go line by line"


def test_bytes_that_are_no_utf_8(undertrained: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"caf\xe9\n")
    done = run("translate", undertrained, tmp_path / "in.txt")
    assert (done.code, done.out) == (2, "")
    assert "cannot be read as UTF-8 text" in done.err
    with pytest.raises(DataError, match="standard input cannot be read as UTF-8 text"):
        list(as_they_come(text_stream(b"good\ncaf\xe9\n")))


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_bytes_that_are_no_utf_8_on_any_terminal(locale: str, undertrained: Path) -> None:
    """Python decodes standard input loosely where no language is set; what is no text is told all the same."""
    done = dragoman("translate", str(undertrained), stdin=b"caf\xe9\n", environment={"LC_ALL": locale})
    assert (done.returncode, done.stdout) == (2, "")
    assert "UTF-8" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_ending_is_no_bug(undertrained: Path, tmp_path: Path) -> None:
    """dragoman translate model file | head -1"""
    (tmp_path / "in.txt").write_bytes(encoded(LINES * 400))
    process = subprocess.Popen(
        [*COMMAND, "translate", str(undertrained), str(tmp_path / "in.txt"), "--beam", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    told = process.stderr.read().decode()
    process.stderr.close()
    process.wait(timeout=LONGEST)
    assert "Traceback" not in told


# How it is told


def test_a_long_line_is_told_and_translated(undertrained: Path, run: Run, tmp_path: Path) -> None:
    words = " ".join(source for source, _ in PAIRS * 4).split()[:5000]
    (tmp_path / "in.txt").write_text(f"{TEXT}\n{' '.join(words)}\n{TEXT}\n", encoding="utf-8")
    done = run("translate", undertrained, tmp_path / "in.txt", "--beam", "1")
    assert done.code == 0
    assert len(done.lines) == 3
    assert done.lines[0] == done.lines[2]
    assert "1 of 3 lines were translated in several pieces" in done.err.splitlines()


def test_texts_in_several_pieces_are_counted_in_one_line(undertrained: Path, run: Run, tmp_path: Path) -> None:
    """Those with a sentence that is too long too; JSON has the number of pieces of each."""
    texts = [TEXT, f"{TEXT} {TEXT}", f"{TEXT} The man sees {'bread and ' * 40}bread.", *[f"{TEXT} {TEXT}"] * 7]
    (tmp_path / "in.txt").write_bytes(encoded(texts))
    done = run("translate", undertrained, tmp_path / "in.txt", "--beam", "1", "--json")
    [told] = [line for line in done.err.splitlines() if "pieces" in line]
    assert told == (
        "9 of 10 lines were translated in several pieces; in 1 of them a sentence was longer than those the model was "
        "trained on, and was translated in parts"
    )
    pieces, cut = zip(*((row["pieces"], row["cut"]) for row in map(json.loads, done.lines)), strict=True)
    assert pieces[:2] + pieces[3:] == (1, 2, *[2] * 7)
    assert pieces[2] > 3
    assert cut == (0, 0, 1, *[0] * 7)


def test_the_lines_of_a_text_stay_lines(undertrained: Path, run: Run) -> None:
    first, second = (run("translate", undertrained, text).out for text in ("The man sees bread.", "The garden"))
    done = run("translate", undertrained, "The man sees bread.\n\n  - The garden")
    assert (done.out, done.err) == (f"{first}\n  - {second}", "")


def test_json_tells_everything(undertrained: Path, translator: Translator, run: Run) -> None:
    lines = [TEXT, "", "The man sees 25 boats.", " ".join(LINES)]
    done = run("translate", undertrained, "--json", "--best", "2", stdin=encoded(lines))
    assert done.code == 0
    told = [json.loads(line) for line in done.lines]
    assert [line["source"] for line in told] == lines
    assert [line["pieces"] for line in told] == [1, 0, 1, len(LINES)]
    for line, expected in zip(told, translator.translations(lines, DecodingOptions(alternatives=2)), strict=True):
        assert [found["text"] for found in line["translations"]] == [a.text for a in expected.alternatives]
        scores = [found["score"] for found in line["translations"]]
        assert scores == pytest.approx([a.score for a in expected.alternatives], abs=1e-3)
    alignment = told[0]["alignment"]
    assert alignment["source"][0] == "[START]"
    assert alignment["reference"][-1] == "[END]"
    assert [link[1] for link in alignment["links"]] == list(range(len(alignment["reference"]) - 1))
    assert "alignment" not in told[1]
    assert "alignment" not in told[3]
    assert "\\u" not in done.out, "letters are written as letters"


def test_several_translations_best_first(undertrained: Path, translator: Translator, run: Run) -> None:
    done = run("translate", undertrained, TEXT, "--best", "3", "--beam", "5")
    [expected] = translator.translations([TEXT], DecodingOptions(beam=5, alternatives=3))
    assert done.lines == [alternative.text for alternative in expected.alternatives]
    assert len(done.lines) == 3


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        (["--beam", "1"], DecodingOptions(beam=1)),
        (["--length-penalty", "0"], DecodingOptions(length_penalty=0.0)),
        (["--sample", "--seed", "4"], DecodingOptions(sample=True, seed=4)),
        (
            ["--sample", "--temperature", "0.5", "--top-k", "4", "--top-p", "0.9"],
            DecodingOptions(sample=True, temperature=0.5, top_k=4, top_p=0.9),
        ),
        (["--maximum", "1"], DecodingOptions(maximum=1)),
    ],
)
def test_options_reach_the_search(
    options: list[str], choice: DecodingOptions, undertrained: Path, translator: Translator, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_bytes(encoded(LINES))
    done = run("translate", undertrained, tmp_path / "in.txt", *options)
    assert done.lines == [translation.text for translation in translator.translations(LINES, choice)]
    assert done.lines != translator.translate(LINES), "or the option changes nothing"


def test_a_prefix(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, TEXT, "--prefix", "Un amigo vende")
    assert done.code == 0
    assert done.out.startswith("Un amigo vende")
    assert not run("translate", undertrained, TEXT).out.startswith("Un amigo")


def test_a_sentence_that_is_cut_is_told(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, "bread" * 60, "--beam", "1")
    assert done.code == 0
    assert "a sentence was longer than those the model was trained on, and was translated in parts" in done.err


# Text that the model cannot read

RUSSIAN = ["Привет, мир!", "Мы видим старый дом и хлеб."]


def test_text_in_a_script_the_model_has_not_seen_is_told(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, RUSSIAN[0])
    assert (done.code, len(done.lines)) == (0, 1)
    [told] = done.err.splitlines()
    assert told.startswith("warning: the text: most letters are Cyrillic, which the model was not trained on")
    assert RUSSIAN[0] in told


def test_each_unseen_script_is_told_once_with_a_count(undertrained: Path, run: Run, tmp_path: Path) -> None:
    lines = [TEXT, *RUSSIAN, "", *RUSSIAN, "12:30", "世界", "The man reads мир."]
    (tmp_path / "in.txt").write_bytes(encoded(lines))
    done = run("translate", undertrained, tmp_path / "in.txt", "--beam", "1")
    assert (done.code, len(done.out.split("\n"))) == (0, len(lines) + 1)
    told = [line for line in done.err.splitlines() if "letters are" in line]
    assert [line.split(":")[1] for line in told] == [" line 2", " line 8", " 4 lines in all"]


def test_json_warns_of_each_line(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, "--json", "--beam", "1", stdin=encoded([TEXT, *RUSSIAN]))
    warnings = [json.loads(line)["warnings"] for line in done.lines]
    assert [any("Cyrillic" in reason for reason in some) for some in warnings] == [False, True, True]


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone", "text"], "gone is not a directory; a model is what `dragoman train --out` writes"),
        ([".", "text"], ". holds no model: there is no model.json in it"),
        (["MODEL", "text", "--best", "5"], "5 alternatives need a beam as wide, got 4"),
        (["MODEL", "text", "--sample", "--best", "2"], "sampling gives one translation per text"),
        (["MODEL", "text", "--sample", "--temperature", "0"], "temperature"),
        (["MODEL", "text", "--sample", "--top-p", "2"], "top_p"),
        (["MODEL", "text", "--maximum", "0"], "at least one token"),
        (["MODEL", "--prefix", "x"], "--prefix goes with one TEXT"),
        (["MODEL", "-", "--prefix", "x"], "--prefix goes with one TEXT"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str],
    expected: str,
    undertrained: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    told = [str(undertrained) if argument == "MODEL" else argument for argument in arguments]
    done = run("translate", *told)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("dragoman: ")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_a_line_that_is_no_sentence(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, stdin=b"word " * 300_000)
    assert done.code == 2
    assert "line 1 is longer than 1,048,576 characters" in done.err


@pytest.mark.parametrize(("given", "engine"), [("The man sees bread.", "numpy"), ("text.txt", "numba")])
def test_the_engine_is_chosen_by_the_command_not_by_the_number_of_sentences(
    given: str, engine: str, undertrained: Path, tmp_path: Path
) -> None:
    """One text is not worth loading kernels for; a file of one line uses them all the same."""
    pytest.importorskip(engine)
    (tmp_path / "text.txt").write_text("The man sees bread.\n", encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if name != "DRAGOMAN_ENGINE"}
    command = [*COMMAND, "--verbose", "translate", str(undertrained), given]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=variables, check=True)
    assert f"decoding 1 sentence with the {engine} engine" in done.stderr
