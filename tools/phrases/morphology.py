"""Spanish words and their forms: plurals, feminines, short forms, written accents, contractions."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

Gender = Literal["m", "f"]

_ACUTE = str.maketrans("aeiou", "áéíóú")
_PLAIN = str.maketrans("áéíóú", "aeiou")
_STRONG = "aeoáéó"
_ACCENTED = "áéíóú"
_CONTRACTIONS = re.compile(r"\b(a|de) el\b")

# Feminine nouns that begin with a stressed a: el agua fría, but las aguas frías and la otra agua.
STRESSED_A = frozenset({"agua", "águila", "aula", "hambre"})

_SHORT_MASCULINE = {
    "uno": "un",
    "alguno": "algún",
    "ninguno": "ningún",
    "bueno": "buen",
    "malo": "mal",
    "primero": "primer",
    "tercero": "tercer",
}
_OR_INVARIABLE = frozenset({"mayor", "menor", "mejor", "peor", "interior", "superior"})
_GENTILES_IN_CONSONANT = frozenset({"español"})  # like inglés and alemán, but with nothing in the ending to tell


@cache
def plural(word: str) -> str:
    """libro, libros; pared, paredes; lápiz, lápices; canción, canciones; examen, exámenes; lunes, lunes."""
    last = word[-1]
    if last in "aeiouáéó":
        return word + "s"
    if last == "z":
        return word[:-1] + "ces"
    if last == "s" and not _stressed_on_last(word):
        return word
    if last == "n" and not _stressed_on_last(word):
        return _with_accent_on_last_but_one(word) + "es"
    return _without_final_accent(word) + "es"


@cache
def feminine(word: str) -> str:
    """rojo, roja; trabajador, trabajadora; inglés, inglesa; verde, verde."""
    if word.endswith("o"):
        return word[:-1] + "a"
    if word.endswith("or") and word not in _OR_INVARIABLE:
        return word + "a"
    if word.endswith(("és", "án")) or word in _GENTILES_IN_CONSONANT:
        return _without_final_accent(word) + "a"
    return word


@cache
def inflect(word: str, gender: Gender, many: bool) -> str:
    """The form of an adjective or determiner, given as masculine singular, that agrees with gender and number."""
    word = feminine(word) if gender == "f" else word
    return plural(word) if many else word


def short(word: str, gender: Gender, many: bool) -> str:
    """The form that stands before its noun: un buen libro, el primer día, una gran idea; unchanged where none is."""
    if many:
        return inflect(word, gender, many)
    if word == "grande":
        return "gran"
    if gender == "m":
        return _SHORT_MASCULINE.get(word, word)
    return inflect(word, gender, many)


def article(gender: Gender, many: bool, before: str = "") -> str:
    """el, la, los, las; el before a feminine noun that begins with a stressed a."""
    if many:
        return "los" if gender == "m" else "las"
    return "el" if gender == "m" or before in STRESSED_A else "la"


def indefinite(word: str, gender: Gender, many: bool, before: str = "") -> str:
    """un, algún, ningún and their feminines; un aula, ningún aula: those too shorten before a stressed a."""
    if not many and before in STRESSED_A:
        gender = "m"
    return short(word, gender, many)


def contracted(text: str) -> str:
    """a + el is al, de + el is del; él, with its accent, stays."""
    return _CONTRACTIONS.sub(r"\1l", text) if " el " in text else text


def joined(first: str, second: str) -> str:
    """first y second; e before the sound i: español e inglés, but agua y hielo."""
    link = "e" if re.match(r"h?[ií](?!e)", second, re.IGNORECASE) else "y"
    return f"{first} {link} {second}"


@cache
def attached(form: str, clitic: str) -> str:
    """An infinitive or command with its pronoun: ver + lo, verlo; ayuda + me, ayúdame; di + me, dime."""
    nuclei = _nuclei(form)
    stressed = _stressed(form, nuclei)
    if stressed == len(nuclei) - 1:
        return form + clitic
    place = nuclei[stressed]
    return form[:place] + form[place].translate(_ACUTE) + form[place + 1 :] + clitic


def _nuclei(word: str) -> list[int]:
    """Where the vowel that carries each syllable stands: strong before weak, the second of two weak ones."""
    silent = re.sub(r"qu|gu(?=[eiéí])", lambda found: found[0][0] + "-", word)
    places: list[int] = []
    for group in re.finditer(r"[aeiouáéíóúü]+", silent):
        vowels = group[0]
        hearts = [i for i, vowel in enumerate(vowels) if vowel in _STRONG or vowel in "íú"]
        places += [group.start() + i for i in hearts or [len(vowels) - 1]]
    return places


def _stressed(word: str, nuclei: list[int]) -> int:
    """The stressed syllable: the one with an accent, else the last but one before a vowel, n or s, else the last."""
    for syllable, place in enumerate(nuclei):
        if word[place] in _ACCENTED:
            return syllable
    return max(0, len(nuclei) - 2) if word[-1] in "aeiouns" else len(nuclei) - 1


def _stressed_on_last(word: str) -> bool:
    nuclei = _nuclei(word)
    return _stressed(word, nuclei) == len(nuclei) - 1


def _without_final_accent(word: str) -> str:
    """canción, cancion-; but país keeps the accent that parts its vowels."""
    place = _nuclei(word)[-1]
    if word[place] in "íú" and word[place - 1] in _STRONG:
        return word
    return word[:place] + word[place].translate(_PLAIN) + word[place + 1 :]


def _with_accent_on_last_but_one(word: str) -> str:
    """examen, exámen-: the syllable that was the last but one is now one further from the end."""
    place = _nuclei(word)[-2]
    return word[:place] + word[place].translate(_ACUTE) + word[place + 1 :]
