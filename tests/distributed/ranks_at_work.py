"""What every rank runs under torchrun: what ranks say to each other, and all trainings that they do as one would.

    torchrun ... -m tests.distributed.ranks_at_work DIRECTORY

The directory has cases.json; the first rank writes results.npz, every rank RANK.json.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
import zlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dragoman.distributed import joined
from dragoman.errors import DataError
from dragoman.graph import Array, use_engine
from dragoman.ranks import Ranks
from dragoman.tasks import planning, training
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from dragoman.training.budget import BudgetPlan
from tests.distributed import cases, twenty_steps
from tests.training.small_trainings import Heard

SHARDED = ("translation", "learned rate", "accumulated and averaged", "carried state")
Results = dict[str, dict[str, Array]]


def said(ranks: Ranks) -> dict[str, Any]:
    """Every collective once."""
    own, of_second, turns = np.full(5, 1.0 + ranks.rank), np.full(3, float(ranks.rank)), []
    ranks.sum(own)
    ranks.broadcast(of_second, 1)
    ranks.broadcast(np.empty(0))
    with ranks.in_turn():
        turns.append(time.monotonic())
        time.sleep(0.1 if ranks.first else 0)
        turns.append(time.monotonic())
    return {
        "sum": own.tolist(),
        "broadcast": of_second.tolist(),
        "gather": ranks.gather([ranks.rank, 0.5]).tolist(),
        "share": ranks.share({"ñ": [None, ranks.rank]}),
        "collect": ranks.collect("ñ" * ranks.rank),
        "spread": ranks.spread(lambda some: [f"{x}{ranks.rank}" for x in some], [1, 2, 3]),
        "too few": ranks.spread(lambda some: [2 * x for x in some], [4]),
        "turns": turns,
    }


def other_data(given: dict[str, Any], ranks: Ranks) -> str:
    """What a training says of a rank that reads another file of the same name."""
    files = [str(Path(given["folder"]) / str(ranks.rank) / "pairs.tsv")]
    try:
        train_model(merged(given["settings"], {"data": {"files": files}}))
    except DataError as error:
        return str(error)
    return "nothing"


def budget(given: dict[str, Any]) -> list[float | None]:
    """The pace that a budget is planned by, which the first rank measures, and the steps that fit into it."""
    paces: list[float | None] = []

    class Noted(BudgetPlan):
        def start(self, t: int, now: float) -> None:
            paces.append(self.step_seconds)
            super().start(t, now)

    with patch.object(planning.measure, "__defaults__", (0.2,)), patch.object(training, "BudgetPlan", Noted):
        _, outcome = train_model(given)
    return [*paces, outcome.records[-1].step]


def trained(given: dict[str, Any]) -> Results:
    """All cases in double precision, and some with a sharded optimizer."""
    with cases.double_precision():
        found = {name: cases.trained(settings) for name, settings in given.items()}
        for name in SHARDED:
            found[f"sharded {name}"] = cases.trained({**given[name], "sharded_optimizer": True})
    return found


def resumed(given: dict[str, Any]) -> tuple[Results, list[str]]:
    """A training that one process has begun, with what is told of it."""
    heard = Heard()
    with cases.double_precision():
        model, _ = train_model(given["settings"], Path(given["out"]), heard)
    return {"resumed": {"theta": model.network.theta.values.copy()}}, heard.notices


def on_numba() -> Results:
    """The embeddings are a large parameter, which is sent before the pass is over."""
    use_engine("numba")
    found = {
        "twenty steps": twenty_steps.run(np.float64),
        "sharded twenty steps": twenty_steps.run(np.float64, sharded=True),
        "an epoch": twenty_steps.run(np.float32, twenty_steps.EPOCH),
        "sharded epoch": twenty_steps.run(np.float32, twenty_steps.EPOCH, sharded=True),
    }
    use_engine("numpy")
    return found


def main(place: Path) -> None:
    import dragoman.engines.numba  # noqa: F401

    warnings.simplefilter("ignore")  # of few samples
    given = json.loads((place / "cases.json").read_text(encoding="utf-8"))
    with joined() as ranks:
        found = {"said": said(ranks), "other data": other_data(given["other data"], ranks)}
        found["budget"] = budget(given["budget"])
        results, notices = resumed(given["resumed"])
        results |= trained(given["cases"]) | on_numba()
        train_model(given["whole"]["settings"], Path(given["whole"]["out"]))
        thetas = {name: zlib.crc32(one["theta"].tobytes()) for name, one in results.items()}
        if ranks.first:
            cases.save(place / "results.npz", results)
        found |= {"notices": notices, "thetas": thetas}
        (place / f"{ranks.rank}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
