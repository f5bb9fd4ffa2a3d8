"""The languages of a translator: what they are called, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dragoman.data.dataset import Dataset, Part
from dragoman.data.pair_encoding import SIDES
from dragoman.text.language_calibration import learn_profiles
from dragoman.text.language_codes import Languages
from dragoman.text.language_id import profiles_to_json

LANGUAGES = "languages.json"
SAMPLED = 20_000  # pairs to learn from
MOST = 1_000_000  # pairs that these are taken from: sorting takes memory
GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly: corpora are often sorted by length


def languages_of(corpus: Any, base: Any) -> Languages | None:
    """Those that are given, else those of the model that is fine-tuned, else those that the files name."""
    given: Languages | None = corpus.settings.languages
    if given is None and base is not None:
        given = base.metadata.languages
    found: Languages | None = corpus.languages
    return given or found


def language_files(dataset: Dataset, languages: Languages | None, base: Any) -> dict[str, str]:
    """languages.json: the profiles of both languages, those of the model that is fine-tuned if it has them."""
    if languages is None:
        return {}
    if base is not None and base.metadata.languages == languages and LANGUAGES in base.files:
        return {LANGUAGES: base.files[LANGUAGES]}
    parts = [dataset.part(name) for name in ("training", "validation")]
    training, held_out = (
        {code: _spread(part, side) for code, side in zip(languages, SIDES, strict=True)} for part in parts
    )
    return {LANGUAGES: profiles_to_json(learn_profiles(training, held_out))}


def _spread(part: Part, side: str) -> Iterator[str]:
    """The texts of one side of a part, at most so many, in an order whose every beginning comes from the whole part."""
    taken = part.samples[:: max(1, len(part) // MOST)]
    order = np.argsort((np.arange(len(taken)) * GOLDEN_RATIO) % 1, kind="stable")
    return Part(part.dataset, taken[order[:SAMPLED]]).texts(side)
