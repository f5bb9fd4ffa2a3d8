"""White space around stand-ins that have no span to put back."""

from __future__ import annotations

import pytest

from dragoman.text.protection import STANDINS, mask
from dragoman.text.spacing import put_back


@pytest.mark.parametrize("before", ["", " "])
@pytest.mark.parametrize("after", ["", " "])
def test_words_stay_apart_where_a_stand_in_without_a_span_is_removed(before: str, after: str) -> None:
    written = f"one{before}{STANDINS[0]}{after}two"
    assert put_back(written, mask("a text")) == ("one two" if before or after else "onetwo")
