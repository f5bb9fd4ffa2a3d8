"""Measure how protected spans are translated: are they kept, are they in place, and is the rest still translated well?

    python benchmarks/protection.py eng-spa.tsv.gz MODEL

Puts 1 to 4 protected spans into sentences of the model's own test set, at places whose counterpart on the target side
is known. Numbers, dates, addresses and placeholders replace a noun or a name and its translation. Tags enclose a word
and its translation. Emoji are added at either end. Word translations are estimated from all pairs of the file, so the
judge knows more than the model. The corpus must be English to another language.

once      share of spans that occur in the translation exactly as often as in the source
in place  share of spans in the right place:
          - an emoji: at its end of the sentence
          - tags: around one to three words that include the word of the reference; if the translation does not have
            that word, any word that the lexicon links to the source word; if it has none of these either, words at most
            a quarter of the sentence away from their place in the reference
          - other spans: at most one word away from one of the two neighbours in the reference, on the same side; if the
            translation has neither, at most a quarter of the sentence away
          A pair of tags counts as one span.
by words  the same for the spans that words can decide, and the share of such spans
chrF      of the translation without its spans, against the reference without them; then the score of the same sentences
          translated without spans, where the translations of replaced words are removed; then the difference
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any

from dragoman.data.augmentation import SEEN_TOGETHER, Lexicon, Word, words

KINDS: dict[str, list[tuple[str, ...]]] = {
    "number": [("7",), ("42",), ("1,250",), ("3.5",), ("18%",)],
    "date": [("2024-05-01",), ("31/12/2023",), ("10:30",)],
    "address": [("https://example.org/a?b=1",), ("www.example.com",), ("me@example.org",)],
    "placeholder": [("{name}",), ("%s",), ("%d",), ("{{ user }}",), ("${HOME}",)],
    "tags": [("<b>", "</b>"), ('<a href="/x">', "</a>"), ("<i>", "</i>")],
    "emoji": [("😀",), ("🎉",), ("👍🏽",)],
}
BEFORE_NOUN = frozenset(re.split(" ", "the a an my your his her our their this that in at on of for with from"))
AFTER_NOUN = frozenset(re.split(" ", "in at on of for with from is was are were and or to that by will has had"))
FAR = 0.25
LINKED = 0.1
_TOKEN = re.compile(r"\ue100\d\ue101|[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Span:
    """A span of a sentence: its texts (two for a pair of tags) and the words that it replaces or encloses."""

    kind: str
    texts: tuple[str, ...]
    source_word: str
    reference_word: str
    source_place: tuple[int, int]
    reference_place: tuple[int, int]


@dataclass(frozen=True)
class Sentence:
    plain: str
    reference: str
    spans: tuple[Span, ...]

    @property
    def count(self) -> int:
        return sum(len(span.texts) for span in self.spans)

    def source(self) -> str:
        return _with_spans(self.plain, [(span.source_place, span) for span in self.spans])

    def remaining_reference(self) -> str:
        return without(self.marked_reference())

    def marked_reference(self) -> str:
        return _with_spans(self.reference, [(span.reference_place, span) for span in self.spans], marked=True)


def _with_spans(text: str, places: list[tuple[tuple[int, int], Span]], marked: bool = False) -> str:
    parts, at = [], 0
    for n, ((start, stop), span) in sorted(enumerate(places), key=lambda item: item[1][0]):
        texts = [f"\ue100{n}\ue101"] * len(span.texts) if marked else list(span.texts)
        if span.kind == "emoji":
            shown = f"{texts[0]} " if start == 0 else f" {texts[0]}"
        else:
            shown = texts[0] if len(texts) == 1 else texts[0] + text[start:stop] + texts[1]
        parts += text[at:start], shown
        at = stop
    return "".join(parts) + text[at:]


def marked(text: str, sentence: Sentence) -> str:
    """Replace the spans in a translation by marks."""
    for n, span in sorted(enumerate(sentence.spans), key=lambda item: -len(item[1].texts[0])):
        for each in span.texts:
            text = text.replace(each, f" \ue100{n}\ue101 ")
    return text


def without(text: str) -> str:
    """Remove the marks from a text."""
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(re.sub("\ue100\\d\ue101", " ", text).split()))


class Judge(Lexicon):
    """A lexicon that also contains weak associations."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self.often: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self.together: Counter[tuple[str, str]] = Counter()
        for pair in pairs:
            source, reference = ({word for word, _, _ in words(text)} for text in pair)
            self.often[0].update(source)
            self.often[1].update(reference)
            self.together.update(product(source, reference))

    def association(self, source: str, reference: str) -> float:
        """2 c(s, r) / (c(s) + c(r)); 0 for words that rarely occur together, 1 for the same word on both sides."""
        if source == reference and len(source) > 2:
            return 1.0
        together = self.together.get((source, reference), 0)
        if together < SEEN_TOGETHER:
            return 0.0
        return 2 * together / (self.often[0][source] + self.often[1][reference])


