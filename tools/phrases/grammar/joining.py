"""Longer sentences: reported speech, reasons, conditions, relatives, and pronouns that look back."""

from __future__ import annotations

from tools.phrases import english
from tools.phrases.grammar.clauses import (
    REFLEXIVE,
    Tense,
    be,
    direct,
    does,
    does_not,
    es,
    esta,
    hace,
    infinitive,
    is_,
    verbo,
)
from tools.phrases.grammar.core import Draw, Sentence, question, rule, statement, words
from tools.phrases.grammar.noun_phrases import (
    MY,
    NAMES,
    PRONOUNS,
    THAT,
    THE,
    THIS,
    WE,
    YOUR,
    A,
    I,
    Phrase,
    anyone,
    one_person,
    own,
    phrase,
    theirs,
)
from tools.phrases.grammar.objects import described_thing, known_thing, thing_in_condition
from tools.phrases.lexicon import adjectives, nouns, people, verbs
from tools.phrases.lexicon.words import Activity, Verb, Word


@rule
def relative_clause(draw: Draw) -> Sentence:
    """The book that I bought is very interesting. El libro que compré es muy interesante."""
    subject = draw.one((*PRONOUNS, *NAMES))
    noun = draw.one([n for n in nouns.counted("goods", "read", "watched", "sung") if adjectives.qualities_of(n)])
    verb = draw.one(
        _DONE_TO[
            "watched"
            if "watched" in noun.kinds
            else "sung"
            if "sung" in noun.kinds
            else "read"
            if "read" in noun.kinds
            else "goods"
        ]
    )
    many = "paired" in noun.kinds or draw.chance(0.2)
    adjective = draw.one([a for a in adjectives.qualities_of(noun) if a.english != "new"])
    thing = phrase(THE, noun, many)
    tense: Tense = draw.one(("preterite", "perfect", "going"))
    if verb.english == "read" and tense == "preterite":
        tense = "perfect"
    very, muy = ("very", "muy") if draw.chance(0.4) else ("", "")
    form = verbo(subject.person, verb, tense)
    clause = words(subject.spanish, form) if subject.pronoun else words(form, subject.spanish)
    return statement(
        words(thing.english, "that", does(subject, verb, tense), be(thing), very, adjective.english),
        words(
            thing.spanish,
            "que",
            clause,
            es(Phrase("", "", person=thing.person)),
            muy,
            adjective.agreeing(noun.gender, many),
        ),
    )


_DONE_TO = {
    "watched": (Verb("watch", "ver"),),
    "sung": (Verb("sing", "cantar"),),
    "read": (Verb("read", "leer"), Verb("buy", "comprar")),
    "goods": (Verb("buy", "comprar"), Verb("sell", "vender")),
}


@rule
def who_lives_here(draw: Draw) -> Sentence:
    """The woman who works at the bank is French. La mujer que trabaja en el banco es francesa."""
    adjective = draw.one(people.NATIONALITIES + adjectives.GRADED[:9])
    if draw.chance(0.5):
        who = phrase(THE, draw.one(people.FOLK[:2]), draw.chance(0.3))
        place, verb = phrase(THE, draw.one(nouns.counted("worked"))), Verb("work", "trabajar")
        where = Word(f"at {place.english}", f"en {place.spanish}")
    else:
        who = phrase(THE, draw.one(people.FOLK[:2] + people.WORKERS), draw.chance(0.2))
        city, verb = draw.one(people.CITIES), Verb("live", "vivir")
        where = Word(f"in {city.english}", f"en {city.spanish}")
    same = Phrase("who", "", person=who.person)
    return statement(
        f"{who.english} {does(same, verb)} {where.english} {be(who)} {adjective.english}",
        f"{who.spanish} que {hace(same, verb)} {where.spanish} {es(same)} {adjective.agreeing(who.gender, who.many)}",
    )


