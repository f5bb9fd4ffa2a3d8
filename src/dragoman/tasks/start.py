"""Where training begins, as a section of the configuration."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from dragoman.networks import Configuration


class StartVectors(Configuration):
    """Files of word vectors that embeddings begin with."""

    source: str | None = None
    target: str | None = None
    freeze: bool = False

    @property
    def given(self) -> bool:
        return self.source is not None or self.target is not None

    @model_validator(mode="after")
    def _something_to_freeze(self) -> Self:
        if self.freeze and not self.given:
            raise ValueError("there are no vectors to freeze; name a file of them as source, as target, or as both")
        return self


class StartSettings(Configuration):
    """Where training begins: from nothing, from word vectors, or from a model whose vocabulary and shape are kept.

    replay  pairs of the model's own corpus that are mixed in; None: as many as new ones, if that corpus is at hand
    """

    model: str | None = None
    replay: int | None = Field(default=None, ge=0)
    train: Literal["all", "encoder", "decoder", "output"] = "all"
    vectors: StartVectors = StartVectors()

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.model is not None and self.vectors.given:
            raise ValueError("a model has its own embeddings: begin with start.model or with start.vectors, not both")
        if self.model is None and self.replay:
            raise ValueError("there is no model whose old pairs could be mixed in; name one as start.model (--from)")
        return self
