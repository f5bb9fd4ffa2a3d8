"""Verbs, by what can be said with them."""

from __future__ import annotations

from functools import cache

from tools.phrases.lexicon.words import Action, Activity, Modal, Verb, Word

HAVE = Verb("have", "tener")
GO = Verb("go", "ir")

# What people can do without an object.
INTRANSITIVE: tuple[Verb, ...] = (
    Verb("sleep", "dormir"),
    Verb("run", "correr"),
    Verb("sing", "cantar"),
    Verb("dance", "bailar"),
    Verb("swim", "nadar"),
    Verb("work", "trabajar"),
    Verb("travel", "viajar"),
    Verb("cook", "cocinar"),
    Verb("drive", "conducir"),
    Verb("paint", "pintar"),
    Verb("study", "estudiar"),
    Verb("rest", "descansar"),
)
SKILLS: tuple[Verb, ...] = tuple(
    v for v in INTRANSITIVE if v.english in ["swim", "dance", "cook", "drive", "sing", "paint"]
)

_EAT, _DRINK, _READ, _WRITE = (
    Verb("eat", "comer"),
    Verb("drink", "beber"),
    Verb("read", "leer"),
    Verb("write", "escribir"),
)
_STUDY, _PLAY, _WATCH = Verb("study", "estudiar"), Verb("play", "jugar"), Verb("watch", "ver")
_PLAY_MUSIC, _LISTEN, _CLEAN = Verb("play", "tocar"), Verb("listen to", "escuchar"), Verb("clean", "limpiar")
_WASH, _BUY, _PREPARE, _WORK = (
    Verb("wash", "lavar"),
    Verb("buy", "comprar"),
    Verb("prepare", "preparar"),
    Verb("work", "trabajar"),
)
_SWIM, _TRAVEL, _WAIT, _MAKE = (
    Verb("swim", "nadar"),
    Verb("travel", "viajar"),
    Verb("wait for", "esperar"),
    Verb("make", "hacer"),
)
_BREAKFAST, _DINNER = Verb("have breakfast", "desayunar"), Verb("have dinner", "cenar")

ACTIVITIES: tuple[Activity, ...] = (
    Activity(_EAT, "fruit", "fruta"),
    Activity(_EAT, "meat", "carne"),
    Activity(_EAT, "fish", "pescado"),
    Activity(_EAT, "bread and cheese", "pan y queso"),
    Activity(_EAT, "in a restaurant", "en un restaurante"),
    Activity(_DRINK, "coffee", "café"),
    Activity(_DRINK, "tea", "té"),
    Activity(_DRINK, "milk", "leche"),
    Activity(_DRINK, "wine", "vino"),
    Activity(_DRINK, "orange juice", "zumo de naranja"),
    Activity(_READ, "the newspaper", "el periódico"),
    Activity(_READ, "magazines", "revistas"),
    Activity(_WRITE, "letters", "cartas"),
    Activity(_WRITE, "poems", "poemas"),
    Activity(_LISTEN, "the radio", "la radio"),
    Activity(_LISTEN, "music", "música"),
    Activity(_WATCH, "television", "la televisión"),
    Activity(_WATCH, "old films", "películas antiguas"),
    Activity(_STUDY, "Spanish", "español"),
    Activity(_STUDY, "French", "francés"),
    Activity(_STUDY, "in the library", "en la biblioteca"),
    Activity(_PLAY, "football", "al fútbol"),
    Activity(_PLAY, "tennis", "al tenis"),
    Activity(_PLAY, "chess", "al ajedrez"),
    Activity(_PLAY, "in the park", "en el parque"),
    Activity(_PLAY_MUSIC, "the piano", "el piano"),
    Activity(_PLAY_MUSIC, "the guitar", "la guitarra"),
    Activity(_CLEAN, "the kitchen", "la cocina"),
    Activity(_CLEAN, "the house", "la casa"),
    Activity(_WASH, "the dishes", "los platos"),
    Activity(_WASH, "the car", "el coche"),
    Activity(_BUY, "bread", "pan"),
    Activity(_BUY, "flowers", "flores"),
    Activity(_BUY, "fruit at the market", "fruta en el mercado"),
    Activity(_PREPARE, "dinner", "la cena"),
    Activity(_MAKE, "the beds", "las camas"),
    Activity(_WORK, "in the garden", "en el jardín"),
    Activity(_WORK, "in an office", "en una oficina"),
    Activity(_WORK, "at the hospital", "en el hospital"),
    Activity(_SWIM, "in the river", "en el río"),
    Activity(_TRAVEL, "by train", "en tren"),
    Activity(_WAIT, "the bus", "el autobús"),
    Activity(_BREAKFAST, "at home", "en casa"),
    Activity(_DINNER, "at home", "en casa"),
    Activity(_DINNER, "with friends", "con amigos"),
    Activity(Verb("run", "correr"), "in the park", "por el parque"),
    Activity(Verb("sing", "cantar"), "in the shower", "en la ducha"),
    Activity(Verb("visit", "visitar"), "the museum", "el museo"),
    Activity(Verb("help", "ayudar"), "the neighbours", "a los vecinos"),
    Activity(Verb("think about", "pensar"), "the problem", "en el problema"),
    Activity(Verb("ask for", "pedir"), "help", "ayuda"),
)

