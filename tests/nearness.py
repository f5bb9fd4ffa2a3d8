"""How near results are that should be the same: in single precision, a product is rounded otherwise in other company.

A BLAS may sum the rows of a product in another order when there are others beside them. So a sample alone, in a batch,
in a shard or on another rank has the same results within a tolerance (docs/architecture.md, "A network"), on every
processor; in double precision it is within 1e-12.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

SINGLE = 1e-4  # of logits; of what is computed from them, relative to it
NUMBER = re.compile(r"-?\d+\.\d+")


def assert_near(found: Any, expected: Any, where: str = "") -> None:
    """Compare results: real numbers within the tolerance, in texts within their last digit too; others exactly."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_near(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_near(one, other, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=SINGLE, abs=SINGLE, nan_ok=True), where
    elif isinstance(expected, str):
        _assert_near_texts(found, expected, where)
    else:
        assert found == expected, where


def _assert_near_texts(found: str, expected: str, where: str) -> None:
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), where
    for one, other in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        last_digit = 1.01 * 10.0 ** -len(other.partition(".")[2])
        assert float(one) == pytest.approx(float(other), rel=SINGLE, abs=last_digit), f"{where}: {expected!r}"
