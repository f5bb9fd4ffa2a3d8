"""To have, and what Spanish has where English is: years, hunger, cold."""

from __future__ import annotations

from tools.phrases.grammar.clauses import be, does, does_not, esta, hace, is_, negative, quiere, wants_to
from tools.phrases.grammar.core import Draw, Sentence, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    ANY,
    BARE,
    FEW,
    HE,
    MANY,
    NAMES,
    POSSESSIVES,
    PRONOUNS,
    SHE,
    SOME,
    THAT,
    THE,
    THEY,
    THIS,
    TOO_MANY,
    YOU,
    A,
    I,
    Phrase,
    anyone,
    counted,
    phrase,
    stranger,
    young_or_old,
)
from tools.phrases.grammar.objects import description
from tools.phrases.lexicon import adjectives, nouns, numbers, people, verbs
from tools.phrases.lexicon.words import Modal, Verb

_HAVE = verbs.HAVE


def has(subject: Phrase, thing: Phrase, denied: bool = False, past: bool = False) -> Sentence:
    """With the verb in the present, or in the past as a state (tenía)."""
    start = does_not(subject, _HAVE, "preterite" if past else "present") if denied else None
    start = start or does(subject, _HAVE, "preterite" if past else "present")
    spanish = hace(subject, _HAVE, "imperfect" if past else "present", "no" if denied else "")
    return statement(f"{start} {thing.english}", f"{spanish} {thing.spanish}")


@rule
def has_thing(draw: Draw) -> Sentence:
    """They have a big house. Ellos tienen una casa grande."""
    noun = draw.one((*nouns.counted("wanted", "pet"), nouns.the("idea")))
    adjective = description(draw, noun) if draw.chance(0.9) else None
    thing = phrase(BARE, noun, True, adjective) if "paired" in noun.kinds else phrase(A, noun, False, adjective)
    return has(anyone(draw), thing, past=draw.chance(0.15))


@rule
def has_great(draw: Draw) -> Sentence:
    """Elena has a great idea. Elena tiene una gran idea."""
    noun, adjectives_of = draw.one(_GREAT)
    return has(anyone(draw), phrase(A, noun, False, draw.one(adjectives_of)), past=draw.chance(0.3))


_GOOD = next(a for a in adjectives.QUALITIES if a.english == "good")
_FINE = (_GOOD, adjectives.GREAT)
_GREAT = (
    *((nouns.the(n), _FINE) for n in ("idea", "house", "car", "garden", "book")),
    *((n, _FINE) for n in (*people.WORKERS[:3], people.FAMILY[-2])),
)


@rule
def has_number(draw: Draw) -> Sentence:
    """My aunt has twenty-one plants. Mi tía tiene veintiuna plantas."""
    noun = nouns.the(draw.one(COLLECTED))
    high = 9 if noun in nouns.ANIMALS else 41
    return has(anyone(draw), counted(draw.number(2, high), noun))


COLLECTED = (
    *("book", "magazine", "plant", "pencil", "notebook", "shirt", "hat", "key", "photo", "plate", "glass", "cup"),
    *("chair", "letter", "map", "cat", "dog", "bird", "horse"),
)


@rule
def has_relatives(draw: Draw) -> Sentence:
    """I have two brothers. Tengo dos hermanos."""
    noun = draw.one(people.COUNTED_FAMILY)
    subject = draw.one((*PRONOUNS, *NAMES)) if draw.chance(0.7) else stranger(draw)
    if noun.english in ("friend", "neighbour"):
        return has(subject, phrase(draw.one((MANY, FEW)), noun, True))
    return has(subject, counted(draw.number(1, 6), noun))


@rule
def has_quantity(draw: Draw) -> Sentence:
    """You have too many shoes. Tienes demasiados zapatos."""
    noun = nouns.the(draw.one((*COLLECTED, "shoe", "problem", "idea", "coat")))
    denied = draw.chance(0.3)
    determiner = MANY if denied else draw.one((MANY, FEW, TOO_MANY, SOME))
    return has(anyone(draw), phrase(determiner, noun, True), denied)


@rule
def has_much(draw: Draw) -> Sentence:
    """We don't have much time. No tenemos mucho tiempo."""
    english, spanish, much = draw.one(
        (
            ("time", "tiempo", "mucho"),
            ("money", "dinero", "mucho"),
            ("work", "trabajo", "mucho"),
            ("patience", "paciencia", "mucha"),
            ("water", "agua", "mucha"),
            ("milk", "leche", "mucha"),
            ("bread", "pan", "mucho"),
            ("fruit", "fruta", "mucha"),
        )
    )
    little = "poco" if much == "mucho" else "poca"
    choice = draw.number(1, 4)
    subject = anyone(draw)
    if choice == 1:
        return has(subject, Phrase(f"a lot of {english}", f"{much} {spanish}"))
    if choice == 2:
        return has(subject, Phrase(f"very little {english}", f"muy {little} {spanish}"))
    if choice == 3:
        return has(subject, Phrase(f"much {english}", f"{much} {spanish}"), denied=True)
    return has(subject, Phrase(f"any {english}", spanish), denied=True)


@rule
def has_none(draw: Draw) -> Sentence:
    """He doesn't have any books. Él no tiene ningún libro."""
    noun = draw.one((*(nouns.the(n) for n in COLLECTED), *people.COUNTED_FAMILY))
    thing = phrase(ANY, noun)
    subject = anyone(draw) if noun not in people.COUNTED_FAMILY else draw.one((*PRONOUNS, *NAMES))
    return has(subject, Phrase(f"any {noun.in_english(True)}", thing.spanish), denied=True)