@rule
def reported(draw: Draw) -> Sentence:
    """Luis says that the soup is cold. Luis dice que la sopa está fría."""
    verb = draw.one((Verb("say", "decir"), Verb("think", "creer"), Verb("know", "saber")))
    speaker = draw.one((*(PRONOUNS[2:4] if verb.english == "say" else PRONOUNS), *NAMES))
    lasting = draw.chance(0.5)
    thing, adjective = described_thing(draw) if lasting else thing_in_condition(draw)
    if thing.english.startswith(("that ", "those ")):
        return reported(draw)
    clause = words(es(thing) if lasting else esta(thing), adjective.agreeing(thing.gender, thing.many))
    return statement(
        f"{does(speaker, verb)} that {is_(thing)} {adjective.english}", f"{hace(speaker, verb)} que {clause}"
    )


@rule
def embedded_question(draw: Draw) -> Sentence:
    """I don't know where my keys are. No sé dónde están mis llaves."""
    knower, know = draw.one((I, *PRONOUNS, *NAMES)), Verb("know", "saber")
    denied = draw.chance(0.6)
    choice = draw.number(1, 3)
    if choice == 1:
        noun = draw.one(nouns.counted("lost", "used", "pet", "building"))
        thing = known_thing(
            draw,
            noun,
            (THE,) if "building" in noun.kinds else (THE, own(knower)),
            plural=0.0 if "building" in noun.kinds else 0.1,
        )
        tail, cola = (
            f"where {thing.english} {be(thing)}",
            f"dónde {esta(Phrase('', '', person=thing.person))} {thing.spanish}",
        )
    else:
        other = draw.one((*NAMES, *(phrase(own(knower), n) for n in people.FAMILY)))
        if other.english == knower.english:
            return embedded_question(draw)
        word, cuando, verb, tense = draw.one(_EMBEDDED)
        tail = f"{word} {does(other, verb, tense)}"
        cola = f"{cuando} {verbo(other.person, verb, tense)} {other.spanish}"
    start = does_not(knower, know) if denied else does(knower, know)
    return statement(f"{start} {tail}", f"{hace(knower, know, before='no' if denied else '')} {cola}")


_EMBEDDED: tuple[tuple[str, str, Verb, Tense], ...] = (
    ("where", "dónde", Verb("live", "vivir"), "present"),
    ("where", "dónde", Verb("work", "trabajar"), "present"),
    ("when", "cuándo", Verb("arrive", "llegar"), "preterite"),
    ("when", "cuándo", Verb("come back", "volver"), "future"),
    ("what", "qué", Verb("want", "querer"), "present"),
    ("what", "qué", Verb("say", "decir"), "preterite"),
    ("what", "qué", Verb("buy", "comprar"), "preterite"),
)


@rule
def because(draw: Draw) -> Sentence:
    """I am not going to the beach because I am tired. No voy a la playa porque estoy cansado."""
    subject, place = draw.one((*PRONOUNS, *NAMES)), phrase(THE, nouns.the(draw.one(_PLANNED)))
    again = again_as(subject)
    choice = draw.number(1, 3)
    if choice == 1:
        mood = draw.one([a for a in adjectives.MOODS if a.english in ("tired", "ill", "busy", "angry", "worried")])
        reason, razon = f"{is_(again)} {mood.english}", f"{esta(again)} {mood.agreeing(subject.gender, subject.many)}"
    elif choice == 2:
        feeling, spanish, _ = draw.one([f for f in verbs.FEELINGS if f[0] in ("cold", "sleepy", "afraid")])
        reason, razon = f"{is_(again)} {feeling}", f"{hace(again, verbs.HAVE)} {spanish}"
    else:
        reason, razon = draw.one(_BAD_WEATHER)
    return statement(
        f"{does_not(subject, verbs.GO, 'progressive')} to {place.english} because {reason}",
        f"{hace(subject, verbs.GO, before='no')} a {place.spanish} porque {razon}",
    )


_PLANNED = (
    "beach",
    "park",
    "cinema",
    "museum",
    "market",
    "restaurant",
    "library",
    "river",
    "village",
    "square",
    "office",
)
_BAD_WEATHER = (
    ("it is raining", "está lloviendo"),
    ("it is very cold", "hace mucho frío"),
    ("it is too hot", "hace demasiado calor"),
    ("there are too many people", "hay demasiada gente"),
)


def again_as(subject: Phrase) -> Phrase:
    """The subject once more: Ana, she; in Spanish nothing."""
    name = subject.english if subject.pronoun else {"m": "he", "f": "she"}[subject.gender]
    return Phrase(name, "", subject.gender, subject.person)


