"""What people do, in every tense."""

from __future__ import annotations

from typing import NamedTuple

from tools.phrases.grammar.clauses import Tense, does, does_not, hace
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import NAMES, WE, YOU, I, Phrase, anyone, young_or_old
from tools.phrases.grammar.objects import object_of
from tools.phrases.lexicon import calendar, people, verbs
from tools.phrases.lexicon.words import Verb, Word
from tools.phrases.morphology import joined

ANY_TIME = Word("", "")


class Deed(NamedTuple):
    """A verb, what completes it, and whether it is worth remembering for a year."""

    verb: Verb
    english: str
    spanish: str
    weighty: bool = False


def activity(draw: Draw) -> Deed:
    """Something people do again and again: play chess."""
    chosen = draw.one(verbs.ACTIVITIES)
    return Deed(chosen.verb, chosen.english, chosen.spanish)


def soon(draw: Draw, what: Deed) -> Word:
    """When one will do it: dinner tonight, breakfast tomorrow morning, what is weighty also next month."""
    if what.verb.english == "have breakfast":
        return draw.one((calendar.SOON[0], *calendar.SOON[3:]))
    if what.verb in verbs.EVENING or what.english == "wine":
        return draw.one((*calendar.SOON[:2], *calendar.SOON[3:5]))
    return draw.one((*calendar.SOON, *calendar.LATER[:2], calendar.LATER[3]) if what.weighty else calendar.SOON)


def lately(draw: Draw, what: Deed) -> Word:
    """When one did it."""
    if what.verb.english == "have breakfast":
        return draw.one((calendar.RECENTLY[0], *calendar.RECENTLY[2:6]))
    if what.verb in verbs.EVENING or what.english == "wine":
        return draw.one((*calendar.RECENTLY[:2], *calendar.RECENTLY[3:6]))
    return draw.one(calendar.RECENTLY + calendar.LONG_AGO if what.weighty else calendar.RECENTLY)


def custom(draw: Draw) -> Deed:
    """An activity for which people have a time of the week."""
    chosen = activity(draw)
    return custom(draw) if chosen.verb.english in ("think about", "ask for") else chosen


def outcome(draw: Draw, subject: Phrase, *times: str, known: bool = False) -> Deed:
    """An action that comes to an end, so that it can be done already, or just done."""
    chosen = action(draw, subject, *times, known=known)
    if chosen.verb.english in ("look for", "use", "forget"):
        return outcome(draw, subject, *times, known=known)
    return chosen


def action(draw: Draw, subject: Phrase, *times: str, known: bool = False) -> Deed:
    """Something done to a thing: buy a red car, open the door."""
    chosen = draw.one(verbs.actions(*times))
    thing = object_of(draw, chosen, subject, known)
    weighty = chosen.kind in verbs.WEIGHTY and chosen.verb.english not in ("look for", "forget")
    return Deed(chosen.verb, thing.english, thing.spanish, weighty)


def deed(draw: Draw, subject: Phrase, *times: str) -> Deed:
    return activity(draw) if draw.chance(0.3) else action(draw, subject, *times)


def told(draw: Draw, tense: Tense, denied: bool = False, *times: str) -> Sentence:
    """Somebody does something, or does not."""
    subject = anyone(draw)
    what = activity(draw) if draw.chance(0.3) else action(draw, subject, *(times or ("any",)), known=denied)
    return stated(subject, what, tense, denied)


def stated(subject: Phrase, what: Deed, tense: Tense, denied: bool = False, when: Word = ANY_TIME) -> Sentence:
    start = does_not(subject, what.verb, tense) if denied else does(subject, what.verb, tense)
    return statement(
        words(start, what.english, when.english),
        words(hace(subject, what.verb, tense, "no" if denied else ""), what.spanish, when.spanish),
    )


def adverbial(
    subject: Phrase, what: Deed, english: str, spanish: str, tense: Tense = "present", last: str = ""
) -> Sentence:
    """With an adverb before the verb: Ana always reads, Ana siempre lee."""
    return statement(
        words(does(subject, what.verb, tense, english), what.english, last),
        words(hace(subject, what.verb, tense, spanish), what.spanish),
    )


@rule
def habit(draw: Draw) -> Sentence:
    """Ana listens to the radio every morning. Ana escucha la radio todas las mañanas."""
    what = custom(draw)
    by_day = () if what.verb in verbs.EVENING or what.english == "wine" else calendar.BY_DAY
    return stated(anyone(draw), what, "present", when=draw.one(calendar.EVERY + by_day))


