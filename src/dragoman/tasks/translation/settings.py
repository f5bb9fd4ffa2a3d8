"""What is particular about the configuration and the model.json of a translator."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from dragoman.errors import ConfigurationError
from dragoman.networks.sizes import LONGEST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata
from dragoman.text.language_codes import language_code


def _count_from_one(columns: tuple[int | str, int | str]) -> tuple[int | str, int | str]:
    if any(isinstance(column, int) and column < 1 for column in columns):
        raise ValueError(f"columns count from 1, got {list(columns)}")
    return columns


def _as_codes(languages: tuple[str, str]) -> tuple[str, str]:
    try:
        return language_code(languages[0]), language_code(languages[1])
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


Columns = Annotated[tuple[int | str, int | str], AfterValidator(_count_from_one)]
Languages = Annotated[tuple[str, str], AfterValidator(_as_codes)]
Length = Annotated[int, Field(ge=0, le=LONGEST)]


class PairData(DataSettings):
    """Where the pairs come from, and how they become labels.

    languages  codes of source and target, such as en and es; of TMX and XLIFF, those to read
    """

    columns: Columns | None = None
    languages: Languages | None = None
    split: Literal["source", "sample", "given"] = "source"
    vocabulary: tuple[int, int] | None = None
    joint: bool = False
    maximum: tuple[int, int] | None = None
    protect: bool = True


class SampleLengths(BaseModel):
    """What the training pairs of a translator were like: texts are taken apart into such sources.

    sentences  that one source in ten has at least
    tokens     that hardly any source has more of
    ratio      tokens of a target for each of its source, of which hardly any pair has fewer
    """

    sentences: Annotated[int, Field(ge=1)] = 1
    tokens: Annotated[int, Field(ge=0)] = 0
    ratio: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class TranslatorMetadata(ModelMetadata):
    """model.json of a translator."""

    samples: SampleLengths = SampleLengths()
    longest: tuple[Length, Length] = (64, 64)  # labels of the longest source and target trained on
    protect: bool = False
    languages: Languages | None = None
    teaching: int = 1  # version of how it was taught stand-ins (data/augmentation.py)
