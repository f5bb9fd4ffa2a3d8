"""Compare recurrent networks with the Transformer: the same pairs, vocabularies, epochs and recipe, one run each.

    python benchmarks/architectures.py phrases --epochs 8
    python benchmarks/architectures.py eng-spa.tsv.gz --pairs 30000 --epochs 10 --figure bleu.png

Prints for every architecture: parameters, training speed in tokens per second, accuracy and BLEU on the test set, and
BLEU by source length. The book expects a fixed context to fail on long sentences, and attention to help. Each
architecture is trained in its own process. Run the same command again to resume.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

NAMES = ("rnn", "rnn-reversed", "rnn-attention", "lstm", "lstm-reversed", "lstm-context", "lstm-attention")
NAMES = (*NAMES, "gru", "gru-reversed", "gru-context", "gru-attention", "transformer")


def settings(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """`-reversed` reads the source from the end; everything else is the same for all."""
    architecture = name.removesuffix("-reversed")
    return {
        "architecture": architecture,
        "preset": arguments.preset,
        "seed": arguments.seed,
        "threads": arguments.threads,
        "data": {"files": [str(arguments.file)], "shares": [0.8, 0.1, 0.1], "protect": False},
        "network": {"dropout": 0.1} | ({"reversed": True} if name.endswith("-reversed") else {}),
        "optimizer": {"rate": arguments.rate},
        "stopping": {"epochs": arguments.epochs},
    }


def run(arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    """Train and test one architecture in this process."""
    from threadpoolctl import threadpool_limits

    from dragoman.tasks.training import train_model
    from dragoman.tasks.translation.testing import load_testing
    from dragoman.tasks.translation.translator import DecodingOptions
    from dragoman.training import History

    out = Path(arguments.work) / name
    translator, _ = train_model(settings(arguments, name), out, tell=lambda text: print(text, file=sys.stderr))
    with threadpool_limits(1):
        found = translator.evaluate(load_testing(out), DecodingOptions(beam=4))
    history = History(out / "history.jsonl").lines()
    return {
        "architecture": name,
        "parameters": translator.metadata.parameters,
        "tokens_per_second": statistics.median(line["tokens_per_second"] for line in history),
        "validation_error": min(line["validation_error"] for line in history),
        "sentences": found.sentences,
        "accuracy": found.accuracy,
        "bleu": [found.bleu.value, found.bleu.low, found.bleu.high, found.bleu.signature],
        "lengths": [(scores.words, scores.sentences, scores.bleu) for scores in found.lengths],
    }


def first_pairs(arguments: argparse.Namespace) -> None:
    """Write `--pairs` pairs, taken evenly from the whole file, to a file in the working directory."""
    from dragoman.data import read_records

    part = Path(arguments.work) / f"{arguments.pairs}-pairs.tsv"
    if not part.exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        pairs = [record.fields for record in read_records([arguments.file])]
        count = min(arguments.pairs, len(pairs))
        chosen = (pairs[i * len(pairs) // count] for i in range(count))  # files are often sorted by length
        lines = ("\t".join(" ".join(text.split()) for text in pair) for pair in chosen)
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments.file = part


def table(rows: list[dict[str, Any]]) -> str:
    classes = list(dict.fromkeys(name for row in rows for name, _, _ in row["lengths"]))
    heads = ["network", "parameters", "tokens/s", "accuracy", "BLEU", *(f"{name} words" for name in classes)]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + (len(heads) - 1) * "---:|"]
    for row in rows:
        by_length = {name: bleu for name, _, bleu in row["lengths"]}
        bleu = row["bleu"]
        cells = [
            row["architecture"],
            f"{row['parameters']:,}",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['accuracy']:.4f}",
            f"{bleu[0]:.1f} ({bleu[1]:.1f} to {bleu[2]:.1f})",
            *(f"{by_length[name]:.1f}" if name in by_length else "" for name in classes),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    counts = ", ".join(f"{name}: {count:,}" for name, count, _ in rows[0]["lengths"])
    return "\n".join([*lines, "", f"{rows[0]['sentences']:,} sentences by words ({counts}); `{rows[0]['bleu'][3]}`"])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot BLEU by source length; one colour per cell, one line style per variant."""
    from dragoman.analysis.figures.canvas import new_figure, save_figure

    colours = {"rnn": "C7", "lstm": "C0", "gru": "C2", "transformer": "C3"}
    styles = {"": ":", "reversed": "-.", "context": "--", "attention": "-"}
    figure = new_figure(8.0, 4.4)
    axes = figure.add_subplot()
    classes = [name for name, _, _ in rows[0]["lengths"]]
    for row in rows:
        cell, _, way = row["architecture"].partition("-")
        style = "-" if cell == "transformer" else styles[way]
        by_length = {name: bleu for name, _, bleu in row["lengths"]}
        scores = [by_length.get(name, float("nan")) for name in classes]
        axes.plot(classes, scores, style, color=colours[cell], marker="o", markersize=3, label=row["architecture"])
    axes.set(xlabel="words of the source", ylabel="BLEU", ylim=(0, None))
    axes.legend(fontsize=7, ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    axes.grid(alpha=0.3)
    save_figure(figure, path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="pairs, or the built-in corpus `phrases`")
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--preset", default="small")
    parser.add_argument("--pairs", type=int, help="so many of the file, evenly over it")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.005, help="learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--work", default="architectures", help="directory of the models")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pairs:
        first_pairs(arguments)
    if arguments.one:
        print(json.dumps(run(arguments, arguments.one)))
        return 0
    rows = []
    for name in arguments.names.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
        print(f"{name}: BLEU {rows[-1]['bleu'][0]:.1f}", file=sys.stderr, flush=True)
    place = Path(arguments.work) / "results.json"
    place.write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    print(table(rows))
    if arguments.figure:
        draw(rows, arguments.figure)
    return 0


if __name__ == "__main__":
    sys.exit(main())