@rule
def not_done(draw: Draw) -> Sentence:
    """We don't eat meat. No comemos carne."""
    return stated(anyone(draw), activity(draw), "present", denied=True)


@rule
def how_often(draw: Draw) -> Sentence:
    """My brother almost never plays chess. Mi hermano casi nunca juega al ajedrez."""
    often = draw.one(calendar.FREQUENCY)
    return adverbial(anyone(draw), activity(draw), often.english, often.spanish)


@rule
def also(draw: Draw) -> Sentence:
    """Carlos plays the guitar too. Carlos también toca la guitarra."""
    return adverbial(anyone(draw), activity(draw), "", "también", last="too")


@rule
def neither(draw: Draw) -> Sentence:
    """Carlos doesn't drink wine either. Carlos tampoco bebe vino."""
    subject, what = anyone(draw), activity(draw)
    return statement(
        words(does_not(subject, what.verb), what.english, "either"),
        words(hace(subject, what.verb, before="tampoco"), what.spanish),
    )


@rule
def how_well(draw: Draw) -> Sentence:
    """She sings very well. Ella canta muy bien."""
    subject, verb = young_or_old(draw), draw.one(verbs.INTRANSITIVE)
    how = draw.one(verbs.HOW[:3] if verb in verbs.SKILLS or verb.english == "sing" else verbs.HOW[3:])
    denied = how.english in ("well", "a lot") and draw.chance(0.4)
    return statement(
        words(does_not(subject, verb) if denied else does(subject, verb), how.english),
        words(hace(subject, verb, before="no" if denied else ""), how.spanish),
    )


@rule
def state_of_mind(draw: Draw) -> Sentence:
    """I need a new coat. Necesito un abrigo nuevo."""
    subject = anyone(draw)
    denied = draw.chance(0.25)
    return stated(subject, action(draw, subject, "now", known=denied), "present", denied)


@rule
def past_event(draw: Draw) -> Sentence:
    """Pedro bought a blue shirt yesterday. Pedro compró una camisa azul ayer."""
    subject = anyone(draw)
    what = deed(draw, subject, "any", "past")
    return stated(subject, what, "preterite", when=lately(draw, what))


@rule
def past_denied(draw: Draw) -> Sentence:
    """He didn't open the window. Él no abrió la ventana."""
    return told(draw, "preterite", True, "any", "past")


@rule
def used_to(draw: Draw) -> Sentence:
    """My grandmother used to play the piano. Mi abuela tocaba el piano."""
    when = draw.one(calendar.EVERY) if draw.chance(0.5) else ANY_TIME
    return stated(anyone(draw), custom(draw), "imperfect", when=when)


@rule
def future_event(draw: Draw) -> Sentence:
    """We will sell the house next month. Venderemos la casa el mes que viene."""
    subject = anyone(draw)
    what = deed(draw, subject, "any")
    return stated(subject, what, "future", when=soon(draw, what))


@rule
def future_denied(draw: Draw) -> Sentence:
    """Laura won't use the computer. Laura no usará el ordenador."""
    return told(draw, "future", True)


@rule
def plan(draw: Draw) -> Sentence:
    """I am going to write a letter. Voy a escribir una carta."""
    subject = anyone(draw)
    what = deed(draw, subject, "any")
    return stated(subject, what, "going", when=soon(draw, what) if draw.chance(0.3) else ANY_TIME)


@rule
def plan_denied(draw: Draw) -> Sentence:
    """They aren't going to paint the door. Ellos no van a pintar la puerta."""
    return told(draw, "going", True)


@rule
def done(draw: Draw) -> Sentence:
    """I have lost my keys. He perdido mis llaves."""
    subject = anyone(draw)
    denied = draw.chance(0.25)
    return stated(subject, action(draw, subject, "any", "past", known=denied), "perfect", denied)


@rule
def already_done(draw: Draw) -> Sentence:
    """Ana has already read the letter. Ana ya ha leído la carta."""
    subject = anyone(draw)
    return adverbial(subject, outcome(draw, subject, "any", known=True), "already", "ya", "perfect")


@rule
def not_yet_done(draw: Draw) -> Sentence:
    """We haven't opened the box yet. Todavía no hemos abierto la caja."""
    subject = anyone(draw)
    what = outcome(draw, subject, "any", known=True)
    return statement(
        words(does_not(subject, what.verb, "perfect"), what.english, "yet"),
        words(hace(subject, what.verb, "perfect", "todavía no"), what.spanish),
    )


@rule
def never_done(draw: Draw) -> Sentence:
    """We have never played tennis. Nunca hemos jugado al tenis."""
    return adverbial(anyone(draw), activity(draw), "never", "nunca", "perfect")


