"""Forecasters on sunspots and co2 of statsmodels, beside naive, seasonal-naive and linear autoregression.

    pip install 'dragoman[bench-series]'
    python benchmarks/forecasting.py [--seeds 5] [--only co2] [--architectures gru,transformer]

The defaults of `dragoman train --task forecasting`: by time, the first 70 % of the rows train, the next 15 % choose the
best weights, the last 15 % are tested. The missing weeks of co2 are filled linearly.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

FILLS: dict[str, dict[str, Any]] = {"sunspots": {}, "co2": {"fill": "linear"}}


def write(name: str, folder: Path) -> Path:
    """The series of statsmodels as a CSV file."""
    from statsmodels import datasets

    table = getattr(datasets, name).load_pandas().data
    path = folder / f"{name}.csv"
    table.to_csv(path, index=name == "co2")
    return path


def measure(path: Path, architecture: str, seed: int) -> tuple[dict[str, tuple[float, float]], float, float]:
    """MAE and MASE of every forecast on the testing part, MAE on the validation part, coverage of 90 % intervals."""
    from dragoman import Forecaster
    from dragoman.tasks.forecasting.evaluation import MODEL, compare
    from dragoman.tasks.forecasting.task import TASK

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        data = FILLS[path.stem]
        model = Forecaster.train(path, out, data=data, architecture=architecture, seed=seed, threads=1)
        windows: Any = TASK.load_testing(out)
        found = compare(model, windows)
        series = model.read(path, **data)
        validation = validation_windows(model, series)
    scores = {name: (float(found.mae(name)[0]), float(found.mase(name)[0])) for name in found.forecasts}
    half = model.metadata.intervals.half_width(0.9) if model.metadata.intervals else None
    held = float((np.abs(found.forecasts[MODEL] - found.truth) <= half).mean()) if half is not None else float("nan")
    return scores, float(compare(model, validation).mae(MODEL)[0]), held


def validation_windows(model: Any, series: Any) -> Any:
    from dataclasses import replace

    from dragoman.data.series_windows import SeriesSchema, SeriesWindows

    bounds = SeriesSchema(shares=model.metadata.data.shares).bounds(len(series.values))
    return SeriesWindows.of(replace(series, values=series.values[: bounds[2]]), model.encoding, bounds[1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--only", choices=list(FILLS))
    options.add_argument("--architectures", default="gru,transformer")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    print("| series | forecast | MAE | MASE | validation MAE | 90 % held |\n|---|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in [given.only] if given.only else FILLS:
            path = write(name, Path(folder))
            baselines: dict[str, tuple[float, float]] = {}
            for architecture in given.architectures.split(","):
                runs = [measure(path, architecture, seed) for seed in range(given.seeds)]
                baselines = {method: score for method, score in runs[0][0].items() if method != "this model"}
                mae, mase = np.array([run[0]["this model"] for run in runs]).T
                validation, held = np.array([run[1:] for run in runs]).T
                print(
                    f"| {name} | {architecture}, mean of {given.seeds} | {mae.mean():.3f} ± {mae.std():.3f} | "
                    f"{mase.mean():.3f} | {validation.mean():.3f} | {held.mean():.1%} |",
                    flush=True,
                )
            for method, (mae, mase) in baselines.items():
                print(f"| {name} | {method} | {mae:.3f} | {mase:.3f} | | |", flush=True)


if __name__ == "__main__":
    main()
