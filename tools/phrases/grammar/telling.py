"""Commands and exclamations."""

from __future__ import annotations

from tools.phrases.conjugation import command, prohibition
from tools.phrases.grammar.clauses import be, direct, es
from tools.phrases.grammar.core import Draw, Sentence, exclamation, rule, statement, words
from tools.phrases.grammar.doing import Deed, action, activity, soon
from tools.phrases.grammar.noun_phrases import (
    BARE,
    HE,
    SHE,
    THAT,
    THE,
    THEY,
    WE,
    YOU,
    I,
    Phrase,
    object_form,
    phrase,
)
from tools.phrases.grammar.objects import described_thing
from tools.phrases.lexicon import adjectives, calendar, nouns, verbs
from tools.phrases.lexicon.words import Verb, Word
from tools.phrases.morphology import attached

_POINTED = (THE, THE, THAT)
_PLEASE = Word(", please", ", por favor")
_NOTHING = Word("", "")


def _order(draw: Draw) -> Deed:
    """What one may tell somebody to do."""
    what = action(draw, YOU, "any", known=True) if draw.chance(0.7) else activity(draw)
    return (
        _order(draw)
        if what.verb.english in ("have dinner", "have breakfast", "work", "travel", "swim", "sell")
        else what
    )


@rule
def tells(draw: Draw) -> Sentence:
    """Open the window, please. Abre la ventana, por favor."""
    what, please = _order(draw), draw.one((_PLEASE, _NOTHING))
    return statement(
        words(what.verb.english, what.english) + please.english,
        words(command(what.verb.infinitive), what.spanish) + please.spanish,
    )


@rule
def forbids(draw: Draw) -> Sentence:
    """Don't drink the water. No bebas el agua."""
    what, please = _order(draw), draw.one((_PLEASE, _NOTHING, _NOTHING))
    return statement(
        words("don't", what.verb.english, what.english) + please.english,
        words("no", prohibition(what.verb.infinitive), what.spanish) + please.spanish,
    )


@rule
def tells_about_people(draw: Draw) -> Sentence:
    """Help them now. Ayúdalos ahora."""
    verb = draw.one([v for v in verbs.TOWARDS_PEOPLE if v.english != "see"])
    other = draw.one((I, HE, SHE, WE, THEY))
    when = draw.one((_NOTHING, Word("now", "ahora"), *calendar.SOON))
    please = draw.one((_PLEASE, _NOTHING))
    if draw.chance(0.4):
        when = draw.one((_NOTHING, Word("now", "ahora"), Word("tonight", "esta noche"), Word("today", "hoy")))
        english = words("don't", verb.english, object_form(other), when.english)
        spanish = words("no", direct(other), prohibition(verb.infinitive), when.spanish)
    else:
        english = words(verb.english, object_form(other), when.english)
        spanish = words(attached(command(verb.infinitive), direct(other)), when.spanish)
    return statement(english + please.english, spanish + please.spanish)


@rule
def tells_routine(draw: Draw) -> Sentence:
    """Get up early tomorrow. Levántate temprano mañana."""
    verb = draw.one((*verbs.REFLEXIVE, Verb("sit down", "sentarse")))
    how = draw.one(
        (_NOTHING, Word("now", "ahora"), Word("here", "aquí"))
        if verb.english == "sit down"
        else (_NOTHING, Word("now", "ahora"), Word("early", "temprano"), Word("early tomorrow", "temprano mañana"))
    )
    please = draw.one((_PLEASE, _NOTHING))
    if draw.chance(0.35):
        how = draw.one((_NOTHING, Word("yet", "todavía"), Word("now", "ahora")))
        if verb.english == "wake up" or (verb.english != "sit down" and draw.chance(0.4)):
            how = draw.one((Word("so early", "tan temprano"), Word("so late", "tan tarde")))
        return statement(
            words("don't", verb.english, how.english) + please.english,
            words("no te", prohibition(verb.infinitive), how.spanish) + please.spanish,
        )
    return statement(
        words(verb.english, how.english) + please.english,
        words(attached(command(verb.infinitive), "te"), how.spanish) + please.spanish,
    )


@rule
def asks_for_thing(draw: Draw) -> Sentence:
    """Give me the keys, please. Dame las llaves, por favor."""
    verb, kind = draw.one(
        (
            (Verb("give", "dar"), "lost"),
            (Verb("bring", "traer"), "small"),
            (Verb("show", "enseñar"), "sent"),
            (Verb("lend", "prestar"), "lent"),
        )
    )
    noun = draw.one(nouns.counted(kind))
    thing = phrase(draw.one(_POINTED), noun, "paired" in noun.kinds or ("small" in noun.kinds and draw.chance(0.25)))
    other = draw.one((I, WE))
    clitic, please = ("me", "nos")[other is WE], draw.one((_PLEASE, _PLEASE, _NOTHING))
    return statement(
        f"{verb.english} {object_form(other)} {thing.english}{please.english}",
        f"{attached(command(verb.infinitive), clitic)} {thing.spanish}{please.spanish}",
    )


@rule
def lets(draw: Draw) -> Sentence:
    """Let's have dinner at home tonight. Vamos a cenar en casa esta noche."""
    often = draw.chance(0.6)
    what = activity(draw) if often else action(draw, WE, "any", known=True)
    if what.verb.english in ("wait for", "ask for") or what.english in ("in an office", "at the hospital"):
        return lets(draw)
    when = draw.one((_NOTHING, soon(draw, what)) if often else (_NOTHING, Word("now", "ahora")))
    return statement(
        words("let's", what.verb.english, what.english, when.english),
        words("vamos a", what.verb.infinitive, what.spanish, when.spanish),
    )


@rule
def what_a(draw: Draw) -> Sentence:
    """What a pretty house! ¡Qué casa tan bonita!"""
    noun = draw.one(nouns.COUNTED)
    choices = [a for a in adjectives.qualities_of(noun) if not a.before and a.english != "new"]
    if not choices:
        return what_a(draw)
    adjective = draw.one(choices)
    many = "paired" in noun.kinds or draw.chance(0.25)
    named = phrase(BARE, noun, many)
    article = "" if many else ("an" if adjective.english[0] in "aeiou" else "a")
    return exclamation(
        words("what", article, adjective.english, named.english),
        f"qué {named.spanish} tan {adjective.agreeing(noun.gender, many)}",
    )


@rule
def how_pretty(draw: Draw) -> Sentence:
    """How expensive these shoes are! ¡Qué caros son estos zapatos!"""
    thing, adjective = described_thing(draw)
    if thing.english.startswith(("my ", "our ")) or adjective.english == "new":
        return how_pretty(draw)
    described = adjective.agreeing(thing.gender, thing.many)
    return exclamation(
        f"how {adjective.english} {thing.english} {be(thing)}",
        f"qué {described} {es(Phrase('', '', person=thing.person))} {thing.spanish}",
    )
