"""Questions with why, who, how many, which."""

from __future__ import annotations

from tools.phrases.grammar.asking import asked, inverted
from tools.phrases.grammar.clauses import Tense, be, does, does_it, es, esta, hace, verbo
from tools.phrases.grammar.core import Draw, Sentence, question, rule, words
from tools.phrases.grammar.doing import action, activity
from tools.phrases.grammar.having import COLLECTED
from tools.phrases.grammar.noun_phrases import (
    HE,
    HER,
    HIS,
    NAMES,
    PRONOUNS,
    SHE,
    THAT,
    THE,
    THEIR,
    THEY,
    THIS,
    YOU,
    YOUR,
    Phrase,
    one_person,
    phrase,
    stranger,
)
from tools.phrases.grammar.objects import destination, known_thing
from tools.phrases.lexicon import adjectives, nouns, people, verbs
from tools.phrases.lexicon.words import Verb
from tools.phrases.morphology import inflect


@rule
def why(draw: Draw) -> Sentence:
    """Why is Laura sad? ¿Por qué está triste Laura?"""
    subject = asked(draw)
    choice = draw.number(1, 3)
    if choice == 1:
        mood = draw.one(adjectives.MOODS[:8])
        past = draw.chance(0.3)
        verb, adjective = esta(Phrase("", "", person=subject.person), past), mood.agreeing(subject.gender, subject.many)
        after = (subject.spanish, adjective) if subject.pronoun else (adjective, subject.spanish)
        state = words(verb, *after)
        return question(f"why {be(subject, past)} {subject.english} {mood.english}", f"por qué {state}")
    tense: Tense = draw.one(("preterite", "perfect", "going"))
    done = action(draw, subject, "any", known=True)
    return question(
        words("why", does_it(subject, done.verb, tense), done.english),
        words("por qué", verbo(subject.person, done.verb, tense), subject.spanish, done.spanish),
    )


def _settled(subject: Phrase, verb: Verb, complement: str) -> str:
    """bebe té Ana, lava Ana el coche: a bare noun stays with its verb."""
    form = verbo(subject.person, verb)
    if " " in complement or subject.pronoun:
        return words(form, subject.spanish, complement)
    return words(form, complement, subject.spanish)


@rule
def why_not(draw: Draw) -> Sentence:
    """Why don't you eat fish? ¿Por qué no comes pescado?"""
    subject, doing = asked(draw), activity(draw)
    auxiliary = "doesn't" if does_it(subject, doing.verb).startswith("does ") else "don't"
    return question(
        words(f"why {auxiliary}", subject.english, doing.verb.english, doing.english),
        words("por qué no", _settled(subject, doing.verb, doing.spanish)),
    )


@rule
def who_did(draw: Draw) -> Sentence:
    """Who broke the window? ¿Quién rompió la ventana?"""
    who = Phrase("who", "quién")
    tense: Tense = draw.one(("preterite", "perfect", "progressive", "going"))
    times = ("any", "past") if tense in ("preterite", "perfect") else ("any",)
    done = action(draw, who, *times, known=True)
    return question(words(does(who, done.verb, tense), done.english), words(hace(who, done.verb, tense), done.spanish))


@rule
def who_is(draw: Draw) -> Sentence:
    """Who is that woman? ¿Quién es esa mujer?"""
    if draw.chance(0.3):
        who = phrase(draw.one((THIS, THAT, THE)), draw.one(people.FOLK), draw.chance(0.4))
    else:
        consulted = [w for w in people.WORKERS if w.english in ("doctor", "teacher", "lawyer", "dentist")]
        who = phrase(draw.one((YOUR, HIS, HER, THEIR)), draw.one(consulted), draw.chance(0.3))
    person = es(Phrase("", "", person=who.person))
    return question(f"who {be(who)} {who.english}", f"{'quiénes' if who.many else 'quién'} {person} {who.spanish}")


