"""Wanting, being able, and the verbs that turn the sentence round: me gusta, me duele."""

from __future__ import annotations

from tools.phrases.conjugation import Person
from tools.phrases.grammar.clauses import INDIRECT, does, does_it, does_not, hace, quiere, wants_to
from tools.phrases.grammar.core import Draw, Sentence, question, rule, statement, words
from tools.phrases.grammar.doing import Deed, action, activity, custom
from tools.phrases.grammar.noun_phrases import (
    HER,
    HIS,
    MY,
    OUR,
    THAT,
    THE,
    THEIR,
    THIS,
    YOUR,
    Phrase,
    anyone,
    own,
    phrase,
)
from tools.phrases.grammar.objects import known_thing
from tools.phrases.lexicon import calendar, nouns, people, verbs
from tools.phrases.lexicon.words import Modal, Noun, Verb

_LIKE, _LOVE = Verb("like", "gustar"), Verb("love", "encantar")
_LIKED = (
    nouns.of_kind("mass")
    + nouns.counted("served")
    + nouns.ANIMALS[:4]
    + tuple(nouns.the(n) for n in ("book", "film", "poem", "flower", "plant", "museum", "song", "language", "novel"))
)


def _generic(noun: Noun) -> Phrase:
    """All there is of it: coffee, el café; cats, los gatos."""
    many = "mass" not in noun.kinds
    return Phrase(noun.in_english(many), phrase(THE, noun, many).spanish, noun.gender, phrase(THE, noun, many).person)


def to_whom(someone: Phrase, denied: bool = False, verb: str = "gusta") -> str:
    """a Ana no le gusta; me gusta: the person is named unless the pronoun says who it is."""
    named = f"a {someone.spanish.replace(' y ', ' y a ')}" if someone.spanish else ""
    return words(named, "no" if denied else "", INDIRECT[someone.person], verb)


def liked(thing: Phrase, verb: Verb, tense: str = "present") -> str:
    """gusta or gustan, agreeing with what is liked."""
    person = Person.ELLOS if thing.many else Person.EL
    return verb.form("imperfect" if tense == "imperfect" else "present", person)


@rule
def likes(draw: Draw) -> Sentence:
    """My grandmother likes cats. A mi abuela le gustan los gatos."""
    someone, thing = anyone(draw), _generic(draw.one(_LIKED))
    denied = draw.chance(0.3)
    english = does_not(someone, _LIKE) if denied else does(someone, _LIKE)
    return statement(f"{english} {thing.english}", f"{to_whom(someone, denied, liked(thing, _LIKE))} {thing.spanish}")


@rule
def likes_this(draw: Draw) -> Sentence:
    """I don't like those shoes. No me gustan esos zapatos."""
    someone, noun = anyone(draw), draw.one(nouns.counted("goods", "watched", "sung", "visited", "read", "pet"))
    determiners = (THE, THIS, THAT) if noun in nouns.PLACES else (THE, THIS, THAT, *_OTHERS[someone.person])
    thing = known_thing(draw, noun, determiners, plural=0.0 if noun in nouns.PLACES + nouns.ROOMS else 0.25)
    denied = draw.chance(0.35)
    english = does_not(someone, _LIKE) if denied else does(someone, _LIKE)
    return statement(f"{english} {thing.english}", f"{to_whom(someone, denied, liked(thing, _LIKE))} {thing.spanish}")


_OTHERS = {
    Person.YO: (YOUR, HIS, HER),
    Person.TU: (MY, OUR, HIS, HER),
    Person.EL: (MY, YOUR, OUR),
    Person.NOSOTROS: (YOUR, THEIR, HIS, HER),
    Person.ELLOS: (MY, YOUR, OUR),
}


@rule
def liked_before(draw: Draw) -> Sentence:
    """He used to like chocolate. A él le gustaba el chocolate."""
    someone, thing = anyone(draw), _generic(draw.one(_LIKED))
    return statement(
        f"{does(someone, _LIKE, 'imperfect')} {thing.english}",
        f"{to_whom(someone, False, liked(thing, _LIKE, 'imperfect'))} {thing.spanish}",
    )


@rule
def loves_things(draw: Draw) -> Sentence:
    """We love oranges. Nos encantan las naranjas."""
    someone, thing = anyone(draw), _generic(draw.one(_LIKED))
    return statement(
        f"{does(someone, _LOVE)} {thing.english}", f"{to_whom(someone, False, liked(thing, _LOVE))} {thing.spanish}"
    )


_ALTERNATIVES = (
    nouns.of_kind("drunk"),
    tuple(n for n in nouns.of_kind("eaten") if "mass" in n.kinds),
    nouns.counted("served"),
    tuple(nouns.the(n) for n in ("book", "newspaper", "magazine", "novel", "poem")),
)


