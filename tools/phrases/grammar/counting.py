"""Numbers, hours, days, seasons and the weather."""

from __future__ import annotations

from tools.phrases.grammar.clauses import Tense, does, does_not, hace
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import THE, THIS, anyone, counted, phrase
from tools.phrases.lexicon import calendar, nouns, numbers, people
from tools.phrases.lexicon.words import Noun, Verb, Word, noun

_MINUTE, _HOUR, _DAY = noun("minute", "minuto", "m"), noun("hour", "hora", "f"), noun("day", "día", "m")
_WEEK, _MONTH, _YEAR = noun("week", "semana", "f"), noun("month", "mes", "m"), noun("year", "año", "m")


@rule
def sum_of(draw: Draw) -> Sentence:
    """Twenty plus eleven is thirty-one. Veinte más once son treinta y uno."""
    first, second = draw.number(2, 60), draw.number(2, 40)
    english, spanish = draw.one((("plus", "más"), ("minus", "menos")))
    if english == "minus":
        first, second = first + second, second
        result = first - second
    else:
        result = first + second
    return statement(
        f"{numbers.in_english(first)} {english} {numbers.in_english(second)} is {numbers.in_english(result)}",
        f"{numbers.in_spanish(first)} {spanish} {numbers.in_spanish(second)} son {numbers.in_spanish(result)}",
    )


@rule
def crowd_of_things(draw: Draw) -> Sentence:
    """There are two hundred and seventy houses in the village. Hay doscientas setenta casas en el pueblo."""
    place, most, things = draw.one(_MANY)
    number = draw.number(2, min(most, 31)) if draw.chance(0.4) else most // 10 * draw.number(1, 10)
    thing, where = counted(max(number, 2), draw.one(things)), phrase(THE, nouns.the(place))
    past = draw.chance(0.2)
    return statement(
        f"there {'were' if past else 'are'} {thing.english} in {where.english}",
        f"{'había' if past else 'hay'} {thing.spanish} en {where.spanish}",
    )


def _all(*english: str) -> tuple[Noun, ...]:
    return tuple(nouns.the(word) for word in english)


_MANY = (
    ("village", 900, _all("house", "tree")),
    ("village", 40, _all("shop", "restaurant", "street", "horse")),
    ("city", 90, _all("school", "hotel", "park", "square", "museum", "library", "pharmacy", "bank", "church")),
    ("library", 900, _all("book", "novel", "map", "dictionary", "magazine")),
    ("library", 90, _all("table", "chair", "computer", "window", "lamp")),
    ("garden", 80, _all("plant", "flower", "tree", "bird", "chair")),
    ("hotel", 500, _all("bedroom", "bathroom", "bed", "window", "door")),
    ("museum", 300, _all("photo", "clock", "ring")),
    ("school", 600, (people.WORKERS[-1], *people.FOLK[2:])),
)


def _clock(draw: Draw) -> tuple[str, str, int]:
    """An hour in both languages, as it follows "at" and "a": half past two, las dos y media."""
    hour, minutes = draw.number(1, 12), draw.one((Word("", ""), *numbers.MINUTES))
    return (
        words(minutes.english, numbers.in_english(hour)),
        words(numbers.hour_in_spanish(hour), minutes.spanish),
        hour,
    )


@rule
def clock(draw: Draw) -> Sentence:
    """It is a quarter to one. Es la una menos cuarto."""
    english, spanish, hour = _clock(draw)
    if " " not in english:
        english += " o'clock"
    when = draw.one((Word("", ""), *_PARTS_OF_DAY[hour]))
    verb = "es" if hour == 1 else "son"
    already, ya = ("already", "ya") if draw.chance(0.2) else ("", "")
    return statement(words("it is", already, english, when.english), words(ya, verb, spanish, when.spanish))


_MORNING = Word("in the morning", "de la mañana")
_AFTERNOON = Word("in the afternoon", "de la tarde")
_NIGHT = Word("at night", "de la noche")
_PARTS_OF_DAY = {
    **dict.fromkeys(range(1, 6), (_MORNING, _AFTERNOON)),
    **dict.fromkeys(range(6, 9), (_MORNING,)),
    **dict.fromkeys(range(9, 12), (_MORNING, _NIGHT)),
    12: (),
}


@rule
def opening_hours(draw: Draw) -> Sentence:
    """The library closes at half past eight. La biblioteca cierra a las ocho y media."""
    place = phrase(THE, draw.one(nouns.counted("opens")))
    verb = draw.one((Verb("open", "abrir"), Verb("close", "cerrar")))
    hour = draw.number(8, 11) if verb.english == "open" else draw.number(1, 10)
    minutes = draw.one((Word("", ""), *numbers.MINUTES))
    english = words(minutes.english, numbers.in_english(hour))
    spanish = words(numbers.hour_in_spanish(hour), minutes.spanish)
    when = draw.one((Word("", ""), Word("", ""), *calendar.EVERY[3:5], Word("today", "hoy")))
    return statement(
        words(does(place, verb), "at", english, when.english), words(hace(place, verb), "a", spanish, when.spanish)
    )


