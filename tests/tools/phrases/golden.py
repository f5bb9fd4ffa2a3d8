"""Three pairs of every rule, as kept in golden_phrases.tsv. Run as a module to write the file after a wanted change."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tools.phrases import Pair, phrases


def examples(pairs: list[Pair]) -> list[tuple[str, str, str]]:
    """(rule, source, reference), by rule, the first of each in the order of the corpus."""
    kept: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for source, reference, rule in pairs:
        if len(kept[rule]) < 3:
            kept[rule].append((rule, source, reference))
    return [row for rule in sorted(kept) for row in kept[rule]]


if __name__ == "__main__":
    lines = ["\t".join(row) for row in examples(phrases())]
    Path(__file__).with_name("golden_phrases.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
