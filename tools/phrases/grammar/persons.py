"""What people do to each other and to themselves: the personal a, object pronouns, reflexives."""

from __future__ import annotations

from tools.phrases.conjugation import Person
from tools.phrases.grammar.clauses import (
    INDIRECT,
    Tense,
    direct,
    does,
    does_it,
    does_not,
    hace,
    infinitive,
    quiere,
    wants_to,
)
from tools.phrases.grammar.core import Draw, Sentence, question, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    HE,
    NAMES,
    PRONOUNS,
    SHE,
    THAT,
    THE,
    THEY,
    THIS,
    I,
    Phrase,
    anyone,
    object_form,
    relative,
    stranger,
    theirs,
    tonic,
    young_or_old,
)
from tools.phrases.grammar.objects import in_public, known_thing, some_thing
from tools.phrases.lexicon import calendar, nouns, numbers, people, verbs
from tools.phrases.lexicon.words import Verb, Word

_TENSES: tuple[Tense, ...] = ("preterite", "future", "going", "perfect", "progressive")
_NO_TIME = Word("", "")


def seen(draw: Draw, subject: Phrase) -> Phrase:
    """Somebody other than the subject: Ana, my sister, the doctors."""
    someone = draw.one((*NAMES, relative(draw), stranger(draw), relative(draw)))
    if someone.english in subject.english or subject.english in someone.english or theirs(subject, someone):
        return seen(draw, subject)
    return someone


def fitting(draw: Draw, tense: Tense) -> Word:
    """An adverb of time for the tense, or none."""
    if draw.chance(0.6):
        return _NO_TIME
    return {"preterite": draw.one(calendar.RECENTLY), "future": draw.one(calendar.SOON)}.get(tense, _NO_TIME)


def towards(draw: Draw, tense: Tense) -> Verb:
    """A verb that takes a person, and the tense."""
    verb = draw.one(verbs.TOWARDS_PEOPLE)
    return towards(draw, tense) if tense == "progressive" and verb.english in ("see", "invite") else verb


@rule
def personal_a(draw: Draw) -> Sentence:
    """We visited the doctor last Monday. Visitamos al médico el lunes pasado."""
    subject, tense = anyone(draw), draw.one(_TENSES)
    verb, other, when = towards(draw, tense), seen(draw, subject), fitting(draw, tense)
    return statement(
        words(does(subject, verb, tense), other.english, when.english),
        words(hace(subject, verb, tense), "a", other.spanish, when.spanish),
    )


@rule
def personal_a_denied(draw: Draw) -> Sentence:
    """I don't see Carmen. No veo a Carmen."""
    subject, tense = anyone(draw), draw.one(("present", *_TENSES))
    verb = draw.one((verbs.KNOW_PERSON, verbs.LOVE_PERSON, Verb("see", "ver"), Verb("understand", "entender")))
    verb = verb if tense == "present" else towards(draw, tense)
    other = seen(draw, subject)
    return statement(
        words(does_not(subject, verb, tense), other.english),
        words(hace(subject, verb, tense, "no"), "a", other.spanish),
    )


@rule
def knows_and_loves(draw: Draw) -> Sentence:
    """My mother knows your brother. Mi madre conoce a tu hermano."""
    subject = anyone(draw)
    other = seen(draw, subject)
    verb = draw.one((verbs.KNOW_PERSON, verbs.LOVE_PERSON))
    if any(who.english.startswith(("the ", "this ", "that ", "these ", "those ")) for who in (subject, other)):
        verb = verbs.KNOW_PERSON
    adverb, mucho = (
        draw.one((("very well", "muy bien"), ("", ""))) if verb is verbs.KNOW_PERSON else ("very much", "mucho")
    )
    return statement(
        words(does(subject, verb), other.english, adverb), words(hace(subject, verb), mucho, "a", other.spanish)
    )


@rule
def nobody_seen(draw: Draw) -> Sentence:
    """She isn't waiting for anybody. Ella no está esperando a nadie."""
    subject, tense = anyone(draw), draw.one(_TENSES)
    verb = towards(draw, tense)
    return statement(f"{does_not(subject, verb, tense)} anybody", f"{hace(subject, verb, tense, 'no')} a nadie")


def _object(draw: Draw, subject: Phrase) -> Phrase:
    """A pronoun for somebody else: not I for we, nor he for Ana's brother."""
    choices = {
        Person.YO: (PRONOUNS[1], HE, SHE, THEY),
        Person.NOSOTROS: (PRONOUNS[1], HE, SHE, THEY),
        Person.TU: (I, HE, SHE, THEY, PRONOUNS[4]),
    }
    return draw.one(choices.get(subject.person, PRONOUNS))


@rule
def object_pronoun(draw: Draw) -> Sentence:
    """I am going to help her. Voy a ayudarla."""
    subject, tense = anyone(draw), draw.one(_TENSES)
    verb, other, when = towards(draw, tense), _object(draw, subject), fitting(draw, tense)
    return statement(
        words(does(subject, verb, tense), object_form(other), when.english),
        words(hace(subject, verb, tense, clitic=direct(other)), when.spanish),
    )