@rule
def meal_time(draw: Draw) -> Sentence:
    """We have dinner at ten past nine. Cenamos a las nueve y diez."""
    subject = anyone(draw)
    verb, hours = draw.one(
        (
            (Verb("have breakfast", "desayunar"), (7, 10)),
            (Verb("have dinner", "cenar"), (8, 10)),
            (Verb("have lunch", "almorzar"), (1, 3)),
        )
    )
    hour, minutes = draw.number(*hours), draw.one((Word("", ""), *numbers.MINUTES))
    return statement(
        words(does(subject, verb), "at", minutes.english, numbers.in_english(hour)),
        words(hace(subject, verb), "a", numbers.hour_in_spanish(hour), minutes.spanish),
    )


@rule
def day(draw: Draw) -> Sentence:
    """Today is Thursday, the third of May. Hoy es jueves, tres de mayo."""
    weekday = draw.one(calendar.DAYS)
    english, spanish = draw.one((("today is", "hoy es"), ("tomorrow is", "mañana es"), ("yesterday was", "ayer fue")))
    if draw.chance(0.1):
        return statement(f"{english} {weekday.english}", f"{spanish} {weekday.spanish}")
    month, number = draw.one(calendar.MONTHS), draw.number(2, 28)
    return statement(
        f"{english} {weekday.english}, the {_ordinal(number)} of {month.english}",
        f"{spanish} {weekday.spanish}, {numbers.in_spanish(number)} de {month.spanish}",
    )


@rule
def birthday(draw: Draw) -> Sentence:
    """Ana's birthday is on the tenth of June. El cumpleaños de Ana es el diez de junio."""
    month, number = draw.one(calendar.MONTHS), draw.number(2, 28)
    someone = draw.one((*_NAMED, Word("my", "mi"), Word("your", "tu"), Word("our", "nuestro")))
    if someone.english in people.WOMEN + people.MEN:
        english, spanish = f"{someone.english}'s birthday", f"el cumpleaños de {someone.spanish}"
    else:
        event = draw.one((Word("birthday", "cumpleaños"), Word("exam", "examen")))
        english, spanish = f"{someone.english} {event.english}", f"{someone.spanish} {event.spanish}"
    return statement(
        f"{english} is on the {_ordinal(number)} of {month.english}",
        f"{spanish} es el {numbers.in_spanish(number)} de {month.spanish}",
    )


