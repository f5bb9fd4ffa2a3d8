"""Questions: is it so, is it done; what, where and when."""

from __future__ import annotations

from tools.phrases.grammar.clauses import Tense, be, does_it, es, esta, hace, verbo
from tools.phrases.grammar.core import Draw, Sentence, question, rule, words
from tools.phrases.grammar.doing import action, activity
from tools.phrases.grammar.noun_phrases import (
    THAT,
    THE,
    THIS,
    A,
    Phrase,
    anyone,
    phrase,
)
from tools.phrases.grammar.objects import described_thing, known_thing, spot, thing_in_condition
from tools.phrases.lexicon import adjectives, nouns, people, verbs
from tools.phrases.lexicon.words import Verb


def asked(draw: Draw) -> Phrase:
    """Whom one asks about: not oneself."""
    subject = anyone(draw)
    return asked(draw) if subject.english in ("I", "we") or subject.english.startswith(("my ", "our ")) else subject


def described(thing: Phrase, verb: str, adjective: str) -> str:
    """es difícil el examen; but ella es alemana: a pronoun goes first."""
    return words(thing.spanish, verb, adjective) if thing.pronoun else words(verb, adjective, thing.spanish)


def inverted(subject: Phrase, verb: Verb, tense: Tense = "present") -> str:
    """After a question word the subject follows the verb: come Ana, está comiendo Ana, vas."""
    return words(verbo(subject.person, verb, tense), subject.spanish)


@rule
def is_it_so(draw: Draw) -> Sentence:
    """Is the exam difficult? ¿Es difícil el examen?"""
    if draw.chance(0.5):
        thing, adjective = described_thing(draw)
    else:
        thing, adjective = asked(draw), draw.one(adjectives.CHARACTER + people.NATIONALITIES)
    verb = es(Phrase("", "", person=thing.person))
    return question(
        words(be(thing), thing.english, adjective.english),
        described(thing, verb, adjective.agreeing(thing.gender, thing.many)),
    )


@rule
def is_it_now(draw: Draw) -> Sentence:
    """Are the shops open? ¿Están abiertas las tiendas?"""
    if draw.chance(0.5):
        thing, adjective = thing_in_condition(draw)
    else:
        thing, adjective = asked(draw), draw.one(adjectives.MOODS)
    past = draw.chance(0.2)
    verb = esta(Phrase("", "", person=thing.person), past)
    return question(
        words(be(thing, past), thing.english, adjective.english),
        described(thing, verb, adjective.agreeing(thing.gender, thing.many)),
    )


@rule
def are_you_hungry(draw: Draw) -> Sentence:
    """Is your sister thirsty? ¿Tu hermana tiene sed?"""
    subject, (english, spanish, _) = asked(draw), draw.one(verbs.FEELINGS)
    past = english != "lucky" and draw.chance(0.2)
    return question(
        words(be(subject, past), subject.english, english),
        words(hace(subject, verbs.HAVE, "imperfect" if past else "present"), spanish),
    )


@rule
def is_it_done(draw: Draw) -> Sentence:
    """Do you eat meat? ¿Comes carne?"""
    subject, what = asked(draw), activity(draw)
    tense: Tense = draw.one(("present", "present", "preterite", "going", "progressive"))
    return question(
        words(does_it(subject, what.verb, tense), what.english), words(hace(subject, what.verb, tense), what.spanish)
    )


@rule
def was_it_done(draw: Draw) -> Sentence:
    """Has Pablo found his keys? ¿Pablo ha encontrado sus llaves?"""
    subject = asked(draw)
    tense: Tense = draw.one(("preterite", "perfect", "future"))
    what = action(draw, subject, *(("any",) if tense == "future" else ("any", "past")))
    return question(
        words(does_it(subject, what.verb, tense), what.english), words(hace(subject, what.verb, tense), what.spanish)
    )


@rule
def is_there(draw: Draw) -> Sentence:
    """Is there a pharmacy near the station? ¿Hay una farmacia cerca de la estación?"""
    if draw.chance(0.4):
        thing, place = phrase(A, draw.one(nouns.counted("small"))), spot(draw)
        return question(f"is there {thing.english} {place.english}", f"hay {thing.spanish} {place.spanish}")
    here, there = draw.two(nouns.counted("building"))
    building, other = phrase(A, here), phrase(draw.one((THE, THE, THIS)), there)
    return question(
        f"is there {building.english} near {other.english}", f"hay {building.spanish} cerca de {other.spanish}"
    )


@rule
def what(draw: Draw) -> Sentence:
    """What are your sons reading? ¿Qué están leyendo tus hijos?"""
    subject = asked(draw)
    verb = draw.one(_WHAT)
    tense: Tense = draw.one(("progressive", "preterite", "going", "perfect", "future"))
    return question(f"what {does_it(subject, verb, tense)}", f"qué {inverted(subject, verb, tense)}")


_WHAT = (
    *(Verb(e, s) for e, s in (("eat", "comer"), ("drink", "beber"), ("read", "leer"), ("write", "escribir"))),
    *(Verb(e, s) for e, s in (("do", "hacer"), ("buy", "comprar"), ("say", "decir"), ("study", "estudiar"))),
    *(Verb(e, s) for e, s in (("sell", "vender"), ("prepare", "preparar"))),
)


