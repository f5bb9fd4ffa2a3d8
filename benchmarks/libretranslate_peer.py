"""Run the real LibreTranslate without its language packages: a Dragoman server translates for it.

    VENV/bin/python -P benchmarks/libretranslate_peer.py http://127.0.0.1:5000 --port 5001 [options of libretranslate]

(-P: benchmarks/libretranslate.py is not the package of that name.) Language packages come from another host.
Everything else is LibreTranslate's own: routes, checks of arguments, detection of languages, HTML and files. So both
servers of a comparison have the same translations.
"""

from __future__ import annotations

import json
import sys
import urllib.request

from argostranslate import package, translate
from libretranslate.main import main

NAMES = {"en": "English", "es": "Spanish"}


class Remote(translate.ITranslation):  # type: ignore[misc]
    """Translations of a Dragoman server."""

    def __init__(self, url: str, source: translate.Language, target: translate.Language) -> None:
        self._url, self.from_lang, self.to_lang = url, source, target

    def hypotheses(self, input_text: str, num_hypotheses: int = 4) -> list[translate.Hypothesis]:
        if not input_text.strip():
            return [translate.Hypothesis(input_text, 0.0)] * num_hypotheses
        fields = {"q": input_text, "source": self.from_lang.code, "target": self.to_lang.code}
        body = json.dumps({**fields, "alternatives": num_hypotheses - 1}).encode()
        request = urllib.request.Request(f"{self._url}/translate", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        found = [answer["translatedText"], *answer.get("alternatives", [])]
        found += [found[0]] * (num_hypotheses - len(found))
        return [translate.Hypothesis(text, -float(rank)) for rank, text in enumerate(found)]


def _cached(translation: translate.ITranslation) -> translate.ITranslation:
    """As LibreTranslate uses its own models: paragraph by paragraph."""
    return translate.CachedTranslation(translation)


def languages(url: str) -> list[translate.Language]:
    """English and Spanish, both ways and to themselves."""
    found = [translate.Language(code, name) for code, name in NAMES.items()]
    for source in found:
        for target in found:
            same = source is target
            step = translate.IdentityTranslation(source) if same else _cached(Remote(url, source, target))
            source.translations_from.append(step)
            target.translations_to.append(step)
    return found


if __name__ == "__main__":
    installed = languages(sys.argv.pop(1))
    translate.get_installed_languages = lambda: installed
    package.get_installed_packages = lambda: [None, None]  # none is missing: it asks no other host
    main()
