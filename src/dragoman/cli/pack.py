"""dragoman pack and unpack: a model as one file without texts, and as a directory again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.options import console, hint
from dragoman.wording import counted


def pack(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A directory that `dragoman train` wrote.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, such as model.zip.")],
) -> None:
    """Write what a model needs to predict into one file: no testing part, no golden answers, no checkpoints.

    Vocabularies hold words of the training texts. `dragoman unpack FILE --out MODEL` makes a directory of it again, for
    every command that takes a model.
    """
    from dragoman.tasks.packing import pack as pack_model

    packed, screen = pack_model(model, out), console()
    total = sum(packed.files.values())
    title = f"{out}: {counted(len(packed.files), 'file')}, {total / 2**20:,.1f} MB"
    screen.print(title, highlight=False, markup=False, soft_wrap=True)
    for name, size in packed.files.items():
        screen.print(f"  {name}  {size:,} bytes", highlight=False, markup=False)
    if packed.left_out:
        screen.print(f"Left out: {', '.join(packed.left_out)}.", highlight=False, markup=False)
    screen.print("Vocabularies hold words of the training texts; nothing else of them is in it.", highlight=False)
    hint(screen, "Next:", f"  dragoman unpack {out} --out served", "  dragoman serve served")


def unpack(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `dragoman pack` wrote.")],
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The model directory to write.")],
) -> None:
    """Write a packed model into a directory, for `serve`, `translate` and the other commands. It is checked first."""
    from dragoman.tasks.packing import unpack as unpack_model

    metadata = unpack_model(file, out)
    console().print(
        f"{out}: {metadata.task}, {metadata.parameters:,} parameters", highlight=False, markup=False, soft_wrap=True
    )
