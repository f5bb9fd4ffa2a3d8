"""Comparison: more, less, as much, the most."""

from __future__ import annotations

from tools.phrases import english
from tools.phrases.grammar.clauses import (
    be,
    es,
    is_,
    negative,
)
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    HER,
    HIS,
    MY,
    NAMES,
    OUR,
    THAT,
    THE,
    THEIR,
    THIS,
    YOUR,
    Phrase,
    one_person,
    phrase,
    theirs,
)
from tools.phrases.grammar.objects import described_thing
from tools.phrases.lexicon import adjectives, nouns, people
from tools.phrases.lexicon.words import Adjective


def more(adjective: Adjective, gender: str, many: bool) -> str:
    """más alta, mejores."""
    agreeing = adjective.agreeing("f" if gender == "f" else "m", many)
    if adjective.more:
        return f"{adjective.more}es" if many else adjective.more
    return f"más {agreeing}"


def _two_people(draw: Draw) -> tuple[Phrase, Phrase]:
    first, second = one_person(draw), one_person(draw)
    if first.english == second.english or second.pronoun or theirs(first, second):
        return _two_people(draw)
    return first, second


@rule
def person_compared(draw: Draw) -> Sentence:
    """Laura is taller than my brother. Laura es más alta que mi hermano."""
    first, second = _two_people(draw)
    adjective = draw.one(adjectives.GRADED)
    less = draw.chance(0.2) and len(adjective.english) > 6
    comparative = f"less {adjective.english}" if less else english.comparative(adjective.english)
    spanish = f"menos {adjective.agreeing(first.gender, False)}" if less else more(adjective, first.gender, False)
    return statement(f"{is_(first)} {comparative} than {second.english}", f"{es(first)} {spanish} que {second.spanish}")


_PEERS = tuple(
    phrase(owner, relation)
    for owner in (MY, YOUR, HIS, HER, OUR, THEIR)
    for relation in people.FAMILY
    if relation.english in ("brother", "sister", "friend", "neighbour")
)


@rule
def older(draw: Draw) -> Sentence:
    """My sister is older than Pablo. Mi hermana es mayor que Pablo."""
    first, second = draw.two((*NAMES, *_PEERS))
    if theirs(first, second):
        return older(draw)
    word, spanish = draw.one((("older", "mayor"), ("younger", "menor")))
    much, mucho = ("much", "mucho") if draw.chance(0.3) else ("", "")
    return statement(
        words(is_(first), much, word, "than", second.english), words(es(first), mucho, spanish, "que", second.spanish)
    )


@rule
def equally(draw: Draw) -> Sentence:
    """Ana is as tall as her mother. Ana es tan alta como su madre."""
    first, second = _two_people(draw)
    adjective = draw.one(adjectives.GRADED)
    denied = draw.chance(0.4)
    verb = negative(be(first)) if denied else be(first)
    return statement(
        f"{first.english} {verb} as {adjective.english} as {second.english}",
        f"{es(first, before='no' if denied else '')} tan {adjective.agreeing(first.gender, False)} "
        f"como {second.spanish}",
    )


@rule
def thing_compared(draw: Draw) -> Sentence:
    """This chair is more comfortable than that one. Esta silla es más cómoda que esa."""
    thing, adjective = described_thing(draw)
    noun = next(n for n in nouns.ALL if thing.english.endswith(n.in_english(thing.many)))
    here, there = draw.one(((THIS, THAT), (THAT, THIS), (MY, THIS), (YOUR, THAT), (THE, THIS)))
    if noun in nouns.PLACES + nouns.ANIMALS + nouns.ROOMS or "wild" in noun.kinds:
        here, there = draw.one(((THIS, THAT), (THAT, THIS)))
    if here is THE:
        here, there = THIS, YOUR
    first = phrase(here, noun, thing.many)
    tail, cola = (f"{there.many if thing.many else there.one}", there.in_spanish(noun.gender, thing.many, ""))
    if there is YOUR:
        tail, cola = "yours", _yours(noun.gender, thing.many)
    elif not thing.many:
        tail += " one"
    return statement(
        f"{is_(first)} {english.comparative(adjective.english)} than {tail}",
        f"{es(first)} {more(adjective, noun.gender, thing.many)} que {cola}",
    )


def _yours(gender: str, many: bool) -> str:
    article = {("m", False): "el", ("f", False): "la", ("m", True): "los", ("f", True): "las"}[gender, many]
    return f"{article} {'tuyo' if gender == 'm' else 'tuya'}{'s' if many else ''}"


@rule
def superlative(draw: Draw) -> Sentence:
    """This is the cheapest hotel in the city. Este es el hotel más barato de la ciudad."""
    noun, where = draw.one(_RANKED)
    adjective = draw.one(adjectives.qualities_of(noun))
    thing, place = phrase(THE, noun), phrase(THE, nouns.the(where))
    pointer = draw.one((THIS, THAT))
    here = pointer.in_spanish(noun.gender, False, "")
    best = english.superlative(adjective.english)
    if adjective.more:
        spanish = f"{THE.in_spanish(noun.gender, False, adjective.more)} {adjective.more} {noun.spanish}"
    else:
        spanish = f"{thing.spanish} {more(adjective, noun.gender, False)}"
    return statement(
        f"{pointer.one} is the {best} {noun.english} in {place.english}", f"{here} es {spanish} de {place.spanish}"
    )


_RANKED = tuple(
    (nouns.the(word), place)
    for place, things in (
        ("city", "hotel restaurant museum park library school church street square shop hospital cinema"),
        ("village", "house street shop restaurant church square garden hotel"),
        ("library", "book novel dictionary"),
        ("shop", "shirt dress hat suitcase lamp computer bicycle coat sofa"),
    )
    for word in things.split()
)
