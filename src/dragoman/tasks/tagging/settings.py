"""What is particular about the configuration and the model.json of a tagger."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dragoman.data.tagged_words import LONGEST
from dragoman.networks.sizes import LONGEST as MOST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata


def _count_from_one(columns: tuple[int, int]) -> tuple[int, int]:
    if min(columns) < 1:
        raise ValueError(f"columns count from 1, got {list(columns)}")
    return columns


Files = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]


class TaggedData(DataSettings):
    """Where tagged sentences come from, and how they become labels.

    columns     of CoNLL files: that of the word and that of its tag, from 1
    validation  files of the validation part, where it is given; then nothing is split off
    testing     files of the testing part, where it is given
    """

    columns: Annotated[tuple[int, int], AfterValidator(_count_from_one)] | None = None
    split: Literal["source", "sample", "given"] = "source"
    validation: Files = ()
    testing: Files = ()
    vocabulary: int | None = None
    maximum: Annotated[int, Field(ge=2, le=MOST)] = LONGEST


class TaggerMetadata(ModelMetadata):
    """model.json of a tagger."""

    maximum: Annotated[int, Field(ge=1, le=MOST)] = LONGEST  # pieces that go through the network at once