@rule
def whom(draw: Draw) -> Sentence:
    """Who is Carlos waiting for? ¿A quién está esperando Carlos?"""
    subject = asked(draw)
    verb = draw.one(verbs.TOWARDS_PEOPLE)
    tense: Tense = draw.one(("preterite", "going", "progressive"))
    if tense == "progressive" and verb.english in ("see", "invite"):
        return whom(draw)
    return question(f"who {does_it(subject, verb, tense)}", f"a quién {inverted(subject, verb, tense)}")


@rule
def with_whom(draw: Draw) -> Sentence:
    """Who do you live with? ¿Con quién vives?"""
    subject = asked(draw)
    verb = draw.one(
        (*verbs.INTRANSITIVE[3:7], Verb("live", "vivir"), Verb("speak", "hablar"), Verb("study", "estudiar"))
    )
    tense: Tense = draw.one(("present", "preterite", "going", "progressive"))
    return question(f"who {does_it(subject, verb, tense)} with", f"con quién {inverted(subject, verb, tense)}")


@rule
def how_many(draw: Draw) -> Sentence:
    """How many sisters does Luis have? ¿Cuántas hermanas tiene Luis?"""
    noun = draw.one((*people.COUNTED_FAMILY, *(nouns.the(n) for n in COLLECTED)))
    many = noun.in_english(True)
    cuantos = f"{inflect('cuánto', noun.gender, True)} {noun.in_spanish(True)}"
    if draw.chance(0.3) and noun not in people.COUNTED_FAMILY + nouns.ANIMALS:
        place = phrase(THE, nouns.the(draw.one(("kitchen", "office", "classroom", "bedroom"))))
        return question(f"how many {many} are there in {place.english}", f"{cuantos} hay en {place.spanish}")
    subject = draw.one((YOU, HE, SHE, THEY, *NAMES)) if noun in people.COUNTED_FAMILY else asked(draw)
    return question(f"how many {many} {does_it(subject, verbs.HAVE)}", f"{cuantos} {inverted(subject, verbs.HAVE)}")


@rule
def how_many_done(draw: Draw) -> Sentence:
    """How many eggs did you buy? ¿Cuántos huevos compraste?"""
    subject = asked(draw)
    verb, kind = draw.one(
        (
            (Verb("buy", "comprar"), "bought"),
            (Verb("eat", "comer"), "served"),
            (Verb("read", "leer"), "read"),
            (Verb("write", "escribir"), "written"),
        )
    )
    noun = draw.one(nouns.of_kind(kind))
    tense: Tense = draw.one(("preterite", "perfect", "going"))
    much = "mass" in noun.kinds
    cuantos = f"{inflect('cuánto', noun.gender, not much)} {noun.in_spanish(not much)}"
    return question(
        f"how {'much' if much else 'many'} {noun.in_english(not much)} {does_it(subject, verb, tense)}",
        f"{cuantos} {inverted(subject, verb, tense)}",
    )


@rule
def how_old(draw: Draw) -> Sentence:
    """How old is your brother? ¿Cuántos años tiene tu hermano?"""
    subject = asked(draw)
    past = draw.chance(0.15)
    have = verbo(subject.person, verbs.HAVE, "imperfect" if past else "present")
    return question(f"how old {be(subject, past)} {subject.english}", words("cuántos años", have, subject.spanish))


@rule
def how_is(draw: Draw) -> Sentence:
    """How is your mother? ¿Cómo está tu madre?"""
    subject = asked(draw)
    english, spanish = draw.one((("today", "hoy"), ("", "")))
    return question(
        words("how", be(subject), subject.english, english),
        words("cómo", esta(Phrase("", "", person=subject.person)), subject.spanish, spanish),
    )


@rule
def how_much_is(draw: Draw) -> Sentence:
    """How much does this hat cost? ¿Cuánto cuesta este sombrero?"""
    thing = known_thing(draw, draw.one(nouns.of_kind("goods", "bought")), (THE, THIS, THAT))
    cost = Verb("cost", "costar")
    tense: Tense = draw.one(("present", "present", "preterite"))
    return question(f"how much {does_it(thing, cost, tense)}", f"cuánto {inverted(thing, cost, tense)}")


