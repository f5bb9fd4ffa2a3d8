"""dragoman inspect: what a network is made of."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table


def inspect(
    preset: Annotated[str, typer.Option(help="A size of the thesis: small, medium or large.")],
    source_vocabulary: Annotated[int, typer.Option(help="Labels of the source language.")],
    reference_vocabulary: Annotated[int, typer.Option(help="Labels of the reference language.")],
    block: Annotated[str, typer.Option(help="post (thesis, book) or pre (lecture) normalization.")] = "post",
    tied: Annotated[str, typer.Option(help="Share the embedding tables: none, output or all.")] = "none",
) -> None:
    """Print the layers of a network, their shapes, and the exact number of parameters."""
    from dragoman.networks import Transformer
    from dragoman.networks import preset as named_preset

    configuration = named_preset(preset, source_vocabulary, reference_vocabulary, block=block, tied=tied)
    network = Transformer(configuration)
    table = Table(title=f"Transformer, {preset}", title_justify="left", title_style="bold", header_style="dim")
    table.add_column("layer", no_wrap=True)
    table.add_column("parameter", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    table.add_column("parameters", justify="right", no_wrap=True)
    for layer, rows in _by_layer(network).items():
        table.add_section()
        for i, (name, shape, size) in enumerate(rows):
            table.add_row(layer if i == 0 else "", name, " x ".join(str(n) for n in shape), f"{size:,}")
    console = Console(width=None if Console().is_terminal else 120)
    console.print(table)
    for part, size in _by_part(network).items():
        console.print(f"  {part:<24}{size:>12,}")
    console.print(f"[bold]  {'total':<24}{network.count():>12,}[/] parameters")
    if tied != "none":
        console.print("  The output weights are the reference embedding's table, counted once.")


def _by_layer(network: Any) -> dict[str, list[tuple[str, tuple[int, ...], int]]]:
    """Published parameters under the layer that owns them: {layer: [(name, shape, size)]}."""
    layers: dict[str, list[tuple[str, tuple[int, ...], int]]] = {}
    for name, view in network.named_arrays():
        parts = name.split(".")
        depth = 3 if parts[0] in ("encoder", "decoder") else 1
        layer, parameter = ".".join(parts[:depth]), ".".join(parts[depth:])
        layers.setdefault(layer, []).append((parameter, view.shape, view.size))
    return layers


def _by_part(network: Any) -> dict[str, int]:
    parts: dict[str, int] = {}
    for name, view in network.named_arrays():
        part = name.split(".")[0]
        parts[part] = parts.get(part, 0) + view.size
    return parts
