"""Which profiles tell the language of a text."""

from __future__ import annotations

from types import SimpleNamespace

from dragoman.server.detection import detect, profiles_of
from dragoman.text.language_id import LanguageProfile, count_words

ENGLISH = LanguageProfile.learn(count_words(["the teacher sees the garden and the house of my sister"] * 50))
SPANISH = LanguageProfile.learn(count_words(["mi hermana ve la casa del profesor y el jardín"] * 50))


def test_regions_of_a_language_are_not_told_apart() -> None:
    """With a profile each, both would be half as certain."""
    models = {
        "a": SimpleNamespace(profiles={"en": ENGLISH, "es": SPANISH}),
        "b": SimpleNamespace(profiles={"en-US": ENGLISH, "es-MX": SPANISH}),
        "c": SimpleNamespace(profiles={"zh-Hans": ENGLISH, "zh-TW": ENGLISH}),
        "d": SimpleNamespace(),
    }
    assert list(profiles_of(models)) == ["en", "es", "zh-Hans", "zh-TW"]
    alone, both = (
        detect({name: models[name] for name in names}, {"texts": ["my sister sees the house"]})["detections"][0]
        for names in ("a", "ab")
    )
    assert both == alone
    assert both[0]["language"] == "en"
