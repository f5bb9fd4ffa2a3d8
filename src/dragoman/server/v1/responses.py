"""What the routes under /v1 answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = float | None  # null where it is not known


class ErrorResponse(BaseModel):
    """What every error looks like."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"error": "'text' is missing"}]})

    error: str


class ModelResponse(BaseModel):
    """A model that is served."""

    name: str
    task: str
    source: str | None = Field(default=None, description="Code of the language that a translator reads.")
    target: str | None = Field(default=None, description="Code of the language that it writes.")
    parameters: int
    digest: str = Field(description="SHA-256 of its files; `Dragoman-Model` in the head of an answer has it too.")
    details: dict[str, Any] = Field(description="Sizes, names of classes or columns, and what can be asked of it.")


class ModelsResponse(BaseModel):
    """All models that are served."""

    models: list[ModelResponse]


class AboutResponse(BaseModel):
    """How a model was trained, and how good it is."""

    name: str
    task: str
    metadata: dict[str, Any]
    history: list[dict[str, Any]] = Field(description="The evaluations of its training.")
    evaluation: dict[str, Any] | None = Field(description="The report of `dragoman evaluate`, if there is one.")


class WordResponse(BaseModel):
    """A word of a translation."""

    text: str
    confidence: Number = Field(description="Geometric mean of the probabilities of its tokens.")


class TranslationResponse(BaseModel):
    """One translation of a text."""

    text: str
    score: Number = Field(description="Mean log-probability of its tokens.")
    confidence: Number = Field(description="Geometric mean of the probabilities of its tokens; not calibrated.")
    words: list[WordResponse] | None


class AlignmentResponse(BaseModel):
    """Where each word of the best translation looked: last decoder, mean of its heads."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int, float]] = Field(description="[source word, target word, weight]")
    weights: list[list[Number]] = Field(
        description="A row for each target word; what is missing from 1 went to the marks of beginning and end."
    )


class LayerResponse(BaseModel):
    """The attention of one layer."""

    name: str
    source: list[str] = Field(description="Columns.")
    target: list[str] = Field(description="Rows.")
    heads: list[list[list[Number]]] = Field(description="[head][row][column]")


class AttentionResponse(BaseModel):
    """The attention of all layers."""

    layers: list[LayerResponse]


class DetectionResponse(BaseModel):
    """A language that a text may be in."""

    language: str
    confidence: float = Field(description="Per cent.")


class ExplainedResponse(BaseModel):
    """The translations of a text, best first, and what the network did for the best one."""

    source: str | None
    target: str | None
    model: str
    translations: list[TranslationResponse]
    pieces: int | None = Field(description="In how many pieces the text was translated.")
    warnings: list[str] = Field(description="Reasons not to trust the translation.")
    alignment: AlignmentResponse | None = Field(description="Of texts that were translated in one piece.")
    attention: AttentionResponse | None = Field(description="If it was asked for, of texts of one piece.")
    detected: DetectionResponse | None = Field(default=None, description="If `source` was `auto`.")


class ExplainedListResponse(BaseModel):
    """The results of several texts, in their order."""

    results: list[ExplainedResponse]


class DetectionsResponse(BaseModel):
    """Languages that a text may be in, best first."""

    detections: list[DetectionResponse]


class PairScore(BaseModel):
    """How probable a translation is to the model."""

    log_probability: Number = Field(description="In nats, end token included.")
    per_token: Number
    tokens: int


class TextScore(BaseModel):
    """How probable a text is to a language model."""

    log_probability: Number = Field(description="In nats.")
    perplexity: Number
    bits_per_character: Number
    tokens: int
    unknown: int = Field(description="Tokens that the model does not know.")


class ScoresResponse(BaseModel):
    """The scores of pairs or texts, in their order."""

    model: str
    scores: list[PairScore] | list[TextScore]


class GenerateResponse(BaseModel):
    """What was written after the prompt."""

    model: str
    text: str
    tokens: int
    reason: Literal["stop", "length", "end"]


class PredictResponse(BaseModel):
    """What the model predicts of each text or image, or of a series."""

    model: str
    task: str
    predictions: list[dict[str, Any]]


class TextVectors(BaseModel):
    """The vectors of a text."""

    words: list[str] | None = None
    vectors: list[list[Number]] | None = Field(default=None, description="One for each word.")
    text: list[Number] = Field(description="One for the whole text.")


class FeaturesResponse(BaseModel):
    """The vectors of all texts, in their order."""

    model: str
    features: list[TextVectors]


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResponse, "description": "A mistake in the request; the message names the field."},
    403: {"model": ErrorResponse, "description": "A wrong API key."},
    404: {"model": ErrorResponse, "description": "There is no such model."},
    413: {"model": ErrorResponse, "description": "More than the server takes at a time."},
    429: {"model": ErrorResponse, "description": "Too many requests; `Retry-After` says when to come back."},
    503: {"model": ErrorResponse, "description": "Busy, starting or stopping; `Retry-After` says when to come back."},
    "default": {"model": ErrorResponse, "description": "Any other error."},
}