@rule
def prefers(draw: Draw) -> Sentence:
    """Miguel prefers tea. Miguel prefiere el té."""
    someone = anyone(draw)
    first, second = draw.two(draw.one(_ALTERNATIVES))
    prefer = Verb("prefer", "preferir")
    if draw.chance(0.4):
        thing, other = _generic(first), _generic(second)
        return statement(
            f"{does(someone, prefer)} {thing.english} to {other.english}",
            f"{hace(someone, prefer)} {thing.spanish} a {other.spanish}",
        )
    return statement(
        f"{does(someone, prefer)} {_generic(first).english}", f"{hace(someone, prefer)} {_generic(first).spanish}"
    )


@rule
def likes_doing(draw: Draw) -> Sentence:
    """Ana doesn't like to cook. A Ana no le gusta cocinar."""
    someone = anyone(draw)
    denied = draw.chance(0.3)
    english = does_not(someone, _LIKE) if denied else does(someone, _LIKE)
    if draw.chance(0.3):
        verb = draw.one(verbs.INTRANSITIVE)
        return statement(f"{english} to {verb.english}", f"{to_whom(someone, denied)} {verb.infinitive}")
    what = activity(draw)
    if what.verb.english in ("think about", "ask for"):
        return likes_doing(draw)
    return statement(
        words(english, "to", what.verb.english, what.english),
        words(to_whom(someone, denied), what.verb.infinitive, what.spanish),
    )


@rule
def would_like(draw: Draw) -> Sentence:
    """They would like to visit Paris. A ellos les gustaría visitar París."""
    someone = anyone(draw)
    if draw.chance(0.4):
        place, verb = draw.one(people.CITIES + people.COUNTRIES), Verb("visit", "visitar")
        english, spanish = f"{verb.english} {place.english}", f"{verb.spanish} {place.spanish}"
    else:
        what = custom(draw) if draw.chance(0.6) else action(draw, someone, "any")
        if what.verb.english not in (
            "buy",
            "read",
            "watch",
            "eat",
            "drink",
            "sing",
            "write",
            "study",
            "play",
            "travel",
        ):
            return would_like(draw)
        english, spanish = words(what.verb.english, what.english), words(what.verb.infinitive, what.spanish)
    return statement(f"{someone.english} would like to {english}", f"{to_whom(someone, False, 'gustaría')} {spanish}")


@rule
def asks_liking(draw: Draw) -> Sentence:
    """Do you like this song? ¿Te gusta esta canción?"""
    someone = anyone(draw)
    if someone.english in ("I", "we") or someone.english.startswith(("my ", "our ")):
        return asks_liking(draw)
    noun = draw.one(nouns.counted("goods", "watched", "sung", "visited", "read"))
    thing = _generic(draw.one(_LIKED)) if draw.chance(0.5) else known_thing(draw, noun, (THE, THIS, THAT))
    return question(
        f"{does_it(someone, _LIKE)} {thing.english}", f"{to_whom(someone, False, liked(thing, _LIKE))} {thing.spanish}"
    )


@rule
def hurts(draw: Draw) -> Sentence:
    """My head hurts. Me duele la cabeza."""
    someone, part = anyone(draw), draw.one(nouns.BODY)
    if someone.many:
        return hurts(draw)
    many = "paired" in part.kinds
    ache = Verb("hurt", "doler")
    subject = phrase(own(someone), part, many)
    owned = subject.english if someone.pronoun else f"{someone.english}'s {part.in_english(many)}"
    subject = Phrase(owned, phrase(THE, part, many).spanish, part.gender, subject.person)
    denied = draw.chance(0.2)
    adverb, mucho = ("a lot", "mucho") if not denied and draw.chance(0.3) else ("", "")
    english = does_not(subject, ache) if denied else does(subject, ache)
    return statement(
        words(english, adverb), words(to_whom(someone, denied, liked(subject, ache)), mucho, subject.spanish)
    )


def _feasible(draw: Draw, modal: Modal) -> Deed:
    """An activity; after can not a skill, which in Spanish one knows (sabe tocar el piano)."""
    what = activity(draw)
    skill = what.verb.english in ("play", "swim", "sing", "write", "run")
    return _feasible(draw, modal) if skill and modal.verb.english == "can" else what


def _aim(draw: Draw, subject: Phrase, modal: Modal, chosen: bool, known: bool) -> Deed:
    """What one wants, can or has to do: an action if so chosen, else an activity; nobody has to drink wine."""
    what = action(draw, subject, "any", known=known) if chosen else _feasible(draw, modal)
    pleasure = what.verb.english in ("drink", "eat") and modal.verb.english in ("need", "have")
    return _aim(draw, subject, modal, chosen, known) if pleasure else what


