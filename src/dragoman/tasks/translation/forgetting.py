"""Compare the model before and after fine-tuning, on new pairs and on old ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from dragoman.data.dataset import Dataset, Part
from dragoman.ranks import current
from dragoman.tasks.translation.corrections import Corrections
from dragoman.tasks.translation.replay import testing_pairs
from dragoman.tasks.translation.translator import Translator
from dragoman.text.sentences import collapsed

SCORED = 500  # pairs of each set to translate

Pair = tuple[str, str]


def compare(before: Translator, after: Translator, new: Dataset) -> list[dict[str, Any]]:
    """Compute error, BLEU and exact translations, before and after, of each set of pairs, on all ranks."""
    found = []
    for name, pairs in _sets(before, new).items():
        if pairs:
            first, second = (each.evaluate(pairs, ranks=current()) for each in (before, after))
            found.append(
                {
                    "pairs": name,
                    "count": len(pairs),
                    "exact": [round(each.exact * len(pairs)) for each in (first, second)],
                    "error": [round(first.error, 4), round(second.error, 4)],
                    "bleu": [round(first.bleu.value, 2), round(second.bleu.value, 2)],
                    "signature": second.bleu.signature,
                }
            )
    return found


def _sets(before: Translator, new: Dataset) -> dict[str, Sequence[Pair]]:
    """Return the sets to compare on, without old testing pairs that are now trained on."""
    if isinstance(new, Corrections):
        return new.sets()
    trained = {collapsed(source) for source in new.part("training").texts("source")}
    old = (pair for pair in testing_pairs(before) if collapsed(pair[0]) not in trained)
    return {
        "new, validation part": _some(_pairs(new.part("validation"))),
        "new, testing part": _some(_pairs(new.part("testing"))),
        "old, testing part": _some(old),
    }


def _pairs(part: Part) -> Iterable[Pair]:
    return zip(part.texts("source"), part.texts("target"), strict=True)


def _some(pairs: Iterable[Pair]) -> list[Pair]:
    return list(islice(pairs, SCORED))