def comparable(plain: str, sentence: Sentence, lexicon: Judge) -> str:
    """The translation of the sentence without spans, with the words removed that the spans replaced."""
    for span in sentence.spans:
        if span.kind in ("tags", "emoji"):
            continue
        found = words(plain)
        named = [word for word in found if word[0] == span.reference_word]
        linked = [word for word in found if lexicon.association(span.source_word, word[0]) >= LINKED]
        for _, start, stop in (named or linked)[:1]:
            plain = plain[:start] + plain[stop:]
    return without(plain)


def built(pair: tuple[str, str], lexicon: Lexicon, spans: int) -> Sentence | None:
    """Put this many spans into the pair, at places drawn from a hash; None if the pair is too short for them."""
    source, reference = pair
    draw = _Draw(f"{source}\t{reference}")
    sides = words(source), words(reference)
    links = [link for link in lexicon.links(*sides) if len(sides[0][link[0]][0]) > 2]
    chosen: list[Span] = []
    room, ends = spans, ["first", "last"]
    for _ in range(40):
        if not room:
            break
        kind = list(KINDS)[draw.below(len(KINDS))]
        text = KINDS[kind][draw.below(len(KINDS[kind]))]
        if len(text) > room or any(set(text) & set(span.texts) for span in chosen):
            continue
        if kind == "emoji":
            if not ends or draw.below(4):  # emoji are easy and fit everywhere, so they are drawn less often
                continue
            end = ends.pop(draw.below(len(ends)))
            places = [(0, 0) if end == "first" else (len(each), len(each)) for each in pair]
            found = Span(kind, text, end, end, *places)
        else:
            fitting = links if kind == "tags" else [link for link in links if _is_noun(sides[0], link[0], source)]
            if not fitting:
                continue
            link = fitting[draw.below(len(fitting))]
            links.remove(link)
            (word, *place), (other, *other_place) = sides[0][link[0]], sides[1][link[1]]
            found = Span(kind, text, word, other, (place[0], place[1]), (other_place[0], other_place[1]))
        chosen.append(found)
        room -= len(text)
    remaining = len(sides[0]) - sum(span.kind not in ("tags", "emoji") for span in chosen)
    return Sentence(source, reference, tuple(chosen)) if not room and remaining >= 3 else None


def _is_noun(side: list[Word], at: int, source: str) -> bool:
    """Guess from the neighbouring words whether this is a noun or a name, which a span can replace."""
    word, start, stop = side[at]
    if source[start].isupper() and at > 0:
        return not word.startswith("i'")
    before = side[at - 1][0] if at else ""
    after = side[at + 1][0] if at + 1 < len(side) else ""
    return before in BEFORE_NOUN and (after in AFTER_NOUN or not after or source[stop : stop + 1] in ",.;!?")


class _Draw:
    def __init__(self, text: str) -> None:
        self.left = int.from_bytes(blake2b(text.encode(), digest_size=64).digest(), "little")

    def below(self, count: int) -> int:
        self.left, drawn = divmod(self.left, count)
        return drawn


def in_place(n: int, sentence: Sentence, translation: str, lexicon: Judge) -> tuple[bool, bool]:
    """Whether the n-th span of a sentence is in place, and whether words decided it."""
    span, mark = sentence.spans[n], f"\ue100{n}\ue101"
    text = marked(translation, sentence)
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    expected = [token.lower() for token in _TOKEN.findall(sentence.marked_reference())]
    at = [i for i, token in enumerate(tokens) if token == mark]
    if len(at) != len(span.texts):
        return False, True
    if span.kind == "emoji":
        others = [i for i, token in enumerate(tokens) if token != mark]
        return (at[0] < min(others) if span.source_word == "first" else at[0] > max(others)), True
    if span.kind == "tags":
        return _encloses(tokens, at, span, expected, mark, lexicon)
    right = expected.index(mark)
    before, after = expected[right - 1] if right else "", (expected[right + 1] if right + 1 < len(expected) else "")
    near_left, near_right = tokens[max(0, at[0] - 2) : at[0]], tokens[at[0] + 1 : at[0] + 3]
    known = [bool(word) and word in tokens for word in (before, after)]
    ends = (not before and at[0] == 0) or (not after and at[0] == len(tokens) - 1)
    if ends or before in near_left or after in near_right:
        return True, True
    if any(known):
        return False, True
    return abs(_relative(at[0], tokens) - _relative(right, expected)) <= FAR, False


