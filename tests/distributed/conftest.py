"""One launch of two ranks that do all trainings one after the other; the tests look at what came of them."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.graph import Array
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.distributed import cases, commands
from tests.distributed.launch import launched
from tests.engines.conftest import numba
from tests.tasks import models
from tests.tasks.conftest import own_cache

__all__ = ["numba", "own_cache"]


@dataclass(frozen=True)
class Together:
    """What the ranks have left.

    given    the settings of every case
    results  theta and errors of every training, as the first rank has found them
    ranks    what each rank says
    resumed  theta of one process where two have gone on
    whole    a model directory
    """

    given: dict[str, dict[str, Any]]
    results: dict[str, dict[str, Array]]
    ranks: list[dict[str, Any]]
    resumed: Array
    whole: Path


@pytest.fixture(scope="session")
def together(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Together:
    """Made by the first test process that needs it; the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "together"
    place.mkdir(exist_ok=True)
    own = tmp_path_factory.mktemp("own")
    with (place / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            _work_together(place, cases.cases(own))
            (place / "complete").touch()
    ranks = [json.loads((place / f"{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]
    results, resumed = cases.load(place / "results.npz"), np.load(place / "resumed.npy")
    return Together(cases.cases(own), results, ranks, resumed, place / "whole")


def _work_together(place: Path, given: dict[str, dict[str, Any]]) -> None:
    begun, resumed = _begun(place)
    np.save(place / "resumed.npy", resumed)
    for rank in (0, 1):
        (place / str(rank)).mkdir()
        models.write_pairs(place / str(rank) / "pairs.tsv", models.PAIRS[rank:])
    everything = {
        "cases": given,
        "resumed": begun,
        "other data": {"settings": models.tiny(), "folder": str(place)},
        "budget": models.tiny({"stopping": {"epochs": None, "budget": 1.5}}),
        "whole": {"settings": commands.settings(), "out": str(place / "whole")},
    }
    (place / "cases.json").write_text(json.dumps(everything), encoding="utf-8")
    with launched("-m", "tests.distributed.ranks_at_work", place) as launch:
        launch.finish()


def _begun(place: Path) -> tuple[dict[str, Any], Array]:
    """The settings of a training that one process has begun in a directory, and theta at the end of it."""
    changes = {"stopping": {"epochs": None, "steps": 6}, "sharded_optimizer": True, "progress": {"every": 2}}
    given = models.tiny(changes)
    with cases.double_precision():
        train_model(merged(given, {"stopping": {"steps": 4}, "optimizer": {"schedule_steps": 6}}), place / "begun")
        whole, _ = train_model(given)
    return {"settings": given, "out": str(place / "begun")}, whole.network.theta.values.copy()
