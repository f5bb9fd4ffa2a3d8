"""To be: ser for what something is, estar for how it is."""

from __future__ import annotations

from tools.phrases.grammar.clauses import be, es, esta, is_, negative
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    BARE,
    NAMES,
    POSSESSIVES,
    PRONOUNS,
    THAT,
    THE,
    THIS,
    A,
    Phrase,
    anyone,
    object_form,
    one_person,
    phrase,
    profession,
    relative,
    stranger,
    tonic,
    young_or_old,
)
from tools.phrases.grammar.objects import (
    described_thing,
    determiners_of,
    known_thing,
    thing_in_condition,
)
from tools.phrases.lexicon import adjectives, nouns, people
from tools.phrases.lexicon.words import Adjective
from tools.phrases.morphology import inflect


def very(draw: Draw, adjective: Adjective, probability: float = 0.25) -> tuple[str, str]:
    """The adverb before an adjective, or nothing."""
    if adjective.english in adjectives.NOT_GRADED | adjectives.NOT_VERY or not draw.chance(probability):
        return "", ""
    return draw.one((("very", "muy"), ("too", "demasiado"))) if draw.chance(0.3) else ("very", "muy")


def of_colour(thing: Phrase, colour: Adjective) -> Sentence:
    return statement(words(is_(thing), colour.english), words(es(thing), colour.agreeing(thing.gender, thing.many)))


def colour(draw: Draw) -> Sentence:
    """The plant is green. La planta es verde."""
    noun = draw.one(nouns.counted("coloured"))
    thing = known_thing(draw, noun, (THE, *determiners_of(noun)))
    return of_colour(thing, draw.one(adjectives.COLOURS))


_GREEN = next(a for a in adjectives.COLOURS if a.english == "green")
rule(colour, always=(of_colour(phrase(THE, nouns.the("plant")), _GREEN),))


@rule
def not_that_colour(draw: Draw) -> Sentence:
    """My shirt isn't red, it is blue. Mi camisa no es roja, es azul."""
    noun = draw.one(nouns.counted("coloured"))
    thing = known_thing(draw, noun, determiners_of(noun))
    wrong, right = draw.two(adjectives.COLOURS)
    it = "they are" if thing.many else "it is"
    verb = es(Phrase("", "", person=thing.person))
    return statement(
        f"{thing.english} {negative(be(thing))} {wrong.english}, {it} {right.english}",
        f"{es(thing, before='no')} {wrong.agreeing(thing.gender, thing.many)}, "
        f"{verb} {right.agreeing(thing.gender, thing.many)}",
    )


@rule
def quality_of_thing(draw: Draw) -> Sentence:
    """This exam was very difficult. Este examen era muy difícil."""
    thing, adjective = described_thing(draw)
    past = draw.chance(0.25)
    adverb, muy = very(draw, adjective)
    denied = not muy and draw.chance(0.25)
    verb = negative(be(thing, past)) if denied else be(thing, past)
    return statement(
        words(thing.english, verb, adverb, adjective.english),
        words(es(thing, past, "no" if denied else ""), muy, adjective.agreeing(thing.gender, thing.many)),
    )


@rule
def character(draw: Draw) -> Sentence:
    """Ana is very hard-working. Ana es muy trabajadora."""
    someone, adjective = young_or_old(draw), draw.one(adjectives.CHARACTER)
    past = draw.chance(0.2)
    adverb, muy = very(draw, adjective)
    denied = not muy and draw.chance(0.25)
    verb = negative(be(someone, past)) if denied else be(someone, past)
    return statement(
        words(someone.english, verb, adverb, adjective.english),
        words(es(someone, past, "no" if denied else ""), muy, adjective.agreeing(someone.gender, someone.many)),
    )


@rule
def two_qualities(draw: Draw) -> Sentence:
    """My uncle is poor but generous. Mi tío es pobre pero generoso."""
    someone = anyone(draw)
    good, bad = draw.one(_GOOD), draw.one(_BAD)
    first, second = (good, bad) if draw.chance(0.5) else (bad, good)
    return statement(
        f"{is_(someone)} {first.english} but {second.english}",
        f"{es(someone)} {first.agreeing(someone.gender, someone.many)} pero "
        f"{second.agreeing(someone.gender, someone.many)}",
    )


