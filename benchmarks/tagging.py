"""Compare the tagger with its twin in PyTorch and with the most frequent tag of each word: the same pieces and steps.

    python benchmarks/tagging.py FOLDER --seeds 0,1,2
    python benchmarks/tagging.py FOLDER --seeds 0 --epochs 5 --rates 0.005        # a short look

FOLDER holds training, validation and testing parts (docs/tagging.md says which). The twin is torch.nn.Embedding,
LSTM(bidirectional) and Linear of the same sizes, on the same batches in the same order, with the same dropout, label
smoothing, Adam, schedule, clipping and moving average. Its learning rate is the one of --rates with the lowest
validation error on the first seed; Dragoman's is that of its recipe. Both keep the weights with the lowest validation
error. Each run has a process of its own; those that are done before are read from --work.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

SCORES = ("accuracy", "macro_f1", "unseen_accuracy", "sentence_accuracy")


def settings(arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "task": "tagging",
        "architecture": arguments.architecture,
        "seed": seed,
        "threads": arguments.threads,
        "data": {"files": [arguments.folder]},
    }
    if arguments.epochs:
        found["stopping"] = {"epochs": arguments.epochs}
    return found


def run_dragoman(arguments: argparse.Namespace, seed: int) -> dict[str, Any]:
    from dragoman.tasks.tagging.task import TASK
    from dragoman.tasks.training import train_model
    from dragoman.training import History

    out = Path(arguments.work) / f"dragoman-{arguments.architecture}-{seed}"
    tagger, _ = train_model(settings(arguments, seed), out, tell=lambda text: print(text, file=sys.stderr))
    report = tagger.evaluate(TASK.load_testing(out))
    lines = History(out / "history.jsonl").lines()
    baseline = {name: float(value) for name, value in zip(SCORES, report.tables[0].rows[1][1:], strict=False)}
    return {
        "metrics": {name: report.metrics[name] for name in SCORES},
        "baseline": baseline,
        "validation_error": min(line["validation_error"] for line in lines),
        "parameters": tagger.metadata.parameters,
        "steps": tagger.metadata.training["steps"],
        "seconds": tagger.metadata.training["seconds"],
    }


def run_twin(arguments: argparse.Namespace, seed: int, rate: float) -> dict[str, Any]:
    import tagging_twin
    import torch

    from dragoman.tasks.configuration import configuration
    from dragoman.tasks.preparation import Preparation
    from dragoman.training import Callback

    torch.set_num_threads(arguments.threads)
    given = settings(arguments, seed)
    found = tagging_twin.run(Preparation(given, configuration(given), None, Callback(), lambda text: None), seed, rate)
    scores = found.pop("scores")
    return {"metrics": {name: getattr(scores, name) for name in SCORES}, **found}


def measured(arguments: argparse.Namespace, name: str, seed: int, rate: float | None = None) -> dict[str, Any]:
    """The result of a run in a process of its own, or of one before."""
    place = Path(arguments.work) / f"{name}-{arguments.architecture}-{seed}{'' if rate is None else f'-{rate:g}'}.json"
    if not place.exists():
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name, "--seed", str(seed)]
        command += [] if rate is None else ["--rate", str(rate)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        place.write_text(done.stdout, encoding="utf-8")
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    shown = f"{name}, seed {seed}" + ("" if rate is None else f", rate {rate:g}")
    print(f"{shown}: {found['metrics']['accuracy']:.4f}", file=sys.stderr, flush=True)
    return found


def table(rows: dict[str, list[dict[str, Any]]]) -> str:
    heads = ["tagger", "accuracy", "macro F1", "unseen words", "whole sentences", "parameters", "seconds"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + (len(heads) - 1) * "---:|"]
    for name, runs in rows.items():
        cells = []
        for score in SCORES:
            values = [100 * run["metrics"][score] for run in runs]
            known = len(values) > 1 and all(map(math.isfinite, values))  # NaN: there were no unseen words
            spread = f" ± {statistics.stdev(values):.2f}" if known else ""
            cells.append(f"{statistics.mean(values):.2f}{spread}")
        if "parameters" in runs[0]:
            cells += [f"{runs[0]['parameters']:,}", f"{statistics.median(run['seconds'] for run in runs):,.0f}"]
        else:
            cells += ["", ""]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="training, validation and testing parts")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--epochs", type=int, help="default: as the task decides")
    parser.add_argument("--rates", default="0.0025,0.005,0.01", help="learning rates that the twin may choose from")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", default="tagging", help="directory of the models and results")
    parser.add_argument("--no-twin", action="store_true", help="Dragoman alone")
    parser.add_argument("--architecture", default="lstm", help="of Dragoman; the twin is an lstm")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        alone = arguments.one == "dragoman"
        found = (
            run_dragoman(arguments, arguments.seed) if alone else run_twin(arguments, arguments.seed, arguments.rate)
        )
        print(json.dumps(found))
        return 0
    Path(arguments.work).mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    ours = [measured(arguments, "dragoman", seed) for seed in seeds]
    rows = {
        "most frequent tag": [{"metrics": ours[0]["baseline"]}],
        f"Dragoman, {arguments.architecture}": ours,
    }
    if not arguments.no_twin:
        tried = {float(rate): measured(arguments, "twin", seeds[0], float(rate)) for rate in arguments.rates.split(",")}
        rate = min(tried, key=lambda rate: tried[rate]["validation_error"])
        rows[f"PyTorch twin, rate {rate:g}"] = [measured(arguments, "twin", seed, rate) for seed in seeds]
    print(table(rows))
    print(
        f"\nSeeds {arguments.seeds}: mean ± standard deviation, per cent; {ours[0]['steps']:,} steps, the same batches."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
