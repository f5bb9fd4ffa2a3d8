"""Plurals, feminines, short forms, accents and numbers against tables written by hand."""

from __future__ import annotations

import pytest

from tools.phrases import english, morphology
from tools.phrases.lexicon import nouns, numbers

PLURALS = """
libro libros, casa casas, coche coches, café cafés, sofá sofás, pie pies, foto fotos, mano manos, día días
ciudad ciudades, flor flores, papel papeles, mujer mujeres, reloj relojes, árbol árboles, hotel hoteles
lápiz lápices, luz luces, feliz felices, vez veces
canción canciones, avión aviones, estación estaciones, jardín jardines, alemán alemanes, marrón marrones
autobús autobuses, inglés ingleses, francés franceses, mes meses, gris grises, país países
examen exámenes, joven jóvenes, imagen imágenes, fácil fáciles, difícil difíciles, azul azules
lunes lunes, martes martes, paraguas paraguas, cumpleaños cumpleaños
problema problemas, idioma idiomas, mapa mapas, águila águilas, aula aulas, pared paredes, tren trenes
profesor profesores, trabajador trabajadores, español españoles, pastel pasteles, ordenador ordenadores
"""
FEMININES = """
rojo roja, bonito bonita, primero primera, mío mía, mucho mucha, trabajador trabajadora, profesor profesora
español española, inglés inglesa, francés francesa, portugués portuguesa, japonés japonesa, alemán alemana
verde verde, azul azul, gris gris, marrón marrón, feliz feliz, fácil fácil, joven joven, grande grande
inteligente inteligente, canadiense canadiense, mayor mayor, menor menor, mejor mejor, dentista dentista
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [(a, b) for a, b in (entry.split() for entry in table.replace("\n", ", ").strip(", ").split(", ") if entry)]


def test_plurals() -> None:
    assert {word: morphology.plural(word) for word, _ in pairs(PLURALS)} == dict(pairs(PLURALS))


def test_feminines() -> None:
    assert {word: morphology.feminine(word) for word, _ in pairs(FEMININES)} == dict(pairs(FEMININES))


@pytest.mark.parametrize(
    ("word", "gender", "many", "form"),
    [
        ("bueno", "m", False, "buen"),
        ("bueno", "f", False, "buena"),
        ("bueno", "m", True, "buenos"),
        ("malo", "m", False, "mal"),
        ("grande", "m", False, "gran"),
        ("grande", "f", False, "gran"),
        ("grande", "f", True, "grandes"),
        ("primero", "m", False, "primer"),
        ("tercero", "m", False, "tercer"),
        ("tercero", "f", False, "tercera"),
        ("segundo", "m", False, "segundo"),
        ("alguno", "m", False, "algún"),
        ("ninguno", "m", False, "ningún"),
        ("ninguno", "f", False, "ninguna"),
        ("uno", "m", False, "un"),
    ],
)
def test_short_forms(word: str, gender: morphology.Gender, many: bool, form: str) -> None:
    assert morphology.short(word, gender, many) == form


def test_stressed_a() -> None:
    assert morphology.article("f", False, "agua") == "el"
    assert morphology.article("f", True, "aguas") == "las"
    assert morphology.article("f", False, "gran") == "la"
    assert morphology.indefinite("uno", "f", False, "aula") == "un"
    assert morphology.indefinite("ninguno", "f", False, "águila") == "ningún"
    assert morphology.indefinite("uno", "f", False, "amiga") == "una"


@pytest.mark.parametrize(
    ("form", "clitic", "whole"),
    [
        ("ver", "lo", "verlo"),
        ("ayudar", "nos", "ayudarnos"),
        ("ayuda", "me", "ayúdame"),
        ("llama", "la", "llámala"),
        ("busca", "los", "búscalos"),
        ("escucha", "nos", "escúchanos"),
        ("da", "me", "dame"),
        ("di", "me", "dime"),
        ("trae", "me", "tráeme"),
        ("lee", "lo", "léelo"),
        ("levanta", "te", "levántate"),
        ("sienta", "te", "siéntate"),
        ("acuesta", "te", "acuéstate"),
        ("despierta", "te", "despiértate"),
        ("viste", "te", "vístete"),
        ("espera", "la", "espérala"),
        ("presta", "nos", "préstanos"),
    ],
)
def test_attached_pronouns(form: str, clitic: str, whole: str) -> None:
    assert morphology.attached(form, clitic) == whole


def test_contractions_and_links() -> None:
    assert morphology.contracted("voy a el cine de el pueblo") == "voy al cine del pueblo"
    assert morphology.contracted("a él le gusta el café de él") == "a él le gusta el café de él"
    assert morphology.joined("español", "inglés") == "español e inglés"
    assert morphology.joined("Francia", "Italia") == "Francia e Italia"
    assert morphology.joined("agua", "hielo") == "agua y hielo"
    assert morphology.joined("inglés", "español") == "inglés y español"


@pytest.mark.parametrize(
    ("number", "alone", "masculine", "feminine", "in_english"),
    [
        (1, "uno", "un", "una", "one"),
        (7, "siete", "siete", "siete", "seven"),
        (16, "dieciséis", "dieciséis", "dieciséis", "sixteen"),
        (21, "veintiuno", "veintiún", "veintiuna", "twenty-one"),
        (22, "veintidós", "veintidós", "veintidós", "twenty-two"),
        (31, "treinta y uno", "treinta y un", "treinta y una", "thirty-one"),
        (40, "cuarenta", "cuarenta", "cuarenta", "forty"),
        (99, "noventa y nueve", "noventa y nueve", "noventa y nueve", "ninety-nine"),
        (100, "cien", "cien", "cien", "a hundred"),
        (101, "ciento uno", "ciento un", "ciento una", "a hundred and one"),
        (200, "doscientos", "doscientos", "doscientas", "two hundred"),
        (550, "quinientos cincuenta", "quinientos cincuenta", "quinientas cincuenta", "five hundred and fifty"),
        (721, "setecientos veintiuno", "setecientos veintiún", "setecientas veintiuna", "seven hundred and twenty-one"),
        (900, "novecientos", "novecientos", "novecientas", "nine hundred"),
    ],
)
def test_numbers(number: int, alone: str, masculine: str, feminine: str, in_english: str) -> None:
    assert numbers.in_spanish(number) == alone
    assert numbers.in_spanish(number, "m") == masculine
    assert numbers.in_spanish(number, "f") == feminine
    assert numbers.in_english(number) == in_english


def test_english_nouns_and_adjectives() -> None:
    plurals = {"man": "men", "box": "boxes", "tomato": "tomatoes", "photo": "photos", "key": "keys", "city": "cities"}
    plurals |= {"church": "churches", "bus": "buses", "foot": "feet", "dictionary": "dictionaries", "glass": "glasses"}
    assert {word: english.plural(word) for word in plurals} == plurals
    degrees = {"big": "bigger", "easy": "easier", "tall": "taller", "shy": "shyer", "brave": "braver", "good": "better"}
    degrees |= {"expensive": "more expensive", "modern": "more modern", "quiet": "quieter", "boring": "more boring"}
    degrees |= {"famous": "more famous", "lazy": "lazier", "heavy": "heavier", "new": "newer", "cheap": "cheaper"}
    assert {word: english.comparative(word) for word in degrees} == degrees
    assert english.superlative("bad") == "worst"
    assert [english.a(word) for word in ("apple", "university", "hour", "book", "old car")] == [
        "an apple",
        "a university",
        "an hour",
        "a book",
        "an old car",
    ]


def test_no_noun_stands_twice_in_the_lexicon() -> None:
    words = [noun.english for noun in nouns.ALL]
    assert len(words) == len(set(words))
