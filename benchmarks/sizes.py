"""Measure translation quality by corpus size, preset, epochs and dropout. The defaults are chosen from these runs.

    python benchmarks/sizes.py eng-spa.tsv.gz --pairs 5000 --preset medium --epochs 40 --dropout 0.3

The pairs are drawn from the file with a fixed seed; 90 % are used for training and 5 % for validation (split by source,
so that nothing leaks). The weights with the lowest validation error translate up to 2,000 validation sentences. One
JSON line is printed and appended to --results. `--table` prints the recorded runs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

SCORED = 2000


def sampled(file: Path, pairs: int, work: Path) -> Path:
    """Write a file with this many pairs, the same ones every time."""
    work.mkdir(parents=True, exist_ok=True)
    chosen = work / f"pairs-{pairs}.tsv"
    if not chosen.exists():
        read = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        everything = read.decode("utf-8").splitlines(keepends=True)
        order = np.random.default_rng(0).permutation(len(everything))[:pairs]
        chosen.write_text("".join(everything[i] for i in order), encoding="utf-8")
    return chosen


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from dragoman.tasks.training import train_model
    from dragoman.training import Checkpoints, History

    work = Path(arguments.work)
    file = sampled(arguments.file, arguments.pairs, work)
    out = work / f"{arguments.pairs}-{arguments.preset}-{arguments.epochs}-{arguments.dropout}-{arguments.seed}"
    settings: dict[str, Any] = {
        "preset": arguments.preset,
        "seed": arguments.seed,
        "threads": arguments.threads,
        "data": {"files": [str(file)]},
        "network": {"dropout": arguments.dropout},
        "stopping": {"epochs": arguments.epochs},
    }
    translator, _ = train_model(settings, out)
    part = _validation(settings, translator.metadata.seed)
    pairs = list(islice(zip(part.texts("source"), part.texts("target"), strict=True), SCORED))
    sources, references = [source for source, _ in pairs], [[reference for _, reference in pairs]]
    written = translator.translate(sources, beam=4)
    found = Checkpoints(out / "checkpoints").load()
    assert found is not None
    translator.network.theta.assign(found[0]["average"])
    last = translator.translate(sources, beam=4)
    history = History(out / "history.jsonl").lines()
    best = min(history, key=lambda line: line["validation_error"])
    shutil.rmtree(out)
    return {
        "pairs": arguments.pairs,
        "preset": arguments.preset,
        "epochs": arguments.epochs,
        "dropout": arguments.dropout,
        "seed": arguments.seed,
        "parameters": translator.metadata.parameters,
        "best_epoch": best["epoch"],
        "validation_error": round(best["validation_error"], 4),
        "validation_accuracy": round(best["validation_accuracy"], 4),
        "training_error": round(history[-1]["training_error"], 4),
        "bleu": round(BLEU().corpus_score(written, references).score, 2),
        "chrf": round(CHRF().corpus_score(written, references).score, 2),
        "last_bleu": round(BLEU().corpus_score(last, references).score, 2),
        "last_chrf": round(CHRF().corpus_score(last, references).score, 2),
        "sentences": len(pairs),
        "steps": history[-1]["step"],
    }


def _validation(settings: dict[str, Any], seed: int) -> Any:
    from dragoman.tasks.configuration import configuration
    from dragoman.tasks.translation.corpus import open_corpus

    return open_corpus(configuration(settings).data).dataset(seed).part("validation")


def table(results: Path) -> str:
    """The recorded runs; those without a score of the last weights used another split of the pairs."""
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    sizes = ["small", "medium", "large"]
    rows.sort(key=lambda row: (row["pairs"], "last_bleu" not in row, sizes.index(row["preset"]), row["epochs"]))
    names = (
        "pairs",
        "size",
        "epochs",
        "dropout",
        "best after",
        "error",
        "accuracy",
        "BLEU",
        "chrF",
        "last BLEU",
        "last chrF",
    )
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        last = [f"{row[name]:.1f}" if name in row else "" for name in ("last_bleu", "last_chrf")]
        lines.append(
            f"| {row['pairs']:,} | {row['preset']} | {row['epochs']} | {row['dropout']:g} | {row['best_epoch']:.0f} "
            f"| {row['validation_error']:.3f} | {row['validation_accuracy']:.3f} "
            f"| {row['bleu']:.1f} | {row['chrf']:.1f} | {' | '.join(last)} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--preset", default="medium")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--dropout", type=float, default=0.15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", default="size-runs", help="directory for samples and models")
    parser.add_argument("--results", type=Path, default=Path("docs/sizes.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the recorded runs and train nothing")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(arguments.results))
        return 0
    found = json.dumps(run(arguments))
    with arguments.results.open("a", encoding="utf-8") as results:
        results.write(found + "\n")
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