@rule
def wants(draw: Draw) -> Sentence:
    """I want to buy a white shirt. Quiero comprar una camisa blanca."""
    subject, modal = anyone(draw), draw.one(verbs.MODALS)
    chosen = modal.verb.english != "prefer" and draw.chance(0.6)
    what = _aim(draw, subject, modal, chosen, known=False)
    return statement(
        words(wants_to(subject, modal, what.verb), what.english), words(quiere(subject, modal, what.verb), what.spanish)
    )


@rule
def does_not_want(draw: Draw) -> Sentence:
    """She can't open the suitcase. Ella no puede abrir la maleta."""
    subject, modal = anyone(draw), draw.one([m for m in verbs.MODALS if m.verb.english != "prefer"])
    what = _aim(draw, subject, modal, draw.chance(0.6), known=True)
    return statement(
        words(wants_to(subject, modal, what.verb, True), what.english),
        words(quiere(subject, modal, what.verb, True), what.spanish),
    )


@rule
def asks_wanting(draw: Draw) -> Sentence:
    """Can you close the window? ¿Puedes cerrar la ventana?"""
    subject, modal = anyone(draw), draw.one(verbs.MODALS)
    if subject.english == "I" and modal.verb.english != "can":
        return asks_wanting(draw)
    chosen = modal.verb.english != "prefer" and draw.chance(0.6)
    what = _aim(draw, subject, modal, chosen, known=True)
    return question(
        words(does_it(subject, modal.verb), modal.english, what.verb.english, what.english),
        words(quiere(subject, modal, what.verb), what.spanish),
    )


@rule
def knows_how(draw: Draw) -> Sentence:
    """Our aunt doesn't know how to swim. Nuestra tía no sabe nadar."""
    subject, know = anyone(draw), Verb("know", "saber")
    english, spanish = draw.one(_SKILLS)
    denied = draw.chance(0.4)
    return statement(
        f"{does_not(subject, know) if denied else does(subject, know)} how to {english}",
        f"{hace(subject, know, before='no' if denied else '')} {spanish}",
    )


_SKILLS = (
    *((v.english, v.infinitive) for v in verbs.SKILLS),
    *(
        (f"{a.verb.english} {a.english}", f"{a.verb.infinitive} {a.spanish}")
        for a in verbs.ACTIVITIES
        if a.english in ("chess", "tennis", "the piano", "the guitar", "poems")
    ),
    ("make bread", "hacer pan"),
    ("fix a bicycle", "reparar una bicicleta"),
)


@rule
def begins(draw: Draw) -> Sentence:
    """I began to study French last year. Empecé a estudiar francés el año pasado."""
    subject = anyone(draw)
    verb, link = draw.one(((Verb("begin", "empezar"), "a"), (Verb("learn", "aprender"), "a")))
    when = draw.one(calendar.LONG_AGO[1:3] + calendar.LONG_AGO[4:])
    if verb.english == "learn":
        english, spanish = draw.one(_SKILLS)
    else:
        english, spanish = draw.one(_BEGUN)
    return statement(
        f"{does(subject, verb, 'preterite')} to {english} {when.english}",
        f"{hace(subject, verb, 'preterite')} {link} {spanish} {when.spanish}",
    )


_BEGUN = tuple(
    (f"{a.verb.english} {a.english}", f"{a.verb.infinitive} {a.spanish}")
    for a in verbs.ACTIVITIES
    if a.verb.english in ("study", "work", "play", "write", "run")
)


@rule
def wants_something(draw: Draw) -> Sentence:
    """Do you want to eat something? ¿Quieres comer algo?"""
    subject, modal = anyone(draw), draw.one((*verbs.MODALS[:2], Modal(Verb("have", "tener"), "to", "que")))
    verb = draw.one(
        (
            Verb("eat", "comer"),
            Verb("drink", "beber"),
            Verb("say", "decir"),
            Verb("buy", "comprar"),
            Verb("do", "hacer"),
        )
    )
    choice = draw.number(1, 3)
    if choice == 1 and subject.english not in ("I", "we"):
        english = words(does_it(subject, modal.verb), modal.english, verb.english)
        return question(f"{english} something", f"{quiere(subject, modal, verb)} algo")
    if choice == 2:
        return statement(
            f"{wants_to(subject, modal, verb, True)} anything", f"{quiere(subject, modal, verb, True)} nada"
        )
    return statement(f"{wants_to(subject, modal, verb)} something", f"{quiere(subject, modal, verb)} algo")
