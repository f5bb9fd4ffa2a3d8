"""Clauses: a subject and what it does, in any tense, stated, denied or asked."""

from __future__ import annotations

from typing import Literal

from tools.phrases import conjugation, english
from tools.phrases.conjugation import Person, SimpleTense, conjugate
from tools.phrases.grammar.core import words
from tools.phrases.grammar.noun_phrases import Phrase
from tools.phrases.lexicon.words import Modal, Verb
from tools.phrases.morphology import attached

Tense = Literal[
    "present", "preterite", "imperfect", "future", "going", "perfect", "progressive", "past progressive", "just"
]

REFLEXIVE = ("me", "te", "se", "nos", "se")
INDIRECT = ("me", "te", "le", "nos", "les")
_SPANISH_TENSES: dict[Tense, SimpleTense] = {
    "present": "present",
    "preterite": "preterite",
    "imperfect": "imperfect",
    "future": "future",
}


def direct(someone: Phrase) -> str:
    """The object pronoun: me, te, lo or la, nos, los or las."""
    if someone.person is Person.EL:
        return "la" if someone.gender == "f" else "lo"
    if someone.person is Person.ELLOS:
        return "las" if someone.gender == "f" else "los"
    return REFLEXIVE[someone.person]


def does(subject: Phrase, verb: Verb, tense: Tense = "present", middle: str = "") -> str:
    """English subject and verb: Ana reads, Ana has already read. `middle` is an adverb before the verb."""
    auxiliary, form = _english_parts(subject.person, verb, tense)
    return words(subject.english, auxiliary, middle, form)


def does_not(subject: Phrase, verb: Verb, tense: Tense = "present") -> str:
    """Ana doesn't read, Ana hasn't read, Ana isn't going to read."""
    auxiliary, form = _english_parts(subject.person, verb, tense)
    if tense in ("present", "preterite", "imperfect"):
        if verb.english == "can":
            return words(subject.english, "can't")
        auxiliary, form = _do(subject.person, tense), _base(verb, tense)
    return words(subject.english, negative(auxiliary), form)


def does_it(subject: Phrase, verb: Verb, tense: Tense = "present") -> str:
    """does Ana read, has Ana read, is Ana going to read."""
    auxiliary, form = _english_parts(subject.person, verb, tense)
    if tense in ("present", "preterite", "imperfect"):
        if verb.english == "can":
            return words("can", subject.english)
        auxiliary, form = _do(subject.person, tense), _base(verb, tense)
    return words(auxiliary, subject.english, form)


def hace(subject: Phrase, verb: Verb, tense: Tense = "present", before: str = "", clitic: str = "") -> str:
    """Spanish subject and verb: Ana lee, Ana lo ha leído. `before` is no, nunca, ya..., before the pronoun."""
    return words(subject.spanish, before, verbo(subject.person, verb, tense, clitic))


def verbo(person: Person, verb: Verb, tense: Tense = "present", clitic: str = "") -> str:
    """The verb with its pronoun: before a conjugated verb, at the end of an infinitive (voy a verlo)."""
    clitic = words(REFLEXIVE[person] if verb.reflexive else "", clitic)
    if tense in _SPANISH_TENSES:
        return words(clitic, verb.form(_SPANISH_TENSES[tense], person))
    if tense == "perfect":
        return words(clitic, conjugate("haber", "present", person), conjugation.participle(verb.infinitive))
    if tense in ("progressive", "past progressive"):
        be = conjugate("estar", "present" if tense == "progressive" else "imperfect", person)
        return words(clitic, be, conjugation.gerund(verb.infinitive))
    helper, link = ("ir", "a") if tense == "going" else ("acabar", "de")
    return words(conjugate(helper, "present", person), link, infinitive(verb.infinitive, clitic))


def infinitive(form: str, clitic: str = "") -> str:
    return attached(form, clitic) if clitic else form


def wants_to(subject: Phrase, modal: Modal, verb: Verb, denied: bool = False) -> str:
    """English: Ana wants to read, Ana can't read."""
    start = does_not(subject, modal.verb) if denied else does(subject, modal.verb)
    return words(start, modal.english, verb.english)


def quiere(subject: Phrase, modal: Modal, verb: Verb, denied: bool = False, clitic: str = "") -> str:
    """Spanish: Ana quiere leer, Ana no puede leerlo, tengo que levantarme."""
    clitic = words(REFLEXIVE[subject.person] if verb.reflexive else "", clitic)
    start = hace(subject, modal.verb, before="no" if denied else "")
    return words(start, modal.spanish, infinitive(verb.infinitive, clitic))


def is_(subject: Phrase, past: bool = False) -> str:
    return f"{subject.english} {be(subject, past)}"


def be(subject: Phrase, past: bool = False) -> str:
    return (english.WAS if past else english.BE)[subject.person]


def negative(auxiliary: str) -> str:
    """isn't, don't, won't; am not."""
    if auxiliary == "am":
        return "am not"
    return {"will": "won't", "can": "can't"}.get(auxiliary, auxiliary + "n't")


def es(subject: Phrase, past: bool = False, before: str = "") -> str:
    return words(subject.spanish, before, conjugate("ser", "imperfect" if past else "present", subject.person))


def esta(subject: Phrase, past: bool = False, before: str = "") -> str:
    return words(subject.spanish, before, conjugate("estar", "imperfect" if past else "present", subject.person))


def _base(verb: Verb, tense: Tense) -> str:
    return f"use to {verb.english}" if tense == "imperfect" else verb.english


def _do(person: Person, tense: Tense) -> str:
    if tense != "present":
        return "did"
    return "does" if person is Person.EL else "do"


def _english_parts(person: Person, verb: Verb, tense: Tense) -> tuple[str, str]:
    """The auxiliary, where there is one, and the form of the verb."""
    have = "has" if person is Person.EL else "have"
    match tense:
        case "present":
            plain = person is not Person.EL or verb.english == "can"
            return "", verb.english if plain else english.third(verb.english)
        case "preterite":
            return "", english.past(verb.english)
        case "imperfect":
            return "", f"used to {verb.english}"
        case "future":
            return "will", verb.english
        case "going":
            return english.BE[person], f"going to {verb.english}"
        case "perfect":
            return have, english.participle(verb.english)
        case "just":
            return have, f"just {english.participle(verb.english)}"
        case "progressive":
            return english.BE[person], english.gerund(verb.english)
        case "past progressive":
            return english.WAS[person], english.gerund(verb.english)