@rule
def whenever(draw: Draw) -> Sentence:
    """When it is cold, Carmen drinks tea. Cuando hace frío, Carmen bebe té."""
    subject, denied = anyone(draw), draw.chance(0.4)
    what = draw.one(_OUTDOORS if denied else _INDOORS)
    start, inicio = draw.one((("when it rains", "cuando llueve"), ("when it is cold", "cuando hace frío")))
    if draw.chance(0.3):
        start, inicio, what = "when it is hot", "cuando hace calor", draw.one(_STUDIOUS if denied else _IN_THE_HEAT)
    clause = does_not(subject, what.verb) if denied else does(subject, what.verb)
    return statement(
        words(f"{start},", clause, what.english),
        words(f"{inicio},", hace(subject, what.verb, before="no" if denied else ""), what.spanish),
    )


def _activities(*complements: str) -> tuple[Activity, ...]:
    return tuple(a for a in verbs.ACTIVITIES if a.english in complements)


_INDOORS = _activities(
    *("the newspaper", "magazines", "letters", "poems", "the radio", "music", "television", "old films", "Spanish"),
    *("chess", "the piano", "the guitar", "the kitchen", "coffee", "tea", "in the library"),
)
_OUTDOORS = tuple(
    a
    for a in _activities("football", "tennis", "in the park", "in the garden", "in the river", "the car")
    if a.verb.english != "wait for"
)
_IN_THE_HEAT = _activities("in the river", "orange juice", "fruit", "at home")
_STUDIOUS = _activities("Spanish", "French", "football", "tennis", "in the garden", "coffee", "tea", "the car")


@rule
def before_and_after(draw: Draw) -> Sentence:
    """She reads the newspaper before going to bed. Ella lee el periódico antes de acostarse."""
    subject, what = anyone(draw), draw.one(_INDOORS)
    word, spanish, second = draw.one(_ORDER)
    if second.english == what.verb.english:
        return before_and_after(draw)
    clitic = REFLEXIVE[subject.person] if second.reflexive else ""
    return statement(
        words(does(subject, what.verb), what.english, word, english.gerund(second.english)),
        words(hace(subject, what.verb), what.spanish, spanish, infinitive(second.infinitive, clitic)),
    )


_ORDER = (
    *(("before", "antes de", Verb(e, s)) for e, s in (("go to bed", "acostarse"), ("have a shower", "ducharse"))),
    *(("after", "después de", Verb(e, s)) for e, s in (("get up", "levantarse"), ("have a shower", "ducharse"))),
    *(
        (word, spanish, verb)
        for word, spanish in (("before", "antes de"), ("after", "después de"))
        for verb in (
            Verb("eat", "comer"),
            Verb("work", "trabajar"),
            Verb("study", "estudiar"),
            Verb("have dinner", "cenar"),
        )
    ),
)


@rule
def looked_for(draw: Draw) -> Sentence:
    """Where is my umbrella? I can't find it. ¿Dónde está mi paraguas? No lo encuentro."""
    thing = known_thing(draw, draw.one(nouns.counted("lost", "small")), (THE, MY, YOUR))
    mine = thing.english.startswith("my ")
    seeker = I if mine else draw.one((I, WE))
    it = "them" if thing.many else "it"
    verb, word = draw.one(
        (
            (Verb("find", "encontrar"), "can't find"),
            (Verb("see", "ver"), "don't see"),
            (Verb("have", "tener"), "don't have"),
        )[: 2 if mine else 3]
    )
    clause = f"{seeker.english} {word} {it}"
    asked = question(
        f"where {be(thing)} {thing.english}", f"dónde {esta(Phrase('', '', person=thing.person))} {thing.spanish}"
    )
    return asked.then(statement(clause, hace(seeker, verb, before="no", clitic=direct(thing))))


_GLADLY = frozenset({"cheap", "pretty", "interesting", "comfortable", "elegant", "modern"})
_HARDLY = frozenset({"expensive", "ugly", "boring", "heavy"})