_NAMED = tuple(Word(name, name) for name in people.WOMEN + people.MEN)
_ORDINALS = {1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth"}


def _ordinal(number: int) -> str:
    """third, twentieth, twenty-first."""
    if number < 20:
        return _ORDINALS.get(number) or numbers.in_english(number) + "th"
    if number % 10 == 0:
        return numbers.in_english(number)[:-1] + "ieth"
    return f"{numbers.in_english(number - number % 10)}-{_ordinal(number % 10)}"


@rule
def ordinal(draw: Draw) -> Sentence:
    """I have read the third letter. He leído la tercera carta."""
    number, subject = draw.one((*numbers.ORDINALS, numbers.LAST)), anyone(draw)
    verb, kind = draw.one(_IN_ORDER)
    thing = phrase(THE, draw.one([n for n in nouns.counted(kind) if n.english != "exam"]), False, number)
    if draw.chance(0.2):
        return statement(f"this is {thing.english}", f"{THIS.in_spanish(thing.gender, False, '')} es {thing.spanish}")
    tense: Tense = "present" if kind == "task" else draw.one(("perfect", "going", "future"))
    denied = draw.chance(0.3)
    return statement(
        f"{does_not(subject, verb, tense) if denied else does(subject, verb, tense)} {thing.english}",
        f"{hace(subject, verb, tense, 'no' if denied else '')} {thing.spanish}",
    )


_IN_ORDER = (
    (Verb("read", "leer"), "read"),
    (Verb("watch", "ver"), "watched"),
    (Verb("sing", "cantar"), "sung"),
    (Verb("understand", "entender"), "task"),
)


@rule
def part_of_month(draw: Draw) -> Sentence:
    """It is the first day of May. Es el primer día de mayo."""
    number, month = draw.one((*numbers.ORDINALS[:4], numbers.LAST)), draw.one(calendar.MONTHS)
    part = phrase(THE, draw.one((_DAY, _WEEK)), False, number)
    verb, form = draw.one((("is", "es"), ("was", "era")))
    return statement(f"it {verb} {part.english} of {month.english}", f"{form} {part.spanish} de {month.spanish}")


_HERE = (Word("here", "aquí"), *(Word(f"in {c.english}", f"en {c.spanish}") for c in people.CITIES + people.COUNTRIES))
_WEATHER_TIMES = (
    ("it is", "it isn't", "hace", Word("", "")),
    ("it is", "it isn't", "hace", Word("today", "hoy")),
    ("it is", "it isn't", "hace", Word("in spring", "en primavera")),
    ("it was", "it wasn't", "hizo", Word("yesterday", "ayer")),
    ("it will be", "it won't be", "hará", Word("tomorrow", "mañana")),
)


@rule
def weather(draw: Draw) -> Sentence:
    """It is very cold in Paris today. Hace mucho frío en París hoy."""
    english, spanish, much = draw.one(calendar.WEATHER)
    place, (verb, denied, form, when) = draw.one(_HERE), draw.one(_WEATHER_TIMES)
    very, mucho, no = "", "", ""
    choice = draw.number(1, 3)
    if choice == 1:
        very, mucho = "very", much
    elif choice == 2:
        verb, no = denied, "no"
    return statement(
        words(verb, very, english, place.english, when.english),
        words(no, form, mucho, spanish, place.spanish, when.spanish),
    )


@rule
def rain(draw: Draw) -> Sentence:
    """It rains a lot in London in November. Llueve mucho en Londres en noviembre."""
    place = draw.one(people.CITIES + people.COUNTRIES)
    if draw.chance(0.2):
        english, spanish, when = draw.one(_RAINING)
        return statement(f"{english} in {place.english} {when.english}", f"{spanish} en {place.spanish} {when.spanish}")
    month = draw.one((*calendar.MONTHS, *calendar.SEASONS))
    english, spanish = draw.one(_RAINS)
    return statement(
        f"{english} in {place.english} in {month.english}", f"{spanish} en {place.spanish} en {month.spanish}"
    )


_RAINS = (
    ("it rains a lot", "llueve mucho"),
    ("it doesn't rain much", "no llueve mucho"),
    ("it rains very little", "llueve muy poco"),
)
_RAINING = (
    ("it is raining", "está lloviendo", Word("now", "ahora")),
    ("it isn't raining", "no está lloviendo", Word("now", "ahora")),
    ("it rained", "llovió", Word("yesterday", "ayer")),
    ("it is going to rain", "va a llover", Word("tomorrow", "mañana")),
)


@rule
def month_of(draw: Draw) -> Sentence:
    """My aunt will come back in July. Mi tía volverá en julio."""
    subject, month = anyone(draw), draw.one((*calendar.MONTHS, *calendar.SEASONS))
    pairs = (("travel", "viajar"), ("rest", "descansar"), ("work", "trabajar"), ("come back", "volver"))
    verb, tense = Verb(*draw.one(pairs)), draw.one(_COMING)
    return statement(
        f"{does(subject, verb, tense)} in {month.english}", f"{hace(subject, verb, tense)} en {month.spanish}"
    )


_COMING: tuple[Tense, ...] = ("going", "future")


@rule
def ago(draw: Draw) -> Sentence:
    """The bus left ten minutes ago. El autobús salió hace diez minutos."""
    if draw.chance(0.5):
        subject = phrase(THE, draw.one(nouns.VEHICLES))
        verb = Verb(*draw.one((("arrive", "llegar"), ("leave", "salir"))))
        unit, low, high = draw.one(_SPANS[:2])
    else:
        subject = anyone(draw)
        verb = Verb(*draw.one((("arrive", "llegar"), ("call", "llamar"), ("come back", "volver"))))
        unit, low, high = draw.one(_SPANS)
    span = counted(draw.number(low, high), unit)
    return statement(
        f"{does(subject, verb, 'preterite')} {span.english} ago",
        f"{hace(subject, verb, 'preterite')} hace {span.spanish}",
    )


_SPANS = ((_MINUTE, 2, 30), (_HOUR, 2, 12), (_DAY, 2, 20))


@rule
def for_how_long(draw: Draw) -> Sentence:
    """She worked in Rome for three years. Ella trabajó en Roma durante tres años."""
    subject, place = anyone(draw), draw.one(people.CITIES + people.COUNTRIES)
    span = counted(draw.number(2, 11), draw.one((_WEEK, _MONTH, _YEAR)))
    verb = Verb(*draw.one((("live", "vivir"), ("work", "trabajar"), ("study", "estudiar"))))
    return statement(
        f"{does(subject, verb, 'preterite')} in {place.english} for {span.english}",
        f"{hace(subject, verb, 'preterite')} en {place.spanish} durante {span.spanish}",
    )
