"""Commands that two ranks share print and write what one process does, once."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dragoman import WordVectors
from dragoman.graph import Array
from dragoman.operations.vector_steps import Epoch, vector_steps
from dragoman.tasks.training import train_model
from dragoman.tasks.vectors.plan import make_plan
from dragoman.tasks.vectors.text import numbered
from tests.cli.conftest import run
from tests.cli.running import Run
from tests.distributed import cases, commands
from tests.distributed.launch import launched
from tests.distributed.spread_commands import STANDARD_INPUT, counted_work, scores
from tests.nearness import assert_near
from tests.tasks import models
from tests.tasks.captioning import captioned
from tests.tasks.vectors.made_up import SMALL, topics

__all__ = ["run"]

TASKS = (
    *("translation", "language model", "carried state", "classification", "regression"),
    *("tagging", "images", "captions", "forecasting"),
)
LINES = [
    *(source for source, _ in models.PAIRS[::7]),
    "",
    "Привет, мир, это дом",
    "Добрый день всем",
    " ".join(source for source, _ in models.PAIRS[:9]),
]
VECTORS = (
    *("--depth", SMALL.depth, "--window", SMALL.window, "--negative", SMALL.negative, "--epochs", SMALL.epochs),
    *("--minimum-count", 1, "--subsampling", 0, "--rate", SMALL.rate),
)
UNSHARED = ("evaluate carried state", "score the whole", "translate a text")  # one state, one text
FAILING = {"translate a missing file", "inspect", "vectors of standard input"}
WRITING = {"train", "train again", "vectors", "vectors again"}


@dataclass(frozen=True)
class Shared:
    """The commands, and what each rank said."""

    place: Path
    commands: dict[str, list[str]]
    pairs: list[tuple[str, str]]
    ranks: list[dict[str, Any]]


@pytest.fixture(scope="module")
def shared(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    place = tmp_path_factory.mktemp("spread")
    given = cases.cases(place)
    for name in TASKS:
        train_model(given[name], place / name)
    (place / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    topics(place / "topics.txt", 150)
    found, pairs = commands_of(place), models.PAIRS[:41]
    written = {"commands": found, "scores": [str(place / "translation"), pairs]}
    (place / "commands.json").write_text(json.dumps(written), encoding="utf-8")
    with launched("-m", "tests.distributed.spread_commands", place) as launch:
        launch.finish()
    said = [json.loads((place / f"said-{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]
    return Shared(place, found, pairs, said)


def commands_of(place: Path) -> dict[str, list[str]]:
    """The arguments of each command, by name."""

    def model(name: str) -> str:
        return str(place / name)

    photos = place / "photos"
    photos.mkdir()
    for i in range(9):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(photos / f"{i}.png")
    (photos / "3.png").write_bytes(b"no image")
    lines = str(place / "lines.txt")
    tiny = [word for each in commands.ASSIGNMENTS[1:-2] for word in ("--set", each)]
    vectors = ["vectors", "train", str(place / "topics.txt"), *map(str, VECTORS), "--out"]
    train = [
        *("train", models.pairs_file(), *tiny, "--set", "stopping.epochs=1", "--scores", "bleu"),
        *("--samples", "1", "--from", model("translation"), "--replay", "0", "--out", model("tuned")),
    ]
    return {
        **{f"evaluate {name}": ["evaluate", model(name), "--json", "--out", model("report")] for name in TASKS},
        "translate": ["translate", model("translation"), lines],
        "translate as JSON": ["translate", model("translation"), lines, "--json", "--best", "2"],
        "translate standard input": ["translate", model("translation"), "-"],
        "translate a text": ["translate", model("translation"), "The man sees the house."],
        "translate a missing file": ["translate", model("translation"), "missing.txt"],
        "predict": ["predict", model("classification"), lines, "--explain"],
        "predict numbers": ["predict", model("regression"), lines, "--json"],
        "predict tags": ["predict", model("tagging"), lines],
        "predict images": ["predict", model("images"), str(photos), "--resize", "--on-bad-line", "skip"],
        "score": ["score", model("language model"), lines],
        "score the whole": ["score", model("carried state"), lines, "--whole", "--json"],
        "caption": ["caption", model("captions"), str(captioned.photos())],
        "inspect": ["inspect", model("translation")],
        "vectors": [*vectors, model("first.txt")],
        "vectors again": [*vectors, model("second.txt")],
        "vectors of standard input": ["vectors", "train", "-", "--out", model("third.txt")],
        "train": train,
        "train again": train,
    }


def comparable(text: str) -> Any:
    """A report without what names the command; other output as it is."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, dict) and "facts" in found:
        del found["facts"]["command"]
    return found


