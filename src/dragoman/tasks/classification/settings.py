"""What is particular about the configuration and the model.json of classifiers and regressors."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dragoman.data.labelled_texts import LONGEST
from dragoman.data.tokenizer import Kind
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata


def _from_one(column: int | str) -> int | str:
    if isinstance(column, int) and column < 1:
        raise ValueError(f"columns count from 1, got {column}")
    return column


Column = Annotated[int | str, AfterValidator(_from_one)]


class TextData(DataSettings):
    """Where texts and their targets come from, and how they become numbers.

    text        the columns that hold the text, by number from 1 or by name; several are joined by spaces
    label       the column that holds the target
    split       "source": the same text goes to one part; "sample": every sample by itself
    vocabulary  labels of the tokenizer; None: as many as there are words (for embeddings: seen twice)
    maximum     tokens of a text; what is longer is cut
    """

    text: tuple[Column, ...] | None = Field(default=None, min_length=1)
    label: Column | None = None
    split: Literal["source", "sample", "given"] = "source"
    tokenizer: Kind = "words"
    vocabulary: int | None = Field(default=None, ge=1)
    maximum: int = Field(default=LONGEST, ge=3)
    lowercase: bool = True


class LabelData(TextData):
    """The same for classes.

    several    whether a text may have any number of classes; None: it may if labels are JSON lists, or a separator
               is given
    separator  between the classes of one cell
    """

    several: bool | None = None
    separator: str | None = Field(default=None, min_length=1)


class TextMetadata(ModelMetadata):
    """model.json of a classifier or a regressor; text, label and header are those of the training data."""

    maximum: int = Field(default=LONGEST, ge=3)
    lowercase: bool = True
    text: tuple[int | str, ...] | None = None
    label: int | str | None = None
    header: bool | None = None


class ClassifierMetadata(TextMetadata):
    """model.json of a classifier."""

    separator: str | None = None


class RegressorMetadata(TextMetadata):
    """model.json of a regressor."""
