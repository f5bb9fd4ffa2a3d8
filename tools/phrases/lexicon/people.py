"""People: names, family, professions, nationalities, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from tools.phrases.lexicon.words import Adjective, Noun, Word, adjective, noun
from tools.phrases.morphology import feminine


@dataclass(frozen=True, slots=True)
class Profession:
    """One English word, two Spanish ones; where English does not tell, the masculine is used."""

    english: str
    spanish: str
    woman: str

    def noun(self, gender: str) -> Noun:
        if gender == "f":
            return Noun(self.english, self.woman, "f", frozenset())
        return Noun(self.english, self.spanish, "m", frozenset())


def _profession(english: str, spanish: str) -> Profession:
    return Profession(english, spanish, feminine(spanish))


WOMEN = ("Ana", "María", "Laura", "Elena", "Carmen", "Sofía")
MEN = ("Juan", "Pedro", "Carlos", "Luis", "Pablo", "Miguel")

FAMILY: tuple[Noun, ...] = (
    noun("father", "padre", "m", "one"),
    noun("mother", "madre", "f", "one"),
    noun("brother", "hermano", "m"),
    noun("sister", "hermana", "f"),
    noun("son", "hijo", "m"),
    noun("daughter", "hija", "f"),
    noun("grandfather", "abuelo", "m", "one"),
    noun("grandmother", "abuela", "f", "one"),
    noun("uncle", "tío", "m"),
    noun("aunt", "tía", "f"),
    noun("friend", "amigo", "m"),
    noun("neighbour", "vecino", "m"),
)
COUNTED_FAMILY: tuple[Noun, ...] = tuple(n for n in FAMILY if "one" not in n.kinds)

ADULTS: tuple[Noun, ...] = (noun("man", "hombre", "m"), noun("woman", "mujer", "f"))
CHILDREN: tuple[Noun, ...] = (noun("boy", "niño", "m"), noun("girl", "niña", "f"))
FOLK: tuple[Noun, ...] = ADULTS + CHILDREN

PROFESSIONS: tuple[Profession, ...] = (
    _profession("doctor", "médico"),
    _profession("teacher", "profesor"),
    _profession("lawyer", "abogado"),
    _profession("engineer", "ingeniero"),
    _profession("nurse", "enfermero"),
    _profession("cook", "cocinero"),
    _profession("writer", "escritor"),
    _profession("singer", "cantante"),
    _profession("journalist", "periodista"),
    _profession("dentist", "dentista"),
    _profession("artist", "artista"),
    _profession("student", "estudiante"),
)
WORKERS: tuple[Noun, ...] = tuple(p.noun("m") for p in PROFESSIONS)

NATIONALITIES: tuple[Adjective, ...] = (
    adjective("Spanish", "español"),
    adjective("French", "francés"),
    adjective("English", "inglés"),
    adjective("German", "alemán"),
    adjective("Italian", "italiano"),
    adjective("Portuguese", "portugués"),
    adjective("Mexican", "mexicano"),
    adjective("Japanese", "japonés"),
    adjective("Chinese", "chino"),
    adjective("Canadian", "canadiense"),
)
LANGUAGES: tuple[Word, ...] = tuple(
    Word(a.english, a.spanish) for a in NATIONALITIES if a.english not in ("Mexican", "Canadian")
)

COUNTRIES: tuple[Word, ...] = (
    Word("Spain", "España"),
    Word("France", "Francia"),
    Word("England", "Inglaterra"),
    Word("Germany", "Alemania"),
    Word("Italy", "Italia"),
    Word("Portugal", "Portugal"),
    Word("Mexico", "México"),
    Word("Japan", "Japón"),
)
CITIES: tuple[Word, ...] = (
    Word("Madrid", "Madrid"),
    Word("London", "Londres"),
    Word("Paris", "París"),
    Word("Rome", "Roma"),
    Word("Lisbon", "Lisboa"),
    Word("Seville", "Sevilla"),
)
