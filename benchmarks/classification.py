"""Classifiers beside TF-IDF and logistic regression of scikit-learn: the same texts, the same split, the same run.

    pip install scikit-learn
    python benchmarks/classification.py --data FOLDER [--seeds 3] [--only sentiment]

FOLDER holds sentiment-snippets.tsv.gz (label, text) and news-topics.csv.gz (class, title, description). Every seed is
another split, 80/10/10. The peer's C and the longest run of words are tuned on the validation part; ours is trained
with its defaults, and the validation part chooses when to stop.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

Samples = list[tuple[str, str]]  # text, label
SHARES = 0.8, 0.9  # where the training part and the validation part end
STRENGTHS = (0.3, 1, 3, 10, 30)
RUNS = ((1, 1), (1, 2))


def read_sentiment(folder: Path) -> Samples:
    with gzip.open(folder / "sentiment-snippets.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [(text, label) for label, text in rows]


def read_topics(folder: Path) -> Samples:
    with gzip.open(folder / "news-topics.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        return [(" ".join(f"{title} {text}".split()), label) for label, title, text in csv.reader(lines)]


DATA: dict[str, Callable[[Path], Samples]] = {"sentiment": read_sentiment, "topics": read_topics}


def split(samples: Samples, seed: int) -> dict[str, Samples]:
    order = np.random.default_rng(seed).permutation(len(samples))
    first, second = (int(share * len(samples)) for share in SHARES)
    cut = {"training": order[:first], "validation": order[first:second], "testing": order[second:]}
    return {name: [samples[i] for i in items] for name, items in cut.items()}


def peer(parts: dict[str, Samples]) -> tuple[float, str]:
    """Accuracy of TF-IDF and logistic regression, and what was chosen by the validation part."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = {name: [text for text, _ in samples] for name, samples in parts.items()}
    labels = {name: np.array([label for _, label in samples]) for name, samples in parts.items()}
    best, found, chosen = -1.0, 0.0, ""
    for runs in RUNS:
        vectorizer = TfidfVectorizer(ngram_range=runs)
        x = {"training": vectorizer.fit_transform(texts["training"])}
        x |= {name: vectorizer.transform(texts[name]) for name in ("validation", "testing")}
        for strength in STRENGTHS:
            model = LogisticRegression(C=strength, max_iter=500).fit(x["training"], labels["training"])
            score = float((model.predict(x["validation"]) == labels["validation"]).mean())
            if score > best:
                best, chosen = score, f"C={strength:g}, up to {runs[1]} words"
                found = float((model.predict(x["testing"]) == labels["testing"]).mean())
    return found, chosen


def ours(parts: dict[str, Samples], seed: int) -> tuple[float, str]:
    """Accuracy of a classifier trained with the defaults, and its number of parameters."""
    from dragoman import Classifier
    from dragoman.tasks.classification.testing import tested

    with tempfile.TemporaryDirectory() as folder:
        for name, samples in parts.items():
            lines = "".join(f"{label}\t{text}\n" for text, label in samples)
            (Path(folder) / f"{name}.tsv").write_text(lines, encoding="utf-8")
        model = Classifier.train(folder, data={"label": 1, "text": [2]}, seed=seed, threads=1)
    return float(tested(model, parts["testing"]).right.mean()), f"{model.metadata.parameters:,} parameters"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", choices=list(DATA))
    given = options.parse_args()
    warnings.simplefilter("ignore")
    print("| data | seed | Dragoman | s | TF-IDF + LR | s | chosen for the peer |\n|---|---|---|---|---|---|---|")
    for name in [given.only] if given.only else DATA:
        samples, scores = DATA[name](given.data), []
        for seed in range(given.seeds):
            parts = split(samples, seed)
            started = time.perf_counter()
            mine, _ = ours(parts, seed)
            between = time.perf_counter()
            theirs, chosen = peer(parts)
            times = between - started, time.perf_counter() - between
            scores.append((mine, theirs))
            print(
                f"| {name} | {seed} | {mine:.4f} | {times[0]:.0f} | {theirs:.4f} | {times[1]:.0f} | {chosen} |",
                flush=True,
            )
        means = np.mean(scores, axis=0)
        print(f"| **{name}** | mean | **{means[0]:.4f}** | | **{means[1]:.4f}** | | |", flush=True)


if __name__ == "__main__":
    main()
