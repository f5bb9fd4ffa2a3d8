"""The whole corpus: what must hold of every pair, and a few pairs of every rule word for word."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

from dragoman.data.builtin import HELD_OUT
from tests.tools.phrases.golden import examples
from tools.phrases import Pair
from tools.phrases.corpus import PER_RULE, sentences
from tools.phrases.grammar.rules import RULES

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden_phrases.tsv"
FINGERPRINT = (
    "import hashlib; from tools.phrases import phrases; print(hashlib.sha256(repr(phrases()).encode()).hexdigest())"
)


def words(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text)


def test_size_and_one_reference_a_source(pairs: list[Pair]) -> None:
    assert len(pairs) >= 20_000
    assert len({pair.source for pair in pairs}) == len(pairs)


def test_the_grammar_is_a_function() -> None:
    """Twice as many sentences as the corpus holds, and still no source has two translations."""
    references = defaultdict(set)
    for rule in RULES:
        for sentence in sentences(rule, 2 * PER_RULE):
            references[sentence.english].add(sentence.spanish)
    assert [source for source, found in references.items() if len(found) > 1] == []


def test_the_demonstration_is_there_and_held_out(pairs: list[Pair]) -> None:
    assert HELD_OUT == ("The plant is green.",)
    assert {pair.source: pair.reference for pair in pairs}[HELD_OUT[0]] == "La planta es verde."


def test_rules_are_balanced_and_documented(pairs: list[Pair]) -> None:
    counts = Counter(pair.rule for pair in pairs)
    assert set(counts) == {rule.name for rule in RULES}
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert max(counts.values()) <= PER_RULE
    assert min(counts.values()) >= 50
    for rule in RULES:
        assert re.match(r"[A-Z].*[.?!] [¿¡A-ZÁÉÍÓÚ].*[.?!]$", rule.write.__doc__ or ""), rule.name


def test_the_same_in_every_process(pairs: list[Pair]) -> None:
    here = hashlib.sha256(repr(pairs).encode()).hexdigest()
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    other = subprocess.run(
        [sys.executable, "-c", FINGERPRINT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == here


def test_lengths_and_vocabulary(pairs: list[Pair]) -> None:
    assert all(2 <= len(pair.source.split()) <= 12 for pair in pairs)
    assert all(len(pair.reference.split()) <= 13 for pair in pairs)
    assert len({word.lower() for pair in pairs for word in words(pair.source)}) < 1_200


def test_spelling(pairs: list[Pair]) -> None:
    for source, reference, _ in pairs:
        for text in (source, reference):
            assert unicodedata.is_normalized("NFC", text)
            assert "  " not in text
            assert text == text.strip()
            assert not re.search(r" [,.?!]", text)
            assert text[-1] in ".?!"
        assert source[0].isupper()
        assert reference.lstrip("¿¡")[0].isupper()
        assert re.fullmatch(r"[A-Za-z0-9áéíóúñ ,.?!'-]+", source)
        assert re.fullmatch(r"[A-Za-z0-9ÁÉÍÓÚáéíóúñ ,.?!¿¡]+", reference)


def test_figures_are_the_same_on_both_sides(pairs: list[Pair]) -> None:
    figures = [(re.findall(r"\d+", source), re.findall(r"\d+", reference)) for source, reference, _ in pairs]
    assert all(ours == theirs for ours, theirs in figures)
    assert sum(bool(ours) for ours, _ in figures) > 300


def test_marks_in_pairs(pairs: list[Pair]) -> None:
    for source, reference, _ in pairs:
        assert reference.count("¿") == reference.count("?") == source.count("?")
        assert reference.count("¡") == reference.count("!") == source.count("!")


def test_contractions(pairs: list[Pair]) -> None:
    for _, reference, _ in pairs:
        assert not re.search(r"\b(a|de) el\b", reference, re.IGNORECASE), reference
        assert not re.search(r"\by h?i(?!e)", reference), reference


def test_days_months_and_peoples_are_lower_case(pairs: list[Pair]) -> None:
    small = "lunes martes miércoles jueves viernes sábado domingo enero agosto español inglesa alemanes francés"
    for _, reference, _ in pairs:
        inside = words(reference)[1:]
        assert not {word.lower() for word in inside if word[0].isupper()} & set(small.split()), reference


# The checker's own grammar: written apart from the lexicon, so that a wrong gender there is seen here.
MASCULINE = """libro periódico poema mapa lápiz cuaderno diccionario sofá vaso plato reloj teléfono ordenador anillo
regalo vestido sombrero abrigo zapato coche billete árbol problema examen ejercicio idioma pan queso arroz pescado
chocolate tomate huevo pastel bocadillo café té vino zumo museo hospital hotel restaurante banco aeropuerto mercado cine
parque río pueblo jardín baño dormitorio tren autobús avión barco perro gato caballo pájaro hombre niño hermano abuelo
tío amigo vecino médico profesor abogado ingeniero día mes año minuto pie brazo ojo diente piso"""
FEMININE = """carta revista novela foto casa puerta ventana pared mesa silla cama caja bolsa maleta botella taza lámpara
radio llave camisa bicicleta planta flor canción película idea pregunta respuesta palabra carne fruta sopa manzana
naranja patata ensalada leche cerveza escuela universidad biblioteca estación tienda iglesia farmacia plaza playa calle
montaña ciudad cocina oficina mujer niña hermana hija abuela tía mano cabeza espalda pierna semana hora"""
ENDINGS = {"m": ("o", "os"), "f": ("a", "as")}
DETERMINERS = {
    (
        "m",
        False,
    ): "el un este ese nuestro otro mucho poco demasiado algún ningún al del primer segundo tercer cuarto buen",
    ("f", False): "la una esta esa nuestra otra mucha poca demasiada alguna ninguna primera segunda tercera buena mala",
    ("m", True): "los estos esos nuestros otros muchos pocos demasiados algunos cuántos veintiún buenos doscientos",
    ("f", True): "las estas esas nuestras otras muchas pocas demasiadas algunas cuántas veintiuna buenas doscientas",
}


def plurals(word: str) -> set[str]:
    """Every way a plural may look; which one is right is tested elsewhere."""
    plain = word.translate(str.maketrans("áéíóú", "aeiou"))
    return {word + "s", word + "es", plain + "es", word[:-1] + "ces"} | ({"exámenes"} if word == "examen" else set())


NOUN_FORMS: dict[str, tuple[str, bool]] = {}
for gender, listed in (("m", MASCULINE), ("f", FEMININE)):
    for word in listed.split():
        NOUN_FORMS[word] = (gender, False)
        NOUN_FORMS.update(dict.fromkeys(plurals(word), (gender, True)))
ARTICLE_FORMS = {word: key for key, listed in DETERMINERS.items() for word in listed.split()}


def test_determiners_agree_with_their_nouns(pairs: list[Pair]) -> None:
    checked = 0
    for _, reference, _ in pairs:
        tokens = [token.lower() for token in words(reference)]
        for before, first, second in zip(["", *tokens], tokens, tokens[1:], strict=False):
            if first in ARTICLE_FORMS and second in NOUN_FORMS and before != "y":  # not treinta y una tazas
                assert ARTICLE_FORMS[first] == NOUN_FORMS[second], reference
                checked += 1
    assert checked > 15_000


def test_adjectives_agree_with_their_subjects(pairs: list[Pair]) -> None:
    """The noun after an article at the beginning, and the -o, -a, -os or -as of the adjective after ser or estar."""
    sentence = re.compile(
        r"(?:El|La|Los|Las|Est[eao]s?|Es[eao]s?|Nuestr[oa]s?|Mis?|Tus?|Sus?) (\w+) (?:no )?"
        r"(?:es|son|era|eran|está|están|estaba|estaban) (?:muy |demasiado )?(\w+(?:o|a|os|as))\."
    )
    checked = 0
    for _, reference, _ in pairs:
        found = sentence.fullmatch(reference)
        if not found or found[1] not in NOUN_FORMS or found[2].rstrip("s").endswith("ista"):
            continue
        gender, many = NOUN_FORMS[found[1]]
        assert found[2].endswith(ENDINGS[gender][many]), reference
        checked += 1
    assert checked > 500


def test_stressed_a_takes_el(pairs: list[Pair]) -> None:
    for _, reference, _ in pairs:
        assert not re.search(r"\b(la|una|alguna|ninguna) (agua|águila|aula)\b", reference, re.IGNORECASE), reference
        assert not re.search(r"\b(el|un) (agua|águila|aula) \w+o\b", reference, re.IGNORECASE), reference


def test_verbs_agree_with_pronouns(pairs: list[Pair]) -> None:
    """Ellos and -n, él and ella without it, we and -mos: first verb after no, adverbs and pronouns."""
    skipped = "no nunca siempre casi ya todavía también tampoco a menudo me te se nos lo la los las le les"
    checked = 0
    for source, reference, _ in pairs:
        tokens = words(reference)
        start = tokens[0].lower()
        tokens = [t for t in tokens[start in ("él", "ella", "ellos") :] if t.lower() not in skipped.split()]
        if start == "ellos":
            assert tokens[0].endswith("n"), reference
        elif start in ("él", "ella"):
            assert not tokens[0].endswith(("n", "mos")), reference
        elif re.match(r"We (?!would like|like|love|don't like|used to like)", source):
            assert tokens[0].endswith("mos"), reference
        else:
            continue
        checked += 1
    assert checked > 3_000


def test_a_few_pairs_of_every_rule(pairs: list[Pair]) -> None:
    """Read by a person when they were written; `python -m tests.tools.phrases.golden` writes them anew, to be read."""
    golden = [tuple(line.split("\t")) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    assert [tuple(row) for row in examples(pairs)] == golden
