"""The toy tasks: what is asked and what is the answer."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.batch import END, START
from dragoman.data import toy_pairs
from dragoman.data.toys import FIRST_LABEL, PLUS, Task, toy_texts
from dragoman.errors import ConfigurationError

SEQUENCE_TASKS: dict[Task, object] = {"copy": list, "reverse": lambda source: source[::-1], "sort": sorted}
TASKS: list[Task] = ["copy", "reverse", "sort", "add"]


@pytest.mark.parametrize(("task", "answer"), SEQUENCE_TASKS.items(), ids=SEQUENCE_TASKS)
def test_pairs(task: Task, answer) -> None:  # type: ignore[no-untyped-def]
    pairs = toy_pairs(task, 200, 3, 5, np.random.default_rng(0))
    assert len(pairs) == len({tuple(source) for source, _ in pairs}) == 200
    assert {len(source) for source, _ in pairs} == {1, 2, 3, 4, 5}
    assert {label for source, _ in pairs for label in source} == {END + 1, END + 2, END + 3}
    for source, reference in pairs:
        assert reference == [START, *answer(source), END]


def test_sums() -> None:
    """The same labels, read as arithmetic"""
    pairs = toy_pairs("add", 2000, 11, 8, np.random.default_rng(0))
    assert len(pairs) == len({tuple(source) for source, _ in pairs}) == 2000
    lengths = set()
    for source, (start, *written, end) in pairs:
        left, right = "".join("0123456789+"[label - FIRST_LABEL] for label in source).split("+")
        answer = "".join(str(label - FIRST_LABEL) for label in written)
        assert (start, end) == (START, END)
        assert answer == str(int(left) + int(right))
        assert (left, right) == (str(int(left)), str(int(right))), "no leading zeros"
        lengths.add((len(left), len(right)))
    assert lengths == {(left, right) for left in (1, 2, 3) for right in (1, 2, 3)}  # 8 positions: 3 + 1 + 3 fit
    assert max(label for source, _ in pairs for label in source) == FIRST_LABEL + PLUS


@pytest.fixture(scope="module")
def texts() -> dict[Task, list[tuple[str, str]]]:
    return {task: toy_texts(task) for task in TASKS}


@pytest.mark.parametrize("task", TASKS)
def test_texts_are_the_same_task_in_words(task: Task, texts: dict[Task, list[tuple[str, str]]]) -> None:
    assert len(texts[task]) == len(dict(texts[task])) == 20_000
    for source, reference in texts[task]:
        if task == "add":
            left, right = source.replace(" ", "").split("+")
            assert reference == " ".join(str(int(left) + int(right)))
            assert source == f"{' '.join(left)} + {' '.join(right)}"
        else:
            words = source.split(" ")
            assert set(words) <= set("0123456789")
            assert reference.split(" ") == SEQUENCE_TASKS[task](words)  # type: ignore[operator]


@pytest.mark.parametrize("task", TASKS)
def test_texts_leave_out_what_is_too_rare_to_be_learnt(task: Task, texts: dict[Task, list[tuple[str, str]]]) -> None:
    sources = [source.split() for source, _ in texts[task]]
    assert {len(source) for source in sources} == ({5, 6, 7} if task == "add" else {3, 4, 5, 6, 7})
    if task == "add":
        assert {source.index("+") for source in sources} == {2, 3}


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_repeats_the_pairs(task: Task) -> None:
    first, again, other = (toy_pairs(task, 20, 11, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_seed_repeats_the_texts(texts: dict[Task, list[tuple[str, str]]]) -> None:
    assert texts["copy"] == toy_texts("copy") != toy_texts("copy", seed=1)


def test_a_source_and_its_reference_are_two_lists() -> None:
    """Changing one must not change the other"""
    ((source, reference),) = toy_pairs("copy", 1, 2, 2, np.random.default_rng(0))
    source.clear()
    assert len(reference) > 2


@pytest.mark.parametrize(("task", "symbols", "longest", "there_are"), [("copy", 2, 2, 2 + 4), ("add", 11, 4, 100)])
def test_no_more_pairs_than_there_are(task: Task, symbols: int, longest: int, there_are: int) -> None:
    assert len(toy_pairs(task, there_are, symbols, longest, np.random.default_rng(0))) == there_are
    with pytest.raises(ConfigurationError, match=f"gave {there_are} distinct sequences, not 200"):
        toy_pairs(task, 200, symbols, longest, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("task", "samples", "symbols", "longest", "message"),
    [
        ("copi", 5, 2, 2, "unknown toy task 'copi'; available: copy, reverse, sort, add"),
        ("copy", 0, 2, 2, "got 0 samples"),
        ("copy", 5, 0, 2, "got 5 samples, 0 symbols"),
        ("sort", 5, 2, 0, "sort needs .* 1 positions; .* 0 positions"),
        ("add", 5, 11, 2, "add needs .* 3 positions; .* 2 positions"),
        ("add", 5, 11, 39, "at most 37 positions, not 39"),
        ("add", 5, 8, 5, "11 symbols, the ten digits and plus, not 8"),
    ],
)
def test_what_cannot_be_is_refused(task: Task, samples: int, symbols: int, longest: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        toy_pairs(task, samples, symbols, longest, np.random.default_rng(0))


def test_the_longest_sums() -> None:
    ((source, reference), *_) = toy_pairs("add", 50, 11, 37, np.random.default_rng(0))
    assert len(source) <= 37
    assert len(reference) <= 2 + 19


def test_texts_of_an_unknown_task_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown toy task 'copi'"):
        toy_texts("copi")  # type: ignore[arg-type]