@rule
def is_without(draw: Draw) -> Sentence:
    """I don't have a car. No tengo coche."""
    noun = nouns.the(
        draw.one(("car", "bicycle", "dog", "cat", "phone", "computer", "umbrella", "key", "garden", "sofa"))
    )
    return has(anyone(draw), Phrase(phrase(A, noun).english, noun.spanish), denied=True)


@rule
def age(draw: Draw) -> Sentence:
    """My sister is twenty-one years old. Mi hermana tiene veintiún años."""
    subject = young_or_old(draw)
    family = subject.english.rpartition(" ")[2]
    low, high = {"grandfather": (60, 95), "grandmother": (60, 95), "boy": (4, 12), "girl": (4, 12)}.get(
        family, (18, 70)
    )
    number = draw.number(low, high)
    if subject.many and subject is not THEY:
        return age(draw)
    return statement(
        f"{is_(subject)} {numbers.in_english(number)} years old",
        f"{hace(subject, _HAVE)} {numbers.in_spanish(number, 'm')} años",
    )


@rule
def feeling(draw: Draw) -> Sentence:
    """The boys are very hungry. Los niños tienen mucha hambre."""
    subject, (english, spanish, much) = young_or_old(draw), draw.one(verbs.FEELINGS)
    past = english != "lucky" and draw.chance(0.25)
    if much and draw.chance(0.4):
        return statement(
            f"{is_(subject, past)} very {english}",
            f"{hace(subject, _HAVE, 'imperfect' if past else 'present')} {much} {spanish}",
        )
    denied = draw.chance(0.3)
    verb = negative(be(subject, past)) if denied else be(subject, past)
    return statement(
        words(subject.english, verb, english),
        words(hace(subject, _HAVE, "imperfect" if past else "present", "no" if denied else ""), spanish),
    )


_UNWELL = tuple(a for a in adjectives.MOODS if a.english in ("tired", "ill", "sad", "nervous"))


@rule
def feeling_and_mood(draw: Draw) -> Sentence:
    """She is tired and hungry. Ella está cansada y tiene hambre."""
    subject, mood = anyone(draw), draw.one(_UNWELL)
    english, spanish, _ = draw.one(verbs.FEELINGS[:5])
    have = hace(Phrase("", "", person=subject.person), _HAVE)
    return statement(
        f"{is_(subject)} {mood.english} and {english}",
        f"{esta(subject)} {mood.agreeing(subject.gender, subject.many)} y {have} {spanish}",
    )


@rule
def has_to(draw: Draw) -> Sentence:
    """I have to work tomorrow. Tengo que trabajar mañana."""
    subject = anyone(draw)
    duties = ("work", "study", "cook", "drive", "rest", "travel")
    verb = draw.one((*(v for v in verbs.INTRANSITIVE if v.english in duties), *verbs.REFLEXIVE))
    english, spanish = draw.one((("today", "hoy"), ("tomorrow", "mañana"), ("now", "ahora"), ("", "")))
    if verb.reflexive:
        english, spanish = draw.one((("early", "temprano"), ("now", "ahora")))
    modal = Modal(Verb("have", "tener"), "to", "que")
    denied = draw.chance(0.3)
    return statement(
        words(wants_to(subject, modal, verb, denied), english), words(quiere(subject, modal, verb, denied), spanish)
    )


_OWN_NAMES = ((I, "my"), (YOU, "your"), (HE, "his"), (SHE, "her"))
_OWNERS = POSSESSIVES
_POINTED = (THE, THIS, THAT)


@rule
def name(draw: Draw) -> Sentence:
    """My friend's name is Pablo. Mi amigo se llama Pablo."""
    call = Verb("be called", "llamarse")
    if draw.chance(0.4):
        subject, english = draw.one(_OWN_NAMES)
        given = draw.one({"m": people.MEN, "f": people.WOMEN}[subject.gender])
        if english in ("my", "your"):
            given = draw.one((*people.MEN, *people.WOMEN))
        return statement(f"{english} name is {given}", f"{hace(subject, call)} {given}")
    noun = draw.one(people.FAMILY)
    owner = phrase(draw.one(_OWNERS), noun)
    given = draw.one(people.WOMEN if noun.gender == "f" else people.MEN)
    return statement(f"{owner.english}'s name is {given}", f"{hace(owner, call)} {given}")


@rule
def price(draw: Draw) -> Sentence:
    """This shirt costs thirty-one euros. Esta camisa cuesta treinta y un euros."""
    noun = draw.one(nouns.counted("goods"))
    dear = noun.english in ("car", "house", "computer", "sofa", "bed", "bicycle", "phone", "table", "ring")
    number = 50 * draw.number(3, 19) if dear else draw.number(5, 90)
    if noun.english in ("car", "house", "magazine", "notebook"):
        return price(draw)
    thing = phrase(draw.one(_POINTED), noun, "paired" in noun.kinds or draw.chance(0.15))
    cost = Verb("cost", "costar")
    return statement(
        f"{does(thing, cost)} {numbers.in_english(number)} euros",
        f"{hace(thing, cost)} {numbers.in_spanish(number, 'm')} euros",
    )
