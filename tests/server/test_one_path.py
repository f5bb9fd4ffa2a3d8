"""The command line, Python and the server write the same translation to the byte, and no sentence is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.errors import ConfigurationError
from dragoman.server.scheduling import Scheduler
from dragoman.tasks.task import find_task
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.tasks.translation.results import SHORT
from tests.cli.conftest import run
from tests.cli.running import Run
from tests.server.asking import ask
from tests.tasks import models
from tests.tasks.models import PAIRS

__all__ = ["run"]

# Paragraphs, a numbered list, a heading, indentation, columns.
LAYOUT = (
    "{} {}\n\n  {}  {} {}\r\n\n1. {}\n2. {} {}\n\n# {}\n\n- {}\n    * {}\n{}\t{}   {}\n\n{} {} {}\n\n{}\n> {} {}\n\n"
)
PLACES = LAYOUT.count("{}")
SENTENCES, TRANSLATIONS = zip(*PAIRS[:200], strict=True)
DOCUMENT, TRANSLATED = ((LAYOUT * (200 // PLACES)).format(*side) for side in (SENTENCES, TRANSLATIONS))
LONG = f"The man sees {'the garden and ' * 100}bread."  # 1,519 characters, cut in the middle of the sentence
HTML = (
    f"<h1>{SENTENCES[0]}</h1>\n<p>{SENTENCES[1]} <b>{SENTENCES[2]}</b> The man sees 5 <i>red cars</i>.</p><p>{LONG}</p>"
)


@pytest.fixture(scope="module")
def directory(own_cache: None) -> Path:
    return models.fluent()


@pytest.fixture(scope="module")
def translator(directory: Path) -> Translator:
    return Translator.load(directory)


def served(translator: Translator, *texts: str, form: str = "text", alternatives: int = 0) -> dict[str, Any]:
    """What a worker answers."""
    sent: list[dict[str, Any]] = []
    scheduler = Scheduler({"m": translator}, {}, sent.append, sentences=5_000)
    payload = {"texts": list(texts), "format": form, "alternatives": alternatives}
    scheduler.add({"id": 1, "kind": "translate", "model": "m", "payload": payload})
    while scheduler.busy:
        scheduler.step()
    result: dict[str, Any] = sent[0]["result"]
    return result


def test_a_document_of_200_sentences(translator: Translator, directory: Path, run: Run, tmp_path: Path) -> None:
    """No sentence vanishes: it is the translations of its sentences, in their places."""
    assert 200 % PLACES == 0
    [found] = translator.translations([DOCUMENT])
    assert found.text == TRANSLATED
    assert (found.pieces, found.warnings) == (200, [])
    assert 0.9 < len(found.text) / len(DOCUMENT) < 1.1
    assert served(translator, DOCUMENT)["translations"] == [TRANSLATED]
    assert find_task("translation").golden_answers(translator, [DOCUMENT]) == [TRANSLATED]
    assert translator.evaluate([(DOCUMENT, TRANSLATED.strip())]).exact == 1
    assert run("translate", directory, DOCUMENT).out == f"{TRANSLATED}\n"
    (tmp_path / "in.txt").write_bytes(DOCUMENT.encode())
    assert run("translate", directory, tmp_path / "in.txt").out == TRANSLATED.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "text", [f"{SENTENCES[0]} {SENTENCES[1]}", LONG, "12345 😀", "  \t", "http://a.org", "The man? No..."]
)
def test_a_text(text: str, translator: Translator, directory: Path, run: Run) -> None:
    """Also from the route that explains translations, and all alternatives."""
    done = run("translate", directory, text, "--best", "3", "--json")
    told = json.loads(done.out)
    [found] = translator.translations([text], DecodingOptions(alternatives=3))
    result, explained = served(translator, text, alternatives=2), ask("explain", translator, text=text, best=3)
    texts = [each.text for each in found.alternatives]
    assert [each["text"] for each in told["translations"]] == texts
    assert [each["text"] for each in explained["translations"]] == texts
    assert [result["translations"][0], *result["alternatives"][0]] == texts
    assert told["pieces"] == explained["pieces"] == result["pieces"][0] == found.pieces
    assert told["warnings"] == explained["warnings"] == result["warnings"][0] == found.warnings


def test_a_translation_that_is_much_shorter_than_its_source_is_told(
    translator: Translator, directory: Path, run: Run
) -> None:
    """What the network leaves out: a sentence of a kind that it was never shown."""
    text = "The man sees the house and the man sees the garden."
    short = f"{SENTENCES[0]} {text}"
    [found] = translator.translations([short])
    assert len(found.units[1][1]) < 0.7 * len(text)
    assert found.warnings == [SHORT]
    assert served(translator, short)["warnings"] == [[SHORT]]
    done = run("translate", directory, short)
    assert done.err == f"warning: the text: {SHORT} ({short[:60]}...)\n"
    done = run("translate", directory, "--json", stdin=f"{SENTENCES[0]}\n{short}\n{text}\n".encode())
    assert [json.loads(line)["warnings"] for line in done.lines] == [[], [SHORT], [SHORT]]
    assert [line for line in done.err.splitlines() if "shorter" in line] == [
        f"warning: line 2: {SHORT} ({short[:60]}...)",
        f"warning: 2 lines in all: {SHORT.partition(';')[0]}",
    ]


def test_html(translator: Translator) -> None:
    [found] = translator.translations([HTML], form="html")
    assert served(translator, HTML, form="html")["translations"] == [found.text]
    assert found.text.count("<b>") == found.text.count("<i>") == 1
    with pytest.raises(ConfigurationError, match="a text is text or html, not 'pdf'"):
        translator.translations([HTML], form="pdf")
