"""Noun phrases: determiner, noun and adjective in agreement, and the people who do things."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tools.phrases import english
from tools.phrases.conjugation import Person
from tools.phrases.grammar.core import Draw, words
from tools.phrases.lexicon import numbers, people
from tools.phrases.lexicon.words import Adjective, Noun
from tools.phrases.morphology import Gender, article, indefinite, inflect, joined, short


@dataclass(frozen=True, slots=True)
class Phrase:
    """Somebody or something, as subject or object. `spanish` is empty where Spanish leaves the pronoun out."""

    english: str
    spanish: str
    gender: Gender = "m"
    person: Person = Person.EL
    pronoun: bool = False

    @property
    def many(self) -> bool:
        return self.person.many


@dataclass(frozen=True, slots=True)
class Determiner:
    """the, a, this, my, many, three: in English for one and for many, in Spanish as masculine singular."""

    one: str
    many: str
    spanish: str

    def in_spanish(self, gender: Gender, many: bool, before: str) -> str:
        if self.spanish == "el":
            return article(gender, many, before)
        if self.spanish in ("uno", "alguno", "ninguno"):
            return indefinite(self.spanish, gender, many, before)
        if self.spanish in _DEMONSTRATIVES:
            return _DEMONSTRATIVES[self.spanish][2 * many + (gender == "f")]
        return inflect(self.spanish, gender, many) if self.spanish else ""


_DEMONSTRATIVES = {"este": ("este", "esta", "estos", "estas"), "ese": ("ese", "esa", "esos", "esas")}

THE = Determiner("the", "the", "el")
A = Determiner("a", "", "uno")
BARE = Determiner("", "", "")
THIS = Determiner("this", "these", "este")
THAT = Determiner("that", "those", "ese")
SOME = Determiner("", "some", "alguno")
ANY = Determiner("any", "any", "ninguno")
MANY = Determiner("much", "many", "mucho")
FEW = Determiner("little", "few", "poco")
TOO_MANY = Determiner("too much", "too many", "demasiado")
ANOTHER = Determiner("another", "", "otro")
MY = Determiner("my", "my", "mi")
YOUR = Determiner("your", "your", "tu")
HIS = Determiner("his", "his", "su")
HER = Determiner("her", "her", "su")
OUR = Determiner("our", "our", "nuestro")
THEIR = Determiner("their", "their", "su")
POSSESSIVES = (MY, YOUR, HIS, HER, OUR, THEIR)
KNOWN = (THE, THE, THIS, THAT, MY, YOUR, HIS, HER, OUR)

I = Phrase("I", "", "m", Person.YO, True)  # noqa: E741
YOU = Phrase("you", "", "m", Person.TU, True)
HE = Phrase("he", "él", "m", Person.EL, True)
SHE = Phrase("she", "ella", "f", Person.EL, True)
WE = Phrase("we", "", "m", Person.NOSOTROS, True)
THEY = Phrase("they", "ellos", "m", Person.ELLOS, True)
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)

_OBJECTS = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us", "they": "them"}
_TONIC = {"I": "mí", "you": "ti", "we": "nosotros"}
_OWN = {"I": MY, "you": YOUR, "he": HIS, "she": HER, "we": OUR, "they": THEIR}


def phrase(determiner: Determiner, noun: Noun, many: bool = False, adjective: Adjective | None = None) -> Phrase:
    """the red cars, los coches rojos; a good idea, una buena idea; the cold water, el agua fría."""
    spoken, written = noun.in_english(many), noun.in_spanish(many)
    gender = noun.gender
    described, ahead, behind = spoken, "", ""
    if adjective is not None:
        described = f"{adjective.english} {spoken}"
        if adjective.before:
            ahead = short(adjective.spanish, gender, many)
        else:
            behind = adjective.agreeing(gender, many)
    first = ahead or written
    head = determiner.many if many else determiner.one
    return Phrase(
        english.a(described) if determiner is A else words(head, described),
        words(determiner.in_spanish(gender, many, first), ahead, written, behind),
        gender,
        Person.ELLOS if many else Person.EL,
    )


def counted(number: int, noun: Noun, adjective: Adjective | None = None) -> Phrase:
    """twenty-one books, veintiún libros; two hundred houses, doscientas casas; one in three in figures: 37 trees."""
    if number == 1:
        return phrase(Determiner("one", "", "uno"), noun, False, adjective)
    bare = phrase(BARE, noun, True, adjective)
    in_figures = (number + len(noun.english)) % 3 == 0
    return Phrase(
        f"{number if in_figures else numbers.in_english(number)} {bare.english}",
        f"{number if in_figures else numbers.in_spanish(number, noun.gender)} {bare.spanish}",
        noun.gender,
        Person.ELLOS,
    )


def both(first: Phrase, second: Phrase) -> Phrase:
    """Ana and Pedro, Ana y Pedro: feminine only if both are."""
    gender: Gender = "f" if first.gender == second.gender == "f" else "m"
    return Phrase(f"{first.english} and {second.english}", joined(first.spanish, second.spanish), gender, Person.ELLOS)


@cache
def named(name: str) -> Phrase:
    return Phrase(name, name, "f" if name in people.WOMEN else "m")


NAMES = tuple(named(name) for name in (*people.WOMEN, *people.MEN))


def theirs(first: Phrase, second: Phrase) -> bool:
    """Whether both are somebody's (su): his son and her son would be the same words."""
    return first.spanish.startswith(("su ", "sus ")) and second.spanish.startswith(("su ", "sus "))


