"""Spanish verbs: every form the grammar uses, from the infinitive, with the irregular ones in tables.

The second person is tú. The plural "you" (ustedes) has the forms of the third person plural, so there are five persons.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Literal


class Person(IntEnum):
    """Who the verb agrees with."""

    YO = 0
    TU = 1
    EL = 2
    NOSOTROS = 3
    ELLOS = 4

    @property
    def many(self) -> bool:
        return self >= Person.NOSOTROS


SimpleTense = Literal["present", "preterite", "imperfect", "future"]
Forms = tuple[str, str, str, str, str]

# The vowel of the stem when it is stressed: pienso, puedo, pido, juego, envío.
_STEM_CHANGES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("pensar", "empezar", "cerrar", "despertar", "sentar", "entender", "perder", "querer", "preferir"), ("e", "ie")
    ),
    **dict.fromkeys(("tener", "venir"), ("e", "ie")),
    **dict.fromkeys(
        (
            "poder",
            "volver",
            "encontrar",
            "recordar",
            "almorzar",
            "contar",
            "costar",
            "acostar",
            "dormir",
            "doler",
            "llover",
        ),
        ("o", "ue"),
    ),
    **dict.fromkeys(("pedir", "vestir", "servir", "decir"), ("e", "i")),
    "jugar": ("u", "ue"),
    "enviar": ("i", "í"),
}

_PRESENT: dict[str, Forms] = {
    "ser": ("soy", "eres", "es", "somos", "son"),
    "estar": ("estoy", "estás", "está", "estamos", "están"),
    "ir": ("voy", "vas", "va", "vamos", "van"),
    "haber": ("he", "has", "ha", "hemos", "han"),
    "dar": ("doy", "das", "da", "damos", "dan"),
    "ver": ("veo", "ves", "ve", "vemos", "ven"),
}
_PRESENT_YO = {
    "tener": "tengo",
    "venir": "vengo",
    "hacer": "hago",
    "decir": "digo",
    "poner": "pongo",
    "salir": "salgo",
    "traer": "traigo",
    "saber": "sé",
    "conocer": "conozco",
    "conducir": "conduzco",
}
_PRETERITE: dict[str, Forms] = {
    "ser": ("fui", "fuiste", "fue", "fuimos", "fueron"),
    "ir": ("fui", "fuiste", "fue", "fuimos", "fueron"),
    "dar": ("di", "diste", "dio", "dimos", "dieron"),
    "ver": ("vi", "viste", "vio", "vimos", "vieron"),
    "hacer": ("hice", "hiciste", "hizo", "hicimos", "hicieron"),
}
_PRETERITE_STEMS = {
    "estar": "estuv",
    "tener": "tuv",
    "haber": "hub",
    "poder": "pud",
    "poner": "pus",
    "saber": "sup",
    "querer": "quis",
    "venir": "vin",
    "decir": "dij",
    "traer": "traj",
    "conducir": "conduj",
}
_IMPERFECT: dict[str, Forms] = {
    "ser": ("era", "eras", "era", "éramos", "eran"),
    "ir": ("iba", "ibas", "iba", "íbamos", "iban"),
    "ver": ("veía", "veías", "veía", "veíamos", "veían"),
}
_FUTURE_STEMS = {
    "tener": "tendr",
    "venir": "vendr",
    "poner": "pondr",
    "salir": "saldr",
    "poder": "podr",
    "saber": "sabr",
    "haber": "habr",
    "querer": "querr",
    "hacer": "har",
    "decir": "dir",
}
_PARTICIPLES = {
    "hacer": "hecho",
    "decir": "dicho",
    "poner": "puesto",
    "ver": "visto",
    "escribir": "escrito",
    "abrir": "abierto",
    "volver": "vuelto",
    "romper": "roto",
}
_GERUNDS = {"ir": "yendo", "decir": "diciendo", "venir": "viniendo", "poder": "pudiendo"}
_COMMANDS = {
    "tener": "ten",
    "venir": "ven",
    "poner": "pon",
    "salir": "sal",
    "hacer": "haz",
    "decir": "di",
    "ir": "ve",
    "ser": "sé",
}
_PROHIBITIONS = {"ir": "vayas", "ser": "seas", "estar": "estés", "dar": "des", "saber": "sepas"}

_ENDINGS: dict[tuple[SimpleTense, str], Forms] = {
    ("present", "a"): ("o", "as", "a", "amos", "an"),
    ("present", "e"): ("o", "es", "e", "emos", "en"),
    ("present", "i"): ("o", "es", "e", "imos", "en"),
    ("preterite", "a"): ("é", "aste", "ó", "amos", "aron"),
    ("preterite", "e"): ("í", "iste", "ió", "imos", "ieron"),
    ("preterite", "i"): ("í", "iste", "ió", "imos", "ieron"),
    ("imperfect", "a"): ("aba", "abas", "aba", "ábamos", "aban"),
    ("imperfect", "e"): ("ía", "ías", "ía", "íamos", "ían"),
    ("imperfect", "i"): ("ía", "ías", "ía", "íamos", "ían"),
}
_STRONG_PRETERITE: Forms = ("e", "iste", "o", "imos", "ieron")
_FUTURE: Forms = ("é", "ás", "á", "emos", "án")


@cache
def conjugate(infinitive: str, tense: SimpleTense, person: Person) -> str:
    """The form of a verb: conjugate("leer", "preterite", Person.EL) is "leyó"."""
    if tense == "present":
        return _present(infinitive, person)
    if tense == "preterite":
        return _preterite(infinitive, person)
    if tense == "imperfect":
        if infinitive in _IMPERFECT:
            return _IMPERFECT[infinitive][person]
        return infinitive[:-2] + _ENDINGS[tense, infinitive[-2]][person]
    return _FUTURE_STEMS.get(infinitive, infinitive) + _FUTURE[person]


def participle(infinitive: str) -> str:
    """hablado, comido; leído, traído with an accent; hecho, visto, escrito from the table."""
    if infinitive in _PARTICIPLES:
        return _PARTICIPLES[infinitive]
    stem, vowel = infinitive[:-2], infinitive[-2]
    if vowel == "a":
        return stem + "ado"
    return stem + ("ído" if stem[-1:] in ("a", "e", "o") else "ido")


def gerund(infinitive: str) -> str:
    """hablando, comiendo; leyendo between vowels; durmiendo, pidiendo where the stem changes."""
    if infinitive in _GERUNDS:
        return _GERUNDS[infinitive]
    stem, vowel = infinitive[:-2], infinitive[-2]
    if vowel == "a":
        return stem + "ando"
    if stem[-1] in "aeo":
        return stem + "yendo"
    return _weakened(infinitive) + "iendo"


def command(infinitive: str) -> str:
    """What one tells tú to do: habla, come, haz."""
    return _COMMANDS.get(infinitive) or _present(infinitive, Person.EL)


def prohibition(infinitive: str) -> str:
    """What one tells tú not to do, after no: hables, comas, hagas, busques."""
    if infinitive in _PROHIBITIONS:
        return _PROHIBITIONS[infinitive]
    stem = _present(infinitive, Person.YO)[:-1]
    return _before_e(stem) + "es" if infinitive.endswith("ar") else stem + "as"


def _present(infinitive: str, person: Person) -> str:
    if infinitive in _PRESENT:
        return _PRESENT[infinitive][person]
    if person is Person.YO and infinitive in _PRESENT_YO:
        return _PRESENT_YO[infinitive]
    stem = infinitive[:-2]
    if person is not Person.NOSOTROS:
        stem = _changed(stem, *_STEM_CHANGES.get(infinitive, ("", "")))
    return stem + _ENDINGS["present", infinitive[-2]][person]


def _preterite(infinitive: str, person: Person) -> str:
    if infinitive in _PRETERITE:
        return _PRETERITE[infinitive][person]
    if infinitive in _PRETERITE_STEMS:
        stem, ending = _PRETERITE_STEMS[infinitive], _STRONG_PRETERITE[person]
        return stem + ("eron" if ending == "ieron" and stem.endswith("j") else ending)
    stem, ending = infinitive[:-2], _ENDINGS["preterite", infinitive[-2]][person]
    if infinitive.endswith("ar"):
        return (_before_e(stem) if person is Person.YO else stem) + ending
    if stem[-1] in "aeo":  # leer: leí, leíste, leyó, leímos, leyeron
        return stem + {"ió": "yó", "ieron": "yeron"}.get(ending, ending.replace("i", "í", 1))
    return (_weakened(infinitive) if person in (Person.EL, Person.ELLOS) else stem) + ending


def _changed(stem: str, vowel: str, becomes: str) -> str:
    """The last such vowel of the stem: recordar, recuerd-."""
    if not vowel:
        return stem
    head, _, tail = stem.rpartition(vowel)
    return head + becomes + tail


def _weakened(infinitive: str) -> str:
    """The stem of a changing -ir verb before -ió, -ieron, -iendo: pid-, prefir-, durm-."""
    stem = infinitive[:-2]
    change = _STEM_CHANGES.get(infinitive)
    if not infinitive.endswith("ir") or change is None:
        return stem
    return _changed(stem, change[0], {"e": "i", "o": "u"}[change[0]])


def _before_e(stem: str) -> str:
    """The stem of an -ar verb, spelt to sound the same before e: busqué, llegué, empecé."""
    for ending, spelt in (("c", "qu"), ("g", "gu"), ("z", "c")):
        if stem.endswith(ending):
            return stem[:-1] + spelt
    return stem
