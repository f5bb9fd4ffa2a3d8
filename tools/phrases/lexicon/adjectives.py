"""Adjectives: with ser what a thing is, with estar how it is now."""

from __future__ import annotations

from functools import cache

from tools.phrases.lexicon.words import Adjective, Noun, adjective

COLOURS: tuple[Adjective, ...] = (
    adjective("red", "rojo"),
    adjective("green", "verde"),
    adjective("blue", "azul"),
    adjective("white", "blanco"),
    adjective("black", "negro"),
    adjective("yellow", "amarillo"),
    adjective("grey", "gris"),
    adjective("brown", "marrón"),
)

# of things, with ser
QUALITIES: tuple[Adjective, ...] = (
    adjective("big", "grande", "sized"),
    adjective("small", "pequeño", "sized"),
    adjective("new", "nuevo", "aged"),
    adjective("old", "viejo", "aged"),
    adjective("long", "largo", "long"),
    adjective("short", "corto", "long"),
    adjective("expensive", "caro", "goods dear"),
    adjective("cheap", "barato", "goods dear"),
    adjective("interesting", "interesante", "interesting"),
    adjective("boring", "aburrido", "interesting"),
    adjective("easy", "fácil", "task"),
    adjective("difficult", "difícil", "task"),
    adjective("important", "importante", "important"),
    adjective("heavy", "pesado", "heavy"),
    adjective("pretty", "bonito", "pretty"),
    adjective("ugly", "feo", "pretty"),
    adjective("fast", "rápido", "fast"),
    adjective("comfortable", "cómodo", "comfortable"),
    adjective("modern", "moderno", "modern"),
    adjective("elegant", "elegante", "elegant"),
    adjective("famous", "famoso", "famous"),
    adjective("quiet", "tranquilo", "quiet"),
    adjective("high", "alto", "mountain"),
    adjective("good", "bueno", "good", before=True, more="mejor"),
    adjective("bad", "malo", "good", before=True, more="peor"),
)
GREAT = adjective("great", "grande", before=True)

# of people, with ser
CHARACTER: tuple[Adjective, ...] = (
    adjective("tall", "alto"),
    adjective("short", "bajo"),
    adjective("young", "joven"),
    adjective("strong", "fuerte"),
    adjective("intelligent", "inteligente"),
    adjective("kind", "amable"),
    adjective("funny", "divertido"),
    adjective("serious", "serio"),
    adjective("lazy", "perezoso"),
    adjective("hard-working", "trabajador"),
    adjective("shy", "tímido"),
    adjective("generous", "generoso"),
    adjective("rich", "rico"),
    adjective("poor", "pobre"),
    adjective("famous", "famoso"),
    adjective("happy", "feliz"),
    adjective("brave", "valiente"),
)
GRADED: tuple[Adjective, ...] = tuple(a for a in CHARACTER if a.english not in ("young", "happy", "poor"))

# of people, with estar
MOODS: tuple[Adjective, ...] = (
    adjective("tired", "cansado"),
    adjective("ill", "enfermo"),
    adjective("busy", "ocupado"),
    adjective("sad", "triste"),
    adjective("worried", "preocupado"),
    adjective("angry", "enfadado"),
    adjective("glad", "contento"),
    adjective("nervous", "nervioso"),
    adjective("calm", "tranquilo"),
    adjective("alone", "solo"),
    adjective("ready", "listo"),
    adjective("surprised", "sorprendido"),
)
NOT_GRADED = frozenset({"alone", "ready"})  # nobody is very alone

# of things, with estar
CONDITIONS: tuple[Adjective, ...] = (
    adjective("open", "abierto", "shut opens"),
    adjective("closed", "cerrado", "shut opens"),
    adjective("clean", "limpio", "dirty"),
    adjective("dirty", "sucio", "dirty"),
    adjective("full", "lleno", "full"),
    adjective("empty", "vacío", "full"),
    adjective("broken", "roto", "broken"),
    adjective("cold", "frío", "hot"),
    adjective("hot", "caliente", "hot"),
    adjective("delicious", "delicioso", "cooked"),
)
NOT_VERY = frozenset({"open", "closed", "broken", "full", "empty", "delicious"})


TELLING_APART = frozenset({"big", "small", "new", "old"})  # that small box: which of the boxes one means
UNWANTED = frozenset({"ugly", "boring", "bad", "heavy", "short"})  # said of a thing, seldom beside it


@cache
def beside(noun: Noun, known: bool) -> tuple[Adjective, ...]:
    """The qualities named in passing: of a known thing those that tell it apart, of a new one those one looks for."""
    if known:
        return tuple(a for a in qualities_of(noun) if a.english in TELLING_APART)
    return tuple(a for a in qualities_of(noun) if a.english not in UNWANTED)


@cache
def qualities_of(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(a for a in QUALITIES if a.kinds & (noun.kinds | {noun.english}))


@cache
def conditions_of(noun: Noun) -> tuple[Adjective, ...]:
    return tuple(a for a in CONDITIONS if a.kinds & noun.kinds)
