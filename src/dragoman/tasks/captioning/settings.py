"""What is particular about the configuration and the model.json of a captioner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.data.captioned_images import LONGEST
from dragoman.networks.sizes import LONGEST as MOST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.image_classification.settings import Size
from dragoman.tasks.model import ModelMetadata

MOST_SCENES = 1_000_000


class CaptionData(DataSettings):
    """Where captioned images come from, and how they become numbers.

    split     source: all captions of an image, and of its copies, go to one part
    scenes    how many of the built-in corpus `scenes` are trained on
    channels  1 reads all images as grey, 3 in colour; None: as the first one
    resize    all images to this height and width, such as "64x64"; None: they must have one size
    maximum   longest caption in tokens, start and end included; what is longer is cut
    """

    split: Literal["source", "given"] = "source"
    scenes: Annotated[int, Field(ge=20, le=MOST_SCENES)] = 60_000
    channels: Literal[1, 3] | None = None
    resize: Size | None = None
    vocabulary: int | None = None
    maximum: Annotated[int, Field(ge=3, le=MOST)] = LONGEST


class CaptionerMetadata(ModelMetadata):
    """model.json of a captioner."""

    longest: Annotated[int, Field(ge=1, le=MOST)] = LONGEST  # tokens of the longest caption trained on
