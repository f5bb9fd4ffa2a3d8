"""Captioners of drawn scenes: exact captions on unseen scenes, on held-out pairs of colour and shape, and the baseline.

    python benchmarks/captions.py --work FOLDER [--seeds 5] [--architectures transformer,convolutional-gru]

Every seed is another start of the network and another order of the same 60,000 training scenes, with the defaults of
`dragoman train scenes --task captioning`. The scenes to test on are the same for all: 1,000 unseen ones, and 1,000 with
a pair of colour and shape that training never shows. A training that was stopped is resumed; one that is finished is
evaluated again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = ("exact", "bleu", "held_out_exact", "held_out_bleu", "baseline_exact")


def measured(architecture: str, seed: int, threads: int, work: Path) -> dict[str, Any]:
    """Train, or resume, and evaluate."""
    from dragoman import Captioner
    from dragoman.tasks.captioning.testing import load_testing

    place = work / f"{architecture}-{seed}"
    model = Captioner.train("scenes", out=place, architecture=architecture, seed=seed, threads=threads)
    report = model.evaluate(load_testing(place))
    objects = next(table for table in report.tables if table.title == "By objects")
    by_objects = {f"{row[0]} objects": row[2] for row in objects.rows}
    trained = {"parameters": model.metadata.parameters, "seconds": model.metadata.training["seconds"]}
    return {**report.metrics, **by_objects, **trained}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--architectures", default="transformer,convolutional-gru")
    given = options.parse_args()
    print("| architecture | seed | exact | BLEU | held-out exact | BLEU | colours alone | by objects 1-4 | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for architecture in given.architectures.split(","):
        rows = []
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            found = measured(architecture, seed, given.threads, given.work)
            rows.append([found[name] for name in COLUMNS])
            objects = ", ".join(f"{value:.3f}" for name, value in found.items() if name.endswith(" objects"))
            exact, bleu, held, held_bleu, baseline = rows[-1]
            print(
                f"| {architecture} | {seed} | {exact:.3f} | {bleu:.1f} | {held:.3f} | {held_bleu:.1f} | {baseline:.3f} "
                f"| {objects} | {found['seconds']:.0f} |",
                flush=True,
            )
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1 if len(rows) > 1 else 0)
        cells = " | ".join(f"**{m:.3f}** ± {s:.3f}" for m, s in zip(mean, spread, strict=True))
        print(f"| **{architecture}** | mean of {len(rows)} | {cells} | | |", flush=True)


if __name__ == "__main__":
    main()
