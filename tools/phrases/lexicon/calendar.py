"""Days, months, seasons, weather, and the adverbs of time that go with each tense."""

from __future__ import annotations

from tools.phrases.lexicon.words import Word

DAYS: tuple[Word, ...] = (
    Word("Monday", "lunes"),
    Word("Tuesday", "martes"),
    Word("Wednesday", "miércoles"),
    Word("Thursday", "jueves"),
    Word("Friday", "viernes"),
    Word("Saturday", "sábado"),
    Word("Sunday", "domingo"),
)
MONTHS: tuple[Word, ...] = (
    Word("January", "enero"),
    Word("February", "febrero"),
    Word("March", "marzo"),
    Word("April", "abril"),
    Word("May", "mayo"),
    Word("June", "junio"),
    Word("July", "julio"),
    Word("August", "agosto"),
    Word("September", "septiembre"),
    Word("October", "octubre"),
    Word("November", "noviembre"),
    Word("December", "diciembre"),
)
SEASONS: tuple[Word, ...] = (
    Word("spring", "primavera"),
    Word("summer", "verano"),
    Word("autumn", "otoño"),
    Word("winter", "invierno"),
)
# with hacer; the third: how "very" is said (hace mucho frío)
WEATHER: tuple[tuple[str, str, str], ...] = (
    ("cold", "frío", "mucho"),
    ("hot", "calor", "mucho"),
    ("windy", "viento", "mucho"),
    ("sunny", "sol", "mucho"),
)

EVERY: tuple[Word, ...] = (
    Word("every day", "todos los días"),
    Word("every Sunday", "todos los domingos"),
    Word("every Friday", "todos los viernes"),
    Word("on Saturdays", "los sábados"),
    Word("on Mondays", "los lunes"),
    Word("at weekends", "los fines de semana"),
)
BY_DAY: tuple[Word, ...] = (
    Word("every morning", "todas las mañanas"),
    Word("every afternoon", "todas las tardes"),
    Word("in the morning", "por la mañana"),
    Word("in the afternoon", "por la tarde"),
)
RECENTLY: tuple[Word, ...] = (
    Word("yesterday", "ayer"),
    Word("last night", "anoche"),
    Word("yesterday morning", "ayer por la mañana"),
    Word("last Monday", "el lunes pasado"),
    Word("last Saturday", "el sábado pasado"),
    Word("two days ago", "hace dos días"),
    Word("an hour ago", "hace una hora"),
)
LONG_AGO: tuple[Word, ...] = (
    Word("last week", "la semana pasada"),
    Word("last month", "el mes pasado"),
    Word("last year", "el año pasado"),
    Word("a week ago", "hace una semana"),
    Word("two months ago", "hace dos meses"),
)
SOON: tuple[Word, ...] = (
    Word("tomorrow", "mañana"),
    Word("tonight", "esta noche"),
    Word("this afternoon", "esta tarde"),
    Word("on Sunday", "el domingo"),
    Word("on Thursday", "el jueves"),
    Word("tomorrow morning", "mañana por la mañana"),
)
LATER: tuple[Word, ...] = (
    Word("next week", "la semana que viene"),
    Word("next month", "el mes que viene"),
    Word("next year", "el año que viene"),
    Word("soon", "pronto"),
)
FREQUENCY: tuple[Word, ...] = (
    Word("always", "siempre"),
    Word("often", "a menudo"),
    Word("almost always", "casi siempre"),
    Word("never", "nunca"),
    Word("almost never", "casi nunca"),
)
