"""What `dragoman predict` does with images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.translate import written_output
from dragoman.data.images import Picture
from dragoman.data.images.picture import EXTENSIONS
from dragoman.errors import ConfigurationError, DataError
from dragoman.ranks import current
from dragoman.wording import counted

TOGETHER = 128  # images that a rank decodes at a time
FEW = 8  # images below which compiled kernels are not worth loading


def predict_images(found: Any, names: Sequence[str], resize: bool, skip: bool, out: Path | None, as_json: bool) -> None:
    """Predict the class of image files, and of those in folders, one line for each.

    skip  leave out images that cannot be read, and say so
    """
    paths = list(image_files(names))
    choose_engine(len(paths) < FEW)
    skipped, together = 0, TOGETHER * current().size

    def predicted(some: list[Path]) -> list[tuple[bool, str]]:
        """(whether it was read, its line or the error) of each image."""
        pictures: dict[Path, Picture] = {}
        errors: dict[Path, str] = {}
        for path in some:
            try:
                pictures[path] = found.images.read(path, resize)
            except DataError as error:
                if not skip:
                    raise
                errors[path] = str(error)
        lines = {}
        for path, prediction in zip(pictures, found.predict(list(pictures.values())), strict=True):
            line = json.dumps({"image": str(path), **prediction.as_dict()}, ensure_ascii=False)
            lines[path] = line if as_json else f"{path}\t{prediction.line()}"
        return [(path in lines, lines.get(path) or errors[path]) for path in some]

    with written_output(out, None) as file:
        for start in range(0, len(paths), together):
            for good, line in current().spread(predicted, paths[start : start + together]):
                if good:
                    print(line, file=file)
                    continue
                skipped += 1
                typer.echo(f"skipped: {line}", err=True)
            file.flush()
    if skipped:
        typer.echo(f"{counted(skipped, 'image')} of {len(paths):,} skipped", err=True)


def image_files(names: Sequence[str]) -> Iterator[Path]:
    """The files, and of folders all PNG and JPEG files in them."""
    if not names:
        raise ConfigurationError("give images to predict: dragoman predict MODEL image.png, or a folder of images")
    for name in names:
        path = Path(name)
        if not path.is_dir():
            if not path.exists():
                raise DataError(f"{name} does not exist; expected a PNG or JPEG file, or a folder of them")
            yield path
            continue
        inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in EXTENSIONS and each.is_file())
        if not inside:
            raise DataError(f"{name} holds no PNG or JPEG files")
        yield from inside