def _encloses(
    tokens: list[str], at: list[int], span: Span, expected: list[str], mark: str, lexicon: Judge
) -> tuple[bool, bool]:
    inside = [token for token in tokens[at[0] + 1 : at[1]] if token[0] != "\ue100"]
    few = 1 <= len(inside) <= 3
    others = [token for token in tokens if token[0] != "\ue100"]
    linked = [token for token in others if lexicon.association(span.source_word, token) >= LINKED]
    for counterparts in ([span.reference_word] if span.reference_word in tokens else [], linked):
        if counterparts:
            return few and any(word in inside for word in counterparts), True
    middle, right = sum(at) / 2, (expected.index(mark) + len(expected) - 1 - expected[::-1].index(mark)) / 2
    return few and abs(_relative(middle, tokens) - _relative(right, expected)) <= FAR, False


def _relative(at: float, tokens: list[str]) -> float:
    return at / max(1, len(tokens) - 1)


def read(file: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        for line in lines:
            source, reference = line.rstrip("\n").split("\t")[:2]
            yield source, reference


def measure(lexicon: Judge, model: Path, pairs: list[tuple[str, str]], count: int, beam: int) -> dict[str, Any]:
    from sacrebleu.metrics.chrf import CHRF

    from dragoman import Translator
    from dragoman.tasks.translation.testing import load_testing

    translator = Translator.load(model)
    sentences: list[Sentence] = []
    seen: set[str] = set()
    for pair in pairs or load_testing(model):
        wanted = 1 + len(sentences) % 4
        found = built(pair, lexicon, wanted) if pair[0] not in seen and len(pair[0]) > 15 else None
        seen.add(pair[0])
        if found is not None and len(sentences) < count:
            sentences.append(found)
    written = translator.translate([sentence.source() for sentence in sentences], beam=beam)
    plain = translator.translate([sentence.plain for sentence in sentences], beam=beam)
    rows: dict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    texts: dict[str, list[int]] = defaultdict(list)
    for i, (sentence, translation) in enumerate(zip(sentences, written, strict=True)):
        texts["all"].append(i)
        texts[f"{sentence.count} spans"].append(i)
        for n, span in enumerate(sentence.spans):
            once = all(translation.count(each) == sentence.source().count(each) for each in span.texts)
            row = (once, *in_place(n, sentence, translation, lexicon))
            for name in ("all", f"{sentence.count} spans", span.kind):
                rows[name].append(row)
            if i not in texts[span.kind]:
                texts[span.kind].append(i)
    table: dict[str, Any] = {}
    for name in ["all", *sorted(n for n in rows if n.endswith("spans")), *KINDS]:
        chosen = texts[name]
        if not chosen:
            continue
        with_spans = CHRF().corpus_score(
            [without(marked(written[i], sentences[i])) for i in chosen],
            [[sentences[i].remaining_reference() for i in chosen]],
        )
        alone = CHRF().corpus_score(
            [comparable(plain[i], sentences[i], lexicon) for i in chosen],
            [[sentences[i].remaining_reference() for i in chosen]],
        )
        table[name] = {
            "sentences": len(chosen),
            "spans": len(rows[name]),
            "once": sum(row[0] for row in rows[name]) / len(rows[name]),
            "in place": sum(row[1] for row in rows[name]) / len(rows[name]),
            "by words": sum(row[2] for row in rows[name]) / len(rows[name]),
            "right by words": sum(row[1] and row[2] for row in rows[name]) / max(1, sum(row[2] for row in rows[name])),
            "chrf": with_spans.score,
            "plain": alone.score,
        }
    wrong = [
        (sentences[i].source(), written[i], plain[i], sentences[i].marked_reference())
        for i in range(len(sentences))
        if not all(in_place(n, sentences[i], written[i], lexicon)[0] for n in range(len(sentences[i].spans)))
    ]
    return {"table": table, "wrong": wrong}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="pairs that the judge's lexicon is estimated from")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument(
        "--unseen-by", type=Path, help="sentences come from FILE, without those whose source is in this file of pairs"
    )
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--show", type=int, default=0, help="sentences with a span out of place to print")
    arguments = parser.parse_args()
    everything = list(read(arguments.file))
    lexicon = Judge(everything)
    seen = {source for source, _ in read(arguments.unseen_by)} if arguments.unseen_by else set()
    pairs = [pair for pair in everything if pair[0] not in seen] if seen else []
    pairs.sort(key=lambda pair: blake2b("\t".join(pair).encode()).digest())
    for model in arguments.models:
        found = measure(lexicon, model, pairs, arguments.sentences, arguments.beam)
        names = ("", "sentences", "spans", "once", "in place", "by words", "chrF", "without spans", "lacks")
        print(f"{model}\n| {' | '.join(names)} |\n{'|---' * len(names)}|")
        for name, row in found["table"].items():
            print(
                f"| {name} | {row['sentences']} | {row['spans']} | {row['once']:.1%} | {row['in place']:.1%} "
                f"| {row['right by words']:.1%} of {row['by words']:.0%} | {row['chrf']:.1f} | {row['plain']:.1f} "
                f"| {row['plain'] - row['chrf']:.1f} |"
            )
        for row in found["wrong"][: arguments.show]:
            print(json.dumps(row, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
