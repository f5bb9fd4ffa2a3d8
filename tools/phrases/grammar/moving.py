"""Going, coming, living: the prepositions a, de and en, and their contractions."""

from __future__ import annotations

from tools.phrases.grammar.clauses import Tense, does, does_not, hace
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    NAMES,
    OUR,
    PRONOUNS,
    THAT,
    THE,
    THIS,
    A,
    Phrase,
    anyone,
    phrase,
    relative,
    young_or_old,
)
from tools.phrases.grammar.objects import AT, destination
from tools.phrases.lexicon import adjectives, calendar, nouns, numbers, people
from tools.phrases.lexicon.words import Verb, Word

_GO = Verb("go", "ir")
_TIMES: tuple[tuple[Tense, tuple[Word, ...]], ...] = (
    ("present", (*calendar.EVERY, *calendar.BY_DAY)),
    ("preterite", (*calendar.RECENTLY, calendar.LONG_AGO[0])),
    ("future", (*calendar.SOON, calendar.LATER[0])),
    ("imperfect", calendar.EVERY),
)


def moved(draw: Draw, subject: Phrase, verb: Verb, english: str, spanish: str) -> Sentence:
    """The verb with its place, in a tense, with an adverb that fits the tense; or denied, without one."""
    tense, whens = draw.one(_TIMES)
    when = draw.one(whens)
    if tense != "imperfect" and draw.chance(0.25):
        when = whens[0]
        return statement(
            f"{does_not(subject, verb, tense)} {english} {when.english}",
            f"{hace(subject, verb, tense, 'no')} {spanish} {when.spanish}",
        )
    return statement(
        f"{does(subject, verb, tense)} {english} {when.english}",
        f"{hace(subject, verb, tense)} {spanish} {when.spanish}",
    )


@rule
def goes_to(draw: Draw) -> Sentence:
    """We went to the cinema last night. Fuimos al cine anoche."""
    place = destination(draw)
    return moved(draw, anyone(draw), _GO, f"to {place.english}", f"a {place.spanish}")


@rule
def goes_now(draw: Draw) -> Sentence:
    """They are going to the bank. Ellos van al banco."""
    subject, place = young_or_old(draw), destination(draw)
    denied = draw.chance(0.3)
    start = does_not(subject, _GO, "progressive") if denied else does(subject, _GO, "progressive")
    return statement(
        f"{start} to {place.english}", f"{hace(subject, _GO, before='no' if denied else '')} a {place.spanish}"
    )


@rule
def goes_by(draw: Draw) -> Sentence:
    """I go to school by bus. Voy a la escuela en autobús."""
    subject, place = anyone(draw), destination(draw)
    english, spanish = draw.one(
        (("by bus", "en autobús"), ("by train", "en tren"), ("by car", "en coche"), ("on foot", "a pie"))
    )
    tense: Tense = draw.one(("present", "preterite", "future", "imperfect"))
    return statement(
        f"{does(subject, _GO, tense)} to {place.english} {english}",
        f"{hace(subject, _GO, tense)} a {place.spanish} {spanish}",
    )


@rule
def travels_to(draw: Draw) -> Sentence:
    """Sofía travelled to Japan last year. Sofía viajó a Japón el año pasado."""
    subject, place = anyone(draw), draw.one(people.COUNTRIES + people.CITIES)
    verb = draw.one((Verb("travel", "viajar"), Verb("go", "ir"), Verb("return", "volver")))
    tense: Tense = draw.one(("preterite", "future", "going"))
    when = draw.one(calendar.LONG_AGO if tense == "preterite" else calendar.LATER)
    return statement(
        f"{does(subject, verb, tense)} to {place.english} {when.english}",
        f"{hace(subject, verb, tense)} a {place.spanish} {when.spanish}",
    )


@rule
def comes_from(draw: Draw) -> Sentence:
    """We come back from the museum at five. Volvemos del museo a las cinco."""
    subject, place = anyone(draw), destination(draw)
    verb = draw.one((Verb("come back", "volver"), Verb("leave", "salir")))
    english = place.english if verb.english == "leave" else f"from {place.english}"
    hour = draw.number(1, 12)
    tense: Tense = draw.one(("present", "preterite", "future"))
    return statement(
        f"{does(subject, verb, tense)} {english} at {numbers.in_english(hour)}",
        f"{hace(subject, verb, tense)} de {place.spanish} a {numbers.hour_in_spanish(hour)}",
    )


@rule
def arrives(draw: Draw) -> Sentence:
    """I arrived late at the station. Llegué tarde a la estación."""
    subject, place = anyone(draw), draw.one(nouns.counted("building"))
    known = phrase(THE, place)
    english, spanish = draw.one((("late", "tarde"), ("early", "temprano"), ("very late", "muy tarde")))
    tense: Tense = draw.one(("preterite", "preterite", "future", "going", "perfect"))
    verb = Verb("arrive", "llegar")
    return statement(
        f"{does(subject, verb, tense)} {english} at {AT.get(place.english, known.english)}",
        f"{hace(subject, verb, tense)} {spanish} a {known.spanish}",
    )