_GOOD = tuple(a for a in adjectives.CHARACTER if a.english in ["intelligent", "kind", "generous", "funny", "happy"])
_BAD = tuple(a for a in adjectives.CHARACTER if a.english in ["lazy", "shy", "poor", "serious"])


@rule
def nationality(draw: Draw) -> Sentence:
    """She is German. Ella es alemana."""
    someone, adjective = young_or_old(draw), draw.one(people.NATIONALITIES)
    denied = draw.chance(0.25)
    return statement(
        words(someone.english, negative(be(someone)) if denied else be(someone), adjective.english),
        words(es(someone, before="no" if denied else ""), adjective.agreeing(someone.gender, someone.many)),
    )


@rule
def origin(draw: Draw) -> Sentence:
    """We are from Mexico. Somos de México."""
    someone, place = anyone(draw), draw.one(people.COUNTRIES + people.CITIES)
    denied = draw.chance(0.25)
    return statement(
        words(someone.english, negative(be(someone)) if denied else be(someone), "from", place.english),
        words(es(someone, before="no" if denied else ""), "de", place.spanish),
    )


@rule
def work(draw: Draw) -> Sentence:
    """My sister is a doctor. Mi hermana es médica."""
    someone = draw.one((*PRONOUNS, *NAMES)) if draw.chance(0.6) else relative(draw)
    noun = profession(draw, someone)
    past = draw.chance(0.15)
    denied = not past and draw.chance(0.2)
    named = phrase(BARE if someone.many else A, noun, someone.many)
    return statement(
        words(someone.english, negative(be(someone)) if denied else be(someone, past), named.english),
        words(es(someone, past, "no" if denied else ""), noun.in_spanish(someone.many)),
    )


@rule
def good_at_work(draw: Draw) -> Sentence:
    """Pedro is a good lawyer. Pedro es un buen abogado."""
    someone = one_person(draw)
    if someone.english in (*people.WOMEN, *people.MEN) and draw.chance(0.4):
        adjective = draw.one(people.NATIONALITIES)
    else:
        adjective = draw.one((_GOOD_AT, _BAD_AT, adjectives.GREAT))
    worker = profession(draw, someone)
    if worker.english in ("teacher", "student") and adjective in people.NATIONALITIES:
        return good_at_work(draw)  # an English teacher teaches English, or comes from England
    noun = phrase(A, worker, False, adjective)
    return statement(f"{is_(someone)} {noun.english}", f"{es(someone)} {noun.spanish}")


_GOOD_AT, _BAD_AT = (a for a in adjectives.QUALITIES if a.more)


@rule
def made_of(draw: Draw) -> Sentence:
    """This ring is made of gold. Este anillo es de oro."""
    material = draw.one(nouns.MATERIALS)
    noun = nouns.the(draw.one(sorted(material.kinds)))
    thing = known_thing(draw, noun)
    denied = draw.chance(0.2)
    return statement(
        words(thing.english, negative(be(thing)) if denied else be(thing), "made of", material.english),
        words(es(thing, before="no" if denied else ""), "de", material.spanish),
    )


@rule
def mood(draw: Draw) -> Sentence:
    """We were tired. Estábamos cansados."""
    someone, adjective = young_or_old(draw), draw.one(adjectives.MOODS)
    past = draw.chance(0.3)
    adverb, muy = very(draw, adjective)
    denied = not muy and draw.chance(0.2)
    when = ("today", "hoy") if not past and draw.chance(0.2) else ("", "")
    verb = negative(be(someone, past)) if denied else be(someone, past)
    return statement(
        words(someone.english, verb, adverb, adjective.english, when[0]),
        words(
            esta(someone, past, "no" if denied else ""), muy, adjective.agreeing(someone.gender, someone.many), when[1]
        ),
    )


