"""JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.data.readers import Layout
from dragoman.errors import ConfigurationError, DataError
from tests.data.readers.files import account, fields, lines, write


def test_keys_are_chosen_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"id": 1, "en": "Go.", "es": "¿Qu\\u00e9?"}\r\n{"es": "Sí\\nno", "en": "Yes"}')
    assert fields(path, Layout(columns=("en", "es"))) == [("Go.", "¿Qué?"), ("Yes", "Sí\nno")]
    assert fields(path, Layout("text", columns=("es",))) == [("¿Qué?",), ("Sí\nno",)]
    with pytest.raises(DataError, match=r"line 1: no key 'source' .expected source, target"):
        fields(path)
    with pytest.raises(ConfigurationError, match="JSON has no column numbers; give the keys"):
        fields(path, Layout(columns=(0, 1)))


def test_nested_objects_are_reached_with_dots(tmp_path: Path) -> None:
    found = [{"translation": {"en": "Go.", "es": "Ve."}}, {"translation": "x"}, {"translation": {"en": {"a": 1}}}]
    path = write(tmp_path, "a.jsonl", "\n".join(map(json.dumps, found)))
    layout = Layout(columns=("translation.en", "translation.es"))
    read, problems = lines(path, layout)
    assert read == [1]
    assert account(problems) == [("no key 'en'", 2), ("not a string", 3)]
    assert fields(write(tmp_path, "b.jsonl", '{"a.b": "x"}'), Layout("text", columns=("a.b",))) == [("x",)]


@pytest.mark.parametrize(
    ("value", "reason", "detail"),
    [
        ("[1]", "not a string", "the target is a list"),
        ("{}", "not a string", "the target is a dict"),
        ("7", "not a string", "the target is a int"),
        ("1.5", "not a string", "the target is a float"),
        ("NaN", "not a string", "the target is a float"),
        ("true", "not a string", "the target is a bool"),
        ("null", "empty target", ""),
        ('" "', "empty target", ""),
        ('"\\u0000"', "a NUL character", "in the target"),
        ('"\\ud800"', "half a surrogate pair", "in the target"),
        ("9" * 5000, "not JSON", None),
    ],
)
def test_values_that_are_no_text(tmp_path: Path, value: str, reason: str, detail: str | None) -> None:
    path = write(tmp_path, "a.jsonl", f'{{"source": "a", "reference": "b"}}\n{{"source": "a", "reference": {value}}}\n')
    read, problems = lines(path)
    assert read == [1]
    assert account(problems) == [(reason, 2)]
    if detail is not None:
        assert problems.examples[reason][0].detail == detail
    with pytest.raises(DataError, match=f"a.jsonl, line 2: {reason}"):
        fields(path)


def test_lines_that_are_no_objects(tmp_path: Path) -> None:
    bad = ["{", "[]", "", "nonsense", "[" * 100_000, '{"source": "a"}']
    read, problems = lines(write(tmp_path, "a.jsonl", "\n".join([*bad, '{"source": "a", "reference": "b"}'])))
    assert read == [7]
    reasons = ["not JSON", "not a JSON object", "an empty line", "not JSON", "not JSON", "no key 'target'"]
    assert account(problems) == list(zip(reasons, range(1, 7), strict=True))


def test_a_label_may_be_a_number_a_truth_or_a_list(tmp_path: Path) -> None:
    labels = ["1", "true", "2.5", '["a", 3]', "null", '{"a": 1}', "[null]"]
    path = write(tmp_path, "a.jsonl", "".join(f'{{"label": {label}, "text": "Sí"}}\n' for label in labels))
    read, problems = lines(path, Layout("labelled"))
    assert read == [1, 2, 3, 4]
    assert problems.counts == {"empty label": 1, "not a string": 1, "not a list of labels": 1}
    write(tmp_path, "b.jsonl", "".join(f'{{"label": {label}, "text": "Sí"}}\n' for label in labels[:4]))
    found = [label for label, _ in fields(tmp_path / "b.jsonl", Layout("labelled"))]
    assert found == ["1", "true", "2.5", '["a", "3"]']
    assert lines(write(tmp_path, "c.jsonl", '{"label": "a", "text": 2}'), Layout("labelled"))[0] == []


# What `dragoman serve --suggestions FILE` writes


def suggestion(source: str, target: str, q: str, s: str) -> str:
    return json.dumps({"time": "2026-11-19T00:00:00+00:00", "source": source, "target": target, "q": q, "s": s}) + "\n"


def test_suggestions_of_a_server_are_pairs_in_one_direction(tmp_path: Path) -> None:
    text = (
        suggestion("en", "es", "Go.", "Ve.")
        + suggestion("es", "en", "Sí", "Yes")
        + suggestion("en", "fr", "No", "Non")
        + suggestion("en-GB", "es", "Hi.", "Hola.")
    )
    path = write(tmp_path, "a.jsonl", text)
    assert fields(path) == [("Go.", "Ve."), ("Yes", "Sí"), ("Hi.", "Hola.")]
    assert fields(path, Layout(languages=("es", "en"))) == [("Ve.", "Go."), ("Sí", "Yes"), ("Hola.", "Hi.")]
    assert lines(path)[1].lines() == [
        f"{path}: 2 suggestions from en to es, 1 from es to en turned round",
        "1 segment in other languages was skipped",
    ]
    assert fields(path, Layout(columns=("q", "s")))[1] == ("Sí", "Yes")


def test_codes_of_languages_are_not_taken_for_texts(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"source": "en", "target": "es", "text": "Go.", "translation": "Ve."}\n')
    with pytest.raises(
        DataError, match=r"source and target are codes of languages \(there are 'text', 'translation'; name"
    ):
        fields(path)
    assert fields(path, Layout(columns=("text", "translation"))) == [("Go.", "Ve.")]
    path = write(tmp_path, "b.jsonl", '{"source": "no", "target": "es", "id": "1"}\n{"source": "Go", "target": "Ve"}\n')
    assert fields(path) == [("no", "es"), ("Go", "Ve")]
