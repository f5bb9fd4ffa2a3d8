"""dragoman caption: a sentence about each image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.spreading import on_all_ranks
from dragoman.cli.translate import written_output
from dragoman.ranks import current

TOGETHER = 64  # images that a rank reads at a time


@on_all_ranks
def caption(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A captioner that `dragoman train` wrote.")],
    images: Annotated[list[str], typer.Argument(metavar="IMAGE...", help="PNG or JPEG files, or folders of them.")],
    out: Annotated[Path | None, typer.Option(help="Output file; it is replaced only when complete.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Width of the search, up to 256; 1 is greedy, and faster.")] = 4,
    best: Annotated[int, typer.Option(min=1, help="Captions per image, best first.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Sample tokens instead of searching for the best.")] = False,
    temperature: Annotated[float, typer.Option(help="Of sampling: below 1 is more cautious.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Random seed of sampling.")] = 0,
    resize: Annotated[
        bool, typer.Option("--resize", help="Resize images of another size than those trained on.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per image: image, caption, captions.")
    ] = False,
) -> None:
    """Describe images: one caption a line; of several images, each after its name and a tab."""
    from dragoman.cli.images import FEW, image_files
    from dragoman.tasks.captioning.captioner import Captioner
    from dragoman.tasks.translation.options import DecodingOptions

    options = DecodingOptions(beam, best, sample=sample, temperature=temperature, seed=seed)
    captioner = Captioner.load(model)
    paths = list(image_files(images))
    choose_engine(len(paths) < FEW)
    together = TOGETHER * current().size

    def described(chunk: list[Path]) -> list[str]:
        return [
            json.dumps({"image": str(image), **found.as_dict()}, ensure_ascii=False)
            if as_json
            else "\n".join(text if len(paths) == 1 else f"{image}\t{text}" for text, _ in found.alternatives)
            for image, found in zip(chunk, captioner.captions(chunk, options, resize), strict=True)
        ]

    with written_output(out, None) as file:
        for start in range(0, len(paths), together):
            for line in current().spread(described, paths[start : start + together]):
                print(line, file=file)
            file.flush()
