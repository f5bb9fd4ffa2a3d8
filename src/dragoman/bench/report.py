"""Print results as tables."""

from __future__ import annotations

import math
from itertools import pairwise

from rich.table import Table

from dragoman.bench.machine import BUSY
from dragoman.bench.rounds import AGAINST, Row
from dragoman.bench.run import Results
from dragoman.bench.scaling import Point

MIB = 2**20
SHORT = {"ctranslate2-float32": "CT2 float32", "ctranslate2-int8": "CT2 int8"}
COMMON = ("ratio", "min", "quartiles", "MiB", "ours/its")


def training_table(rows: list[Row]) -> Table:
    headings = ("preset", "workload", "contender", "step", *COMMON, "cold", "cached")
    table = _table("Training steps: its time / Dragoman's", headings)
    for row, last in zip(rows, _ends(rows), strict=True):
        starts = (_seconds(row.cold_start), _seconds(row.cached_start))
        table.add_row(*_beginning(row), f"{1000 * row.seconds:.1f} ms", *_common(row), *starts, end_section=last)
    return table


def decoding_table(rows: list[Row]) -> Table:
    headings = ("preset", "workload", "contender", "sentences/s", *COMMON, "identical")
    table = _table("Decoding: its time / Dragoman's", headings)
    for row, last in zip(rows, _ends(rows), strict=True):
        speed, same = f"{row.sentences_per_second or 0:,.0f}", f"{row.identical or 0:.1%}"
        table.add_row(*_beginning(row), speed, *_common(row), same, end_section=last)
    return table


def scaling_table(points: list[Point]) -> Table:
    table = _table(
        "As the work grows (preset small; fastest of 3 blocks)",
        ("curve", "", "contender", "step", "tokens/s", "MiB"),
    )
    for point in points:
        table.add_row(
            point.curve,
            f"{point.value:,}",
            point.contender,
            f"{1000 * point.seconds:.1f} ms",
            f"{point.tokens / point.seconds:,.0f}",
            f"{point.memory / MIB:,.0f}",
        )
    return table


def remarks(results: Results) -> list[str]:
    """List what a reader of the tables should know: the machine, other load, what was skipped."""
    facts = results.machine
    versions = ", ".join(f"{name} {found}" for name, found in facts["versions"].items() if found)
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['threads']} threads, engine {facts['engine']}; "
        f"Python {facts['python']}, {versions}; commit {facts['commit'] or 'unknown'}",
        f"Sentences: {results.sentences}.",
    ]
    if (facts["load"] or 0.0) > BUSY:
        lines.append(f"Other processes were running (load {facts['load']:.1f}): these ratios are not reliable.")
    shares = [
        f"{row.preset} {row.workload} {row.gemm_share:.0%} ({row.linear_share or 0:.0%})"
        for row in results.rows
        if row.gemm_share
    ]
    if shares:
        lines.append(
            f"Share of a step that is matrix products (gemm / dragoman; linear layers alone): {', '.join(shares)}."
        )
    other = [row for row in results.rows if row.contender == AGAINST]
    if other:
        mean = math.exp(sum(math.log(row.median_ratio) for row in other) / len(other))
        lowest = min(other, key=lambda row: row.spread[1])
        lines.append(
            f"Geometric mean of the {len(other)} ratios {mean:.3f}; the lowest upper quartile is "
            f"{lowest.spread[1]:.3f} ({lowest.preset} {lowest.workload}). Above 1, this checkout is faster."
        )
    for preset in dict.fromkeys(row.preset for row in results.rows if row.epoch_seconds):
        epochs = [row for row in results.rows if row.preset == preset and row.epoch_seconds]
        times = ", ".join(f"{row.contender} {row.epoch_seconds:.1f} s" for row in epochs)
        lines.append(f"An epoch of {preset}, extrapolated from the batches measured: {times}.")
    return lines + [f"Skipped: {text}" for text in results.skipped]


def _table(title: str, headings: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", header_style="dim")
    for heading in headings:
        words = heading in ("preset", "workload", "contender", "curve")
        table.add_column(heading, justify="left" if words else "right", no_wrap=True)
    return table


def _beginning(row: Row) -> tuple[str, str, str]:
    return row.preset, row.workload, SHORT.get(row.contender, row.contender)


def _common(row: Row) -> tuple[str, ...]:
    low, high = row.spread
    ratio = (f"{row.median_ratio:.2f}", f"{row.min_ratio:.2f}", f"{low:.2f}-{high:.2f}")
    return *ratio, f"{row.memory / MIB:,.0f}", f"{row.memory_ratio:.2f}"


def _ends(rows: list[Row]) -> list[bool]:
    """Tell for each row whether it is the last of its workload."""
    return [a.workload != b.workload for a, b in pairwise(rows)] + [True]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} s"
