"""Numbers in words, the hours of the clock, and the order of things."""

from __future__ import annotations

from tools.phrases.lexicon.words import Adjective, Word, adjective
from tools.phrases.morphology import Gender

# fmt: off
_ENGLISH = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_ENGLISH_TENS = (
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)
_SPANISH = (
    "cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
    "trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte", "veintiuno",
    "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete", "veintiocho",
    "veintinueve",
)
_SPANISH_TENS = (
    "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa",
)
_SPANISH_HUNDREDS = (
    "ciento", "doscientos", "trescientos", "cuatrocientos", "quinientos", "seiscientos", "setecientos",
    "ochocientos", "novecientos",
)
# fmt: on

ORDINALS: tuple[Adjective, ...] = (
    adjective("first", "primero", before=True),
    adjective("second", "segundo", before=True),
    adjective("third", "tercero", before=True),
    adjective("fourth", "cuarto", before=True),
    adjective("fifth", "quinto", before=True),
)
LAST = adjective("last", "último", before=True)
TOP = adjective("top", "último", before=True)  # the top floor, el último piso

# Minutes of the clock: before the hour in English, after it in Spanish.
MINUTES: tuple[Word, ...] = (
    Word("five past", "y cinco"),
    Word("ten past", "y diez"),
    Word("a quarter past", "y cuarto"),
    Word("twenty past", "y veinte"),
    Word("half past", "y media"),
    Word("twenty to", "menos veinte"),
    Word("a quarter to", "menos cuarto"),
    Word("ten to", "menos diez"),
    Word("five to", "menos cinco"),
)


def in_english(number: int) -> str:
    """twenty-one, a hundred, two hundred and five: for 0 to 999."""
    if number < 20:
        return _ENGLISH[number]
    if number < 100:
        tens = _ENGLISH_TENS[number // 10 - 2]
        return tens if number % 10 == 0 else f"{tens}-{_ENGLISH[number % 10]}"
    hundreds = f"{_ENGLISH[number // 100] if number >= 200 else 'a'} hundred"
    return hundreds if number % 100 == 0 else f"{hundreds} and {in_english(number % 100)}"


def in_spanish(number: int, gender: Gender | None = None) -> str:
    """veintiuno alone; before a noun veintiún libros, veintiuna mesas, doscientas casas, cien años: for 0 to 999."""
    if number == 100:
        return "cien"
    if number > 100:
        hundreds = _SPANISH_HUNDREDS[number // 100 - 1]
        if gender == "f" and number >= 200:
            hundreds = hundreds[:-2] + "as"
        return hundreds if number % 100 == 0 else f"{hundreds} {in_spanish(number % 100, gender)}"
    if number < 30:
        word = _SPANISH[number]
    else:
        tens = _SPANISH_TENS[number // 10 - 3]
        word = tens if number % 10 == 0 else f"{tens} y {_SPANISH[number % 10]}"
    if not word.endswith("uno") or gender is None:
        return word
    if gender == "f":
        return word[:-1] + "a"
    return word[:-3] + ("ún" if number == 21 else "un")


def hour_in_spanish(hour: int) -> str:
    """la una, las dos: hours are feminine."""
    return "la una" if hour == 1 else f"las {in_spanish(hour)}"
