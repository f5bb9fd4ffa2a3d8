"""Where things and people are, with estar, and whether they are there at all, with hay."""

from __future__ import annotations

from tools.phrases.grammar.clauses import be, esta, is_, negative
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    BARE,
    FEW,
    MANY,
    SOME,
    THE,
    A,
    counted,
    phrase,
    young_or_old,
)
from tools.phrases.grammar.objects import (
    description,
    in_public,
    indoors,
    known_thing,
    spot,
)
from tools.phrases.lexicon import nouns, people, verbs


@rule
def where_things_are(draw: Draw) -> Sentence:
    """The keys are under the bed. Las llaves están debajo de la cama."""
    thing, place = known_thing(draw, draw.one(nouns.counted("small"))), spot(draw)
    past = draw.chance(0.25)
    denied = not past and draw.chance(0.2)
    verb = negative(be(thing, past)) if denied else be(thing, past)
    return statement(
        words(thing.english, verb, place.english), words(esta(thing, past, "no" if denied else ""), place.spanish)
    )


@rule
def where_people_are(draw: Draw) -> Sentence:
    """My father is in the kitchen. Mi padre está en la cocina."""
    someone, place = young_or_old(draw), indoors(draw)
    past = draw.chance(0.25)
    denied = draw.chance(0.2)
    verb = negative(be(someone, past)) if denied else be(someone, past)
    return statement(
        words(someone.english, verb, place.english), words(esta(someone, past, "no" if denied else ""), place.spanish)
    )


@rule
def where_buildings_are(draw: Draw) -> Sentence:
    """The pharmacy is next to the bank. La farmacia está al lado del banco."""
    one, other = draw.two(nouns.counted("building"))
    here, there = phrase(THE, one), phrase(THE, other)
    near = draw.one(verbs.NEAR)
    adverb = draw.chance(0.25) and near.english in ("near", "far from")
    return statement(
        words(is_(here), "very" if adverb else "", near.english, there.english),
        words(esta(here), "muy" if adverb else "", near.spanish, there.spanish),
    )


@rule
def there_is(draw: Draw) -> Sentence:
    """There are three cups on the table. Hay tres tazas en la mesa."""
    noun, place = draw.one(nouns.counted("small")), spot(draw)
    adjective = description(draw, noun) if draw.chance(0.25) else None
    adjective = None if adjective and adjective.before else adjective
    choice = draw.number(1, 4)
    if choice == 1:
        thing = counted(draw.number(2, 12), noun, adjective)
    elif choice == 2:
        thing = phrase(draw.one((SOME, MANY, BARE)), noun, True, adjective)
    else:
        thing = phrase(A, noun, False, adjective)
    past = draw.chance(0.25)
    verb = ("were" if past else "are") if thing.many else ("was" if past else "is")
    return statement(
        f"there {verb} {thing.english} {place.english}", f"{'había' if past else 'hay'} {thing.spanish} {place.spanish}"
    )


@rule
def there_is_not(draw: Draw) -> Sentence:
    """There are no chairs in the kitchen. No hay sillas en la cocina."""
    noun = draw.one((*nouns.of_kind("mass", "served", "small"), nouns.the("chair"), nouns.the("table")))
    eaten = noun.kinds & {"eaten", "drunk"}
    room = phrase(
        THE, nouns.the("kitchen") if eaten else nouns.the(draw.one(("kitchen", "office", "classroom", "bedroom")))
    )
    counts = "mass" not in noun.kinds
    thing = phrase(draw.one((BARE, MANY)) if counts else BARE, noun, counts)
    past = draw.chance(0.25)
    verb = ("were" if past else "are") if thing.many else ("was" if past else "is")
    many = thing.english.startswith("many")
    denied = f"there {verb}n't" if many else f"there {verb} no"
    return statement(
        f"{denied} {thing.english} in {room.english}",
        f"no {'había' if past else 'hay'} {thing.spanish} en {room.spanish}",
    )


@rule
def people_there(draw: Draw) -> Sentence:
    """There are many students at the museum. Hay muchos estudiantes en el museo."""
    place = in_public(draw)
    crowds = ("student", "teacher", "doctor", "journalist", "artist", "singer")
    folk = draw.one((*people.FOLK, *(w for w in people.WORKERS if w.english in crowds)))
    crowd = phrase(draw.one((MANY, FEW, SOME)), folk, True) if draw.chance(0.6) else counted(draw.number(2, 30), folk)
    past = draw.chance(0.3)
    return statement(
        f"there {'were' if past else 'are'} {crowd.english} {place.english}",
        f"{'había' if past else 'hay'} {crowd.spanish} {place.spanish}",
    )


@rule
def nobody_there(draw: Draw) -> Sentence:
    """There is nobody in the kitchen. No hay nadie en la cocina."""
    place = indoors(draw, cities=False)
    english, spanish = draw.one(
        (
            ("there is nobody", "no hay nadie"),
            ("there was nobody", "no había nadie"),
            ("there is somebody", "hay alguien"),
        )
    )
    return statement(f"{english} {place.english}", f"{spanish} {place.spanish}")


@rule
def crowd(draw: Draw) -> Sentence:
    """There were a lot of people at the station. Había mucha gente en la estación."""
    place = in_public(draw)
    english, spanish = draw.one(
        (
            ("there were a lot of people", "había mucha gente"),
            ("there are a lot of people", "hay mucha gente"),
            ("there aren't many people", "no hay mucha gente"),
            ("there weren't many people", "no había mucha gente"),
            ("there are too many people", "hay demasiada gente"),
        )
    )
    return statement(f"{english} {place.english}", f"{spanish} {place.spanish}")
