"""Toy tasks that a correct network learns to 100 %: copy, reverse or sort a sequence, add two numbers, or recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.errors import ConfigurationError

FIRST_LABEL = END + 1
Task = Literal["copy", "reverse", "sort", "add"]
Pair = tuple[list[int], list[int]]

PLUS = 10  # the symbol after the ten digits
_MOST_DIGITS = 18  # of a number that NumPy draws


@dataclass(frozen=True)
class _Size:
    """Number of pairs and symbols, and lengths of sources."""

    samples: int
    symbols: int
    shortest: int
    longest: int


# Without the shortest sources: there are too few of them for a network to reach 100 %.
_SEQUENCES = _Size(samples=20_000, symbols=10, shortest=3, longest=7)
_SUMS = _Size(samples=20_000, symbols=PLUS + 1, shortest=5, longest=7)


def toy_pairs(task: Task, samples: int, symbols: int, longest: int, rng: np.random.Generator) -> list[Pair]:
    """Draw distinct (source, reference) pairs of labels, sources up to `longest`; references with start and end.

    The task `add` needs 11 symbols, the ten digits and plus: 7 + 15 and 22, most significant digit first.
    """
    size = _Size(samples, symbols, 3 if task == "add" else 1, longest)
    return [
        ([FIRST_LABEL + s for s in source], [START, *(FIRST_LABEL + s for s in answer), END])
        for source, answer in _draw(task, size, rng)
    ]


def toy_texts(task: Task, seed: int = 0) -> list[tuple[str, str]]:
    """Draw distinct pairs of texts, one word per symbol: reverse has ("3 0 5", "5 0 3"), add ("1 7 + 1 5", "3 2")."""
    return [
        (_text(source), _text(answer))
        for source, answer in _draw(task, _SUMS if task == "add" else _SEQUENCES, np.random.default_rng(seed))
    ]


def recall_batch(samples: int, symbols: int, gap: int, rng: np.random.Generator, questions: int = 1) -> Batch:
    """Make a batch of sequences: a label to remember, a gap of meaningless labels, and a query; `questions` times.

    labels   0 ... symbols - 1 are to be remembered, symbols ... 2 symbols - 1 fill the gaps, and 2 symbols is the query
    targets  the label to remember; only the query rows have weight in the loss
    """
    if samples < 1 or symbols < 1 or gap < 0 or questions < 1:
        raise ConfigurationError(
            "recall needs at least 1 sample, 1 symbol, a gap of 0 and 1 question; "
            f"got {samples} samples, {symbols} symbols, a gap of {gap} and {questions} questions"
        )
    shape = (samples, questions, gap + 2)
    remembered = rng.integers(0, symbols, (samples, questions, 1))
    labels = rng.integers(symbols, 2 * symbols, shape)
    labels[:, :, :1], labels[:, :, -1] = remembered, 2 * symbols
    asked = np.zeros(shape, np.float32)
    asked[:, :, -1] = 1
    offsets = np.arange(samples + 1) * questions * (gap + 2)
    return Batch(labels.ravel(), offsets, np.broadcast_to(remembered, shape).ravel(), asked.ravel())


def _text(symbols: list[int]) -> str:
    return " ".join("+" if symbol == PLUS else str(symbol) for symbol in symbols)


def _draw(task: Task, size: _Size, rng: np.random.Generator) -> list[Pair]:
    """Draw distinct sources and their answers, as symbols from 0."""
    _check(task, size)
    pairs: dict[tuple[int, ...], Pair] = {}
    for _ in range(20 * size.samples):
        if len(pairs) == size.samples:
            break
        source = _sum(size, rng) if task == "add" else _sequence(size, rng)
        pairs[tuple(source)] = (source, _answer(task, source))
    if len(pairs) < size.samples:
        raise ConfigurationError(
            f"{size.symbols} symbols in at most {size.longest} positions gave {len(pairs)} distinct sequences, "
            f"not {size.samples}; use {'' if task == 'add' else 'more symbols or '}longer sequences"
        )
    return list(pairs.values())


def _check(task: Task, size: _Size) -> None:
    if task not in get_args(Task):
        raise ConfigurationError(f"unknown toy task '{task}'; available: {', '.join(get_args(Task))}")
    if size.samples < 1 or size.symbols < 1 or size.longest < size.shortest:
        raise ConfigurationError(
            f"{task} needs at least 1 sample, 1 symbol and {size.shortest} positions; "
            f"got {size.samples} samples, {size.symbols} symbols, {size.longest} positions"
        )
    if task == "add" and size.symbols != PLUS + 1:
        raise ConfigurationError(f"add needs {PLUS + 1} symbols, the ten digits and plus, not {size.symbols}")
    if task == "add" and size.longest > 2 * _MOST_DIGITS + 1:
        raise ConfigurationError(f"add allows at most {2 * _MOST_DIGITS + 1} positions, not {size.longest}")


def _sequence(size: _Size, rng: np.random.Generator) -> list[int]:
    drawn: list[int] = rng.integers(0, size.symbols, rng.integers(size.shortest, size.longest + 1)).tolist()
    return drawn


def _sum(size: _Size, rng: np.random.Generator) -> list[int]:
    """Draw two numbers without leading zeros, with plus between them, of equal maximum length."""
    lengths = rng.integers((size.shortest - 1) // 2, (size.longest - 1) // 2 + 1, 2).tolist()
    left, right = (int(rng.integers(10 ** (n - 1) if n > 1 else 0, 10**n)) for n in lengths)
    return [*_digits(left), PLUS, *_digits(right)]


def _answer(task: Task, source: list[int]) -> list[int]:
    if task == "reverse":
        return source[::-1]
    if task == "sort":
        return sorted(source)
    if task == "add":
        plus = source.index(PLUS)
        return _digits(_number(source[:plus]) + _number(source[plus + 1 :]))
    return list(source)


def _number(digits: list[int]) -> int:
    return int("".join(map(str, digits)))


def _digits(number: int) -> list[int]:
    """Return the digits, most significant first."""
    return [int(digit) for digit in str(number)]
