"""What is particular about the configuration and the model.json of a translator."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dragoman.networks.sizes import LONGEST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata


def _count_from_one(columns: tuple[int | str, int | str]) -> tuple[int | str, int | str]:
    if any(isinstance(column, int) and column < 1 for column in columns):
        raise ValueError(f"columns count from 1 (in version 0.1.0 from 0), got {list(columns)}")
    return columns


Columns = Annotated[tuple[int | str, int | str], AfterValidator(_count_from_one)]
Length = Annotated[int, Field(ge=0, le=LONGEST)]


class PairData(DataSettings):
    """Where the pairs come from, and how they become labels."""

    columns: Columns | None = None
    languages: tuple[str, str] | None = None
    split: Literal["source", "sample", "given"] = "source"
    vocabulary: tuple[int, int] | None = None
    joint: bool = False
    maximum: tuple[int, int] | None = None
    protect: bool = True


class TranslatorMetadata(ModelMetadata):
    """model.json of a translator."""

    longest: tuple[Length, Length] = (64, 64)  # labels of the longest source and target trained on
    protect: bool = False
    teaching: int = 1  # version of how it was taught stand-ins (data/augmentation.py)
