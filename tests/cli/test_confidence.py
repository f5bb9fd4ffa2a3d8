"""How sure a model is of a translation: the geometric mean of the probabilities of its tokens."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dragoman import Translator
from dragoman.tasks.translation.results import together
from dragoman.tasks.translation.translator import Alternative, DecodingOptions, Translation
from tests.cli.running import Run
from tests.tasks.models import PAIRS

TEXTS = [source for source, _ in PAIRS[::90]]


@pytest.mark.parametrize("beam", ["1", "4"])
def test_json_has_a_confidence_for_every_line(beam: str, undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, "-", "--json", "--beam", beam, stdin="\n".join(TEXTS).encode())
    rows = [json.loads(line) for line in done.lines]
    assert len(rows) == len(TEXTS)
    for row in rows:
        assert 0 < row["confidence"] < 1
        assert row["confidence"] == pytest.approx(math.exp(row["translations"][0]["score"]), abs=1e-3)


def test_what_a_model_knows_by_heart_is_more_certain(taught: Path, undertrained: Path) -> None:
    known, unknown = (
        Translator.load(model).translations([text])[0].confidence
        for model, text in ((taught, "green house"), (undertrained, TEXTS[0]))
    )
    assert known > 0.8 > unknown


def test_it_is_the_geometric_mean_over_tokens(translator: Translator) -> None:
    """Against the probability of the whole translation, computed by other means."""
    text = next(text for text in TEXTS if not any(character.isdigit() for character in text))
    found = translator.translations([text], DecodingOptions(beam=1))[0]
    tokens = len(translator.target_tokenizer.encode([found.text])[0]) + 1
    assert found.confidence == pytest.approx(math.exp(translator.score([(text, found.text)])[0] / tokens), rel=0.02)


def test_pieces_count_by_their_tokens() -> None:
    pieces = [Alternative("a b c", math.log(0.5), 3), Alternative("d", math.log(0.125), 1)]
    whole = Translation((together("a b c d", pieces),))
    assert whole.confidence == pytest.approx((0.5**3 * 0.125) ** 0.25)


def test_text_that_is_only_copied_is_certain(undertrained: Path, run: Run) -> None:
    done = run("translate", undertrained, "-", "--json", stdin=b"https://example.com/a\n\n")
    assert [json.loads(line)["confidence"] for line in done.lines] == [1.0, 1.0]


def test_without_scores_there_is_none(translator: Translator) -> None:
    (found,) = translator.translations(TEXTS[:1], DecodingOptions(beam=1, scored=False))
    assert np.isnan(found.confidence)
