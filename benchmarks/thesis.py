"""Repeat the thesis's experiment (chapter 6): Small, Medium and Large on English-Spanish, its three tables and ours.

    python benchmarks/thesis.py eng-spa.tsv.gz
    python benchmarks/thesis.py eng-spa.tsv.gz --recipe modern --presets small --epochs 12

The file is the one used in the thesis (118,964 pairs; `dragoman data get eng-spa` downloads it). Conditions: WordPiece
with 4562 and 6134 tokens learnt on the training part, cased, the end token counted, split 60/20/20 by sample as in the
thesis (--split source keeps equal sources together, as any new work should). Every preset is trained and tested in its
own process, so that peak memory is measured separately. Run the same command again to resume. The recipe `thesis` stops
at a training accuracy of 0.90, as the thesis did, and then the last weights are tested beside the best ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dragoman.networks import preset as named_preset

VOCABULARIES = (4562, 6134)
THESIS: dict[str, dict[str, float]] = {
    "small": {"epochs": 43, "seconds": 12_043, "error": 3.14, "accuracy": 0.55},
    "medium": {"epochs": 16, "seconds": 22_360, "error": 2.18, "accuracy": 0.60},
    "large": {"epochs": 12, "seconds": 69_652, "error": 1.77, "accuracy": 0.66},
}


def settings(arguments: argparse.Namespace, preset: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "preset": preset,
        "recipe": arguments.recipe,
        "seed": arguments.seed,
        "data": {
            "files": [str(arguments.file)],
            "vocabulary": list(VOCABULARIES),
            "split": arguments.split,
            "shares": [0.6, 0.2, 0.2],
            "protect": False,
        },
        "threads": arguments.threads,
    }
    if arguments.epochs is not None:
        found["stopping"] = {"epochs": arguments.epochs}
    if arguments.as_printed:
        found["optimizer"] = {"schedule": "thesis_as_printed"}
    if arguments.dropout is not None:
        found["network"] = {"dropout": arguments.dropout}
    return found


def run(arguments: argparse.Namespace, preset: str) -> dict[str, Any]:
    """Train and test one preset in this process."""
    import resource

    from threadpoolctl import threadpool_limits

    from dragoman.tasks.training import train_model
    from dragoman.tasks.translation.testing import load_testing
    from dragoman.tasks.translation.translator import DecodingOptions
    from dragoman.training import Callback, History, Record

    class Tell(Callback):
        def record(self, record: Record) -> None:
            print(json.dumps(record.as_dict()), file=sys.stderr, flush=True)

        def notice(self, text: str) -> None:
            print(text, file=sys.stderr, flush=True)

    out = place(arguments, preset)
    translator, outcome = train_model(settings(arguments, preset), out, Tell())
    trained = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with threadpool_limits(1):
        found = translator.evaluate(load_testing(out), DecodingOptions(beam=arguments.beam))
        last = last_weights(translator, out, arguments.beam) if arguments.recipe == "thesis" else None
    history = History(out / "history.jsonl").lines()
    reached = [line for line in history if line["training_accuracy"] >= 0.90]
    metadata = translator.metadata
    return {
        "last": last,
        "preset": preset,
        "parameters": metadata.parameters,
        "epochs": metadata.training["epochs"],
        "seconds": metadata.training["seconds"],
        "reason": outcome.reason,
        "epochs_to_090": reached[0]["epoch"] if reached else None,
        "seconds_to_090": reached[0]["seconds"] if reached else None,
        "training_accuracy": history[-1]["training_accuracy"],
        "validation_error": min(line["validation_error"] for line in history),
        "validation_accuracy": max(line["validation_accuracy"] for line in history),
        "sentences": found.sentences,
        "error": found.error,
        "accuracy": found.accuracy,
        "perplexity": found.perplexity,
        "exact": found.exact,
        "bleu": [found.bleu.value, found.bleu.low, found.bleu.high, found.bleu.signature],
        "chrf": [found.chrf.value, found.chrf.low, found.chrf.high, found.chrf.signature],
        "peak_memory": trained,
        "example": translator.translate(["The plant is green."], beam=arguments.beam)[0],
    }


def last_weights(translator: Any, out: Path, beam: int) -> dict[str, Any]:
    """Test the weights of the last step, which is what the thesis reports."""
    from dragoman.tasks.translation.testing import load_testing
    from dragoman.tasks.translation.translator import DecodingOptions
    from dragoman.training import Checkpoints

    saved = Checkpoints(out / "checkpoints").load()
    assert saved is not None
    translator.network.theta.assign(saved[0].get("average", saved[0]["theta"]))
    found = translator.evaluate(load_testing(out), DecodingOptions(beam=beam))
    return {"error": found.error, "accuracy": found.accuracy, "bleu": found.bleu.value, "chrf": found.chrf.value}


def place(arguments: argparse.Namespace, preset: str) -> Path:
    rate = "-as-printed" if arguments.as_printed else ""
    epochs = "" if arguments.epochs is None else f"-{arguments.epochs}"
    dropout = "" if arguments.dropout is None else f"-dropout-{arguments.dropout:g}"
    name = f"{preset}-{arguments.recipe}{rate}{dropout}-{arguments.split}{epochs}-{arguments.seed}"
    return Path(arguments.work) / name


def tables(rows: list[dict[str, Any]]) -> str:
    """The thesis's three tables: its figures first, then ours."""
    lines = ["| size | d, d_p, h, tau | parameters, thesis | ours |", "|---|---|---|---|"]
    for row in rows:
        c = named_preset(row["preset"], *VOCABULARIES)
        sizes = f"{c.depth}, {c.perceptron_depth}, {c.heads}, {c.layers}"
        lines.append(f"| {row['preset']} | {sizes} | {_thesis_parameters(row['preset']):,} | {row['parameters']:,} |")
    lines += ["", "| size | to 0.90 training accuracy, thesis | ours | trained | peak memory |", "|---|" + 4 * "---|"]
    for row in rows:
        thesis = THESIS[row["preset"]]
        average = thesis["seconds"] / thesis["epochs"]
        to_goal = (
            f"not reached ({row['training_accuracy']:.3f})"
            if row["epochs_to_090"] is None
            else f"{row['epochs_to_090']:g} epochs, {row['seconds_to_090']:,.0f} s"
        )
        lines.append(
            f"| {row['preset']} | {thesis['epochs']:g} epochs, {thesis['seconds']:,} s, {average:,.1f} s an epoch "
            f"| {to_goal} | {row['epochs']:g} epochs, {row['seconds']:,.0f} s, {row['seconds'] / row['epochs']:,.1f} s "
            f"an epoch | {row['peak_memory'] / 2**20:,.0f} MB |"
        )
    lines += ["", "| size | testing error / accuracy, thesis | ours | BLEU | chrF | exact |", "|---|" + 5 * "---|"]
    for row in rows:
        thesis = THESIS[row["preset"]]
        bleu, chrf = row["bleu"], row["chrf"]
        lines.append(
            f"| {row['preset']} | {thesis['error']:.2f} / {thesis['accuracy']:.2f} | {row['error']:.3f} / "
            f"{row['accuracy']:.4f} | {bleu[0]:.2f} ({bleu[1]:.1f} to {bleu[2]:.1f}) | {chrf[0]:.2f} "
            f"({chrf[1]:.1f} to {chrf[2]:.1f}) | {row['exact']:.1%} |"
        )
        if last := row.get("last"):
            lines.append(
                f"| {row['preset']}, last weights | | {last['error']:.3f} / {last['accuracy']:.4f} "
                f"| {last['bleu']:.2f} | {last['chrf']:.2f} | |"
            )
    lines += ["", f"`{rows[0]['bleu'][3]}`, `{rows[0]['chrf'][3]}`"]
    lines += [f'{row["preset"]}: "The plant is green." -> "{row["example"]}"' for row in rows]
    return "\n".join(lines)


def _thesis_parameters(preset: str) -> int:
    from dragoman.networks import Transformer

    return Transformer(named_preset(preset, *VOCABULARIES)).count()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--presets", default="small,medium,large")
    parser.add_argument("--recipe", default="thesis")
    parser.add_argument("--split", default="sample", choices=("sample", "source"))
    parser.add_argument("--epochs", type=int, help="at most; unless told, what the recipe and the data say")
    parser.add_argument("--as-printed", action="store_true", help="the thesis's rate as printed, which learns nothing")
    parser.add_argument("--dropout", type=float, help="another than the recipe's")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="as many as there are physical cores, unless told")
    parser.add_argument("--work", default="thesis-runs", help="directory of the models")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run(arguments, arguments.one)))
        return 0
    if not arguments.file.exists():
        print(f"{arguments.file} does not exist; `dragoman data get eng-spa` fetches it", file=sys.stderr)
        return 2
    rows = []
    for preset in arguments.presets.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", preset]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
    result = Path(arguments.work) / f"{arguments.recipe}-{arguments.split}.json"
    result.write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    print(tables(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
