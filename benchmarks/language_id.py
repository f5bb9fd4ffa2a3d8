"""Measure how well the language of a text is told, and whether the confidence is right.

    python benchmarks/language_id.py eng-spa.tsv.gz --languages en,es

Profiles are learnt as `dragoman train` learns them; 2,000 pairs calibrate them. Judged are 5,000 pairs of which no
source is among the others: whole sentences, and fragments of 1, 2, 3 and 5 words at a random place of a longer one.
Many single words belong to both languages ("no", "Tom"), so nobody can be right about all.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from dragoman.data.readers import read_records
from dragoman.text.language_calibration import learn_profiles
from dragoman.text.language_id import identify, profiles_to_json

SIZES = (1, 2, 3, 5, None)
BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.01)
JUDGED, CALIBRATING = 5_000, 2_000

Pair = tuple[str, ...]
Found = tuple[float, bool]  # the confidence, and whether the language is right


def split(pairs: list[Pair]) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Pairs to judge, to calibrate with and to learn from, in an order of their own."""
    random.Random(1).shuffle(pairs)
    judged = pairs[:JUDGED]
    known = {source for source, _ in judged}
    rest = [pair for pair in pairs[JUDGED:] if pair[0] not in known]
    return judged, rest[:CALIBRATING], rest[CALIBRATING:]


def fragments(texts: Sequence[str], size: int | None, seed: int = 2) -> Iterator[str]:
    chance = random.Random(seed)
    for text in texts:
        words = text.split()
        if size is None:
            yield text
        elif len(words) > size:
            start = chance.randrange(len(words) - size + 1)
            yield " ".join(words[start : start + size])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--languages", default="en,es")
    given = parser.parse_args()
    languages = given.languages.split(",")
    judged, calibrating, training = split([record.fields for record in read_records([given.file])])
    started = time.perf_counter()
    profiles = learn_profiles(
        {code: [pair[side] for pair in training] for side, code in enumerate(languages)},
        {code: [pair[side] for pair in calibrating] for side, code in enumerate(languages)},
    )
    print(f"learnt in {time.perf_counter() - started:.1f} s, {len(profiles_to_json(profiles)) / 1e3:.0f} KB")
    everything: list[Found] = []
    print("\n| words | texts | accuracy | mean confidence | microseconds each |\n|---|---|---|---|---|")
    for size in SIZES:
        found: list[Found] = []
        started = time.perf_counter()
        for side, code in enumerate(languages):
            for text in fragments([pair[side] for pair in judged], size):
                best, confidence = identify(text, profiles)[0]
                found.append((confidence, best == code))
        each = (time.perf_counter() - started) / len(found)
        print(
            f"| {size or 'all'} | {len(found):,} | {_mean(found, 1):.4f} | {_mean(found, 0):.4f} | {1e6 * each:.0f} |"
        )
        everything += found
    print("\n| confidence | texts | mean confidence | accuracy |\n|---|---|---|---|")
    for low, high in pairwise(BINS):
        inside = [each for each in everything if low <= each[0] < high]
        if inside:
            name = f"{low:g} to {min(high, 1):g}"
            print(f"| {name} | {len(inside):,} | {_mean(inside, 0):.3f} | {_mean(inside, 1):.3f} |")


def _mean(found: Sequence[Found], column: int) -> float:
    return sum(each[column] for each in found) / len(found)


if __name__ == "__main__":
    main()
