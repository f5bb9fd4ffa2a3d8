"""What an entry of the lexicon is."""

from __future__ import annotations

from dataclasses import dataclass

from tools.phrases import conjugation, english, morphology
from tools.phrases.morphology import Gender


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun in both languages, and the kinds of thing it names: what is eaten, opened, lost, red or heavy."""

    english: str
    spanish: str
    gender: Gender
    kinds: frozenset[str]

    def in_english(self, many: bool) -> str:
        return english.plural(self.english) if many else self.english

    def in_spanish(self, many: bool) -> str:
        return morphology.plural(self.spanish) if many else self.spanish


def noun(english: str, spanish: str, gender: Gender, kinds: str = "") -> Noun:
    return Noun(english, spanish, gender, frozenset(kinds.split()))


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective, the kinds of noun it is said of, and whether it precedes its noun in Spanish (un buen libro)."""

    english: str
    spanish: str
    kinds: frozenset[str] = frozenset()
    before: bool = False
    more: str = ""  # an irregular comparative: mejor

    def agreeing(self, gender: Gender, many: bool) -> str:
        return morphology.inflect(self.spanish, gender, many)

    @property
    def comparative(self) -> str:
        return self.more or f"más {self.spanish}"


def adjective(english: str, spanish: str, kinds: str = "", before: bool = False, more: str = "") -> Adjective:
    return Adjective(english, spanish, frozenset(kinds.split()), before, more)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in both languages. The Spanish infinitive in -se is reflexive: levantarse."""

    english: str
    spanish: str

    @property
    def reflexive(self) -> bool:
        return self.spanish.endswith("se")

    @property
    def infinitive(self) -> str:
        return self.spanish.removesuffix("se") if self.reflexive else self.spanish

    def form(self, tense: conjugation.SimpleTense, person: conjugation.Person) -> str:
        return conjugation.conjugate(self.infinitive, tense, person)


@dataclass(frozen=True, slots=True)
class Activity:
    """What people do again and again: a verb with what completes it (play chess, jugar al ajedrez)."""

    verb: Verb
    english: str = ""
    spanish: str = ""


@dataclass(frozen=True, slots=True)
class Modal:
    """A verb that takes an infinitive, and what stands between: have to go, tener que ir."""

    verb: Verb
    english: str = ""
    spanish: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What is done to a thing: a verb, the kind of thing, how the thing is named, and when one says it.

    manner  "a": any determiner (buy a shirt, the shirt, this shirt); "the": something already known (open the door);
            "it": the same, always one (use this phone)
            "own": the doer's own or a known one (lose her keys); "one": one of them (write a letter, this letter)
    times   "any", "past" (one does not plan to lose a key), "now" (want, need: a state, never in progress)
    """

    verb: Verb
    kind: str
    manner: str = "a"
    times: str = "any"


@dataclass(frozen=True, slots=True)
class Word:
    """Two expressions that correspond, of any sort: a preposition, an adverb, the name of a day."""

    english: str
    spanish: str
