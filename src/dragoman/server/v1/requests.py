"""What clients send to the routes under /v1."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dragoman.server.bounds import BEAM, BEST, HORIZON, IMAGES, STOP_CHARACTERS, STOPS
from dragoman.server.v1.shape import shape_problem

Fill = Literal["linear", "previous", "seasonal"]
Seed = Annotated[int, Field(ge=0, le=2**53, description="Of the draws: the same seed gives the same text.")]
ModelName = Annotated[
    str | None, Field(max_length=200, description="Needed where several models of the task are served.")
]


def _text_or_texts(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One message instead of one for each member of the union."""
    try:
        return handler(value)
    except ValidationError:
        raise PydanticCustomError("text_or_texts", "must be a text or a list of texts") from None


def _all_numbers(value: Any) -> Any:
    """Stop at the first value that is no number: a long column has only one message."""
    if isinstance(value, list) and not all(each is None or _is_number(each) for each in value):
        raise PydanticCustomError("numbers", "must have numbers, and null where a value is missing")
    return value


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    return type(value) in (int, float) and -sys.float_info.max <= value <= sys.float_info.max


def _all_texts(value: Any) -> Any:
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        raise PydanticCustomError("texts", "must be a list of texts")
    return value


class ApiRequest(BaseModel):
    """What all requests have in common."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    model: ModelName = None
    api_key: str | None = Field(
        default=None, max_length=1000, description="Where keys are needed; or send `Authorization: Bearer KEY`."
    )

    @model_validator(mode="before")
    @classmethod
    def _shaped(cls, given: Any) -> Any:
        if isinstance(given, dict) and (problem := shape_problem(given)):
            raise ValueError(problem)
        return given


def _example(**given: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [given]})


class TranslateRequest(ApiRequest):
    """A text to translate and to explain, or several."""

    model_config = _example(text="My sister has two cats.", source="en", target="es", best=3)

    text: Annotated[str | list[str], WrapValidator(_text_or_texts)] = Field(
        description="A list of texts gives a list of results."
    )
    source: str | None = Field(default=None, max_length=35, description="Language code, or `auto` to detect it.")
    target: str | None = Field(default=None, max_length=35, description="Language code.")
    best: int = Field(default=1, ge=1, le=BEST, description="How many translations, best first.")
    beam: int | None = Field(
        default=None, ge=1, le=BEAM, description="Width of the search; 1 is greedy. At least as wide as `best`."
    )
    attention: bool = Field(default=False, description="Also give the attention of every layer and head.")
    format: Literal["text", "html"] = Field(
        default="text", description="`html` keeps the markup; such a text is translated, but not explained."
    )
    sample: bool = Field(default=False, description="Draw tokens instead of searching for the best ones.")
    temperature: float = Field(default=1.0, gt=0, le=100, description="Of sampling: below 1 is more cautious.")
    top_k: int | None = Field(default=None, ge=1, le=1_000_000, description="Draw from the k most probable tokens.")
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="Draw from the most probable tokens that have this probability together."
    )
    seed: Seed = 0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.beam is not None and self.beam < self.best:
            raise ValueError(f"'beam' must be at least as wide as 'best', {self.best}; got {self.beam}")
        if self.sample and self.best > 1:
            raise ValueError("sampling gives one translation: leave 'best' out, and use another 'seed' for another one")
        return self


class DetectRequest(ApiRequest):
    """A text whose language is asked for."""

    model_config = _example(text="¿Dónde está la estación?")

    text: str


class Pair(BaseModel):
    """A source and a translation of it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    source: str
    target: str


class ScoreRequest(ApiRequest):
    """Translations to score, or texts for a language model: one of both."""

    model_config = _example(pairs=[{"source": "The plant is green.", "target": "La planta es verde."}])

    pairs: list[Pair] | None = Field(default=None, min_length=1, description="For a translator.")
    texts: list[str] | None = Field(default=None, min_length=1, description="For a language model.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.pairs is None) == (self.texts is None):
            raise ValueError("give either 'pairs', for a translator, or 'texts', for a language model")
        return self


class GenerateRequest(ApiRequest):
    """How a text goes on."""

    model_config = _example(prompt="Once upon a time", tokens=100, temperature=0.8, stop=["\n\n"])

    prompt: str = Field(default="", description="What the text begins with.")
    tokens: int = Field(default=200, ge=1, description="Written at most; the server has a limit of its own.")
    temperature: float = Field(default=1.0, ge=0, le=100, description="0 always writes the most probable token.")
    top_k: int | None = Field(default=None, ge=1, le=1_000_000, description="Draw from the k most probable tokens.")
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="Draw from the most probable tokens that have this probability together."
    )
    seed: Seed = 0
    stop: list[Annotated[str, Field(min_length=1, max_length=STOP_CHARACTERS)]] = Field(
        default_factory=list, max_length=STOPS, description="Texts at which writing ends; they are not written."
    )
    stream: bool = Field(default=True, description="Server-sent events as the text is written; false: one answer.")


Column = Annotated[list[float | None], BeforeValidator(_all_numbers)]
Times = Annotated[list[str], BeforeValidator(_all_texts)]


class Series(BaseModel):
    """A series as columns."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    columns: dict[str, Column] = Field(
        min_length=1, description="Numbers of each variable, oldest first; null where one is missing."
    )
    times: Times | None = Field(default=None, description="Of each row: 2001-02-28, 2001-02-28 13:00, 2001Q1 ...")


class PredictOptions(BaseModel):
    """What can be asked besides the prediction."""

    explain: bool = Field(default=False, description="Of texts: which words decided.")
    resize: bool = Field(default=False, description="Resize images that have another size than the model's.")
    attention: bool = Field(default=False, description="Of images: where the network looked.")
    best: int = Field(default=1, ge=1, le=BEST, description="Captions of each image.")
    horizon: int | None = Field(
        default=None, ge=1, le=HORIZON, description="Rows to forecast; default: as many as in training."
    )
    level: float = Field(default=90.0, gt=0, lt=100, description="Per cent of the intervals: 50, 80, 90 or 95.")
    fill: Fill | None = Field(default=None, description="How missing values of a series are filled.")


class PredictRequest(ApiRequest, PredictOptions):
    """Texts, images, or a series: one of them."""

    model_config = _example(texts=["The film is wonderful."], explain=True)

    texts: list[str] | None = Field(default=None, min_length=1, description="To classify, rate or tag.")
    images: list[str] | None = Field(
        default=None, min_length=1, max_length=IMAGES, description="PNG or JPEG files in base64."
    )
    series: Series | None = None
    csv: str | None = Field(default=None, min_length=1, description="A series as a table, with or without times.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in ("texts", "images", "series", "csv") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of 'texts', 'images', 'series' and 'csv'")
        return self


class PredictForm(PredictOptions):
    """An uploaded file, with the options as fields of the form."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    model: ModelName = None
    api_key: str | None = Field(default=None, max_length=1000)
    file: str = Field(
        description="A PNG or JPEG image, or a series as CSV.", json_schema_extra={"type": "string", "format": "binary"}
    )


class FeaturesRequest(ApiRequest):
    """Texts whose vectors are asked for."""

    model_config = _example(texts=["The bank of the river."])

    texts: list[str] = Field(min_length=1)
    whole: bool = Field(default=False, description="Only one vector for each text, none for its words.")