@rule
def object_pronoun_now(draw: Draw) -> Sentence:
    """He doesn't know us. Él no nos conoce."""
    subject = anyone(draw)
    verb = draw.one((verbs.KNOW_PERSON, verbs.LOVE_PERSON, Verb("see", "ver"), Verb("understand", "entender")))
    verb = draw.one((verb, Verb("remember", "recordar"), Verb("need", "necesitar")))
    other, denied = _object(draw, subject), draw.chance(0.5)
    return statement(
        words(does_not(subject, verb) if denied else does(subject, verb), object_form(other)),
        hace(subject, verb, before="no" if denied else "", clitic=direct(other)),
    )


@rule
def object_pronoun_wanted(draw: Draw) -> Sentence:
    """Can you wait for me? ¿Puedes esperarme?"""
    subject = anyone(draw)
    other, verb = _object(draw, subject), draw.one(verbs.TOWARDS_PEOPLE)
    modal = draw.one(verbs.MODALS)
    if subject.english == "you" and modal.verb.english == "can" and draw.chance(0.7):
        return question(
            f"can you {verb.english} {object_form(other)}", f"puedes {infinitive(verb.spanish, direct(other))}"
        )
    denied = modal.verb.english != "prefer" and draw.chance(0.35)
    return statement(
        f"{wants_to(subject, modal, verb, denied)} {object_form(other)}",
        quiere(subject, modal, verb, denied, direct(other)),
    )


@rule
def asked_of_person(draw: Draw) -> Sentence:
    """Did you call my sister? ¿Llamaste a mi hermana?"""
    subject = draw.one((*PRONOUNS[1:4], THEY)) if draw.chance(0.6) else draw.one(NAMES)
    tense: Tense = draw.one(("preterite", "perfect", "going", "future"))
    verb = towards(draw, tense)
    if draw.chance(0.4):
        other = _object(draw, subject)
        return question(
            f"{does_it(subject, verb, tense)} {object_form(other)}", hace(subject, verb, tense, clitic=direct(other))
        )
    other = seen(draw, subject)
    return question(
        f"{does_it(subject, verb, tense)} {other.english}", f"{hace(subject, verb, tense)} a {other.spanish}"
    )


@rule
def gives(draw: Draw) -> Sentence:
    """Luis gave a ring to Elena. Luis le dio un anillo a Elena."""
    subject, (verb, kind) = anyone(draw), draw.one(verbs.GIVING)
    tense: Tense = draw.one(("preterite", "preterite", "future", "going", "perfect"))
    noun = nouns.the(kind) if kind == "letter" else draw.one(nouns.counted(kind))
    thing, other = some_thing(draw, noun, described=0.2), seen(draw, subject)
    if noun.english == "dress" and other.gender == "m":
        return gives(draw)
    return statement(
        f"{does(subject, verb, tense)} {thing.english} to {other.english}",
        f"{hace(subject, verb, tense, clitic=INDIRECT[other.person])} {thing.spanish} a {other.spanish}",
    )


@rule
def gives_me(draw: Draw) -> Sentence:
    """My uncle will lend us the car. Mi tío nos prestará el coche."""
    subject, (verb, kind) = anyone(draw), draw.one(verbs.GIVING)
    tense: Tense = draw.one(("preterite", "preterite", "future", "going", "perfect"))
    noun = nouns.the(kind) if kind == "letter" else draw.one(nouns.counted(kind))
    other, denied = _object(draw, subject), draw.chance(0.2)
    thing = known_thing(draw, noun, (THE, THIS, THAT)) if denied else some_thing(draw, noun, described=0.2)
    start = does_not(subject, verb, tense) if denied else does(subject, verb, tense)
    spanish = hace(subject, verb, tense, "no" if denied else "", clitic=INDIRECT[other.person])
    return statement(f"{start} {object_form(other)} {thing.english}", f"{spanish} {thing.spanish}")


@rule
def says_to(draw: Draw) -> Sentence:
    """She told me the truth. Ella me dijo la verdad."""
    subject = anyone(draw)
    other = _object(draw, subject)
    verb, english, spanish = draw.one(
        (
            (Verb("tell", "decir"), "the truth", "la verdad"),
            (Verb("tell", "decir"), "a lie", "una mentira"),
            (Verb("ask", "hacer"), "a question", "una pregunta"),
            (Verb("tell", "contar"), "a story", "una historia"),
            (Verb("tell", "decir"), "your name", "tu nombre"),
        )
    )
    if english == "your name" and other.english == "you":
        return says_to(draw)
    tense: Tense = draw.one(("preterite", "perfect", "going", "future"))
    denied = english == "the truth" and draw.chance(0.5)
    start = does_not(subject, verb, tense) if denied else does(subject, verb, tense)
    clause = hace(subject, verb, tense, "no" if denied else "", INDIRECT[other.person])
    return statement(f"{start} {object_form(other)} {english}", f"{clause} {spanish}")


