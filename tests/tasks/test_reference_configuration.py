"""examples/translation.toml names every setting, says what is the default, and trains."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.layers.embedding import Positions
from dragoman.networks import Configuration
from dragoman.tasks.configuration import (
    TrainingConfiguration,
    configuration,
    merged,
    read_toml,
    sections,
    setting_names,
)
from dragoman.tasks.training import train_model
from tests.tasks.models import TINY, pairs_file

EXAMPLE = Path(__file__).parents[2] / "examples" / "translation.toml"
MUST_SET = {"data": {"files": ["phrases"]}}
LINE = re.compile(r"(?P<comment># )?(?P<name>\w+) = (?P<value>[^#]+?)\s*(#|$)")


def lines() -> dict[str, tuple[bool, str]]:
    """Every setting by its dotted name: whether it stands in a comment, and its value as text."""
    found: dict[str, tuple[bool, str]] = {}
    section = ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"\[([\w.]+)\]", line):
            section = f"{heading[1]}."
        elif told := LINE.match(line):
            name = section + told["name"]
            assert name not in found, f"{name} is there twice"
            found[name] = (told["comment"] is not None, told["value"])
    return found


def nested(name: str, value: Any) -> dict[str, Any]:
    for part in reversed(name.split(".")):
        value = {part: value}
    found: dict[str, Any] = value
    return found


def test_every_setting_is_in_it_and_nothing_else() -> None:
    assert sorted(lines()) == sorted(setting_names())


def test_what_it_sets_is_the_default() -> None:
    assert configuration(read_toml(EXAMPLE)) == configuration(MUST_SET)


def test_what_stands_in_a_comment_is_decided_unless_it_is_given() -> None:
    """A setting with a default of its own is set; one without shows a value that it may have."""
    plain = configuration(MUST_SET)
    for name, (comment, text) in lines().items():
        value: Any = plain
        for part in name.split("."):
            value = getattr(value, part)
        assert comment == (value is None), name
        shown = tomllib.loads(f"value = {text}")["value"]
        assert configuration(merged(MUST_SET, nested(name, shown))), name


@pytest.mark.parametrize("name", [name for name, (comment, _) in lines().items() if not comment])
def test_the_names_after_a_value_can_be_chosen(name: str) -> None:
    """A setting with a few names to choose from lists all of them."""
    *outer, inner = name.split(".")
    model: type[Configuration] = sections("transformer")[outer[0]] if outer else TrainingConfiguration
    for section in outer[1:]:
        model = model.model_fields[section].annotation  # type: ignore[assignment]
    annotation = model.model_fields[inner].annotation
    choices = [name for name in get_args(annotation) if isinstance(name, str)]
    line = next(line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if re.match(rf"{inner} = ", line))
    for choice in choices:
        assert re.search(rf"\b{choice}\b", line), f"{name} may be {choice}"


def test_positions_are_among_the_choices() -> None:
    """The test above looks at literals: it must find those of the positions."""
    assert "half_sinusoid" in get_args(Positions)


def test_it_trains(tmp_path: Path) -> None:
    given = merged(
        read_toml(EXAMPLE), TINY, {"data": {"files": [pairs_file()]}, "stopping": {"epochs": 1}, "out": str(tmp_path)}
    )
    translator, outcome = train_model(given, tmp_path / "model")
    assert outcome.reason == "finished 1 epoch"
    assert translator.translate(["The man sees the house."])[0]