@rule
def what_colour(draw: Draw) -> Sentence:
    """What colour are your shoes? ¿De qué color son tus zapatos?"""
    noun = draw.one(nouns.counted("coloured"))
    thing = known_thing(
        draw, noun, (THE, THIS, THAT) if "wild" in noun.kinds else (THE, THIS, THAT, YOUR, HIS, HER, THEIR)
    )
    past = draw.chance(0.2)
    return question(
        f"what colour {be(thing, past)} {thing.english}",
        f"de qué color {es(Phrase('', '', person=thing.person), past)} {thing.spanish}",
    )


@rule
def whose(draw: Draw) -> Sentence:
    """Whose keys are these? ¿De quién son estas llaves?"""
    noun = draw.one(nouns.counted("goods", "lost", "pet"))
    many = "paired" in noun.kinds or draw.chance(0.3)
    pointer = draw.one((THIS, THAT))
    thing = phrase(pointer, noun, many)
    return question(
        f"whose {noun.in_english(many)} {be(thing)} {pointer.many if many else pointer.one}",
        f"de quién {es(Phrase('', '', person=thing.person))} {thing.spanish}",
    )


@rule
def which(draw: Draw) -> Sentence:
    """Which film do you want to watch? ¿Qué película quieres ver?"""
    subject = asked(draw)
    verb, kind = draw.one(
        (
            (Verb("buy", "comprar"), "goods"),
            (Verb("read", "leer"), "read"),
            (Verb("watch", "ver"), "watched"),
            (Verb("sing", "cantar"), "sung"),
            (Verb("visit", "visitar"), "visited"),
        )
    )
    noun = draw.one(nouns.counted(kind))
    if kind == "visited":
        noun = nouns.the(draw.one(("city", "village", "museum", "beach", "park", "church", "library")))
    many = "paired" in noun.kinds
    start, que = f"which {noun.in_english(many)}", f"qué {noun.in_spanish(many)}"
    if draw.chance(0.5):
        want = draw.one((Verb("want", "querer"), Verb("prefer", "preferir")))
        if want.english == "prefer":
            return question(f"{start} {does_it(subject, want)}", f"{que} {inverted(subject, want)}")
        return question(
            f"{start} {does_it(subject, want)} to {verb.english}",
            words(que, want.form("present", subject.person), verb.infinitive, subject.spanish),
        )
    tense: Tense = draw.one(("preterite", "going", "perfect"))
    return question(f"{start} {does_it(subject, verb, tense)}", f"{que} {inverted(subject, verb, tense)}")


@rule
def what_name(draw: Draw) -> Sentence:
    """What is your sister's name? ¿Cómo se llama tu hermana?"""
    call = Verb("be called", "llamarse")
    if draw.chance(0.1):
        someone, english = draw.one(((PRONOUNS[1], "your"), (PRONOUNS[2], "his"), (PRONOUNS[3], "her")))
        return question(f"what is {english} name", f"cómo {inverted(someone, call)}")
    someone = phrase(draw.one((YOUR, HIS, HER, THEIR)), draw.one(people.FAMILY)) if draw.chance(0.6) else stranger(draw)
    someone = one_person(draw) if someone.many else someone
    if someone in NAMES or someone.pronoun or someone.english.startswith(("my ", "our ")):
        return what_name(draw)
    return question(f"what is {someone.english}'s name", f"cómo {inverted(someone, call)}")


@rule
def how_does_one_go(draw: Draw) -> Sentence:
    """How do you go to the airport? ¿Cómo vas al aeropuerto?"""
    subject, place = asked(draw), destination(draw)
    tense: Tense = draw.one(("present", "preterite", "going", "future"))
    return question(
        f"how {does_it(subject, verbs.GO, tense)} to {place.english}",
        words("cómo", inverted(subject, verbs.GO, tense), f"a {place.spanish}"),
    )