@rule
def vehicle_arrives(draw: Draw) -> Sentence:
    """The train leaves at a quarter past nine. El tren sale a las nueve y cuarto."""
    vehicle = phrase(draw.one((THE, THE, THIS, OUR)), draw.one(nouns.VEHICLES))
    verb = draw.one((Verb("arrive", "llegar"), Verb("leave", "salir")))
    hour, minutes = draw.number(1, 12), draw.one((Word("", ""), *numbers.MINUTES))
    tense: Tense = draw.one(("present", "preterite", "future"))
    return statement(
        words(does(vehicle, verb, tense), "at", minutes.english, numbers.in_english(hour)),
        words(hace(vehicle, verb, tense), "a", numbers.hour_in_spanish(hour), minutes.spanish),
    )


@rule
def lives_in(draw: Draw) -> Sentence:
    """My grandmother lives in a small village. Mi abuela vive en un pueblo pequeño."""
    subject, verb = anyone(draw), draw.one((Verb("live", "vivir"), Verb("live", "vivir"), Verb("work", "trabajar")))
    tense: Tense = draw.one(("present", "present", "imperfect", "perfect"))
    place = draw.one(people.CITIES + people.COUNTRIES)
    if draw.chance(0.4):
        noun = nouns.the(
            draw.one(("village", "city") if verb.english == "work" else ("village", "city", "house", "street"))
        )
        adjective = draw.one([a for a in adjectives.beside(noun, known=False) if a.english != "long"])
        found = phrase(draw.one((A, A, THIS, THAT)), noun, False, adjective)
        place = Word(found.english, found.spanish)
    denied = tense == "present" and draw.chance(0.25)
    return statement(
        f"{does_not(subject, verb, tense) if denied else does(subject, verb, tense)} in {place.english}",
        f"{hace(subject, verb, tense, 'no' if denied else '')} en {place.spanish}",
    )


@rule
def lives_near(draw: Draw) -> Sentence:
    """We live near the river. Vivimos cerca del río."""
    subject = anyone(draw)
    place = phrase(THE, draw.one(nouns.counted("visited")))
    english, spanish = draw.one((("near", "cerca de"), ("far from", "lejos de"), ("very near", "muy cerca de")))
    verb = draw.one((Verb("live", "vivir"), Verb("work", "trabajar")))
    tense: Tense = draw.one(("present", "present", "imperfect"))
    return statement(
        f"{does(subject, verb, tense)} {english} {place.english}",
        f"{hace(subject, verb, tense)} {spanish} {place.spanish}",
    )


@rule
def floor(draw: Draw) -> Sentence:
    """Juan lives on the third floor. Juan vive en el tercer piso."""
    subject = draw.one((*PRONOUNS, *NAMES)) if draw.chance(0.6) else relative(draw)
    ordinal = draw.one((*numbers.ORDINALS, numbers.TOP))
    verb = draw.one((Verb("live", "vivir"), Verb("work", "trabajar")))
    masculine = {"primero": "primer", "tercero": "tercer"}.get(ordinal.spanish, ordinal.spanish)
    tense: Tense = draw.one(("present", "imperfect"))
    return statement(
        f"{does(subject, verb, tense)} on the {ordinal.english} floor",
        f"{hace(subject, verb, tense)} en el {masculine} piso",
    )


@rule
def lets_go(draw: Draw) -> Sentence:
    """Let's go to the beach tomorrow. Vamos a la playa mañana."""
    place = phrase(THE, nouns.the(draw.one(_OUTINGS)))
    when = draw.one((Word("", ""), Word("now", "ahora"), *calendar.SOON))
    return statement(words("let's go to", place.english, when.english), words("vamos a", place.spanish, when.spanish))


_OUTINGS = (
    "park",
    "square",
    "beach",
    "cinema",
    "restaurant",
    "museum",
    "market",
    "library",
    "river",
    "village",
    "city",
)


@rule
def puts(draw: Draw) -> Sentence:
    """She is going to put the keys in the bag. Ella va a poner las llaves en la bolsa."""
    subject = anyone(draw)
    noun = draw.one(nouns.counted("small"))
    thing = phrase(draw.one((THE, THE, THIS, THAT)), noun, draw.chance(0.3))
    where = phrase(THE, draw.one(nouns.counted("container", "furniture")))
    inside = "on" if "furniture" in nouns.the(where.english.removeprefix("the ")).kinds else "in"
    tense: Tense = draw.one(("future", "going", "perfect", "progressive"))
    verb = Verb("put", "poner")
    return statement(
        f"{does(subject, verb, tense)} {thing.english} {inside} {where.english}",
        f"{hace(subject, verb, tense)} {thing.spanish} en {where.spanish}",
    )


@rule
def home_and_work(draw: Draw) -> Sentence:
    """I come back from work at six. Vuelvo del trabajo a las seis."""
    subject = anyone(draw)
    hour = draw.number(1, 12)
    verb, spanish = draw.one(
        (
            (Verb("come home", "venir"), "a casa"),
            (Verb("go to work", "ir"), "al trabajo"),
            (Verb("leave home", "salir"), "de casa"),
            (Verb("come back from work", "volver"), "del trabajo"),
            (Verb("get home", "llegar"), "a casa"),
        )
    )
    tense: Tense = draw.one(("present", "preterite", "future", "imperfect"))
    return statement(
        words(does(subject, verb, tense), "at", numbers.in_english(hour)),
        words(hace(subject, verb, tense), spanish, "a", numbers.hour_in_spanish(hour)),
    )
