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
import time
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
    import numpy as np
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    from dragoman.data.batching import BatchStream
    from dragoman.data.readers.conll import SEPARATOR
    from dragoman.tasks.components import batching, fixed_batches, schedule
    from dragoman.tasks.configuration import configuration
    from dragoman.tasks.preparation import Preparation
    from dragoman.tasks.tagging.evaluation import TagScores
    from dragoman.training import Callback

    torch.manual_seed(seed)
    torch.set_num_threads(arguments.threads)
    given = settings(arguments, seed)
    prepared = Preparation(given, configuration(given), None, Callback(), lambda text: None)
    s: Any = prepared.settings
    dataset, classes = prepared.dataset, prepared.dataset.encoders["tags"]
    sizes, network = prepared.task.sizes(dataset.encoders), s.network

    class Twin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes["vocabulary"], network.depth)
            nn.init.normal_(self.embedding.weight, std=network.depth**-0.5)
            self.drop = nn.Dropout(network.dropout)
            dropout = network.dropout if network.layers > 1 else 0.0
            self.lstm = nn.LSTM(
                network.depth, network.units // 2, network.layers, bidirectional=True, batch_first=True, dropout=dropout
            )
            self.output = nn.Linear(network.units, sizes["outputs"])

        def forward(self, labels: Any, lengths: Any) -> Any:
            packed = pack_padded_sequence(
                self.drop(self.embedding(labels)), lengths, batch_first=True, enforce_sorted=False
            )
            return self.output(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])

    def tensors(batch: Any) -> tuple[Any, Any, Any]:
        rows, longest = len(batch), int(batch.lengths.max())
        labels, targets = np.zeros((rows, longest), np.int64), np.full((rows, longest), -100, np.int64)
        for i, (a, b) in enumerate(zip(batch.offsets[:-1], batch.offsets[1:], strict=True)):
            labels[i, : b - a] = batch.labels[a:b]
            targets[i, : b - a] = np.where(batch.loss_weights[a:b] > 0, batch.targets[a:b], -100)
        return torch.from_numpy(labels), torch.from_numpy(batch.lengths), torch.from_numpy(targets)

    def evaluate(model: Any, part: str) -> tuple[float, list[Any]]:
        model.eval()
        error, words, found = 0.0, 0, []
        with torch.no_grad():
            for batch in fixed_batches(dataset.part(part)):
                labels, lengths, targets = tensors(batch)
                logits = model(labels, lengths)
                error += float(nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"))
                words += int((targets >= 0).sum())
                found.append((logits.argmax(-1)[targets >= 0].numpy(), targets[targets >= 0].numpy()))
        return error / words, found

    model, optimizer = Twin(), s.optimizer
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(optimizer.averaging)
    )
    rates = schedule(optimizer.model_copy(update={"rate": rate}))
    adam = torch.optim.Adam(model.parameters(), rate, betas=(optimizer.beta1, optimizer.beta2))
    error_of = nn.CrossEntropyLoss(label_smoothing=s.loss.smoothing)
    stream = BatchStream(dataset.part("training"), batching(optimizer), seed)
    best, kept, began = math.inf, None, time.perf_counter()
    for step in range(1, optimizer.schedule_steps + 1):
        model.train()
        labels, lengths, targets = tensors(next(stream))
        adam.param_groups[0]["lr"] = rates(step)
        adam.zero_grad()
        error_of(model(labels, lengths).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), optimizer.clip)
        adam.step()
        average.update_parameters(model)
        if step % stream.batches_in_epoch == 0:
            measured = evaluate(average, "validation")[0]
            if measured < best:
                best, kept = measured, {name: value.clone() for name, value in average.state_dict().items()}
    seconds = time.perf_counter() - began
    average.load_state_dict(kept)
    # in the order of the batches, which is that of no file: scores are sums over words and sentences
    plan = _plan(dataset.part("testing"))
    texts = list(dataset.part("testing").texts("sentence"))
    predicted, true, unseen = [], [], []
    for items, (said, right) in zip(plan, evaluate(average, "testing")[1], strict=True):
        start = 0
        for item in items:
            words = texts[item].split(SEPARATOR)
            predicted.append([classes.names[i] for i in said[start : start + len(words)]])
            true.append([classes.names[i] for i in right[start : start + len(words)]])
            unseen += [word not in dataset.encoders["words"] for word in words]
            start += len(words)
        assert start == len(said), "a sentence was cut; raise data.maximum"
    scores = TagScores(classes.names, true, predicted, np.array(unseen))
    return {
        "metrics": {name: getattr(scores, name) for name in SCORES},
        "validation_error": best,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": optimizer.schedule_steps,
        "seconds": seconds,
    }


def _plan(part: Any) -> Any:
    from dragoman.data.batching import Batching, plan_epoch
    from dragoman.tasks.components import EVALUATED

    return plan_epoch(part.lengths(), Batching(EVALUATED), 0, 0)


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
