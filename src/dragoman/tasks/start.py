"""The initial weights of a training, as a section of the configuration."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from dragoman.networks import Configuration


class StartVectors(Configuration):
    """Files of word vectors to initialize embeddings with."""

    source: str | None = None
    target: str | None = None
    freeze: bool = False

    @property
    def given(self) -> bool:
        return self.source is not None or self.target is not None

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.freeze and not self.given:
            raise ValueError("there are no vectors to freeze; set source, target or both")
        return self


class StartSettings(Configuration):
    """The start of a training: random weights, word vectors, or a model to fine-tune.

    replay  pairs of the model's own corpus to mix in; None: as many as new ones, if that corpus is available
    """

    model: str | None = None
    replay: int | None = Field(default=None, ge=0)
    train: Literal["all", "encoder", "decoder", "output"] = "all"
    vectors: StartVectors = StartVectors()

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.model is not None and self.vectors.given:
            raise ValueError("a model has its own embeddings: use start.model or start.vectors, not both")
        if self.model is None and self.replay:
            raise ValueError("replay needs a model to fine-tune; set start.model (--from)")
        return self
