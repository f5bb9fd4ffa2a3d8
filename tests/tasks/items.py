"""What every method of a model takes: one item, or any iterable of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from dragoman.errors import DataError


def check_items(method: Callable[..., Any], items: list[Any], expected: str = "a text") -> None:
    """A list, an iterator and single items give the same; what is no such item is named with its place."""
    several = method(items)
    assert isinstance(several, list)
    assert len(several) == len(items) > 1
    same(method(iter(items)), several)
    same(method((*items, *items))[len(items) :], several)
    same(method(items[0]), several[0])
    assert method(iter([])) == []
    for wrong in (None, 5, b"text"):
        with pytest.raises(DataError, match=rf"item 1 is {wrong!r}.*expected {expected}"):
            method(item for item in [items[0], wrong])
    with pytest.raises(DataError, match="got 5"):
        method(5)


def check_texts(method: Callable[..., Any], texts: list[str]) -> None:
    check_items(method, texts)
    with pytest.raises(DataError, match=r"item 1 has half a surrogate pair, from a wrong decoding: 'a\\ud800'"):
        method([texts[0], "a\ud800"])
    with pytest.raises(DataError, match="the text has half a surrogate pair"):
        method("a\ud800")


def same(found: Any, expected: Any) -> None:
    """Equal but for the last digits, which depend on how many rows a product has."""
    if is_dataclass(expected):
        found, expected = (
            {each.name: getattr(one, each.name) for each in fields(expected)} for one in (found, expected)
        )
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, float | np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    else:
        assert found == expected
