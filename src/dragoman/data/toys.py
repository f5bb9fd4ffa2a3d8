"""Toy tasks that a sound network learns to 100 %: copy a sequence, reverse it, sort it, or add two numbers."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from dragoman.batch import END, START
from dragoman.errors import ConfigurationError

FIRST_LABEL = END + 1
Task = Literal["copy", "reverse", "sort", "add"]
Pair = tuple[list[int], list[int]]

PLUS = 10  # the symbol after the ten digits
_TEXT_SIZES = {"copy": (8, 7), "reverse": (8, 7), "sort": (8, 7), "add": (PLUS + 1, 7)}  # symbols, longest source


def toy_pairs(task: Task, samples: int, symbols: int, longest: int, rng: np.random.Generator) -> list[Pair]:
    """Distinct (source, reference) pairs of labels, sources up to `longest`; references carry start and end labels.

    To add takes 11 symbols, the ten digits and plus: the labels of 7 + 15 and 22, most significant digit first.
    """
    return [
        ([FIRST_LABEL + s for s in source], [START, *(FIRST_LABEL + s for s in answer), END])
        for source, answer in _draw(task, samples, symbols, longest, rng)
    ]


def toy_texts(task: Task, samples: int = 20_000, seed: int = 0) -> list[tuple[str, str]]:
    """Distinct pairs of texts, a word for each symbol: ("3 0 5", "5 0 3") to reverse, ("7 + 1 5", "2 2") to add."""
    symbols, longest = _TEXT_SIZES.get(task, (0, 0))
    words = [str(symbol) for symbol in range(symbols)]
    if task == "add":
        words[PLUS] = "+"
    return [
        (" ".join(words[s] for s in source), " ".join(words[s] for s in answer))
        for source, answer in _draw(task, samples, symbols, longest, np.random.default_rng(seed))
    ]


def _draw(task: Task, samples: int, symbols: int, longest: int, rng: np.random.Generator) -> list[Pair]:
    """Distinct sources and their answers, as symbols counted from 0."""
    _check(task, samples, symbols, longest)
    pairs: dict[tuple[int, ...], Pair] = {}
    for _ in range(20 * samples):
        if len(pairs) == samples:
            break
        source = _sum(longest, rng) if task == "add" else _sequence(symbols, longest, rng)
        pairs[tuple(source)] = (source, _answer(task, source))
    if len(pairs) < samples:
        raise ConfigurationError(
            f"{symbols} symbols in at most {longest} positions gave {len(pairs)} distinct sequences, not {samples}; "
            f"use {'' if task == 'add' else 'more symbols or '}longer sequences"
        )
    return list(pairs.values())


def _check(task: Task, samples: int, symbols: int, longest: int) -> None:
    if task not in get_args(Task):
        raise ConfigurationError(f"there is no toy task '{task}'; choose {', '.join(get_args(Task))}")
    if task == "add" and symbols != PLUS + 1:
        raise ConfigurationError(f"to add takes {PLUS + 1} symbols, the ten digits and plus, not {symbols}")
    shortest = 3 if task == "add" else 1
    if samples < 1 or symbols < 1 or longest < shortest:
        raise ConfigurationError(
            f"to {task} takes at least 1 sample, 1 symbol and {shortest} positions; "
            f"got {samples} samples, {symbols} symbols, {longest} positions"
        )


def _sequence(symbols: int, longest: int, rng: np.random.Generator) -> list[int]:
    drawn: list[int] = rng.integers(0, symbols, rng.integers(1, longest + 1)).tolist()
    return drawn


def _sum(longest: int, rng: np.random.Generator) -> list[int]:
    """Two numbers and plus between them. Each has half of the other positions at most, and no leading zeros."""
    most = (longest - 1) // 2
    left, right = rng.integers(1, most + 1, 2).tolist()
    digits = rng.integers(0, 10, (2, most)).tolist()
    return [*_digits(_number(digits[0][:left])), PLUS, *_digits(_number(digits[1][:right]))]


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
    """Most significant first."""
    return [int(digit) for digit in str(number)]