@rule
def just_done(draw: Draw) -> Sentence:
    """The teacher has just closed the door. El profesor acaba de cerrar la puerta."""
    subject = anyone(draw)
    return stated(subject, outcome(draw, subject, "any", "past"), "just")


@rule
def in_progress(draw: Draw) -> Sentence:
    """The students are reading a novel. Los estudiantes están leyendo una novela."""
    subject = anyone(draw)
    when = Word("now", "ahora") if draw.chance(0.2) else ANY_TIME
    return stated(subject, deed(draw, subject, "any"), "progressive", when=when)


@rule
def not_in_progress(draw: Draw) -> Sentence:
    """You aren't listening to music. No estás escuchando música."""
    return stated(anyone(draw), activity(draw), "progressive", denied=True)


@rule
def interrupted(draw: Draw) -> Sentence:
    """I was eating an apple when Luis arrived. Estaba comiendo una manzana cuando llegó Luis."""
    subject, other = anyone(draw), draw.one((I, YOU, WE, *NAMES))
    if subject.english == other.english or other.english in subject.english.split():
        return interrupted(draw)
    what = deed(draw, subject, "any")
    arrival = draw.one((Verb("arrive", "llegar"), Verb("call", "llamar"), Verb("come back", "volver")))
    event = words(arrival.form("preterite", other.person), other.spanish)
    return statement(
        words(does(subject, what.verb, "past progressive"), what.english, "when", does(other, arrival, "preterite")),
        words(hace(subject, what.verb, "past progressive"), what.spanish, "cuando", event),
    )


@rule
def languages(draw: Draw) -> Sentence:
    """My aunt speaks Spanish and English. Mi tía habla español e inglés."""
    subject, speak = anyone(draw), draw.one((Verb("speak", "hablar"), Verb("study", "estudiar")))
    first, second = draw.two(people.LANGUAGES)
    denied = draw.chance(0.3)
    if denied:
        english, spanish = first.english, first.spanish
    else:
        english, spanish = f"{first.english} and {second.english}", joined(first.spanish, second.spanish)
    return statement(
        words(does_not(subject, speak) if denied else does(subject, speak), english),
        words(hace(subject, speak, before="no" if denied else ""), spanish),
    )


@rule
def speaks_well(draw: Draw) -> Sentence:
    """You speak French very well. Hablas muy bien francés."""
    subject, language, speak = anyone(draw), draw.one(people.LANGUAGES), Verb("speak", "hablar")
    if draw.chance(0.25):
        return statement(
            f"{does(subject, speak)} a little {language.english}",
            f"{hace(subject, speak)} un poco de {language.spanish}",
        )
    how = draw.one(verbs.HOW[:3])
    denied = how.english == "well"
    return statement(
        words(does_not(subject, speak) if denied else does(subject, speak), language.english, how.english),
        words(hace(subject, speak, before="no" if denied else ""), how.spanish, language.spanish),
    )


@rule
def nothing(draw: Draw) -> Sentence:
    """I didn't buy anything yesterday. No compré nada ayer."""
    subject, verb = anyone(draw), draw.one(_ANYTHING)
    tense: Tense = draw.one(_ANYTHING_TENSES)
    when = draw.one(calendar.RECENTLY[:3]) if tense == "preterite" and draw.chance(0.5) else ANY_TIME
    return stated(subject, Deed(verb, "anything", "nada"), tense, denied=True, when=when)


@rule
def something(draw: Draw) -> Sentence:
    """She has said something. Ella ha dicho algo."""
    subject, verb = anyone(draw), draw.one(_ANYTHING)
    return stated(subject, Deed(verb, "something", "algo"), draw.one(_ANYTHING_TENSES[1:]))


_ANYTHING_TENSES: tuple[Tense, ...] = ("present", "preterite", "perfect", "future", "progressive")
_ANYTHING = (
    Verb("buy", "comprar"),
    Verb("eat", "comer"),
    Verb("drink", "beber"),
    Verb("do", "hacer"),
    Verb("say", "decir"),
    Verb("write", "escribir"),
)


@rule
def nobody(draw: Draw) -> Sentence:
    """Nobody has opened the door. Nadie ha abierto la puerta."""
    who = draw.one((Phrase("nobody", "nadie"), Phrase("nobody", "nadie"), Phrase("somebody", "alguien")))
    tense: Tense = draw.one(("preterite", "perfect", "progressive", "future"))
    times = ("any", "past") if tense in ("preterite", "perfect") else ("any",)
    return stated(who, action(draw, who, *times, known=True), tense)