@rule
def routine(draw: Draw) -> Sentence:
    """My father gets up at half past six. Mi padre se levanta a las seis y media."""
    subject, verb = anyone(draw), draw.one(verbs.REFLEXIVE)
    evening = verb.english == "go to bed"
    hour = draw.number(9, 12) if evening else draw.number(6, 10)
    english, spanish = f"at {numbers.in_english(hour)}", f"a {numbers.hour_in_spanish(hour)}"
    if draw.chance(0.4):
        english, spanish = f"at half past {numbers.in_english(hour)}", f"{spanish} y media"
    elif draw.chance(0.4):
        english, spanish = draw.one((("very early", "muy temprano"), ("very late", "muy tarde"), ("early", "temprano")))
    tense: Tense = draw.one(("present", "present", "preterite", "future", "going"))
    return statement(f"{does(subject, verb, tense)} {english}", f"{hace(subject, verb, tense)} {spanish}")


@rule
def routine_told(draw: Draw) -> Sentence:
    """They haven't got dressed yet. Ellos todavía no se han vestido."""
    subject, verb = anyone(draw), draw.one(verbs.REFLEXIVE)
    choice = draw.number(1, 4)
    if choice == 1:
        return statement(f"{does_not(subject, verb, 'perfect')} yet", hace(subject, verb, "perfect", "todavía no"))
    if choice == 2:
        return statement(does(subject, verb, "perfect", "already"), hace(subject, verb, "perfect", "ya"))
    if choice == 3:
        return statement(does(subject, verb, "just"), hace(subject, verb, "just"))
    if verb.english == "wake up":
        return routine_told(draw)
    modal, denied = draw.one(verbs.MODALS[:2]), draw.chance(0.4)
    return statement(wants_to(subject, modal, verb, denied), quiere(subject, modal, verb, denied))


@rule
def washes_hands(draw: Draw) -> Sentence:
    """I am going to wash my hands. Voy a lavarme las manos."""
    subject, verb = young_or_old(draw), Verb("wash", "lavarse")
    english, spanish = draw.one(
        (("hands", "las manos"), ("face", "la cara"), ("hair", "el pelo"), ("feet", "los pies"))
    )
    owner = _POSSESSIVE[subject.english] if subject.pronoun else _owner(subject)
    tense: Tense = draw.one(("preterite", "going", "perfect", "progressive", "future"))
    english = "faces" if english == "face" and subject.many else english
    denied = draw.chance(0.25)
    start = does_not(subject, verb, tense) if denied else does(subject, verb, tense)
    return statement(f"{start} {owner} {english}", f"{hace(subject, verb, tense, 'no' if denied else '')} {spanish}")


_POSSESSIVE = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}


def _owner(subject: Phrase) -> str:
    if subject.many:
        return "their"
    return "her" if subject.gender == "f" else "his"


@rule
def together(draw: Draw) -> Sentence:
    """Elena wants to dance with me. Elena quiere bailar conmigo."""
    subject = anyone(draw)
    other = _object(draw, subject) if draw.chance(0.6) else seen(draw, subject)
    company = {"I": "conmigo", "you": "contigo"}.get(other.english, f"con {tonic(other)}")
    verb = draw.one(
        (*verbs.INTRANSITIVE[3:7], Verb("study", "estudiar"), Verb("live", "vivir"), Verb("speak", "hablar"))
    )
    if draw.chance(0.4):
        modal, denied = verbs.MODALS[0], draw.chance(0.3)
        return statement(
            f"{wants_to(subject, modal, verb, denied)} with {object_form(other)}",
            f"{quiere(subject, modal, verb, denied)} {company}",
        )
    tense: Tense = draw.one(("imperfect", "going", "progressive", "future"))
    return statement(
        f"{does(subject, verb, tense)} with {object_form(other)}", f"{hace(subject, verb, tense)} {company}"
    )


@rule
def met_somewhere(draw: Draw) -> Sentence:
    """I saw your brothers at the cinema. Vi a tus hermanos en el cine."""
    subject, place = anyone(draw), in_public(draw)
    verb = draw.one((Verb("see", "ver"), Verb("find", "encontrar"), Verb("wait for", "esperar")))
    other = seen(draw, subject)
    return statement(
        f"{does(subject, verb, 'preterite')} {other.english} {place.english}",
        f"{hace(subject, verb, 'preterite')} a {other.spanish} {place.spanish}",
    )


@rule
def profession_known(draw: Draw) -> Sentence:
    """Do you know a good dentist? ¿Conoces a un buen dentista?"""
    subject = draw.one((PRONOUNS[1], *PRONOUNS[2:4], *NAMES))
    worker = draw.one([w for w in people.WORKERS if w.english not in ("teacher", "student")])  # of French, or French?
    adjective, bueno = draw.one(
        (("good", "buen"), ("famous", "famoso"), *((a.english, a.spanish) for a in people.NATIONALITIES))
    )
    spanish = f"un {bueno} {worker.spanish}" if bueno == "buen" else f"un {worker.spanish} {bueno}"
    article = "an" if adjective[0] in "EI" else "a"
    return question(
        f"{does_it(subject, verbs.KNOW_PERSON)} {article} {adjective} {worker.english}",
        f"{hace(subject, verbs.KNOW_PERSON)} a {spanish}",
    )