ACTIONS: tuple[Action, ...] = (
    Action(_BUY, "goods"),
    Action(_BUY, "bought"),
    Action(Verb("sell", "vender"), "goods", "own"),
    Action(_READ, "read"),
    Action(_WRITE, "written", "one"),
    Action(_EAT, "eaten"),
    Action(_DRINK, "drunk"),
    Action(_PREPARE, "cooked", "it"),
    Action(Verb("open", "abrir"), "opened", "the"),
    Action(Verb("close", "cerrar"), "opened", "the"),
    Action(Verb("paint", "pintar"), "painted", "the"),
    Action(Verb("fix", "reparar"), "fixed", "it"),
    Action(Verb("use", "usar"), "used", "it"),
    Action(_WASH, "washed", "the"),
    Action(_CLEAN, "cleaned", "the"),
    Action(Verb("sing", "cantar"), "sung", "one"),
    Action(_WATCH, "watched", "one"),
    Action(Verb("look for", "buscar"), "lost", "own"),
    Action(Verb("find", "encontrar"), "lost", "own", "past"),
    Action(Verb("lose", "perder"), "lost", "own", "past"),
    Action(Verb("forget", "olvidar"), "lost", "own", "past"),
    Action(Verb("break", "romper"), "broken", "the", "past"),
    Action(Verb("receive", "recibir"), "sent", "a", "past"),
    Action(Verb("want", "querer"), "wanted", "a", "now"),
    Action(Verb("need", "necesitar"), "wanted", "a", "now"),
    Action(Verb("understand", "entender"), "understood", "the", "now"),
    Action(Verb("remember", "recordar"), "remembered", "the", "now"),
)

# What is done to people; in Spanish with the personal a.
TOWARDS_PEOPLE: tuple[Verb, ...] = (
    Verb("see", "ver"),
    Verb("help", "ayudar"),
    Verb("call", "llamar"),
    Verb("visit", "visitar"),
    Verb("look for", "buscar"),
    Verb("wait for", "esperar"),
    Verb("listen to", "escuchar"),
    Verb("invite", "invitar"),
)
KNOW_PERSON = Verb("know", "conocer")
LOVE_PERSON = Verb("love", "querer")

# (verb, kind of thing that is given)
GIVING: tuple[tuple[Verb, str], ...] = (
    (Verb("give", "dar"), "given"),
    (Verb("send", "enviar"), "sent"),
    (Verb("show", "enseñar"), "sent"),
    (Verb("bring", "traer"), "given"),
    (Verb("lend", "prestar"), "lent"),
    (Verb("write", "escribir"), "letter"),
    (Verb("sell", "vender"), "lent"),
)

REFLEXIVE: tuple[Verb, ...] = (
    Verb("get up", "levantarse"),
    Verb("wake up", "despertarse"),
    Verb("go to bed", "acostarse"),
    Verb("get dressed", "vestirse"),
    Verb("have a shower", "ducharse"),
)

MODALS: tuple[Modal, ...] = (
    Modal(Verb("want", "querer"), "to"),
    Modal(Verb("need", "necesitar"), "to"),
    Modal(Verb("prefer", "preferir"), "to"),
    Modal(Verb("have", "tener"), "to", "que"),
    Modal(Verb("can", "poder")),
)

# with tener: (English adjective, Spanish noun, "very")
FEELINGS: tuple[tuple[str, str, str], ...] = (
    ("hungry", "hambre", "mucha"),
    ("thirsty", "sed", "mucha"),
    ("cold", "frío", "mucho"),
    ("hot", "calor", "mucho"),
    ("sleepy", "sueño", "mucho"),
    ("afraid", "miedo", "mucho"),
    ("in a hurry", "prisa", ""),
    ("lucky", "suerte", "mucha"),
    ("right", "razón", ""),
)

HOW: tuple[Word, ...] = (
    Word("well", "bien"),
    Word("very well", "muy bien"),
    Word("badly", "mal"),
    Word("a lot", "mucho"),
    Word("very little", "muy poco"),
)

NEAR: tuple[Word, ...] = (
    Word("near", "cerca de"),
    Word("far from", "lejos de"),
    Word("next to", "al lado de"),
    Word("in front of", "delante de"),
    Word("behind", "detrás de"),
)


WEIGHTY = frozenset({"goods", "painted", "fixed", "written", "lost", "sent"})  # remembered for a year, planned for one
EVENING = frozenset({_DINNER, _BREAKFAST, _PREPARE})  # not said of just any time of the day


@cache
def actions(*times: str) -> tuple[Action, ...]:
    """The actions that are said of these times, in the order of the table."""
    return tuple(a for a in ACTIONS if a.times in times)