@rule
def wanted_back(draw: Draw) -> Sentence:
    """This shirt is very expensive, but I want to buy it. Esta camisa es muy cara, pero quiero comprarla."""
    noun = draw.one(nouns.counted("goods"))
    thing = phrase(draw.one((THIS, THAT, THE)), noun, "paired" in noun.kinds or draw.chance(0.2))
    adjective = draw.one([a for a in adjectives.qualities_of(noun) if a.english in _GLADLY | _HARDLY])
    subject = draw.one((*PRONOUNS, *NAMES))
    denied = draw.chance(0.4)
    want, it = Verb("want", "querer"), "them" if thing.many else "it"
    good = adjective.english in _GLADLY
    link, pero = ("but", "pero") if good == denied else ("and", "y")
    start = does_not(subject, want) if denied else does(subject, want)
    quiere = hace(subject, want, before="no" if denied else "")
    return statement(
        f"{is_(thing)} very {adjective.english}, {link} {start} to buy {it}",
        f"{es(thing)} muy {adjective.agreeing(noun.gender, thing.many)}, {pero} {quiere} comprar{direct(thing)}",
    )


@rule
def bought_and_lost(draw: Draw) -> Sentence:
    """Juan bought a phone, but he has already lost it. Juan compró un teléfono, pero ya lo ha perdido."""
    subject = draw.one((*PRONOUNS, *NAMES))
    noun = draw.one(
        [n for n in nouns.counted("goods", "bought") if n.kinds & {"lost", "read"} and "paired" not in n.kinds]
    )
    thing = phrase(A, noun, False)
    other = again_as(subject)
    verb = draw.one([verb for kind, verb in _THEN.items() if kind in noun.kinds])
    buy = Verb("buy", "comprar")
    return statement(
        f"{does(subject, buy, 'preterite')} {thing.english}, but {does(other, verb, 'perfect', 'already')} it",
        f"{hace(subject, buy, 'preterite')} {thing.spanish}, pero {hace(other, verb, 'perfect', 'ya', direct(thing))}",
    )


_THEN = {"lost": Verb("lose", "perder"), "read": Verb("read", "leer"), "goods": Verb("sell", "vender")}


@rule
def one_and_other(draw: Draw) -> Sentence:
    """The tea is cold, but the coffee is hot. El té está frío, pero el café está caliente."""
    first, second = draw.one(_OPPOSITES)
    group = draw.one(_ALIKE[min(first.english, second.english)])
    one, other = (phrase(THE, noun, "paired" in noun.kinds) for noun in draw.two(group))
    return statement(
        f"{is_(one)} {first.english}, but {is_(other)} {second.english}",
        f"{esta(one)} {first.agreeing(one.gender, one.many)}, pero "
        f"{esta(other)} {second.agreeing(other.gender, other.many)}",
    )


_OPPOSITES = tuple(
    (first, second)
    for first in adjectives.CONDITIONS
    for second in adjectives.CONDITIONS
    if {first.english, second.english} in ({"open", "closed"}, {"clean", "dirty"}, {"full", "empty"}, {"hot", "cold"})
)
_ALIKE = {
    "closed": (nouns.counted("opens"), nouns.counted("shut")),
    "clean": (nouns.counted("worn", "washed"), tuple(n for n in nouns.ROOMS if "dirty" in n.kinds)),
    "empty": (nouns.counted("full"),),
    "cold": (nouns.of_kind("hot"),),
}


@rule
def contrast(draw: Draw) -> Sentence:
    """I drink coffee, but my sister drinks tea. Bebo café, pero mi hermana bebe té."""
    first, second = anyone(draw), one_person(draw)
    what, other = draw.one(_CONTRASTS)
    if first.english == second.english or second.pronoun or theirs(first, second):
        return contrast(draw)
    return statement(
        words(does(first, what.verb), f"{what.english}, but", does(second, other.verb), other.english),
        words(hace(first, what.verb), f"{what.spanish}, pero", hace(second, other.verb), other.spanish),
    )


def _placed(activity: Activity) -> bool:
    return activity.english.startswith(("in ", "at ", "with ")) or " at " in activity.english


_CONTRASTS = tuple(
    (what, other)
    for what in verbs.ACTIVITIES
    for other in verbs.ACTIVITIES
    if what.verb == other.verb and what != other and not (_placed(what) or _placed(other))
)
