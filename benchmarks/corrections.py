"""Teach a model 50 corrected sentences, and see what becomes of them, of similar sentences and of others.

    python benchmarks/corrections.py eng-spa.tsv.gz --work corrections

The base model, preset small, has 15 epochs of 26,000 pairs of the file, drawn by source with seed 0. Of other
pairs that it translates otherwise than their reference, 50 are taught, and 5 of them to another copy. A sentence is
similar to a taught one if both have a source word that is rare and a reference word that the base writes in neither.
To a third copy 50 are taught that have such words in common four at a time, as if somebody wanted them translated
otherwise. 400 more pairs are the others. Search as `dragoman translate` does it by default. Models stay in the working
directory: a second run only scores them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from dragoman.tasks.translation.translator import Translator

Pair = tuple[str, str]


class Similar(NamedTuple):
    """A pair, how the base translates it, and the word of the reference that it shares with a taught pair."""

    pair: Pair
    before: str
    word: str


BASE, ASKED, TAUGHT, SIMILAR, OTHERS = 26_000, 4_000, 50, 24, 400
ASKED_FOR_WORDS = 20_000  # few pairs have a word in common with four others
EPOCHS, FEWER = 15, 5
RARE = range(2, 13)  # wrongly translated pairs that hold a word
EXAMPLES = 4  # taught sentences with the same word


def drawn(file: Path, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(pairs of the base model, one pair of each other source)."""
    by_source: dict[str, list[str]] = defaultdict(list)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            source, target = line.rstrip("\n").split("\t")[:2]
            by_source[source].append(target)
    sources = [list(by_source)[i] for i in np.random.default_rng(seed).permutation(len(by_source))]
    base: list[Pair] = []
    while len(base) < BASE:
        source = sources.pop()
        base += [(source, target) for target in by_source[source]]
    return base, [(source, by_source[source][0]) for source in sources]


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def chosen(model: Translator, pairs: list[Pair], examples: int = 1) -> tuple[list[Pair], list[Similar]]:
    """(pairs to teach, similar ones); `examples`: taught pairs that each of these is similar to."""
    written = model.translate([source for source, _ in pairs])
    wrong = [(pair, text) for pair, text in zip(pairs, written, strict=True) if text != pair[1]]
    counts = [Counter(word for pair, _ in wrong for word in words(pair[side])) for side in (0, 1)]
    sharing: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, ((source, target), text) in enumerate(wrong):
        for s in sorted(words(source)):
            for t in sorted(words(target) - words(text)):
                if counts[0][s] in RARE and counts[1][t] in RARE:
                    sharing[s, t].append(i)
    taught, similar, used = list[Pair](), list[Similar](), set[int]()
    for (_, word), places in sharing.items():
        free = [place for place in places if place not in used]
        if len(free) > examples and len(similar) < SIMILAR and len(taught) + examples <= TAUGHT:
            used |= set(places)
            taught += [wrong[place][0] for place in free[:examples]]
            similar.append(Similar(*wrong[free[examples]], word))
    rest = [pair for i, (pair, _) in enumerate(wrong) if i not in used]
    return taught + rest[: TAUGHT - len(taught)], similar


def row(name: str, model: Translator, taught: list[Pair], similar: list[Similar], others: list[Pair]) -> Any:
    chrf, found = CHRF(), model.translate([each.pair[0] for each in similar])
    gains = [
        chrf.sentence_score(now, [each.pair[1]]).score - chrf.sentence_score(each.before, [each.pair[1]]).score
        for now, each in zip(found, similar, strict=True)
    ]
    written, references = model.translate([source for source, _ in others]), [[target for _, target in others]]
    return {
        "model": name,
        "taught": sum(model.translate(source) == target for source, target in taught),
        "similar better": sum(gain > 1e-9 for gain in gains),
        "similar worse": sum(gain < -1e-9 for gain in gains),
        "similar chrF": round(sum(gains) / len(gains), 2),
        "similar with the word": sum(each.word in words(now) for now, each in zip(found, similar, strict=True)),
        "others BLEU": round(BLEU().corpus_score(written, references).score, 2),
        "others chrF": round(chrf.corpus_score(written, references).score, 2),
    }


def write(path: Path, pairs: list[Pair]) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="eng-spa.tsv.gz: English, a tab, Spanish")
    parser.add_argument("--work", type=Path, default=Path("corrections"), help="directory of the models")
    parser.add_argument("--seeds", type=int, default=1, help="how often the recipe is tried")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    base, rest = drawn(options.file, 0)
    common = {"threads": options.threads, "data": {"languages": ["en", "es"]}}
    data = {"data": {"files": [write(options.work / "base.tsv", base)]}}
    small = {"preset": "small", "stopping": {"epochs": EPOCHS}}
    model, _ = train_model(merged(common, data, small), options.work / "base")
    short = [pair for pair in rest[:-OTHERS] if 4 <= len(pair[0].split()) <= 10]
    others = rest[-OTHERS:]
    start = {"start": {"model": str(options.work / "base")}}
    taught, similar = chosen(model, short[:ASKED])
    cases = {
        f"taught-{FEWER}": (taught[:FEWER], similar[:FEWER]),
        f"taught-{TAUGHT}": (taught, similar),
        f"taught-{TAUGHT}-words": chosen(model, short[:ASKED_FOR_WORDS], EXAMPLES),
    }
    for (name, (pairs, like)), seed in product(cases.items(), range(options.seeds)):
        if not seed:
            print(json.dumps(row(f"base, {name}", model, pairs, like, others)), flush=True)
        data = {"data": {"files": [write(options.work / f"{name}.tsv", pairs)]}}
        corrected, _ = train_model(merged(common, data, start, {"seed": seed}), options.work / f"{name}-{seed}")
        print(json.dumps(row(f"{name}-{seed}", corrected, pairs, like, others)), flush=True)


if __name__ == "__main__":
    main()
