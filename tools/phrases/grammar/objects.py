"""What things are talked about: nouns that fit, described by adjectives that fit."""

from __future__ import annotations

from tools.phrases.grammar.core import Draw, words
from tools.phrases.grammar.noun_phrases import (
    ANOTHER,
    BARE,
    HER,
    HIS,
    KNOWN,
    OUR,
    THAT,
    THE,
    THEIR,
    THIS,
    A,
    Determiner,
    Phrase,
    counted,
    own,
    phrase,
)
from tools.phrases.lexicon import adjectives, nouns, people
from tools.phrases.lexicon.words import Action, Adjective, Noun, Word

AT = {"school": "school", "church": "church"}  # to school, at school: without an article


def description(draw: Draw, noun: Noun, known: bool = False) -> Adjective | None:
    """An adjective that goes beside the noun, if there is one: a red car, a good idea."""
    choices = adjectives.beside(noun, known)
    if "coloured" in noun.kinds and (not choices or draw.chance(0.4)):
        return draw.one(adjectives.COLOURS)
    return draw.one(choices) if choices else None


def some_thing(draw: Draw, noun: Noun, described: float = 0.4) -> Phrase:
    """A thing not spoken of before, or pointed at: a red car, two cars, that car; bread, the bread."""
    if "mass" in noun.kinds:
        return phrase(draw.one((BARE, BARE, THE)), noun)
    adorned = draw.chance(described)
    if "paired" in noun.kinds:
        return phrase(draw.one((THE, THIS, THAT)), noun, True, description(draw, noun, True) if adorned else None)
    if noun.kinds & {"small", "served", "sent", "read"} and draw.chance(0.2):
        return counted(draw.number(2, 3), noun, description(draw, noun) if adorned else None)
    if draw.chance(0.06):
        return phrase(ANOTHER, noun)
    determiner = A if "several" in noun.kinds else draw.one((A, A, A, THE, THIS, THAT))
    return phrase(determiner, noun, False, description(draw, noun, determiner is not A) if adorned else None)


def known_thing(
    draw: Draw,
    noun: Noun,
    determiners: tuple[Determiner, ...] = KNOWN,
    described: float = 0.0,
    plural: float = 0.25,
) -> Phrase:
    """A thing both speakers know: the door, my keys, this old chair."""
    adjective = description(draw, noun, True) if draw.chance(described) else None
    if "mass" in noun.kinds:
        return phrase(THE, noun, False, adjective)
    determiner = draw.one(determiners)
    if noun.english == "dress" and determiner is HIS:
        determiner = HER
    several = noun.kinds & {"paired", "several"} or ("worn" in noun.kinds and determiner in (OUR, THEIR))
    many = bool(several) or (not noun.kinds & {"room", "single"} and draw.chance(plural))
    return phrase(determiner, noun, many, adjective)


def object_of(draw: Draw, action: Action, subject: Phrase, known: bool = False) -> Phrase:
    """What the action is done to, named in the manner the action asks for, or as a thing already known."""
    noun = draw.one(nouns.of_kind(action.kind))
    if action.manner == "own":
        mine = () if known else (own(subject), own(subject))
        many = 0.3 if noun.english in ("key", "book", "photo", "letter", "ticket", "pencil", "notebook") else 0.0
        return known_thing(draw, noun, (*mine, THE), described=0.15, plural=many)
    made = action.kind in ("written", "sung", "cooked")  # what is being made is not yet old or red
    if action.manner == "it":
        return known_thing(draw, noun, (THE, THE, THIS, THAT), described=0.0 if made else 0.2, plural=0.0)
    if action.manner == "the" or known:
        many = 0.25 if noun.kinds & {"small", "opened", "served", "read"} else 0.0
        return known_thing(draw, noun, (THE, THE, THIS, THAT), described=0.0 if made else 0.2, plural=many)
    if action.manner == "a":
        return some_thing(draw, noun)
    determiner = draw.one((A, A, THE, THIS, THAT))
    adjective = description(draw, noun) if determiner is A and draw.chance(0.4) else None
    return phrase(determiner, noun, False, adjective)


def determiners_of(noun: Noun) -> tuple[Determiner, ...]:
    """How a known thing is named: nobody says my airport, her eagle or our wall."""
    return (THE, THE, THIS, THAT) if noun in nouns.PLACES or "wild" in noun.kinds else KNOWN


def described_thing(draw: Draw) -> tuple[Phrase, Adjective]:
    """A known thing and a quality of it, to be said with ser."""
    noun = draw.one(nouns.COUNTED)
    choices = [a for a in adjectives.qualities_of(noun) if not (a.more and noun.kinds & {"eaten", "drunk"})]
    if not choices:
        return described_thing(draw)
    return known_thing(draw, noun, determiners_of(noun)), draw.one(choices)


def thing_in_condition(draw: Draw) -> tuple[Phrase, Adjective]:
    """A known thing and the condition it is in, to be said with estar."""
    noun = draw.one(nouns.of_kind("shut", "opens", "dirty", "full", "broken", "hot", "cooked"))
    return known_thing(draw, noun, determiners_of(noun)), draw.one(adjectives.conditions_of(noun))


def destination(draw: Draw) -> Word:
    """Where one goes: the park, school; work, home not among them."""
    place = draw.one(nouns.counted("visited"))
    known = phrase(THE, place)
    return Word(AT.get(place.english, known.english), known.spanish)


def indoors(draw: Draw, cities: bool = True) -> Word:
    """Where people are: in the kitchen, at school, at home, in Madrid."""
    chosen = draw.number(1, 10)
    if chosen == 1:
        return Word("at home", "en casa")
    if chosen == 2 and cities:
        city = draw.one(people.CITIES)
        return Word(f"in {city.english}", f"en {city.spanish}")
    if chosen <= 5:
        room = phrase(THE, draw.one(nouns.ROOMS))
        return Word(f"in {room.english}", f"en {room.spanish}")
    return in_public(draw)


def in_public(draw: Draw) -> Word:
    """Where many people are: at the museum, in the square."""
    place = draw.one(nouns.counted("building"))
    known = phrase(THE, place)
    inside = "in" if place.english in ("park", "square") else "at"
    return Word(words(inside, AT.get(place.english, known.english)), f"en {known.spanish}")


def spot(draw: Draw) -> Word:
    """Where a small thing lies: on the table, under the bed, in the box."""
    if draw.chance(0.35):
        inside = phrase(draw.one((THE, THE, THIS, THAT)), draw.one(nouns.counted("container")))
        return Word(f"in {inside.english}", f"en {inside.spanish}")
    support = phrase(draw.one((THE, THE, THE, THIS, THAT)), draw.one(nouns.counted("furniture")))
    english, spanish = draw.one(
        (("on", "en"), ("under", "debajo de"), ("next to", "al lado de"), ("behind", "detrás de"))
    )
    return Word(f"{english} {support.english}", f"{spanish} {support.spanish}")
