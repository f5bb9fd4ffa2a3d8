"""dragoman inspect: what a network is made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from dragoman.cli.fields import print_field
from dragoman.cli.options import AsJson, console
from dragoman.errors import ConfigurationError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.model import ModelMetadata


def inspect(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="What `dragoman train` wrote; or give a preset."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="A size of the thesis: small, medium or large.")] = None,
    source_vocabulary: Annotated[int | None, typer.Option(help="Labels of the source language.")] = None,
    target_vocabulary: Annotated[int | None, typer.Option(help="Labels of the reference language.")] = None,
    block: Annotated[str, typer.Option(help="post (thesis, book) or pre (lecture) normalization.")] = "post",
    tied: Annotated[str, typer.Option(help="Share the embedding tables: none, output or all.")] = "none",
    as_json: AsJson = False,
) -> None:
    """Print the layers of a network, their shapes, the exact number of parameters, and what it was trained on."""
    from dragoman.networks import Transformer
    from dragoman.networks import preset as named_preset
    from dragoman.tasks.model import check_files, check_size, load_metadata
    from dragoman.tasks.task import find_task

    screen = console()
    if model is not None:
        metadata = load_metadata(model)
        check_size(metadata, model)
        network = find_task(metadata.task).architectures[metadata.architecture].build(metadata.network)
        title = f"{metadata.task}: {metadata.architecture}, {metadata.preset or 'own size'}"
        if as_json:
            _print_json(network, title, {"model": str(model), "metadata": metadata.model_dump(mode="json")})
        else:
            _print_network(network, title, screen)
            _print_metadata(metadata, network, screen)
        check_files(metadata, model)
        return
    if preset is None or source_vocabulary is None or target_vocabulary is None:
        raise ConfigurationError("give a model, or --preset, --source-vocabulary and --target-vocabulary")
    configuration = named_preset(preset, source_vocabulary, target_vocabulary, block=block, tied=tied)
    network, title = Transformer(configuration), f"transformer, {preset}"
    if as_json:
        _print_json(network, title, {})
    else:
        _print_network(network, title, screen)
        _print_fields(_paths(network), screen)


def _print_json(network: Any, title: str, about: dict[str, Any]) -> None:
    parameters = [{"name": name, "shape": view.shape, "size": view.size} for name, view in network.named_arrays()]
    described = {"network": title, "parameters": network.count(), "by_part": _by_part(network), "arrays": parameters}
    typer.echo(json.dumps(described | _paths(network) | about, ensure_ascii=False, indent=2))


def _print_network(network: Any, title: str, screen: Console) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
    table.add_column("layer and parameter", overflow="fold")
    table.add_column("shape", no_wrap=True)
    table.add_column("parameters", justify="right", no_wrap=True)
    for layer, rows in _by_layer(network).items():
        table.add_section()
        table.add_row(layer, style="bold")
        for name, shape, size in rows:
            table.add_row(f"  {name}", " x ".join(str(n) for n in shape), f"{size:,}")
    screen.print(table)
    for part, size in _by_part(network).items():
        screen.print(f"  {part:<24}{size:>12,}")
    screen.print(f"[bold]  {'total':<24}{network.count():>12,}[/] parameters")
    if getattr(network.configuration, "tied", "none") != "none":
        screen.print("  The output weights are the reference embedding's table, counted once.")


def _print_metadata(metadata: ModelMetadata, made: Any, screen: Console) -> None:
    from dragoman.tasks.task import find_task

    data, training, network = metadata.data, metadata.training, metadata.network
    parts = ", ".join(f"{count:,} {name}" for name, count in data.parts.items())
    fields = {
        "trained on": f"{', '.join(data.files)} ({parts}; {data.split_description})",
        "recipe": f"{metadata.recipe}, seed {metadata.seed}",
        "training": f"{counted(training.get('steps', 0), 'step')}, {counted(training.get('epochs', 0), 'epoch')}, "
        f"{training.get('ended') or 'not finished'}",
        "network": _describe_network(network),
        **find_task(metadata.task).properties(metadata),
        "dragoman": f"{metadata.dragoman}, model format {metadata.format}",
    }
    _print_fields({**fields, **_paths(made)}, screen)


def _print_fields(fields: dict[str, str], screen: Console) -> None:
    for name, value in fields.items():
        print_field(name, value, 12, screen)


def _paths(network: Any) -> dict[str, str]:
    """Describe which code trains and decodes the network, and why not the fastest."""
    from dragoman.engines import explain_path

    path = explain_path(network)
    return {
        "trains": path.training + (f" ({path.training_reason})" if path.training_reason else ""),
        "decodes": path.decoding + (f" ({path.decoding_reason})" if path.decoding_reason else ""),
    }


def _describe_network(network: Any) -> str:
    if not hasattr(network, "block"):
        return f"{network.summary()}, dropout {network.dropout:g}"
    tied = f", tied: {network.tied}" if hasattr(network, "tied") else ""
    return f"{network.block}-norm, dropout {network.dropout:g}, {network.positions} positions{tied}"


def _by_layer(network: Any) -> dict[str, list[tuple[str, tuple[int, ...], int]]]:
    """Group the parameters by layer: {layer: [(name, shape, size)]}."""
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