def own(subject: Phrase) -> Determiner:
    """The possessive that goes back to the subject: she, her; Ana and Pedro, their."""
    if subject.pronoun:
        return _OWN[subject.english]
    if subject.many:
        return THEIR
    return HER if subject.gender == "f" else HIS


def object_form(someone: Phrase) -> str:
    """English after a verb or preposition: me, him, Ana."""
    return _OBJECTS[someone.english] if someone.pronoun else someone.english


def tonic(someone: Phrase) -> str:
    """Spanish after a preposition: mí, ti, él, Ana."""
    return _TONIC.get(someone.english, someone.spanish) if someone.pronoun else someone.spanish


def relative(draw: Draw) -> Phrase:
    """Somebody of the family, or a friend: my sister, our neighbours."""
    determiner = draw.one(POSSESSIVES)
    if draw.chance(0.2):
        return phrase(determiner, draw.one(people.COUNTED_FAMILY), True)
    return phrase(determiner, draw.one(people.FAMILY))


def stranger(draw: Draw) -> Phrase:
    """Somebody one points at or has heard of: the teacher, that woman, the students."""
    noun = draw.one((*people.WORKERS, *people.ADULTS, *people.ADULTS))
    determiner = draw.one((THE, THE, THIS, THAT)) if noun in people.ADULTS else THE
    return phrase(determiner, noun, draw.chance(0.3))


def young_or_old(draw: Draw) -> Phrase:
    """Anyone, or a child: for what children also do, who neither work nor drink wine."""
    if draw.chance(0.15):
        return phrase(draw.one((THE, THE, THIS, THAT)), draw.one(people.CHILDREN), draw.chance(0.4))
    return anyone(draw)


def somebody(draw: Draw) -> Phrase:
    """Any person or people that can be the subject, except pronouns."""
    chosen = draw.number(1, 10)
    if chosen <= 4:
        return draw.one(NAMES)
    if chosen <= 7:
        return relative(draw)
    if chosen <= 9:
        return stranger(draw)
    return both(*draw.two(NAMES))


def anyone(draw: Draw) -> Phrase:
    """Any subject that does things: I, she, Ana, my sister, the teachers."""
    return draw.one(PRONOUNS) if draw.chance(0.5) else somebody(draw)


def one_person(draw: Draw) -> Phrase:
    """A single third person: he, Ana, her uncle."""
    if draw.chance(0.2):
        return draw.one((HE, SHE))
    return draw.one(NAMES) if draw.chance(0.5) else phrase(draw.one(POSSESSIVES), draw.one(people.FAMILY))


def profession(draw: Draw, someone: Phrase) -> Noun:
    """A profession in the gender of the one who has it."""
    return draw.one(people.PROFESSIONS).noun(someone.gender)
