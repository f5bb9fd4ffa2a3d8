"""What is particular about the configuration and the model.json of a language model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.data.tokenizer import Kind
from dragoman.networks.sizes import LONGEST
from dragoman.tasks.configuration import DataSettings
from dragoman.tasks.model import ModelMetadata

CONTEXT = 128  # tokens of a window, unless given


class StreamData(DataSettings):
    """Where the text comes from, and how it becomes tokens and windows.

    split       by position: the parts are contiguous ranges of the text
    context     tokens of a window; None: those of the model that is fine-tuned, else 128
    carried     whether a recurrent network goes on with its state from window to window (truncated back-propagation);
                None: it does
    """

    format: Literal["plain"] | None = None
    split: Literal["position"] = "position"
    tokenizer: Kind = "characters"
    vocabulary: int | None = Field(default=None, ge=1)
    context: Annotated[int, Field(ge=1, le=LONGEST)] | None = None
    carried: bool | None = None


class LanguageModelMetadata(ModelMetadata):
    """model.json of a language model.

    context     tokens of the windows it was trained on
    tokenizer   kind of its tokens
    texts       how many files it was trained on; an end mark stands between them
    characters  of each part
    carried     whether its state was carried from window to window
    """

    context: int = Field(default=CONTEXT, ge=1)
    tokenizer: Kind = "characters"
    texts: int = Field(default=1, ge=1)
    characters: dict[str, int] = Field(default_factory=dict)
    carried: bool = False
