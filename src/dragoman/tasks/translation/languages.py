"""The languages of a translator: what they are called, and what tells them apart."""

from __future__ import annotations

from typing import Any

from dragoman.data.dataset import Dataset
from dragoman.data.pair_encoding import SIDES
from dragoman.tasks.translation.lengths import sampled
from dragoman.text.language_calibration import learn_profiles
from dragoman.text.language_codes import Languages
from dragoman.text.language_id import profiles_to_json

LANGUAGES = "languages.json"


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
        {code: sampled(part).texts(side) for code, side in zip(languages, SIDES, strict=True)} for part in parts
    )
    return {LANGUAGES: profiles_to_json(learn_profiles(training, held_out))}
