"""What is particular about the configuration and the model.json of image classifiers."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from dragoman.data.images.picture import LARGEST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata


def _height_and_width(given: object) -> object:
    """'28x40', '28' or 28 as a height and a width."""
    if isinstance(given, int):
        return given, given
    if not isinstance(given, str):
        return given
    found = re.fullmatch(r"(\d{1,5})(?:\s*[xX×]\s*(\d{1,5}))?", given.strip())
    if found is None:
        raise ValueError(f"a size is a height and a width in pixels, such as 28x28; got '{given}'")
    return int(found[1]), int(found[2] or found[1])


Side = Annotated[int, Field(ge=1, le=LARGEST)]
Size = Annotated[tuple[Side, Side], BeforeValidator(_height_and_width)]


class ImageData(DataSettings):
    """Where images come from, and how they are read.

    split     "source": equal images go to one part; "sample": every image by itself
    channels  1: all images in grey, 3: all in colour; None: as the first one is
    resize    all images to this height and width, such as "28x28"; None: they must have one size
    shift     in training, move every image by up to so many pixels, down and across, another way each time
    """

    split: Literal["source", "sample", "given"] = "source"
    channels: Literal[1, 3] | None = None
    resize: Size | None = None
    shift: int = Field(default=0, ge=0, le=64)


class ImageMetadata(ModelMetadata):
    """model.json of an image classifier."""