@rule
def condition(draw: Draw) -> Sentence:
    """The windows are closed. Las ventanas están cerradas."""
    thing, adjective = thing_in_condition(draw)
    past = draw.chance(0.3)
    adverb, muy = very(draw, adjective)
    denied = not muy and draw.chance(0.2)
    verb = negative(be(thing, past)) if denied else be(thing, past)
    return statement(
        words(thing.english, verb, adverb, adjective.english),
        words(esta(thing, past, "no" if denied else ""), muy, adjective.agreeing(thing.gender, thing.many)),
    )


@rule
def this_is_mine(draw: Draw) -> Sentence:
    """These are our suitcases. Estas son nuestras maletas."""
    noun = draw.one((*nouns.counted("goods", "lost", "pet", "indoors"), *people.COUNTED_FAMILY))
    many = "paired" in noun.kinds or ("room" not in noun.kinds and draw.chance(0.35))
    thing = phrase(draw.one(POSSESSIVES), noun, many)
    pointer = draw.one((THIS, THAT))
    denied = draw.chance(0.25)
    verb = negative(be(thing)) if denied else be(thing)
    return statement(
        words(pointer.many if many else pointer.one, verb, thing.english),
        words(
            pointer.in_spanish(noun.gender, many, ""),
            "no" if denied else "",
            es(Phrase("", "", person=thing.person)),
            thing.spanish,
        ),
    )


@rule
def belongs(draw: Draw) -> Sentence:
    """That umbrella is mine. Ese paraguas es mío."""
    noun = draw.one(nouns.counted("goods", "lost"))
    many = "paired" in noun.kinds or draw.chance(0.35)
    thing = phrase(draw.one((THIS, THAT, THE)), noun, many)
    english, spanish = draw.one((("mine", "mío"), ("yours", "tuyo"), ("ours", "nuestro")))
    denied = draw.chance(0.3)
    return statement(
        words(thing.english, negative(be(thing)) if denied else be(thing), english),
        words(es(thing, before="no" if denied else ""), inflect(spanish, noun.gender, many)),
    )


@rule
def somebodys(draw: Draw) -> Sentence:
    """The teacher's car is old. El coche del profesor es viejo."""
    owner = draw.one(NAMES) if draw.chance(0.5) else draw.one((relative(draw), stranger(draw)))
    noun = draw.one(nouns.counted("goods"))
    if noun.english == "dress" and owner.gender == "m":
        return somebodys(draw)
    thing = phrase(THE, noun, "paired" in noun.kinds or (owner.many and "worn" in noun.kinds))
    described = draw.one(adjectives.qualities_of(noun))
    if described.more:
        described = draw.one(adjectives.COLOURS) if "coloured" in noun.kinds else described
    genitive = owner.english + ("'" if owner.english.endswith("s") and owner.many else "'s")
    name = Phrase(
        f"{genitive} {noun.in_english(thing.many)}", f"{thing.spanish} de {owner.spanish}", noun.gender, thing.person
    )
    return statement(f"{is_(name)} {described.english}", f"{es(name)} {described.agreeing(noun.gender, thing.many)}")


@rule
def for_whom(draw: Draw) -> Sentence:
    """These flowers are for you. Estas flores son para ti."""
    noun = draw.one(nouns.counted("given", "sent", "served"))
    thing = phrase(draw.one((THIS, THAT, THE)), noun, bool(noun.kinds & {"paired", "several"}) or draw.chance(0.3))
    someone = draw.one(PRONOUNS) if draw.chance(0.5) else draw.one((*NAMES, relative(draw)))
    return statement(f"{is_(thing)} for {object_form(someone)}", f"{es(thing)} para {tonic(someone)}")


_LASTING = tuple(a for a in adjectives.MOODS if a.english not in ("ready", "surprised", "calm"))


@rule
def still_and_already(draw: Draw) -> Sentence:
    """Elena is still ill. Elena todavía está enferma."""
    someone, adjective = anyone(draw), draw.one(_LASTING)
    agreeing = adjective.agreeing(someone.gender, someone.many)
    if draw.chance(0.5):
        return statement(f"{is_(someone)} still {adjective.english}", f"{esta(someone, before='todavía')} {agreeing}")
    return statement(
        f"{someone.english} {negative(be(someone))} {adjective.english} any more",
        f"{esta(someone, before='ya no')} {agreeing}",
    )