NAMES = [f"evaluate {name}" for name in TASKS] + [
    *("translate", "translate as JSON", "translate standard input", "translate a text", "predict", "predict numbers"),
    *("predict tags", "predict images", "score", "score the whole", "caption"),
]


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_say_what_one_process_says(name: str, shared: Shared, run: Run) -> None:
    first, second = (said[name] for said in shared.ranks)
    with counted_work() as done:
        alone = run(*shared.commands[name], stdin=STANDARD_INPUT.encode())
    assert (first["code"], first["err"]) == (alone.code, alone.err)
    assert_near(comparable(first["out"]), comparable(alone.out))
    assert first["out"]
    assert (second["code"], second["out"], second["err"]) == (0, "", "")
    assert done[0] > 0
    if name not in UNSHARED:
        assert max(first["done"], second["done"]) <= 0.7 * done[0]


def test_every_command_is_looked_at(shared: Shared) -> None:
    assert set(shared.commands) == {*NAMES, *FAILING, *WRITING}


def test_lines_that_need_a_warning_have_one(shared: Shared) -> None:
    err = shared.ranks[0]["translate"]["err"]
    assert err.count("Cyrillic, which the model was not trained on") == 1
    assert "were translated in several pieces" in err
    assert "2 lines in all: most letters are Cyrillic" in err
    assert "1 image of 9 skipped" in shared.ranks[0]["predict images"]["err"]


def test_scores_of_evaluations_are_those_of_one_process_on_every_rank(shared: Shared) -> None:
    alone = scores(str(shared.place / "translation"), shared.pairs)
    assert [said["scores"] for said in shared.ranks] == [{**alone, "done": 21}, {**alone, "done": 20}]


def test_a_training_says_once_what_all_ranks_have_measured(shared: Shared) -> None:
    first, second = (said["train"] for said in shared.ranks)
    assert (first["code"], second["code"]) == (0, 0), first["err"]
    assert (second["out"], second["err"]) == ("", "")
    for once in ("testing pairs, beam of 4: BLEU", "Quality: ", "Before and after fine-tuning", "Next:"):
        assert first["out"].count(once) == 1, first["out"]
    again = shared.ranks[0]["train again"]
    assert (again["code"], shared.ranks[1]["train again"]["code"]) == (0, 0), again["err"]
    assert again["out"].count("Before and after fine-tuning") == 1
    compared = json.loads((shared.place / "tuned" / "model.json").read_text(encoding="utf-8"))["training"]["compared"]
    assert [row["pairs"] for row in compared] == ["new, validation part", "new, testing part", "old, testing part"]


def test_what_fails_fails_on_every_rank_and_is_explained(shared: Shared) -> None:
    first, second = shared.ranks
    for name in FAILING:
        assert (first[name]["code"], second[name]["code"]) == (2, 2), name
    assert "missing.txt does not exist" in first["translate a missing file"]["err"]
    assert second["translate a missing file"]["err"] == ""
    assert "start it without torchrun" in second["inspect"]["err"]
    assert "save the text to a file" in first["vectors of standard input"]["err"]


def test_word_vectors_are_the_mean_of_what_the_ranks_learn(shared: Shared) -> None:
    first, second = (shared.place / name for name in ("first.txt", "second.txt"))
    assert first.read_bytes() == second.read_bytes()
    assert (shared.ranks[1]["vectors"]["out"], shared.ranks[1]["vectors"]["err"]) == ("", "")
    assert "epoch 2: error" in shared.ranks[0]["vectors"]["out"]
    found = WordVectors.load(first)
    np.testing.assert_allclose(found.vectors, averaged_vectors(shared.place, found.words), rtol=1e-5, atol=1e-6)


def averaged_vectors(place: Path, words: list[str]) -> Array:
    """The same step by step: two halves of the text, each learnt from the same tables, twice the rate."""
    texts = [line.split() for line in (place / "topics.txt").read_text(encoding="utf-8").splitlines()]
    corpus = numbered(texts, words, place / "labels")
    labels, offsets = np.asarray(corpus.data), np.asarray(corpus.offsets)
    settings = replace(SMALL, rate=2 * SMALL.rate)
    plan = make_plan(np.bincount(labels), len(labels), settings)
    half = int(np.searchsorted(offsets, len(labels) // 2))
    tables = np.zeros((2, len(words), SMALL.depth), np.float32)
    tables[0] = (np.random.default_rng(0).random(tables[0].shape) - 0.5) / SMALL.depth
    for number in range(SMALL.epochs):
        mean = np.zeros_like(tables)
        for first, last in ((0, half), (half, len(corpus))):
            own, epoch = tables.copy(), Epoch(0, number, number * len(labels))
            vector_steps.definition(*own, labels, offsets, plan=plan, epoch=epoch, first=first, last=last)
            mean += own * np.float32((offsets[last] - offsets[first]) / len(labels))
        tables = mean
    return tables[0]


def test_a_killed_rank_ends_a_translation(shared: Shared, tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text("\n".join(LINES[:40] * 2000), encoding="utf-8")
    arguments = ("-m", "dragoman", "translate", shared.place / "translation", text)
    with launched(*arguments, environment={"DRAGOMAN_RANK_TIMEOUT": "60"}) as launch:
        launch.wait_until(lambda: len(launch.output) > 1000)
        os.kill(launch.ranks()[1], signal.SIGKILL)
        assert launch.wait(30) != 0