@rule
def what_now(draw: Draw) -> Sentence:
    """What does your father think? ¿Qué piensa tu padre?"""
    subject = asked(draw)
    verb = draw.one(
        (Verb("want", "querer"), Verb("need", "necesitar"), Verb("prefer", "preferir"), Verb("think", "pensar"))
    )
    if draw.chance(0.5):
        second = draw.one([v for v in _WHAT if v.english not in ("eat", "drink", "sell")])  # what he has, to eat?
        modal = draw.one(((Verb("want", "querer"), "to", ""), (Verb("have", "tener"), "to", "que")))
        return question(
            f"what {does_it(subject, modal[0])} {modal[1]} {second.english}",
            words("qué", modal[0].form("present", subject.person), modal[2], second.infinitive, subject.spanish),
        )
    return question(f"what {does_it(subject, verb)}", f"qué {inverted(subject, verb)}")


@rule
def where_is(draw: Draw) -> Sentence:
    """Where are my shoes? ¿Dónde están mis zapatos?"""
    choice = draw.number(1, 3)
    if choice == 1:
        thing = phrase(THE, draw.one(nouns.counted("building")))
    elif choice == 2:
        thing = known_thing(draw, draw.one(nouns.counted("small", "lost", "pet", "used")), plural=0.15)
    else:
        thing = asked(draw)
    past = choice > 1 and draw.chance(0.2)
    return question(
        f"where {be(thing, past)} {thing.english}",
        words("dónde", esta(Phrase("", "", person=thing.person), past), thing.spanish),
    )


@rule
def where_does(draw: Draw) -> Sentence:
    """Where does your sister work? ¿Dónde trabaja tu hermana?"""
    subject = asked(draw)
    verb = draw.one(
        tuple(
            Verb(e, s)
            for e, s in (
                ("live", "vivir"),
                ("work", "trabajar"),
                ("study", "estudiar"),
                ("sleep", "dormir"),
                ("have dinner", "cenar"),
            )
        )
    )
    tense: Tense = draw.one(("present", "preterite", "going", "future"))
    return question(f"where {does_it(subject, verb, tense)}", f"dónde {inverted(subject, verb, tense)}")


@rule
def where_bought(draw: Draw) -> Sentence:
    """Where did you find the keys? ¿Dónde encontraste las llaves?"""
    subject = asked(draw)
    noun = draw.one(nouns.counted("goods", "lost"))
    verb = draw.one((Verb("find", "encontrar"), Verb("lose", "perder"), Verb("look for", "buscar")))
    verb = verb if "lost" in noun.kinds else Verb("buy", "comprar")
    thing = known_thing(draw, noun, (THE, THIS, THAT), plural=0.2 if "small" in noun.kinds else 0.0)
    return question(
        f"where {does_it(subject, verb, 'preterite')} {thing.english}",
        words("dónde", verb.form("preterite", subject.person), subject.spanish, thing.spanish),
    )


@rule
def where_from(draw: Draw) -> Sentence:
    """Where is the teacher from? ¿De dónde es el profesor?"""
    subject = asked(draw)
    if draw.chance(0.4):
        go = verbs.GO
        return question(f"where {does_it(subject, go, 'progressive')}", f"adónde {inverted(subject, go)}")
    return question(
        f"where {be(subject)} {subject.english} from",
        words("de dónde", es(Phrase("", "", person=subject.person)), subject.spanish),
    )


@rule
def when(draw: Draw) -> Sentence:
    """When does the train arrive? ¿Cuándo llega el tren?"""
    if draw.chance(0.4):
        subject = phrase(draw.one((THE, THIS)), draw.one(nouns.VEHICLES))
        verb = draw.one((Verb("arrive", "llegar"), Verb("leave", "salir")))
        tense: Tense = draw.one(("present", "preterite", "future"))
    else:
        subject = asked(draw)
        verb = draw.one(
            (Verb("arrive", "llegar"), Verb("come back", "volver"), Verb("begin", "empezar"), Verb("rest", "descansar"))
        )
        tense = draw.one(("preterite", "future", "going"))
    return question(f"when {does_it(subject, verb, tense)}", f"cuándo {inverted(subject, verb, tense)}")


@rule
def when_done(draw: Draw) -> Sentence:
    """When are you going to wash the car? ¿Cuándo vas a lavar el coche?"""
    subject = asked(draw)
    tense: Tense = draw.one(("preterite", "going", "future"))
    done = action(draw, subject, "any", known=True)
    return question(
        words("when", does_it(subject, done.verb, tense), done.english),
        words("cuándo", verbo(subject.person, done.verb, tense), subject.spanish, done.spanish),
    )


@rule
def what_time(draw: Draw) -> Sentence:
    """What time does the museum open? ¿A qué hora abre el museo?"""
    choice = draw.number(1, 3)
    if choice == 1:
        subject = phrase(draw.one((THE, THIS, THAT)), draw.one(nouns.counted("opens")))
        verb = draw.one((Verb("open", "abrir"), Verb("close", "cerrar")))
    elif choice == 2:
        subject, verb = (
            phrase(THE, draw.one(nouns.VEHICLES)),
            draw.one((Verb("arrive", "llegar"), Verb("leave", "salir"))),
        )
    else:
        subject, verb = (
            asked(draw),
            draw.one((*verbs.REFLEXIVE, Verb("have breakfast", "desayunar"), Verb("have dinner", "cenar"))),
        )
    tense: Tense = draw.one(("present", "present", "future", "preterite"))
    return question(f"what time {does_it(subject, verb, tense)}", f"a qué hora {inverted(subject, verb, tense)}")
